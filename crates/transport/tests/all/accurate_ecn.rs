//! Accurate ECN (RFC 9768) as in Linux: the exchanges of its selftests
//! (tools/testing/selftests/net/packetdrill/tcp_accecn_*.pkt of torvalds/linux), retold in the form of this test. An
//! answer is printed as there, with the ACE field as a number and the option in its order.

use airlane_core::{
    AccEcnOption, Cx, Direction, Duration, Ecn, FlowId, Header, Instant, Mss, Outbox, PacketPool, SackBlock,
    Silence, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps, TopicSet,
};
use airlane_transport::{EcnConfig, Path, TcpConfig, TcpEndpoint};

const NOT: Ecn = Ecn::NotCapable;
const ECT0: Ecn = Ecn::Capable0;
const ECT1: Ecn = Ecn::Capable1;
const CE: Ecn = Ecn::CongestionExperienced;
/// The value of the ACE field in the first packets, and the same of a SYN that asks.
const FIRST: u32 = 5;
const ASKS: u32 = 7;

/// An end under test and its time.
struct End {
    end: TcpEndpoint,
    pool: PacketPool,
    now: Instant,
}

/// A segment to the end.
#[derive(Clone, Copy)]
struct In {
    ecn: Ecn,
    flags: u16,
    ace: u32,
    sequence: u32,
    acknowledges: u32,
    payload: u32,
    option: Option<AccEcnOption>,
    sack: Option<(u32, u32)>,
    timestamp: Option<u32>,
}

const SYN: In = In {
    ecn: NOT,
    flags: TcpFlags::SYN,
    ace: ASKS,
    sequence: 0,
    acknowledges: 0,
    payload: 0,
    option: None,
    sack: None,
    timestamp: None,
};

/// A segment after the handshake, which acknowledges the SYN.
fn at(ecn: Ecn, ace: u32, sequence: u32, payload: u32) -> In {
    In { ecn, flags: TcpFlags::ACK, ace, sequence, acknowledges: 1, payload, ..SYN }
}

/// `ECN e0b 1 ceb 0 e1b 1`.
fn counters(e0b: u32, ceb: u32, e1b: u32) -> Option<AccEcnOption> {
    Some(AccEcnOption::new(0, &[e0b, ceb, e1b]))
}

fn config(ecn: EcnConfig) -> TcpConfig {
    TcpConfig { ecn, timestamps: false, ..TcpConfig::linux() }
}

impl End {
    fn listening(ecn: EcnConfig) -> Self {
        let end = TcpEndpoint::new(config(ecn), Path::new(FlowId(0), Direction::Downlink));
        Self { end, pool: PacketPool::default(), now: Instant::ZERO }
    }

    fn connecting(ecn: EcnConfig) -> (Self, Vec<String>) {
        let mut end = Self::listening(ecn);
        let sent = end.call(TcpEndpoint::connect);
        (end, sent)
    }

    /// A server that has negotiated, with the option in the last ACK.
    fn server() -> Self {
        let mut end = Self::listening(EcnConfig::ACCURATE);
        end.take(SYN);
        end.take(In { option: counters(1, 0, 1), ..at(ECT0, 2, 1, 0) });
        end
    }

    fn call(&mut self, act: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>)) -> Vec<String> {
        let (mut outbox, mut probe, topics) = (Outbox::new(), Silence, TopicSet::NONE);
        let mut cx =
            Cx { now: self.now, pool: &mut self.pool, outbox: &mut outbox, topics, probe: &mut probe };
        act(&mut self.end, &mut cx);
        self.end.read(self.now, u64::MAX);
        self.end.flush(&mut cx);
        let sent = outbox.into_iter().map(|(_, packet)| {
            let packet = self.pool.consume(packet);
            let Header::Tcp(header) = packet.header else { panic!("only TCP here") };
            printed(packet.ecn, &header, packet.payload.len())
        });
        sent.collect()
    }

    fn take(&mut self, given: In) -> Vec<String> {
        self.now += Duration::from_millis(50);
        let is_syn = given.flags & TcpFlags::SYN != 0;
        let mut header = TcpHeader {
            sequence: given.sequence,
            acknowledgment: given.acknowledges,
            window: 32_000,
            flags: TcpFlags(given.flags | TcpFlags::of_ace(given.ace)),
            accurate_ecn: given.option,
            timestamps: given.timestamp.map(|value| TcpTimestamps { value, echo_reply: 1 }),
            ..TcpHeader::default()
        };
        if is_syn {
            let window_scale = Some(8);
            header.syn = TcpSynOptions {
                mss: Some(Mss(1_050)),
                window_scale,
                sack_permitted: true,
                codes_permitted: false,
            };
        }
        if let Some((left, right)) = given.sack {
            header.sack.push(SackBlock { left, right });
        }
        self.call(|end, cx| {
            end.handle_segment(cx, &header, given.ecn, given.payload);
        })
    }

    fn write(&mut self, bytes: u64) -> Vec<String> {
        self.call(|end, _| end.supply(bytes))
    }

    /// The next timer fires.
    fn timeout(&mut self) -> Vec<String> {
        self.now = self.end.next_timeout();
        self.call(TcpEndpoint::handle_timeout)
    }
}

