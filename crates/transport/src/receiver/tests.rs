use super::*;
use crate::ReceiveWindowKind;

const SEGMENT: u32 = 1000;

fn receiver(window: u64) -> Receiver {
    let options = ReceiverOptions {
        delayed_ack: true,
        compressed_sack: true,
        sack: true,
        timestamps: false,
        initial: 0,
        scale: 0,
        segment_size: SEGMENT,
        first_segment: SEGMENT,
        arriving_max: SEGMENT,
        batched_reads: true,
        gro: true,
    };
    let kind = ReceiveWindowKind::Fixed(Bytes(window));
    let mut r = Receiver::new(options, Window::new(kind, Bytes(u64::from(SEGMENT))), u64::MAX);
    r.on_established(Instant::ZERO);
    r
}

fn data(at_ms: u64, number: u64) -> DataSegment {
    DataSegment {
        now: Instant::from_millis(at_ms),
        start: 1 + number * u64::from(SEGMENT),
        payload: SEGMENT,
        fin: false,
        push: false,
        stamp: None,
    }
}

/// Processes a segment, reads, and acknowledges if that is due.
fn take(r: &mut Receiver, at_ms: u64, number: u64) -> Option<Acknowledgment> {
    let segment = data(at_ms, number);
    r.on_data(&segment);
    r.read(segment.now, u64::MAX);
    r.ack_is_due(segment.now).then(|| r.acknowledge(false))
}

/// Blocks as segment numbers.
fn blocks(ack: &Acknowledgment) -> Vec<(u32, u32)> {
    ack.sack.as_slice().iter().map(|b| ((b.left - 1) / SEGMENT, (b.right - 1) / SEGMENT)).collect()
}

/// The grant is window / (2 * segment), here 10: this many segments are acknowledged individually,
/// then every second one.
#[test]
fn quick_acks_then_every_second_segment() {
    let mut r = receiver(20_000);
    let acked: Vec<bool> = (0..16).map(|n| take(&mut r, n, n).is_some()).collect();
    assert!(acked[..10].iter().all(|a| *a));
    assert_eq!(acked[10..], [false, true, false, true, false, true]);
}

/// A single segment waits 40 ms, and a timer that expired doubles the wait.
#[test]
fn a_lone_segment_is_acknowledged_by_the_timer() {
    let mut r = receiver(20_000);
    for n in 0..10 {
        assert!(take(&mut r, n, n).is_some());
    }
    assert!(take(&mut r, 10, 10).is_none());
    let due = r.next_timeout();
    assert_eq!(due, Instant::from_millis(50));
    assert!(!r.on_timeout(Instant::from_millis(49)));
    assert!(r.on_timeout(due));
    assert_eq!(r.acknowledge(false).next, 1 + 11 * u64::from(SEGMENT));
    assert_eq!(r.next_timeout(), Instant::FAR_FUTURE);
    assert_eq!(r.delay, DELAY_MIN * 2);
}

/// RFC 2018 §4: the block with the newest segment is first, then the ones reported before.
#[test]
fn blocks_come_most_recent_first() {
    let mut r = receiver(40_000);
    take(&mut r, 0, 0);
    assert_eq!(blocks(&take(&mut r, 1, 2).expect("a gap")), [(2, 3)]);
    assert_eq!(blocks(&take(&mut r, 2, 6).expect("a gap")), [(6, 7), (2, 3)]);
    assert_eq!(blocks(&take(&mut r, 3, 4).expect("a gap")), [(4, 5), (6, 7), (2, 3)]);
    // Two blocks join.
    assert_eq!(blocks(&take(&mut r, 4, 3).expect("a gap")), [(2, 5), (6, 7)]);
    // The gap below closes: that block is removed.
    let ack = take(&mut r, 5, 1).expect("the gap closed in part");
    assert_eq!((ack.next, blocks(&ack)), (1 + 5 * u64::from(SEGMENT), vec![(6, 7)]));
    let ack = take(&mut r, 6, 5).expect("all gaps closed");
    assert_eq!((ack.next, blocks(&ack), r.gaps()), (1 + 7 * u64::from(SEGMENT), vec![], 0));
}

/// RFC 2883 §4: a duplicate is reported first, once, whether it is below the ACK or within a block.
#[test]
fn duplicates_are_reported_once() {
    let mut r = receiver(40_000);
    take(&mut r, 0, 0);
    take(&mut r, 1, 1);
    assert_eq!(blocks(&take(&mut r, 2, 0).expect("at once")), [(0, 1)]);
    take(&mut r, 3, 4);
    assert_eq!(blocks(&take(&mut r, 4, 4).expect("at once")), [(4, 5), (4, 5)]);
    assert_eq!(blocks(&take(&mut r, 5, 5).expect("a gap")), [(4, 6)]);
}

