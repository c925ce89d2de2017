//! Acknowledged mode of NR.

use super::super::am::{Soak, one_by_one, polls, soak};
use super::*;

fn am(change: impl FnOnce(&mut rlc::AmConfig)) -> BearerConfig {
    let mut am = NR_AM;
    change(&mut am);
    nr(NrRlc::Am(am))
}

fn quiet() -> BearerConfig {
    am(|_| {})
}

/// Sends the STATUS PDU that is due and checks its size.
fn status(rig: &mut Rig, size: u64) {
    assert_eq!(rig.bearer.buffer_status(UP, rig.now).control, Bytes(size));
    let pdus = rig.transmit_in(UP, 1000);
    assert_eq!(sizes(&pdus), [size]);
    rig.receive_in(UP, &pdus);
}

#[test]
fn the_last_pdu_polls_and_is_confirmed() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 3); // 98 + 2 + 2 bytes
    assert_eq!(polls(&pdus), [false, false, true]);
    pdus.iter().for_each(|pdu| rig.receive(pdu));
    assert_eq!(rig.delivered, [0, 1, 2]);
    assert_eq!(rig.bearer.unconfirmed(DOWN).count(), 3);
    status(&mut rig, 3);
    assert_eq!(rig.bearer.unconfirmed(DOWN).count(), 0);
    assert_eq!(rig.bearer.next_timeout(), None);
    rig.check_conservation();
}

#[test]
fn polls_come_after_so_many_pdus_and_bytes() {
    let with = |poll_pdu, poll_byte| {
        let config = am(|am| (am.poll_pdu, am.poll_byte) = (poll_pdu, poll_byte));
        polls(&one_by_one(&mut Rig::new(&config), 8))
    };
    assert_eq!(with(Some(3), None), [false, false, true, false, false, true, false, true]);
    assert_eq!(with(None, Some(Bytes(250))), [false, false, true, false, false, true, false, true]);
    // Segments count as PDUs, and only new bytes count: 58 + 42.
    let mut rig = Rig::new(&am(|am| am.poll_pdu = Some(2)));
    (0..3).for_each(|_| rig.submit(98));
    let pdus: Vec<Vec<Pdu>> = (0..3).map(|_| rig.transmit(60)).collect();
    assert_eq!(polls(&pdus), [false, true, false, true]);
}

#[test]
fn consecutive_losses_are_one_range() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 7);
    rig.now = ms(4);
    for n in [0, 4, 6] {
        rig.receive(&pdus[n]);
    }
    assert_eq!(rig.delivered, [0]);
    // The answer to the poll of PDU 6 waits: 6 is not below RX_Highest_Status = 1.
    assert_eq!(rig.bearer.buffer_status(UP, rig.now).control, Bytes::ZERO);
    rig.advance(ms(24)); // t-Reassembly
    // RX_Next_Status_Trigger was 5, when PDU 4 started the timer; 5 is missing too, so RX_Highest_Status is 5:
    // NACK_SN 1 with a range of 3.
    assert_eq!(rig.bearer.next_timeout(), Some(ms(44)), "5 is missing, and 6 was received");
    status(&mut rig, 3 + 2 + 1);
    assert_eq!(rig.status().retransmission, Bytes(3 * 102));
    // No concatenation: three PDUs.
    let again = rig.transmit(1000);
    assert_eq!(data(&again).iter().map(|pdu| pdu.sn).collect::<Vec<u32>>(), [1, 2, 3]);
    assert_eq!(polls(std::slice::from_ref(&again)), [false, false, true]);
    rig.receive(&again);
    assert_eq!(rig.delivered, [0, 1, 2, 3, 4]);
    // RX_Highest_Status is 5, so the poll of 3 is answered after t-StatusProhibit. 5 is not reported before
    // t-Reassembly; then both are one PDU.
    rig.advance(ms(54));
    status(&mut rig, 3 + 2);
    let again = rig.transmit(1000);
    rig.receive(&again);
    assert_eq!(rig.delivered, [0, 1, 2, 3, 4, 5, 6]);
    rig.advance(ms(200));
    status(&mut rig, 3);
    assert_eq!(rig.bearer.unconfirmed(DOWN).count(), 0);
    rig.check_conservation();
}

#[test]
fn out_of_order_delivery_does_not_wait() {
    let out_of_order = ReorderingConfig { t_reordering: None, out_of_order: true };
    let mut rig = Rig::new(&reordering(&quiet(), out_of_order));
    let pdus = one_by_one(&mut rig, 3);
    for (n, delivered) in [(2, vec![2]), (0, vec![2, 0]), (1, vec![2, 0, 1])] {
        rig.receive(&pdus[n]);
        assert_eq!(rig.delivered, delivered);
        rig.receive(&pdus[n]); // a duplicate
        assert_eq!(rig.delivered, delivered);
    }
    rig.check_conservation();
}

#[test]
fn a_discarded_duplicate_that_polls_is_answered() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 1);
    rig.receive(&pdus[0]);
    status(&mut rig, 3);
    rig.advance(ms(40));
    rig.receive(&pdus[0]);
    assert_eq!(rig.bearer.buffer_status(UP, rig.now).control, Bytes(3));
    assert_eq!(rig.delivered, [0]);
}

