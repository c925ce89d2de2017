//! X2-U between the two nodes: a rate and a delay. PDUs keep their order.

use std::collections::VecDeque;

use airlane_core::{Bytes, Duration, Instant, PacketRef};

use super::InterNodeLink;

/// One direction of the link, with the PDUs of one UE on it.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    /// PDUs, and when they arrive.
    under_way: VecDeque<(Instant, PacketRef)>,
    /// When the last one has been sent.
    sent_at: Instant,
}

impl Passage {
    /// A PDU of this size enters; `link` is `None` within a node.
    pub(crate) fn enter(
        &mut self,
        now: Instant,
        link: Option<&InterNodeLink>,
        packet: PacketRef,
        bytes: Bytes,
    ) {
        let takes =
            link.and_then(|link| link.rate).map_or(Duration::ZERO, |rate| rate.transmission_time(bytes));
        self.sent_at = self.sent_at.max(now) + takes;
        let arrives = self.sent_at + link.map_or(Duration::ZERO, |link| link.delay);
        let arrives = self.under_way.back().map_or(arrives, |(last, _)| arrives.max(*last));
        self.under_way.push_back((arrives, packet));
    }

    /// When the next PDU arrives.
    pub(crate) fn due(&self) -> Instant {
        self.under_way.front().map_or(Instant::FAR_FUTURE, |(at, _)| *at)
    }

    /// A PDU that has arrived.
    pub(crate) fn leave(&mut self, now: Instant) -> Option<PacketRef> {
        if self.due() > now {
            return None;
        }
        self.under_way.pop_front().map(|(_, packet)| packet)
    }

    /// All PDUs under way.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = PacketRef> + '_ {
        self.under_way.drain(..).map(|(_, packet)| packet)
    }

    pub(crate) fn len(&self) -> usize {
        self.under_way.len()
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{BitRate, Direction, FlowId, Header, Packet, PacketPool, Payload, UdpHeader};

    use super::*;

    /// 1250 bytes at 10 Mbit/s take 1 ms; a PDU that enters within a node does not overtake one on the link.
    #[test]
    fn pdus_take_the_rate_and_the_delay_and_keep_their_order() {
        let mut pool = PacketPool::default();
        let mut packet = || {
            let header = Header::Udp(UdpHeader::default());
            let payload = Payload::Length(1222);
            pool.insert(Packet::new(FlowId(0), Direction::Downlink, header, payload, Instant::ZERO))
        };
        let link = InterNodeLink { delay: Duration::from_millis(5), rate: Some(BitRate(10_000_000)) };
        let (mut passage, ms) = (Passage::default(), Instant::from_millis);
        for link in [Some(&link), Some(&link), None] {
            passage.enter(ms(2), link, packet(), Bytes(1250));
        }
        assert_eq!(passage.due(), ms(8));
        assert!(passage.leave(ms(7)).is_none() && passage.leave(ms(8)).is_some());
        assert_eq!(passage.due(), ms(9));
        assert!(passage.leave(ms(9)).is_some() && passage.leave(ms(9)).is_some() && passage.len() == 0);
    }
}
