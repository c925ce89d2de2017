//! Unacknowledged mode of NR.

use super::*;

fn um(sn_bits: u8) -> BearerConfig {
    nr(NrRlc::Um(rlc::UmConfig { sn_bits, ..NR_UM }))
}

/// Submits SDUs of 100 bytes with PDCP headers and sends each in two segments, for 6 bits of sequence number.
fn halves(rig: &mut Rig, n: usize) -> Vec<[Vec<Pdu>; 2]> {
    (0..n).for_each(|_| rig.submit(98));
    (0..n).map(|_| [rig.transmit(61), rig.transmit(43)]).collect()
}

#[test]
fn an_sdu_is_whole_or_segmented() {
    // A complete SDU of 100 bytes has a header of 1.
    let mut rig = Rig::new(&um(12));
    (0..3).for_each(|_| rig.submit(98));
    assert_eq!(rig.status().new, Bytes(3 * 101));
    assert_eq!(parts(&rig.transmit(101)), [(0, 100, 101, false, false)]);
    // The first segment has a header of 2, the second of 4; in the same block follows the first segment of the next.
    assert_eq!(parts(&rig.transmit(60)), [(0, 58, 60, true, false)]);
    assert_eq!(rig.status().new, Bytes(42 + 4 + 101));
    let block = rig.transmit(60);
    assert_eq!(parts(&block), [(58, 42, 46, true, true), (0, 12, 14, true, false)]);
    // TX_Next counts segmented SDUs.
    assert_eq!(data(&block).iter().map(|pdu| pdu.sn).collect::<Vec<u32>>(), [0, 1]);
    assert_eq!(rig.transmit(4), []); // only the header would fit
    assert_eq!(parts(&rig.transmit(5)), [(12, 1, 5, true, false)]);
    assert_eq!(parts(&rig.transmit(1000)), [(13, 87, 91, true, true)]);
    // With 6 bits 1 and 3.
    let mut rig = Rig::new(&um(6));
    let halves = halves(&mut rig, 1);
    assert_eq!(parts(&halves[0].concat()), [(0, 60, 61, true, false), (60, 40, 43, true, true)]);
    halves.iter().flatten().for_each(|pdus| rig.receive(pdus));
    assert_eq!(rig.delivered, [0]);
}

#[test]
fn segments_arrive_in_any_order() {
    let mut rig = Rig::new(&um(12));
    rig.submit(298);
    let segments: Vec<Vec<Pdu>> = (0..4).map(|_| rig.transmit(85)).collect();
    for (n, order) in [[3, 1, 0, 2], [2, 3, 1, 0], [0, 1, 2, 3]].into_iter().enumerate() {
        if n > 0 {
            rig.submit(298);
        }
        let segments = if n == 0 { segments.clone() } else { (0..4).map(|_| rig.transmit(85)).collect() };
        assert!(order[..3].iter().all(|&k| {
            rig.receive(&segments[k]);
            rig.receive(&segments[k]); // a duplicate changes nothing
            rig.delivered.len() == n
        }));
        rig.receive(&segments[order[3]]);
        assert_eq!(rig.delivered.len(), n + 1);
        assert_eq!(rig.bearer.next_timeout(), None);
    }
    rig.check_conservation();
}

#[test]
fn a_lost_sdu_without_number_is_noticed_by_pdcp_alone() {
    let mut rig = Rig::new(&um(12));
    (0..4).for_each(|_| rig.submit(98));
    let pdus: Vec<Vec<Pdu>> = (0..4).map(|_| rig.transmit(101)).collect();
    rig.now = ms(5);
    rig.receive(&pdus[0]);
    rig.receive(&pdus[2]);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(105)), "t-Reordering of PDCP");
    rig.advance(ms(50));
    rig.receive(&pdus[3]);
    assert_eq!(rig.delivered, [0]);
    rig.advance(ms(105));
    assert_eq!(rig.delivered, [0, 2, 3]);
    assert_eq!((rig.discarded(DropCause::Radio), rig.bearer.packets_held()), (1, 0));
    rig.receive(&pdus[1]); // too late
    assert_eq!(rig.delivered, [0, 2, 3]);
    rig.check_conservation();
}

