//! The radio network information service.

use airlane_core::Instant;
use airlane_middlebox as middlebox;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ShareOf, tagged};
use crate::quantity::{Share, Time};

/// Radio network information service: eNBs report the radio conditions of UEs to servers that have
/// subscribed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rnis {
    /// Interval between notifications of an eNB, a multiple of 1 ms.
    pub period: Time,
    /// One-way delay from the eNB to a server.
    pub delay: Time,
    /// Percentage of notifications that are lost, at random.
    pub loss: Share,
    /// Fault of the service.
    pub fault: RnisFault,
}

/// A fault of a radio network information service.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RnisFault {
    /// No fault.
    None,
    /// No notifications are sent.
    Silent(Silent),
    /// Notifications arrive late.
    Late(Late),
    /// A percentage of the notifications is sent after the next one.
    Reorders(ShareOf),
    /// Notifications describe another UE.
    WrongUe(WrongUe),
    /// A percentage of the notifications is damaged: truncated, with changed bytes, or in another format.
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

/// A service that sends no notifications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Silent {
    /// Start of the fault.
    pub from: Time,
    /// End of the fault. By default, this is the end of the run.
    pub until: Option<Time>,
}

/// A service whose notifications come late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// Start of the fault.
    pub from: Time,
    /// Additional delay.
    pub by: Time,
}

/// A service whose notifications describe another UE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrongUe {
    /// Start of the fault.
    pub from: Time,
}

impl RnisFault {
    /// The fault; `None` without.
    pub fn config(&self) -> Option<middlebox::RnisFault> {
        let at = |time: Time| Instant::ZERO + time.0;
        Some(match self {
            Self::None => return None,
            Self::Silent(silent) => middlebox::RnisFault::Silent {
                from: at(silent.from),
                until: silent.until.map_or(Instant::FAR_FUTURE, at),
            },
            Self::Late(late) => middlebox::RnisFault::Late { from: at(late.from), by: late.by.0 },
            Self::Reorders(share) => middlebox::RnisFault::Reorders(share.share.0),
            Self::WrongUe(wrong) => middlebox::RnisFault::WrongUe { from: at(wrong.from) },
            Self::Nonsense(share) => middlebox::RnisFault::Nonsense(share.share.0),
        })
    }
}
