//! Unacknowledged mode, and the sending side that both modes share.

use std::collections::VecDeque;

use airlane_core::Seeds;
use airlane_net::{codel, fq_codel, pie, red};

use super::*;

#[test]
fn a_pdu_concatenates_and_segments() {
    let mut rig = Rig::new(&roomy(RlcMode::Um));
    for _ in 0..3 {
        rig.submit(98); // 100 bytes with the PDCP header
    }
    // One PDU for all: 300 bytes, 2 of header, two length indicators in 3 bytes.
    assert_eq!(rig.status().total(), Bytes(305));
    // 100 bytes of grant: 2 of header, 98 of the first SDU.
    let first = rig.transmit(100);
    assert_eq!(sizes(&first), [100]);
    // The rest is 2 + 100 + 100 bytes.
    assert_eq!(rig.status().total(), Bytes(202 + 5));
    assert_eq!(rig.bearer.queue(Direction::Downlink), Bytes(202));
    // 106: 2 of header, 2 for one indicator: 102 of data, exactly the first two elements.
    let second = rig.transmit(106);
    assert_eq!(sizes(&second), [106]);
    // 10 bytes of room and 3 for two indicators are not enough for a third element and its data:
    // the PDU before would have been 2 + 3 + 102 = 107 without a byte of it.
    let third = rig.transmit(1000);
    assert_eq!(sizes(&third), [102]);
    assert_eq!(rig.status(), BufferStatus::default());
    assert_eq!(rig.transmit(1000), []);

    rig.receive(&first);
    assert!(rig.delivered.is_empty());
    rig.receive(&second);
    assert_eq!(rig.delivered, [0, 1]);
    rig.receive(&third);
    assert_eq!(rig.delivered, [0, 1, 2]);
    rig.check_conservation();
}

#[test]
fn a_grant_of_the_buffer_status_empties_the_buffer() {
    let mut random = Seeds::new(1).stream("sizes");
    for n in 1..40 {
        let mut rig = Rig::new(&roomy(RlcMode::Um));
        for _ in 0..n {
            rig.submit(40 + random.below(1400) as u32);
        }
        let begin = rig.transmit(3 + random.below(60));
        assert_eq!(begin.len(), 1);
        let rest = rig.transmit(rig.status().total().get());
        assert_eq!((rest.len(), rig.status().total()), (1, Bytes::ZERO));
    }
}

#[test]
fn a_grant_needs_room_for_a_header_and_a_byte() {
    let mut rig = Rig::new(&roomy(RlcMode::Um));
    rig.submit(98);
    for grant in 0..3 {
        assert!(rig.transmit(grant).is_empty());
    }
    assert_eq!(sizes(&rig.transmit(3)), [3]);
}

#[test]
fn an_element_longer_than_a_length_indicator_ends_its_pdu() {
    let mut rig = Rig::new(&BearerConfig { pdu_overhead: Bytes(3), ..roomy(RlcMode::Um) });
    rig.submit(3000);
    rig.submit(98);
    let mut out = Vec::new();
    let used = rig.call(|bearer, cx| bearer.transmit(cx, Direction::Downlink, Bytes(5000), &mut out));
    assert_eq!(sizes(&out), [3004, 102]);
    assert_eq!(used, Bytes(3004 + 102 + 2 * 3)); // a MAC subheader each
}

#[test]
fn a_saturated_bearer_carries_what_the_headers_leave() {
    // 9422 bytes each millisecond, PDCP PDUs of 1430. With k elements the header takes
    // 2 + ceil(1.5 (k - 1)) bytes, so k = 7 leaves 9411 and k = 8 leaves 9409.
    //   6 x 1430 +  831                -> k = 7      970 + 5 x 1430 + 1291 -> k = 7
    //   599 + 6 x 1430 + 230           -> k = 8      139 + 6 x 1430 +  690 -> k = 8
    //   1200 + 5 x 1430 + 1061         -> k = 7      740 + 6 x 1430 +   89 -> k = 8
    //   369 + 6 x 1430 + 460           -> k = 8
    let mut rig = Rig::new(&roomy(RlcMode::Um));
    for _ in 0..60 {
        rig.submit(1428);
    }
    let mut carried = Vec::new();
    for _ in 0..7 {
        let before = rig.bearer.queue(Direction::Downlink);
        let pdus = rig.transmit(9422);
        assert_eq!(sizes(&pdus), [9422]);
        carried.push((before - rig.bearer.queue(Direction::Downlink)).get());
        rig.receive(&pdus);
        rig.now += Duration::from_millis(1);
    }
    assert_eq!(carried, [9411, 9409, 9411, 9409, 9411, 9409, 9409]);
    // 65869 bytes are 46 SDUs of 1430 and 89 bytes more.
    assert_eq!(rig.delivered, (0..46).collect::<Vec<u64>>());
}

