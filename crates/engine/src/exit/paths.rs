//! The data of a connection over several paths that arrives at an exit, as its receiver outside can read it.

use std::collections::BTreeMap;

use airlane_core::order::{Order, Released};
use airlane_core::{
    Bytes, Cx, Event, FlowId, Header, Packet, PacketRef, SocketPair, SubflowStep, TcpFlags, Topic,
};

use super::streams::Arrived;

/// The connections of a flow, whose packets have the places of their data with them ([`Packet::data_position`]). A flow has
/// one connection.
#[derive(Debug)]
pub(super) struct Paths {
    /// The port at the UE by which packets of each path are known.
    ports: Vec<u16>,
    subflows: BTreeMap<SocketPair, Subflow>,
    order: Order,
    released: Vec<Released>,
}

/// The bytes of a subflow that have arrived, by positions that count from its SYN.
#[derive(Debug)]
struct Subflow {
    /// The sequence number at position 0.
    initial: u32,
    /// All bytes before have arrived.
    next: u64,
    /// Payloads behind it, by their positions: their lengths, and their places in the data.
    beyond: BTreeMap<u64, (u64, u64)>,
}

impl Paths {
    pub(super) fn new(ports: Vec<u16>) -> Self {
        Self { ports, subflows: BTreeMap::new(), order: Order::default(), released: Vec::new() }
    }

    /// A packet arrives. Its steps are reported; returned is what can be read, and what is new.
    pub(super) fn arrive(&mut self, cx: &mut Cx<'_>, packet: &PacketRef) -> Arrived {
        let nothing = Arrived { in_order: Bytes(0), fresh: Some(Bytes(0)) };
        let &Packet { header, flow, sockets, ref payload, .. } = cx.pool.get(packet);
        let (length, place) = (u64::from(payload.len()), cx.pool.get(packet).data_position());
        let path = self.ports.iter().position(|port| *port == sockets.ue_port);
        let (Header::Tcp(header), Some(path)) = (header, path) else { return nothing };
        if header.flags.has(TcpFlags::SYN) {
            let initial = header.sequence.wrapping_add(1);
            if self.subflows.get(&sockets).is_none_or(|known| known.initial != initial) {
                self.subflows.insert(sockets, Subflow::new(initial));
                // It answers the SYN of this end, which has opened the subflow.
                if header.flags.has(TcpFlags::ACK) {
                    report(cx, flow, path, SubflowStep::Established);
                }
            }
            return nothing;
        }
        let (Some(subflow), Some(place)) = (self.subflows.get_mut(&sockets), place) else { return nothing };
        let (held, before) = (subflow.held(), self.order.next());
        let in_order = subflow.arrive(header.sequence, length, place);
        // Bytes that are new for the subflow, also those behind a gap of its own, as at a simulated end.
        let all: u64 = in_order.iter().map(|(_, length)| length).sum();
        let mut fresh = (all + subflow.held()).saturating_sub(held).min(length);
        for (place, length) in in_order {
            let expected = self.order.next();
            let new = self.order.receive(cx.now, path, (place, length), &mut self.released);
            fresh = fresh.saturating_sub(length - new);
            let ahead = if new > 0 { place.saturating_sub(expected) } else { 0 };
            let (fresh, again, ahead) = (Bytes(new), Bytes(length - new), Bytes(ahead));
            report(cx, flow, path, SubflowStep::Arrived { fresh, again, ahead });
        }
        for Released { path, bytes, waited } in self.released.drain(..) {
            report(cx, flow, path, SubflowStep::Released { bytes: Bytes(bytes), waited });
        }
        Arrived { in_order: Bytes(self.order.next() - before), fresh: Some(Bytes(fresh)) }
    }
}

fn report(cx: &mut Cx<'_>, flow: FlowId, path: usize, step: SubflowStep) {
    if cx.wants(Topic::Subflow) {
        cx.emit(&Event::Subflow { flow, subflow: path as u8, step });
    }
}

impl Subflow {
    const fn new(initial: u32) -> Self {
        Self { initial, next: 0, beyond: BTreeMap::new() }
    }

    /// Bytes behind a gap.
    fn held(&self) -> u64 {
        self.beyond.values().map(|(length, _)| length).sum()
    }

    /// A payload arrives. Returned are the places and lengths of what is in the order of the subflow now.
    fn arrive(&mut self, sequence: u32, length: u64, place: u64) -> Vec<(u64, u64)> {
        // The position nearest to the next byte in order (RFC 9293 §3.4).
        let distance = i64::from(sequence.wrapping_sub(self.initial.wrapping_add(self.next as u32)) as i32);
        let Some(at) = self.next.checked_add_signed(distance).filter(|_| length > 0) else { return vec![] };
        if at + length <= self.next {
            return vec![];
        }
        let known = self.beyond.entry(at).or_insert((length, place));
        if known.0 < length {
            *known = (length, place);
        }
        let mut in_order = vec![];
        while let Some(first) = self.beyond.first_entry().filter(|first| *first.key() <= self.next) {
            let (at, (length, place)) = first.remove_entry();
            let known = self.next - at;
            if length > known {
                in_order.push((place + known, length - known));
                self.next = at + length;
            }
        }
        in_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_a_subflow_delays_the_places_behind_it() {
        // The sequence numbers wrap, and the places of the data are those that the other subflow has left out.
        let mut subflow = Subflow::new(u32::MAX - 9);
        assert_eq!(subflow.arrive(u32::MAX - 9, 10, 100), [(100, 10)]);
        assert_eq!(subflow.arrive(10, 10, 300), []);
        assert_eq!(subflow.arrive(20, 5, 500), []);
        assert_eq!(subflow.held(), 15);
        assert_eq!(subflow.arrive(0, 10, 200), [(200, 10), (300, 10), (500, 5)]);
        assert_eq!((subflow.next, subflow.held()), (35, 0));
        // A repetition that is longer than what had arrived.
        assert_eq!(subflow.arrive(20, 10, 500), [(505, 5)]);
        assert_eq!(subflow.arrive(20, 10, 500), []);
    }
}
