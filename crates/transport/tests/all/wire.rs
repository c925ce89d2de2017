//! Unusual segments, one at a time, and the answers of an end: RFC 9293, RFC 7323, RFC 5961, RFC 2883. Where
//! an RFC leaves a choice, the choice is Linux's; the comments describe what was observed on Linux 6.18.

use airlane_core::{Bytes, Duration, SackBlock, TcpFlags, TcpHeader, TcpTimestamps};
use airlane_transport::{ConnectionState, ReceiveWindowKind, TcpConfig};

use crate::table::{ACK, FIN, RST, SYN, Sent, Table, data, stamped};

fn flags(sent: &Sent) -> u16 {
    sent.0.flags.0 & !TcpFlags::PSH
}

fn with_ack(flags: TcpFlags) -> TcpFlags {
    TcpFlags(flags.0 | TcpFlags::ACK)
}

/// RFC 7323 §4.3: TS.Recent is taken only from acceptable segments. The ACK field of this one is beyond the
/// sent data.
#[test]
fn a_dropped_segment_leaves_the_timestamp_of_the_peer_as_it_was() {
    let mut table = Table::established(TcpConfig::linux());
    let sent = table.take(TcpHeader { acknowledgment: 9_000, ..stamped(1, 900) }, 0);
    assert_eq!(sent, []);
    table.wait(1_000);
    let sent = table.take(stamped(1, 200), 1_000);
    assert_eq!(sent[0].0.timestamps.map(|t| t.echo_reply), Some(200), "900 would be echoed, and 200 too old");
}

/// RFC 7323 §5.3, R2 before R3: the timestamp of a segment before the window is not recorded, so that the
/// answer echoes the first transmission. A segment that ends where the last ACK was is inside (Linux 6.18:
/// the same two values).
#[test]
fn what_came_before_is_answered_with_the_timestamp_of_its_first_sending() {
    let mut table = Table::established(TcpConfig::linux());
    table.take(stamped(1, 1_100), 500);
    table.take(stamped(501, 1_100), 500);
    table.wait(100);
    let echoes = [(1, 6_100), (501, 6_200)].map(|(sequence, value)| {
        let (answer, _) = table.take(stamped(sequence, value), 500)[0];
        (answer.acknowledgment, answer.timestamps.unwrap().echo_reply)
    });
    assert_eq!(echoes, [(1_001, 1_100), (1_001, 6_200)]);
}

/// The consequence for the sender: if the ACKs of a flight are lost, its measured round trip contains its
/// timeouts. The sample is 2,388 ms, the smoothed value an eighth of it after almost nothing, and four times
/// the variance all of it: 2,686.5 ms. Linux 6.18, in ticks of 4 ms: 2,688.
#[test]
fn the_echo_of_a_first_sending_puts_the_timeouts_into_the_round_trip() {
    let mut table = Table::established(TcpConfig { sack: false, ..TcpConfig::linux() });
    table.end.supply(7_000);
    let echo_reply = table.flush()[0].0.timestamps.unwrap().value;
    for _ in 0..2_388 {
        table.wait(1);
        table.timeout();
    }
    assert_eq!(table.end.stats().timeouts, 3);
    let timestamps = Some(TcpTimestamps { value: 6_300, echo_reply });
    table.take(TcpHeader { acknowledgment: 7_001, timestamps, ..data(1) }, 0);
    assert_eq!(table.end.stats().rto, Duration::from_millis(2_687));
}

/// RFC 7323 §5.3 R1: data with an old timestamp is dropped and acknowledged, unless it is a tick old as in Linux; the
/// timestamp of a RST is not checked (§5.2).
#[test]
fn an_old_timestamp_is_not_believed() {
    let mut table = Table::established(TcpConfig::linux());
    table.take(stamped(1, 500), 1_000);
    assert_eq!(table.end.received_to(), 1_000);
    let sent = table.take(stamped(1_001, 498), 1_000);
    assert_eq!((sent.len(), sent[0].0.acknowledgment), (1, 1_001));
    assert_eq!(table.end.received_to(), 1_000);
    table.take(stamped(1_001, 500), 1_000);
    assert_eq!(table.end.received_to(), 2_000, "an equal one is no older");
    table.take(stamped(2_001, 499), 1_000);
    assert_eq!(table.end.received_to(), 3_000, "nor one that is a tick older");
    table.take(TcpHeader { flags: RST, ..stamped(3_001, 1) }, 0);
    assert_eq!(table.end.state(), ConnectionState::Reset);
}

