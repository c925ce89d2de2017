//! Sprout: transfers at the rate that their receiver forecasts.

use airlane_core::{Instant, Node};
use airlane_traffic::SproutEnd;
use airlane_transport::sprout::{SproutReceiver, SproutSender};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Application;
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved};
use crate::quantity::Share;
use crate::transports::{Carrier, Protocol, Refusal};

/// Endless data at the rate that its receiver forecasts (Winstein and others, NSDI 2013).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sprout {
    /// Probability with which the link delivers as much as the forecast says. With a lower one, rate and delay are higher.
    pub confidence: Share,
    /// Whether both ends send data. By default, data travels in the direction of the flow alone, and forecasts in the other.
    pub both: bool,
}

impl Application for Sprout {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Udp]
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        Refusal::of(other).unwrap_or_else(|| Refusal {
            key: "transport",
            message: "Sprout is a protocol of its own over UDP".to_owned(),
            help: "use transport = \"udp\"".to_owned(),
        })
    }

    fn check(&self, _: &Flow, _: &Resolved, at: &Place<'_>) -> Checked {
        let inside = (0.001..=0.999).contains(&self.confidence.0);
        at.require(inside, "app.confidence", "out of range", "it must be from 0.1 % to 99.9 %")
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        let Carrier::Udp(ecn) = carrier else { carrier.mismatch() };
        let sends = self.both || end.is_source();
        let receives = self.both || !end.is_source();
        // An end that sends forecasts alone sends them for as long as data arrives.
        let stop = if sends { end.stop_or_end() } else { Instant::FAR_FUTURE };
        let receiver = receives.then(|| SproutReceiver::new(1.0 - self.confidence.0));
        Box::new(SproutEnd::new(end.path, ecn, SproutSender::new(end.start, sends), receiver, stop))
    }

    fn rate_controller(&self) -> Option<&'static str> {
        Some("sprout")
    }

    fn carries_both_directions(&self) -> bool {
        self.both
    }
}
