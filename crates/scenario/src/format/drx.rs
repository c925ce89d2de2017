//! Discontinuous reception of the UEs of a cell.

use airlane_core::Duration;
use airlane_ran::config::{DrxConfig, ShortCycle};
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::check::{whole_slots, whole_subframes};
use crate::quantity::Time;

/// Discontinuous reception (DRX): when connected UEs listen to PDCCH (TS 36.321 §5.7, TS 38.321 §5.7).
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Drx {
    /// UEs listen all the time. Resolved scenarios leave it out.
    #[default]
    None,
    /// UEs listen in a part of each cycle, and after each new transmission.
    Cycles(DrxCycles),
}
tagged!(Drx by "kind" { "none" => None, "cycles" => Cycles(DrxCycles) });

/// Timers of DRX. Each UE has its own start offset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrxCycles {
    /// drx-onDurationTimer: time at the beginning of each cycle in which the UE listens.
    pub on_duration: Time,
    /// drx-InactivityTimer: how long the UE listens after PDCCH has announced a new transmission in either direction.
    pub inactivity: Time,
    /// drx-LongCycle.
    pub cycle: Time,
    /// drx-ShortCycle, of which `cycle` is a multiple. By default, there is no short cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_cycle: Option<Time>,
    /// drx-ShortCycleTimer: number of short cycles after the inactivity timer before the long one.
    pub short_cycles: u32,
    /// drx-RetransmissionTimerDL, in LTE drx-RetransmissionTimer: how long the UE waits for a retransmission.
    pub retransmission: Time,
    /// drx-RetransmissionTimerUL: how long the UE waits for the grant of a retransmission after each PUSCH, with
    /// asynchronous HARQ.
    pub uplink_retransmission: Time,
    /// The cell sends the DRX command when it knows of no more data of a UE, in either direction. The UE then sleeps at
    /// once.
    pub command: bool,
}

impl Drx {
    /// True without DRX.
    pub(crate) const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(super) fn config(&self) -> Option<DrxConfig> {
        let Self::Cycles(cycles) = self else { return None };
        let short =
            cycles.short_cycle.map(|length| ShortCycle { length: length.0, cycles: cycles.short_cycles });
        Some(DrxConfig {
            on_duration: cycles.on_duration.0,
            inactivity: cycles.inactivity.0,
            long_cycle: cycles.cycle.0,
            short,
            retransmission: [cycles.retransmission.0, cycles.uplink_retransmission.0],
            command: cycles.command,
        })
    }

    pub(crate) fn check(&self, slot: Duration, at: &Place<'_>) -> Checked {
        let Self::Cycles(cycles) = self else { return Ok(()) };
        whole_slots(at, slot, cycles.on_duration, "on_duration", 1)?;
        whole_slots(at, slot, cycles.inactivity, "inactivity", 0)?;
        whole_subframes(at, cycles.cycle, "cycle", 2)?;
        whole_slots(at, slot, cycles.retransmission, "retransmission", 0)?;
        whole_slots(at, slot, cycles.uplink_retransmission, "uplink_retransmission", 0)?;
        let (cycle, mut shortest) = (cycles.cycle.0, cycles.cycle.0);
        if let Some(short) = cycles.short_cycle {
            whole_subframes(at, short, "short_cycle", 2)?;
            let divides = short.0 < cycle && cycle.as_nanos().is_multiple_of(short.0.as_nanos());
            let help = format!("it must be a part of `cycle`, {}, such as {}", cycles.cycle, Time(cycle / 2));
            at.require(divides, "short_cycle", "the cycle is not a multiple of it", &help)?;
            let known = (1..=16).contains(&cycles.short_cycles);
            at.require(
                known,
                "short_cycles",
                "out of range",
                "it must be from 1 to 16 (TS 36.331 section 6.3.2)",
            )?;
            shortest = short.0;
        }
        let sleeps = cycles.on_duration.0 < shortest;
        let help = format!("it must be below the shortest cycle, {}", Time(shortest));
        at.require(sleeps, "on_duration", "the UE would never sleep", &help)
    }
}
