//! Checks of propagation: heights and lengths must be in the range of the path-loss model.

use std::ops::RangeInclusive;

use airlane_core::Duration;
use airlane_radio::RadioPath;
use airlane_radio::fading::max_doppler;
use airlane_ran::config::PathLossModel;

use super::{Checked, Place};
use crate::format::{
    Antenna, Blockage, Bursts, Channel, ChannelScene, Fading, LogNormal, PathLoss, Resolved, Shadowing,
};
use crate::quantity::{Metres, Time};

/// Range of street widths and building heights of TR 36.814 Table B.1.2.1-1, in metres.
const TOWN: RangeInclusive<f64> = 5.0..=50.0;

/// Minimum mean of good and bad periods: shorter ones average out within a slot of 1 ms.
const BURST_MIN: Time = Time(Duration::from_micros(100));
const BURST_MAX: Time = Time(Duration::from_secs(3600));
/// Minimum mean time between two blockers of a kind.
const CROSSING_MIN: Time = Time(Duration::from_millis(100));

/// Range of delay spreads; the longest of TR 38.901 v16.1.0 Table 7.7.3-1 is 1 us.
const SPREAD_MIN: Time = Time(Duration::from_nanos(1));
const SPREAD_MAX: Time = Time(Duration::from_micros(10));
/// Limit of `airlane_radio::Fading`.
const DOPPLER_MAX_HZ: f64 = 100e3;

pub(super) fn channel(channel: &Channel, at: &Place<'_>) -> Checked {
    law(&channel.path_loss, &at.under("path_loss"))?;
    fading(&channel.fading, &at.under("fading"))?;
    bursts(&channel.bursts, &at.under("bursts"))?;
    blockage(&channel.blockage, &at.under("blockage"))?;
    let least = channel.minimum_coupling_loss.is_none_or(|loss| (0.0..=200.0).contains(&loss.0.0));
    at.require(least, "minimum_coupling_loss", "out of range", "it must be from 0 dB to 200 dB")?;
    let strongest = channel.strongest_cells.is_none_or(|cells| cells >= 1);
    at.require(
        strongest,
        "strongest_cells",
        "out of range",
        "it must be at least 1; leave it out for all cells",
    )?;
    if let Some(wrap) = &channel.wrap_around {
        let at = at.under("wrap_around");
        at.require(wrap.rings <= 18, "rings", "out of range", "it must be from 0 to 18")?;
        let apart = wrap.inter_site_distance.0 >= 1.0;
        at.require(apart, "inter_site_distance", "out of range", "it must be at least 1 m")?;
    }
    match &channel.shadowing {
        Shadowing::None => Ok(()),
        Shadowing::LogNormal(law) => shadowing(law, channel.path_loss.config(), &at.under("shadowing")),
    }
}

fn law(law: &PathLoss, at: &Place<'_>) -> Checked {
    match law {
        PathLoss::Friis | PathLoss::Cost231Hata(_) | PathLoss::Tr25814 | PathLoss::Tr36873(_) => Ok(()),
        PathLoss::Tr38901(law) => at.require(
            !law.optional_nlos || law.scene != ChannelScene::Rma,
            "optional_nlos",
            "scene = \"rma\" has no optional formula",
            "remove it",
        ),
        PathLoss::LogDistance(law) => {
            let exponent = (0.0..=10.0).contains(&law.exponent);
            at.require(exponent, "exponent", "out of range", "it must be from 0 to 10")?;
            at.require(
                law.reference_distance.0 > 0.0,
                "reference_distance",
                "out of range",
                "it must be above 0 m",
            )
        }
        PathLoss::Tr36814(law) => {
            let (street, building) = (law.street_width.0, law.building_height.0);
            at.require(
                TOWN.contains(&street),
                "street_width",
                "out of range",
                "it must be from 5 m to 50 m",
            )?;
            at.require(
                TOWN.contains(&building),
                "building_height",
                "out of range",
                "it must be from 5 m to 50 m",
            )
        }
    }
}

