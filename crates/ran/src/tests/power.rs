//! Grants to UEs at the limit of their power, and their power headroom reports.

use std::collections::BTreeMap;

use airlane_radio::nr::{LinkSettings, NrTables};

use super::*;
use crate::numerology::{Duplex, TddPattern};

/// The result of one transmission of an uplink block.
#[derive(Clone, Copy, Debug)]
pub(super) struct UplinkBlock {
    pub(super) at: Instant,
    pub(super) cell: CellId,
    pub(super) ue: UeId,
    pub(super) process: u8,
    pub(super) prbs: u16,
    pub(super) bytes: u64,
    pub(super) attempt: u8,
    pub(super) decoded: bool,
    power_limited: bool,
}

impl UplinkBlock {
    /// The block of an event at this time.
    pub(super) fn of(at: Instant, event: &Event<'_>) -> Option<Self> {
        let &Event::TransportBlock {
            cell, ue, process, prbs, bytes, attempt, decoded, power_limited, ..
        } = event
        else {
            return None;
        };
        Some(Self { at, cell, ue, process, prbs, bytes: bytes.get(), attempt, decoded, power_limited })
    }
}

pub(super) const REPORTS: HeadroomReports = HeadroomReports {
    layout: HeadroomLayout::Lte,
    periodic: Some(Duration::from_millis(100)),
    prohibit: Duration::from_millis(100),
    path_loss_change: Some(Decibel(3.0)),
};

/// A cell that adapts to the power of its UEs, whose power control compensates the path loss.
pub(super) fn adapt(cell: &mut CellConfig) {
    cell.mac.mcs_rule = McsRule::Effective { target_bler: 0.1 };
    cell.mac.uplink.power_control = Some(PowerControl { p0: Dbm(-101.0), alpha: 1.0 });
    cell.mac.uplink.headroom = Some(REPORTS);
}

/// One UE at this distance in free space, in such a cell.
fn at(distance_m: f64, change: impl FnOnce(&mut CellConfig)) -> RanConfig {
    let mut config = network(1, IDEAL);
    let cell = &mut config.cells[0];
    adapt(cell);
    change(cell);
    config.ues[0].start = Start::At(Position::on_ground(distance_m, 0.0));
    config
}

/// A cell of NR with this many PRBs of 30 kHz subcarriers, and one slot of the uplink in five.
pub(super) fn nr(cell: &mut CellConfig, prbs: u16) {
    cell.numerology = Numerology::nr(1, 2, Duplex::Tdd(TddPattern::new("DDDSU", 10, 2)));
    cell.tables = Arc::new(NrTables::new(LinkSettings::FR1));
    cell.resource_blocks = prbs;
    (cell.mac.downlink_latency, cell.mac.grant_to_pusch) = (1, 1);
    (cell.mac.harq_round_trip, cell.mac.uplink_round_trip) = (4, 3);
    cell.mac.uplink.headroom = Some(HeadroomReports { layout: HeadroomLayout::Nr, ..REPORTS });
}

/// The blocks of a second in which the UE always has data.
fn saturated(config: &RanConfig) -> Driver {
    let mut d = Driver::new(config);
    for k in 0..1000_u64 {
        d.send(Instant::from_millis(k), 0, Direction::Uplink, 1400);
    }
    d.conserved();
    d
}

/// Bytes of the blocks that were decoded, and the share of first transmissions that were not.
fn carried(d: &Driver) -> (u64, f64) {
    let decoded = d.meter.uplink_blocks.iter().filter(|block| block.decoded).map(|block| block.bytes).sum();
    let first: Vec<_> = d.meter.uplink_blocks.iter().filter(|block| block.attempt == 0).collect();
    let failed = first.iter().filter(|block| !block.decoded).count();
    (decoded, failed as f64 / first.len() as f64)
}

/// 23 dBm in free space at 1.93 GHz, and noise of -116.4 dBm: at 100 km (138.2 dB) a single PRB has 1.2 dB, and all 100
/// have -18.8 dB, where MCS 0 cannot be decoded.
#[test]
fn a_ue_at_its_limit_is_granted_what_can_be_decoded() {
    let d = saturated(&at(100_000.0, |_| ()));
    let (bytes, first_bler) = carried(&d);
    assert!((0.02..0.2).contains(&first_bler), "first BLER {first_bler}");
    // From 200 ms on, what is granted is less than a sixth of the band, and all of it at full power.
    let late = d.meter.uplink_blocks.iter().filter(|block| block.at > Instant::from_millis(200));
    assert!(late.clone().all(|block| (1..=16).contains(&block.prbs) && block.power_limited));
    assert!(late.count() > 400 && bytes > 5_000, "{bytes} bytes");
    let whole = saturated(&at(100_000.0, |cell| cell.mac.uplink.headroom = None));
    assert!(carried(&whole).0 < bytes / 4, "{} bytes on the whole band", carried(&whole).0);
}

/// Of the same UE, a wider band never carries less.
#[test]
fn a_wider_band_carries_no_less() {
    let mut lte = Vec::new();
    for prbs in [15, 25, 50, 75, 100] {
        lte.push(carried(&saturated(&at(100_000.0, |cell| cell.resource_blocks = prbs))).0);
    }
    let mut of_nr = Vec::new();
    for prbs in [11, 51, 106, 162, 273] {
        of_nr.push(carried(&saturated(&at(70_000.0, |cell| nr(cell, prbs)))).0);
    }
    // Of the 200 to 1000 blocks of a second, a tenth is lost at random.
    for carried in [lte, of_nr] {
        assert!(carried.windows(2).all(|two| two[1] as f64 > 0.95 * two[0] as f64), "{carried:?}");
    }
}