#[test]
fn a_lost_segment_is_reported_with_offsets() {
    let mut rig = Rig::new(&quiet());
    (0..2).for_each(|_| rig.submit(298)); // 300 with PDCP
    // 2 + 98, then 4 + 96, 4 + 96, and the rest of 10 with the first segment of the next: 14 + 2 + 84.
    let segments: Vec<Vec<Pdu>> = (0..4).map(|_| rig.transmit(100)).collect();
    let expected = [
        (0, 98, 100, true, false),
        (98, 96, 100, true, false),
        (194, 96, 100, true, false),
        (290, 10, 14, true, true),
        (0, 84, 86, true, false),
    ];
    assert_eq!(parts(&segments.concat()), expected);
    assert_eq!(rig.status().new, Bytes(216 + 4));
    rig.receive(&segments[0]);
    assert_eq!(rig.bearer.next_timeout(), None, "in order so far");
    rig.receive(&segments[2]);
    rig.receive(&segments[3]);
    rig.advance(ms(20));
    // RX_Next_Status_Trigger is 1: SN 0 from 98 to 194. The bytes missing of SN 1 are not reported: it has
    // no gap.
    assert_eq!(rig.bearer.next_timeout(), None);
    status(&mut rig, 3 + 2 + 4);
    assert_eq!(rig.status().retransmission, Bytes(96 + 4));
    // The retransmission is segmented as the grant requires: 4 + 50 and 4 + 46.
    let again = [rig.transmit(54), rig.transmit(50)];
    assert_eq!(parts(&again.concat()), [(98, 50, 54, true, false), (148, 46, 50, true, false)]);
    rig.receive(&again[1]);
    rig.receive(&again[0]);
    assert_eq!(rig.delivered, [0]);
    let rest = rig.transmit(1000);
    assert_eq!(parts(&rest), [(84, 216, 220, true, true)]);
    rig.receive(&rest);
    assert_eq!(rig.delivered, [0, 1]);
    rig.check_conservation();
}

#[test]
fn what_was_not_sent_yet_is_not_retransmitted() {
    let mut rig = Rig::new(&quiet());
    (0..2).for_each(|_| rig.submit(98));
    let _lost = rig.transmit(102);
    let first = rig.transmit(60);
    rig.receive(&first);
    rig.advance(ms(20));
    // NACK_SN 0, and NACK_SN 1 from 58 to its end.
    status(&mut rig, 3 + 2 + 6);
    assert_eq!(
        rig.status(),
        BufferStatus {
            retransmission: Bytes(102),
            new: Bytes(42 + 4),
            head_of_line: Some(Duration::from_millis(20)),
            ..BufferStatus::default()
        }
    );
    let rest = rig.transmit(1000);
    assert_eq!(parts(&rest), [(0, 100, 102, false, false), (58, 42, 46, true, true)]);
    rig.receive(&rest);
    assert_eq!(rig.delivered, [0, 1]);
    assert_eq!(polls(&[rest]), [false, true]);
}

#[test]
fn an_unanswered_poll_is_repeated_with_the_last_sdu() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 2);
    for round in 1..=7 {
        rig.advance(ms(70 * round));
        assert_eq!(rig.transmit(1000), pdus[1]);
        // maxRetxThreshold 5: RETX_COUNT is 0 with the first retransmission, 5 with the sixth.
        assert_eq!(rig.bearer.radio_link_failures(DOWN), u64::from(round >= 6));
    }
    rig.receive(&pdus[1]);
    rig.advance(ms(510)); // t-Reassembly
    status(&mut rig, 3 + 2);
    let again = rig.transmit(1000);
    rig.receive(&again);
    assert_eq!(rig.delivered, [0, 1]);
    rig.check_conservation();
}

#[test]
fn a_full_window_polls_and_waits() {
    let mut rig = Rig::new(&quiet());
    // AM_Window_Size is 2048. The last SDU of the window is segmented: its rest may still be sent.
    let mut pdus = one_by_one(&mut rig, 2047);
    assert_eq!(polls(&pdus).iter().filter(|&&poll| poll).count(), 1); // the buffer was empty
    (0..2).for_each(|_| rig.submit(98));
    pdus.extend((0..2).map(|_| rig.transmit(60)));
    assert_eq!(polls(&pdus[2047..]), [false, true]);
    assert_eq!(rig.transmit(1000), []);
    assert_eq!(rig.status().new, Bytes::ZERO);
    pdus.iter().for_each(|pdu| rig.receive(pdu));
    status(&mut rig, 3);
    assert_eq!(sizes(&rig.transmit(1000)), [102]);
}

