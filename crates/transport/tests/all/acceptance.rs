//! The segments that an end accepts (RFC 9293 §3.10.7).

use airlane_core::{
    Cx, Direction, Ecn, FlowId, Header, Instant, Mss, Outbox, PacketPool, Silence, TcpFlags, TcpHeader,
    TcpSynOptions, TopicSet,
};
use airlane_transport::{ConnectionState, Path, TcpConfig, TcpEndpoint};

const ACK: TcpFlags = TcpFlags(TcpFlags::ACK);

/// An end, and the headers that it sends.
struct Table {
    end: TcpEndpoint,
    pool: PacketPool,
}

impl Table {
    fn new() -> Self {
        let config = TcpConfig { initial_sequence: 7_000, ..TcpConfig::linux() };
        let end = TcpEndpoint::new(config, Path::new(FlowId(0), Direction::Downlink));
        Self { end, pool: PacketPool::default() }
    }

    fn call(&mut self, act: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>)) -> Vec<(TcpHeader, u32)> {
        let mut outbox = Outbox::new();
        let mut cx = Cx {
            now: Instant::from_millis(1),
            pool: &mut self.pool,
            outbox: &mut outbox,
            topics: TopicSet::NONE,
            probe: &mut Silence,
        };
        act(&mut self.end, &mut cx);
        self.end.flush(&mut cx);
        let sent = outbox.into_iter().map(|(_, packet)| {
            let packet = self.pool.consume(packet);
            let Header::Tcp(header) = packet.header else { panic!("a stranger") };
            (header, packet.payload.len())
        });
        sent.collect()
    }

    fn take(&mut self, header: TcpHeader, payload: u32) -> Vec<(TcpHeader, u32)> {
        self.call(|end, cx| {
            end.handle_segment(cx, &header, Ecn::NotCapable, payload);
        })
    }

    /// Receives a SYN with this MSS and sequence number 0.
    fn hear_syn(&mut self, mss: Option<u16>) {
        let syn = TcpSynOptions { mss: mss.map(Mss), ..TcpSynOptions::default() };
        let flags = TcpFlags(TcpFlags::SYN);
        self.take(TcpHeader { window: 60_000, flags, syn, ..TcpHeader::default() }, 0);
    }
}

/// A segment with sequence number 1 that acknowledges up to this one.
fn segment(acknowledgment: u32, flags: TcpFlags) -> TcpHeader {
    TcpHeader { sequence: 1, acknowledgment, window: 60_000, flags, ..TcpHeader::default() }
}

#[test]
fn only_its_syn_can_be_acknowledged_before_a_connection_stands() {
    let mut table = Table::new();
    table.hear_syn(Some(1460));
    for acknowledgment in [7_000, 7_002, 7_001 + (1 << 30), 6_000] {
        table.take(segment(acknowledgment, ACK), 0);
        assert_eq!(table.end.state(), ConnectionState::SynReceived, "{acknowledgment}");
    }
    table.take(segment(7_001, ACK), 0);
    assert_eq!(table.end.state(), ConnectionState::Established);
}

/// Without an ACK, data is dropped silently (RFC 9293 §3.10.7.4, fifth). With an ACK of data that was never
/// sent too, as in Linux (`tcp_ack`); RFC 9293 would answer. Data from before the SYN is not acceptable
/// (§3.10.7.4, first).
#[test]
fn data_needs_an_acknowledgment_of_what_was_sent() {
    let mut table = Table::new();
    table.hear_syn(Some(1460));
    table.take(segment(7_001, ACK), 0);
    let cases = [(0, TcpFlags(TcpFlags::PSH), 0), (7_002, ACK, 0), (7_001 + (1 << 30), ACK, 0)];
    for (acknowledgment, flags, answers) in cases {
        let sent = table.take(segment(acknowledgment, flags), 100);
        assert_eq!(sent.len(), answers, "{acknowledgment}");
        assert!(sent.iter().all(|(header, payload)| header.acknowledgment == 1 && *payload == 0));
        assert_eq!(table.end.readable(), 0);
    }
    for before in [1, 1 << 20, 1 << 30] {
        let sequence = 0_u32.wrapping_sub(before);
        let sent = table.take(TcpHeader { sequence, ..segment(7_001, ACK) }, 100);
        assert_eq!(sent.len(), 1, "{before} before its SYN");
        assert_eq!((sent[0].0.acknowledgment, sent[0].1), (1, 0));
        assert_eq!(table.end.readable(), 0);
    }
    table.take(segment(7_001, ACK), 100);
    assert_eq!(table.end.readable(), 100);
}

#[test]
fn a_peer_cannot_ask_for_segments_without_payload() {
    for mss in [0, 1, 11, 12, 48] {
        let mut table = Table::new();
        table.end.supply(100);
        table.hear_syn(Some(mss));
        let sent = table.take(segment(7_001, ACK), 0);
        assert_eq!(sent.iter().map(|(_, payload)| payload).sum::<u32>(), 100, "MSS {mss}");
        assert_eq!(sent[0].1, 48);
    }
}
