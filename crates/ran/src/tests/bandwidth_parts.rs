//! Bandwidth parts: rates of the default part, the times of switches by hand, and what is sent meanwhile.

use std::collections::BTreeMap;

use airlane_core::{Direction, Duration, Instant};
use airlane_radio::Profile;
use airlane_radio::link_tables::LinkTables;
use airlane_radio::nr::{LinkSettings, NrTables};

use super::nr_cell::nr;
use super::*;
use crate::config::{BandwidthParts, DrxConfig, FrequencyMetric, PrioritySetConfig, SwitchingDelay};
use crate::mac::bwp::Part;
use crate::numerology::{Duplex, Numerology};

const HALF_MS: Duration = Duration::from_micros(500);
/// More than any queue has: UEs stay on the default part.
const NEVER: Bytes = Bytes(1 << 40);
const TIMER: Duration = Duration::from_millis(10);

/// The cell of [`nr`] with 24 of 273 resource blocks as the default part: two groups of 16, of which 8 blocks are outside.
fn parts(activate_above: Bytes, switching_delay: SwitchingDelay, ues: usize) -> RanConfig {
    let mut config = nr(IDEAL, ues);
    config.cells[0].bandwidth_parts = Some(BandwidthParts {
        resource_blocks: 24,
        activate_above,
        inactivity_timer: TIMER,
        switching_delay,
    });
    config
}

fn slot(number: u64) -> Instant {
    Instant::ZERO + HALF_MS * number
}

/// A time in a slot.
fn within(number: u64) -> Instant {
    slot(number) + Duration::from_micros(100)
}

/// Slots 0 to 3 of five have a downlink.
fn next_downlink(from: u64) -> u64 {
    (from..).find(|slot| slot % 5 != 4).unwrap()
}

/// The slots of downlink blocks from a slot on.
fn sent_from(d: &Driver, from: u64) -> Vec<u64> {
    let slots = d.meter.downlink_blocks.iter().map(|block| block.at.as_nanos() / 500_000 - 1);
    slots.filter(|sent| *sent >= from).collect()
}

/// Mbit/s of the blocks from 200 ms to 1200 ms in a direction, and the most resource blocks of one.
fn saturated(mut config: RanConfig, direction: Direction) -> (f64, u32) {
    config.cells[0].numerology = Numerology::nr(1, 2, Duplex::Fdd);
    config.cells[0].uplink_hz = 3.4e9;
    let mut d = Driver::new(&config);
    for k in 0..100_000_u64 {
        d.send(Instant::from_nanos(k * 12_000), 0, direction, 1400);
    }
    let window = Instant::from_millis(200)..Instant::from_millis(1200);
    d.conserved();
    match direction {
        Direction::Downlink => {
            let blocks = d.meter.downlink_cells.iter().filter(|(at, ..)| window.contains(at));
            let bytes: u64 = blocks.map(|(.., bytes)| bytes.get()).sum();
            (bytes as f64 * 8e-6, d.meter.downlink_prbs.iter().max().copied().unwrap().into())
        }
        Direction::Uplink => {
            let blocks = d.meter.uplink_blocks.iter().filter(|block| window.contains(&block.at));
            (blocks.map(|block| block.bytes).sum::<u64>() as f64 * 8e-6, d.meter.uplink_most)
        }
    }
}

/// TS 38.306 §4.1.2 with one layer of 64QAM and the highest code rate of table 1, 948/1024: Q R N 12 symbols a second, for
/// the symbols that the cell has for data in the place of 14 and of the overhead of that clause.
#[test]
fn the_default_part_has_the_rate_of_its_resource_blocks() {
    let settings = LinkSettings::FR1;
    for (direction, control) in [
        (Direction::Downlink, settings.control_symbols),
        (Direction::Uplink, settings.uplink_control_symbols),
    ] {
        let data =
            12.0 * f64::from(14 - control - settings.dmrs_symbols) - f64::from(settings.overhead_per_prb);
        let (rate, most) = saturated(parts(NEVER, SwitchingDelay::Type1, 1), direction);
        let tables = NrTables::new(settings);
        let efficiency = tables.efficiency(tables.highest_mcs());
        let formula = efficiency * 24.0 * data * 2e3 * 1e-6;
        println!("{direction:?}: {rate} Mbit/s, {formula} by the formula; {most} PRBs");
        assert!((rate / formula - 1.0).abs() < 0.01, "{direction:?}: {rate} and {formula} Mbit/s");
        assert_eq!(most, 24);
    }
}

/// A UE that much data waits for is switched: the same carrier as without parts, but for the 1 ms at its start.
#[test]
fn saturated_ues_use_the_carrier() {
    for direction in [Direction::Downlink, Direction::Uplink] {
        let (with, most) = saturated(parts(Bytes(5_000), SwitchingDelay::Type2, 1), direction);
        let (without, _) = saturated(nr(IDEAL, 1), direction);
        assert!((with / without - 1.0).abs() < 1e-9, "{direction:?}: {with} and {without}");
        assert_eq!(most, 273);
    }
}