/// RFC 9293 §3.10.7.4, first: a segment outside of the receive window is dropped with its ACK field, and answered.
#[test]
fn an_acknowledgment_from_outside_of_the_window_is_not_believed() {
    let mut table = Table::established(TcpConfig::linux());
    table.end.supply(5_000);
    let sent = table.flush();
    assert_eq!(sent.len(), 4);
    for sequence in [4_000_000, 0_u32.wrapping_sub(10), 1 << 30] {
        table.wait(1_000);
        let sent = table.take(TcpHeader { acknowledgment: 5_001, ..stamped(sequence, 300) }, 0);
        assert_eq!(table.end.acknowledged_to(), 0, "{sequence}");
        assert!(sent.iter().any(|sent| flags(sent) == TcpFlags::ACK), "{sequence}");
    }
    table.take(TcpHeader { acknowledgment: 5_001, ..stamped(1, 300) }, 0);
    assert_eq!(table.end.acknowledged_to(), 5_000);
}

/// RFC 5961 §3.2, §4.2, §5.2: a RST without the exact next number, a SYN, and an ACK of data that was
/// acknowledged long ago are answered with a challenge ACK; §7: at most once in half a second. An ACK of data
/// that was never sent is dropped, as in Linux, unless this end is closing.
#[test]
fn guesses_are_asked_about_at_a_limited_rate() {
    let rst = TcpHeader { flags: RST, ..data(101) };
    let syn = TcpHeader { flags: SYN, ..stamped(1, 200) };
    let unsent = TcpHeader { acknowledgment: 500, ..stamped(1, 200) };
    let ancient = TcpHeader { acknowledgment: 1_u32.wrapping_sub(1 << 30), ..stamped(1, 200) };
    let guesses =
        [("RST", rst, false), ("SYN", syn, false), ("unsent", unsent, true), ("ancient", ancient, false)];
    for (name, guess, closing) in guesses {
        let mut table = Table::established(TcpConfig::linux());
        if closing {
            assert_eq!(table.take(guess, 0), [], "dropped while the connection is open");
            table.end.shutdown();
            assert_eq!(table.flush().len(), 1, "the FIN");
        }
        let mut answers = Vec::new();
        for _ in 0..12 {
            answers.push(table.take(guess, 0).len());
            table.wait(100);
        }
        // At 0, 500 and 1000 ms of 0 to 1100.
        assert_eq!(answers, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], "{name}");
        assert_eq!(table.end.state(), ConnectionState::Established, "{name}");
    }
    let mut table = Table::established(TcpConfig::linux());
    table.take(TcpHeader { flags: RST, ..data(1) }, 0);
    assert_eq!(table.end.state(), ConnectionState::Reset, "exactly next");
    let mut table = Table::established(TcpConfig::linux());
    assert_eq!(table.take(TcpHeader { flags: RST, ..data(4_000_000) }, 0), [], "outside of the window");
    assert_eq!(table.end.state(), ConnectionState::Established);
}

/// RFC 9293 §3.10.7.3: in SYN-SENT an ACK of anything except the SYN gets a RST with that number, so that a
/// half-open peer closes (§3.5.1); a RST gets none. The SYN is repeated soon, and the connection is
/// established.
#[test]
fn a_half_open_peer_is_reset() {
    for (flags, wrong) in [(ACK, 5_000), (with_ack(SYN), 5_000), (with_ack(SYN), 0), (ACK, 2)] {
        let mut table = Table::connecting(TcpConfig::linux());
        let sent = table.take(TcpHeader { flags, acknowledgment: wrong, ..data(77) }, 0);
        let rst = TcpHeader { sequence: wrong, flags: RST, ..TcpHeader::default() };
        assert_eq!(sent, [(rst, 0)], "{flags:?} {wrong}");
        assert_eq!(table.end.state(), ConnectionState::SynSent);
        assert_eq!(table.take(TcpHeader { flags: with_ack(RST), acknowledgment: wrong, ..data(77) }, 0), []);
        table.wait(10);
        assert!(table.timeout().iter().any(|(header, _)| header.flags == SYN));
        table.take(TcpHeader { flags: with_ack(SYN), acknowledgment: 1, window: 60_000, ..data(500) }, 0);
        assert_eq!(table.end.state(), ConnectionState::Established);
    }
}

