//! Policies with constructed demands.

use super::*;
use crate::config::{FrequencyMetric, PrioritySetConfig};
use crate::numerology::{Numerology, RbgLayout};

const CELL: SchedulerCell = SchedulerCell { rbgs: 25, slot: Numerology::LTE.slot };

fn with_rates(ue: u32, backlog: u32, flat: bool, rbg_bytes: [u16; MAX_RBGS]) -> Demand {
    let mut demand = Demand::new(ue, Bytes(backlog.into()), flat, u16::MAX);
    demand.set_rates(rbg_bytes);
    demand
}

fn demands(n: u32, bytes: u16) -> Vec<Demand> {
    (0..n).map(|ue| with_rates(ue, 1_000_000, true, [bytes; MAX_RBGS])).collect()
}

#[test]
fn proportional_fair_serves_equals_in_turn() {
    let mut pf = Scheduler::new(&SchedulerKind::ProportionalFair { window: 99 }, 4, &CELL);
    let mut served = [0; 4];
    for slot in 0..40 {
        let mut d = demands(4, 377);
        let mut grid = ResourceGrid::new(100, RbgLayout::LTE);
        pf.schedule(slot, &mut d, &mut grid, |_| ());
        assert_eq!(grid.free(), 0);
        let who: Vec<_> = d.iter().filter(|d| d.given != 0).collect();
        assert_eq!(who.len(), 1, "equal sub-bands go to one UE in a slot");
        served[who[0].ue as usize] += 1;
        pf.served(who[0].ue, 9422);
    }
    assert_eq!(served, [10; 4]);
}

/// A UE that has had the cell to itself waits until the other has had as much. If it has left
/// meanwhile, it does not wait: its old average is deleted.
#[test]
fn a_ue_that_comes_back_begins_anew() {
    let domain = SchedulerDomain::Time;
    for kind in [
        SchedulerKind::ProportionalFair { window: 99 },
        SchedulerKind::BlindEqualThroughput { domain, window: 99 },
    ] {
        for leaves in [false, true] {
            let mut scheduler = Scheduler::new(&kind, 2, &CELL);
            scheduler.schedule(0, &mut demands(2, 377), &mut ResourceGrid::new(100, RbgLayout::LTE), |_| ());
            scheduler.served(1, 9422);
            scheduler.served(0, 942);
            if leaves {
                scheduler.forget(1);
            }
            let mut next = demands(2, 377);
            scheduler.schedule(1, &mut next, &mut ResourceGrid::new(100, RbgLayout::LTE), |_| ());
            assert_eq!(next[1].given != 0, leaves, "{kind:?}");
        }
    }
}

#[test]
fn proportional_fair_gives_each_rbg_to_whom_it_serves_best() {
    let mut pf = Scheduler::new(&SchedulerKind::ProportionalFair { window: 99 }, 2, &CELL);
    let (mut a, mut b) = ([100; MAX_RBGS], [100; MAX_RBGS]);
    a[..3].fill(200);
    b[3..].fill(200);
    let mut d = vec![with_rates(0, 1 << 20, false, a), with_rates(1, 1 << 20, false, b)];
    let mut grid = ResourceGrid::new(6, RbgLayout::LTE);
    pf.schedule(0, &mut d, &mut grid, |_| ());
    assert_eq!((d[0].given, d[1].given), (0b000_111, 0b111_000));
}

#[test]
fn what_one_ue_does_not_need_goes_to_the_next() {
    for kind in [SchedulerKind::ProportionalFair { window: 99 }, SchedulerKind::RoundRobin] {
        let mut scheduler = Scheduler::new(&kind, 2, &CELL);
        let mut d = demands(2, 100);
        d[0].backlog = 150;
        d[1].backlog = 1 << 20;
        let mut grid = ResourceGrid::new(100, RbgLayout::LTE);
        scheduler.schedule(0, &mut d, &mut grid, |_| ());
        assert_eq!(d[0].given.count_ones(), 2, "{kind:?}");
        assert_eq!(d[1].given.count_ones(), 23, "{kind:?}");
    }
}

#[test]
fn round_robin_deals_evenly_and_goes_on_where_it_stopped() {
    let mut rr = Scheduler::new(&SchedulerKind::RoundRobin, 60, &CELL);
    let mut served = [0; 60];
    for slot in 0..12 {
        let mut d = demands(60, 10);
        let mut grid = ResourceGrid::new(100, RbgLayout::LTE);
        rr.schedule(slot, &mut d, &mut grid, |_| ());
        for d in d.iter().filter(|d| d.given != 0) {
            served[d.ue as usize] += d.given.count_ones();
        }
    }
    // 12 slots of 25 RBGs among 60 UEs: five each.
    assert_eq!(served, [5; 60]);
}

