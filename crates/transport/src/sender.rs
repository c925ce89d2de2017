//! The send half: transmission, retransmission and the window.
//!
//! The order of things on an ACK is Linux's, because the congestion window depends on this order:
//! SACK blocks, cumulative ACK, round-trip sample, loss probe, recovery state, timer, window,
//! retransmissions, new data. [`on_ack`](Sender::on_ack) follows this list.

mod ack;
mod alert;
mod domains;
mod joined;
mod paced;
mod subflow;
mod timeout;
mod transmit;
mod writer;

use airlane_core::{AccEcnOption, Bytes, Duration, Ecn, Event, Instant, SackBlock, Stream, Topic};

use crate::accurate::MarkReader;
use crate::config::{LossDetection, RateReductionKind, RttSampling, TcpConfig, WindowGrowth};
use crate::congestion::{Controller, CubicWindow, MultiDomain, Needs, RadioInformation, SegmentWindow};
use crate::delivery::Delivery;
use crate::ecn::EcnFeedback;
use crate::header::{Io, Outgoing};
use crate::info::{TcpInfo, micros, ms_since};
use crate::rack::Rack;
use crate::recovery::{Phase, RateReduction, UndoState};
use crate::rtt::{MinRtt, RttEstimator};
use crate::sack::SackCache;
use crate::scoreboard::Scoreboard;
use crate::stats::TcpStats;
use crate::timer::Timer;
use domains::DomainReports;
pub use subflow::SenderView;
use writer::{SendState, Writer};

/// Duplicate-ACK threshold before the first reordering (RFC 5681 §3.2).
const DUPLICATE_THRESHOLD: u32 = 3;
/// Ceiling of the measured reordering degree (Linux tcp_max_reordering).
const MAX_REORDERING: u32 = 300;
/// Time added to probe and reordering timers: two ticks of the 1 ms clock.
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// An acknowledgment, in stream positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    pub(crate) ack: u64,
    /// The peer's window in bytes.
    pub(crate) window: u64,
    /// First position of the segment with the ACK.
    pub(crate) segment_start: u64,
    /// True if the segment carried data.
    pub(crate) with_data: bool,
    /// The SACK option, as on the wire.
    pub(crate) sack: &'a [SackBlock],
    /// Our timestamp in the peer's echo, in ms.
    pub(crate) echo: Option<u32>,
    /// True if the peer echoes an ECN mark (RFC 3168 §6.1.3), or has reported marks with this ACK.
    pub(crate) congestion_echoed: bool,
    /// The ACE field and the option, with accurate ECN.
    pub(crate) accurate: Option<(u8, Option<AccEcnOption>)>,
    /// True if its timestamp is newer than that of each segment before.
    pub(crate) newer: bool,
    /// The code of an ARWA receiver, if codes were negotiated.
    pub(crate) code: Option<u8>,
}

/// An outstanding tail loss probe (RFC 8985 §7.4).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Sent stream position at the time of the probe.
    end: u64,
    /// True if it repeated sent data.
    retransmission: bool,
    /// Previous send time of that data, or of the newest data for a probe of new data.
    sent_before: Instant,
}

/// The data supplied by the application.
#[derive(Clone, Copy, Debug)]
struct Supply {
    /// True if it changed and nothing was sent since.
    fresh: bool,
    /// True if the last write announced that more follows at once, until it has been sent.
    more: bool,
    /// End of the last write that did not announce more: the segment that ends here carries PSH.
    pushed: u64,
    /// Stream position up to which the application has written; `u64::MAX` if it always has more.
    written: u64,
    /// True if it will write no more.
    closed: bool,
}