#[test]
fn a_status_that_does_not_fit_is_continued_later() {
    let mut rig = Rig::new(&quiet());
    let pdus = one_by_one(&mut rig, 9);
    for n in [1, 3, 5, 7, 8] {
        rig.receive(&pdus[n]);
    }
    rig.advance(ms(40)); // the timer starts once more for the gaps above the first
    assert_eq!(rig.bearer.buffer_status(UP, rig.now).control, Bytes(3 + 4 * 2));
    // Room for two. ACK_SN is 4: the next missing SN that is not listed.
    let status = rig.transmit_in(UP, 8);
    assert_eq!(sizes(&status), [7]);
    rig.receive_in(UP, &status);
    let again = rig.transmit(10_000);
    assert_eq!(data(&again).iter().map(|pdu| pdu.sn).collect::<Vec<u32>>(), [0, 2]);
    assert_eq!(rig.bearer.unconfirmed(DOWN).map(|u| u.count).collect::<Vec<u32>>(), [0, 2, 4, 5, 6, 7, 8]);
}

#[test]
fn pdcp_gives_up_what_rlc_still_retransmits() {
    let t_reordering = Some(Duration::from_millis(10));
    let mut rig = Rig::new(&reordering(&quiet(), ReorderingConfig { t_reordering, out_of_order: false }));
    let pdus = one_by_one(&mut rig, 3);
    rig.receive(&pdus[0]);
    rig.receive(&pdus[2]);
    rig.advance(ms(20));
    assert_eq!(rig.delivered, [0, 2]);
    status(&mut rig, 3 + 2);
    let again = rig.transmit(1000);
    rig.receive(&again);
    assert_eq!((rig.delivered.len(), rig.discarded(DropCause::Discarded)), (2, 1));
    rig.advance(ms(100));
    status(&mut rig, 3);
    assert_eq!(rig.bearer.unconfirmed(DOWN).count(), 0);
    rig.check_conservation();
}

#[test]
fn numbers_wrap() {
    // 20,000 SDUs with 12 bits: the numbers wrap four times; one PDU in seven is lost at first.
    let config = am(|am| {
        (am.poll_pdu, am.t_status_prohibit) = (Some(16), Duration::ZERO);
        am.t_reassembly = Duration::from_millis(2);
    });
    let mut rig = Rig::new(&config);
    let mut sent = 0_u64;
    for slot in 0..12_000 {
        rig.advance(ms(slot));
        if slot < 10_000 {
            (0..2).for_each(|_| rig.submit(98));
        }
        for pdu in rig.transmit(400) {
            sent += 1;
            if !sent.is_multiple_of(7) || slot > 11_000 {
                rig.receive(&[pdu]);
            }
        }
        let status = rig.transmit_in(UP, 100);
        rig.receive_in(UP, &status);
    }
    assert_eq!(rig.delivered, (0..20_000).collect::<Vec<u64>>());
    assert_eq!(rig.bearer.unconfirmed(DOWN).count(), 0);
    rig.check_conservation();
}

#[test]
fn everything_arrives_in_order_and_once_whatever_is_lost() {
    let eager = am(|am| {
        (am.poll_pdu, am.t_status_prohibit) = (Some(1), Duration::ZERO);
        am.t_reassembly = Duration::from_millis(10);
    });
    let long = am(|am| (am.sn_bits, am.poll_pdu, am.poll_byte) = (18, Some(64), Some(Bytes(75_000))));
    let cases = [
        (0.0, 4_000, 1_500),
        (0.05, 4_000, 1_500),
        (0.3, 2_000, 1_500),
        (0.5, 60, 1_500),
        (0.7, 9_000, 1_500),
        (0.95, 4_000, 100),
    ];
    for (seed, (loss, grant, load)) in cases.into_iter().enumerate() {
        for config in [&eager, &long] {
            let rig = soak(&Soak { seed: seed as u64, loss, grant, load, config: config.clone() });
            assert_eq!(rig.delivered, (0..rig.submitted).collect::<Vec<u64>>(), "loss {loss}");
            assert_eq!(rig.delivered_uplink, (0..rig.submitted_uplink).collect::<Vec<u64>>());
            assert!(rig.submitted > load / 2);
            rig.check_conservation();
        }
    }
}

#[test]
fn out_of_order_everything_arrives_once() {
    let out_of_order = ReorderingConfig { t_reordering: None, out_of_order: true };
    let config = reordering(&quiet(), out_of_order);
    let rig = soak(&Soak { seed: 7, loss: 0.3, grant: 2_000, load: 1_500, config });
    assert!(!rig.delivered.is_sorted());
    let mut delivered = rig.delivered.clone();
    delivered.sort_unstable();
    assert_eq!(delivered, (0..rig.submitted).collect::<Vec<u64>>());
}

#[test]
fn a_discard_timer_drops_only_what_was_never_begun() {
    let pdcp = PdcpConfig { discard: Some(Duration::from_millis(150)), ..NO_DISCARD };
    let rig =
        soak(&Soak { seed: 9, loss: 0.3, grant: 600, load: 1_500, config: BearerConfig { pdcp, ..quiet() } });
    assert!(rig.discarded(DropCause::Discarded) > 100);
    assert!(rig.delivered.is_sorted() && rig.delivered_uplink.is_sorted());
    assert_eq!(rig.bearer.packets_held(), 0);
    rig.check_conservation();
}
