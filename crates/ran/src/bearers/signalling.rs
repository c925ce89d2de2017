//! The signalling radio bearers of a UE: at most one message in each direction, which blocks take before data.
//!
//! Differences from RLC: a part of a message that HARQ gives up is sent again in the next block, without poll and STATUS
//! PDU.

use airlane_core::{Bytes, Direction};

use super::way;

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    /// The number that its receiver gets.
    id: u8,
    /// Bytes that wait for a block, and that have not arrived.
    waiting: u32,
    missing: u32,
}

/// A part of a message in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignallingPdu {
    /// Which messages of the bearers it belongs to: older ones were cleared.
    era: u32,
    bytes: u32,
}

/// The signalling radio bearers.
#[derive(Debug, Default)]
pub(crate) struct Signalling {
    messages: [Option<Message>; 2],
    arrived: [Option<u8>; 2],
    era: u32,
}

impl Signalling {
    /// Sends a message.
    pub(crate) fn submit(&mut self, direction: Direction, id: u8, bytes: u32) {
        self.messages[way(direction)] = Some(Message { id, waiting: bytes, missing: bytes });
    }

    /// Forgets all messages; what is on the air is void.
    pub(crate) fn clear(&mut self) {
        *self = Self { era: self.era + 1, ..Self::default() };
    }

    /// Bytes that wait in a direction.
    #[inline]
    pub(crate) fn backlog(&self, direction: Direction) -> Bytes {
        self.messages[way(direction)].map_or(Bytes::ZERO, |message| Bytes(u64::from(message.waiting)))
    }

    /// Whether nothing waits and nothing is on the air.
    #[cfg(test)]
    fn is_idle(&self) -> bool {
        self.messages.iter().all(Option::is_none)
    }

    /// Takes what a block has room for.
    pub(crate) fn transmit(&mut self, direction: Direction, room: Bytes) -> Option<(SignallingPdu, Bytes)> {
        let message = self.messages[way(direction)].as_mut()?;
        let bytes = u32::try_from(room.get()).unwrap_or(u32::MAX).min(message.waiting);
        message.waiting -= bytes;
        (bytes > 0).then(|| (SignallingPdu { era: self.era, bytes }, Bytes(u64::from(bytes))))
    }

    /// A part has arrived.
    pub(crate) fn receive(&mut self, direction: Direction, pdu: SignallingPdu) {
        let place = way(direction);
        let Some(message) = self.messages[place].as_mut().filter(|_| pdu.era == self.era) else { return };
        message.missing -= pdu.bytes;
        if message.missing == 0 {
            self.arrived[place] = self.messages[place].take().map(|message| message.id);
        }
    }

    /// A part was lost.
    pub(crate) fn lose(&mut self, direction: Direction, pdu: SignallingPdu) {
        if let Some(message) = self.messages[way(direction)].as_mut().filter(|_| pdu.era == self.era) {
            message.waiting += pdu.bytes;
        }
    }

    /// Parts that were on the air are lost.
    pub(crate) fn lose_all(&mut self) {
        self.era += 1;
        for message in self.messages.iter_mut().flatten() {
            message.waiting = message.missing;
        }
    }

    /// The message that has arrived in a direction, once.
    pub(crate) fn take_arrived(&mut self, direction: Direction) -> Option<u8> {
        self.arrived[way(direction)].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_when_all_its_parts_have() {
        let (mut bearers, down) = (Signalling::default(), Direction::Downlink);
        bearers.submit(down, 3, 50);
        let (first, used) = bearers.transmit(down, Bytes(20)).expect("a part");
        let (second, _) = bearers.transmit(down, Bytes(100)).expect("the rest");
        assert_eq!((used, bearers.backlog(down)), (Bytes(20), Bytes(0)));
        bearers.lose(down, first);
        bearers.receive(down, second);
        assert_eq!((bearers.take_arrived(down), bearers.backlog(down)), (None, Bytes(20)));
        let (again, _) = bearers.transmit(down, Bytes(100)).expect("the lost part");
        bearers.receive(down, again);
        assert_eq!([bearers.take_arrived(down), bearers.take_arrived(down)], [Some(3), None]);
        assert!(bearers.is_idle());
    }

    #[test]
    fn what_was_on_the_air_before_a_reset_counts_no_more() {
        let (mut bearers, up) = (Signalling::default(), Direction::Uplink);
        bearers.submit(up, 1, 10);
        let (part, _) = bearers.transmit(up, Bytes(10)).expect("the message");
        bearers.lose_all();
        bearers.receive(up, part);
        assert_eq!((bearers.take_arrived(up), bearers.backlog(up)), (None, Bytes(10)));
        bearers.clear();
        assert!(bearers.is_idle());
    }
}