/// A DCI in slot n: the first block is in slot n + 2 or n + 5 (TS 38.133 table 8.6.2-1), or in the next slot with a downlink.
#[test]
fn a_burst_waits_for_the_switch() {
    for (delay, slots) in [(SwitchingDelay::Type1, 2), (SwitchingDelay::Type2, 5)] {
        for arrives_in in 40..50 {
            let first = |config: &RanConfig| {
                let mut d = Driver::new(config);
                d.send(within(1), 0, Direction::Downlink, 100); // the first report arrives
                (0..20).for_each(|_| d.send(within(arrives_in), 0, Direction::Downlink, 1000));
                d.run_to(Instant::from_millis(500));
                d.conserved();
                assert_eq!(d.arrived.len(), 21);
                sent_from(&d, 10)[0]
            };
            let dci = next_downlink(arrives_in + 1);
            assert_eq!(first(&nr(IDEAL, 1)), dci);
            assert_eq!(first(&parts(Bytes(5_000), delay, 1)), next_downlink(dci + slots), "{delay:?}");
            // Not above the threshold: at once.
            assert_eq!(first(&parts(NEVER, delay, 1)), dci);
        }
    }
}

/// The buffer status is known one slot after the arrival. With k2 = 1, a grant in slot 8, 13 or 18 is for the slot after it;
/// the one in the DCI is for the first slot with an uplink after the switch.
#[test]
fn a_burst_of_the_uplink_waits_for_the_switch() {
    for (delay, slots) in [(SwitchingDelay::Type1, 2), (SwitchingDelay::Type2, 5)] {
        for (arrives_in, dci) in [(40, 43), (41, 43), (42, 48), (46, 48)] {
            let first = |config: &RanConfig| {
                let mut d = Driver::new(config);
                (0..20).for_each(|_| d.send(within(arrives_in), 0, Direction::Uplink, 1000));
                d.run_to(Instant::from_millis(500));
                d.conserved();
                assert_eq!(d.arrived.len(), 20);
                d.meter.uplink_at[0].as_nanos() / 500_000 - 1
            };
            assert_eq!(first(&nr(IDEAL, 1)), dci + 1);
            let over = dci + slots;
            let expected = (over..).find(|slot| slot % 5 == 4).unwrap();
            assert_eq!(first(&parts(Bytes(5_000), delay, 1)), expected, "{delay:?} in {arrives_in}");
        }
    }
}

/// The last PDCCH of a burst is in slot `last`. The timer expires at the end of the tenth subframe after that of the slot,
/// and for two slots then, the UE receives nothing.
#[test]
fn the_timer_expires_at_the_end_of_a_subframe() {
    let config = parts(Bytes(5_000), SwitchingDelay::Type1, 1);
    let burst = |probe: Option<u64>| {
        let mut d = Driver::new(&config);
        d.send(within(1), 0, Direction::Downlink, 100);
        (0..20).for_each(|_| d.send(within(40), 0, Direction::Downlink, 1000));
        if let Some(at) = probe {
            d.send(within(at), 0, Direction::Downlink, 100);
        }
        d.run_to(Instant::from_millis(500));
        d.conserved();
        sent_from(&d, 10)
    };
    let last = *burst(None).last().unwrap();
    let expires = 2 * (last / 2 + 1 + 10);
    for arrives_in in last + 1..expires + 8 {
        let due = next_downlink(arrives_in + 1);
        let expected = if (expires..expires + 2).contains(&due) { next_downlink(expires + 2) } else { due };
        assert_eq!(*burst(Some(arrives_in)).last().unwrap(), expected, "{arrives_in} of {expires}");
    }
}

/// Traffic of both directions that switches four UEs often.
fn play(config: &RanConfig, packets: u64) -> (Driver, u64, Vec<BTreeMap<u64, Part>>) {
    let mut d = Driver::new(config);
    let ues = config.ues.len();
    let mut seen = vec![BTreeMap::new(); ues];
    let mut draws = Seeds::new(7).stream("test/bursts");
    let (mut now, mut sent) = (Instant::from_millis(10), 0);
    let mut follow = |d: &mut Driver, until: Instant| {
        while let Some(at) = d.ran.next_timeout().filter(|at| *at <= until) {
            d.call(at, |ran, cx| ran.handle_timeout(cx));
            if at.as_nanos().is_multiple_of(500_000) {
                for (ue, seen) in (0..).map(UeId).zip(&mut seen) {
                    let (ue, _) = d.ran.ue_with_cell(ue).unwrap();
                    let part = ue.links.primary().bwp.as_ref().unwrap().part(at);
                    seen.insert(at.as_nanos() / 500_000, part);
                }
            }
        }
    };
    while sent < packets {
        // Dense traffic, with pauses in which timers expire.
        now += Duration::from_micros(if draws.below(4) == 0 { 40_000 } else { draws.below(2_000) });
        follow(&mut d, now);
        let ue = draws.below(ues as u64) as u32;
        let direction = [Direction::Downlink, Direction::Uplink][draws.below(2) as usize];
        let most = [6, 60][draws.below(2) as usize];
        for _ in 0..1 + draws.below(most) {
            d.send(now, ue, direction, 1000);
            sent += 1;
        }
    }
    follow(&mut d, now + Duration::from_secs(3));
    (d, sent, seen)
}

