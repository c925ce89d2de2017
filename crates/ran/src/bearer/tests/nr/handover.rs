//! Handover of a bearer of NR: PDCP keeps its reordering, and reports what it has.

use super::super::handover::Network;
use super::super::handover::property::{Play, is_ascending, play};
use super::*;
use crate::x2::{Forwarding, ForwardingTarget, X2Config};

/// Polls with each PDU and answers at once.
fn eager() -> BearerConfig {
    let am = rlc::AmConfig {
        t_reassembly: Duration::from_millis(10),
        t_status_prohibit: Duration::ZERO,
        poll_pdu: Some(1),
        ..NR_AM
    };
    nr(NrRlc::Am(am))
}

fn configuration(mode: HandoverMode, seed: u64) -> BearerConfig {
    let quiet = nr(NrRlc::Am(rlc::AmConfig { sn_bits: 18, poll_pdu: Some(16), ..NR_AM }));
    let base = match mode.rlc() {
        RlcMode::Um => nr(NrRlc::Um(NR_UM)),
        RlcMode::Am if seed % 5 < 2 => quiet,
        RlcMode::Tm | RlcMode::Am => eager(),
    };
    let pdcp = PdcpConfig { status_report: seed.is_multiple_of(2), ..base.pdcp };
    BearerConfig { pdcp, ..base }
}

/// Five SDUs of 100 bytes, each in a PDU of 102. The UE receives 0, 2 and 3, and confirms 0 and 2. One more waits.
fn five_of_six(direction: Direction, config: &BearerConfig) -> Network {
    let mut network = Network::new(config, HandoverMode::Lossless, X2);
    (0..6).for_each(|_| network.rig.submit_in(direction, 98));
    let pdus: Vec<Vec<Pdu>> = (0..5).map(|_| network.rig.transmit_in(direction, 102)).collect();
    let back = if direction == DOWN { UP } else { DOWN };
    for n in [0, 2] {
        network.rig.receive_in(direction, &pdus[n]);
    }
    network.advance(ms(10)); // t-Reassembly: 1 is missing
    let status = network.rig.transmit_in(back, 100);
    network.rig.receive_in(back, &status);
    network.rig.receive_in(direction, &pdus[3]);
    network
}

#[test]
fn the_source_forwards_what_is_not_confirmed_and_the_report_spares_what_came() {
    let mut network = five_of_six(DOWN, &eager());
    let mut out = Departure::default();
    network.with(|bearer, _, cx| bearer.leave(cx, HandoverMode::Lossless, &mut out));
    assert!(out.downlink.is_empty(), "PDCP keeps 2 and 3 behind the gap");
    let list: Vec<_> = out.forwarded.iter().map(|sdu| (sdu.count, sdu.size, sdu.packet.is_some())).collect();
    assert_eq!(list, [(Some(1), 100, true), (Some(3), 100, false), (Some(4), 100, true), (None, 100, true)]);
    let counts = out.sn_status.iter().map(|status| (status.uplink_count, status.downlink_count));
    assert_eq!(counts.collect::<Vec<_>>(), [(0, 5)]);
    network.with(|bearer, _, cx| {
        for sdu in out.forwarded.drain(..) {
            bearer.accept_forwarded(cx, sdu);
        }
        for status in &out.sn_status {
            bearer.accept_sn_status(cx, status);
        }
        bearer.arrive(cx);
    });
    // The UE's report: D/C and type, FMC of four bytes with 1, and one byte of bitmap for 2 and 3, with an RLC header.
    assert_eq!(network.rig.bearer.queue(UP), Bytes(6));
    let report = network.rig.transmit_in(UP, 1000);
    assert_eq!(sizes(&report), [8]);
    network.rig.receive_in(UP, &report);
    assert_eq!(network.rig.bearer.handover_statistics().spared, 1);
    // The gNB's own report is first, behind a STATUS PDU: FMC 0 and no bitmap.
    let first = network.rig.transmit_in(DOWN, 10);
    assert_eq!(sizes(&first), [3, 7]);
    network.rig.receive_in(DOWN, &first);
    while network.run_dry(DOWN) + network.run_dry(UP) > 0 {}
    assert_eq!(network.rig.delivered, [0, 1, 2, 3, 4, 5]);
    assert_eq!(network.rig.bearer.duplicates(DOWN), 0);
    assert!(network.rig.bearer.is_settled());
    network.check();
}