/// Serves `ues` demands for `slots` slots and sums the RBGs of each.
fn dealt(kind: SchedulerKind, slots: u64, resource_blocks: u16, demand: impl Fn(u32) -> Demand) -> [u32; 4] {
    let mut scheduler = Scheduler::new(&kind, 4, &CELL);
    let mut served = [0; 4];
    for slot in 0..slots {
        let mut d: Vec<_> = (0..4).map(&demand).collect();
        let mut grid = ResourceGrid::new(resource_blocks, RbgLayout::LTE);
        scheduler.schedule(slot, &mut d, &mut grid, |_| ());
        for d in d.iter().filter(|d| d.given != 0) {
            served[d.ue as usize] += d.given.count_ones();
            scheduler.served(d.ue, u64::from(d.covered));
        }
    }
    served
}

const fn equal(domain: SchedulerDomain) -> SchedulerKind {
    SchedulerKind::BlindEqualThroughput { domain, window: 99 }
}

/// A UE whose RBGs carry 100 bytes, or twice, three or four times that.
fn unequal(ue: u32) -> Demand {
    with_rates(ue, 1 << 20, true, [100 * (ue as u16 + 1); MAX_RBGS])
}

#[test]
fn maximum_throughput_starves_all_but_the_best() {
    for domain in [SchedulerDomain::Frequency, SchedulerDomain::Time] {
        let served = dealt(SchedulerKind::MaximumThroughput { domain }, 10, 25, unequal);
        assert_eq!(served, [0, 0, 0, 130], "{domain:?}");
    }
}

#[test]
fn maximum_throughput_by_rbg_serves_each_where_it_is_best() {
    // UE k has a high rate on RBG k only, and UE 0 the second highest everywhere.
    let demand = |ue: u32| {
        let mut bytes = [if ue == 0 { 50 } else { 10 }; MAX_RBGS];
        bytes[ue as usize] = 100;
        with_rates(ue, 1 << 20, false, bytes)
    };
    let by_rbg = SchedulerKind::MaximumThroughput { domain: SchedulerDomain::Frequency };
    assert_eq!(dealt(by_rbg, 1, 6, demand), [3, 1, 1, 1]);
    let by_ue = SchedulerKind::MaximumThroughput { domain: SchedulerDomain::Time };
    assert_eq!(dealt(by_ue, 1, 6, demand), [6, 0, 0, 0]);
}

#[test]
fn blind_equal_throughput_gives_rates_and_not_rbgs() {
    // Equal bytes at 1:2:3:4 bytes per RBG take RBGs as 12:6:4:3 of 25.
    for domain in [SchedulerDomain::Frequency, SchedulerDomain::Time] {
        let slots = 2000;
        let served = dealt(equal(domain), slots, 100, unequal);
        let all = 25.0 * slots as f64;
        for (rbgs, share) in served.iter().zip([12.0, 6.0, 4.0, 3.0]) {
            let expected = all * share / 25.0;
            // In the time domain a UE is served late by up to one slot of its own, which is two
            // slots' worth of the other UEs' rates in a window of 99.
            assert!((f64::from(*rbgs) / expected - 1.0).abs() < 0.025, "{domain:?}: {served:?}");
        }
    }
}

#[test]
fn in_the_frequency_domain_equals_share_each_slot() {
    let alike = |ue| with_rates(ue, 1 << 20, true, [100; MAX_RBGS]);
    assert_eq!(dealt(equal(SchedulerDomain::Frequency), 1, 50, alike), [5, 4, 4, 4]); // 17 RBGs
    assert_eq!(dealt(equal(SchedulerDomain::Time), 1, 50, alike), [17, 0, 0, 0]);
}

#[test]
fn throughput_to_average_prefers_peaks_to_levels() {
    // UE 3 has the highest rate everywhere, but no peak; each of the others has a peak on its own RBG.
    let demand = |ue: u32| {
        let mut bytes = [if ue == 3 { 900 } else { 0 }; MAX_RBGS];
        bytes[6..].fill(0);
        if ue < 3 {
            bytes[..6].fill(100);
            bytes[ue as usize] = 150;
        }
        with_rates(ue, 1 << 20, false, bytes)
    };
    // Metrics on a peak: 150 / 650; UE 3: 900 / 5400 = 1/6, above the others' 100 / 650.
    assert_eq!(dealt(SchedulerKind::ThroughputToAverage, 1, 6, demand), [1, 1, 1, 3]);
}

