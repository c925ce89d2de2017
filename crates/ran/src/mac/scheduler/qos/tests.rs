use airlane_core::Bytes;

use super::*;
use crate::mac::scheduler::MAX_RBGS;
use crate::qos::QosClass;

/// A bearer of a class with this backlog, whose oldest packet has waited some milliseconds.
fn bearer(qi: u8, backlog: u64, waited_ms: u64, guaranteed: u64) -> BearerDemand {
    let class = QosClass::of(qi).expect("a class");
    let waited = Duration::from_millis(waited_ms);
    BearerDemand { class, backlog: Bytes(backlog), waited, guaranteed: Bytes(guaranteed) }
}

/// The numbers of RBGs of UEs with one bearer each, of 20 RBGs of 100 bytes.
fn shares(bearers: &[BearerDemand]) -> Vec<u32> {
    let mut policy = QosPolicy::new(100, bearers.len(), Duration::from_millis(1));
    let demand = |ue: u32| {
        let mut demand = Demand::new(ue, bearers[ue as usize].backlog, true, u16::MAX);
        demand.set_rates([100; MAX_RBGS]);
        demand.bearers = (ue, ue + 1);
        demand
    };
    let mut demands: Vec<_> = (0..bearers.len() as u32).map(demand).collect();
    policy.schedule(0, &mut demands, bearers, (1 << 20) - 1, &mut Waiting::new());
    demands.iter().map(|demand| demand.given.count_ones()).collect()
}

#[test]
fn guaranteed_bytes_come_first_by_priority() {
    // Class 1 has priority level 20, class 2 level 40. Each needs 12 RBGs of 20; the download gets none.
    let calls = [bearer(9, 9_000, 500, 0), bearer(2, 1_200, 140, 1_200), bearer(1, 1_200, 1, 1_200)];
    assert_eq!(shares(&calls), [0, 8, 12]);
}

#[test]
fn of_one_level_the_one_nearer_to_its_budget_comes_first() {
    let calls = [bearer(2, 1_200, 10, 1_200), bearer(2, 1_200, 20, 1_200)];
    assert_eq!(shares(&calls), [8, 12]);
}

#[test]
fn beyond_the_guarantee_the_weighted_delay_decides() {
    // 300 bytes are guaranteed. Then 60 · 1 ms / 150 ms stand against 10 · 90 ms / 300 ms, with equal past throughput: 0.4
    // against 3.
    let two = [bearer(2, 2_000, 1, 300), bearer(9, 9_000, 90, 0)];
    assert_eq!(shares(&two), [3, 17]);
    // After 10 ms: 4 against 3.
    let two = [bearer(2, 2_000, 10, 300), bearer(9, 9_000, 90, 0)];
    assert_eq!(shares(&two), [20, 0]);
}
