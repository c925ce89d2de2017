//! Transfers of a given number of bytes.

use airlane_core::Node;
use airlane_traffic::Transfer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Application, transfer};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved};
use crate::quantity::Size;
use crate::transports::{Carrier, Protocol, Refusal};

/// Maximum number of transfers over one connection.
const OBJECTS_MAX: u32 = 1_000_000;

/// A transfer of a given number of bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Application bytes.
    pub size: Size,
    /// Number of such transfers, one after another, over one connection. More than one needs QUIC: the host requests each
    /// of them.
    pub objects: u32,
}

impl Application for Fixed {
    fn transports(&self) -> &'static [Protocol] {
        transfer::TRANSPORTS
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        transfer::refusal(other)
    }

    fn check(&self, flow: &Flow, _: &Resolved, at: &Place<'_>) -> Checked {
        at.require(self.size.0.get() > 0, "app.size", "out of range", "it must be at least 1 B")?;
        let several = flow.transport.protocol() == Protocol::Quic;
        let known = (1..=OBJECTS_MAX).contains(&self.objects);
        at.require(known, "app.objects", "out of range", "it must be from 1 to 1000000")?;
        let help = "leave it out, or use transport = \"quic\"";
        at.require(several || self.objects == 1, "app.objects", "a TCP flow carries one object", help)
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        transfer::node(end, carrier, Transfer::Fixed(self.size.0), self.objects)
    }
}