fn printed(ecn: Ecn, header: &TcpHeader, payload: u32) -> String {
    let field = match ecn {
        Ecn::NotCapable => "noecn",
        Ecn::Capable0 => "ect0",
        Ecn::Capable1 => "ect1",
        Ecn::CongestionExperienced => "ce",
    };
    let syn = if header.flags.has(TcpFlags::SYN) { "S" } else { "" };
    let ack = if header.flags.has(TcpFlags::ACK) {
        format!(". ack {}", header.acknowledgment)
    } else {
        String::new()
    };
    let option = header.accurate_ecn.map_or_else(String::new, |option| {
        let read = |ecn| option.counter(ecn).map_or_else(|| "-".to_owned(), |counter| counter.to_string());
        format!(" e1b {} ceb {} e0b {}", read(ECT1), read(CE), read(ECT0))
    });
    let place = format!("{}({payload})", header.sequence);
    format!("[{field}] {syn}{}{ack} {place}{option}", header.flags.ace())
}

/// tcp_accecn_negotiation_listen.pkt, and with the options off (tcp_accecn_noopt.pkt).
#[test]
fn a_server_negotiates() {
    let mut end = End::listening(EcnConfig::ACCURATE);
    assert_eq!(end.take(SYN), ["[noecn] S2. ack 1 0(0) e1b 1 ceb 0 e0b 1"]);
    assert_eq!(end.take(In { option: counters(1, 0, 1), ..at(ECT0, 2, 1, 0) }), [""; 0]);
    assert_eq!(end.write(1_000), ["[ect0] 5. ack 1 1(1000) e1b 1 ceb 0 e0b 1"]);
    end.take(In { acknowledges: 1_001, ..at(ECT0, FIRST, 1, 0) });
    assert_eq!(end.write(1_000), ["[ect0] 5. ack 1 1001(1000) e1b 1 ceb 0 e0b 1"]);
    assert_eq!(end.end.stats().marks_reported, 0);

    let mut end = End::listening(EcnConfig { options: false, ..EcnConfig::ACCURATE });
    assert_eq!(end.take(SYN), ["[noecn] S2. ack 1 0(0)"]);
    end.take(In { option: counters(1, 0, 1), ..at(ECT0, 2, 1, 0) });
    assert_eq!(end.write(1_000), ["[ect0] 5. ack 1 1(1000)"]);
}

/// tcp_accecn_negotiation_connect.pkt; tcp_accecn_synack_{ect0,ect1,ce}.pkt: the ACK of the SYN-ACK reports its ECN
/// field, also when the SYN-ACK comes again (tcp_accecn_synack_rexmit.pkt, tcp_accecn_no_ecn_after_accecn.pkt).
#[test]
fn a_client_negotiates() {
    let answer =
        In { flags: SYN.flags | TcpFlags::ACK, ace: 2, acknowledges: 1, option: counters(1, 0, 1), ..SYN };
    for (ecn, ace, counter) in [(NOT, 2, 5), (ECT1, 3, 5), (ECT0, 4, 5), (CE, 6, 6)] {
        let (mut end, sent) = End::connecting(EcnConfig::ACCURATE);
        assert_eq!(sent, ["[noecn] S7 0(0)"]);
        let ack = format!("[ect0] {ace}. ack 1 1(0) e1b 1 ceb 0 e0b 1");
        assert_eq!(end.take(In { ecn, ..answer }), std::slice::from_ref(&ack));
        end.now += Duration::from_secs(1); // answers are limited
        assert_eq!(end.take(In { ecn, ..answer }), [ack]);
        assert_eq!(end.write(1_000), [format!("[ect0] {counter}. ack 1 1(1000) e1b 1 ceb 0 e0b 1")]);
    }
    let (mut end, _) = End::connecting(EcnConfig::ACCURATE);
    end.take(answer);
    end.now += Duration::from_secs(1);
    let without = In { ace: 0, option: None, ..answer };
    assert_eq!(end.take(without), ["[ect0] 2. ack 1 1(0) e1b 1 ceb 0 e0b 1"]);
}

