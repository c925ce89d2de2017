use airlane_core::{Seeds, Stream};

use super::*;

const SEGMENT: u32 = 1_000;

/// Packets from a sender to a receiver, of which some are marked, and the ACKs back, of which some are lost.
struct Half {
    counter: MarkCounter,
    reader: MarkReader,
    capable: Ecn,
    /// Marks on the way and marks that were read.
    marked: u32,
    read: u32,
    read_bytes: u32,
    /// Segments that no arriving ACK has covered.
    uncovered: u32,
}

impl Half {
    fn new(options: bool, capable: Ecn) -> Self {
        let mut counter = MarkCounter::new(Ecn::NotCapable, false);
        counter.send_options(options);
        let mut reader = MarkReader::new(true);
        assert!(reader.sees(&MarkCounter::first_option()));
        Self { counter, reader, capable, marked: 0, read: 0, read_bytes: 0, uncovered: 0 }
    }

    fn send(&mut self, marked: bool) {
        let ecn = if marked { Ecn::CongestionExperienced } else { self.capable };
        self.counter.on_packet(ecn, SEGMENT, true);
        self.marked += u32::from(marked);
        self.uncovered += 1;
    }

    /// An ACK arrives, with as many SACK blocks and as much room as a header with timestamps has.
    fn acknowledge(&mut self, blocks: usize) {
        let ace = TcpFlags(self.counter.ace(false)).ace();
        let (option, _) = self.counter.option(28, blocks, None);
        let delivered = core::mem::take(&mut self.uncovered);
        let marks = self.reader.on_feedback(&Feedback {
            ace,
            option,
            delivered,
            delivered_bytes: delivered * SEGMENT,
            segment_size: SEGMENT,
            others: 0,
        });
        self.read += marks.packets;
        self.read_bytes += marks.bytes;
    }
}

fn bursts(s: &mut Stream, most: u64, mut each: impl FnMut(&mut Stream, u32)) {
    for _ in 0..=s.below(400) {
        let count = 1 + s.below(most) as u32;
        each(s, count);
    }
}

/// §3.2.2.5: with up to seven packets per ACK that arrives, the ACE field alone loses nothing.
#[test]
fn up_to_seven_packets_per_ack_are_counted_exactly() {
    for seed in 0..500 {
        let mut s = Seeds::new(seed).stream("ace");
        let share = s.below(11) as f64 / 10.0;
        let mut half = Half::new(false, Ecn::Capable1);
        bursts(&mut s, 7, |s, count| {
            for _ in 0..count {
                half.send(s.chance(share));
            }
            half.acknowledge(0);
            assert_eq!(half.read, half.marked, "seed {seed}");
        });
        assert_eq!(half.read_bytes, half.marked * SEGMENT, "seed {seed}");
        assert!(half.reader.is_capable());
    }
}

/// Beyond that, the sender assumes the most that is possible: it never reads fewer marks than there were, and
/// at most as many as there were packets. ACKs of few packets come first, so that the loss of ACKs is the only
/// explanation of a large one.
#[test]
fn without_options_a_loss_of_many_acks_hides_no_mark() {
    for seed in 0..500 {
        let mut s = Seeds::new(seed).stream("wrap");
        let share = s.below(11) as f64 / 10.0;
        let mut half = Half::new(false, Ecn::Capable0);
        let mut packets = 0;
        for _ in 0..50 {
            half.send(s.chance(share));
            half.acknowledge(0);
            packets += 1;
        }
        for _ in 0..s.below(20) {
            let count = 1 + s.below(30) as u32;
            for _ in 0..count {
                half.send(s.chance(share));
            }
            packets += count;
            half.acknowledge(0);
            assert!(
                (half.marked..=packets).contains(&half.read),
                "seed {seed}: {} {}",
                half.read,
                half.marked
            );
            assert_eq!((half.read - half.marked) % 8, 0, "seed {seed}");
        }
    }
}