#[derive(Clone, Copy, Debug)]
struct SenderOptions {
    /// Maximum growth of the window per acknowledgment in segments.
    growth_max: u32,
    loss_detection: LossDetection,
    careful: bool,
    sack: bool,
    /// Classic ECN.
    ecn: bool,
    frto: bool,
    rate_reduction: RateReductionKind,
    slow_start_after_idle: bool,
    rtt_sampling: RttSampling,
    rtt_from_sack: bool,
    send_buffer: u64,
    write_size: Option<Bytes>,
    gso: bool,
    nagle: bool,
    corked: bool,
    rto_min: Duration,
    rto_max: Duration,
    retries: u32,
    segment_size: u32,
    initial_window_segments: u32,
}

/// The send half.
#[derive(Debug)]
pub(crate) struct Sender {
    options: SenderOptions,
    board: Scoreboard,
    /// First position not acknowledged, and first not sent.
    una: u64,
    nxt: u64,
    /// End of the last segment sent that was not full.
    small_end: u64,
    supply: Supply,
    /// The application of an endless flow, if its writes are modelled.
    writer: Option<Box<Writer>>,
    /// Right edge of the peer's window, its largest width, and the segments that announced it.
    window_end: u64,
    window_from: (u64, u64),
    /// The place of the next segment among those that leave as one: `JOINED`, `PUSHED` for the last, or 0.
    place: u8,
    max_offered: u64,
    controller: Controller,
    rtt: RttEstimator,
    min_rtt: MinRtt,
    /// Timed segment of [`RttSampling::OncePerWindow`]: its end and when it was sent.
    timed: Option<(u64, Instant)>,
    rto: Duration,
    backoff: u32,
    timer: Timer,
    /// True if an ordinary ACK may use the fast path: no ECN, no delivery rate.
    short_way: bool,
    /// Additional flags of the next new segment: CWR after a reduction.
    next_flags: u16,
    /// The reader of accurate ECN, if it was negotiated.
    marks: Option<MarkReader>,
    /// Rate and pacing, for a controller that uses them.
    delivery: Option<Box<Delivery>>,
    /// The reports of a PEP, for a controller with a window for each domain.
    domains: Option<Box<DomainReports>>,
    /// Segments just detected as lost; a buffer that is reused.
    lost_numbers: Vec<u64>,
    phase: Phase,
    /// End of the data that was outstanding at the start of the phase.
    recovery_point: u64,
    reduction: RateReduction,
    undo: UndoState,
    rack: Rack,
    sack_cache: SackCache,
    /// Degree of reordering in segments.
    reordering: u32,
    /// Consecutive duplicate ACKs, without SACK (RFC 6582); they count as SACKed.
    duplicates: u32,
    /// Position beyond which duplicate ACKs count: the end of the data of the last recovery (RFC 6582's
    /// `recover`), 0 for no limit.
    recovered_to: u64,
    probe: Option<Probe>,
    /// True while F-RTO waits for its evidence.
    frto: bool,
    /// Consecutive timeouts without progress.
    timeouts_in_row: u32,
    /// Segments delivered since the start.
    delivered: u64,
    window_use: WindowUse,
    last_sent_at: Instant,
    window_probes_in_row: u32,
    silence: Silence,
    /// Maximum payload of a segment: half of a small window (RFC 9293 §3.8.6.2.1).
    segment_max: u32,
}

/// The time for which the peer has not answered.
#[derive(Clone, Copy, Debug, Default)]
struct Silence {
    /// Time of the first of the consecutive timeouts.
    since: Instant,
    /// True if it has been too long.
    given_up: bool,
}

/// Whether the congestion window limits the sender (RFC 7661 §4.1, as in Linux).
#[derive(Clone, Copy, Debug, Default)]
struct WindowUse {
    limited: bool,
    max_outstanding: u32,
    /// End of the round in which `max_outstanding` is the maximum.
    until: u64,
    /// Maximum number of outstanding segments since the window was last fully used, and its time.
    used: u32,
    in_use_at: Instant,
}