/// tcp_accecn_serverside_broken.pkt, tcp_accecn_serverside_ecn_disabled.pkt, tcp_accecn_serverside_accecn_disabled1.pkt
/// and tcp_accecn_accecn_to_rfc3168.pkt.
#[test]
fn an_end_falls_back_to_what_the_other_knows() {
    let answer = In { flags: SYN.flags | TcpFlags::ACK, acknowledges: 1, ..SYN };
    for (ace, data) in [(0, "[noecn] 0"), (7, "[noecn] 0"), (1, "[ect0] 0"), (5, "[ect0] 5")] {
        let (mut end, _) = End::connecting(EcnConfig::ACCURATE);
        end.take(In { ace, ..answer });
        assert_eq!(end.write(100), [format!("{data}. ack 1 1(100)")], "{ace}");
    }
    for (ecn, answer) in [(EcnConfig::CLASSIC, "S1"), (EcnConfig::PASSIVE, "S1"), (EcnConfig::OFF, "S0")] {
        assert_eq!(End::listening(ecn).take(SYN), [format!("[noecn] {answer}. ack 1 0(0)")]);
    }
    // A client with classic ECN, and one without.
    for (ace, answer) in [(3, "S1"), (0, "S0")] {
        let mut end = End::listening(EcnConfig::ACCURATE);
        assert_eq!(end.take(In { ace, ..SYN }), [format!("[noecn] {answer}. ack 1 0(0)")]);
    }
}

/// tcp_accecn_syn_ace_flags_drop.pkt, tcp_accecn_multiple_syn_drop.pkt, tcp_accecn_listen_opt_drop.pkt and
/// tcp_accecn_syn_ack_ace_flags_{drop,acked_after_retransmit}.pkt.
#[test]
fn lost_handshake_packets_are_repeated_with_less() {
    let (mut end, _) = End::connecting(EcnConfig::ACCURATE);
    let again = [0; 3].map(|_| end.timeout());
    assert_eq!(again.concat(), ["[noecn] S7 0(0)", "[noecn] S0 0(0)", "[noecn] S0 0(0)"]);
    let answer = In { flags: SYN.flags | TcpFlags::ACK, ace: 0, acknowledges: 1, ..SYN };
    assert_eq!(end.take(answer), ["[noecn] 0. ack 1 1(0)"]);

    for (ace, data) in [(0, "[noecn] 5"), (2, "[noecn] 5")] {
        let mut end = End::listening(EcnConfig::ACCURATE);
        end.take(SYN);
        let again = [0; 3].map(|_| end.timeout());
        let bare = "[noecn] S0. ack 1 0(0)";
        assert_eq!(again.concat(), ["[noecn] S2. ack 1 0(0)", bare, bare]);
        end.take(at(NOT, ace, 1, 0));
        assert_eq!(end.write(100), [format!("{data}. ack 1 1(100)")]);
    }
}

