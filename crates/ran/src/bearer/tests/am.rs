//! Acknowledged mode.

use airlane_core::Seeds;

use super::*;

const DOWN: Direction = Direction::Downlink;
const UP: Direction = Direction::Uplink;

/// Polls only when there is nothing left to send; the timers differ by enough to distinguish them.
fn quiet() -> BearerConfig {
    let am = AmConfig {
        t_poll_retransmit: Duration::from_millis(70),
        t_reordering: Duration::from_millis(20),
        t_status_prohibit: Duration::from_millis(30),
        poll_pdu: None,
        poll_byte: None,
        ..LENA_AM
    };
    BearerConfig { rlc: RlcConfig::Am(am), ..roomy(RlcMode::Am) }
}

pub(super) fn polls(pdus: &[Vec<Pdu>]) -> Vec<bool> {
    pdus.iter().flatten().map(|pdu| matches!(pdu, Pdu::Data(data) if data.poll)).collect()
}

/// Submits `n` SDUs of 100 bytes with their PDCP headers and sends each in a PDU of 102.
pub(super) fn one_by_one(rig: &mut Rig, n: usize) -> Vec<Vec<Pdu>> {
    (0..n).for_each(|_| rig.submit(98));
    (0..n).map(|_| rig.transmit(102)).collect()
}

#[test]
fn the_last_pdu_polls_and_is_confirmed() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 3);
    assert_eq!(polls(&pdus), [false, false, true]);
    assert_eq!(rig.bearer.unconfirmed(DOWN).count(), 3);
    pdus.iter().for_each(|pdu| rig.receive(pdu));
    assert_eq!(rig.delivered, [0, 1, 2]);
    let unconfirmed: Vec<Unconfirmed> = rig.bearer.unconfirmed(DOWN).collect();
    assert_eq!(unconfirmed.len(), 3);
    assert_eq!(unconfirmed[2], Unconfirmed { count: 2, size: Bytes(100), delivered: true });
    // ACK_SN alone: 15 bits.
    assert_eq!(rig.bearer.buffer_status(UP, rig.now).control, Bytes(2));
    let status = rig.transmit_in(UP, 1000);
    assert_eq!(sizes(&status), [2]);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(70)), "t-PollRetransmit");
    rig.receive_in(UP, &status);
    assert_eq!(rig.bearer.next_timeout(), None);
    assert_eq!(rig.bearer.unconfirmed(DOWN).count(), 0);
    rig.check_conservation();
}

#[test]
fn polls_come_after_so_many_pdus_and_bytes() {
    let with = |poll_pdu, poll_byte| {
        let am = AmConfig { poll_pdu, poll_byte, ..am_of(&quiet()) };
        let mut rig = Rig::new(&BearerConfig { rlc: RlcConfig::Am(am), ..quiet() });
        polls(&one_by_one(&mut rig, 8))
    };
    // The last PDU always polls.
    assert_eq!(with(Some(3), None), [false, false, true, false, false, true, false, true]);
    // The third PDU of 100 bytes reaches 250 bytes.
    assert_eq!(with(None, Some(Bytes(250))), [false, false, true, false, false, true, false, true]);
    assert_eq!(with(Some(1), Some(Bytes(50))), [true; 8]); // ns-3
}