/// A segment takes at most half of the widest window that the peer has offered, so that one can be under way
/// while the previous one is acknowledged; of windows up to 536 bytes it may take all (Linux
/// `tcp_bound_to_half_wnd`; RFC 9293 §3.8.6.2.1).
fn bound_to_half(segment_size: u32, max_offered: u64) -> u32 {
    const DEFAULT_MSS: u64 = 536;
    const LEAST: u64 = 68 - 20; // the smallest packet that each host accepts, less the TCP header
    let cutoff = if max_offered > DEFAULT_MSS { max_offered / 2 } else { max_offered };
    if cutoff == 0 { segment_size } else { u64::from(segment_size).min(cutoff.max(LEAST)) as u32 }
}

impl SenderOptions {
    /// The settings of a connection whose law has these needs.
    fn new(config: &TcpConfig, negotiated: &crate::header::Negotiated, needs: Needs) -> Self {
        Self {
            growth_max: match config.growth {
                WindowGrowth::PerSegment => u32::MAX,
                WindowGrowth::PerAck => 1,
            },
            loss_detection: if negotiated.sack { config.loss_detection } else { LossDetection::Rfc6675 },
            careful: config.careful_fast_retransmit,
            sack: negotiated.sack,
            ecn: negotiated.ecn == EcnFeedback::Classic,
            frto: config.frto && negotiated.sack,
            rate_reduction: config.rate_reduction,
            // As in Linux, not of a law that decides about the window and the rate (cong_control).
            slow_start_after_idle: config.slow_start_after_idle && !needs.path_model && !needs.pacing,
            rtt_sampling: config.rtt_sampling,
            rtt_from_sack: config.rtt_from_sack,
            send_buffer: config.send_buffer.map_or(u64::MAX, Bytes::get),
            write_size: config.write_size,
            gso: config.gso,
            nagle: config.nagle,
            corked: false,
            rto_min: config.rto_min,
            rto_max: config.rto_max,
            retries: config.retries,
            segment_size: negotiated.segment_size,
            initial_window_segments: config.initial_window_segments,
        }
    }
}

impl Sender {
    /// The send half of a connection whose handshake has just been completed. `window` is the
    /// peer's offer in the handshake.
    pub(crate) fn new(
        config: &TcpConfig,
        negotiated: &crate::header::Negotiated,
        window: u64,
        now: Instant,
        stream: Stream,
    ) -> Self {
        let (segment_size, initial) = (negotiated.segment_size, config.initial_window_segments);
        let segments = SegmentWindow::new(segment_size, initial);
        let controller = Controller::new(&config.controller(negotiated.codes), segments, stream);
        let domains = controller.domains().map(|mdcc| Box::new(DomainReports::new(&mdcc.config())));
        let needs = controller.needs();
        let paces = config.pacing || needs.path_model || needs.pacing;
        let rtt = RttEstimator::new(config.rto_min, config.rto_max, config.rto_initial);
        Self {
            options: SenderOptions::new(config, negotiated, needs),
            board: Scoreboard::new(),
            una: 1,
            nxt: 1,
            small_end: 1,
            supply: Supply { fresh: false, more: false, pushed: 1, written: 1, closed: false },
            writer: None,
            window_end: 1 + window,
            window_from: (0, 1),
            place: 0,
            max_offered: window,
            controller,
            rto: rtt.rto(),
            rtt,
            min_rtt: MinRtt::new(),
            timed: None,
            backoff: 0,
            timer: Timer::idle(),
            short_way: !paces && negotiated.ecn == EcnFeedback::None && domains.is_none(),
            next_flags: 0,
            marks: (negotiated.ecn == EcnFeedback::Accurate).then(|| MarkReader::new(config.ecn.fallback)),
            lost_numbers: Vec::with_capacity(64),
            delivery: paces.then(|| Box::new(Delivery::new(now))),
            domains,
            phase: Phase::Open,
            recovery_point: 1,
            reduction: RateReduction::default(),
            undo: UndoState::default(),
            rack: Rack::new(),
            sack_cache: SackCache::default(),
            reordering: DUPLICATE_THRESHOLD,
            duplicates: 0,
            recovered_to: 0,
            probe: None,
            frto: false,
            timeouts_in_row: 0,
            delivered: 0,
            window_use: WindowUse { in_use_at: now, ..WindowUse::default() },
            last_sent_at: now,
            window_probes_in_row: 0,
            silence: Silence::default(),
            segment_max: bound_to_half(segment_size, window),
        }
    }