fn shadowing(law: &LogNormal, path_loss: PathLossModel, at: &Place<'_>) -> Checked {
    // Whether the model has shadowing does not depend on the path.
    let path = RadioPath {
        distance_m: 100.0,
        ground_m: 100.0,
        site_height_m: 30.0,
        ue_height_m: 1.5,
        line_of_sight: true,
    };
    let own = path_loss.at(2e9).shadowing(&path).is_some();
    let help =
        "channel.path_loss defines no shadowing; add deviation = \"8 dB\", correlation_distance = \"50 m\"";
    at.require(own || law.deviation.is_some(), "deviation", "no value", help)?;
    at.require(own || law.correlation_distance.is_some(), "correlation_distance", "no value", help)?;
    let deviation = law.deviation.is_none_or(|gain| (0.0..=40.0).contains(&gain.0.0));
    at.require(deviation, "deviation", "out of range", "it must be from 0 dB to 40 dB")?;
    let apart = law.correlation_distance.is_none_or(|length| length.0 >= 0.1);
    at.require(apart, "correlation_distance", "out of range", "it must be at least 0.1 m")
}

fn fading(fading: &Fading, at: &Place<'_>) -> Checked {
    let line = match fading {
        Fading::None | Fading::Flat(_) | Fading::Epa(_) | Fading::Eva(_) | Fading::Etu(_) => return Ok(()),
        Fading::TdlA(line)
        | Fading::TdlB(line)
        | Fading::TdlC(line)
        | Fading::TdlD(line)
        | Fading::TdlE(line) => line,
    };
    let known = (SPREAD_MIN..=SPREAD_MAX).contains(&line.delay_spread);
    at.require(known, "delay_spread", "out of range", "it must be from 1 ns to 10 us")
}

/// The fading of no cell is faster than its clock of 1 us can follow.
pub(super) fn doppler(scenario: &Resolved, channel: &Channel, at: &Place<'_>) -> Checked {
    let Some(speed) = channel.fading.speed() else { return Ok(()) };
    let carriers = scenario.cell.iter().flat_map(|cell| [cell.frequency.0, cell.uplink_frequency.0]);
    let highest = carriers.fold(0.0, f64::max);
    let shift = max_doppler(speed.metres_per_second(), highest);
    let problem = format!("the Doppler shift at {:.1} GHz is {:.0} kHz", highest / 1e9, shift / 1e3);
    at.under("fading").require(shift < DOPPLER_MAX_HZ, "speed", &problem, "it must be below 100 kHz")
}

fn bursts(bursts: &Bursts, at: &Place<'_>) -> Checked {
    let Bursts::GilbertElliott(law) = bursts else { return Ok(()) };
    for (mean, key) in [(law.good, "good"), (law.bad, "bad")] {
        let known = (BURST_MIN..=BURST_MAX).contains(&mean);
        at.require(known, key, "out of range", "it must be from 100 us to 1 h")?;
    }
    for (depth, key) in [(law.depth, "depth"), (law.uplink_depth, "uplink_depth")] {
        let known = (0.0..=100.0).contains(&depth.0.0);
        at.require(known, key, "out of range", "it must be from 0 dB to 100 dB")?;
    }
    Ok(())
}

/// The limits bound the number of blockers that are near the path at one time: 10 per second for 65 m at 1 km/h.
fn blockage(blockage: &Blockage, at: &Place<'_>) -> Checked {
    let Blockage::Screens(set) = blockage else { return Ok(()) };
    let intervals = [(set.people_interval, "people_interval"), (set.vehicle_interval, "vehicle_interval")];
    for (interval, key) in intervals {
        let known = interval.0 == Duration::ZERO || (CROSSING_MIN..=BURST_MAX).contains(&interval);
        at.require(known, key, "out of range", "it must be 0 s for none, or from 100 ms to 1 h")?;
    }
    for (speed, key) in [(set.people_speed, "people_speed"), (set.vehicle_speed, "vehicle_speed")] {
        at.require(speed.0 >= 1.0, key, "out of range", "it must be at least 1 km/h")?;
    }
    let distances = [(set.people_distance, "people_distance"), (set.vehicle_distance, "vehicle_distance")];
    for ([near, far], key) in distances {
        let known = 0.1 <= near.0 && near.0 <= far.0 && far.0 <= 100.0;
        let help = "write the least and the greatest distance, from 0.1 m to 100 m";
        at.require(known, key, "out of range, or not in this order", help)?;
    }
    let known = (-20.0..=60.0).contains(&set.direct_power.0.0);
    at.require(known, "direct_power", "out of range", "it must be from -20 dB to 60 dB")
}