#[test]
fn a_gap_is_reported_after_t_reordering_and_filled() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 4);
    rig.now = ms(4);
    for n in [0, 2, 3] {
        rig.receive(&pdus[n]);
    }
    assert_eq!(rig.delivered, [0]);
    // The answer to the poll of PDU 3 waits: 3 is not below VR(MS) = 1.
    assert_eq!(rig.bearer.buffer_status(UP, rig.now).control, Bytes::ZERO);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(24)));
    rig.advance(ms(24));
    // ACK_SN 4, NACK_SN 1: 15 + 12 bits.
    let status = rig.transmit_in(UP, 1000);
    assert_eq!(sizes(&status), [4]);
    rig.now = ms(28);
    rig.receive_in(UP, &status);
    // POLL_SN is 3 and is below ACK_SN, so t-PollRetransmit has stopped.
    assert_eq!(rig.bearer.next_timeout(), None);
    assert_eq!(rig.status().retransmission, Bytes(102));
    assert_eq!(rig.bearer.unconfirmed(DOWN).map(|u| u.count).collect::<Vec<u32>>(), [1]);
    let again = rig.transmit(1000);
    assert_eq!(data(&again), [DataPdu { poll: true, ..data(&pdus[1])[0] }]);
    assert_eq!(rig.status(), BufferStatus::default());
    assert_eq!(rig.bearer.next_timeout(), Some(ms(98)));
    rig.now = ms(32);
    rig.receive(&again);
    assert_eq!(rig.delivered, [0, 1, 2, 3]);
    // t-StatusProhibit is running since 24 ms.
    assert_eq!(rig.bearer.buffer_status(UP, rig.now).control, Bytes::ZERO);
    assert_eq!(rig.transmit_in(UP, 1000), []);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(54)));
    rig.advance(ms(54));
    let status = rig.transmit_in(UP, 1000);
    assert_eq!(sizes(&status), [2]);
    rig.receive_in(UP, &status);
    assert_eq!(rig.bearer.unconfirmed(DOWN).count(), 0);
    assert_eq!(rig.bearer.next_timeout(), None);
    rig.check_conservation();
}

#[test]
fn an_unanswered_poll_is_repeated_with_the_last_pdu() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 2);
    for round in 1..=7 {
        rig.advance(ms(70 * round));
        assert_eq!(rig.status().total(), Bytes(102));
        let again = rig.transmit(1000);
        assert_eq!(again, pdus[1]);
        // maxRetxThreshold 5: RETX_COUNT is 0 with the first retransmission, 5 with the sixth.
        assert_eq!(rig.bearer.radio_link_failures(DOWN), u64::from(round >= 6));
    }
    rig.receive(&pdus[1]);
    rig.advance(ms(510)); // t-Reordering
    let status = rig.transmit_in(UP, 1000);
    rig.receive_in(UP, &status);
    let again = rig.transmit(1000);
    rig.receive(&again);
    assert_eq!(rig.delivered, [0, 1]);
    rig.check_conservation();
}

#[test]
fn a_poll_behind_a_gap_is_answered_when_the_gap_closes() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 3);
    rig.receive(&pdus[0]);
    rig.receive(&pdus[2]); // with the poll
    rig.now = ms(8);
    assert_eq!(rig.transmit_in(UP, 100), []);
    rig.receive(&pdus[1]);
    assert_eq!(rig.delivered, [0, 1, 2]);
    assert_eq!(sizes(&rig.transmit_in(UP, 100)), [2]);
}

#[test]
fn a_lost_retransmission_is_repeated_and_not_its_confirmed_successor() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 2);
    rig.receive(&pdus[1]);
    rig.advance(ms(20));
    let status = rig.transmit_in(UP, 100);
    rig.receive_in(UP, &status);
    assert_eq!(data(&rig.transmit(102))[0].sn, 0); // and it is lost
    rig.advance(ms(90));
    let again = rig.transmit(102);
    assert_eq!((data(&again)[0].sn, data(&again)[0].poll), (0, true));
    rig.receive(&again);
    assert_eq!(rig.delivered, [0, 1]);
}

#[test]
fn only_a_retransmission_counts_towards_the_threshold() {
    let am = AmConfig { max_retx: 1, ..am_of(&quiet()) };
    let mut rig = Rig::new(&BearerConfig { rlc: RlcConfig::Am(am), ..quiet() });
    let pdus = one_by_one(&mut rig, 2);
    rig.receive(&pdus[1]);
    for round in 0..3 {
        rig.advance(ms(20 + 30 * round));
        let status = rig.transmit_in(UP, 100);
        assert_eq!(sizes(&status), [4]);
        rig.receive_in(UP, &status);
        // The same PDU is reported missing three times and still waits for its first
        // retransmission: RETX_COUNT is 0.
        assert_eq!(rig.status().retransmission, Bytes(102));
        assert_eq!(rig.bearer.radio_link_failures(DOWN), 0);
        rig.receive(&pdus[1]); // its poll triggers the next STATUS PDU
    }
    let _ = rig.transmit(102);
    rig.advance(ms(110));
    let status = rig.transmit_in(UP, 100);
    rig.receive_in(UP, &status);
    assert_eq!(rig.bearer.radio_link_failures(DOWN), 1);
}