#[test]
fn the_priority_set_reaches_its_target_before_it_looks_at_the_channel() {
    let config = PrioritySetConfig {
        window: 99,
        // 600 bytes per slot: UE 0 needs six of the 25 RBGs for it, UE 1 three, UE 2 two, UE 3 one
        // and a half.
        target: airlane_core::BitRate(4_800_000),
        multiplexed: 0,
        metric: FrequencyMetric::ProportionalFairScheduled,
    };
    for metric in [FrequencyMetric::ProportionalFairScheduled, FrequencyMetric::CarrierToAverage] {
        let slots = 4000;
        let kind = SchedulerKind::PrioritySet(PrioritySetConfig { metric, ..config });
        let served = dealt(kind, slots, 100, unequal);
        assert_eq!(served.iter().sum::<u32>(), 25 * slots as u32);
        for (ue, rbgs) in served.iter().enumerate() {
            let bytes_per_slot = f64::from(*rbgs) * 100.0 * (ue + 1) as f64 / slots as f64;
            assert!(bytes_per_slot > 0.97 * 600.0, "{metric:?}: {served:?}");
        }
    }
}

#[test]
fn no_policy_gives_what_cannot_be_used() {
    // UE 0 is out of range except on RBG 2; UE 1 everywhere except on RBGs 2 and 3.
    let demand = |ue: u32| {
        let mut bytes = [0; MAX_RBGS];
        match ue {
            0 => bytes[2] = 50,
            1 => bytes[2..4].fill(80),
            _ => {}
        }
        with_rates(ue, 1 << 20, false, bytes)
    };
    let (frequency, time) = (SchedulerDomain::Frequency, SchedulerDomain::Time);
    for kind in [
        SchedulerKind::ProportionalFair { window: 99 },
        SchedulerKind::MaximumThroughput { domain: frequency },
        SchedulerKind::MaximumThroughput { domain: time },
        equal(frequency),
        equal(time),
        SchedulerKind::ThroughputToAverage,
    ] {
        let served = dealt(kind.clone(), 1, 6, demand);
        assert_eq!((served[0] + served[1], served[2], served[3]), (2, 0, 0), "{kind:?}");
    }
}

#[test]
fn round_robin_deals_what_is_over_in_turn() {
    // 17 RBGs among four: one of them gets five, a different one in each slot.
    let alike = |ue| with_rates(ue, 1 << 20, true, [100; MAX_RBGS]);
    assert_eq!(dealt(SchedulerKind::RoundRobin, 1, 50, alike), [5, 4, 4, 4]);
    assert_eq!(dealt(SchedulerKind::RoundRobin, 8, 50, alike), [34; 4]);
}

#[test]
fn who_is_not_looked_at_would_have_got_nothing() {
    let mut stream = airlane_core::Seeds::new(1).stream("demands");
    let (mut looked, mut there) = (0, 0);
    for _ in 0..2000 {
        let n = 1 + stream.below(40) as u32;
        // Weights and rates of few values, so that there are ties; backlogs of one RBG and of the band.
        let all: Vec<_> = (0..n)
            .map(|ue| {
                let rates = core::array::from_fn(|_| 50 * stream.below(8) as u16);
                let backlog = 50 << stream.below(9);
                let metric = 1.0 + stream.below(5) as f64 / 8.0;
                Demand { metric, ..with_rates(ue, backlog, false, rates) }
            })
            .collect();
        let free = stream.bits() as u32 & ((1 << 25) - 1);
        let mut expected = all.clone();
        by_rbg(&mut Waiting::new(), &mut expected, free, |_| ());
        let mut unseen: Vec<_> = all
            .iter()
            .map(|d| Demand { metric: d.metric, ..Demand::new(d.ue, Bytes(d.backlog.into()), false, 350) })
            .collect();
        by_rbg(&mut Waiting::new(), &mut unseen, free, |d| {
            assert!(!d.has_rates, "once is enough");
            d.set_rates(all[d.ue as usize].rbg_bytes);
        });
        let given = |demands: &[Demand]| demands.iter().map(|d| d.given).collect::<Vec<_>>();
        assert_eq!(given(&unseen), given(&expected));
        looked += unseen.iter().filter(|d| d.has_rates).count();
        there += unseen.len();
    }
    assert!(looked * 4 < there * 3, "{looked} of {there}");
}