    /// The round trip of the handshake; `None` if a SYN was repeated and no timestamp shows which
    /// one was answered. More than one repeated SYN reduces the initial window (RFC 5681 §3.1), and
    /// without a sample the timeout starts from 3 s (RFC 6298 §5.7).
    pub(crate) fn on_handshake(&mut self, now: Instant, rtt: Option<Duration>, syn_retransmissions: u32) {
        match rtt {
            Some(rtt) => {
                self.min_rtt.sample(now, rtt);
                self.rtt.sample(rtt, self.una, self.nxt);
            }
            None => self.rtt.assume_initial(Duration::from_secs(3)),
        }
        self.rto = self.rtt.rto();
        if syn_retransmissions > 1 {
            self.controller.on_window_validation(1, u32::MAX);
        }
        self.controller.on_established(now, rtt);
        if let Some(delivery) = &mut self.delivery {
            delivery.rate.on_established(now);
            delivery.set_rate(self.controller.pacing_rate());
        }
    }

    /// The application always has more data.
    pub(crate) fn supply_endless(&mut self) {
        self.supply.fresh = true;
        if let Some(size) = self.options.write_size {
            let windows = if self.controller.needs().path_model { 3 } else { 2 }; // bbr_sndbuf_expand
            self.writer = Some(Box::new(Writer::new(size, self.options.segment_size, windows)));
        } else {
            self.supply.written = u64::MAX;
        }
    }

    /// The base station's information about the UE.
    pub(crate) fn on_radio_information(&mut self, information: &RadioInformation) {
        self.controller.on_radio_information(information);
    }

    /// The application of an endless flow writes while there is room.
    #[cold]
    fn write_more(&mut self, io: &mut Io<'_, '_>) {
        let at = self.send_state();
        let Some(writer) = &mut self.writer else { return };
        if writer.is_blocked() && writer.after_ack(&at) {
            self.supply.written = writer.written();
            self.transmit(io);
        }
    }

    /// The first writes, when the connection is established.
    #[cold]
    fn begin_to_write(&mut self) {
        let at = self.send_state();
        let Some(writer) = &mut self.writer else { return };
        if writer.written() == 1 {
            writer.begin(&at);
            self.supply.written = writer.written();
        }
    }

    fn send_state(&self) -> SendState {
        SendState {
            una: self.una,
            nxt: self.nxt,
            max_offered: self.max_offered,
            in_flight: self.in_flight(),
            window: self.window(),
            reordering: self.reordering,
            merged: self.board.merged(),
        }
    }
    /// The application writes `bytes` more.
    pub(crate) fn supply(&mut self, bytes: u64) {
        self.supply_more(bytes);
        self.supply.more = false;
        self.supply.pushed = self.supply.written;
    }
    /// The application writes `bytes` more, and announces that the next write follows at once (MSG_MORE).
    pub(crate) fn supply_more(&mut self, bytes: u64) {
        self.supply.written = self.supply.written.saturating_add(bytes);
        self.supply.fresh = true;
        self.supply.more = true;
    }
    /// Whether segments that are not full wait for an acknowledgment (Nagle), and whether they wait in any
    /// case (TCP_CORK). Data that waited may go now.
    pub(crate) fn set_waiting(&mut self, nagle: bool, corked: bool) {
        self.options.nagle = nagle;
        self.options.corked = corked;
        self.supply.fresh = true;
    }
    /// The application that always had more data has none now beyond what was sent.
    pub(crate) fn hold_supply(&mut self) {
        if self.supply.written == u64::MAX || self.writer.take().is_some() {
            self.supply.written = self.nxt;
        }
    }

