//! Scheduler policies from outside this crate.

use core::fmt::Debug;
use std::sync::Arc;

use airlane_core::{Bytes, Duration, UeId};

use super::{Demand, RbgSet};
use crate::mac::grid::each;
use crate::qos::BearerDemand;

/// A downlink scheduler policy of a user, for one cell: the assignment of resource block groups (RBGs) to UEs.
/// A call is dispatched dynamically; the policies of this crate are dispatched by a branch.
///
/// HARQ retransmissions have their RBGs before the policy is called. The MAC selects the modulation and coding
/// scheme of each UE's block and fills it afterwards.
///
/// ```
/// use airlane_ran::scheduler::{Candidates, SchedulerPolicy};
///
/// /// The UE with the least data goes first.
/// #[derive(Debug)]
/// struct ShortestFirst;
///
/// impl SchedulerPolicy for ShortestFirst {
///     fn schedule(&mut self, candidates: &mut Candidates<'_>) {
///         let mut order: Vec<usize> = (0..candidates.len()).collect();
///         order.sort_by_key(|&i| (candidates.backlog(i), candidates.ue(i)));
///         for i in order {
///             candidates.give_all(i);
///         }
///     }
/// }
/// ```
pub trait SchedulerPolicy: Debug + Send {
    /// Assigns the free RBGs of a slot. At least one UE is a candidate: each that has data, a valid channel
    /// report and a free HARQ process.
    fn schedule(&mut self, candidates: &mut Candidates<'_>);
    /// A UE gets a block of this size in this slot; with two layers, two blocks.
    fn served(&mut self, _ue: UeId, _size: Bytes) {}
    /// A UE leaves the cell. It may return.
    fn forget(&mut self, _ue: UeId) {}
}

/// The UEs that can be served in a slot, by ascending number, and the RBGs that are free.
#[derive(Debug)]
pub struct Candidates<'a> {
    pub(super) slot: u64,
    pub(super) demands: &'a mut [Demand],
    pub(super) free: RbgSet,
    pub(super) bearers: &'a [BearerDemand],
}

impl Candidates<'_> {
    /// The number of the slot since the start of the run.
    #[must_use]
    pub const fn slot(&self) -> u64 {
        self.slot
    }

    /// Number of candidates, at least 1. They are named by their place, from 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a policy is called with candidates only")]
    pub const fn len(&self) -> usize {
        self.demands.len()
    }

    /// The UE of a candidate.
    #[must_use]
    pub const fn ue(&self, candidate: usize) -> UeId {
        UeId(self.demands[candidate].ue)
    }

    /// Its bytes waiting in RLC, headers included.
    #[must_use]
    pub const fn backlog(&self, candidate: usize) -> Bytes {
        Bytes(self.demands[candidate].backlog as u64)
    }

    /// Its bearers that have data: their QoS classes, bytes waiting, head-of-line delays, and bytes that guaranteed bit rates
    /// cover now. The default bearer, of class 9, is the first.
    #[must_use]
    pub fn bearers(&self, candidate: usize) -> &[BearerDemand] {
        self.demands[candidate].bearers_in(self.bearers)
    }

    /// Bytes that this RBG carries to it, by its last channel report, on all layers; zero if it cannot use it.
    #[must_use]
    pub const fn rbg_bytes(&self, candidate: usize, rbg: u16) -> Bytes {
        Bytes(self.demands[candidate].rbg_bytes[rbg as usize] as u64)
    }

    /// Bytes of the RBGs assigned to it in this slot.
    #[must_use]
    pub const fn covered(&self, candidate: usize) -> Bytes {
        Bytes(self.demands[candidate].covered as u64)
    }

    /// True if its RBGs cover its backlog.
    #[must_use]
    pub const fn is_satisfied(&self, candidate: usize) -> bool {
        self.demands[candidate].satisfied()
    }

    /// The RBGs that are not assigned yet, lowest first.
    pub fn free(&self) -> impl Iterator<Item = u16> + use<> {
        each(self.free)
    }

    /// Assigns an RBG.
    ///
    /// # Panics
    /// If the RBG is not free, or the candidate cannot use it.
    pub fn give(&mut self, candidate: usize, rbg: u16) {
        let ue = self.demands[candidate].ue;
        let free = self.free.checked_shr(u32::from(rbg)).is_some_and(|set| set & 1 == 1);
        assert!(
            free,
            "a scheduler policy gives RBG {rbg} to UE {ue}, but it is not free; see Candidates::free"
        );
        let usable = self.rbg_bytes(candidate, rbg) > Bytes::ZERO;
        assert!(usable, "a scheduler policy gives RBG {rbg} to UE {ue}, which cannot use it: rbg_bytes is 0");
        self.demands[candidate].give(rbg);
        self.free &= !(1 << rbg);
    }

    /// Assigns the free RBGs that the candidate can use, lowest first, until they cover its backlog.
    pub fn give_all(&mut self, candidate: usize) {
        let demand = &mut self.demands[candidate];
        demand.take(self.free);
        self.free &= !demand.given;
    }
}

/// The cell of a policy.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerCell {
    /// RBGs of the downlink band.
    pub rbgs: u16,
    /// Duration of a slot.
    pub slot: Duration,
}

/// Makes the policy of each cell.
pub trait MakeScheduler: Debug + Send + Sync {
    /// A policy for a cell.
    fn make(&self, cell: &SchedulerCell) -> Box<dyn SchedulerPolicy>;
}

/// The factory of a policy.
#[derive(Clone, Debug)]
pub struct OwnScheduler(pub Arc<dyn MakeScheduler>);

impl PartialEq for OwnScheduler {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
