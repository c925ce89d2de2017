//! Carrier aggregation: the secondary cells of a UE.

use std::sync::Arc;

use airlane_core::{Bytes, CellId};
use airlane_ran::config::{ActivationDelay, ActivationPolicy, CarrierAggregation, SecondaryCells};
use airlane_ran::rrc::coverage::CoverageConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Ue, tagged};
use crate::quantity::{Power, Size, Time};

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
    /// Bytes in the downlink queue of the UE above which the primary cell activates all its SCells. Those of `uplink_carriers`
    /// are also activated when as much waits in its uplink queue.
    pub activate_above: Size,
    /// sCellDeactivationTimer: time from the last assignment or grant on an SCell until it is deactivated.
    pub deactivation_timer: Time,
    /// In LTE, time from the activation command until the SCell is used. TS 36.133 §7.7 allows 24 ms if the UE has
    /// measured the SCell before, and 34 ms if not.
    pub activation_delay: Time,
    /// In NR, period of the synchronization signals, for which the UE waits when it activates an SCell.
    pub ssb_period: Time,
}

/// SCells that are active from the start, and always activated again: after an outage of the primary cell, after a
/// handover, and when the UE is connected again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActiveScells {
    /// In LTE, time from an activation command until the SCell is used.
    pub activation_delay: Time,
    /// In NR, period of the synchronization signals.
    pub ssb_period: Time,
}

/// When measurements add and release SCells (events A4 and A2). Each carrier is for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScellEvents {
    /// RSRP above which a cell of the UE becomes an SCell (event A4).
    pub add_above: Power,
    /// RSRP below which an SCell is released (event A2).
    pub release_below: Power,
    /// Time to trigger of both events.
    pub time_to_trigger: Time,
    /// Time from a measurement report until the UE has carried out the message that follows from it.
    pub preparation: Time,
}

impl ScellEvents {
    const fn config(&self) -> CoverageConfig {
        CoverageConfig {
            above: self.add_above.0,
            below: self.release_below.0,
            time_to_trigger: self.time_to_trigger.0,
            preparation: self.preparation.0,
        }
    }
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

    /// Its carrier aggregation, if it has several carriers. `is_handed_over` is true in a scenario with handovers.
    pub(super) fn aggregation(&self, cells: &[Cell], is_handed_over: bool) -> Option<CarrierAggregation> {
        let (carriers, scells) = (self.carriers.as_ref()?, self.scells.as_ref()?);
        let place = |name: &String| cells.iter().position(|cell| cell.name == *name);
        let places: Vec<_> = carriers.iter().filter_map(place).collect();
        let id = |place: &usize| CellId(*place as u32);
        let (primary, secondary) = places.split_first()?;
        let mut by_primary = SecondaryCells::from([(id(primary), secondary.iter().map(id).collect())]);
        if is_handed_over {
            let named: Vec<_> = places.iter().map(|place| &cells[*place]).collect();
            for other in (0..cells.len()).filter(|other| other != primary) {
                by_primary
                    .insert(id(&other), scells_of(&cells[other], &named, cells).map(|s| id(&s)).collect());
            }
        }
        let activation = scells.policy(cells[*primary].nr().is_some());
        let uplink = Arc::new(self.uplink_cells(&by_primary, cells));
        let events = self.scell_events.as_ref().map(ScellEvents::config);
        let aggregation = CarrierAggregation { secondary: Arc::new(by_primary), uplink, activation, events };
        (!secondary.is_empty()).then_some(aggregation)
    }

    /// The secondary cells to which the UE sends, by primary cell: those with the frequencies of `uplink_carriers`, and not
    /// more than it has without the primary cell. Empty for a UE that always sends to one cell.
    fn uplink_cells(&self, by_primary: &SecondaryCells, cells: &[Cell]) -> SecondaryCells {
        let names = self.uplink_carriers.as_deref().unwrap_or_default();
        let Some(most) = names.len().checked_sub(1).filter(|most| *most > 0) else {
            return SecondaryCells::new();
        };
        let named = |cell: &&Cell| names.contains(&cell.name);
        let frequencies: Vec<_> = cells.iter().filter(named).map(|cell| cell.frequency).collect();
        let has_uplink = |cell: &&CellId| frequencies.contains(&cells[cell.index()].frequency);
        let of = |secondary: &Vec<CellId>| secondary.iter().filter(has_uplink).take(most).copied().collect();
        by_primary.iter().map(|(primary, secondary)| (*primary, of(secondary))).collect()
    }
}

/// The places of the secondary cells that a UE has with a primary cell, if `carriers` names cells with the frequencies that
/// the UE supports: those of the site of the primary cell with the other frequencies, in their order, and not more than
/// there are in `carriers`.
pub(crate) fn scells_of(primary: &Cell, carriers: &[&Cell], cells: &[Cell]) -> impl Iterator<Item = usize> {
    let others = carriers.iter().map(|cell| cell.frequency).filter(|hz| *hz != primary.frequency);
    let beside = |hz| cells.iter().position(|cell| cell.frequency == hz && cell.is_beside(primary));
    others.filter_map(beside).take(carriers.len() - 1)
}

impl Cell {
    /// Whether a UE can have both cells: they have the same site, the same direction and the same technology, and serve
    /// UEs.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.position == other.position
            && self.antenna.azimuth() == other.antenna.azimuth()
            && self.nr().is_some() == other.nr().is_some()
            && !self.interferer
            && !other.interferer
    }
}