    /// True when all written data has been sent at least once.
    pub(crate) const fn all_sent(&self) -> bool {
        self.nxt >= self.supply.written
    }

    /// Bytes that were written and have not been sent.
    pub(crate) const fn unsent(&self) -> u64 {
        self.supply.written.saturating_sub(self.nxt)
    }

    /// Bytes that were written and are not acknowledged.
    pub(crate) const fn unacknowledged(&self) -> u64 {
        self.supply.written.saturating_sub(self.una)
    }

    /// True when all written data is acknowledged.
    pub(crate) const fn data_acknowledged(&self) -> bool {
        self.una >= self.supply.written
    }

    /// The application closes: a FIN follows the written data. One that always had more ends with
    /// the data sent.
    pub(crate) fn close(&mut self) {
        if self.supply.written == u64::MAX || self.writer.take().is_some() {
            self.supply.written = self.nxt;
        }
        self.supply.closed = true;
        self.supply.fresh = true;
    }

    /// True if the application supplied data or closed since the last transmission.
    #[inline]
    pub(crate) fn has_fresh_supply(&self) -> bool {
        self.supply.fresh
    }

    /// True if the application will write no more.
    pub(crate) const fn is_closed(&self) -> bool {
        self.supply.closed
    }

    /// True when all written data, and the FIN, were acknowledged.
    pub(crate) fn finished(&self) -> bool {
        self.supply.closed && self.una > self.supply.written
    }