pub(super) fn antenna(antenna: &Antenna, at: &Place<'_>) -> Checked {
    match antenna {
        Antenna::Omni(_) => Ok(()),
        Antenna::Sector(sector) => {
            let width = sector.beamwidth.0 > 0.0;
            at.require(width, "beamwidth", "out of range", "it must be above 0 deg")?;
            let back = sector.front_to_back.0.0 >= 0.0;
            at.require(
                back,
                "front_to_back",
                "the gain would be higher behind the antenna than in front of it",
                "it must be 0 dB or more",
            )
        }
        Antenna::Panel(panel) => {
            for (count, key) in [(panel.rows, "rows"), (panel.columns, "columns")] {
                let known = (1..=256).contains(&count);
                at.require(known, key, "out of range", "it must be from 1 to 256")?;
            }
            for (spacing, key) in
                [(panel.row_spacing, "row_spacing"), (panel.column_spacing, "column_spacing")]
            {
                let known = spacing > 0.0 && spacing <= 10.0;
                at.require(known, key, "out of range", "it must be above 0 and at most 10 wavelengths")?;
            }
            let down = (-90.0..=90.0).contains(&panel.downtilt.0);
            at.require(down, "downtilt", "out of range", "it must be from -90 deg to 90 deg")
        }
    }
}

/// The heights of all cells and UEs must be in the range of the path-loss model, where it applies.
pub(super) fn heights(scenario: &Resolved, channel: &Channel, at: &Place<'_>) -> Checked {
    // The range of heights does not depend on the carrier.
    let Some(known) = channel.path_loss.config().at(2e9).heights() else { return Ok(()) };
    let check = |height: Metres, known: &RangeInclusive<f64>, at: &Place<'_>| {
        let (low, high) = (Metres(*known.start()), Metres(*known.end()));
        let help = if low == high {
            format!("it must be {low}")
        } else {
            format!("it must be from {low} to {high}")
        };
        at.require(known.contains(&height.0), "height", "outside the range of channel.path_loss", &help)
    };
    for (i, cell) in scenario.cell.iter().enumerate().filter(|(_, cell)| cell.path_loss_map.is_none()) {
        check(cell.height, &known.site_m, &at.under("cell").entry(i))?;
    }
    if scenario.cell.iter().all(|cell| cell.path_loss_map.is_some()) {
        return Ok(());
    }
    for (i, ue) in scenario.ue.iter().enumerate() {
        let at = at.under("ue").entry(i);
        // Positions one by one may have heights of their own.
        let own: Vec<_> = (0..ue.count).map_while(|k| ue.point(k)).map(|point| point.height).collect();
        if own.is_empty() || own.contains(&None) {
            check(ue.height, &known.ue_m, &at)?;
        }
        for (k, height) in own.iter().enumerate() {
            height.map_or(Ok(()), |height| {
                check(height, &known.ue_m, &at.under("placement.points").entry(k))
            })?;
        }
        let Some(building) = &ue.building else { continue };
        let floor_m =
            own.iter().map(|height| height.unwrap_or(ue.height).0).reduce(f64::max).unwrap_or(ue.height.0);
        let top_m = floor_m + f64::from(building.storeys[1].saturating_sub(1)) * building.storey_height.0;
        let (highest, help) = (Metres(top_m), format!("it must be at most {}", Metres(*known.ue_m.end())));
        let what =
            format!("a UE on the highest floor, at {highest}, is outside the range of channel.path_loss");
        at.require(top_m <= *known.ue_m.end(), "building.storeys", &what, &help)?;
    }
    Ok(())
}