/// After the quick ACKs, three duplicates are sent at once; the next ones wait for a millisecond or
/// a twentieth of the round trip, whichever is shorter.
#[test]
fn sacks_are_gathered_from_the_fourth_duplicate_on() {
    let mut r = receiver(20_000);
    for n in 0..10 {
        take(&mut r, n, n);
    }
    r.rtt_x8 = 8 * 40_000_000;
    let at_once: Vec<bool> = (0..6).map(|n| take(&mut r, 20, 11 + n).is_some()).collect();
    assert_eq!(at_once, [true, true, true, false, false, false]);
    assert_eq!(r.next_timeout(), Instant::from_millis(21));
    assert!(r.on_timeout(Instant::from_millis(21)));
    assert_eq!(blocks(&r.acknowledge(false)), [(11, 17)]);
}

/// The edge stays while the application does not read, and data beyond it is not accepted.
#[test]
fn nothing_is_taken_beyond_the_window() {
    let mut r = receiver(3000);
    let edge = r.edge;
    for n in 0..3 {
        r.on_data(&data(n, n));
        assert_eq!(r.acknowledge(false).next + r.acknowledge(false).window, edge);
    }
    assert_eq!(r.on_data(&data(3, 3)), 0);
    assert_eq!((r.readable(), r.acknowledge(false).window), (3000, 0));
    // Reading opens the window, which is announced.
    assert_eq!(r.read(Instant::from_millis(4), u64::MAX), 3000);
    assert!(r.ack_is_due(Instant::from_millis(4)));
    assert_eq!(r.acknowledge(false).window, 3000);
}

#[test]
fn the_fin_is_no_data() {
    let mut r = receiver(20_000);
    let last = DataSegment { fin: true, ..data(0, 0) };
    assert_eq!(r.on_data(&last), u64::from(SEGMENT));
    assert!(!r.finished());
    assert_eq!(r.read(last.now, u64::MAX), u64::from(SEGMENT));
    assert!(r.finished());
    assert_eq!(r.acknowledge(false).next, 2 + u64::from(SEGMENT)); // the FIN takes a position
}

/// RFC 9293 §3.10.7.4: a segment outside the window is ignored completely, including a FIN.
#[test]
fn a_fin_outside_the_window_ends_nothing() {
    let mut r = receiver(3000);
    r.on_data(&data(0, 0));
    for start in [r.edge, r.edge + 900_000_000] {
        assert_eq!(r.on_data(&DataSegment { start, fin: true, ..data(1, 0) }), 0);
    }
    assert_eq!(r.on_data(&DataSegment { start: 1, payload: 100, fin: true, ..data(1, 0) }), 0);
    assert_eq!(r.read(Instant::from_millis(2), u64::MAX), u64::from(SEGMENT));
    assert!(!r.finished());
    assert_eq!(r.offered_end(), r.edge);
    assert_eq!(r.on_data(&DataSegment { fin: true, ..data(3, 1) }), u64::from(SEGMENT));
    assert_eq!(r.read(Instant::from_millis(3), u64::MAX), u64::from(SEGMENT));
    assert!(r.finished());
}

/// The stream has one end, and no data behind it.
#[test]
fn a_stream_ends_where_its_first_fin_says() {
    let mut r = receiver(20_000);
    r.on_data(&data(0, 3));
    let fin = |number| DataSegment { fin: true, ..data(1, number) };
    assert_eq!(r.on_data(&fin(1)), 0);
    assert_eq!(r.held_beyond(), u64::from(SEGMENT), "before data that has come");
    r.on_data(&fin(4));
    let end = r.offered_end();
    for other in [fin(2), fin(5), data(2, 5)] {
        assert_eq!(r.on_data(&other), 0);
        assert_eq!((r.offered_end(), r.held_beyond()), (end, 2 * u64::from(SEGMENT)));
    }
    for number in 0..3 {
        r.on_data(&data(3, number));
    }
    assert_eq!(r.read(Instant::from_millis(4), u64::MAX), 5 * u64::from(SEGMENT));
    assert!(r.finished());
}

/// Processes a segment of a block as the endpoint does with receive offload, and counts its ACKs.
fn take_joined(r: &mut Receiver, segment: &DataSegment) -> Vec<u64> {
    let mut acked = Vec::new();
    if r.ends_join(segment) {
        acked.push(r.acknowledge(false).next);
    }
    r.on_joined(segment);
    r.read(segment.now, u64::MAX);
    if r.ack_is_due(segment.now) {
        acked.push(r.acknowledge(false).next);
    }
    acked
}

