//! Bandwidth parts of the UEs of a cell.

use airlane_core::Duration;
use airlane_ran::config::{AnswerTimes, BandwidthParts as Config, SwitchingDelay as Delay, timer_unit};
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Drx, Nr, Uplink};
use crate::quantity::{Size, Time};

/// Bandwidth parts (BWPs): UEs listen on a narrow default part of the carrier, and use the whole carrier while there is much
/// data (TS 38.213 section 12, TS 38.321 section 5.15). Both directions are switched together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BandwidthParts {
    /// defaultDownlinkBWP and the uplink part with it: resource blocks of the default part, the lowest of the carrier. In the
    /// uplink, PUCCH takes as many of them as of the carrier.
    #[schemars(range(min = 1, max = 274))]
    pub default: u16,
    /// Bytes in the downlink queue of the UE, or in its uplink queue as far as the cell knows, above which the cell switches it
    /// to the carrier.
    pub activate_above: Size,
    /// bwp-InactivityTimer: time from the last PDCCH for the UE until it switches back to the default part.
    pub inactivity_timer: Time,
    /// bwp-SwitchingDelay: how long a switch takes, in which the UE neither receives nor sends.
    pub switching_delay: SwitchingDelay,
}

/// Slots of a switch with subcarriers of 15, 30, 60 and 120 kHz (TS 38.133 table 8.6.2-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchingDelay {
    /// 1, 2, 3 and 6.
    #[serde(rename = "type-1")]
    Type1,
    /// 3, 5, 9 and 18.
    #[serde(rename = "type-2")]
    Type2,
}

/// Resource blocks of the default part without PUCCH: the fewest of a carrier (TS 38.101-1 table 5.3.2-1).
const LEAST: u16 = 11;
/// Values of bwp-InactivityTimer in ms (TS 38.331 section 6.3.2, ServingCellConfig, read in a quotation).
const TIMERS_MS: [u64; 21] =
    [2, 3, 4, 5, 6, 8, 10, 20, 30, 40, 50, 60, 80, 100, 200, 300, 500, 750, 1280, 1920, 2560];
/// The value for FR2 alone.
const SHORTEST: Duration = Duration::from_micros(500);

impl SwitchingDelay {
    const fn config(self) -> Delay {
        match self {
            Self::Type1 => Delay::Type1,
            Self::Type2 => Delay::Type2,
        }
    }
}

impl BandwidthParts {
    pub(super) const fn config(&self) -> Config {
        Config {
            resource_blocks: self.default,
            activate_above: self.activate_above.0,
            inactivity_timer: self.inactivity_timer.0,
            switching_delay: self.switching_delay.config(),
        }
    }

    /// The rules of those of a cell; `nr` are its settings of NR, if it has some.
    pub(crate) fn check(&self, cell: &Cell, nr: Option<&Nr>, at: &Place<'_>) -> Checked {
        let Some(nr) = nr else {
            let help = "leave `bandwidth_parts` out, or use radio = \"nr\"";
            return at.require_here(false, "a cell of LTE has no bandwidth parts", help);
        };
        let configured = matches!(cell.uplink, Uplink::ConfiguredGrant(_));
        let help = "use uplink.kind = \"scheduling-request\", or leave `bandwidth_parts` out";
        let message = "configured grants are not modelled on bandwidth parts";
        at.require_here(!configured, message, help)?;
        let help = "leave `uplink.max_requests` or `bandwidth_parts` out";
        let message = "random access of connected UEs is not modelled on bandwidth parts";
        at.require_here(!cell.uplink.limits_requests(), message, help)?;
        let pucch = cell.mac.pucch_resource_blocks;
        let (least, most) = (LEAST + pucch, cell.resource_blocks - 1);
        let help = format!(
            "it must be from {least} to {most}: {LEAST} beside mac.pucch_resource_blocks = {pucch}, and fewer than \
             resource_blocks = {}",
            cell.resource_blocks
        );
        at.require((least..=most).contains(&self.default), "default", "no part of the carrier", &help)?;
        self.timer(cell, nr, at)?;
        let Drx::Cycles(cycles) = &cell.drx else { return Ok(()) };
        let delay = cell.slot() * self.slots(nr);
        let help =
            format!("use a drx.inactivity of at least {}, or switching_delay = \"type-1\"", Time(delay));
        let message = "a UE would fall asleep while it switches to the carrier";
        at.require(cycles.inactivity.0 >= delay, "switching_delay", message, &help)
    }

    fn slots(&self, nr: &Nr) -> u64 {
        self.switching_delay.config().slots(15_000 << nr.subcarrier_spacing.numerology())
    }

    /// The timer has one of its values, and does not expire before the UE has answered a PDCCH.
    fn timer(&self, cell: &Cell, nr: &Nr, at: &Place<'_>) -> Checked {
        let timer = self.inactivity_timer.0;
        let is_fr2 = timer_unit(cell.frequency.0) == SHORTEST;
        let is_one = |ms: &u64| timer == Duration::from_millis(*ms);
        let known = TIMERS_MS.iter().any(is_one) || (is_fr2 && timer == SHORTEST);
        let values: Vec<_> = TIMERS_MS.iter().map(u64::to_string).collect();
        let half = if is_fr2 { "0.5, " } else { "" };
        let help = format!("it must be one of {half}{} ms", values.join(", "));
        at.require(known, "inactivity_timer", "not a value of bwp-InactivityTimer", &help)?;
        let [k0, k1, k2, processing] = [nr.k0, nr.k1, nr.k2, nr.gnb_processing].map(u64::from);
        let answer = AnswerTimes { k0, k1, k2, processing, delay: self.slots(nr) };
        let longest = cell.slot() * answer.longest(nr.directions());
        let least = TIMERS_MS.iter().find(|ms| Duration::from_millis(**ms) >= longest).unwrap_or(&2560);
        let help = format!("use at least {least} ms, or shorter times of radio");
        let message = format!(
            "it would expire before the UE has answered a PDCCH, which takes up to {}",
            Time(longest)
        );
        at.require(timer >= longest, "inactivity_timer", &message, &help)
    }
}
