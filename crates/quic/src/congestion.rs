//! Our controllers as an implementation of quinn's `congestion::Controller`.
//!
//! quinn counts bytes and reports acknowledgments per packet and losses per batch. Our controllers count
//! segments and receive each acknowledgment once. A segment is a full datagram. Recovery periods (RFC 9002
//! §7.3.2) are determined here, as the TCP sender does for TCP; reductions are immediate (there is no rate
//! reduction in between).

use std::sync::Arc;

use airlane_core::{Bytes, CubicCurve, Duration, Instant, Stream};
use airlane_transport::CongestionKind;
use airlane_transport::congestion::{
    AckSample, Arrival, Controller, CubicWindow, Domain, InflightScope, LossCause, LossEpisode, MarkSample,
    MultiDomain, Phase, PhaseChange, Restart, SegmentWindow, Snapshot, TimeoutEpisode, Transmission,
};
#[cfg(not(target_family = "wasm"))]
use airlane_transport::model::DomainCounts;
use airlane_transport::model::{Domains, SendNote};

use crate::flight::Flight;
use crate::marks::{Reader, Reports};
use crate::model::{Model, Supply, Totals, WindowUse};
use crate::pacer::{LeakyBucket, QuicPacing, RatePacer};
use crate::setup::QuicConfig;
use crate::time::{LastTime, QuinnInstant};
use crate::timeouts::{QuicTimeouts, Timeouts};

/// kMinimumWindow in datagrams (RFC 9002 §7.2).
const MINIMUM_WINDOW: u32 = 2;
/// max_ack_delay if the peer sends none (RFC 9000 §18.2).
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// The sums over the packets of one acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    packets: u32,
    /// Bytes of these sent after the last reduction: they let the window grow (RFC 9002 §7.3.2).
    growing: u64,
    newest_sent: Option<Instant>,
}

/// Events of the sender since the last query, which the endpoint may report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderEvents {
    /// Round trip of the newest packet of the last acknowledgment.
    pub(crate) rtt: Option<Duration>,
    /// True if losses were reported.
    pub(crate) lost: bool,
    /// True if a timeout was found to be spurious.
    pub(crate) undone: bool,
}

/// The classification of a loss or a timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    /// Send time of the packet that determined it: the newest lost, or the oldest outstanding.
    pub(crate) sent_at: Instant,
    pub(crate) timeout: bool,
    pub(crate) cause: LossCause,
}

/// Window, threshold and bytes in flight.
pub(crate) type State = (Bytes, Option<Bytes>, Bytes);

/// The state of a sender for observers.
pub(crate) struct StateReport {
    pub(crate) state: State,
    pub(crate) cubic: Option<CubicCurve>,
    /// Windows of the two domains and the round trip to the PEP, if there are two.
    pub(crate) domains: Option<(Bytes, Bytes, Duration)>,
}

/// A timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    pub(crate) rto: Duration,
    pub(crate) congestion_window: Bytes,
    pub(crate) in_flight: Bytes,
    pub(crate) backoff: u32,
    pub(crate) in_recovery: bool,
}

