//! Metrics of the proxy.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::legs::Leg;

/// The side of the network.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfLeg {
    leg: &'static str,
}

/// Why something happened.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfCause {
    cause: &'static str,
}

/// Why a connection was not made, or was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The far end has sent a RST in answer to the SYN.
    Refused,
    /// A router has answered, or there is no route.
    Unreachable,
    /// No answer to the SYN.
    ConnectTimeout,
    /// A connection with these addresses and ports exists already, or has ended a moment ago.
    AddressInUse,
    /// No file descriptor or no memory of the kernel.
    Exhausted,
    /// The near end has ended the connection before the far end has answered.
    Abandoned,
    /// Above `connections`.
    Full,
    /// Above `per_client`.
    ClientFull,
    /// No memory is left for its buffers.
    Memory,
    /// The connection was made to the proxy itself.
    NotIntercepted,
    /// Any other error of the system.
    Other,
    /// A RST from the side of the UEs.
    ResetRan,
    /// A RST from the side of the internet.
    ResetCore,
    /// The kernel has given up sending, or probes were not answered.
    PeerTimeout,
    /// Data has waited for too long in one direction.
    StallTimeout,
    /// No data for too long.
    IdleTimeout,
    /// No data for too long, with one direction closed.
    HalfClosedTimeout,
    /// Buffers and pipes of all connections have more than `memory`, and this connection has much of it.
    MemoryUsedUp,
}

impl Cause {
    const ALL: [Self; 18] = [
        Self::Refused,
        Self::Unreachable,
        Self::ConnectTimeout,
        Self::AddressInUse,
        Self::Exhausted,
        Self::Abandoned,
        Self::Full,
        Self::ClientFull,
        Self::Memory,
        Self::NotIntercepted,
        Self::Other,
        Self::ResetRan,
        Self::ResetCore,
        Self::PeerTimeout,
        Self::StallTimeout,
        Self::IdleTimeout,
        Self::HalfClosedTimeout,
        Self::MemoryUsedUp,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect-timeout",
            Self::AddressInUse => "address-in-use",
            Self::Exhausted => "exhausted",
            Self::Abandoned => "abandoned",
            Self::Full => "full",
            Self::ClientFull => "client-full",
            Self::Memory => "memory",
            Self::NotIntercepted => "not-intercepted",
            Self::Other => "other",
            Self::ResetRan => "reset-ran",
            Self::ResetCore => "reset-core",
            Self::PeerTimeout => "peer-timeout",
            Self::StallTimeout => "stall-timeout",
            Self::IdleTimeout => "idle-timeout",
            Self::HalfClosedTimeout => "half-closed-timeout",
            Self::MemoryUsedUp => "memory-used-up",
        }
    }

    /// Whether the connection was never made.
    const fn is_before(self) -> bool {
        matches!(
            self,
            Self::Refused
                | Self::Unreachable
                | Self::ConnectTimeout
                | Self::AddressInUse
                | Self::Exhausted
                | Self::Abandoned
                | Self::Full
                | Self::ClientFull
                | Self::Memory
                | Self::NotIntercepted
                | Self::Other
        )
    }
}

/// Metrics of one side.
#[derive(Debug)]
pub(super) struct LegMetrics {
    /// Connections that were accepted from this side.
    pub(super) accepted: Counter,
    /// Bytes that came from this side and were handed to the kernel of the other.
    pub(super) relayed: Counter<u64, AtomicU64>,
    /// Connections of which this side has closed its direction.
    pub(super) half_closed: Gauge,
}

/// Metrics of the proxy.
#[derive(Debug)]
pub(super) struct Metrics {
    legs: [LegMetrics; 2],
    pub(super) open: Gauge,
    pub(super) connecting: Gauge,
    pub(super) pipes: Gauge,
    /// Bytes in buffers and pipes, as of the last sweep.
    pub(super) memory: Gauge,
    pub(super) completed: Counter,
    causes: Vec<Counter>,
    pauses: Family<OfCause, Counter>,
}

impl Metrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let to = registry.sub_registry_with_prefix("split_proxy");
        let (accepted, relayed, half_closed) = (
            Family::<OfLeg, Counter>::default(),
            Family::<OfLeg, Counter>::default(),
            Family::<OfLeg, Gauge>::default(),
        );
        let (failed, cut, pauses) = (Family::default(), Family::default(), Family::default());
        let (open, connecting, pipes, completed) =
            (Gauge::default(), Gauge::default(), Gauge::default(), Counter::default());
        let memory = Gauge::default();
        to.register("accepted", "Connections that were accepted from this side", accepted.clone());
        let help = "Bytes from this side that were handed to the other";
        to.register_with_unit("relayed", help, Unit::Bytes, relayed.clone());
        let help = "Connections of which this side has closed its direction";
        to.register("half_closed", help, half_closed.clone());
        to.register("connections", "Connections with both ends", open.clone());
        to.register("connecting", "Connections whose far end has not answered", connecting.clone());
        to.register("pipes", "Pipes in use", pipes.clone());
        let help = "Bytes in buffers of sockets and in pipes";
        to.register_with_unit("memory", help, Unit::Bytes, memory.clone());
        to.register("completed", "Connections that both ends have closed in order", completed.clone());
        to.register("failed", "Connections that were not made", failed.clone());
        to.register("cut", "Connections that ended with a RST to at least one end", cut.clone());
        let help = "Times when no connection was accepted for a while";
        to.register("accept_pauses", help, pauses.clone());
        let causes = Cause::ALL.iter().map(|cause| {
            let family: &Family<OfCause, Counter> = if cause.is_before() { &failed } else { &cut };
            family.get_or_create(&OfCause { cause: cause.name() }).clone()
        });
        let leg = |leg: Leg| {
            let of = OfLeg { leg: leg.name() };
            LegMetrics {
                accepted: accepted.get_or_create(&of).clone(),
                relayed: relayed.get_or_create(&of).clone(),
                half_closed: half_closed.get_or_create(&of).clone(),
            }
        };
        let legs = Leg::ALL.map(leg);
        Self { legs, open, connecting, pipes, memory, completed, causes: causes.collect(), pauses }
    }

    pub(super) fn leg(&self, leg: Leg) -> &LegMetrics {
        &self.legs[leg as usize]
    }

    /// Counts a connection that was not made, or was cut off.
    pub(super) fn ended(&self, cause: Cause) {
        self.causes[cause as usize].inc();
    }

    /// Counts a pause of accepting.
    pub(super) fn paused(&self, cause: &'static str) {
        self.pauses.get_or_create(&OfCause { cause }).inc();
    }
}