#[test]
fn a_gap_is_given_up_when_t_reordering_expires() {
    let mut rig = Rig::new(&roomy(RlcMode::Um)); // 100 ms
    for _ in 0..4 {
        rig.submit(98);
    }
    // Each PDU has the rest of one SDU and the beginning of the next.
    let pdus: Vec<Vec<Pdu>> = [60, 104, 104, 1000].map(|grant| rig.transmit(grant)).into();
    rig.now = ms(2);
    rig.receive(&pdus[0]);
    rig.now = ms(5);
    rig.receive(&pdus[2]);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(105)));
    rig.now = ms(6);
    rig.receive(&pdus[3]);
    assert!(rig.delivered.is_empty());
    rig.advance(ms(104));
    assert!(rig.delivered.is_empty());
    rig.advance(ms(105));
    // PDU 0 has bytes 0..58, PDU 1 58..158, PDU 2 158..258, PDU 3 the rest: lost bytes are part
    // of SDU 0 and SDU 1; SDU 2 begins at 200 and is whole, as is SDU 3.
    assert_eq!(rig.delivered, [2, 3]);
    assert_eq!(rig.discarded(DropCause::Radio), 2);
    assert_eq!(rig.bearer.next_timeout(), None);
    // Too late.
    rig.receive(&pdus[1]);
    assert_eq!(rig.delivered, [2, 3]);
    rig.check_conservation();
}

#[test]
fn a_late_pdu_closes_the_gap() {
    let mut rig = Rig::new(&roomy(RlcMode::Um));
    for _ in 0..3 {
        rig.submit(98);
    }
    let pdus: Vec<Vec<Pdu>> = [102, 102, 102].map(|grant| rig.transmit(grant)).into();
    rig.receive(&pdus[2]);
    rig.now = ms(50);
    rig.receive(&pdus[0]);
    // SDU 1 is still missing, and the timer was also started for it: VR(UX) = 3.
    assert_eq!(rig.delivered, [0]);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(100)));
    rig.now = ms(99);
    rig.receive(&pdus[1]);
    assert_eq!(rig.delivered, [0, 1, 2]);
    assert_eq!(rig.bearer.next_timeout(), None);
    rig.check_conservation();
}

#[test]
fn t_reordering_starts_anew_for_what_was_missing_later() {
    let mut rig = Rig::new(&roomy(RlcMode::Um));
    for _ in 0..4 {
        rig.submit(98);
    }
    let pdus: Vec<Vec<Pdu>> = [102; 4].map(|grant| rig.transmit(grant)).into();
    rig.receive(&pdus[1]); // VR(UX) = 2
    rig.now = ms(30);
    rig.receive(&pdus[3]);
    rig.advance(ms(100));
    assert_eq!(rig.delivered, [1]); // 0 is given up, 2 is not
    assert_eq!(rig.bearer.next_timeout(), Some(ms(200)));
    rig.advance(ms(200));
    assert_eq!(rig.delivered, [1, 3]);
    rig.check_conservation();
}

#[test]
fn the_window_pushes_a_gap_out() {
    let um = UmConfig { sn_bits: 5, t_reordering: Duration::from_secs(10) };
    let mut rig = Rig::new(&BearerConfig { rlc: RlcConfig::Um(um), ..roomy(RlcMode::Um) });
    for _ in 0..17 {
        rig.submit(98);
    }
    let pdus: Vec<Vec<Pdu>> = (0..17).map(|_| rig.transmit(101)).collect();
    for pdu in &pdus[1..16] {
        rig.receive(pdu);
    }
    // VR(UH) = 16, so the window of 16 still holds sequence number 0.
    assert!(rig.delivered.is_empty());
    rig.receive(&pdus[16]);
    assert_eq!(rig.delivered, (1..17).collect::<Vec<u64>>());
    assert_eq!(rig.bearer.next_timeout(), None);
    rig.check_conservation();
}