#[test]
fn without_room_for_offsets_the_whole_pdu_is_asked_for() {
    let mut rig = Rig::new(&quiet());
    rig.submit(298);
    rig.submit(98);
    let pdus = [rig.transmit(302), rig.transmit(102)];
    rig.receive(&pdus[1]);
    rig.advance(ms(20));
    let status = rig.transmit_in(UP, 100);
    rig.receive_in(UP, &status);
    let segments = [rig.transmit(104), rig.transmit(1000)];
    rig.receive(&segments[1]); // triggers an answer at once: its SN is below VR(MS)
    rig.advance(ms(50));
    // NACK_SN with offsets would take 57 bits.
    let status = rig.transmit_in(UP, 7);
    assert_eq!(sizes(&status), [4]);
    rig.receive_in(UP, &status);
    let again = rig.transmit(1000);
    assert_eq!(data(&again).iter().map(|p| (p.sn, p.len, p.segment)).collect::<Vec<_>>(), [(0, 300, false)]);
    rig.receive(&again);
    assert_eq!(rig.delivered, [0, 1]);
    rig.check_conservation();
}

#[test]
fn a_smaller_grant_cuts_a_pdu_into_segments() {
    let mut rig = Rig::new(&quiet());
    for _ in 0..4 {
        rig.submit(98);
    }
    // 2 + 3 bytes of header, elements of 100, 100 and 95; then 5 and 100.
    let first = rig.transmit(300);
    let second = rig.transmit(300);
    assert_eq!((sizes(&first), sizes(&second)), (vec![300], vec![2 + 2 + 105]));
    rig.receive(&second);
    rig.advance(ms(20));
    let status = rig.transmit_in(UP, 100);
    rig.receive_in(UP, &status);
    assert_eq!(rig.status().retransmission, Bytes(300));
    // 4 bytes of header for a segment; 150 bytes are 4 + 2 + (100 + 44).
    let mut segments: Vec<Vec<Pdu>> = vec![rig.transmit(4), rig.transmit(150), rig.transmit(60)];
    assert_eq!(segments.iter().map(|s| sizes(s)).collect::<Vec<_>>(), [vec![], vec![150], vec![60]]);
    // Of 295 bytes 144 are sent and then 56, across the end of an SDU at 200; 95 are left, in one
    // element: 4 + 95. The estimate uses the header of the whole PDU and 2 bytes for SO.
    assert_eq!(rig.status().retransmission, Bytes(95 + 5 + 2));
    segments.push(rig.transmit(1000));
    assert_eq!(sizes(&segments[3]), [99]);
    let parts: Vec<(u32, u32, bool, bool)> =
        data(&segments.concat()).iter().map(|p| (p.offset, p.len, p.last, p.poll)).collect();
    assert_eq!(parts, [(0, 144, false, false), (144, 56, false, false), (200, 95, true, true)]);
    rig.receive(&segments[3]);
    rig.receive(&segments[1]);
    assert!(rig.delivered.is_empty());

    // The middle is missing: 15 + 12 + 30 bits; the STATUS PDU is sent as soon as t-StatusProhibit
    // and t-Reordering allow it.
    rig.advance(ms(60));
    let status = rig.transmit_in(UP, 100);
    assert_eq!(sizes(&status), [8]);
    rig.receive_in(UP, &status);
    assert_eq!(rig.status().retransmission, Bytes(56 + 5 + 2));
    let middle = rig.transmit(100);
    let part = data(&middle)[0];
    assert_eq!((part.offset, part.len, part.size, part.segment, part.last), (144, 56, 60, true, false));
    rig.receive(&middle);
    assert_eq!(rig.delivered, [0, 1, 2, 3]);
    rig.check_conservation();
}

