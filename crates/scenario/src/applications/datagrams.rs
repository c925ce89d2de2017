//! The two ends of a stream of datagrams, and the checks that their applications have in common.

use airlane_core::Node;
use airlane_traffic::{Datagrams, UdpSink, UdpSource};

use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved};
use crate::quantity::Size;
use crate::transports::{Carrier, IP_PACKET_MAX, Protocol, Refusal};

/// Maximum number of packets at a constant rate in a run: hours of computing.
const PACKETS_MAX: u128 = 10_000_000_000;

/// The error for a transport other than UDP.
pub(super) fn refusal(other: Protocol) -> Refusal {
    Refusal::of(other).unwrap_or_else(|| Refusal {
        help: "use transport = \"udp\", or app = \"bulk\"".to_owned(),
        ..Refusal::needs(&[Protocol::Udp], other)
    })
}

/// An end of a stream of datagrams.
pub(super) fn node(
    end: &Endpoint<'_>,
    carrier: Carrier,
    datagrams: impl FnOnce() -> Datagrams,
) -> Box<dyn Node> {
    match carrier {
        Carrier::Udp(ecn) if end.is_source() => Box::new(UdpSource::new(datagrams(), end.path).with_ecn(ecn)),
        Carrier::Udp(_) => Box::new(UdpSink::new()),
        other => other.mismatch(),
    }
}

/// Checks the bytes of a packet.
pub(super) fn check_payload(payload: Size, at: &Place<'_>) -> Checked {
    let fits = (1..=IP_PACKET_MAX - 28).contains(&payload.0.get());
    at.require(fits, "app.payload", "out of range", "it must be from 1 B to 65507 B")
}

/// Checks that this number of packets at this rate, in bit/s, can be computed.
pub(super) fn check_number(
    rate: u64,
    bytes: Size,
    flow: &Flow,
    scenario: &Resolved,
    at: &Place<'_>,
) -> Checked {
    let lasts = flow.time_to_send(scenario);
    let bits = u128::from(rate) * u128::from(lasts.as_nanos()) / 1_000_000_000;
    let packets = bits / u128::from(8 * bytes.0.get());
    let help = format!(
        "it gives {packets} packets, and the limit is {PACKETS_MAX}; lower the rate or enlarge `payload`"
    );
    at.require(packets <= PACKETS_MAX, "app.rate", "too high for the duration of the run", &help)
}