#[test]
fn t_reassembly_discards_the_segments_of_an_incomplete_sdu() {
    let mut rig = Rig::new(&um(6));
    let sent = halves(&mut rig, 3);
    rig.now = ms(10);
    rig.receive(&sent[0][0]);
    // The next segment is not missing yet: RX_Next_Highest is RX_Next_Reassembly + 1, without a gap.
    assert_eq!(rig.bearer.next_timeout(), None);
    rig.receive(&sent[1][1]);
    assert_eq!(rig.bearer.next_timeout(), Some(ms(60)));
    rig.advance(ms(30));
    rig.receive(&sent[2][1]); // RX_Timer_Trigger is 2
    // The timer expires: 0 and 1 are given up, 2 gets its own time.
    rig.advance(ms(60));
    rig.receive(&sent[0][1]);
    rig.receive(&sent[1][0]);
    assert!(rig.delivered.is_empty());
    assert_eq!(rig.bearer.next_timeout(), Some(ms(110)));
    rig.receive(&sent[2][0]);
    // COUNTs 0 and 1 are missing for PDCP, from now on.
    assert_eq!(rig.bearer.next_timeout(), Some(ms(160)));
    rig.advance(ms(160));
    assert_eq!(rig.delivered, [2]);
    assert_eq!(rig.discarded(DropCause::Radio), 2);
    rig.check_conservation();
}

#[test]
fn the_window_ends_half_the_numbers_behind_the_highest() {
    // UM_Window_Size is 32 with 6 bits.
    let mut rig = Rig::new(&um(6));
    let sent = halves(&mut rig, 34);
    rig.receive(&sent[0][0]);
    rig.receive(&sent[1][0]);
    rig.receive(&sent[32][0]);
    // RX_Next_Highest is 33: 1 is in the window, 0 is not.
    rig.receive(&sent[0][1]);
    rig.receive(&sent[1][1]);
    rig.receive(&sent[32][1]);
    rig.receive(&sent[33][0]);
    rig.receive(&sent[33][1]);
    // PDCP gives COUNT 0 up, which 1 made it notice, and then 2 to 31.
    rig.advance(ms(100));
    assert_eq!(rig.delivered, [1]);
    rig.advance(ms(200));
    assert_eq!(rig.delivered, [1, 32, 33]);
    rig.check_conservation();
}

#[test]
fn random_loss_takes_exactly_the_sdus_that_it_touches() {
    super::super::um::loses_what_is_touched(&um(12));
}

#[test]
fn short_numbers_lose_more_but_deliver_nothing_wrong_or_twice() {
    for (seed, out_of_order) in [(1, false), (2, true)] {
        let t_reordering = Some(Duration::from_millis(30));
        let mut rig = Rig::new(&reordering(&um(6), ReorderingConfig { t_reordering, out_of_order }));
        let mut random = Seeds::new(seed).stream("air");
        let mut air: Vec<(u64, Vec<Pdu>)> = Vec::new();
        for slot in 0..6_000 {
            rig.advance(ms(slot));
            for _ in 0..random.below(4) {
                rig.submit(28 + random.below(1_473) as u32);
            }
            for _ in 0..3 {
                let grant = random.below(1_000);
                let pdus = rig.transmit(grant);
                if !pdus.is_empty() && !random.chance(0.1) {
                    // Up to 43 ms late, also twice, beyond all timers.
                    air.push((slot + 4 + random.below(40), pdus.clone()));
                    if random.chance(0.1) {
                        air.push((slot + 4 + random.below(40), whole_removed(&pdus)));
                    }
                }
            }
            let due: Vec<Vec<Pdu>> =
                air.extract_if(.., |(at, _)| *at <= slot).map(|(_, pdus)| pdus).collect();
            due.iter().for_each(|pdus| rig.receive(pdus));
            rig.check_conservation();
        }
        let mut sorted = rig.delivered.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), rig.delivered.len(), "one delivered twice");
        assert_eq!(rig.delivered.is_sorted(), !out_of_order);
        assert!(rig.delivered.len() > 2_000, "{}", rig.delivered.len());
    }
}

/// Without PDUs of complete SDUs, which HARQ delivers once.
fn whole_removed(pdus: &[Pdu]) -> Vec<Pdu> {
    pdus.iter().copied().filter(|pdu| matches!(pdu, Pdu::Data(data) if data.segment)).collect()
}
