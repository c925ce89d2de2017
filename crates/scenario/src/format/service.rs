//! Times in which a cell does not serve as usual.

use airlane_core::Instant;
use airlane_ran::config::{ServiceChange, ServiceKind, ShedAmount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cell;
use crate::quantity::{Share, Time};

/// A time in which the radio of a cell is off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellOutage {
    /// Start.
    pub at: Time,
    /// Duration.
    pub duration: Time,
}

/// A time in which a cell sheds UEs. It first hands over the UEs with the strongest best neighbour, relative to the
/// cell itself. `ues` or `share` sets how many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shedding {
    /// Time of the handovers.
    pub at: Time,
    /// How long after `at` UEs of other cells do not report this cell, so that none is handed over to it.
    pub duration: Time,
    /// Number of UEs that are handed over. If the cell has fewer, all are.
    #[schemars(range(min = 1))]
    pub ues: Option<u32>,
    /// Percentage of its UEs that are handed over, rounded to the nearest number.
    pub share: Option<Share>,
}

/// The periods in which a cell does not serve as usual.
pub(super) fn changes(cell: &Cell) -> Vec<ServiceChange> {
    let outages = cell.outages.iter().flatten().map(|one| (one.at, one.duration, ServiceKind::Outage));
    let shedding = cell.shedding.iter().flatten().map(|one| {
        let amount = match (one.ues, one.share) {
            (Some(ues), _) => ShedAmount::Number(ues),
            (None, share) => ShedAmount::Share(share.expect("checked when the scenario was resolved").0),
        };
        (one.at, one.duration, ServiceKind::Shed(amount))
    });
    let change = |(at, duration, kind): (Time, Time, _)| ServiceChange {
        at: Instant::ZERO + at.0,
        duration: duration.0,
        kind,
    };
    outages.chain(shedding).map(change).collect()
}