/// RFC 7323 §3.2: a RST carries timestamps if they were negotiated.
#[test]
fn a_reset_carries_timestamps() {
    let mut table = Table::established(TcpConfig::linux());
    table.take(stamped(1, 300), 0);
    let sent = table.call(|end, cx| end.abort(cx));
    assert!(sent[0].0.flags.has(TcpFlags::RST));
    assert_eq!(sent[0].0.timestamps.map(|stamp| stamp.echo_reply), Some(300));
    let mut table = Table::established(TcpConfig { timestamps: false, ..TcpConfig::linux() });
    assert_eq!(table.call(|end, cx| end.abort(cx))[0].0.timestamps, None);
}

/// RFC 2883 §4: a segment covers several that were received before. There is room for one block: it reports
/// the first of them, as in Linux.
#[test]
fn a_dsack_names_the_first_of_several_duplicates() {
    let mut table = Table::established(TcpConfig::linux());
    for start in [2_001, 4_001, 6_001] {
        table.take(stamped(start, 200), 1_000);
    }
    let sent = table.take(stamped(1, 200), 8_000);
    assert_eq!(sent[0].0.acknowledgment, 8_001);
    assert_eq!(sent[0].0.sack.as_slice(), [SackBlock { left: 2_001, right: 3_001 }]);
    // The same above a gap.
    let mut table = Table::established(TcpConfig::linux());
    for start in [12_001, 14_001, 16_001] {
        table.take(stamped(start, 200), 1_000);
    }
    let sent = table.take(stamped(11_001, 200), 8_000);
    let blocks = [SackBlock { left: 12_001, right: 13_001 }, SackBlock { left: 11_001, right: 19_001 }];
    assert_eq!(sent[0].0.sack.as_slice(), blocks);
}

/// RFC 9293 §3.6.1, RFC 2525 §2.17: an end that has closed reads no more, and answers data with a RST; an end
/// that has only shut down its direction continues to read. Data that was unread when it closed is answered
/// in the same way.
#[test]
fn data_after_close_is_reset() {
    let mut table = Table::established(TcpConfig::linux());
    table.end.close();
    assert!(table.flush()[0].0.flags.has(TcpFlags::FIN));
    let sent = table.take(TcpHeader { acknowledgment: 2, ..stamped(1, 200) }, 1_000);
    assert_eq!((sent.len(), sent[0].0.flags, sent[0].0.sequence), (1, RST, 2));
    assert_eq!(table.end.state(), ConnectionState::Reset);

    let mut table = Table::established(TcpConfig::linux());
    table.take(stamped(1, 200), 1_000);
    table.end.close();
    assert!(table.flush()[0].0.flags.has(TcpFlags::RST));
    assert_eq!(table.end.state(), ConnectionState::Reset);

    let mut table = Table::established(TcpConfig::linux());
    table.end.shutdown();
    assert!(table.flush()[0].0.flags.has(TcpFlags::FIN));
    table.take(TcpHeader { acknowledgment: 2, ..stamped(1, 200) }, 1_000);
    assert_eq!((table.end.state(), table.end.readable()), (ConnectionState::Established, 1_000));
    // A FIN is not data.
    let mut table = Table::established(TcpConfig::linux());
    table.end.close();
    table.flush();
    table.take(TcpHeader { acknowledgment: 2, flags: with_ack(FIN), ..stamped(1, 200) }, 0);
    assert_ne!(table.end.state(), ConnectionState::Reset);
}

