use airlane_core::{Bytes, Seeds, Stream};

use super::super::{MAX_RBGS, Scheduler, SchedulerCell};
use super::*;
use crate::config::SchedulerKind;
use crate::mac::grid::ResourceGrid;
use crate::numerology::{Numerology, RbgLayout};

const UES: usize = 12;

/// UEs with data that comes and goes.
struct World {
    draws: Stream,
    flat: bool,
    slot: u64,
    /// The backlog of each UE, if it is a candidate.
    backlog: [Option<u32>; UES],
    /// Bytes of an RBG without fading, or at most.
    most: [u16; UES],
}

impl World {
    fn below(&mut self, n: u32) -> u32 {
        (self.draws.uniform() * f64::from(n)) as u32
    }

    /// The rates of a UE in this slot. They have few values, so that metrics are often equal.
    fn rates(&self, ue: u32) -> [u16; MAX_RBGS] {
        let most = self.most[ue as usize];
        core::array::from_fn(|rbg| match (self.flat, rbg) {
            (true, _) => most,
            (false, 0..25) => most * ((self.slot * 7 + u64::from(ue) * 5 + rbg as u64 * 3) % 4) as u16 / 3,
            (false, _) => 0,
        })
    }

    fn demand(&self, ue: u32) -> Demand {
        let backlog = self.backlog[ue as usize].expect("it is a candidate");
        Demand::new(ue, Bytes(backlog.into()), self.flat, self.most[ue as usize])
    }

    fn grid(&self, taken: u32) -> ResourceGrid {
        let mut grid = ResourceGrid::new(100, RbgLayout::LTE);
        grid.take(grid.first_free(taken, RbgSet::MAX));
        grid
    }

    /// Some UEs change. Those that become candidates, or get other rates, are named to the scheduler.
    fn change(&mut self, standing: &mut Scheduler) {
        self.slot += if self.below(5) == 0 { 3 } else { 1 };
        for ue in 0..UES {
            match self.below(10) {
                0 => {
                    self.backlog[ue] = None;
                    standing.set_candidate(ue as u32, None);
                }
                1 | 2 => {
                    self.backlog[ue] = Some(1 + self.below(3_000));
                    // Out of range without fading: a candidate without a rate.
                    self.most[ue] = [0, 90, 180][self.below(3) as usize].max(if self.flat { 0 } else { 90 });
                    standing.set_candidate(ue as u32, Some([self.most[ue]; FORMATS]));
                }
                3 => self.backlog[ue] = self.backlog[ue].map(|bytes| bytes + 40),
                _ => {}
            }
        }
    }
}

/// The RBGs of each UE that has some, and the UEs whose rates were computed.
fn outcome(demands: &[Demand]) -> (Vec<(u32, RbgSet)>, Vec<u32>) {
    let given = demands.iter().filter(|d| d.given != 0).map(|d| (d.ue, d.given)).collect();
    (given, demands.iter().filter(|d| d.has_rates).map(|d| d.ue).collect())
}

/// With a window of 2 slots the weight of averages doubles in each slot, and overflows again and again.
#[test]
fn they_get_what_a_comparison_of_all_gives() {
    let cell = SchedulerCell { rbgs: 25, slot: Numerology::LTE.slot };
    for (flat, window) in [(true, 99), (false, 99), (true, 2), (false, 2)] {
        let kind = SchedulerKind::ProportionalFair { window };
        let (mut all, mut standing) = (Scheduler::new(&kind, UES, &cell), Scheduler::new(&kind, UES, &cell));
        assert!(standing.keep_candidates(UES));
        let draws = Seeds::new(1).stream("world");
        let mut world = World { draws, flat, slot: 0, backlog: [None; UES], most: [90; UES] };
        let mut given = 0;
        for _ in 0..3_000 {
            world.change(&mut standing);
            let taken = world.below(30).saturating_sub(4);
            let candidates = (0..UES as u32).filter(|ue| world.backlog[*ue as usize].is_some());
            let mut compared: Vec<_> = candidates.map(|ue| world.demand(ue)).collect();
            all.schedule(world.slot, &mut compared, &mut world.grid(taken), |d| {
                d.set_rates(world.rates(d.ue))
            });
            let mut evaluated = Vec::new();
            let slot = SharedSlot { number: world.slot, format: 0, flat };
            standing.schedule_standing(slot, &mut evaluated, &mut world.grid(taken), |ue| {
                let mut demand = world.demand(ue);
                demand.set_rates(world.rates(ue));
                demand
            });
            let (one, other) = (outcome(&compared), outcome(&evaluated));
            assert_eq!(one.0, other.0, "slot {}", world.slot);
            assert!(flat || one.1 == other.1, "{:?} and {:?} were evaluated", one.1, other.1);
            for demand in evaluated.iter().filter(|d| d.given != 0) {
                given += 1;
                all.served(demand.ue, demand.covered.into());
                standing.served(demand.ue, demand.covered.into());
                let ue = demand.ue as usize;
                world.backlog[ue] = world.backlog[ue].map(|left| left.saturating_sub(demand.covered).max(1));
                standing.set_candidate(demand.ue, Some([world.most[ue]; FORMATS]));
            }
        }
        assert!(given > 2_000, "{given} UEs were served");
    }
}