/// No block is on the air while its UE switches; those of the default part are in its resource blocks; in acknowledged mode,
/// all is delivered.
fn check(mut config: RanConfig) {
    let bearer = &mut config.cells[0].bearer;
    (bearer.rlc, bearer.buffer) = (RlcConfig::Am(bearers::TYPICAL_AM), Bytes(64 << 20));
    let (d, sent, seen) = play(&config, 3_000);
    let mut counts = [0; 3];
    let mut in_slot: BTreeMap<u64, u32> = BTreeMap::new();
    let mut check = |ue: UeId, at: Instant, prbs: u16| {
        let sent = at.as_nanos() / 500_000 - 1;
        let part = seen[ue.index()][&sent];
        assert!(part != Part::Switching, "UE {ue:?} in slot {sent}");
        assert!(part == Part::Carrier || prbs <= 24, "{prbs} PRBs of UE {ue:?} in slot {sent}");
        counts[part as usize] += 1;
        (part == Part::Default).then_some(sent)
    };
    for (block, prbs) in d.meter.downlink_blocks.iter().zip(&d.meter.downlink_prbs) {
        check(block.ue, block.at, *prbs);
    }
    for block in &d.meter.uplink_blocks {
        if let Some(slot) = check(block.ue, block.at, block.prbs) {
            *in_slot.entry(slot).or_default() += u32::from(block.prbs);
        }
    }
    assert!(in_slot.values().all(|prbs| *prbs <= 24), "the default part is oversold");
    println!("{counts:?} blocks by part; {} of the uplink", d.meter.uplink_blocks.len());
    assert!(counts[0] > 30 && counts[2] > 100, "{counts:?}");
    assert_eq!((d.arrived.len() as u64, d.ran.packets_held()), (sent, 0));
    d.conserved();
}

fn kinds() -> Vec<SchedulerKind> {
    let pss = |metric| {
        let target = airlane_core::BitRate(1_000_000);
        SchedulerKind::PrioritySet(PrioritySetConfig { window: 99, target, multiplexed: 0, metric })
    };
    let mut kinds = vec![
        SchedulerKind::ProportionalFair { window: 99 },
        SchedulerKind::RoundRobin,
        SchedulerKind::ThroughputToAverage,
        SchedulerKind::Qos { window: 99 },
        pss(FrequencyMetric::CarrierToAverage),
        pss(FrequencyMetric::ProportionalFairScheduled),
    ];
    for domain in [SchedulerDomain::Frequency, SchedulerDomain::Time] {
        kinds.push(SchedulerKind::MaximumThroughput { domain });
        kinds.push(SchedulerKind::BlindEqualThroughput { domain, window: 99 });
    }
    kinds
}

#[test]
fn every_policy_respects_the_parts() {
    for kind in kinds() {
        for fading in [None, Some(Profile::Eva)] {
            let mut config = parts(Bytes(8_000), SwitchingDelay::Type2, 4);
            config.cells[0].scheduler = kind.clone();
            config.cells[0].mac.mcs_rule = McsRule::Effective { target_bler: 0.1 };
            let fading = fading.map(|profile| FadingConfig { profile, speed_mps: 3.0, prb_spacing_hz: None });
            config.channel.fading = fading;
            println!("{kind:?}");
            check(config);
        }
    }
}

/// Blocks fail, PDCCHs are missed, UEs sleep, and requests wait.
#[test]
fn blocks_that_fail_are_repeated_beside_switches() {
    for (access, sleeps) in [(IDEAL, false), (sr(10), false), (sr(10), true)] {
        let mut config = parts(Bytes(30_000), SwitchingDelay::Type1, 4);
        let cell = &mut config.cells[0];
        cell.mac.uplink.access = access;
        cell.mac.mcs_rule = McsRule::Effective { target_bler: 0.1 };
        cell.mac.control_errors = true;
        cell.mac.out_of_range = OutOfRange::LowestMcs;
        let ms = Duration::from_millis;
        cell.drx = sleeps.then_some(DrxConfig {
            on_duration: ms(4),
            inactivity: ms(6),
            long_cycle: ms(40),
            short: None,
            retransmission: [ms(8); 2],
            command: false,
        });
        for (at, ue) in (0..).zip(&mut config.ues) {
            ue.start = Start::At(Position::on_ground(1_500.0 + 300.0 * f64::from(at), 0.0));
        }
        config.channel.fading =
            Some(FadingConfig { profile: Profile::Eva, speed_mps: 10.0, prb_spacing_hz: None });
        check(config);
    }
}
