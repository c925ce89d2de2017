//! The network between two protocol endpoints, except for the radio: links with rate, delay and
//! loss, queue disciplines, delivery traces, routers, and the gateway of the mobile core.
//!
//! Nodes forward packets in the order of their arrival, except for two: a link with a [`Detour`] delays
//! some of them for longer, and [`fq_codel`] and [`dualpi2`] serve several queues in turn. Packets are dropped only
//! with a counted cause. Not included: IP addresses and forwarding tables (packets carry their flow, and
//! the wiring connects the ports).

pub mod abc;
#[cfg(test)]
mod bench_top;
pub mod codel;
mod coverage;
pub mod dualpi2;
pub mod fq_codel;
mod gateway;
pub mod gtp;
mod link;
mod loss;
mod managed;
mod option_filter;
mod paths;
pub mod pep;
pub mod pie;
mod propagation;
pub mod queue;
pub mod red;
pub mod rni;
mod router;
mod schedule;
pub mod signalling;
mod tandem;
pub mod trace;
mod trace_link;
mod updates;

pub use coverage::Coverage;
pub use gateway::Gateway;
pub use link::{Detour, Link, LinkParameters, LinkStatistics, Policer};
pub use loss::{LossStep, RandomLoss};
pub use managed::ManagedLink;
pub use option_filter::{OptionFilter, Stripped};
pub use paths::FlowPaths;
pub use queue::{Aqm, Discipline, QueueDiscipline};
pub use router::{FlowRouter, TunnelRouter};
pub use schedule::{Hold, RateStep, Schedule};
pub use tandem::{LinkPair, Passage, Tandem, Tunnel};
pub use trace::{DeliveryTrace, TraceError};
pub use trace_link::TraceLink;

use airlane_core::{Cx, Instant};

/// The context of the same call, at an earlier time that is replayed.
fn at<'a>(cx: &'a mut Cx<'_>, now: Instant) -> Cx<'a> {
    Cx { now, pool: cx.pool, outbox: cx.outbox, topics: cx.topics, probe: cx.probe }
}
