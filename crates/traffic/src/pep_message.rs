//! A message of a PEP, as a server of any transport takes it.

use airlane_core::{Cx, Event, FlowId, PacketRef, Payload, PepFate, Topic};
use airlane_net::pep;

/// Takes a packet that is one; gives what it says, if the receiver believes it.
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