/// Seven segments that arrive at one instant have one ACK, when no further one has come. PSH, another timestamp and a
/// gap end what is joined before.
#[test]
fn joined_segments_are_acknowledged_once() {
    let position = |number: u64| 1 + number * u64::from(SEGMENT);
    let mut r = receiver(40_000);
    for n in 0..7 {
        assert_eq!(take_joined(&mut r, &data(0, n)), []);
    }
    assert_eq!(r.next_timeout(), Instant::ZERO);
    assert!(r.on_timeout(Instant::ZERO));
    assert_eq!(r.acknowledge(false).next, position(7));
    assert_eq!(r.next_timeout(), Instant::FAR_FUTURE);
    // PSH.
    assert_eq!(take_joined(&mut r, &data(1, 7)), []);
    let pushed = DataSegment { push: true, ..data(1, 8) };
    assert_eq!(take_joined(&mut r, &pushed), [position(9)]);
    // Another timestamp, then a gap: each is acknowledged by the segment that does not fit.
    assert_eq!(take_joined(&mut r, &data(2, 9)), []);
    let later = DataSegment { stamp: Some(TcpTimestamps { value: 5, echo_reply: 0 }), ..data(2, 10) };
    assert_eq!(take_joined(&mut r, &later), [position(10)]);
    assert_eq!(take_joined(&mut r, &data(2, 12)), [position(11)]);
    assert!(r.on_timeout(Instant::from_millis(2)));
    let ack = r.acknowledge(false);
    assert_eq!((ack.next, blocks(&ack)), (position(11), vec![(12, 13)]));
}

/// The application reads when an instant is over. Before that the window would be smaller, so that two groups have one
/// acknowledgment, unless the receiver acknowledges each group quickly.
#[test]
fn groups_of_an_instant_are_read_together() {
    let position = |number: u64| 1 + number * u64::from(SEGMENT);
    let mut r = receiver(40_000);
    let push = |at, n| DataSegment { push: true, ..data(at, n) };
    let quick = u64::from(QUICK_MAX);
    for n in 0..quick {
        assert_eq!(take_joined(&mut r, &push(n, n)), [position(n + 1)]);
        assert!(!r.on_timeout(Instant::from_millis(n)));
    }
    for (at, n) in [(100, quick), (101, quick + 4)] {
        assert_eq!(take_joined(&mut r, &data(at, n)), []);
        assert_eq!(take_joined(&mut r, &push(at, n + 1)), []);
        assert_eq!(take_joined(&mut r, &data(at, n + 2)), []);
        assert_eq!(take_joined(&mut r, &data(at, n + 3)), []);
        assert!(r.on_timeout(Instant::from_millis(at)));
        let ack = r.acknowledge(false);
        assert_eq!((ack.next, ack.window), (position(n + 4), 40_000));
    }
    assert_eq!(r.next_timeout(), Instant::FAR_FUTURE);
}

/// From the fourth duplicate on, what several instants show is gathered for a millisecond, which begins in an instant.
#[test]
fn joined_segments_out_of_order_are_gathered() {
    let mut r = receiver(40_000);
    let end = |r: &mut Receiver, at| r.on_timeout(Instant::from_millis(at)).then(|| r.acknowledge(false));
    r.rtt_x8 = 8 * 100_000_000;
    for at in 0..3 {
        assert_eq!(take_joined(&mut r, &data(at, 2 + 2 * at)), []);
        assert!(end(&mut r, at).is_some(), "{at}");
    }
    r.quick = 0;
    assert_eq!(take_joined(&mut r, &data(3, 8)), []);
    assert!(end(&mut r, 3).is_none());
    assert_eq!(r.next_timeout(), Instant::from_millis(4));
    assert_eq!(end(&mut r, 4).map(|ack| ack.next), Some(1));
}

/// What arrives at another instant is not joined: the first decides when its instant is over.
#[test]
fn a_join_lasts_an_instant() {
    let mut r = receiver(40_000);
    for n in 0..20 {
        assert_eq!(take_joined(&mut r, &data(n, n)), []);
        let now = Instant::from_millis(n);
        if r.next_timeout() <= now && r.on_timeout(now) {
            r.acknowledge(false);
        }
    }
    // As without offload: after the quick ACKs, every second one.
    assert_eq!(r.acked, 1 + 20 * u64::from(SEGMENT));
}

/// Linux accepts a timestamp that is one tick older (TCP_PAWS_WINDOW).
#[test]
fn a_timestamp_may_be_a_tick_old() {
    let mut r = receiver(40_000);
    r.on_timestamp(100, 0);
    assert_eq!([101, 100, 99, 98].map(|value| r.is_stale(value)), [false, false, false, true]);
}