#[test]
fn a_report_also_spares_what_the_receiver_has_given_up() {
    let brief = ReorderingConfig { t_reordering: Some(Duration::from_millis(20)), out_of_order: false };
    let mut network = five_of_six(DOWN, &reordering(&eager(), brief));
    network.advance(ms(20)); // t-Reordering: 1 is given up
    assert_eq!(network.rig.delivered, [0, 2, 3]);
    let mut out = Departure::default();
    network.with(|bearer, _, cx| {
        bearer.leave(cx, HandoverMode::Lossless, &mut out);
        for sdu in out.forwarded.drain(..) {
            bearer.accept_forwarded(cx, sdu);
        }
        for status in &out.sn_status {
            bearer.accept_sn_status(cx, status);
        }
        bearer.arrive(cx);
    });
    // FMC is 4: neither 1, of which the packet is at the gNB, nor 3 is sent again.
    let report = network.rig.transmit_in(UP, 1000);
    network.rig.receive_in(UP, &report);
    assert_eq!(network.rig.bearer.handover_statistics().spared, 2);
    assert_eq!(network.rig.discarded(DropCause::Discarded), 1);
    while network.run_dry(DOWN) + network.run_dry(UP) > 0 {}
    assert_eq!(network.rig.delivered, [0, 2, 3, 4, 5]);
    network.check();
}

#[test]
fn the_ue_sends_again_from_the_first_unconfirmed_one() {
    let mut network = five_of_six(UP, &eager());
    let mut out = Departure::default();
    assert_eq!((network.rig.delivered_uplink.as_slice(), network.rig.bearer.packets_held()), (&[0][..], 5));
    network.with(|bearer, _, cx| bearer.leave(cx, HandoverMode::Lossless, &mut out));
    // The source has discarded 2 and 3, although 2 is confirmed (TS 38.323 v18.5.0 §5.1.2): 1 to 4 again, and 5.
    assert!(out.uplink.is_empty());
    assert_eq!(network.rig.bearer.queue(UP), Bytes(500));
    network.with(|bearer, _, cx| {
        for status in &out.sn_status {
            assert_eq!(status.uplink_count, 1);
            bearer.accept_sn_status(cx, status);
        }
        bearer.arrive(cx);
    });
    while network.run_dry(DOWN) + network.run_dry(UP) > 0 {}
    assert_eq!(network.rig.delivered_uplink, [0, 1, 2, 3, 4, 5]);
    network.check();
}

#[test]
fn lossless_delivers_each_sdu_once_and_in_order() {
    for seed in 0..120 {
        let mode = HandoverMode::Lossless;
        let rig = play(&configuration(mode, seed), mode, seed, 8);
        assert!(rig.delivered.iter().copied().eq(0..rig.submitted), "downlink, seed {seed}");
        assert!(rig.delivered_uplink.iter().copied().eq(0..rig.submitted_uplink), "uplink, seed {seed}");
    }
}

#[test]
fn seamless_delivers_a_part_in_order_and_names_the_rest() {
    for mode in [HandoverMode::Seamless, HandoverMode::SeamlessUm] {
        let mut dropped = 0;
        for seed in 0..120 {
            let rig = play(&configuration(mode, seed), mode, seed, 8);
            assert!(is_ascending(&rig.delivered), "downlink, {mode:?}, seed {seed}");
            assert!(is_ascending(&rig.delivered_uplink), "uplink, {mode:?}, seed {seed}");
            let lost = rig.submitted + rig.submitted_uplink
                - (rig.delivered.len() + rig.delivered_uplink.len()) as u64;
            let causes = rig.discarded(DropCause::Handover) + rig.discarded(DropCause::Radio);
            assert_eq!(lost, causes, "{mode:?}, seed {seed}");
            assert_eq!(rig.discarded(DropCause::Handover), rig.bearer.handover_statistics().dropped);
            dropped += causes;
        }
        assert!(dropped > 1000, "the test drops hardly anything: {dropped}");
    }
}

#[test]
fn an_x2_that_loses_and_reorders_costs_what_it_loses_and_what_comes_late() {
    let mut lost = 0;
    for seed in 0..60 {
        let mode = HandoverMode::Lossless;
        let patient =
            ReorderingConfig { t_reordering: Some(Duration::from_millis(200)), out_of_order: false };
        let mut play = Play::new(&reordering(&configuration(mode, seed), patient), mode, seed);
        let x2 = X2Config { jitter: Duration::from_millis(20), loss: 0.1, ..X2 };
        play.network.forwarding = Forwarding::new(x2, Seeds::new(seed).stream("x2"));
        (0..200).for_each(|_| play.step(true));
        play.hand_over();
        (0..200).for_each(|_| play.step(true));
        play.settle();
        let rig = &play.network.rig;
        let mut once = rig.delivered.clone();
        once.sort_unstable();
        assert!(is_ascending(&once), "a duplicate, seed {seed}");
        let missing =
            rig.submitted + rig.submitted_uplink - (rig.delivered.len() + rig.delivered_uplink.len()) as u64;
        let late = rig.discarded(DropCause::Discarded);
        assert_eq!(missing, rig.discarded(DropCause::RandomLoss) + late, "seed {seed}");
        lost += rig.discarded(DropCause::RandomLoss);
    }
    assert!(lost > 0, "{lost} lost");
}