/// RFC 9293 §3.4: a FIN takes a sequence number, so a closed window has no room for it; it waits for a
/// window, or a probe.
#[test]
fn a_fin_waits_for_the_window() {
    let mut table = Table::established(TcpConfig::linux());
    table.end.supply(1_000);
    assert_eq!(table.flush().len(), 1);
    table.take(TcpHeader { acknowledgment: 1_001, window: 0, ..stamped(1, 200) }, 0);
    table.end.close();
    assert_eq!(table.flush(), []);
    let sent = table.take(TcpHeader { acknowledgment: 1_001, window: 500, ..stamped(1, 201) }, 0);
    assert!(sent.len() == 1 && sent[0].0.flags.has(TcpFlags::FIN));
    // The data before it fits into the window, the FIN does not.
    let mut table = Table::with_window(TcpConfig { window_scaling: false, ..TcpConfig::linux() }, 1_000);
    table.end.supply(1_000);
    table.end.close();
    let sent = table.flush();
    assert_eq!(sent.iter().map(|(_, payload)| payload).sum::<u32>(), 1_000);
    assert!(sent.iter().all(|(header, _)| !header.flags.has(TcpFlags::FIN)));
}

/// Linux `tcp_syn_linear_timeouts`, since 6.5: four at even intervals, then RFC 6298 §5.5; the connection is
/// given up after `tcp_syn_retries` further unanswered ones (RFC 9293 §3.8.3), 131 s after the first. A
/// SYN-ACK backs off from the start, five times.
#[test]
fn handshakes_are_given_up() {
    let mut table = Table::connecting(TcpConfig::linux());
    assert_eq!(table.expire(200), [1, 2, 3, 4, 5, 7, 11, 19, 35, 67].map(|s| s * 1_000));
    assert_eq!((table.end.state(), table.now_ms()), (ConnectionState::TimedOut, 131_000));
    let old = TcpConfig { syn_linear_timeouts: 0, ..TcpConfig::linux() };
    let mut table = Table::connecting(old);
    assert_eq!(table.expire(200), [1, 3, 7, 15, 31, 63].map(|s| s * 1_000));
    assert_eq!((table.end.state(), table.now_ms()), (ConnectionState::TimedOut, 127_000));

    let mut table = Table::listening(TcpConfig::linux());
    table.hear_syn(Some(1_460), 60_000);
    assert_eq!(table.expire(200), [1, 3, 7, 15, 31].map(|s| s * 1_000));
    assert_eq!((table.end.state(), table.now_ms()), (ConnectionState::Listen, 63_000));
}

/// Linux `tcp_retries2`, RFC 9293 §3.8.3 R2: fifteen timeouts starting at 200 ms take 924.6 s; at the next
/// timeout the connection is given up. Probes of a closed window are limited in number.
#[test]
fn a_silent_peer_is_given_up() {
    let mut table = Table::established(TcpConfig::linux());
    table.end.supply(1_000);
    let first = table.now_ms();
    table.flush();
    table.expire(2_000);
    let waited = table.now_ms() - first;
    assert_eq!(table.end.state(), ConnectionState::TimedOut);
    assert!((924_600..924_600 + 121_000).contains(&waited), "{waited} ms");
    let hasty = TcpConfig { retries: 3, ..TcpConfig::linux() };
    let mut table = Table::established(hasty.clone());
    table.end.supply(1_000);
    table.flush();
    // 200 + 400 + 800 + 1600 ms; the SYN's round trip was 0 ms, so the timeouts are a probe and then 0.2, 0.4, 0.8, 1.6, 3.2 s.
    table.expire(200);
    assert_eq!(table.end.state(), ConnectionState::TimedOut);
    let mut table = Table::established(hasty);
    table.take(TcpHeader { window: 0, ..stamped(1, 200) }, 0);
    table.end.supply(1_000);
    table.flush();
    assert_eq!(table.expire(500).len(), 3);
    assert_eq!(table.end.state(), ConnectionState::TimedOut);
}

/// Linux `tcp_bound_to_half_wnd` (RFC 9293 §3.8.6.2.1): segments of half a small window, so that two fit; of
/// a window of up to 536 bytes, the whole.
#[test]
fn segments_are_at_most_half_of_a_small_window() {
    for (window, payload) in
        [(2_000, 1_000), (1_000, 500), (537, 268), (536, 536), (400, 400), (60_000, 1_448)]
    {
        let config = TcpConfig { window_scaling: false, ..TcpConfig::linux() };
        let mut table = Table::with_window(config, window);
        table.end.supply(100_000);
        let sent = table.flush();
        assert_eq!(sent[0].1, payload, "window of {window}");
        assert!(sent.iter().map(|(_, payload)| payload).sum::<u32>() <= u32::from(window));
    }
}

