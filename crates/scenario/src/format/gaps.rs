//! Measurement gaps of UEs.

use airlane_core::Duration;
use airlane_ran::config::GapConfig;
use airlane_ran::rrc::coverage::CoverageConfig;
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Uplink};
use crate::quantity::{Gain, Power, Time};

/// Lengths and periods of gaps in NR in µs and in ms: each pair is one of the 24 patterns of TS 38.133 table 9.1.2-1 (read in
/// an implementation).
const LENGTHS_NR_US: [u64; 6] = [1_500, 3_000, 3_500, 4_000, 5_500, 6_000];
const PERIODS_NR_MS: [u64; 4] = [20, 40, 80, 160];
/// The same in LTE: patterns 0 and 1 of TS 36.133 table 8.1.2.1-1 (read in a transcription).
const LENGTHS_LTE_US: [u64; 1] = [6_000];
const PERIODS_LTE_MS: [u64; 2] = [40, 80];

/// Measurement gaps (TS 36.331 and TS 38.331 §5.5.2.9): times in which the UE receives other carriers, and neither receives
/// nor sends in its serving cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasurementGaps {
    /// Measurement gap repetition period (MGRP): 40 ms or 80 ms, in NR also 20 ms or 160 ms.
    pub repetition: Time,
    /// Measurement gap length (MGL): 6 ms, in NR also 1.5 ms, 3 ms, 3.5 ms, 4 ms or 5.5 ms.
    pub length: Time,
    /// gapOffset: time from the beginning of each period until the gap begins, in whole milliseconds. By default, it is drawn
    /// for each UE of a group and each seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Time>,
    /// RSRP of the primary cell below which the network configures gaps (event A2), until it is above (event A1). By
    /// default, the UE has gaps all the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_below: Option<Power>,
    /// Hysteresis of both events.
    pub hysteresis: Gain,
    /// Time to trigger of both events.
    pub time_to_trigger: Time,
    /// Time from a measurement report until the UE has carried out the message that follows from it.
    pub preparation: Time,
}

/// Periods of a cell at which a UE sends without a grant, with their keys.
fn occasions(cell: &Cell) -> impl Iterator<Item = (&'static str, Time)> {
    let access = match &cell.uplink {
        Uplink::SchedulingRequest(access) => {
            Some(("uplink.scheduling_request_period", access.scheduling_request_period))
        }
        Uplink::ConfiguredGrant(access) => Some(("uplink.period", access.period)),
        Uplink::Polled(_) | Uplink::IdealBufferStatus(_) => None,
    };
    access.into_iter().chain([("mac.cqi_period", cell.mac.cqi_period)])
}

impl MeasurementGaps {
    /// Gaps must leave a UE some of its occasions. If their period is no multiple of that of gaps, occasions are at two or
    /// more places of it, evenly spaced, and a gap is shorter than half of it.
    fn check_occasions(&self, cell: &Cell, at: &Place<'_>) -> Checked {
        let repetition = self.repetition;
        let is_lost = |period: Time| period.0.as_nanos().is_multiple_of(repetition.0.as_nanos());
        let Some((key, period)) = occasions(cell).find(|(_, period)| is_lost(*period)) else { return Ok(()) };
        let message = format!("each {key} of cell {:?}, {period}, could be in a gap", cell.name);
        let help = format!("use a period there that is no multiple of {repetition}, or another `repetition`");
        at.fail("repetition", message, help)
    }

    pub(super) fn config(&self) -> GapConfig {
        let Self { repetition, length, offset, .. } = self;
        let coverage = self.only_below.map(|threshold| CoverageConfig {
            above: threshold.0 + self.hysteresis.0,
            below: threshold.0 - self.hysteresis.0,
            time_to_trigger: self.time_to_trigger.0,
            preparation: self.preparation.0,
        });
        GapConfig {
            repetition: repetition.0,
            length: length.0,
            offset: offset.map(|offset| offset.0),
            coverage,
        }
    }

    /// Checks the gaps of a UE that these cells may serve.
    pub(crate) fn check(&self, cells: &[&Cell], at: &Place<'_>) -> Checked {
        let is_lte = cells.iter().any(|cell| cell.nr().is_none());
        let (of, lengths, periods) = match is_lte {
            true => ("LTE", &LENGTHS_LTE_US[..], &PERIODS_LTE_MS[..]),
            false => ("NR", &LENGTHS_NR_US[..], &PERIODS_NR_MS[..]),
        };
        let values = |values: &mut dyn Iterator<Item = Duration>| {
            values.map(|value| format!("{} ms", value.as_millis_f64())).collect::<Vec<_>>().join(", ")
        };
        let lengths = || lengths.iter().map(|us| Duration::from_micros(*us));
        let periods = || periods.iter().map(|ms| Duration::from_millis(*ms));
        let help = format!("the gap patterns of {of} have {}", values(&mut periods()));
        let is_known = periods().any(|period| period == self.repetition.0);
        at.require(is_known, "repetition", "no gap pattern has this period", &help)?;
        let help = format!("the gap patterns of {of} have {}", values(&mut lengths()));
        let is_known = lengths().any(|length| length == self.length.0);
        at.require(is_known, "length", "no gap pattern has this length", &help)?;
        cells.iter().try_for_each(|cell| self.check_occasions(cell, at))?;
        let is_known = (0.0..=15.0).contains(&self.hysteresis.0.0);
        let help = "it must be from 0 dB to 15 dB (TS 36.331 section 6.3.5)";
        at.require(is_known, "hysteresis", "out of range", help)?;
        let Some(offset) = self.offset else { return Ok(()) };
        let is_whole = offset.0.as_nanos().is_multiple_of(Duration::from_millis(1).as_nanos());
        let most = Time(self.repetition.0 - Duration::from_millis(1));
        let help = format!("it must be a whole number of milliseconds from 0 ms to {most}");
        at.require(is_whole && offset.0 <= most.0, "offset", "out of range", &help)
    }
}
