//! Handover of a bearer, with X2 and both ends of S1.

use std::collections::VecDeque;

use airlane_core::CellId;

use super::*;
use crate::pdcp::RetransmissionQueue;
use crate::x2::{Forwarding, X2Config};

pub(super) mod property;

const DOWN: Direction = Direction::Downlink;
const UP: Direction = Direction::Uplink;

/// A bearer and its environment for a handover.
pub(super) struct Network {
    pub(super) rig: Rig,
    pub(super) forwarding: Forwarding,
    mode: HandoverMode,
    cell: CellId,
}

impl Network {
    pub(super) fn new(config: &BearerConfig, mode: HandoverMode, x2: X2Config) -> Self {
        let stream = Seeds::new(7).stream("x2");
        Self { rig: Rig::new(config), forwarding: Forwarding::new(x2, stream), mode, cell: CellId(0) }
    }

    pub(super) fn with<R>(
        &mut self,
        f: impl FnOnce(&mut RadioBearer, &mut Forwarding, &mut Cx<'_>) -> R,
    ) -> R {
        let forwarding = &mut self.forwarding;
        self.rig.call(|bearer, cx| f(bearer, forwarding, cx))
    }

    /// The UE leaves its cell for another one.
    pub(super) fn leave(&mut self, target: CellId) {
        let (mode, source) = (self.mode, self.cell);
        let mut departure = Departure::default();
        self.with(|bearer, forwarding, cx| {
            bearer.leave(cx, mode, &mut departure);
            forwarding.begin(cx, source, &mut departure);
        });
        self.rig.take(departure.downlink);
        self.rig.take(departure.uplink);
        self.cell = target;
    }

    pub(super) fn arrive(&mut self) {
        self.with(|bearer, _, cx| bearer.arrive(cx));
    }

    /// A downlink packet arrives over the S1 path at this cell.
    pub(super) fn by_gateway(&mut self, cell: CellId, sdu: u32) {
        let header = Header::Udp(UdpHeader { serial: self.rig.submitted });
        self.rig.submitted += 1;
        let packet = Packet::new(FlowId(0), DOWN, header, Payload::Length(sdu - 28), self.rig.now);
        let packet = self.rig.pool.insert(packet);
        self.with(|bearer, forwarding, cx| forwarding.receive(cx, cell, packet, bearer));
    }

    pub(super) fn end_marker(&mut self, cell: CellId) {
        self.with(|bearer, forwarding, cx| forwarding.receive_end_marker(cx, cell, bearer));
    }

    /// Advances the time, on X2 and in the bearer.
    pub(super) fn advance(&mut self, to: Instant) {
        while let Some(at) = self.forwarding.next_timeout().filter(|&at| at <= to) {
            self.rig.advance(at);
            self.with(|bearer, forwarding, cx| forwarding.handle_timeout(cx, bearer));
        }
        self.rig.advance(to);
        self.check();
    }

    /// Checks that neither packets nor bytes on X2 are lost without a cause.
    pub(super) fn check(&self) {
        let held = self.rig.bearer.packets_held() + self.forwarding.packets_held();
        assert_eq!(self.rig.pool.live(), held);
        let discarded: u64 = DropCause::ALL.iter().map(|&cause| self.rig.pool.discarded(cause)).sum();
        let delivered = (self.rig.delivered.len() + self.rig.delivered_uplink.len()) as u64;
        assert_eq!(self.rig.submitted + self.rig.submitted_uplink, delivered + discarded + held as u64);
        let x2 = self.forwarding.statistics();
        let on_x2 = self.forwarding.bytes_on_x2().get();
        assert_eq!(x2.entered_bytes, x2.left_bytes + x2.lost_bytes + on_x2);
    }

    /// Sends PDUs of this size in a direction until the queue is empty.
    pub(super) fn run_dry(&mut self, direction: Direction) -> usize {
        let mut sent = 0;
        loop {
            let pdus = self.rig.transmit_in(direction, 1000);
            if pdus.is_empty() {
                return sent;
            }
            sent += pdus.len();
            self.rig.receive_in(direction, &pdus);
        }
    }
}

/// Polls with each PDU and answers at once.
fn eager() -> BearerConfig {
    let am = AmConfig {
        t_reordering: Duration::from_millis(10),
        t_status_prohibit: Duration::ZERO,
        poll_pdu: Some(1),
        ..LENA_AM
    };
    BearerConfig { rlc: RlcConfig::Am(am), ..roomy(RlcMode::Am) }
}

/// Five SDUs of 100 bytes, each in a PDU of 102. The UE receives 0, 2 and 3, and confirms 0 and 2.
/// Three more SDUs wait.
fn five_of_eight(mode: HandoverMode, config: &BearerConfig) -> Network {
    let mut network = Network::new(config, mode, X2);
    (0..8).for_each(|_| network.rig.submit(98));
    let pdus: Vec<Vec<Pdu>> = (0..5).map(|_| network.rig.transmit(102)).collect();
    for n in [0, 2] {
        network.rig.receive(&pdus[n]);
    }
    network.advance(ms(10)); // t-Reordering: 1 is missing
    let status = network.rig.transmit_in(UP, 100);
    network.rig.receive_in(UP, &status);
    network.rig.receive(&pdus[3]);
    assert_eq!(network.rig.delivered, [0]);
    network
}

#[test]
fn lossless_forwards_what_is_not_confirmed_in_the_order_of_count() {
    let mut network = five_of_eight(HandoverMode::Lossless, &eager());
    let mut out = Departure::default();
    network.with(|bearer, _, cx| bearer.leave(cx, HandoverMode::Lossless, &mut out));
    // 0 and 2 are confirmed. 3 has been received, so it is forwarded without its packet. 5 to 7
    // have no COUNT.
    let list: Vec<_> = out.forwarded.iter().map(|sdu| (sdu.count, sdu.size, sdu.packet.is_some())).collect();
    assert_eq!(
        list,
        [
            (Some(1), 100, true),
            (Some(3), 100, false),
            (Some(4), 100, true),
            (None, 100, true),
            (None, 100, true),
            (None, 100, true),
        ]
    );
    // RLC delivers 2 and 3 to PDCP, which holds them behind 1.
    assert!(out.downlink.is_empty());
    let status = out.sn_status.first().expect("for RLC AM");
    assert_eq!((status.uplink_count, status.downlink_count), (0, 5));
    network.with(|_, forwarding, cx| forwarding.begin(cx, CellId(0), &mut out));
    network.arrive();
    assert_eq!(network.run_dry(DOWN), 0, "SN STATUS TRANSFER takes 6 ms");
    network.advance(ms(16));
    // Each end first sends its report: 2 + 1 bytes up and 2 down.
    assert_eq!(network.rig.bearer.queue(UP), Bytes(3));
    assert_eq!(network.rig.bearer.queue(DOWN), Bytes(602));
    network.run_dry(UP);
    // The UE has reported that it has 3.
    assert_eq!(network.rig.bearer.queue(DOWN), Bytes(502));
    network.run_dry(DOWN);
    assert_eq!(network.rig.delivered, [0, 1, 2, 3, 4, 5, 6, 7]);
    let statistics = network.rig.bearer.handover_statistics();
    assert_eq!((statistics.forwarded, statistics.forwarded_bytes), (6, 600));
    assert_eq!((statistics.dropped, statistics.spared), (0, 1));
    network.check();
}

/// A UE that has lost its radio link and re-establishes in the same cell.
#[test]
fn what_begins_anew_in_its_cell_loses_nothing_and_keeps_the_order() {
    let mut network = five_of_eight(HandoverMode::Lossless, &eager());
    network.with(|bearer, _, _| bearer.suspend());
    network.rig.submit(98);
    assert!(network.rig.transmit_in(DOWN, 1000).is_empty(), "suspended");
    let mut departure = Departure::default();
    network.with(|bearer, _, cx| bearer.begin_anew(cx, HandoverMode::Lossless, &mut departure));
    network.rig.take(departure.downlink);
    network.run_dry(UP);
    network.run_dry(DOWN);
    assert_eq!(network.rig.delivered, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(network.rig.bearer.duplicates(DOWN), 0);
    network.check();
}

#[test]
fn without_a_status_report_what_has_come_is_sent_again() {
    let config = eager();
    let pdcp = PdcpConfig { status_report: false, ..config.pdcp };
    let mut network = five_of_eight(HandoverMode::Lossless, &BearerConfig { pdcp, ..config });
    network.leave(CellId(1));
    network.advance(ms(16));
    network.arrive();
    assert_eq!(network.rig.bearer.queue(DOWN), Bytes(600));
    network.run_dry(DOWN);
    assert_eq!(network.rig.delivered, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(network.rig.bearer.duplicates(DOWN), 1);
}

#[test]
fn seamless_drops_what_has_a_count() {
    let mut network = five_of_eight(HandoverMode::Seamless, &eager());
    network.leave(CellId(1));
    // 2 and 3 have been received, and 1 is not awaited. Dropped: 1 and 4.
    assert_eq!(network.rig.delivered, [0, 2, 3]);
    assert_eq!(network.rig.discarded(DropCause::Handover), 2);
    network.advance(ms(16));
    network.arrive();
    network.run_dry(DOWN);
    assert_eq!(network.rig.delivered, [0, 2, 3, 5, 6, 7]);
    let statistics = network.rig.bearer.handover_statistics();
    assert_eq!((statistics.dropped, statistics.dropped_bytes), (2, 2 * 98));
    assert_eq!(statistics.forwarded, 3);
}

/// What arrives over a handover of `five_of_eight`, and the number of SDUs that the handover drops.
fn delivered_after(mode: HandoverMode, config: &BearerConfig) -> (Vec<u64>, u64) {
    let mut network = five_of_eight(mode, config);
    network.leave(CellId(1));
    network.advance(ms(16));
    network.arrive();
    network.run_dry(DOWN);
    network.run_dry(UP); // confirmed SDUs make room
    network.run_dry(DOWN);
    (network.rig.delivered.clone(), network.rig.discarded(DropCause::Handover))
}

#[test]
fn what_is_numbered_on_arrival_is_dropped_by_a_seamless_handover_and_kept_by_a_lossless_one() {
    // 1, 3 and 4 are not confirmed; 5 and 6 fit into 550 bytes with them, 7 does not.
    let queue = RetransmissionQueue { limit: Bytes(550), shares_buffer: false, holds_waiting: true };
    let pdcp = PdcpConfig { retransmission_queue: Some(queue), ..eager().pdcp };
    let config = BearerConfig { pdcp, ..eager() };
    let deliver_the_rest = |mode| delivered_after(mode, &config);
    assert_eq!(deliver_the_rest(HandoverMode::Seamless), (vec![0, 2, 3, 7], 4));
    assert_eq!(deliver_the_rest(HandoverMode::Lossless).0, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// As in the University of Utah's branch of ns-3.
#[test]
fn without_a_limit_all_is_numbered_on_arrival_and_the_buffer_bounds_what_waits() {
    let limit = RetransmissionQueue::UNLIMITED;
    let queue = RetransmissionQueue { limit, shares_buffer: false, holds_waiting: true };
    let pdcp = PdcpConfig { retransmission_queue: Some(queue), ..eager().pdcp };
    let config = BearerConfig { pdcp, ..eager() };
    let deliver_the_rest = |mode| delivered_after(mode, &config);
    // 1 and 4 were sent and are not confirmed; 5, 6 and 7 wait.
    assert_eq!(deliver_the_rest(HandoverMode::Seamless), (vec![0, 2, 3], 5));
    assert_eq!(deliver_the_rest(HandoverMode::Lossless).0, [0, 1, 2, 3, 4, 5, 6, 7]);

    let mut rig = Rig::new(&BearerConfig { buffer: Bytes(500), ..config });
    (0..6).for_each(|_| rig.submit(98)); // 500 bytes hold five of 100
    (0..3).for_each(|_| drop(rig.transmit(102)));
    (0..4).for_each(|_| rig.submit(98)); // what was sent has left room for three
    assert_eq!(rig.discarded(DropCause::QueueFull), 2);
}

#[test]
fn what_is_numbered_on_arrival_takes_no_room_of_what_waits_unless_they_share_it() {
    let room = |shares_buffer| {
        let queue = RetransmissionQueue { limit: Bytes(300), shares_buffer, holds_waiting: true };
        let pdcp = PdcpConfig { retransmission_queue: Some(queue), ..eager().pdcp };
        let mut rig = Rig::new(&BearerConfig { buffer: Bytes(500), pdcp, ..eager() });
        (0..12).for_each(|_| rig.submit(98));
        12 - rig.discarded(DropCause::QueueFull)
    };
    assert_eq!((room(true), room(false)), (5, 8));
}

#[test]
fn unacknowledged_mode_keeps_nothing_and_waits_for_no_sn_status() {
    let mut network = Network::new(&roomy(RlcMode::Um), HandoverMode::SeamlessUm, X2);
    (0..5).for_each(|_| network.rig.submit(98));
    let pdus: Vec<Vec<Pdu>> = (0..3).map(|_| network.rig.transmit(102)).collect();
    network.rig.transmit(50); // and a part of the fourth
    network.rig.receive(&pdus[0]);
    network.rig.receive(&pdus[2]);
    network.leave(CellId(1));
    assert_eq!(network.rig.delivered, [0, 2]);
    assert_eq!(network.rig.discarded(DropCause::Handover), 2);
    network.arrive();
    assert!(!network.rig.bearer.is_suspended());
    network.advance(ms(6));
    network.run_dry(DOWN);
    assert_eq!(network.rig.delivered, [0, 2, 4]);
}

#[test]
fn the_uplink_sends_all_again_from_the_first_unconfirmed() {
    let mut network = Network::new(&eager(), HandoverMode::Lossless, X2);
    (0..5).for_each(|_| network.rig.submit_in(UP, 98));
    let pdus: Vec<Vec<Pdu>> = (0..4).map(|_| network.rig.transmit_in(UP, 102)).collect();
    for n in [0, 2, 3] {
        network.rig.receive_in(UP, &pdus[n]);
    }
    network.advance(ms(10));
    let status = network.rig.transmit_in(DOWN, 100);
    network.rig.receive_in(DOWN, &status);
    assert_eq!(network.rig.bearer.unconfirmed(UP).map(|sdu| sdu.count).collect::<Vec<_>>(), [1]);
    network.leave(CellId(1));
    // The source discards 2 and 3, which it has received but cannot deliver, so the UE sends 1 to 3
    // and 4.
    assert_eq!(network.rig.bearer.queue(UP), Bytes(400));
    network.advance(ms(16));
    network.arrive();
    network.run_dry(UP);
    assert_eq!(network.rig.delivered_uplink, [0, 1, 2, 3, 4]);
    assert_eq!(network.rig.bearer.duplicates(UP), 0);
}

/// RLC holds the SDUs that arrived behind a lost status report of PDCP. The UE does not send that report
/// again, and would not send the confirmed SDUs behind it. RLC therefore delivers them when it is
/// re-established (TS 36.322 v17.0 §5.4).
#[test]
fn what_is_confirmed_behind_a_lost_report_is_delivered_by_the_next_handover() {
    let mut network = Network::new(&eager(), HandoverMode::Lossless, X2);
    network.leave(CellId(1));
    network.arrive();
    network.advance(ms(6));
    let report = network.rig.transmit_in(UP, 4);
    assert_eq!(data(&report).len(), 1, "the report alone, which is lost");
    (0..3).for_each(|_| network.rig.submit_in(UP, 98));
    let pdus: Vec<Vec<Pdu>> = (0..3).map(|_| network.rig.transmit_in(UP, 102)).collect();
    network.rig.receive_in(UP, &pdus[0]);
    network.rig.receive_in(UP, &pdus[2]);
    network.advance(ms(16));
    let status = network.rig.transmit_in(DOWN, 100);
    network.rig.receive_in(DOWN, &status);
    assert_eq!(network.rig.bearer.unconfirmed(UP).map(|sdu| sdu.count).collect::<Vec<_>>(), [1, 2]);
    assert!(network.rig.delivered_uplink.is_empty());
    network.leave(CellId(0));
    // 0 is in order and confirmed; the source discards 2, and the UE sends 1 and 2.
    assert_eq!(network.rig.delivered_uplink, [0]);
    assert_eq!(network.rig.bearer.queue(UP), Bytes(200));
    network.arrive();
    network.advance(ms(30));
    network.run_dry(UP);
    assert_eq!(network.rig.delivered_uplink, [0, 1, 2]);
    assert_eq!(network.rig.bearer.duplicates(UP), 0);
}

#[test]
fn fresh_packets_wait_for_the_end_marker() {
    let mut network = Network::new(&eager(), HandoverMode::Lossless, X2);
    network.leave(CellId(1));
    network.arrive();
    network.advance(ms(6)); // SN STATUS TRANSFER
    network.by_gateway(CellId(0), 98); // serial 0, forwarded until 12 ms
    network.rig.now = ms(7);
    network.end_marker(CellId(0)); // leaves X2 at 13 ms
    network.by_gateway(CellId(1), 98); // serial 1, on the new path
    assert_eq!(network.rig.bearer.queue(DOWN), Bytes(2), "the report alone");
    network.advance(ms(12));
    assert_eq!(network.rig.bearer.queue(DOWN), Bytes(102));
    assert!(!network.forwarding.is_idle());
    network.advance(ms(13));
    assert_eq!(network.rig.bearer.queue(DOWN), Bytes(202));
    assert!(network.forwarding.is_idle());
    network.run_dry(DOWN);
    assert_eq!(network.rig.delivered, [0, 1]);
    assert_eq!(network.forwarding.statistics().tunnel_bytes, 100 + 36);
}

#[test]
fn a_second_handover_passes_through_the_first_target() {
    let mut network = Network::new(&eager(), HandoverMode::Lossless, X2);
    network.leave(CellId(1));
    network.by_gateway(CellId(0), 98); // 0, over both hops: 12 ms
    network.by_gateway(CellId(1), 98); // 1, new at the first target
    network.advance(ms(1));
    network.leave(CellId(0)); // back again
    network.end_marker(CellId(0)); // of the first path, leaves X2 at 7 ms
    network.by_gateway(CellId(1), 98); // 2
    network.end_marker(CellId(1));
    network.by_gateway(CellId(0), 98); // 3, on the third path
    network.arrive();
    network.advance(ms(6));
    assert_eq!(network.rig.bearer.queue(DOWN), Bytes::ZERO);
    network.advance(ms(12));
    assert_eq!(network.rig.bearer.queue(DOWN), Bytes(102), "0, and a report");
    network.advance(ms(13));
    assert!(network.forwarding.is_idle());
    network.run_dry(DOWN);
    assert_eq!(network.rig.delivered, [0, 1, 2, 3]);
}

#[test]
fn the_gate_keeps_sdus_waiting_and_drops_none() {
    let config = eager();
    let bound = |shares_buffer| {
        let queue = RetransmissionQueue { limit: Bytes(350), shares_buffer, holds_waiting: false };
        let pdcp = PdcpConfig { retransmission_queue: Some(queue), ..config.pdcp };
        BearerConfig { buffer: Bytes(600), pdcp, ..config.clone() }
    };
    // Three SDUs of 100 bytes may be unconfirmed.
    let mut rig = Rig::new(&bound(true));
    (0..6).for_each(|_| rig.submit(98));
    assert_eq!(rig.status().new, Bytes(300 + 2 + 3), "three elements: two length indicators");
    let pdus = [rig.transmit(102), rig.transmit(102), rig.transmit(102)];
    assert_eq!(rig.transmit(102), []);
    assert_eq!(rig.status().new, Bytes::ZERO);
    assert!(data(&pdus[2])[0].poll, "nothing more may be sent");
    assert_eq!(rig.bearer.queue(DOWN), Bytes(300));
    rig.submit(98); // 300 unconfirmed and 300 waiting bytes fill the 600
    assert_eq!(rig.discarded(DropCause::QueueFull), 1);
    rig.receive(&pdus[0]);
    let status = rig.transmit_in(UP, 100);
    rig.receive_in(UP, &status);
    assert_eq!(rig.status().new, Bytes(102));
    rig.check_conservation();

    let mut rig = Rig::new(&bound(false));
    (0..6).for_each(|_| rig.submit(98));
    (0..3).for_each(|_| drop(rig.transmit(102)));
    (0..4).for_each(|_| rig.submit(98)); // 600 further bytes may wait
    assert_eq!(rig.discarded(DropCause::QueueFull), 1);
    assert_eq!(rig.bearer.queue(DOWN), Bytes(600));
}

#[test]
fn what_is_confirmed_behind_a_gap_makes_room() {
    let config = eager();
    let queue = RetransmissionQueue { limit: Bytes(350), shares_buffer: true, holds_waiting: false };
    let pdcp = PdcpConfig { retransmission_queue: Some(queue), ..config.pdcp };
    let mut rig = Rig::new(&BearerConfig { pdcp, ..config });
    (0..5).for_each(|_| rig.submit(98));
    let pdus = [rig.transmit(102), rig.transmit(102), rig.transmit(102)];
    rig.receive(&pdus[1]);
    rig.receive(&pdus[2]);
    rig.advance(ms(10));
    let status = rig.transmit_in(UP, 100);
    rig.receive_in(UP, &status);
    // 0 will be sent again; 1 and 2 are confirmed, so two more may be started.
    assert_eq!(rig.status().retransmission, Bytes(102));
    assert_eq!(rig.status().new, Bytes(200 + 2 + 2));
}

#[test]
fn a_larger_sdu_that_closes_the_gate_does_not_leave_it_closed() {
    let am = AmConfig { poll_pdu: None, poll_byte: None, ..am_of(&eager()) };
    let queue = RetransmissionQueue { limit: Bytes(450), shares_buffer: false, holds_waiting: false };
    let pdcp = PdcpConfig { retransmission_queue: Some(queue), ..eager().pdcp };
    let mut rig = Rig::new(&BearerConfig { rlc: RlcConfig::Am(am), pdcp, ..eager() });
    (0..2).for_each(|_| rig.submit(98));
    let pdus = rig.transmit(102); // no poll: another SDU can follow
    assert!(!data(&pdus)[0].poll);
    rig.submit(398); // 100 unconfirmed and 400 more exceed the limit
    assert!(rig.status().retransmission > Bytes::ZERO, "the PDU goes again, with a poll");
    rig.receive(&pdus);
    let again = rig.transmit(1000);
    rig.receive(&again);
    let status = rig.transmit_in(UP, 100);
    rig.receive_in(UP, &status);
    assert!(rig.status().new > Bytes::ZERO);
}