/// A policy of a user, as a function of the candidates.
#[derive(Clone)]
struct Function(fn(&mut Candidates<'_>));

impl core::fmt::Debug for Function {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a function")
    }
}

impl SchedulerPolicy for Function {
    fn schedule(&mut self, candidates: &mut Candidates<'_>) {
        self.0(candidates);
    }
}

impl MakeScheduler for Function {
    fn make(&self, _: &SchedulerCell) -> Box<dyn SchedulerPolicy> {
        Box::new(self.clone())
    }
}

fn own(policy: fn(&mut Candidates<'_>)) -> SchedulerKind {
    SchedulerKind::Own(OwnScheduler(std::sync::Arc::new(Function(policy))))
}

/// The bearers of a UE with a call and a download are those of its demand.
#[test]
fn a_policy_from_outside_sees_the_bearers() {
    let strictest_first = own(|candidates| {
        let level = |i: &usize| candidates.bearers(*i).iter().map(|bearer| bearer.class.priority).min();
        if let Some(first) = (0..candidates.len()).min_by_key(level) {
            candidates.give_all(first);
        }
    });
    let mut scheduler = Scheduler::new(&strictest_first, 2, &CELL);
    let bearer = |qi: u8| BearerDemand {
        class: crate::qos::QosClass::of(qi).unwrap(),
        backlog: Bytes(500),
        waited: airlane_core::Duration::ZERO,
        guaranteed: Bytes::ZERO,
    };
    *scheduler.begin_bearers().unwrap() = [9, 9, 2].map(bearer).to_vec();
    let mut demands: Vec<_> = (0..2).map(|ue| with_rates(ue, 1_000, true, [100; MAX_RBGS])).collect();
    (demands[0].bearers, demands[1].bearers) = ((0, 1), (1, 3));
    scheduler.schedule(0, &mut demands, &mut ResourceGrid::new(100, RbgLayout::LTE), |_| ());
    assert_eq!(demands.iter().map(|demand| demand.given.count_ones()).collect::<Vec<_>>(), [0, 10]);
}

/// Maximum throughput by RBG, as [`SchedulerKind::MaximumThroughput`].
#[test]
fn a_policy_from_outside_assigns_what_the_same_policy_here_does() {
    let best = own(|candidates| {
        for rbg in candidates.free() {
            let usable = |&i: &usize| !candidates.is_satisfied(i) && candidates.rbg_bytes(i, rbg).get() > 0;
            let key = |&i: &usize| (candidates.rbg_bytes(i, rbg), core::cmp::Reverse(candidates.ue(i)));
            if let Some(i) = (0..candidates.len()).filter(usable).max_by_key(key) {
                candidates.give(i, rbg);
            }
        }
    });
    let built_in = SchedulerKind::MaximumThroughput { domain: SchedulerDomain::Frequency };
    let demand = |ue: u32| {
        let rates = core::array::from_fn(|rbg| ((ue as usize * 7 + rbg * 5) % 11) as u16 * 40);
        with_rates(ue, 300 * (ue + 1), false, rates)
    };
    assert_eq!(dealt(best, 20, 50, demand), dealt(built_in, 20, 50, demand));
}

#[test]
#[should_panic(expected = "gives RBG 3 to UE 1, but it is not free")]
fn a_policy_cannot_assign_an_rbg_twice() {
    let policy = own(|candidates| (0..2).for_each(|i| candidates.give(i, 3)));
    dealt(policy, 1, 50, |ue| with_rates(ue, 1_000, true, [100; MAX_RBGS]));
}

#[test]
#[should_panic(expected = "gives RBG 17 to UE 0, but it is not free")]
fn a_policy_cannot_assign_an_rbg_beyond_the_band() {
    dealt(own(|candidates| candidates.give(0, 17)), 1, 50, |ue| with_rates(ue, 1_000, true, [100; MAX_RBGS]));
}

#[test]
#[should_panic(expected = "gives RBG 0 to UE 0, which cannot use it: rbg_bytes is 0")]
fn a_policy_cannot_assign_an_rbg_that_is_out_of_range() {
    dealt(own(|candidates| candidates.give(0, 0)), 1, 50, |ue| with_rates(ue, 1_000, true, [0; MAX_RBGS]));
}
