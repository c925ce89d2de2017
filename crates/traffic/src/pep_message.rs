//! Messages of a PEP, for servers of any transport.

use airlane_core::{Cx, Duration, Event, FlowId, PacketRef, Payload, PepFate, Topic};
use airlane_net::pep;
use airlane_transport::{PepReport, TcpEndpoint};

/// Consumes a packet that is a message; returns its content, if the receiver accepts it.
pub(crate) fn take(
    cx: &mut Cx<'_>,
    flow: FlowId,
    receiver: &mut pep::Receiver,
    packet: PacketRef,
) -> Option<pep::Message> {
    if cx.wants(Topic::Received) {
        cx.emit_about(&packet, |packet| Event::Received { packet });
    }
    let packet = cx.pool.consume(packet);
    let message = match &packet.payload {
        Payload::Bytes(bytes) => receiver.accept(bytes),
        Payload::Length(_) => Err(pep::Rejected::Malformed),
    };
    let fate = if message.is_ok() { PepFate::Accepted } else { PepFate::Rejected };
    if cx.wants(Topic::Pep) {
        cx.emit(&Event::PepMessage { flow, fate });
    }
    cx.pool.recycle(packet);
    message.ok()
}

/// Consumes a packet that is a message, and informs the connection that it is about.
pub(crate) fn report(
    cx: &mut Cx<'_>,
    (flow, receiver): (FlowId, &mut pep::Receiver),
    packet: PacketRef,
    endpoint: &mut TcpEndpoint,
) {
    let message = take(cx, flow, receiver, packet);
    let Some(pep::Message { delay_us, body: pep::Body::Tcp(report), .. }) = message else { return };
    let report = PepReport {
        delay: Duration::from_micros(u64::from(delay_us)),
        newest: report.newest,
        first: report.first,
        cumulative: report.cumulative,
        ranges: report.ranges.as_slice(),
        holes: report.holes.as_slice(),
    };
    endpoint.handle_pep_report(cx, &report);
}

/// True for a datagram of a PEP at an end that also receives QUIC; a real PEP would use a separate port. If
/// the flow uses a PEP, its ends always set the fixed bit of QUIC (RFC 9000 §17.2), which is clear in all
/// messages. Otherwise they may clear it (RFC 9287), but then other bits are clear that are set in a message.
pub(crate) fn is_one(datagram: &[u8], listens: bool) -> bool {
    if listens { datagram.first().is_none_or(|first| first & 0x40 == 0) } else { pep::is_message(datagram) }
}
