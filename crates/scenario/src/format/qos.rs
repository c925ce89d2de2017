//! QoS: the bearer of a flow, and the limits of a UE's rates.

use airlane_core::BitRate;
use airlane_ran::bearers::DedicatedBearerConfig;
use airlane_ran::qos::{CLASSES, QosClass};
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Rate;

/// The highest rate in the settings of bearers.
pub(crate) const RATE_MAX: Rate = Rate(BitRate(10_000_000_000));

/// The QoS class of a flow, which gets a dedicated bearer of its UE: a dedicated EPS bearer in LTE, a QoS flow on a data
/// radio bearer of its own in NR. Its packet filters match the packets of the flow in both directions. Flows of a UE with
/// the same class share a bearer, whose rates are the sums of theirs. Class 9 is that of the default bearer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Qos {
    /// Standardized QoS class: QCI in LTE (TS 23.203 table 6.1.7-A), 5QI in NR (TS 23.501 table 5.7.4-1).
    pub qi: u8,
    /// Guaranteed bit rate of each direction (GBR, in NR GFBR), IP headers included. The classes 1 to 4, 65 to 67, 71 to 76
    /// and 82 to 85 need it, and the others have none. If the cell cannot guarantee it, the flow uses the default bearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gbr: Option<Rate>,
    /// Maximum bit rate of each direction (MBR, in NR MFBR), of classes with a guaranteed bit rate: packets above it are
    /// dropped. By default, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mbr: Option<Rate>,
}

/// Aggregate maximum bit rate (UE-AMBR) of the bearers of a UE without guaranteed bit rate: packets above it are dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ambr {
    /// Of the downlink, where it is enforced by the cell. By default, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downlink: Option<Rate>,
    /// Of the uplink, where it is enforced by the UE. By default, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
}

impl Qos {
    /// Its class and rates.
    #[must_use]
    pub fn config(&self) -> DedicatedBearerConfig {
        DedicatedBearerConfig {
            class: QosClass::of(self.qi).expect("checked when the scenario was resolved"),
            guaranteed: self.gbr.map(|rate| rate.0),
            maximum: self.mbr.map(|rate| rate.0),
        }
    }

    /// The rules of its keys.
    pub(crate) fn check(&self, at: &Place<'_>) -> Checked {
        let Some(class) = QosClass::of(self.qi) else {
            let known: Vec<_> = CLASSES.iter().map(|class| class.qi.to_string()).collect();
            let help = format!("it must be one of {}", known.join(", "));
            return at.fail("qi", "not a standardized QCI or 5QI", help);
        };
        if !class.has_guaranteed_rate() {
            let help = "leave it out, or use a class with a guaranteed bit rate, such as 2";
            at.require(self.gbr.is_none(), "gbr", "this class has no guaranteed bit rate", help)?;
            let help = "leave it out, or limit the bearers of the UE together: ambr in [[ue]]";
            return at.require(self.mbr.is_none(), "mbr", "this class has no guaranteed bit rate", help);
        }
        let Some(gbr) = self.gbr else {
            let message = format!("{} is a class with a guaranteed bit rate, and `gbr` is missing", self.qi);
            return at.wrong(message, "add it, such as gbr = \"1 Mbit/s\"");
        };
        rate(gbr, "gbr", at)?;
        let Some(mbr) = self.mbr else { return Ok(()) };
        at.require(mbr >= gbr, "mbr", "below `gbr`", &format!("it must be at least {gbr}"))?;
        rate(mbr, "mbr", at)
    }
}

impl Ambr {
    /// Of downlink and uplink.
    #[must_use]
    pub fn rates(&self) -> [Option<BitRate>; 2] {
        [self.downlink, self.uplink].map(|rate| rate.map(|rate| rate.0))
    }

    /// The rules of its keys.
    pub(crate) fn check(&self, at: &Place<'_>) -> Checked {
        for (limit, key) in [(self.downlink, "downlink"), (self.uplink, "uplink")] {
            limit.map_or(Ok(()), |limit| rate(limit, key, at))?;
        }
        Ok(())
    }
}

fn rate(rate: Rate, key: &str, at: &Place<'_>) -> Checked {
    let help = format!("it must be above 0 and at most {RATE_MAX}");
    at.require(rate.0.0 > 0 && rate <= RATE_MAX, key, "out of range", &help)
}