/// RFC 9293 §3.8.6.3: the ACK of a FIN may wait, as in Linux (43 ms were observed): the application may close
/// as well. An end that has closed answers at once.
#[test]
fn an_ack_of_a_fin_waits_for_the_application() {
    let fin = TcpHeader { flags: with_ack(FIN), ..stamped(1_001, 300) };
    let mut table = Table::established(TcpConfig::linux());
    table.take(stamped(1, 200), 1_000);
    table.read();
    table.wait(100);
    assert_eq!(table.take(fin, 0), []);
    table.wait(39);
    assert_eq!(table.timeout(), []);
    table.wait(10);
    assert_eq!(table.timeout()[0].0.acknowledgment, 1_002);

    let mut table = Table::established(TcpConfig::linux());
    table.take(stamped(1, 200), 1_000);
    table.read();
    table.end.shutdown();
    table.flush();
    assert_eq!(table.take(TcpHeader { acknowledgment: 2, ..fin }, 0)[0].0.acknowledgment, 1_002);
}

/// An ACK with a changed window is not a duplicate (RFC 5681 §2), and without SACK a sender depends on
/// duplicates. In Linux the window then stays while data arrives out of order; with SACK it grows (65,536 to
/// 76,800 bytes were observed with four segments).
#[test]
fn without_sack_the_window_does_not_grow_on_data_out_of_order() {
    for (sack, grows) in [(true, true), (false, false)] {
        let receive_window = ReceiveWindowKind::Autotuned { initial: Bytes(131_072), max: Bytes(6_291_456) };
        let mut table = Table::established(TcpConfig { sack, receive_window, ..TcpConfig::linux() });
        let windows: Vec<u16> = (1..7)
            .map(|i| table.take(stamped(1 + 1_448 * i, 200), 1_448).last().expect("a duplicate ACK").0.window)
            .collect();
        assert_eq!(windows.last() > windows.first(), grows, "SACK {sack}: {windows:?}");
    }
}

/// RFC 9293 §3.8.6.1, RFC 5961 §7: probes of a window are answered, at the same limited rate as other
/// unacceptable segments.
#[test]
fn window_probes_are_answered() {
    let mut table = Table::established(TcpConfig::linux());
    let probe = stamped(0, 200);
    assert_eq!(table.take(probe, 0).len(), 1);
    assert_eq!(table.take(probe, 0).len(), 0);
    table.wait(Duration::from_millis(500).as_millis());
    assert_eq!(table.take(probe, 0).len(), 1);
}

/// With segmentation offload, the last packet of a segment that has several carries PSH (Linux
/// `__tcp_transmit_skb`). At this short round trip the initial window leaves as one. Without, only the end of what was
/// written has it, and that is not sent yet.
#[test]
fn a_segment_of_several_packets_ends_with_push() {
    let pushed = |gso| {
        let mut table = Table::established(TcpConfig { gso, ..TcpConfig::linux() });
        table.end.supply(20 * 1_448);
        let sent = table.flush();
        sent.iter().map(|(header, _)| header.flags.has(TcpFlags::PSH)).collect::<Vec<_>>()
    };
    let last = |at: usize| (0..10).map(|i| i == at).collect::<Vec<_>>();
    assert_eq!(pushed(true), last(9));
    assert_eq!(pushed(false), last(10));
}

/// With segmentation offload, what is less than a millisecond carries, and less than a third of the window, waits for
/// the next acknowledgment if that is near (Linux `tcp_tso_should_defer`).
#[test]
fn a_small_segment_waits_for_more_room() {
    let sent_after_each_ack = |gso| {
        let mut table = Table::established(TcpConfig { gso, ..TcpConfig::linux() });
        table.end.supply(40 * 1_448);
        assert_eq!(table.flush().len(), 10);
        table.wait(1);
        let ack = |table: &mut Table, segments: u32| {
            let acknowledgment = 1 + segments * 1_448;
            table.take(TcpHeader { acknowledgment, window: 60_000, ..stamped(1, 200) }, 0).len()
        };
        [1, 2].map(|segments| ack(&mut table, segments))
    };
    assert_eq!(sent_after_each_ack(true), [0, 4]);
    assert_eq!(sent_after_each_ack(false), [2, 2]);
}