/// tcp_accecn_syn_{ect0,ect1,ce}.pkt, tcp_accecn_accecn_then_notecn_syn.pkt, tcp_accecn_notecn_then_accecn_syn.pkt.
#[test]
fn a_syn_ack_reports_the_ecn_field_of_the_last_syn() {
    for (ecn, ace) in [(NOT, 2), (ECT1, 3), (ECT0, 4), (CE, 6)] {
        let sent = End::listening(EcnConfig::ACCURATE).take(In { ecn, ..SYN });
        assert_eq!(sent, [format!("[noecn] S{ace}. ack 1 0(0) e1b 1 ceb 0 e0b 1")]);
    }
    let mut end = End::listening(EcnConfig::ACCURATE);
    end.take(In { ecn: ECT0, ..SYN });
    assert_eq!(end.take(In { ace: 0, ..SYN }), ["[noecn] S2. ack 1 0(0)"]);
    end.take(In { option: counters(1, 0, 1), ..at(NOT, 2, 1, 0) });
    assert_eq!(end.write(100), ["[noecn] 5. ack 1 1(100) e1b 1 ceb 0 e0b 1"]);

    let mut end = End::listening(EcnConfig::ACCURATE);
    end.take(In { ace: 0, ..SYN });
    assert_eq!(end.take(In { ecn: ECT0, ..SYN }), ["[noecn] S0. ack 1 0(0)"]);
    end.take(at(NOT, 0, 1, 0));
    assert_eq!(end.write(100), ["[noecn] 0. ack 1 1(100)"]);
}

/// tcp_accecn_negotiation_bleach.pkt: an ACK of the SYN-ACK without the flags. Nothing is ECN-capable, but the marks
/// of the peer's packets are reported.
#[test]
fn bleached_flags_end_ecn_in_one_direction() {
    let mut end = End::listening(EcnConfig::ACCURATE);
    end.take(SYN);
    end.take(In { option: counters(1, 0, 1), ..at(ECT0, 0, 1, 0) });
    assert_eq!(end.write(1_000), ["[noecn] 5. ack 1 1(1000) e1b 1 ceb 0 e0b 1"]);
    let sent = end.take(In { acknowledges: 1_001, ..at(CE, 6, 1, 1_000) });
    assert_eq!(sent, ["[noecn] 6. ack 1001 1001(0) e1b 1 ceb 1000 e0b 1"]);
    assert_eq!(end.end.stats().marks_reported, 0);
}

/// tcp_accecn_ecn_field_updates_opt.pkt: the counters of the receiver, with a turn of the ACE field.
#[test]
fn a_receiver_counts_packets_and_bytes() {
    let mut end = End::server();
    let packets = [
        (CE, "6. ack 1001", "e1b 1 ceb 1000 e0b 1"),
        (ECT0, "6. ack 2001", "e1b 1 ceb 1000 e0b 1001"),
        (CE, "7. ack 3001", "e1b 1 ceb 2000 e0b 1001"),
        (ECT1, "7. ack 4001", "e1b 1001 ceb 2000 e0b 1001"),
        (CE, "0. ack 5001", "e1b 1001 ceb 3000 e0b 1001"),
    ];
    for (number, (ecn, ack, option)) in packets.into_iter().enumerate() {
        let sent =
            end.take(In { option: counters(1, 0, 1), ..at(ecn, FIRST, 1 + 1_000 * number as u32, 1_000) });
        assert_eq!(sent, [format!("[ect0] {ack} 1(0) {option}")]);
    }
}

/// tcp_accecn_delivered_updates.pkt: the counters of the sender.
#[test]
fn a_sender_reads_packets_and_bytes() {
    let mut end = End::server();
    let reports = [
        (6, (1, 1_000, 1), 1, (0, 1_000, 0)),
        (6, (1_001, 1_000, 1), 1, (1_000, 1_000, 0)),
        (7, (1_001, 2_000, 1), 2, (1_000, 2_000, 0)),
        (7, (1_001, 2_000, 1_001), 2, (1_000, 2_000, 1_000)),
        (0, (1_001, 3_000, 1_001), 3, (1_000, 3_000, 1_000)),
    ];
    for (number, (ace, (e0b, ceb, e1b), marks, bytes)) in reports.into_iter().enumerate() {
        end.write(1_000);
        let acknowledges = 1_001 + 1_000 * number as u32;
        end.take(In { acknowledges, option: counters(e0b, ceb, e1b), ..at(ECT0, ace, 1, 0) });
        let stats = end.end.stats();
        let read = stats.ecn_bytes_reported;
        assert_eq!((stats.marks_reported, (read.capable0, read.marked, read.capable1)), (marks, bytes));
    }
}