#[test]
fn an_outage_longer_than_the_window_costs_what_was_in_it() {
    let um = UmConfig { sn_bits: 5, t_reordering: Duration::from_millis(100) };
    let mut rig = Rig::new(&BearerConfig { rlc: RlcConfig::Um(um), ..roomy(RlcMode::Um) });
    for _ in 0..42 {
        rig.submit(98);
    }
    let pdus: Vec<Vec<Pdu>> = (0..42).map(|_| rig.transmit(102)).collect();
    rig.receive(&pdus[0]);
    rig.receive(&pdus[41]);
    // The window is now 26..42: a PDU below it is too late, a PDU inside is not.
    rig.receive(&pdus[25]);
    rig.receive(&pdus[26]);
    rig.advance(ms(100));
    assert_eq!(rig.delivered, [0, 26, 41]);
    assert_eq!(rig.discarded(DropCause::Radio), 39);
    rig.check_conservation();
}

/// PDUs under way; each arrives after its own delay, or never.
struct Air {
    random: Stream,
    loss: f64,
    slots: VecDeque<Vec<Vec<Pdu>>>,
}

impl Air {
    fn new(seed: u64, loss: f64) -> Self {
        Self { random: Seeds::new(seed).stream("air"), loss, slots: VecDeque::from(vec![Vec::new(); 40]) }
    }
    fn send(&mut self, pdus: &[Pdu], lost: &mut Vec<(u64, u64)>) {
        if self.random.chance(self.loss) {
            lost.extend(data(pdus).iter().map(|pdu| (pdu.from, pdu.end())));
        } else {
            let delay = 4 + 8 * self.random.below(4) as usize; // up to three HARQ retransmissions
            self.slots[delay].push(pdus.to_vec());
        }
    }
    fn step(&mut self) -> Vec<Vec<Pdu>> {
        self.slots.push_back(Vec::new());
        self.slots.pop_front().expect("as many slots as at the start")
    }
}

#[test]
fn random_loss_takes_exactly_the_sdus_that_it_touches() {
    loses_what_is_touched(&roomy(RlcMode::Um));
}

/// Loses and reorders blocks, and compares what is delivered with the ranges of the stream that were lost.
pub(super) fn loses_what_is_touched(config: &BearerConfig) {
    for (seed, loss) in [(1, 0.0), (2, 0.01), (3, 0.1), (4, 0.5), (5, 0.95)] {
        let mut rig = Rig::new(config);
        let mut air = Air::new(seed, loss);
        let mut random = Seeds::new(seed).stream("load");
        let (mut ranges, mut end, mut lost) = (Vec::new(), 0_u64, Vec::new());
        for slot in 0..4_000 {
            rig.advance(ms(slot));
            for pdus in air.step() {
                rig.receive(&pdus);
            }
            for _ in 0..random.below(4) {
                let sdu = 28 + random.below(1_473) as u32;
                rig.submit(sdu);
                ranges.push((end, end + u64::from(sdu) + 2));
                end += u64::from(sdu) + 2;
            }
            let largest = if random.chance(0.2) { 20 } else { 4_000 };
            let grant = random.below(largest);
            let pdus = rig.transmit(grant);
            air.send(&pdus, &mut lost);
            rig.check_conservation();
        }
        // A last SDU is sent without loss, so that every gap has a successor.
        rig.submit(98);
        ranges.push((end, end + 100));
        end += 100;
        let rest = rig.transmit(1 << 30);
        let through = data(&rest).last().map(DataPdu::end);
        for slot in 4_000..4_040 {
            rig.advance(ms(slot));
            for pdus in air.step() {
                rig.receive(&pdus);
            }
        }
        rig.receive(&rest);
        rig.advance(ms(4_500));
        assert_eq!(through, Some(end), "the last PDU ends the stream");
        let untouched = |&(from, to): &(u64, u64)| !lost.iter().any(|&(a, b)| a < to && from < b);
        let expected: Vec<u64> =
            (0..ranges.len()).filter(|&i| untouched(&ranges[i])).map(|i| i as u64).collect();
        assert_eq!(rig.delivered, expected, "loss {loss}");
        assert_eq!(rig.bearer.packets_held(), 0);
        assert_eq!(rig.discarded(DropCause::Radio), (ranges.len() - expected.len()) as u64);
        rig.check_conservation();
    }
}