    /// When the timer fires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.timer.wake()
    }

    /// Bytes of the stream that the peer has acknowledged.
    #[inline]
    pub(crate) fn data_acknowledged_to(&self) -> u64 {
        self.una.min(self.supply.written) - 1
    }

    /// First position not sent.
    #[inline]
    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// True when the peer has not answered for too long.
    #[inline]
    pub(crate) const fn has_given_up(&self) -> bool {
        self.silence.given_up
    }

    /// Right edge of the peer's window, and its largest width.
    pub(crate) const fn window_end(&self) -> u64 {
        self.window_end
    }

    pub(crate) const fn max_offered(&self) -> u64 {
        self.max_offered
    }

    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// Data arrived with this ECN field, on a connection with classic ECN.
    pub(crate) fn on_ecn(&mut self, io: &mut Io<'_, '_>, ecn: Ecn, window_reduced: bool) {
        if !io.negotiated.exact_echo {
            return io.receiver.on_ecn(ecn, window_reduced);
        }
        if io.receiver.owes_old_echo(ecn) {
            self.send_ack(io);
        }
        io.receiver.on_exact_ecn(ecn);
    }

    /// Sends an acknowledgment without data.
    pub(crate) fn send_ack(&self, io: &mut Io<'_, '_>) {
        self.send(io, self.nxt, 0, 0, false);
    }

    fn send(&self, io: &mut Io<'_, '_>, start: u64, payload: u32, flags: u16, retransmission: bool) {
        io.send(&Outgoing { start, payload, flags, retransmission, capable: self.capable() });
    }

    /// The ECN field of a packet that may be ECN-capable. Only a law whose response to marks is scalable may use
    /// ECT(1) (RFC 9331 §4.3), and only with accurate feedback (§4.2).
    fn capable(&self) -> Ecn {
        match (&self.marks, self.options.ecn) {
            (Some(marks), _) if !marks.is_capable() => Ecn::NotCapable,
            (Some(_), _) if self.controller.needs().scalable => Ecn::Capable1,
            (Some(_), _) => Ecn::Capable0,
            (None, true) => Ecn::Capable0,
            (None, false) => Ecn::NotCapable,
        }
    }

    /// The current congestion window in segments: that of recovery during recovery.
    #[inline]
    fn window(&self) -> u32 {
        let window =
            if self.phase.reduces() { self.reduction.window } else { self.controller.window_segments() };
        if self.domains.is_some() { self.window_of_domains(window) } else { window }
    }

    /// The current congestion window in bytes, exact for a controller that counts bytes.
    fn window_bytes(&self) -> Bytes {
        if self.phase.reduces() {
            self.bytes(self.reduction.window)
        } else {
            self.controller.congestion_window()
        }
    }

    /// Segments in the network. Without SACK, each duplicate ACK means that one has left it.
    #[inline]
    fn in_flight(&self) -> u32 {
        self.board.in_flight().saturating_sub(self.duplicates)
    }

    #[inline]
    fn bytes(&self, segments: u32) -> Bytes {
        Bytes(u64::from(segments) * u64::from(self.options.segment_size))
    }

    /// Segments delivered out of order.
    #[inline]
    fn out_of_order(&self) -> u32 {
        self.board.sacked() + self.duplicates
    }

    /// The reader of accurate ECN, if it was negotiated.
    pub(crate) const fn marks(&mut self) -> Option<&mut MarkReader> {
        self.marks.as_mut()
    }

    /// The fields of `tcp_info` that the send half knows.
    pub(crate) fn fill_info(&self, info: &mut TcpInfo, now: Instant) {
        info.ca_state = match self.phase {
            Phase::Open => 0,
            Phase::Disorder => 1,
            Phase::Reduction => 2,
            Phase::Recovery => 3,
            Phase::Loss => 4,
        };
        info.retransmits = self.timeouts_in_row;
        info.probes = self.window_probes_in_row;
        info.backoff = self.backoff;
        info.rto_us = micros(self.rto);
        info.snd_mss = self.options.segment_size;
        info.unacked = self.board.outstanding();
        info.sacked = self.out_of_order();
        info.lost = self.board.lost();
        info.retrans = self.board.retransmitted();
        info.last_data_sent_ms = ms_since(now, self.last_sent_at);
        info.rtt_us = micros(self.rtt.srtt());
        info.rttvar_us = micros(self.rtt.deviation());
        let min_rtt = self.min_rtt.get();
        info.min_rtt_us = if min_rtt.is_zero() { u64::from(u32::MAX) } else { micros(min_rtt) };
        info.snd_ssthresh = self.controller.ssthresh_segments().min(0x7fff_ffff);
        info.snd_cwnd = self.window();
        info.reordering = self.reordering;
        info.notsent_bytes = self.unsent();
        info.delivered = self.delivered + 1; // the SYN
        if let Some(marks) = &self.marks {
            info.delivered_ce = u64::from(marks.reported());
        }
        info.snd_wnd = self.window_end.saturating_sub(self.una);
    }

    pub(crate) fn fill_stats(&self, stats: &mut TcpStats) {
        if let Some(marks) = &self.marks {
            stats.ecn_bytes_reported = marks.delivered_bytes();
        }
        stats.srtt = self.rtt.srtt();
        stats.rto = self.rto;
        stats.congestion_window = self.window_bytes();
        stats.ssthresh = self.controller.ssthresh();
        stats.in_flight = self.bytes(self.in_flight());
    }

    /// Reports window, threshold and segments in flight to observers. An end whose application has
    /// supplied no data reports nothing: its window is not that of the flow.
    #[inline]
    pub(crate) fn report_state(&self, io: &mut Io<'_, '_>) {
        if io.cx.wants(Topic::FlowState) && self.supply.written > 1 {
            io.cx.emit(&Event::FlowState {
                flow: io.path.flow,
                congestion_window: self.window_bytes(),
                ssthresh: self.controller.ssthresh(),
                in_flight: self.bytes(self.in_flight()),
                offered_window: Some(Bytes(self.window_end.saturating_sub(self.una))),
                cubic: self.controller.cubic_curve(),
            });
            self.report_domains(io);
        }
        if io.cx.wants(Topic::PathModel)
            && self.supply.written > 1
            && let Some(model) = self.controller.path_model(self.in_flight())
        {
            io.cx.emit(&Event::PathModel { flow: io.path.flow, model });
        }
    }
}
