//! The split-connection proxies of eNBs among peers with arbitrary behaviour, on links that lose, repeat and
//! reorder, while UEs move from cell to cell. The preparation of a handover sends nothing through a proxy, so
//! its failures are not covered here. The other failures of handovers, and link failures, are: UEs arrive
//! late, in another cell, or in the same one, leave again before their path is switched or their connections
//! have arrived, and their cells may discard their data. A failure names its seed.

use airlane_core::{Duration, Instant, Seeds, Stream};
use airlane_middlebox::{Ending, SplitConfig, SplitStatistics};

use crate::world::{
    Cells, Channel, Circumstances, Hop, Mischief, Plan, channel, is_bounded, is_done, judge, pairs, pick,
    proxy,
};

/// The movement of a UE: sometimes there and back again before the first handover is complete.
fn hops(s: &mut Stream, cells: usize) -> Vec<Hop> {
    let mut at = Instant::ZERO;
    let mut hop = |s: &mut Stream| {
        at += Duration::from_micros(pick(s, &[1, 5_000, 30_000, 300_000, 3_000_000]) + s.below(50_000));
        let (failed, to) = (s.chance(0.2), s.below(cells as u64) as usize);
        let away = Duration::from_micros(if failed { s.below(2_000_000) } else { s.below(60_000) });
        Hop { at, away, to, forgets: failed && s.chance(0.5) }
    };
    (0..s.below(12)).map(|_| hop(s)).collect()
}

fn plan(s: &mut Stream, cells: usize) -> Plan {
    let ues = 1 + s.below(2);
    Plan {
        internet: channel(s),
        s1: (0..cells).map(|_| channel(s)).collect(),
        radio: (0..cells).map(|_| channel(s)).collect(),
        x2_delay: Duration::from_micros(pick(s, &[0, 1_000, 6_000, 50_000, 400_000])),
        lossless: s.chance(0.5),
        ues: (0..ues).map(|_| (s.below(cells as u64) as usize, hops(s, cells))).collect(),
    }
}

/// A run of some connections. Returns the counters of all proxies, those of the cells first.
fn run(seed: u64, mischief: Mischief) -> (String, Vec<SplitStatistics>) {
    let mut s = Seeds::new(seed).stream("handover");
    let cells = 2 + s.below(3) as usize;
    // As in a network: one configuration for all cells. Each has its own number and seeds.
    let enb = proxy(&mut s, 0);
    let enbs: Vec<SplitConfig> =
        (0..cells as u32).map(|id| SplitConfig { id, seeds: Seeds::new(s.bits()), ..enb.clone() }).collect();
    let front = s.chance(0.3).then(|| proxy(&mut s, cells as u32));
    let plan = plan(&mut s, cells);
    let links = plan.s1.iter().chain(&plan.radio).chain([&plan.internet]);
    let is_lossy = |(_, hops): &(usize, Vec<Hop>)| hops.iter().any(|hop| hop.forgets || !plan.lossless);
    let reliable = links.copied().all(|link: Channel| link.loss == 0.0) && !plan.ues.iter().any(is_lossy);
    let pairs = pairs(&mut s, mischief);
    let describe = format!("seed {seed}, {mischief:?}");
    let mut memory = vec![enb.memory.get(); cells];
    memory.extend(front.iter().map(|front| front.memory.get()));
    let mut world = Cells::new((front, enbs), plan, pairs, s);
    world.run(Instant::from_millis(8_000_000), |world| {
        world.proxies().zip(&memory).for_each(|(proxy, most)| is_bounded(proxy, *most, &describe));
    });
    world.proxies().for_each(|proxy| is_done(proxy, &describe));
    assert!(world.enbs.is_empty(), "a context is under way: {describe}");
    let statistics: Vec<SplitStatistics> = world.proxies().map(|proxy| proxy.statistics()).collect();
    let sum = |of: fn(&SplitStatistics) -> u64| statistics.iter().map(of).sum::<u64>();
    assert_eq!(sum(|one| one.moved_out), sum(|one| one.moved_in + one.turned_away), "{describe}");
    let how = Circumstances::new(mischief, reliable, &statistics);
    assert!(how.may_leave_packets() || world.pool.live() == 0, "packets are left: {describe}");
    (judge((&world.servers, &world.clients), how, &describe), statistics)
}

fn runs(seeds: impl Iterator<Item = u64>, mischief: Mischief) -> Vec<SplitStatistics> {
    seeds.flat_map(|seed| run(seed, mischief).1).collect()
}

#[test]
fn every_byte_arrives_once_and_in_order_wherever_its_ue_goes() {
    // The last seeds have found faults: a FIN of an older connection was accepted, and passing connections of
    // a UE that returned so often that its new cell classified them as new ones.
    let found = [1_000_946, 1_002_353, 1_005_620, 1_005_661];
    let statistics = runs((0..400).chain(found), Mischief::None);
    let sum = |of: fn(&SplitStatistics) -> u64| statistics.iter().map(of).sum::<u64>();
    // Checks that all cases to be tested occurred.
    assert!(sum(|one| one.moved_in) > 1_500 && sum(|one| one.x2_packet_bytes) > 1_000_000);
    assert!(sum(|one| one.turned_away) > 20 && sum(|one| one.passed) > 100 && sum(|one| one.forgotten) > 5);
}

#[test]
fn a_reset_reaches_the_other_side_wherever_the_ue_goes() {
    let statistics = runs(10_000..10_300, Mischief::Aborts);
    let resets: u64 = statistics.iter().map(|one| one.ended(Ending::Reset)).sum();
    assert!(resets > 200, "{resets}");
}

#[test]
fn a_peer_that_falls_silent_is_given_up_wherever_the_ue_goes() {
    let statistics = runs(20_000..20_300, Mischief::Vanishes);
    let given_up = |one: &SplitStatistics| one.ended(Ending::Stalled) + one.ended(Ending::Idle);
    let given_up: u64 = statistics.iter().map(given_up).sum();
    assert!(given_up > 100, "{given_up}");
}

#[test]
fn a_run_repeats() {
    for seed in [3, 1_003, 2_003] {
        assert_eq!(run(seed, Mischief::None), run(seed, Mischief::None));
    }
}
