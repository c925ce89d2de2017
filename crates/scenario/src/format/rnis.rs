//! The radio network information service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ShareOf, tagged};
use crate::quantity::{Share, Time};

/// What tells servers how the radio of their UEs is, if they have subscribed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rnis {
    /// How often an eNB says it: whole slots.
    pub period: Time,
    /// From the eNB to a server, one way.
    pub delay: Time,
    /// Which share of the notifications is lost on the way, at random.
    pub loss: Share,
    /// What is wrong with it.
    pub fault: RnisFault,
}

/// What can be wrong with a radio network information service.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RnisFault {
    /// Nothing.
    None,
    /// It says nothing.
    Silent(Silent),
    /// What it says comes late.
    Late(Late),
    /// A share of its notifications leaves after the next one.
    Reorders(ShareOf),
    /// It speaks of another UE.
    WrongUe(WrongUe),
    /// A share of its notifications is damaged: cut off, with bytes changed, or not of this shape at all.
    Nonsense(ShareOf),
}
tagged!(RnisFault by "kind" {
    "none" => None,
    "silent" => Silent(Silent),
    "late" => Late(Late),
    "reorders" => Reorders(ShareOf),
    "wrong-ue" => WrongUe(WrongUe),
    "nonsense" => Nonsense(ShareOf),
});

/// A service that says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Silent {
    /// From when on.
    pub from: Time,
    /// Until when; none for the end of the run.
    pub until: Option<Time>,
}

/// A service whose notifications come late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// From when on.
    pub from: Time,
    /// By how much, beside the delay.
    pub by: Time,
}

/// A service that speaks of another UE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrongUe {
    /// From when on.
    pub from: Time,
}
