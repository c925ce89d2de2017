//! Transparent mode.

use super::*;

#[test]
fn an_sdu_is_a_pdu_without_a_header() {
    let mut rig = Rig::new(&roomy(RlcMode::Tm));
    for _ in 0..3 {
        rig.submit(98); // 100 bytes with the PDCP header
    }
    assert_eq!(rig.status().total(), Bytes(300));
    // Two fit; the third waits as a whole.
    let first = rig.transmit(299);
    assert_eq!(sizes(&first), [100, 100]);
    assert_eq!(rig.status().total(), Bytes(100));
    assert_eq!(rig.bearer.queue(Direction::Downlink), Bytes(100));
    let second = rig.transmit(100);
    assert_eq!(sizes(&second), [100]);
    assert_eq!(rig.status(), BufferStatus::default());
    rig.receive(&first);
    assert_eq!(rig.delivered, [0, 1]);
    rig.receive(&second);
    assert_eq!(rig.delivered, [0, 1, 2]);
    rig.check_conservation();
}

#[test]
fn an_sdu_that_does_not_fit_holds_up_those_behind_it() {
    let mut rig = Rig::new(&roomy(RlcMode::Tm));
    rig.submit(1398); // 1400
    rig.submit(48); // 50
    for grant in [0, 1, 50, 1399] {
        assert!(rig.transmit(grant).is_empty());
        rig.now += Duration::from_millis(1);
    }
    let status = rig.status();
    assert_eq!((status.total(), status.head_of_line), (Bytes(1450), Some(Duration::from_millis(4))));
    let pdus = rig.transmit(1450);
    assert_eq!(sizes(&pdus), [1400, 50]);
    rig.receive(&pdus);
    assert_eq!(rig.delivered, [0, 1]);
}

#[test]
fn each_sdu_asks_for_its_subheader() {
    let mut rig = Rig::new(&BearerConfig { pdu_overhead: Bytes(3), ..roomy(RlcMode::Tm) });
    rig.submit(98);
    rig.submit(98);
    assert_eq!(rig.status().total(), Bytes(206));
    let mut transmit = |grant: u64| {
        let mut out = Vec::new();
        let used = rig.call(|bearer, cx| bearer.transmit(cx, Direction::Downlink, Bytes(grant), &mut out));
        (used, out.len())
    };
    assert_eq!(transmit(102), (Bytes(0), 0));
    assert_eq!(transmit(205), (Bytes(103), 1));
    assert_eq!(transmit(103), (Bytes(103), 1)); // as the buffer status now reports
}

#[test]
fn nothing_is_put_in_order_and_what_is_lost_is_gone() {
    let mut rig = Rig::new(&roomy(RlcMode::Tm));
    for _ in 0..4 {
        rig.submit(98);
    }
    let blocks: Vec<_> = (0..4).map(|_| rig.transmit(100)).collect();
    rig.receive(&blocks[2]);
    rig.receive(&blocks[0]);
    assert_eq!(rig.delivered, [2, 0]);
    assert_eq!(rig.bearer.next_timeout(), None);
    rig.call(|bearer, cx| bearer.lose(cx, Direction::Downlink, &blocks[1]));
    assert_eq!((rig.discarded(DropCause::Radio), rig.bearer.packets_held()), (1, 1));
    rig.receive(&blocks[3]);
    assert_eq!(rig.delivered, [2, 0, 3]);
    assert_eq!(rig.bearer.packets_held(), 0);
    rig.check_conservation();
}

#[test]
fn the_directions_know_nothing_of_each_other() {
    let mut rig = Rig::new(&roomy(RlcMode::Tm));
    rig.submit(98);
    rig.submit_in(Direction::Uplink, 198);
    let uplink = rig.transmit_in(Direction::Uplink, 1000);
    let downlink = rig.transmit(1000);
    assert_eq!((sizes(&downlink), sizes(&uplink)), (vec![100], vec![200]));
    rig.receive_in(Direction::Uplink, &uplink);
    rig.receive(&downlink);
    assert_eq!((rig.delivered.len(), rig.delivered_uplink.len()), (1, 1));
    rig.check_conservation();
}

#[test]
#[should_panic(expected = "a handover mode for another mode of RLC")]
fn it_stays_in_its_cell() {
    let mut rig = Rig::new(&roomy(RlcMode::Tm));
    rig.call(|bearer, cx| bearer.leave(cx, HandoverMode::SeamlessUm, &mut Departure::default()));
}
