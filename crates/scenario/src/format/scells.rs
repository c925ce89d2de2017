//! Carrier aggregation: the secondary cells of a UE.

use airlane_core::{Bytes, CellId};
use airlane_ran::config::{ActivationDelay, ActivationPolicy, CarrierAggregation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Ue, tagged};
use crate::quantity::{Size, Time};

/// When the secondary cells (SCells) of a UE are active (TS 36.321 §5.13, TS 38.321 §5.9).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Scells {
    /// The primary cell activates them when data waits, and a timer deactivates them.
    OnDemand(OnDemandScells),
    /// They are active from the start.
    AlwaysActive(ActiveScells),
}
tagged!(Scells by "kind" {
    "on-demand" => OnDemand(OnDemandScells), "always-active" => AlwaysActive(ActiveScells)
});

/// SCells that are active while they are needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnDemandScells {
    /// Bytes in the downlink queue of the UE above which the primary cell activates all its SCells.
    pub activate_above: Size,
    /// sCellDeactivationTimer: time from the last assignment on an SCell until it is deactivated.
    pub deactivation_timer: Time,
    /// In LTE, time from the activation command until the SCell is used. TS 36.133 §7.7 allows 24 ms if the UE has
    /// measured the SCell before, and 34 ms if not.
    pub activation_delay: Time,
    /// In NR, period of the synchronization signals, for which the UE waits when it activates an SCell.
    pub ssb_period: Time,
}

/// SCells that are always active. After an outage of the primary cell, they are activated again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActiveScells {
    /// In LTE, time from an activation command until the SCell is used.
    pub activation_delay: Time,
    /// In NR, period of the synchronization signals.
    pub ssb_period: Time,
}

impl Scells {
    /// The times of an activation: its delay in LTE, and the period of the synchronization signals in NR.
    pub(crate) fn activation(&self) -> [Time; 2] {
        match self {
            Self::OnDemand(OnDemandScells { activation_delay, ssb_period, .. })
            | Self::AlwaysActive(ActiveScells { activation_delay, ssb_period }) => {
                [*activation_delay, *ssb_period]
            }
        }
    }

    fn policy(&self, is_nr: bool) -> ActivationPolicy {
        let [delay, ssb_period] = self.activation().map(|time| time.0);
        let delay = if is_nr { ActivationDelay::Nr { ssb_period } } else { ActivationDelay::Lte(delay) };
        let always =
            ActivationPolicy { starts_active: true, threshold: Bytes(0), deactivation_timer: None, delay };
        match self {
            Self::AlwaysActive(_) => always,
            Self::OnDemand(scells) => ActivationPolicy {
                starts_active: false,
                threshold: scells.activate_above.0,
                deactivation_timer: Some(scells.deactivation_timer.0),
                ..always
            },
        }
    }
}

impl Ue {
    /// The name of the primary cell, if it is given.
    pub fn first_cell(&self) -> Option<&String> {
        self.cell.as_ref().or_else(|| self.carriers.as_ref()?.first())
    }

    /// Its carrier aggregation, if it has several carriers.
    pub(super) fn aggregation(&self, cells: &[Cell]) -> Option<CarrierAggregation> {
        let (carriers, scells) = (self.carriers.as_ref()?, self.scells.as_ref()?);
        let id = |name: &String| cells.iter().position(|cell| cell.name == *name);
        let ids: Vec<_> = carriers.iter().filter_map(id).map(|index| CellId(index as u32)).collect();
        let (primary, secondary) = ids.split_first()?;
        let is_nr = cells[primary.index()].nr().is_some();
        (!secondary.is_empty())
            .then(|| CarrierAggregation { secondary: secondary.to_vec(), activation: scells.policy(is_nr) })
    }
}
