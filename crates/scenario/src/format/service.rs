//! Times in which a cell does not serve as usual.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Share, Time};

/// A time in which the radio of a cell is off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellOutage {
    /// When it begins.
    pub at: Time,
    /// How long it lasts.
    pub duration: Time,
}

/// A time in which a cell sheds UEs. It hands over those UEs first that receive their best neighbour best, compared with the cell
/// itself. `ues` or `share` says how many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shedding {
    /// When the cell hands its UEs over.
    pub at: Time,
    /// For how long from then on no UE of another cell reports this cell, so that none is handed over to it.
    pub duration: Time,
    /// How many UEs it hands over: all that it has, if it has fewer.
    #[schemars(range(min = 1))]
    pub ues: Option<u32>,
    /// Which share of its UEs it hands over, rounded to the nearest number.
    pub share: Option<Share>,
}
