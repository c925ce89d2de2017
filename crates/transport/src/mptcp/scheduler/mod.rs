//! Schedulers: which subflow sends the next segment of the data.
//!
//! But for [`linux`], they are those of the out-of-tree Linux implementation (github.com/multipath-tcp/mptcp, version 0.95),
//! each with its file there. A subflow has room if its congestion window is not full (`mptcp_is_temp_unavailable` of
//! `mptcp_sched.c`), and a backup is used only if no other subflow is left.

mod blest;
mod ecf;
mod linux;
mod shares;

use core::fmt::Debug;
use std::sync::Arc;

use airlane_core::{Bytes, Instant};

use crate::SubflowState;
use blest::Blest;
use ecf::Ecf;
use linux::Linux;
pub use shares::Shares;

/// A subflow, as schedulers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerPath {
    /// The sender of the subflow.
    pub sender: SubflowState,
    /// Data may be sent on it: its handshake is complete, and no timeout suggests that its path has failed.
    pub usable: bool,
    /// It is used only if no other is usable.
    pub backup: bool,
}

impl SchedulerPath {
    /// Whether it can send a segment now.
    #[must_use]
    pub const fn is_available(&self) -> bool {
        self.usable && self.sender.has_room && !self.sender.in_loss
    }
}

/// The data of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerData {
    /// The time.
    pub now: Instant,
    /// Size of the segment that must be sent.
    pub segment: Bytes,
    /// Data that was written and not sent, including the segment; `u64::MAX` for an application that always has more.
    pub unsent: Bytes,
    /// The peer's window, from the first byte that is not acknowledged.
    pub window: Bytes,
}

/// A scheduler.
pub trait Scheduler: Debug + Send {
    /// The subflow that sends the next segment. The segment waits with `None`, and with a subflow that is not available.
    fn select(&mut self, paths: &[SchedulerPath], data: &SchedulerData) -> Option<usize>;

    /// The peer's window prevented that data was sent.
    fn on_blocked(&mut self) {}
}

/// Makes a scheduler for each connection.
pub trait MakeScheduler: Debug + Send + Sync {
    /// A scheduler for a new connection.
    fn make(&self) -> Box<dyn Scheduler>;
}

/// The choice of a scheduler.
#[derive(Clone, Debug)]
pub enum SchedulerKind {
    /// The available subflow with the smallest round-trip time (`mptcp_sched.c`, `get_subflow_from_selectors`).
    MinRtt,
    /// Each available subflow in turn.
    RoundRobin,
    /// The available subflow that has sent least for its weight; the weights are in the order of the subflows.
    Weighted(Vec<u32>),
    /// Each segment on all subflows.
    Redundant,
    /// A slower subflow waits if its segment would take the room of the window that a faster one needs (`mptcp_blest.c`).
    Blest,
    /// A slower subflow waits if a faster one would complete the data earlier (`mptcp_ecf.c`).
    Ecf,
    /// The subflow that is expected to send its queue first, in bursts (`net/mptcp/protocol.c` of Linux 6.12).
    Linux,
    /// A user's own.
    Own(Arc<dyn MakeScheduler>),
}

impl SchedulerKind {
    /// A scheduler for a new connection.
    pub(super) fn make(&self) -> Box<dyn Scheduler> {
        match self {
            Self::MinRtt | Self::Redundant => Box::new(MinRtt),
            Self::RoundRobin => Box::new(RoundRobin { last: 0 }),
            Self::Weighted(weights) => Box::new(Weighted(Shares::new(weights.clone()))),
            Self::Blest => Box::new(Blest::default()),
            Self::Ecf => Box::new(Ecf::default()),
            Self::Linux => Box::new(Linux::default()),
            Self::Own(maker) => maker.make(),
        }
    }
}

/// The paths among which a scheduler chooses: all but the backups, or these if no other is usable.
fn candidates(paths: &[SchedulerPath]) -> impl Iterator<Item = (usize, &SchedulerPath)> {
    let has_active = paths.iter().any(|path| path.usable && !path.backup);
    let chosen = move |path: &SchedulerPath| path.usable && path.backup != has_active;
    paths.iter().enumerate().filter(move |(_, path)| chosen(path))
}

/// The available subflow with the smallest round-trip time.
fn fastest_available(paths: &[SchedulerPath]) -> Option<usize> {
    let available = candidates(paths).filter(|(_, path)| path.is_available());
    available.min_by_key(|(_, path)| path.sender.srtt).map(|(index, _)| index)
}

/// The usable subflow with the smallest round-trip time, whether it is available or not.
fn fastest(paths: &[SchedulerPath]) -> Option<usize> {
    candidates(paths).min_by_key(|(_, path)| path.sender.srtt).map(|(index, _)| index)
}

#[derive(Debug)]
pub(super) struct MinRtt;

impl Scheduler for MinRtt {
    fn select(&mut self, paths: &[SchedulerPath], _: &SchedulerData) -> Option<usize> {
        fastest_available(paths)
    }
}

#[derive(Debug)]
struct RoundRobin {
    /// The subflow of the last segment.
    last: usize,
}

impl Scheduler for RoundRobin {
    fn select(&mut self, paths: &[SchedulerPath], _: &SchedulerData) -> Option<usize> {
        let after = |index: usize| (index + paths.len() - self.last - 1) % paths.len();
        let available = candidates(paths).filter(|(_, path)| path.is_available());
        let (index, _) = available.min_by_key(|(index, _)| after(*index))?;
        self.last = index;
        Some(index)
    }
}

#[derive(Debug)]
struct Weighted(Shares);

impl Scheduler for Weighted {
    fn select(&mut self, paths: &[SchedulerPath], data: &SchedulerData) -> Option<usize> {
        let is_candidate = |index: usize| candidates(paths).any(|(other, _)| other == index);
        self.0.use_paths((0..paths.len()).map(is_candidate));
        let available = candidates(paths).filter(|(_, path)| path.is_available());
        let index = self.0.least(available.map(|(index, _)| index))?;
        self.0.on_sent(index, data.segment.get());
        Some(index)
    }
}

#[cfg(test)]
mod tests;