/// Near the cell, at 72 dB, P0 and the path loss ask for -29 dBm on a PRB: 100 PRBs take -9 dBm, and no grant is smaller
/// than without reports.
#[test]
fn a_ue_with_enough_power_gets_the_band() {
    let d = saturated(&at(50.0, |_| ()));
    let most = d.meter.uplink_blocks.iter().map(|block| block.prbs).max();
    assert!(d.meter.uplink_blocks.iter().all(|block| !block.power_limited));
    let whole = saturated(&at(50.0, |cell| cell.mac.uplink.headroom = None));
    assert_eq!(most, whole.meter.uplink_blocks.iter().map(|block| block.prbs).max());
}

/// Reports: with the first block, then every 100 ms, in the levels of the standard.
#[test]
fn a_ue_reports_its_headroom() {
    for (config, period) in [(at(100_000.0, |_| ()), 100), (at(70_000.0, |cell| nr(cell, 106)), 100)] {
        let d = saturated(&config);
        let reports = &d.meter.headrooms;
        assert!((9..=11).contains(&reports.len()), "{} reports in a second", reports.len());
        let gaps = reports.windows(2).map(|two| (two[1].0 - two[0].0).as_millis());
        // A report in a block that is repeated is received later.
        let near = |gap| (period - 30..period + 30).contains(&gap);
        assert!(gaps.clone().all(near), "{:?}", gaps.collect::<Vec<_>>());
        // At 100 km, one PRB of LTE asks for 37.2 dBm. Levels are 1 dB wide, and known by their middles.
        assert!(reports.iter().all(|(_, headroom)| headroom.0 < -8.0 && headroom.0 % 1.0 != 0.0));
    }
    // None without power control, and none that is not configured.
    for change in
        [(|cell: &mut CellConfig| cell.mac.uplink.power_control = None) as fn(&mut CellConfig), |cell| {
            cell.mac.uplink.headroom = None
        }]
    {
        assert!(saturated(&at(1_000.0, change)).meter.headrooms.is_empty());
    }
}

/// A report takes two bytes in LTE and three in NR, with its subheader, from the block in which it is.
#[test]
fn a_report_takes_bytes_of_its_block() {
    let delivered = |layout, subheaders| {
        let d = saturated(&at(30_000.0, |cell| {
            cell.mac.subheaders = subheaders;
            let prohibit = Duration::ZERO;
            let periodic = Some(Duration::from_millis(1));
            cell.mac.uplink.headroom = Some(HeadroomReports { layout, periodic, prohibit, ..REPORTS });
        }));
        let blocks = d.meter.uplink_blocks.iter().filter(|block| block.decoded).count();
        (d.meter.headrooms.len(), blocks, d.arrived.len())
    };
    let (reports, blocks, _) = delivered(HeadroomLayout::Lte, true);
    assert!(reports + 3 >= blocks && blocks > 500, "{reports} reports in {blocks} blocks");
    let without = delivered(HeadroomLayout::Lte, false);
    assert!(without.0 + 3 >= without.1);
}

/// A block that is repeated keeps its PRBs, and the UE of a cell out of reach gets the smallest that carries data.
#[test]
fn out_of_reach_the_smallest_block_with_data_is_tried() {
    // One PRB has -12.8 dB at 500 km.
    let d = saturated(&at(500_000.0, |_| ()));
    let prbs: BTreeMap<u16, usize> = d.meter.uplink_blocks.iter().fold(BTreeMap::new(), |mut sum, block| {
        *sum.entry(block.prbs).or_default() += 1;
        sum
    });
    // Without subheaders 7 bytes: 3 PRBs of MCS 0, 56 bits (TS 36.213 table 7.1.7.2.1-1).
    assert_eq!(prbs.keys().copied().collect::<Vec<_>>(), [3], "{prbs:?}");
}

/// A configured grant of 100 bytes at MCS 10 for a UE that cannot fill it with power.
#[test]
fn a_configured_grant_follows_the_power() {
    let grant = UplinkAccess::ConfiguredGrant { period: 10, offset: 4, size: Bytes(100), mcs: Mcs::new(10) };
    let bler = |distance_m, headroom: bool| {
        let mut config = at(distance_m, |cell| nr(cell, 106));
        config.cells[0].mac.uplink.access = grant;
        if !headroom {
            config.cells[0].mac.uplink.headroom = None;
        }
        let mut d = Driver::new(&config);
        for k in 0..400_u64 {
            d.send(Instant::from_millis(5 * k), 0, Direction::Uplink, 20);
        }
        d.run_to(Instant::from_millis(3_000));
        d.conserved();
        (carried(&d).1, d.arrived.len(), d.meter.uplink_mcs.iter().copied().max())
    };
    let (near, _, mcs) = bler(1_000.0, true);
    assert!(near < 0.01 && mcs == Some(10), "near the cell the grant is as configured: {near}, {mcs:?}");
    let (fixed, ..) = bler(60_000.0, false);
    let (follows, arrived, _) = bler(60_000.0, true);
    assert!(fixed > 0.9 && follows < 0.3 && arrived > 380, "{fixed}, {follows}, {arrived} arrived");
}
