//! Times in which a cell does not serve as usual.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
