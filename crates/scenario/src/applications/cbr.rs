//! Datagrams at a constant rate.

use airlane_core::{Instant, Node};
use airlane_traffic::Datagrams;
use airlane_transport::UdpSender;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Application, datagrams};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved};
use crate::quantity::{Rate, Size};
use crate::transports::{Carrier, Protocol, Refusal};

/// A constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Application bits per second.
    pub rate: Rate,
    /// Application bytes per packet.
    pub payload: Size,
}

impl Application for Cbr {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Udp]
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        datagrams::refusal(other)
    }

    fn check(&self, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
        datagrams::check_payload(self.payload, at)?;
        datagrams::check_number(self.rate.0.bits_per_second(), self.payload, flow, scenario, at)
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        datagrams::node(end, carrier, || {
            let stop = end.stop.unwrap_or(Instant::FAR_FUTURE);
            Datagrams::Constant(UdpSender::new(self.rate.0, self.payload.0, end.start, stop))
        })
    }
}