/// With options, marks are counted exactly whatever is lost, of segments of one size. A third SACK block takes
/// the room of the option on some ACKs.
#[test]
fn options_resolve_the_turns_of_the_ace_field() {
    for seed in 0..500 {
        let mut s = Seeds::new(seed).stream("options");
        let share = s.below(11) as f64 / 10.0;
        let capable = if s.chance(0.5) { Ecn::Capable1 } else { Ecn::Capable0 };
        let mut half = Half::new(true, capable);
        bursts(&mut s, 200, |s, count| {
            for _ in 0..count {
                half.send(s.chance(share));
            }
            // With ECT(0), two blocks leave no room for an option. The ACE field resolves seven packets.
            let blocks = if capable == Ecn::Capable1 || count < 8 { 4 } else { 2 };
            half.acknowledge(s.below(blocks) as usize);
            assert_eq!((half.read, half.read_bytes), (half.marked, half.marked * SEGMENT), "seed {seed}");
        });
        half.acknowledge(0);
        let read = half.reader.delivered_bytes();
        let other = if capable == Ecn::Capable0 { read.capable1 } else { read.capable0 };
        assert_eq!((other, read.marked), (0, half.marked.wrapping_mul(SEGMENT)));
    }
}

/// 24 bits count 16 MB: the byte counters continue beyond.
#[test]
fn byte_counters_continue_after_a_turn_of_their_24_bits() {
    let mut half = Half::new(true, Ecn::Capable0);
    for _ in 0..40_000 {
        half.send(true);
        half.acknowledge(0);
    }
    assert_eq!((half.read, half.reader.delivered_bytes().marked), (40_000, 40_000_000));
}

/// Linux's tcp_accecn_delivered_{maxack,2ndlargeack,largeack,largeack2}.pkt: ten segments with one ACK, or one
/// and then nine, without options.
#[test]
fn large_acks_are_read_as_linux_reads_them() {
    let read = |acks: &[(u8, u32)]| {
        let mut reader = MarkReader::new(true);
        let feedback = |(ace, delivered)| Feedback {
            ace,
            option: None,
            delivered,
            delivered_bytes: delivered * SEGMENT,
            segment_size: SEGMENT,
            others: 0,
        };
        acks.iter().map(|ack| reader.on_feedback(&feedback(*ack)).packets).sum::<u32>()
    };
    assert_eq!(read(&[(4, 10)]), 7);
    assert_eq!(read(&[(5, 1), (5, 9)]), 8);
    assert_eq!((read(&[(5, 10)]), read(&[(6, 10)])), (0, 1));
}

/// Linux's tcp_accecn_sack_space_grab_with_ts.pkt: 28 bytes remain with timestamps.
#[test]
fn an_option_takes_the_room_of_the_third_sack_block_only() {
    let mut counter = MarkCounter::new(Ecn::NotCapable, false);
    counter.send_options(true);
    let mut step = |ecn, blocks| {
        counter.on_packet(ecn, 1_000, false);
        let (option, blocks) = counter.option(28, blocks, None);
        (option.map(|o| o.count()), blocks)
    };
    assert_eq!(step(Ecn::Capable1, 1), (Some(3), 1));
    assert_eq!(step(Ecn::Capable1, 2), (Some(2), 2));
    assert_eq!(step(Ecn::CongestionExperienced, 3), (Some(2), 2));
    assert_eq!(step(Ecn::Capable0, 3), (None, 3)); // all three fields would leave one block
    // The same D-SACK twice: the peer does not get the ACKs with options.
    assert!(counter.option(40, 1, Some((1, 1001))).0.is_some());
    assert!(counter.option(40, 1, Some((1, 1001))).0.is_none());
    assert!(counter.option(40, 0, None).0.is_none());
}

/// §3.2.2.5.1, and Linux's rule that any change of the ECN field is acknowledged.
#[test]
fn changes_and_marks_trigger_acks() {
    let mut counter = MarkCounter::new(Ecn::NotCapable, false);
    let ce = Ecn::CongestionExperienced;
    let packets = [(Ecn::Capable1, 1), (Ecn::Capable1, 1), (ce, 1), (ce, 1), (Ecn::Capable1, 1)];
    assert_eq!(
        packets.map(|(ecn, size)| counter.on_packet(ecn, size, false)),
        [true, false, true, true, true]
    );
    counter.ace(true);
    // ACKs of ACKs: at the third mark.
    assert_eq!([0; 3].map(|_| counter.on_packet(ce, 0, false)), [false, false, true]);
    counter.ace(true);
    assert_eq!([0; 2].map(|_| counter.on_packet(ce, 0, true)), [false, true]); // with data to acknowledge
}