#[test]
fn the_buffer_limit_counts_what_was_not_sent() {
    // 10240 bytes: seven times 1430 are 10010, an eighth does not fit.
    let mut rig = Rig::new(&lena(RlcMode::Um));
    for _ in 0..8 {
        rig.submit(1428);
    }
    assert_eq!(rig.discarded(DropCause::QueueFull), 1);
    assert_eq!(rig.bearer.queue(Direction::Downlink), Bytes(10_010));
    // A grant of 1002 bytes carries 1000: 9010 are left, and 9010 + 1430 = 10440 still exceed the limit.
    let _ = rig.transmit(1_002);
    rig.submit(1428);
    assert_eq!(rig.discarded(DropCause::QueueFull), 2);
    // 202 bytes more: 8810 + 1430 = 10240.
    let _ = rig.transmit(202);
    rig.submit(1428);
    assert_eq!(rig.discarded(DropCause::QueueFull), 2);
    assert_eq!(rig.bearer.queue(Direction::Downlink), Bytes(10_240));
    rig.check_conservation();
}

#[test]
fn the_discard_timer_takes_what_was_not_begun() {
    let pdcp = PdcpConfig { discard: Some(Duration::from_millis(150)), ..NO_DISCARD };
    let mut rig = Rig::new(&BearerConfig { pdcp, ..roomy(RlcMode::Um) });
    rig.submit(98);
    rig.submit(98);
    rig.now = ms(10);
    rig.submit(98);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(150)));
    let begun = rig.transmit(50);
    rig.advance(ms(149));
    assert_eq!(rig.discarded(DropCause::Discarded), 0);
    assert_eq!(rig.status().head_of_line, Some(Duration::from_millis(149)));
    rig.advance(ms(150));
    // The first has been started and stays (TS 36.322 v17.0 §5.3), the second is discarded.
    assert_eq!(rig.discarded(DropCause::Discarded), 1);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(160)));
    let rest = rig.transmit(54);
    rig.receive(&begun);
    rig.receive(&rest);
    assert_eq!(rig.delivered, [0]);
    rig.advance(ms(160));
    assert_eq!(rig.discarded(DropCause::Discarded), 2);
    assert_eq!(rig.transmit(1000), []);
    rig.check_conservation();
}

/// A source with a window of packets, additive increase and halving, at a base round-trip time of
/// 40 ms, through a bearer that carries one packet per millisecond. Returns the mean waiting time
/// of the packets sent in the second half, and how many were delivered in it.
fn closed_loop(aqm: Aqm) -> (f64, u64) {
    let mut rig = Rig::new(&BearerConfig { aqm, buffer: Bytes(512 * 1024), ..lena(RlcMode::Um) });
    let mut notices: VecDeque<(Instant, bool)> = VecDeque::new();
    let (mut window, mut in_flight, mut recover) = (10.0_f64, 0_u64, Instant::ZERO);
    let (mut dropped, mut wait_ms, mut sent) = (0, 0.0, 0_u64);
    for slot in 0..60_000 {
        rig.advance(ms(slot));
        while notices.front().is_some_and(|&(at, _)| at <= rig.now) {
            let (_, lost) = notices.pop_front().expect("just seen");
            in_flight -= 1;
            if !lost {
                window += 1.0 / window;
            } else if rig.now >= recover {
                window = (window / 2.0).max(2.0);
                recover = rig.now + Duration::from_millis(60);
            }
        }
        while in_flight < window as u64 {
            rig.submit(1428);
            in_flight += 1;
        }
        let wait = rig.status().head_of_line;
        let pdus = rig.transmit(1432);
        rig.receive(&pdus);
        let lost = [DropCause::QueueFull, DropCause::QueueManagement].map(|c| rig.discarded(c)).iter().sum();
        let back = rig.now + Duration::from_millis(40);
        notices.extend((dropped..lost).map(|_| (back, true)));
        dropped = lost;
        notices.extend(rig.delivered.drain(..).map(|_| (back, false)));
        if slot >= 30_000 && !pdus.is_empty() {
            wait_ms += wait.expect("something was sent").as_millis_f64();
            sent += 1;
        }
    }
    (wait_ms / sent as f64, sent)
}

