//! One end of a TCP connection (RFC 9293): handshake, the two halves, and closing.
//!
//! Driven from outside: [`TcpEndpoint::handle_segment`] and [`TcpEndpoint::handle_timeout`] process
//! events, the application reads and writes, and [`TcpEndpoint::flush`] sends the resulting
//! acknowledgments and data.
//!
//! ```
//! use airlane_transport::{Path, TcpConfig, TcpEndpoint};
//! use airlane_core::{Cx, Direction, FlowId, Instant, PacketPool, Silence, TopicSet};
//!
//! let path = Path::new(FlowId(0), Direction::Downlink);
//! let mut endpoint = TcpEndpoint::new(TcpConfig::linux(), path);
//! endpoint.supply(30_000);
//! endpoint.close();
//! let (mut pool, mut outbox, mut silence) = (PacketPool::default(), Vec::new(), Silence);
//! let mut cx = Cx {
//!     now: Instant::ZERO, pool: &mut pool, outbox: &mut outbox, topics: TopicSet::NONE, probe: &mut silence,
//! };
//! endpoint.connect(&mut cx);
//! assert_eq!(outbox.len(), 1); // the SYN
//! ```

mod admission;
mod inspect;
mod relay;
mod reset;
mod subflow;

use core::num::NonZeroU8;

use airlane_core::{
    Bytes, Cx, Duration, Ecn, Instant, Mss, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps,
};

use crate::accurate::{MarkCounter, OPTION_BYTES};
use crate::config::TcpConfig;
use crate::congestion::{CongestionKind, RadioInformation};
use crate::ecn::{EcnFeedback, handshake_ace};
use crate::header::{Io, Negotiated, send_packet, timestamp};
use crate::path::Path;
use crate::pep::PepReport;
use crate::receiver::{DataSegment, Receiver, ReceiverOptions};
use crate::sender::{Ack, Sender};
use crate::sequence;
use crate::stats::TcpStats;
use crate::window::{ReceiveWindow, Window};

pub use relay::ClosedEnd;
pub use reset::{ResetIn, refusal};
pub use subflow::SubflowState;

/// The smallest MSS that a peer may set, including options (Linux TCP_MIN_SND_MSS).
const MSS_MIN: u16 = 48;

/// The state of a connection (RFC 9293 §3.3.2, with the closing states combined).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// Waits for a SYN.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Open in both directions, or closing.
    Established,
    /// Both sides have closed and all data is acknowledged.
    Closed,
    /// Aborted by a RST, of the peer or of this end (RFC 9293 §3.5.3). Unread data is lost.
    Reset,
    /// Given up because the peer did not answer for too long (RFC 9293 §3.8.3). Unread data is lost.
    TimedOut,
}

/// The application's requests, before or after the connection was established.
#[derive(Clone, Copy, Debug, Default)]
struct ApplicationRequests {
    endless: bool,
    bytes: u64,
    close: bool,
    /// Whether the application closed before the peer's FIN arrived.
    closed_first: bool,
    /// Whether the application will not read any more either.
    gone: bool,
}

#[derive(Debug)]
struct Halves {
    negotiated: Negotiated,
    sender: Sender,
    receiver: Receiver,
}

impl Halves {
    /// The send half, and its environment.
    #[inline(always)]
    fn io<'a, 'c>(
        &'a mut self,
        cx: &'a mut Cx<'c>,
        path: &'a Path,
        stats: &'a mut TcpStats,
    ) -> (&'a mut Sender, Io<'a, 'c>) {
        let Self { negotiated, sender, receiver } = self;
        (sender, Io { cx, path, negotiated, receiver, stats })
    }
}

/// The retransmission of SYN or SYN-ACK.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    sent_at: Instant,
    rto: Duration,
    retransmissions: u32,
    /// The ECN field of the last SYN.
    ecn_of_syn: Ecn,
    /// Expiries of the timer; fewer than retransmissions if the peer's SYN is repeated.
    expiries: u32,
    at: Instant,
}