/// The congestion-control part of a connection's sender.
pub(crate) struct Sender {
    pub(crate) controller: Controller,
    pub(crate) initial_window: u32,
    established: bool,
    batch: Batch,
    /// Acknowledged bytes less than a segment.
    carry: u64,
    /// Start of the last recovery period. Packets sent until then belong to it, also those that are
    /// detected as lost after its end (RFC 9002 appendix B.2, congestion_recovery_start_time).
    recovery_from: Option<Instant>,
    in_recovery: bool,
    last_sent_at: Instant,
    /// Send time and size of the datagram that quinn announced last, until it is known whether it is in flight.
    pub(crate) announced: Option<(Instant, u64)>,
    /// Bytes sent; bytes that are acknowledged or lost, and bytes that are acknowledged.
    sent: u64,
    settled: u64,
    delivered: u64,
    in_flight: u64,
    srtt: Duration,
    flight: Flight,
    packet_threshold: u64,
    /// Our own timer, if silence reduces the window.
    timeouts: Option<Timeouts>,
    /// The window before a timeout, if it may be restored.
    before_timeout: Option<Snapshot>,
    /// Whether the controller ever restores it.
    undoes: bool,
    events: SenderEvents,
    /// Classifications since the last query.
    judged: Vec<Judged>,
    /// The reports of a PEP, for a controller with a window for each domain.
    domains: Option<Domains>,
    /// Delivery rates, for a model-based controller.
    model: Option<Model>,
    /// The use of the window, for the samples of these.
    window_use: WindowUse,
    /// Pacing at the controller's rate, for controllers that may give one.
    rate_pacer: Option<RatePacer>,
    /// The reports of the peer about congestion marks, read for a controller that needs them.
    reports: Arc<Reports>,
    /// Pacing that is stricter than quinn's.
    bucket: Option<LeakyBucket>,
    /// The phase of loss recovery.
    phase: Phase,
    /// Consecutive probe timeouts.
    probes_in_row: u32,
    /// The times of quinn's calls, and of the packets that they are about.
    pub(crate) call_time: LastTime,
    pub(crate) send_time: LastTime,
}

impl Sender {
    pub(crate) fn new(config: &QuicConfig, payload: u16, stream: Stream) -> Self {
        let window = SegmentWindow::new(u32::from(payload), config.initial_window);
        let controller = Controller::new(&config.controller(), window, stream);
        let domains = controller.domains().map(|mdcc| Domains::new(&mdcc.config()));
        let model = controller.needs().path_model.then(Model::new);
        let own = config.controller().kind == CongestionKind::Own;
        let gives_rate = own || model.is_some() || controller.needs().pacing;
        Self {
            controller,
            initial_window: config.initial_window,
            established: false,
            batch: Batch::default(),
            carry: 0,
            recovery_from: None,
            in_recovery: false,
            last_sent_at: Instant::ZERO,
            announced: None,
            sent: 0,
            settled: 0,
            delivered: 0,
            in_flight: 0,
            srtt: Duration::ZERO,
            flight: Flight::default(),
            packet_threshold: u64::from(config.packet_threshold),
            timeouts: match config.timeouts {
                QuicTimeouts::Probe => None,
                QuicTimeouts::Collapse { floor } => Some(Timeouts::new(floor)),
            },
            before_timeout: None,
            undoes: config.congestion != CongestionKind::NewReno,
            events: SenderEvents::default(),
            judged: Vec::new(),
            domains,
            rate_pacer: gives_rate.then(RatePacer::default),
            reports: Arc::default(),
            model,
            window_use: WindowUse::default(),
            bucket: (config.pacing == QuicPacing::Picoquic2020).then(LeakyBucket::default),
            phase: Phase::Open,
            probes_in_row: 0,
            call_time: LastTime::default(),
            send_time: LastTime::default(),
        }
    }

    pub(crate) fn segment(&self) -> u64 {
        u64::from(self.controller.window().segment_size())
    }

