//! Reports that are computed later than they were measured.

use std::sync::Arc;

use airlane_core::{CellId, Seeds};
use airlane_radio::mobility::{Course, Movement, SpeedLaw};
use airlane_radio::{Position, Profile};

use airlane_core::Direction;

use super::*;
use crate::build;
use crate::config::{FadingConfig, RanConfig, Start, UplinkAccess};
use crate::mac::phy::{BlockTables, Phy};
use crate::tests::network;
use crate::ue::Ue;

/// A UE that moves from one cell to another, with reports that are in force for five slots each.
fn passing() -> RanConfig {
    let mut config = network(1, UplinkAccess::IdealBufferStatus { delay: 1 });
    let mac = &mut config.cells[0].mac;
    (mac.cqi_period, mac.cqi_delay) = (5, 6);
    let mut other = config.cells[0].clone();
    other.position = Position::on_ground(400.0, 0.0);
    config.cells.push(other);
    let ue = &mut config.ues[0];
    (ue.cell, ue.start) = (Some(CellId(0)), Start::At(Position::on_ground(150.0, 10.0)));
    ue.movement = Movement::Line(Course::Heading(0.0), SpeedLaw::Constant(90.0));
    let fading = FadingConfig { profile: Profile::Eva, speed_mps: 90.0, prb_spacing_hz: None };
    config.channel.fading = Some(fading);
    config
}

/// The reports in force in the last slot of each, computed in the slot of their measurement or in
/// that last slot.
fn reports(config: &RanConfig, at_once: bool) -> Vec<([Cqi; MAX_RBGS], u8)> {
    let (mut air, mut ues) =
        (Air::new(&config.cells), build::Environment::new(config).ues(config, Seeds::new(1)));
    let cell = &config.cells[0];
    let Ue { mobility, links, .. } = &mut ues[0];
    let link = links.primary_mut();
    let mut phy = Phy::new(cell, Arc::new(BlockTables::new(cell, &config.cells)));
    let mut stream = Seeds::new(1).stream("neighbour");
    let mut reports = Vec::new();
    for slot in 0..1000_u64 {
        let (amc, scratch) = phy.amc_and_sinr(Direction::Downlink);
        air.send_downlink(CellId(1), slot + 2, stream.bits() as RbgSet);
        let radio = Radio { cell, air: &air };
        link.measure_cqi(slot, MeasuringUe { mobility, drx: None, gaps: None }, radio, amc, scratch);
        for k in 0..link.downlink.cqi.pending.len() {
            let mut report = link.downlink.cqi.pending[k];
            if at_once && !report.is_made() {
                link.make_report(&mut report, radio, amc, scratch);
                link.downlink.cqi.pending[k] = report;
            }
        }
        // Measured in slots 0, 5, 10, …: the one in force changes in slots 11, 16, …
        if slot > 6 && slot % 5 == 0 {
            link.downlink.cqi.current.asked = false;
            let (cqi, rank) = link.reported_cqi(mobility, radio, amc, scratch);
            reports.push((*cqi, rank));
            link.downlink.cqi.current.asked = false;
        }
    }
    reports
}

#[test]
fn a_report_made_later_is_the_one_that_was_measured() {
    let mut config = passing();
    for cells in [2, 1] {
        config.cells.truncate(cells);
        for reference in [CqiReference::PdschInterference, CqiReference::ControlRegion] {
            config.cells[0].mac.cqi_reference = reference;
            let made = reports(&config, true);
            assert_eq!(made, reports(&config, false), "{cells} cells, {reference:?}");
            let changes = made.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert!(changes > 100, "{changes}");
        }
    }
}

#[test]
fn a_report_that_would_outlive_what_was_heard_is_made_at_once() {
    let mut config = passing();
    config.cells[0].mac.cqi_delay = 7;
    assert!(!may_wait(&config.cells[0]));
    assert_eq!(reports(&config, true), reports(&config, false));
}

/// A UE without downlink data is not measured, but what it receives changes with each block that it sends.
#[test]
fn a_report_whose_interference_is_forgotten_is_measured_again() {
    let config = passing();
    let (mut air, mut ues) =
        (Air::new(&config.cells), build::Environment::new(&config).ues(&config, Seeds::new(1)));
    let cell = &config.cells[0];
    let Ue { mobility, links, .. } = &mut ues[0];
    let link = links.primary_mut();
    let mut phy = Phy::new(cell, Arc::new(BlockTables::new(cell, &config.cells)));
    let (amc, scratch) = phy.amc_and_sinr(Direction::Downlink);
    for slot in 0..12 {
        air.send_downlink(CellId(1), slot + 2, RbgSet::MAX);
        let ue = MeasuringUe { mobility, drx: None, gaps: None };
        link.measure_cqi(slot, ue, Radio { cell, air: &air }, amc, scratch);
    }
    assert!(link.downlink.cqi.is_valid() && !link.downlink.cqi.is_known(), "nobody has asked");
    for ms in [30, 60, 90] {
        air.snapshot(Instant::from_millis(ms), &mut link.neighbours, mobility);
    }
    let now = Instant::from_millis(95);
    link.compute_report(now, mobility, Radio { cell, air: &air }, amc, scratch);
    assert!(link.downlink.cqi.is_known());
    let measured = link.downlink.cqi.current.input.slot;
    assert!((85..95).contains(&measured), "{measured}");
}

#[test]
fn a_steady_report_is_the_one_that_would_have_been_written_down() {
    for (period, delay, fades) in [(1, 6, true), (5, 6, true), (10, 3, true), (3, 0, true), (5, 6, false)] {
        let mut config = passing();
        config.cells.truncate(1);
        let mac = &mut config.cells[0].mac;
        (mac.cqi_period, mac.cqi_delay) = (period, delay);
        config.channel.fading = config.channel.fading.filter(|_| fades);
        config.ues[0].movement = Movement::Static;
        let air = Air::new(&config.cells);
        let (cell, mut slot) = (&config.cells[0], 0);
        let [mut steady, mut other] =
            [1, 1].map(|seed| build::Environment::new(&config).ues(&config, Seeds::new(seed)));
        let Ue { mobility, links, .. } = &mut steady[0];
        let (steady, other) = (links.primary_mut(), other[0].links.primary_mut());
        for link in [&mut *steady, &mut *other] {
            let reports = &mut link.downlink.cqi;
            (reports.next, reports.offset) = (u64::from(period - 1), u64::from(period - 1));
        }
        let mut phy = Phy::new(cell, Arc::new(BlockTables::new(cell, &config.cells)));
        let mut stream = Seeds::new(1).stream("pauses");
        let mut compared = 0;
        for _ in 0..1000 {
            slot += if stream.chance(0.1) { stream.below(40) } else { 1 };
            let (amc, scratch) = phy.amc_and_sinr(Direction::Downlink);
            let radio = Radio { cell, air: &air };
            steady.measure_cqi(slot, MeasuringUe { mobility, drx: None, gaps: None }, radio, amc, scratch);
            other.measure_each(slot, MeasuringUe { mobility, drx: None, gaps: None }, radio, amc, scratch);
            assert_eq!(steady.downlink.cqi.is_valid(), other.downlink.cqi.is_valid());
            if other.downlink.cqi.is_valid() && stream.chance(0.5) {
                let expected = other.reported_cqi(mobility, radio, amc, scratch);
                assert_eq!(steady.reported_cqi(mobility, radio, amc, scratch), expected, "slot {slot}");
                compared += 1;
            }
        }
        assert!(compared > 400 && steady.downlink.cqi.pending.is_empty(), "{compared}");
    }
}