impl Handshake {
    const IDLE: Self = Self {
        sent_at: Instant::ZERO,
        rto: Duration::ZERO,
        retransmissions: 0,
        ecn_of_syn: Ecn::NotCapable,
        expiries: 0,
        at: Instant::FAR_FUTURE,
    };
}

/// The endpoint.
#[derive(Debug)]
pub struct TcpEndpoint {
    config: TcpConfig,
    path: Path,
    state: ConnectionState,
    handshake: Handshake,
    requests: ApplicationRequests,
    /// First byte of the stream that must not be offered to the peer.
    offer_end: u64,
    halves: Option<Halves>,
    /// Size of the segments of which arriving ones were joined, if they were.
    joined_from: Option<u32>,
    /// From this time on, unacceptable segments without data are answered again.
    answers_from: Instant,
    /// How the peer's RST ended the last connection, if it did.
    ended_by_reset: Option<ResetIn>,
    stats: TcpStats,
}

impl TcpEndpoint {
    /// An endpoint that listens until [`Self::connect`] is called.
    ///
    /// # Panics
    /// If the MTU leaves no room for the headers and some payload.
    #[must_use]
    pub fn new(config: TcpConfig, path: Path) -> Self {
        assert!(config.mtu >= 128, "an MTU of at least 128 bytes");
        let handshake = Handshake { rto: config.rto_initial, ..Handshake::IDLE };
        Self {
            config,
            path,
            state: ConnectionState::Listen,
            handshake,
            requests: ApplicationRequests::default(),
            offer_end: u64::MAX,
            halves: None,
            joined_from: None,
            answers_from: Instant::ZERO,
            ended_by_reset: None,
            stats: TcpStats::default(),
        }
    }

    /// Opens actively.
    pub fn connect(&mut self, cx: &mut Cx<'_>) {
        assert!(self.state == ConnectionState::Listen, "connect is called once, on a fresh endpoint");
        self.state = ConnectionState::SynSent;
        self.send_syn(cx);
    }

    /// The state of the connection.
    #[must_use]
    pub const fn state(&self) -> ConnectionState {
        self.state
    }

    /// Counters and current state.
    #[must_use]
    pub fn stats(&self) -> TcpStats {
        let mut stats = self.stats;
        if let Some(h) = &self.halves {
            h.sender.fill_stats(&mut stats);
            if let Some(counter) = h.receiver.counter() {
                (stats.marks_received, stats.ecn_bytes_received) = counter.received();
            }
        }
        stats
    }

    /// The application always has more data to send.
    pub fn supply_endless(&mut self) {
        self.requests.endless = true;
        if let Some(h) = &mut self.halves {
            h.sender.supply_endless();
        }
    }

    /// The application that always had more data has none for now; [`Self::supply`] and
    /// [`Self::supply_endless`] continue.
    pub fn hold_supply(&mut self) {
        self.requests.endless = false;
        if let Some(h) = &mut self.halves {
            h.sender.hold_supply();
        }
    }

    /// The application writes `bytes` more; [`Self::flush`] sends them.
    pub fn supply(&mut self, bytes: u64) {
        self.requests.bytes += bytes;
        if let Some(h) = &mut self.halves {
            h.sender.supply(bytes);
        }
    }

    /// The application will neither write nor read any more: a FIN follows. Data that arrives now, or was not
    /// read, is answered with a RST (RFC 9293 §3.6.1, RFC 2525 §2.17).
    pub fn close(&mut self) {
        self.requests.gone = true;
        self.shutdown();
    }

    /// The application will write no more, but continues to read: a FIN follows.
    pub fn shutdown(&mut self) {
        if !self.requests.close {
            self.requests.closed_first = !self.halves.as_ref().is_some_and(|h| h.receiver.has_fin());
        }
        self.requests.close = true;
        if let Some(h) = &mut self.halves {
            h.sender.close();
            h.receiver.on_shutdown();
        }
    }

    /// Bytes that can be read.
    #[must_use]
    pub fn readable(&self) -> u64 {
        self.halves.as_ref().map_or(0, |h| h.receiver.readable())
    }

