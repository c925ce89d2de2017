//! A transfer without end.

use airlane_core::Node;
use airlane_traffic::Transfer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Application, transfer};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved};
use crate::transports::{Carrier, Protocol, Refusal};

/// A transfer without end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {}

impl Application for Bulk {
    fn transports(&self) -> &'static [Protocol] {
        transfer::TRANSPORTS
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        transfer::refusal(other)
    }

    fn check(&self, _: &Flow, _: &Resolved, _: &Place<'_>) -> Checked {
        Ok(())
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        transfer::node(end, carrier, Transfer::Bulk, 1)
    }
}