#[test]
fn codel_keeps_the_queue_short_and_the_bearer_busy() {
    let (wait_ms, sent) = closed_loop(Aqm::CoDel(codel::Parameters::default()));
    // Target 5 ms. The window climbs to about 48 packets (a round trip of 41 and the queue), is
    // halved, and fills the bearer again 17 round trips later: (17 x 32.5 / 41 + 7) / 24 = 0.85.
    assert!((1.0..10.0).contains(&wait_ms), "{wait_ms} ms");
    assert!((24_000..28_000).contains(&sent), "{sent} of 30000 slots");
    // A drop-tail queue of 512 KiB holds 366 such packets, 366 ms; the standing queue is at least
    // half of it.
    let (wait_ms, sent) = closed_loop(Aqm::DropTail);
    assert!(wait_ms > 150.0, "{wait_ms} ms");
    assert_eq!(sent, 30_000);
}

#[test]
fn red_pie_and_fq_codel_stand_before_rlc_as_well() {
    // One packet leaves each millisecond, so a queue of one packet is a delay of one millisecond.
    let (wait_ms, sent) = closed_loop(Aqm::Red(red::Parameters::default()));
    // The average moves approximately between 5 and 15 packets.
    assert!((3.0..15.0).contains(&wait_ms), "{wait_ms} ms");
    assert!((26_000..=30_000).contains(&sent), "{sent} of 30000 slots");
    let (wait_ms, sent) = closed_loop(Aqm::Pie(pie::Parameters::default()));
    // The target is 15 ms; the saw-tooth of one flow keeps it below most of the time.
    assert!((4.0..18.0).contains(&wait_ms), "{wait_ms} ms");
    assert!((26_000..=30_000).contains(&sent), "{sent} of 30000 slots");
    // One flow in FQ-CoDel behaves like one flow under CoDel.
    let flow_queues = closed_loop(Aqm::FqCoDel(fq_codel::Parameters::default()));
    assert_eq!(flow_queues, closed_loop(Aqm::CoDel(codel::Parameters::default())));
}

#[test]
fn a_packet_that_overtakes_gets_the_lower_count() {
    let aqm = Aqm::FqCoDel(fq_codel::Parameters::default());
    let pdcp = PdcpConfig { discard: Some(Duration::from_millis(150)), ..NO_DISCARD };
    let mut rig = Rig::new(&BearerConfig { aqm, pdcp, ..roomy(RlcMode::Am) });
    let submit = |rig: &mut Rig, flow, sdu: u32| {
        let serial = rig.submitted;
        rig.submitted += 1;
        let header = Header::Udp(UdpHeader { serial });
        let payload = Payload::Length(sdu - 28);
        let packet = Packet::new(FlowId(flow), Direction::Downlink, header, payload, rig.now);
        let packet = rig.pool.insert(packet);
        rig.call(|bearer, cx| bearer.submit(cx, Direction::Downlink, packet));
    };
    for _ in 0..6 {
        submit(&mut rig, 1, 1_498);
    }
    // The turn of flow 1 continues after the first 1500 bytes, until its quantum of 1514 is used up.
    let first = rig.transmit(1_504);
    rig.now = ms(1);
    submit(&mut rig, 2, 98); // serial 6
    assert_eq!(rig.status().head_of_line, Some(Duration::from_millis(1))); // the oldest, not the next
    let second = rig.transmit(1_700);
    let third = rig.transmit(1_700);
    for block in [first, second, third] {
        rig.receive(&block);
    }
    // COUNTs follow the order of sending, so the receiver sees no gap and delivers in the order of
    // sending.
    assert_eq!(rig.delivered, [0, 1, 6, 2]);
    // The fourth has been started; the discard timers of the other two expire at their time.
    rig.advance(ms(149));
    assert_eq!(rig.discarded(DropCause::Discarded), 0);
    rig.advance(ms(150));
    assert_eq!(rig.discarded(DropCause::Discarded), 2);
    rig.check_conservation();
}