    /// Bytes that were received behind a gap.
    #[must_use]
    pub fn held_beyond(&self) -> u64 {
        self.halves.as_ref().map_or(0, |h| h.receiver.held_beyond())
    }

    /// The application reads up to `limit` bytes; returns the number of bytes read.
    #[inline]
    pub fn read(&mut self, now: Instant, limit: u64) -> u64 {
        let Some(h) = &mut self.halves else { return 0 };
        let bytes = h.receiver.read(now, limit);
        self.stats.bytes_delivered += Bytes(bytes);
        bytes
    }

    /// True when the peer has closed and all its data was read.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.halves.as_ref().is_some_and(|h| h.receiver.finished())
    }

    /// True when all written data, and the FIN, are acknowledged.
    #[must_use]
    pub fn all_acknowledged(&self) -> bool {
        self.halves.as_ref().is_some_and(|h| h.sender.finished())
    }

    /// True when all written data has been sent at least once.
    #[must_use]
    pub fn all_sent(&self) -> bool {
        self.halves.as_ref().is_some_and(|h| h.sender.all_sent())
    }

    /// Bytes that were written and have not been sent yet; all of them before the connection is
    /// established.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.halves.as_ref().map_or(self.requests.bytes, |h| h.sender.unsent())
    }

    /// True when all written data is acknowledged, independent of the FIN.
    #[must_use]
    pub fn data_acknowledged(&self) -> bool {
        self.halves.as_ref().is_some_and(|h| h.sender.data_acknowledged())
    }

    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    #[inline]
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        let halves = self
            .halves
            .as_ref()
            .map_or(Instant::FAR_FUTURE, |h| h.sender.next_timeout().min(h.receiver.next_timeout()));
        halves.min(self.handshake.at)
    }

    /// Handles a segment; returns the payload bytes that became readable.
    pub fn handle_segment(&mut self, cx: &mut Cx<'_>, header: &TcpHeader, ecn: Ecn, payload: u32) -> u64 {
        match self.state {
            ConnectionState::Established | ConnectionState::Closed => {
                self.on_segment(cx, header, ecn, payload)
            }
            ConnectionState::Listen => {
                let others = TcpFlags::ACK | TcpFlags::RST;
                if header.flags.has(TcpFlags::SYN) && header.flags.0 & others == 0 {
                    self.on_syn(cx, header, ecn);
                } else if header.flags.0 & others == TcpFlags::ACK {
                    self.refuse(cx, header, payload); // of a closed connection: RFC 9293 §3.10.7.2
                }
                0
            }
            ConnectionState::SynSent => {
                let acknowledged = sequence::position(header.acknowledgment, self.config.initial_sequence, 1);
                if header.flags.has(TcpFlags::ACK) && acknowledged != 1 {
                    self.on_wrong_ack_in_syn_sent(cx, header, payload);
                } else if header.flags.has(TcpFlags::RST) {
                    self.on_reset_in_syn_sent(header);
                } else if header.flags.has(TcpFlags::SYN | TcpFlags::ACK) {
                    self.on_syn_ack(cx, header, ecn);
                }
                0
            }
            ConnectionState::Reset | ConnectionState::TimedOut => {
                self.refuse(cx, header, payload);
                0
            }
            ConnectionState::SynReceived => self.on_segment_in_syn_received(cx, header, ecn, payload),
        }
    }

    /// The base station's information about the UE at the other end. Ignored before the handshake is
    /// complete.
    pub fn on_radio_information(&mut self, information: &RadioInformation) {
        if let Some(halves) = &mut self.halves {
            halves.sender.on_radio_information(information);
        }
    }

    /// A PEP reports the packets that have passed it. Ignored by a controller without a window for each
    /// domain.
    pub fn handle_pep_report(&mut self, cx: &mut Cx<'_>, report: &PepReport<'_>) {
        if self.state == ConnectionState::Established
            && let Some(halves) = &mut self.halves
        {
            let (sender, mut io) = halves.io(cx, &self.path, &mut self.stats);
            sender.on_pep_report(&mut io, report);
        }
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.handshake.at <= cx.now {
            self.on_handshake_timeout(cx);
        }
        let Some(halves) = &mut self.halves else { return };
        let (sender, mut io) = halves.io(cx, &self.path, &mut self.stats);
        let now = io.now();
        let due = io.receiver.next_timeout() <= now && io.receiver.on_timeout(now);
        sender.on_timer(&mut io);
        if due {
            sender.send_ack(&mut io);
        }
        if sender.has_given_up() {
            self.give_up(cx);
        }
    }

    /// Sends what may be sent: data, and an acknowledgment if one is due.
    #[inline]
    pub fn flush(&mut self, cx: &mut Cx<'_>) {
        // A closed end still answers: the last ACK may not have reached the peer.
        if !matches!(self.state, ConnectionState::Established | ConnectionState::Closed) {
            return;
        }
        let Some(halves) = &mut self.halves else { return };
        let (sender, mut io) = halves.io(cx, &self.path, &mut self.stats);
        if sender.has_fresh_supply() {
            if self.requests.gone && io.receiver.readable() > 0 {
                return self.abort(cx); // RFC 2525 §2.17
            }
            sender.transmit(&mut io);
        }
        let now = io.now();
        if io.receiver.ack_is_due(now) {
            sender.send_ack(&mut io);
        }
        if sender.finished() && io.receiver.finished() {
            self.state = ConnectionState::Closed;
        }
    }

    // Handshake.

    fn window(&self, mss: u32) -> Window {
        Window::new(self.config.receive_window, Bytes(u64::from(mss)))
    }

    /// The window scale with which our largest window fits into 16 bits (RFC 7323 §2.3).
    fn own_scale(&self) -> u8 {
        let ceiling = self.window(u32::from(self.config.mss())).ceiling().get();
        (0..=14).find(|s| ceiling >> s <= 65_535).unwrap_or(14)
    }

    fn syn_header(&self, cx: &Cx<'_>, answer: Option<(&Negotiated, &mut Receiver)>) -> TcpHeader {
        let c = &self.config;
        let (timestamps, sack, scaling, codes) = match &answer {
            None => (c.timestamps, c.sack, c.window_scaling, c.obeys_codes.is_some()),
            Some((n, _)) => (n.timestamps, n.sack, n.local_scale > 0 || n.remote_scale > 0, n.codes),
        };
        let asks = c.ecn.syn_flags(self.handshake.retransmissions);
        let mut header = TcpHeader {
            sequence: c.initial_sequence,
            flags: TcpFlags(TcpFlags::SYN | asks),
            syn: TcpSynOptions {
                mss: Some(Mss(c.mss())),
                window_scale: scaling.then(|| self.own_scale()),
                sack_permitted: sack,
                codes_permitted: codes,
            },
            ..TcpHeader::default()
        };
        let mut echo_reply = 0;
        let mss = u32::from(c.mss());
        let mut window = self.window(mss).first_offer(Bytes(u64::from(mss))).get().min(self.offer_end);
        if let Some((n, receiver)) = answer {
            let ack = receiver.acknowledge_unscaled();
            let agrees = self.agrees(n.ecn);
            // RFC 9768 §3.2.3.2.2: an option that may be the reason for a loss is not sent again.
            let first = n.ecn == EcnFeedback::Accurate && self.handshake.retransmissions == 0;
            header.accurate_ecn = (first && c.ecn.options).then(MarkCounter::first_option);
            header.flags = TcpFlags(TcpFlags::SYN | TcpFlags::ACK | agrees);
            header.acknowledgment = sequence::wire(ack.next, n.remote_initial);
            echo_reply = ack.ts_recent;
            window = ack.window;
        }
        header.window = window.min(65_535) as u16; // RFC 7323 §2.2: a SYN's window is not scaled
        header.timestamps = timestamps.then(|| TcpTimestamps { value: timestamp(cx.now), echo_reply });
        header
    }

    /// The flags of a SYN-ACK. With accurate ECN they report the ECN field of the last SYN. After two lost SYN-ACKs the
    /// flags may be the reason, and a server that has sent none sends no ECN-capable packet (RFC 9768 §3.1.4.2,
    /// §3.1.5).
    fn agrees(&self, feedback: EcnFeedback) -> u16 {
        match feedback {
            EcnFeedback::None => 0,
            EcnFeedback::Classic => TcpFlags::ECE, // RFC 3168 §6.1.1
            EcnFeedback::Accurate if self.handshake.expiries > 1 => 0,
            EcnFeedback::Accurate => TcpFlags::of_ace(handshake_ace(self.handshake.ecn_of_syn)),
        }
    }

    fn send_syn(&mut self, cx: &mut Cx<'_>) {
        let mut halves = self.halves.take();
        let header = self.syn_header(cx, halves.as_mut().map(|h| (&h.negotiated, &mut h.receiver)));
        self.halves = halves;
        if header.flags.has(TcpFlags::ACK) && header.flags.ace() == 0 {
            self.send_not_capable();
        }
        let again = self.handshake.retransmissions > 0;
        self.stats.segments_sent += 1;
        self.stats.handshake_retransmissions += u64::from(again);
        self.handshake.sent_at = cx.now;
        self.handshake.at = cx.now + self.handshake.rto;
        send_packet(cx, &self.path, header, (Ecn::NotCapable, again));
    }

    /// As in Linux, a SYN is first repeated at even intervals (`tcp_syn_linear_timeouts`), then according to
    /// RFC 6298 §5.5; a SYN-ACK backs off from the start. An unanswered connection is finally given up
    /// without a RST (RFC 9293 §3.8.3).
    fn on_handshake_timeout(&mut self, cx: &mut Cx<'_>) {
        let (c, active) = (&self.config, self.state == ConnectionState::SynSent);
        let linear = if active { c.syn_linear_timeouts } else { 0 };
        let limit = if active { c.syn_retries + linear } else { c.synack_retries };
        if self.handshake.expiries >= limit {
            return self.give_up_handshake(cx);
        }
        self.handshake.expiries += 1;
        self.handshake.retransmissions += 1;
        if self.handshake.expiries > linear {
            self.handshake.rto = (self.handshake.rto * 2).min(c.rto_max);
        }
        self.send_syn(cx);
    }

    /// Determines the options from the peer's SYN (RFC 9293 §3.7.1, RFC 7323 §2.2 and §3.2, RFC
    /// 2018 §2) and creates the two halves.
    fn establish(&mut self, header: &TcpHeader, ecn_field: Ecn, now: Instant) {
        let c = &self.config;
        let timestamps = c.timestamps && header.timestamps.is_some();
        let sack = c.sack && header.syn.sack_permitted;
        let scaling = c.window_scaling && header.syn.window_scale.is_some();
        let is_client = header.flags.has(TcpFlags::ACK);
        let ecn = if is_client { c.ecn.agreed(header.flags) } else { c.ecn.answers(header.flags) };
        let accurate = ecn == EcnFeedback::Accurate;
        let stamp_bytes = u32::from(c.option_room) + if timestamps { 12 } else { 0 };
        // Each segment carries the AccECN option, as in Linux.
        let option_bytes = stamp_bytes + if accurate && c.ecn.options { OPTION_BYTES } else { 0 };
        let peer_mss = u32::from(header.syn.mss.map_or(536, |mss| mss.0).max(MSS_MIN)); // RFC 9293 §3.7.1
        let negotiated = Negotiated {
            local_initial: c.initial_sequence,
            remote_initial: header.sequence,
            timestamps,
            sack,
            ecn,
            exact_echo: ecn == EcnFeedback::Classic && c.congestion == CongestionKind::Dctcp,
            codes: c.obeys_codes.is_some() && header.syn.codes_permitted,
            local_scale: if scaling { self.own_scale() } else { 0 },
            remote_scale: if scaling { header.syn.window_scale.unwrap_or(0).min(14) } else { 0 },
            segment_size: peer_mss.min(u32::from(c.mss())) - option_bytes,
            bare_segment_size: peer_mss.min(u32::from(c.mss())) - stamp_bytes,
        };
        let own_segment = u32::from(c.mss()) - option_bytes;
        let options = ReceiverOptions {
            delayed_ack: c.delayed_ack,
            compressed_sack: c.compressed_sack,
            sack,
            timestamps,
            initial: header.sequence,
            scale: negotiated.local_scale,
            segment_size: own_segment,
            // Linux reckons with the timestamps of the peer's SYN, but has none yet when it sends its own
            // (`tcp_openreq_init_rwin`, `tcp_connect_init`).
            first_segment: u32::from(c.mss()) - if is_client { 0 } else { stamp_bytes },
            gro: self.config.gro,
            batched_reads: self.config.gro || self.config.batched_reads,
            arriving_max: self.joined_from.map_or(own_segment, |size| size.min(own_segment)),
        };
        let mut receiver =
            Receiver::new(options, self.window(u32::from(c.mss())), self.offer_end.saturating_add(1));
        if let Some(ts) = header.timestamps.filter(|_| timestamps) {
            receiver.on_timestamp(ts.value, 0);
        }
        let stream = c.seeds.stream(&format!("flow/{}/congestion", self.path.flow.0));
        let mut sender = Sender::new(c, &negotiated, u64::from(header.window), now, stream);
        if accurate {
            receiver.count_marks(MarkCounter::new(ecn_field, is_client));
        }
        if let Some(reader) = sender.marks().filter(|_| is_client) {
            reader.on_syn_ack(header.flags.ace());
            let sees = header.accurate_ecn.is_some_and(|option| reader.sees(&option));
            if let Some(counter) = receiver.marks() {
                counter.send_options(sees && c.ecn.options);
            }
        }
        if self.requests.endless {
            sender.supply_endless();
        }
        sender.supply(self.requests.bytes);
        if self.requests.close {
            sender.close();
            receiver.on_shutdown();
        }
        self.halves = Some(Halves { negotiated, sender, receiver });
    }

    fn on_syn(&mut self, cx: &mut Cx<'_>, header: &TcpHeader, ecn: Ecn) {
        self.handshake.ecn_of_syn = ecn;
        self.ended_by_reset = None;
        self.establish(header, ecn, cx.now);
        self.state = ConnectionState::SynReceived;
        self.send_syn(cx);
    }

    fn on_syn_ack(&mut self, cx: &mut Cx<'_>, header: &TcpHeader, ecn: Ecn) {
        self.establish(header, ecn, cx.now);
        self.complete_handshake(cx.now, header);
        let Some(halves) = &mut self.halves else { return };
        let (sender, mut io) = halves.io(cx, &self.path, &mut self.stats);
        sender.send_ack(&mut io);
        sender.transmit(&mut io);
        sender.report_state(&mut io);
    }

    fn complete_handshake(&mut self, now: Instant, header: &TcpHeader) {
        let again = self.handshake.retransmissions;
        let Some(h) = &mut self.halves else { return };
        let echo = header.timestamps.map(|t| t.echo_reply).filter(|e| h.negotiated.timestamps && *e != 0);
        let rtt = match (again, echo) {
            (0, _) => Some(now - self.handshake.sent_at),
            (_, Some(echo)) => {
                let ms = timestamp(now).wrapping_sub(echo).clamp(1, 0x7fff_ffff);
                Some(Duration::from_millis(u64::from(ms)))
            }
            (_, None) => None, // Karn's rule
        };
        h.sender.on_handshake(now, rtt, again);
        h.receiver.on_established(now);
        self.state = ConnectionState::Established;
        self.handshake.at = Instant::FAR_FUTURE;
        self.stats.established_at = Some(now);
    }

    fn on_segment_in_syn_received(
        &mut self,
        cx: &mut Cx<'_>,
        header: &TcpHeader,
        ecn: Ecn,
        payload: u32,
    ) -> u64 {
        let initial = self.halves.as_ref().map_or(0, |h| h.negotiated.remote_initial);
        if header.flags.0 & (TcpFlags::SYN | TcpFlags::ACK | TcpFlags::RST) == TcpFlags::SYN
            && header.sequence == initial
        {
            self.handshake.retransmissions += 1; // our answer was lost
            self.handshake.ecn_of_syn = ecn;
            if header.flags.ace() == 0 {
                self.send_not_capable();
            }
            self.send_syn(cx);
            return 0;
        }
        let acked = sequence::position(header.acknowledgment, self.config.initial_sequence, 1);
        if !self.takes(header, payload) || acked != 1 {
            let flags = header.flags;
            if acked != 1 && flags.has(TcpFlags::ACK) && flags.0 & (TcpFlags::RST | TcpFlags::SYN) == 0 {
                self.refuse(cx, header, payload); // only our SYN can be acknowledged: RFC 9293 §3.10.7.4
            } else {
                self.admits(cx, header, payload);
            }
            return 0;
        }
        self.complete_handshake(cx.now, header);
        if let Some(reader) = self.halves.as_mut().and_then(|h| h.sender.marks())
            && payload == 0
            && header.sack.is_empty()
            && !header.flags.has(TcpFlags::FIN)
        {
            // From here on it is an ordinary ACK, with the counter that this encoding means.
            let counter = reader.on_ack_of_syn_ack(header.flags.ace());
            let flags = TcpFlags(header.flags.0 & !TcpFlags::ACE | TcpFlags::of_ace(counter));
            return self.on_segment(cx, &TcpHeader { flags, ..*header }, ecn, payload);
        }
        self.on_segment(cx, header, ecn, payload)
    }

    /// A server that received or sent a handshake packet without ECN, after one with accurate ECN, does not know
    /// whether the client has it: no packet is ECN-capable (RFC 9768 §3.1.5).
    fn send_not_capable(&mut self) {
        if let Some(reader) = self.halves.as_mut().and_then(|h| h.sender.marks()) {
            reader.send_not_capable();
        }
    }

    /// The first option of the peer: from now on this end sends options too, as in Linux.
    fn see_option(&mut self, header: &TcpHeader) {
        let Some(option) = &header.accurate_ecn else { return };
        if let Some(h) = &mut self.halves
            && h.sender.marks().is_some_and(|reader| reader.sees(option))
            && let Some(counter) = h.receiver.marks()
        {
            counter.send_options(self.config.ecn.options);
        }
    }

    // Established.

    /// [`Self::admits`]; the answer to a SYN-ACK that arrives again reports its ECN field (RFC 9768 §3.2.2.1).
    #[cold]
    fn admits_with_ecn(&mut self, cx: &mut Cx<'_>, header: &TcpHeader, ecn: Ecn, payload: u32) -> bool {
        if !header.flags.has(TcpFlags::SYN | TcpFlags::ACK) {
            return self.admits(cx, header, payload);
        }
        self.answers_syn_ack(Some(ecn));
        let admitted = self.admits(cx, header, payload);
        self.answers_syn_ack(None); // it may have had no answer
        admitted
    }

    fn answers_syn_ack(&mut self, ecn: Option<Ecn>) {
        if let Some(counter) = self.halves.as_mut().and_then(|h| h.receiver.marks()) {
            counter.answers_syn_ack(ecn);
        }
    }

    /// True for a segment of data that needs few steps: the stream continues with it, and this end only receives.
    #[inline]
    fn is_continuation(&self, header: &TcpHeader, start: u64, payload: u32) -> bool {
        let Some(Halves { negotiated: n, sender, receiver }) = &self.halves else { return false };
        payload > 0
            && header.flags.0 & !TcpFlags::PSH == TcpFlags::ACK
            && n.ecn == EcnFeedback::None
            && !n.codes
            && sender.only_receives()
            && receiver.continues_with(start, payload)
            && !self.requests.gone
    }

    /// Does what [`Self::on_segment`] does with such a segment.
    #[inline]
    fn on_continuation(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        (start, payload): (u64, u32),
        acknowledged: u64,
    ) -> u64 {
        let Some(Halves { negotiated: n, sender, receiver }) = &mut self.halves else { return 0 };
        let stamp = if n.timestamps { header.timestamps } else { None };
        if let Some(ts) = stamp {
            receiver.on_timestamp(ts.value, start);
        }
        sender.on_ack_of_receiver(start, acknowledged, u64::from(header.window) << n.remote_scale);
        self.stats.data_segments_received += 1;
        receiver.on_continuation(&DataSegment {
            now,
            start,
            payload,
            fin: false,
            push: header.flags.has(TcpFlags::PSH),
            stamp,
        })
    }

    #[inline]
    fn on_segment(&mut self, cx: &mut Cx<'_>, header: &TcpHeader, ecn: Ecn, payload: u32) -> u64 {
        let Some(h) = &self.halves else { return 0 };
        let (n, una) = (&h.negotiated, h.sender.una());
        let start = sequence::position(header.sequence, n.remote_initial, h.receiver.next());
        let acknowledged = sequence::position(header.acknowledgment, n.local_initial, una);
        let stamp = if n.timestamps { header.timestamps } else { None };
        let newer = stamp.is_some_and(|stamp| h.receiver.is_newer(stamp.value));
        let accurate = n.ecn == EcnFeedback::Accurate;
        let others = TcpFlags::SYN | TcpFlags::RST | TcpFlags::ACK;
        // An in-order new segment with ordinary flags is always acceptable; `admits` checks all others.
        let ordinary = header.flags.0 & others == TcpFlags::ACK
            && h.receiver.expects(start)
            && acknowledged.wrapping_sub(una) <= h.sender.nxt() - una
            && !stamp.is_some_and(|stamp| h.receiver.is_stale(stamp.value));
        if !ordinary && !self.admits_with_ecn(cx, header, ecn, payload) {
            return 0;
        }
        if ordinary && self.is_continuation(header, start, payload) {
            return self.on_continuation(cx.now, header, (start, payload), acknowledged);
        }
        if accurate {
            self.see_option(header);
        }
        let Some(Halves { negotiated: n, sender, receiver }) = &mut self.halves else { return 0 };
        if let Some(stamp) = stamp {
            receiver.on_timestamp(stamp.value, start); // RFC 7323 §4.3: of acceptable segments alone
        }
        let (fin, push) = (header.flags.has(TcpFlags::FIN), header.flags.has(TcpFlags::PSH));
        let with_data = payload > 0 || fin;
        // As `Halves::io` makes it; borrowing `receiver` separately saves instructions for each segment.
        let mut io = Io { cx, path: &self.path, negotiated: n, receiver, stats: &mut self.stats };
        let ack = Ack {
            ack: acknowledged,
            window: u64::from(header.window) << n.remote_scale,
            segment_start: start,
            with_data,
            sack: if n.sack { header.sack.as_slice() } else { &[] },
            echo: stamp.map(|ts| ts.echo_reply),
            congestion_echoed: n.ecn == EcnFeedback::Classic && header.flags.has(TcpFlags::ECE),
            accurate: accurate.then(|| (header.flags.ace(), header.accurate_ecn)),
            newer,
            code: if n.codes { header.receiver_code.map(NonZeroU8::get) } else { None },
        };
        if accurate {
            io.receiver.on_accurate_ecn(ecn, payload);
        }
        sender.on_ack(&mut io, &ack);
        let now = io.now();
        if with_data {
            if self.requests.gone && start + u64::from(payload) > io.receiver.next() {
                self.refuse(cx, header, payload); // unread data: RFC 9293 §3.6.1, RFC 2525 §2.17
                self.end(ConnectionState::Reset);
                return 0;
            }
            if n.ecn == EcnFeedback::Classic {
                sender.on_ecn(&mut io, ecn, header.flags.has(TcpFlags::CWR));
            }
            let segment = DataSegment { now, start, payload, fin, push, stamp };
            if io.receiver.ends_join(&segment) || io.receiver.crowds_out(start, start + u64::from(payload)) {
                sender.send_ack(&mut io);
            }
            self.stats.data_segments_received += 1;
            return receiver.on_segment(&segment);
        }
        if start < receiver.next() {
            receiver.demand_ack(); // a window probe: RFC 9293 §3.10.7.4
        }
        0
    }
}
