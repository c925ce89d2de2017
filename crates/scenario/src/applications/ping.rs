//! Echo messages.

use airlane_core::Node;
use airlane_traffic::{IdleTimes, PingResponder, PingSource, Pings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Application, datagrams};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved};
use crate::quantity::{Size, Time};
use crate::transports::{Carrier, Protocol, Refusal};

/// Maximum number of echo messages of a flow: each is a row of results.
const PINGS_MAX: u128 = 10_000_000;

/// Echo messages at a constant interval. The other end answers each at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Time from one request to the next.
    pub interval: Time,
    /// Bytes after the ICMP header. The IP packet is 28 B longer.
    pub payload: Size,
    /// Number of requests. By default, requests continue to the end of the flow.
    pub count: Option<u32>,
    /// Idle times to probe: each request follows the answer to the last one after such a time. `interval` is then the time
    /// after which a request without an answer counts as lost. By default, requests follow at `interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
}

/// Times from an answer to the next request: `first`, then `step` more each time up to `last`, then `first` again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    /// The shortest.
    pub first: Time,
    /// The bound of the longest.
    pub last: Time,
    /// The difference between two in a row.
    pub step: Time,
}

impl Application for Ping {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Icmp]
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        Refusal::needs(self.transports(), other)
    }

    fn check(&self, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
        at.positive(self.interval, "app.interval")?;
        datagrams::check_payload(self.payload, at)?;
        if let Some(idle) = &self.idle {
            at.positive(idle.first, "app.idle.first")?;
            at.positive(idle.step, "app.idle.step")?;
            let help = "it must be at least app.idle.first";
            at.require(idle.last >= idle.first, "app.idle.last", "below the first", help)?;
        }
        let count = self.count.is_none_or(|count| u128::from(count) <= PINGS_MAX && count > 0);
        at.require(
            count,
            "app.count",
            "out of range",
            "it must be from 1 to 10000000; leave it out for no limit",
        )?;
        let lasts = flow.time_to_send(scenario);
        let fits = u128::from(lasts.as_nanos()).div_ceil(u128::from(self.interval.0.as_nanos()));
        let requests = self.count.map_or(fits, |count| fits.min(u128::from(count)));
        let help = format!("it gives {requests} requests, and the limit is {PINGS_MAX}");
        at.require(requests <= PINGS_MAX, "app.interval", "too short for the duration of the run", &help)
    }

    fn node(&self, end: &Endpoint<'_>, _: Carrier) -> Box<dyn Node> {
        if !end.is_source() {
            return Box::new(PingResponder::new(end.path));
        }
        let pings = Pings {
            start: end.start,
            stop: end.stop_or_end(),
            interval: self.interval.0,
            payload: self.payload.0,
            count: self.count.map_or(u64::MAX, u64::from),
            idle: self.idle.as_ref().map(|idle| IdleTimes {
                first: idle.first.0,
                last: idle.last.0,
                step: idle.step.0,
            }),
        };
        Box::new(PingSource::new(pings, end.path))
    }
}