/// tcp_accecn_noprogress.pkt, tcp_accecn_tsprogress.pkt and tcp_accecn_tsnoprogress.pkt: an ACK that may be old is
/// not read, unless its timestamp is newer.
#[test]
fn feedback_that_may_be_old_is_not_read() {
    for (timestamp, marks) in [(None, 0), (Some(2), 0), (Some(3), 1)] {
        let mut end = End::listening(EcnConfig::ACCURATE);
        end.end = TcpEndpoint::new(
            TcpConfig { timestamps: timestamp.is_some(), ..config(EcnConfig::ACCURATE) },
            Path::new(FlowId(0), Direction::Downlink),
        );
        end.take(In { timestamp: timestamp.map(|_| 1), ..SYN });
        end.take(In { timestamp: timestamp.map(|_| 2), ..at(ECT0, 2, 1, 0) });
        end.write(1_000);
        end.take(In { timestamp, ..at(ECT0, 6, 1, 0) });
        assert_eq!(end.end.stats().marks_reported, marks, "{timestamp:?}");
    }
}

/// tcp_accecn_3rd_ack_lost_data_ce.pkt and tcp_accecn_3rd_dups.pkt.
#[test]
fn the_last_ack_of_the_handshake_may_be_lost_or_repeated() {
    let mut end = End::listening(EcnConfig::ACCURATE);
    end.take(SYN);
    let sent = end.take(In { option: counters(1, 0, 1), ..at(CE, FIRST, 1, 1_000) });
    assert_eq!(sent, ["[ect0] 6. ack 1001 1(0) e1b 1 ceb 1000 e0b 1"]);
    let sent = end.take(In { option: counters(1, 0, 1), ..at(CE, FIRST, 1_001, 1_000) });
    assert_eq!(sent, ["[ect0] 7. ack 2001 1(0) e1b 1 ceb 2000 e0b 1"]);

    let mut end = End::server();
    end.take(In { option: counters(1, 0, 1), ..at(ECT0, 2, 1, 0) });
    assert_eq!(end.end.stats().marks_reported, 0);
    let sent = end.take(In { option: counters(1, 0, 1), ..at(CE, FIRST, 1, 1_000) });
    assert_eq!(sent, ["[ect0] 6. ack 1001 1(0) e1b 1 ceb 1000 e0b 1"]);
}

/// tcp_accecn_2nd_data_as_first_connect.pkt: the report of a selectively acknowledged segment. A retransmission is
/// ECN-capable, as a pure ACK is.
#[test]
fn a_mark_is_read_from_a_selective_acknowledgment() {
    let mut end = End::server();
    // Segments leave room for the option: 1050 less 12.
    let sent = end.write(2_000);
    let option = "e1b 1 ceb 0 e0b 1";
    assert_eq!(
        sent,
        [format!("[ect0] 5. ack 1 1(1038) {option}"), format!("[ect0] 5. ack 1 1039(962) {option}")]
    );
    let report = In { option: counters(1, 962, 1), sack: Some((1_039, 2_001)), ..at(ECT0, 6, 1, 0) };
    let mut sent = end.take(report);
    assert_eq!(end.end.stats().marks_reported, 1);
    while sent.is_empty() {
        sent = end.timeout();
    }
    assert_eq!(sent, [format!("[ect0] 5. ack 1 1(1038) {option}")]);
}

/// tcp_accecn_client_accecn_options_drop.pkt: the same data comes again and again, so ACKs with options seem to be
/// dropped.
#[test]
fn options_that_are_dropped_are_no_longer_sent() {
    let mut end = End::server();
    let data = In { option: counters(1, 0, 1), ..at(ECT0, FIRST, 1, 1_000) };
    let sent = [0; 3].map(|_| end.take(data)).concat();
    let ack = "[ect0] 5. ack 1001 1(0)";
    assert_eq!(
        sent,
        [format!("{ack} e1b 1 ceb 0 e0b 1001"), format!("{ack} e1b 1 ceb 0 e0b 2001"), ack.to_owned()]
    );
}

/// RFC 9768 §3.2.2.5.1: every third mark of a pure ACK is answered, and an ACK without data that is not
/// marked never.
#[test]
fn marked_acks_are_answered_in_threes() {
    let mut end = End::server();
    end.write(10_000);
    let answers = [1_001, 2_001, 3_001, 4_001, 5_001, 6_001].map(|acknowledges| {
        let sent = end.take(In { acknowledges, ..at(CE, FIRST, 1, 0) });
        sent.iter().filter(|text| text.contains("(0)")).count()
    });
    assert_eq!(answers, [0, 0, 1, 0, 0, 1]);
}