/// Tables 3 and 4: the ACK of the SYN-ACK has its own encoding, and says whether the path changed the ECN field.
#[test]
fn the_ack_of_the_syn_ack_reports_its_ecn_field() {
    let cases = [
        (Ecn::NotCapable, 0b010, 5, true),
        (Ecn::Capable1, 0b011, 5, false),
        (Ecn::Capable0, 0b100, 5, false),
        (Ecn::CongestionExperienced, 0b110, 6, false),
    ];
    for (ecn, encoded, packets, capable) in cases {
        let mut client = MarkCounter::new(ecn, true);
        let ace = TcpFlags(client.ace(true)).ace();
        assert_eq!((ace, TcpFlags(client.ace(true)).ace()), (encoded, packets));
        let mut server = MarkReader::new(true);
        assert_eq!(server.on_ack_of_syn_ack(ace), u32::from(packets));
        assert_eq!((server.packets, server.is_capable(), server.obeys), (u32::from(packets), capable, true));
        // With data it is an ordinary counter.
        assert_eq!(TcpFlags(MarkCounter::new(ecn, true).ace(false)).ace(), packets);
    }
    let mut server = MarkReader::new(true);
    server.on_ack_of_syn_ack(0);
    let feedback = Feedback {
        ace: 7,
        option: None,
        delivered: 3,
        delivered_bytes: 3_000,
        segment_size: 1_000,
        others: 0,
    };
    assert_eq!((server.is_capable(), server.on_feedback(&feedback)), (false, Marks::default()));
}

/// §3.2.2.4: only the first counters after the handshake are checked, and the marks of three packets explain a zero.
#[test]
fn a_first_field_of_zero_ends_ecn() {
    for (ace, sent, capable) in [(0, 0, false), (0, 2, false), (0, 3, true), (6, 2, true)] {
        let mut reader = MarkReader::new(true);
        reader.check_first(ace, sent);
        assert_eq!(reader.is_capable(), capable, "{ace} {sent}");
        let feedback = Feedback {
            ace: 7,
            option: None,
            delivered: 2,
            delivered_bytes: 2_000,
            segment_size: 1_000,
            others: 0,
        };
        assert_eq!(reader.on_feedback(&feedback) != Marks::default(), capable);
        reader.check_first(0, 2);
        assert_eq!(reader.is_capable(), capable);
    }
}

/// An end that does not check the handshake sends ECN-capable packets in any case (`tcp_ecn_fallback` 0).
#[test]
fn without_fallback_the_handshake_is_not_checked() {
    let mut server = MarkReader::new(false);
    assert_eq!((server.on_ack_of_syn_ack(0b110), server.is_capable()), (6, true));
    let mut client = MarkReader::new(false);
    client.on_syn_ack(0b110);
    assert!(client.is_capable());
}

/// §3.2.3.2.4 and §3.2.3.2.5.
#[test]
fn mangled_feedback_is_noticed() {
    for zeroed in [AccEcnOption::new(1, &[0, 0, 1]), AccEcnOption::new(0, &[1, 0, 0])] {
        let mut reader = MarkReader::new(true);
        assert!(!reader.sees(&zeroed));
        let option = Some(AccEcnOption::new(1, &[1, 5_000, 1]));
        let delivered =
            Feedback { ace: 6, option, delivered: 5, delivered_bytes: 5_000, segment_size: 1_000, others: 0 };
        assert_eq!(reader.on_feedback(&delivered), Marks { packets: 1, bytes: 1_000 });
    }
    let mut reader = MarkReader::new(true);
    assert!(reader.sees(&AccEcnOption::new(1, &[1, 0, 1])));
    let option = Some(AccEcnOption::new(1, &[1, 1_000, 1]));
    let feedback =
        Feedback { ace: 5, option, delivered: 1, delivered_bytes: 1_000, segment_size: 1_000, others: 0 };
    let mut after_losses = reader.clone();
    after_losses.on_feedback(&Feedback { others: 7, ..feedback });
    assert!(
        after_losses.is_capable(),
        "eight marked packets, of which seven are ACKs or repeated, are a turn"
    );
    reader.on_feedback(&feedback);
    assert!(!reader.is_capable(), "marked bytes without a marked packet");
    let mut client = MarkReader::new(true);
    client.on_syn_ack(0b101);
    assert!(client.is_capable());
    client.on_syn_ack(0b100);
    assert!(!client.is_capable());
}