#[test]
fn a_full_window_polls_and_waits() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 513);
    // AM_Window_Size is 512: the 513th grant carries nothing, and the 512th PDU polls.
    assert!(pdus[512].is_empty());
    assert_eq!(polls(&pdus).iter().position(|&poll| poll), Some(511));
    assert_eq!(rig.status().new, Bytes::ZERO);
    pdus.iter().for_each(|pdu| rig.receive(pdu));
    let status = rig.transmit_in(UP, 100);
    rig.receive_in(UP, &status);
    assert_eq!(rig.status().new, Bytes(102));
    let last = rig.transmit(102);
    rig.receive(&last);
    assert_eq!(rig.delivered.len(), 513);
    rig.check_conservation();
}

#[test]
fn a_status_that_does_not_fit_is_continued_later() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 9);
    // Missing: 0, 2, 4, 6.
    for n in [1, 3, 5, 7, 8] {
        rig.receive(&pdus[n]);
    }
    // When 1 arrived, VR(X) became 2: t-Reordering has to expire once more for the gaps above.
    rig.advance(ms(40));
    // 15 + 4 x 12 = 63 bits.
    assert_eq!(rig.bearer.buffer_status(UP, rig.now).control, Bytes(8));
    // Room for two: 39 bits. ACK_SN is 4: the next missing SN that is not listed.
    let status = rig.transmit_in(UP, 6);
    assert_eq!(sizes(&status), [5]);
    rig.receive_in(UP, &status);
    let again = rig.transmit(10_000);
    assert_eq!(data(&again).iter().map(|pdu| pdu.sn).collect::<Vec<u32>>(), [0, 2]);
    assert_eq!(rig.bearer.unconfirmed(DOWN).map(|u| u.count).collect::<Vec<u32>>(), [0, 2, 4, 5, 6, 7, 8]);
}

#[test]
fn a_status_alone_wastes_its_grant_only_if_told_to() {
    for status_alone in [false, true] {
        let am = AmConfig { status_alone, ..am_of(&quiet()) };
        let mut rig = Rig::new(&BearerConfig { rlc: RlcConfig::Am(am), ..quiet() });
        let pdus = one_by_one(&mut rig, 1);
        rig.receive(&pdus[0]);
        rig.submit_in(UP, 98);
        let expected = if status_alone { vec![2] } else { vec![2, 102] };
        assert_eq!(sizes(&rig.transmit_in(UP, 1000)), expected);
    }
}

#[test]
fn a_discarded_successor_does_not_leave_a_pdu_without_a_poll() {
    let pdcp = PdcpConfig { discard: Some(Duration::from_millis(40)), ..NO_DISCARD };
    let mut rig = Rig::new(&BearerConfig { pdcp, ..quiet() });
    rig.submit(98);
    rig.submit(98);
    let first = rig.transmit(102);
    assert_eq!(polls(&[first]), [false]); // lost, and the other SDU is discarded before its turn
    rig.advance(ms(40));
    assert_eq!(rig.discarded(DropCause::Discarded), 1);
    let again = rig.transmit(102);
    assert_eq!(polls(std::slice::from_ref(&again)), [true]);
    rig.receive(&again);
    assert_eq!(rig.delivered, [0]);
    rig.check_conservation();
}

#[test]
fn a_grant_of_the_buffer_status_empties_the_buffer() {
    empties_the_buffer(&quiet());
}

/// Checks that a grant of the buffer status is large enough, in any state.
pub(super) fn empties_the_buffer(config: &BearerConfig) {
    let mut random = Seeds::new(1).stream("sizes");
    for _ in 0..200 {
        let mut rig = Rig::new(config);
        for _ in 0..60 {
            rig.submit(40 + random.below(1400) as u32);
        }
        let pdus: Vec<Vec<Pdu>> = (0..10).map(|_| rig.transmit(5 + random.below(6000))).collect();
        for pdu in &pdus {
            if random.chance(0.5) {
                rig.receive(pdu);
            }
        }
        rig.advance(ms(60));
        let status = rig.transmit_in(UP, 1000);
        rig.receive_in(UP, &status);
        let _ = rig.transmit(random.below(3000));
        let status = rig.status().total();
        let _ = rig.transmit(status.get());
        assert_eq!(rig.status().total(), Bytes::ZERO);
    }
}

/// Parameters of a soak test.
pub(super) struct Soak {
    pub(super) seed: u64,
    pub(super) loss: f64,
    /// Grants are below this size, and one in five below 20 bytes.
    pub(super) grant: u64,
    /// SDUs are submitted for this many slots.
    pub(super) load: u64,
    pub(super) config: BearerConfig,
}

