//! Single packets that no transport sends or receives: how they enter and leave the network, and are reported.

use airlane_core::{Bytes, Cx, Event, Packet, PacketRef, Topic};

/// Sends a packet. `retransmission` says whether its data was sent before.
#[inline(always)]
pub(crate) fn send(cx: &mut Cx<'_>, packet: Packet, retransmission: bool) {
    let packet = cx.pool.insert(packet);
    if cx.wants(Topic::Sent) {
        cx.emit_about(&packet, |packet| Event::Sent { packet, retransmission });
    }
    cx.send(crate::PORT, packet);
}

/// Receives a packet, all of whose payload is new data of the application. Returns the length of its payload.
#[inline(always)]
pub(crate) fn receive(cx: &mut Cx<'_>, packet: PacketRef) -> Bytes {
    let payload = Bytes(u64::from(cx.pool.get(&packet).payload.len()));
    receive_data(cx, packet, payload);
    payload
}

/// Receives a packet, in whose payload the application has so much new data.
#[inline(always)]
pub(crate) fn receive_data(cx: &mut Cx<'_>, packet: PacketRef, data: Bytes) {
    if cx.wants(Topic::Received) {
        cx.emit_about(&packet, |packet| Event::Received { packet });
    }
    if cx.wants(Topic::Delivered) {
        cx.emit_about(&packet, |packet| Event::Delivered { packet, in_order: data, fresh: Some(data) });
    }
    cx.pool.retire(packet);
}
