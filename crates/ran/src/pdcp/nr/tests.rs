//! PDCP by itself: what RLC passes on, and what the upper layers get.

use airlane_core::{
    Direction, FlowId, Header, Packet, PacketPool, Payload, Seeds, Silence, TopicSet, UdpHeader,
};

use super::*;

const T: Duration = Duration::from_millis(50);

struct Rig {
    receiver: Receiver,
    pool: PacketPool,
    now: Instant,
    delivered: Vec<u64>,
}

impl Rig {
    fn new(t_reordering: Option<Duration>, out_of_order: bool) -> Self {
        let receiver = Receiver::new(&ReorderingConfig { t_reordering, out_of_order });
        Self { receiver, pool: PacketPool::default(), now: Instant::ZERO, delivered: Vec::new() }
    }

    fn receive(&mut self, ms: u64, counts: &[u32]) {
        while let Some(at) = Some(self.receiver.next_timeout()).filter(|&at| at <= Instant::from_millis(ms)) {
            let mut out = Vec::new();
            self.receiver.handle_timeout(at, &mut out);
            self.take(out);
        }
        self.now = Instant::from_millis(ms);
        for &count in counts {
            let header = Header::Udp(UdpHeader { serial: u64::from(count) });
            let packet = Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(100), self.now);
            let packet = self.pool.insert(packet);
            let (mut out, mut outbox) = (Vec::new(), Vec::new());
            let mut cx = Cx {
                now: self.now,
                pool: &mut self.pool,
                outbox: &mut outbox,
                topics: TopicSet::NONE,
                probe: &mut Silence,
            };
            self.receiver.receive(&mut cx, count, Some(packet), &mut out);
            self.take(out);
        }
        assert_eq!(self.pool.live(), self.receiver.held());
    }

    fn take(&mut self, packets: Vec<PacketRef>) {
        for packet in packets {
            let Header::Udp(udp) = self.pool.consume(packet).header else { unreachable!("only UDP") };
            self.delivered.push(udp.serial);
        }
    }
}

#[test]
fn a_gap_is_given_up_after_t_reordering() {
    let mut rig = Rig::new(Some(T), false);
    rig.receive(0, &[0, 2, 3]); // RX_DELIV 1, RX_REORD 3, set by COUNT 2
    assert_eq!((rig.delivered.as_slice(), rig.receiver.next_timeout()), (&[0][..], Instant::from_millis(50)));
    rig.receive(20, &[5]); // the timer is not started again
    rig.receive(50, &[]);
    // All below RX_REORD, and what follows in order; COUNT 4 gets its own time, from now on.
    assert_eq!(rig.delivered, [0, 2, 3]);
    assert_eq!((rig.receiver.first_missing(), rig.receiver.next_timeout()), (4, Instant::from_millis(100)));
    rig.receive(60, &[1]); // too late
    assert_eq!(rig.pool.discarded(DropCause::Discarded), 1);
    rig.receive(70, &[4]);
    assert_eq!(rig.delivered, [0, 2, 3, 4, 5]);
    assert_eq!(rig.receiver.next_timeout(), Instant::FAR_FUTURE);
}

#[test]
fn a_gap_that_closes_stops_the_timer_and_the_next_one_starts_it() {
    let mut rig = Rig::new(Some(T), false);
    rig.receive(0, &[1]); // RX_REORD 2
    rig.receive(10, &[3]);
    rig.receive(20, &[0]); // RX_DELIV 2 reaches RX_REORD; 2 is missing
    assert_eq!(
        (rig.delivered.as_slice(), rig.receiver.next_timeout()),
        (&[0, 1][..], Instant::from_millis(70))
    );
    rig.receive(30, &[2]);
    assert_eq!((rig.delivered.len(), rig.receiver.next_timeout()), (4, Instant::FAR_FUTURE));
}

#[test]
fn without_a_timer_a_gap_stays_and_without_order_it_is_not_waited_for() {
    let mut rig = Rig::new(None, false);
    rig.receive(0, &[0, 2]);
    rig.receive(1_000_000, &[3]);
    assert_eq!(rig.delivered, [0]);
    let mut rig = Rig::new(Some(T), true);
    rig.receive(0, &[0, 2, 3]);
    assert_eq!((rig.delivered.as_slice(), rig.receiver.first_missing()), (&[0, 2, 3][..], 1));
    rig.receive(50, &[1]); // RX_DELIV is 4 since the timer expired
    assert_eq!((rig.delivered.len(), rig.pool.discarded(DropCause::Discarded)), (3, 1));
}

#[test]
fn any_order_within_the_time_is_sorted_and_what_is_lost_is_skipped() {
    for seed in 0..20 {
        let mut random = Seeds::new(seed).stream("order");
        let mut arrivals: Vec<(u64, u32)> = (0..3_000)
            .filter(|_| !random.chance(0.05))
            .map(|count| (count, count))
            .map(|(at, count)| (at + u64::from(at % 3 == 0) * 17, count as u32))
            .collect();
        arrivals.sort_unstable();
        let mut rig = Rig::new(Some(T), false);
        for &(at, count) in &arrivals {
            rig.receive(at, &[count]);
        }
        rig.receive(4_000, &[]);
        let mut expected: Vec<u64> = arrivals.iter().map(|&(_, count)| u64::from(count)).collect();
        expected.sort_unstable();
        assert_eq!(rig.delivered, expected);
    }
}

#[test]
fn a_status_report_has_32_bits_of_count() {
    let report = StatusReport { first_missing: 0x0001_0005, received: vec![0x0001_0006, 0x0001_000E] };
    // The first bit is FMC + 1, and FMC + 9 is the first of the second octet.
    let pdu = report.encode_nr();
    assert_eq!(pdu, [0x00, 0x00, 0x01, 0x00, 0x05, 0b1000_0000, 0b1000_0000]);
    assert_eq!(StatusReport::decode_nr(&pdu), Some(report));
    let none = StatusReport { first_missing: 7, received: vec![] };
    assert_eq!(StatusReport::decode_nr(&none.encode_nr()), Some(none));
    assert_eq!(StatusReport::decode_nr(&[0x10, 0, 0, 0, 0]), None, "another control PDU");
    assert_eq!(StatusReport::decode_nr(&[0, 0, 0, 0]), None);
    // At most 9000 bytes: 8995 of bitmap, so COUNTs up to FMC + 71,960.
    let long = StatusReport { first_missing: 0, received: (1..100_000).collect() };
    let pdu = long.encode_nr();
    assert_eq!(pdu.len(), 9000);
    assert_eq!(StatusReport::decode_nr(&pdu).map(|read| read.received.len()), Some(71_960));
}