/// Loads both directions, loses data and STATUS PDUs with the same probability, and runs until
/// everything has been delivered.
pub(super) fn soak(soak: &Soak) -> Rig {
    let mut rig = Rig::new(&soak.config);
    let mut random = Seeds::new(soak.seed).stream("soak");
    let mut air: Vec<(Instant, u64, Direction, Vec<Pdu>)> = Vec::new();
    let (mut slot, mut serial) = (0_u64, 0_u64);
    let mut segments = 0;
    while slot < soak.load || rig.bearer.packets_held() > 0 || rig.bearer.unconfirmed(DOWN).count() > 0 {
        assert!(slot < 10_000_000, "stuck: {:?}", rig.status());
        rig.advance(ms(slot));
        air.sort_by_key(|&(at, serial, ..)| (at, serial));
        let due = air.partition_point(|&(at, ..)| at <= rig.now);
        for (_, _, direction, pdus) in air.drain(..due).collect::<Vec<_>>() {
            rig.receive_in(direction, &pdus);
        }
        for direction in [DOWN, UP] {
            if slot < soak.load && random.chance(0.7) {
                rig.submit_in(direction, 28 + random.below(soak.grant.min(1_473)) as u32);
            }
            let largest = if random.chance(0.2) { 20 } else { soak.grant };
            let grant = random.below(largest);
            let pdus = rig.transmit_in(direction, grant);
            segments += pdus.iter().filter(|pdu| matches!(pdu, Pdu::Data(data) if data.segment)).count();
            if !pdus.is_empty() && !random.chance(soak.loss) {
                serial += 1;
                let delay = Duration::from_millis(4 + 8 * random.below(4));
                air.push((rig.now + delay, serial, direction, pdus));
            }
        }
        if slot % 16 == 0 {
            rig.check_conservation();
        }
        slot += 1;
    }
    assert!(soak.loss == 0.0 || segments > 20, "only {segments} segments");
    rig
}

#[test]
fn everything_arrives_in_order_and_once_whatever_is_lost() {
    let fast = |config: BearerConfig| BearerConfig { buffer: Bytes(1 << 30), ..config };
    let no_discard = NO_DISCARD;
    let typical = BearerConfig { pdcp: no_discard, ..fast(typical()) };
    let long = BearerConfig { rlc: RlcConfig::Am(AmConfig { sn_bits: 16, ..TYPICAL_AM }), ..typical.clone() };
    let configs = [fast(lena(RlcMode::Am)), typical, long];
    // Each round needs a poll and a STATUS PDU to be received, one try in 400 at a loss of 0.95.
    let cases = [
        (0.0, 4_000, 1_500),
        (0.05, 4_000, 1_500),
        (0.3, 2_000, 1_500),
        (0.5, 40, 1_500),
        (0.7, 9_000, 1_500),
        (0.95, 4_000, 100),
    ];
    for (seed, (loss, grant, load)) in cases.into_iter().enumerate() {
        for config in &configs {
            let rig = soak(&Soak { seed: seed as u64, loss, grant, load, config: config.clone() });
            assert_eq!(rig.delivered, (0..rig.submitted).collect::<Vec<u64>>(), "loss {loss}");
            assert_eq!(rig.delivered_uplink, (0..rig.submitted_uplink).collect::<Vec<u64>>());
            assert!(rig.submitted > load / 2);
            rig.check_conservation();
        }
    }
}

#[test]
fn a_discard_timer_drops_only_what_was_never_begun() {
    // Grants carry half the load, so SDUs expire; SDUs that have been started still arrive.
    let config = BearerConfig { buffer: Bytes(1 << 30), ..typical() };
    let rig = soak(&Soak { seed: 9, loss: 0.3, grant: 600, load: 1_500, config });
    let discarded = rig.discarded(DropCause::Discarded);
    assert!(discarded > 100, "{discarded}");
    assert!(rig.delivered.is_sorted() && rig.delivered_uplink.is_sorted());
    rig.check_conservation();
    assert_eq!(rig.bearer.packets_held(), 0);
}