    /// Number of segments for these bytes, the last of them not full.
    fn segments(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.segment()) as u32
    }

    /// Takes the events since the last query.
    pub(crate) fn take_events(&mut self) -> SenderEvents {
        core::mem::take(&mut self.events)
    }

    /// Takes the classifications since the last query.
    #[inline]
    pub(crate) fn take_judged(&mut self) -> Vec<Judged> {
        core::mem::take(&mut self.judged)
    }

    /// The state of the sender.
    pub(crate) fn state(&self) -> State {
        (self.window(), self.controller.ssthresh(), Bytes(self.in_flight))
    }

    /// A report of this state.
    pub(crate) fn report(&self, state: State) -> StateReport {
        StateReport { state, cubic: self.controller.cubic_curve(), domains: self.domain_state() }
    }

    fn enter(&mut self, phase: Phase) {
        let totals = self.totals(self.last_sent_at);
        let delivery = self.model.as_ref().map(|model| model.totals(&totals));
        self.phase = phase;
        self.controller.on_phase(&PhaseChange { phase, sent_to: self.sent, delivery });
    }

    fn totals(&self, now: Instant) -> Totals {
        let next_send_at = self.rate_pacer.as_ref().map_or(now, RatePacer::next_send_at);
        let in_flight = self.segments(self.in_flight);
        let window_limited = self.window_use.is_limited();
        Totals { now, in_flight, window_limited, srtt: self.srtt, next_send_at, phase: self.phase }
    }

    /// Called before sending: passes deliveries and losses to a model-based controller, and allows data if
    /// pacing does.
    pub(crate) fn settle(&mut self, now: Instant) {
        if !self.paces() {
            return; // a model-based controller always paces
        }
        self.pace(now);
        let totals = self.totals(now);
        let mut rate_changes = self.model.is_none();
        if let Some(model) = &mut self.model
            && let Some(sample) = model.sample(&totals)
        {
            rate_changes = true;
            self.controller.on_delivery(&sample);
            if self.controller.holds_back() {
                model.rate.mark_app_limited(totals.in_flight);
            }
        }
        if let Some(pacer) = &mut self.rate_pacer {
            if rate_changes {
                pacer.set_rate(self.controller.pacing_rate());
            }
            pacer.open(now, self.controller.send_quantum());
        }
    }

    /// Updates the pacing rate.
    fn follow_rate(&mut self) {
        if let Some(pacer) = &mut self.rate_pacer {
            pacer.set_rate(self.controller.pacing_rate());
        }
    }

    /// True if it delays data in addition to quinn.
    const fn paces(&self) -> bool {
        self.rate_pacer.is_some() || self.bucket.is_some()
    }

    /// True if [`Self::next_timeout`] or [`Self::paced_until`] may give a time.
    pub(crate) const fn has_times(&self) -> bool {
        self.paces() || self.has_timer()
    }

    /// Sets the time of the next calls of quinn.
    pub(crate) const fn begin(&mut self, at: QuinnInstant, now: Instant) {
        self.call_time.set(at, now);
    }

    /// True if a rate of the controller determines when datagrams leave, and no other pacing shall.
    pub(crate) fn paces_alone(&self) -> bool {
        self.bucket.is_none() && self.rate_pacer.as_ref().is_some_and(RatePacer::has_rate)
    }

    /// True if the window has room for a full datagram. quinn's bytes in flight differ by a probe of the path MTU, which
    /// it does not report.
    pub(crate) fn has_room(&self) -> bool {
        Bytes(self.in_flight + self.segment()) <= self.window()
    }

    /// Updates the bucket with the current window.
    fn pace(&mut self, now: Instant) {
        if self.bucket.is_none() {
            return;
        }
        let (window, segment, srtt) = (self.window(), self.segment(), self.srtt);
        let slow_start = self.controller.ssthresh().is_none_or(|threshold| window < threshold);
        if let Some(bucket) = &mut self.bucket {
            bucket.fill(now);
            bucket.set(window.get(), segment, srtt, slow_start);
        }
    }

    /// The time until which data has to wait, independent of the window.
    pub(crate) fn waits_until(&self) -> Option<Instant> {
        let rate = self.rate_pacer.as_ref().and_then(RatePacer::waits_until);
        rate.max(self.bucket.as_ref().and_then(LeakyBucket::waits_until))
    }

    /// The time when delayed data may leave.
    pub(crate) fn paced_until(&self) -> Option<Instant> {
        let until = self.waits_until()?;
        (Bytes(self.in_flight) < self.controller.congestion_window()).then_some(until)
    }

    fn episode(&self, now: Instant, lost_segments: u32, newest_lost: u64) -> LossEpisode {
        LossEpisode {
            now,
            in_flight_segments: self.segments(self.in_flight),
            window_segments: self.controller.window_segments(),
            marked: lost_segments == 0,
            lost_segments,
            newest_lost,
        }
    }

    fn on_loss(&mut self, now: Instant, sent_at: Instant, (lost_segments, newest_lost): (u32, u64)) {
        self.end_recovery();
        let episode = self.episode(now, lost_segments, newest_lost);
        let marked = episode.marked;
        let cause = if marked {
            self.controller.on_ecn(&episode);
            if let Some(domains) = &mut self.domains {
                domains.on_reduced(now);
            }
            LossCause::Congestion
        } else {
            let cause = self.controller.on_loss(&episode);
            self.judged.push(Judged { sent_at, timeout: false, cause });
            cause
        };
        // A loss without a reduction begins no recovery: the next loss of the same flight is classified again.
        if cause == LossCause::Congestion {
            self.recovery_from = Some(now);
            self.in_recovery = true;
            self.before_timeout = None;
            self.enter(if marked { Phase::Reduction } else { Phase::Recovery });
            self.carry = 0;
        } else {
            self.controller.on_recovery_exit();
        }
    }

    /// A packet sent during recovery ends it (RFC 9002 §7.3.2). The controller then sets the window:
    /// Westwood's is its current estimate.
    fn end_recovery(&mut self) {
        if core::mem::take(&mut self.in_recovery) {
            self.controller.on_recovery_exit();
            self.enter(Phase::Open);
        }
    }

    /// The current window: the threshold from the start of a recovery period on (RFC 9002 §7.3.2).
    pub(crate) fn window(&self) -> Bytes {
        let window = self.controller.congestion_window();
        let window = match self.controller.ssthresh() {
            Some(threshold) if self.in_recovery && self.domains.is_none() && self.model.is_none() => {
                window.min(threshold)
            }
            _ => window,
        };
        if self.domains.is_none() {
            return window;
        }
        match self.controller.domains() {
            Some(mdcc) if mdcc.config().inflight_scope == InflightScope::PerDomain => {
                let internet = mdcc.window_of(Domain::Internet).bytes().get();
                window.min(Bytes(internet + self.flight.seen_bytes()))
            }
            _ => window,
        }
    }

    /// A PEP has seen packets with these identifiers; the newest passed `delay` before its report.
    pub(crate) fn on_seen(&mut self, now: Instant, identifiers: &[u64], delay: Duration) {
        let Some(domains) = &mut self.domains else { return };
        let mut newest: Option<Instant> = None;
        for identifier in identifiers {
            if let Some(packet) = self.flight.on_seen(*identifier) {
                domains.on_seen(packet.sent_at, packet.bytes);
                newest = newest.max(Some(packet.sent_at));
            }
        }
        let Some(sent_at) = newest else { return };
        let rtt = domains.on_rtt(now.saturating_since(sent_at), delay);
        domains.on_report(now, &mut self.controller);
        self.grow_domain(now, Domain::Internet, Some(rtt), true, self.in_flight);
    }

    /// Processes an acknowledgment of the client for both domains.
    fn drive_domains(&mut self, now: Instant, rtt: Duration, window_limited: bool, max_outstanding: u64) {
        let Some(domains) = &mut self.domains else { return };
        domains.on_client_rtt(rtt);
        // About a probe timeout: two round trips and the maximum delay of an acknowledgment (RFC 9000 §18.2).
        domains.on_acknowledgment(now, self.srtt * 2 + MAX_ACK_DELAY, &mut self.controller);
        let own = (!domains.hears_pep()).then_some(rtt);
        self.grow_domain(now, Domain::Internet, own, window_limited, max_outstanding);
        self.grow_domain(now, Domain::Ran, Some(rtt), window_limited, max_outstanding);
    }

    fn grow_domain(
        &mut self,
        now: Instant,
        domain: Domain,
        rtt: Option<Duration>,
        window_limited: bool,
        max_outstanding: u64,
    ) {
        let segment = self.segment();
        let (Some(domains), Some(mdcc)) = (&mut self.domains, self.controller.domains()) else { return };
        let limits = mdcc.limits(domain, (self.flight.seen_bytes() / segment) as u32);
        let delivered = domains.take_delivered(domain, segment);
        let heard = domains.hears_pep() && domain == Domain::Internet;
        let srtt = if heard { domains.srtt() } else { self.srtt };
        let sample = AckSample {
            now,
            delivered_segments: delivered,
            may_grow: delivered > 0,
            window_limited: window_limited && limits,
            max_outstanding_segments: self.segments(max_outstanding),
            outstanding_segments: self.segments(self.in_flight),
            rtt,
            srtt,
            acked_to: self.settled,
            sent_to: self.sent,
        };
        self.controller.on_domain_ack(domain, &sample);
    }

    /// Windows of the two domains and the round trip to the PEP, if there are two.
    pub(crate) fn domain_state(&self) -> Option<(Bytes, Bytes, Duration)> {
        let (mdcc, domains) = (self.controller.domains()?, self.domains.as_ref()?);
        Some((mdcc.window_of(Domain::Internet).bytes(), mdcc.window_of(Domain::Ran).bytes(), domains.srtt()))
    }

    /// True if it has its own timer, whose expiry reduces the window.
    pub(crate) const fn has_timer(&self) -> bool {
        self.timeouts.is_some()
    }

    /// When [`Self::on_timeout`] is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.timeouts.as_ref()?.deadline(&self.flight)
    }

    /// The timer of the oldest packet fires: the window collapses, unless it has already for packets
    /// sent then.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> Option<Expiry> {
        let in_recovery = self.in_recovery;
        let timeouts = self.timeouts.as_mut()?;
        let (rto, oldest) = (timeouts.rto(), timeouts.deadline(&self.flight).map(|at| at - timeouts.rto())?);
        let backoff = timeouts.fire(now, &self.flight);
        let (congestion_window, _, in_flight) = self.state();
        let expiry = Expiry { rto, congestion_window, in_flight, backoff, in_recovery };
        if self.judge_timeout(now, oldest) != LossCause::Congestion {
            return Some(expiry);
        }
        let new_episode = self.recovery_from.is_none_or(|from| oldest > from);
        self.before_timeout = new_episode.then(|| self.controller.snapshot());
        self.restart(now, new_episode);
        self.recovery_from = Some(now);
        Some(expiry)
    }

    /// The class of a timeout whose oldest packet was sent at this time.
    fn judge_timeout(&mut self, now: Instant, sent_at: Instant) -> LossCause {
        let cause = self.controller.cause_of_timeout(&self.episode(now, 1, 0));
        self.judged.push(Judged { sent_at, timeout: true, cause });
        cause
    }

    /// Send time of the last packet, from which probe timers run (RFC 9002 §6.2.1).
    pub(crate) const fn last_sent_at(&self) -> Instant {
        self.last_sent_at
    }

    /// quinn's probe timer has fired.
    pub(crate) fn on_probe_timeout(&mut self, waited: Duration) -> Expiry {
        self.probes_in_row += 1;
        let (congestion_window, _, in_flight) = self.state();
        Expiry {
            rto: waited,
            congestion_window,
            in_flight,
            backoff: self.probes_in_row,
            in_recovery: self.in_recovery,
        }
    }

    /// The packet whose timer fired is acknowledged.
    fn on_spurious_timeout(&mut self) {
        // picoquic's CUBIC always restores the window (cubic.c). Its NewReno would within a round trip
        // (newreno.c), but in the logs published with MELD's code it never does: the window is reduced from
        // 12, 273 and 141 packets to two and is not restored.
        let Some(before) = self.before_timeout.take().filter(|_| self.undoes) else { return };
        self.controller.on_undo(&before);
        self.events.undone = true;
    }

    fn restart(&mut self, now: Instant, new_episode: bool) {
        self.enter(Phase::Loss);
        self.controller.on_timeout(&TimeoutEpisode {
            now,
            new_episode,
            restart_segments: MINIMUM_WINDOW,
            acked_to: self.settled,
            sent_to: self.sent,
        });
        if let Some(domains) = &mut self.domains {
            domains.on_reduced(now);
        }
        self.in_recovery = false;
        self.enter(Phase::Open);
    }

    /// RFC 9002 §7.6.2.
    fn on_persistent_congestion(&mut self, now: Instant, sent_at: Instant) {
        if self.judge_timeout(now, sent_at) != LossCause::Congestion {
            return;
        }
        self.restart(now, false);
        self.recovery_from = None;
    }

    /// True if only calls of the sender change the window, and sending does not, while packets are in flight.
    pub(crate) const fn keeps_window(&self) -> bool {
        self.in_flight > 0 && !self.paces() && self.domains.is_none()
    }

    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.flight.forget_unacknowledgeable(self.packet_threshold);
        if self.in_flight == 0 {
            self.controller.on_restart(&Restart {
                now,
                last_sent_at: self.last_sent_at,
                sent_to: self.sent,
                app_limited: false,
                srtt: self.srtt,
            });
        }
        let in_flight = if self.model.is_some() { self.segments(self.in_flight) } else { 0 };
        if self.controller.needs().transmissions
            && let Some(pacer) = &mut self.rate_pacer
        {
            let number = self.flight.next_serial();
            self.controller.on_sent(&Transmission { now, number, bytes: Bytes(bytes) });
            pacer.set_rate(self.controller.pacing_rate());
        }
        let note = self.model.as_mut().map_or_else(SendNote::default, |model| model.on_sent(now, in_flight));
        if let Some(pacer) = &mut self.rate_pacer {
            pacer.on_sent(now, bytes);
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.on_sent(now);
        }
        self.last_sent_at = now;
        self.sent += bytes;
        self.in_flight += bytes;
        self.flight.on_sent(now, bytes, note);
        self.note_window_use(!self.has_room());
    }

    /// For the samples of a model-based controller.
    fn note_window_use(&mut self, full: bool) {
        if self.model.is_some() {
            self.window_use.note(full, self.in_flight, (self.settled, self.sent));
        }
    }

    /// Sets the PEP's identifier of the last packet.
    pub(crate) fn name_newest(&mut self, identifier: u64) {
        self.flight.name_newest(identifier);
    }

    pub(crate) fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, srtt: Duration) {
        self.probes_in_row = 0;
        let packet = self.flight.on_acked(sent, bytes);
        if let (Some(domains), Some(packet)) = (&mut self.domains, &packet) {
            domains.on_delivered(packet.sent_at, packet.bytes, packet.seen);
        }
        if let (Some(model), Some(packet)) = (&mut self.model, &packet) {
            model.on_acked(packet);
            self.controller.on_transmission_delivered(packet.serial);
        }
        if let (Some(timeouts), Some(packet)) = (&mut self.timeouts, packet)
            && timeouts.proves_spurious(packet)
        {
            self.on_spurious_timeout();
        }
        if !self.established {
            self.established = true;
            self.controller.on_established(now, Some(now.saturating_since(sent)));
            self.follow_rate();
        }
        self.batch.bytes += bytes;
        self.batch.packets += 1;
        if self.recovery_from.is_none_or(|from| sent > from) {
            self.batch.growing += bytes;
            self.end_recovery();
        }
        self.batch.newest_sent = self.batch.newest_sent.max(Some(sent));
        self.srtt = srtt;
    }

    pub(crate) fn on_end_acks(&mut self, now: Instant, in_flight: u64, supply: Supply) {
        let batch = core::mem::take(&mut self.batch);
        let Some(sent) = batch.newest_sent else { return };
        let rtt = now.saturating_since(sent);
        let outstanding = self.segments(in_flight);
        let max_outstanding = self.segments(in_flight + batch.bytes);
        if supply == Supply::Sendable && !self.has_room() {
            self.note_window_use(true); // also where a window that shrank let nothing leave since the last acknowledgment
        }
        self.in_flight = in_flight;
        self.delivered += batch.bytes;
        self.settled = self.settled.max(self.sent.saturating_sub(in_flight));
        if let Some(timeouts) = &mut self.timeouts {
            timeouts.on_rtt(rtt);
        }
        if self.controller.needs().arrivals {
            self.controller.on_arrival(&Arrival { now, acked_to: self.delivered, rtt: Some(rtt) });
        }
        self.events.rtt = Some(rtt);
        self.pass_on_marks(now, &batch);
        if let Some(model) = &mut self.model {
            model.on_end_acks(rtt, max_outstanding, supply == Supply::Nothing);
            return;
        }
        // A window that is not used does not grow, whatever leaves it unused (RFC 9002 §7.8).
        let window_limited = supply == Supply::Sendable;
        if self.domains.is_some() {
            self.drive_domains(now, rtt, window_limited, in_flight + batch.bytes);
            return;
        }
        self.carry += batch.growing;
        let delivered_segments = (self.carry / self.segment()) as u32;
        self.carry %= self.segment();
        self.controller.on_ack(&AckSample {
            now,
            delivered_segments,
            may_grow: delivered_segments > 0,
            window_limited,
            max_outstanding_segments: max_outstanding,
            outstanding_segments: outstanding,
            rtt: Some(rtt),
            srtt: self.srtt,
            acked_to: self.settled,
            sent_to: self.sent,
        });
    }

    /// The reader of the peer's reports about marks, if the controller needs their number.
    pub(crate) fn reader(&self) -> Option<Reader> {
        let needs = self.controller.needs();
        needs.marks.then(|| Reader { reports: Arc::clone(&self.reports), exchanges: needs.scalable })
    }

    /// True if datagrams are sent with ECT(1).
    pub(crate) const fn is_scalable(&self) -> bool {
        self.controller.needs().scalable
    }

    /// Passes the marks of an acknowledgment to a controller that needs their number.
    fn pass_on_marks(&mut self, now: Instant, batch: &Batch) {
        if !self.controller.needs().marks {
            return;
        }
        let marked = u32::try_from(self.reports.take()).unwrap_or(u32::MAX);
        self.controller.on_marks(&MarkSample {
            now,
            delivered_segments: batch.packets,
            marked_segments: marked,
            delivered_bytes: Bytes(batch.bytes),
            marked_bytes: Bytes((u64::from(marked) * self.segment()).min(batch.bytes)),
            srtt: self.srtt,
            acked_to: self.settled,
            sent_to: self.sent,
            recovering: self.in_recovery,
        });
    }

    /// The path MTU has changed.
    pub(crate) fn on_segment_size(&mut self, payload: u16) {
        self.controller.on_segment_size(u32::from(payload));
        self.carry %= self.segment();
    }

    pub(crate) fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, bytes: u64) {
        if bytes == 0 && self.controller.needs().marks {
            return; // marks, of which it has heard more
        }
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let (mut lost, mut newest) = (0, 0);
        self.flight.take_lost(sent, bytes, |packet| {
            lost += 1;
            newest = packet.serial;
            if let Some(domains) = &mut self.domains {
                domains.on_lost(packet.sent_at, packet.seen);
            }
            if let Some(model) = &mut self.model {
                self.controller.on_segment_lost(&model.on_lost(now, &packet));
                self.controller.on_transmission_lost(packet.serial);
            }
        });
        self.events.lost |= bytes > 0;
        if let Some(domains) = self.domains.as_mut().filter(|_| bytes > 0) {
            domains.reduce(now, &mut self.controller);
        } else if self.recovery_from.is_none_or(|from| sent > from) {
            let segments = if bytes == 0 { 0 } else { lost.max(1) };
            self.on_loss(now, sent, (segments, newest));
        }
        if persistent {
            self.on_persistent_congestion(now, sent);
        }
    }
}

/// For a program with sockets.
#[cfg(not(target_family = "wasm"))]
impl Sender {
    /// Sets the PEP's identifier of the last packet, if it has none.
    pub(crate) fn name_unnamed(&mut self, identifier: u64) -> bool {
        self.flight.name_unnamed(identifier)
    }

    /// The two domains, if there are two.
    pub(crate) fn domains(&self) -> Option<(crate::DomainState, DomainCounts)> {
        let (internet, ran, _) = self.domain_state()?;
        let domains = self.domains.as_ref()?;
        Some((crate::DomainState { internet, ran, heard: domains.hears_pep() }, domains.counts()))
    }
}
