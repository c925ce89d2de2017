//! Congestion controllers: the limit of the data in flight.
//!
//! A controller is independent of the transport, which must supply an [`AckSample`]. Recovery
//! (proportional rate reduction, the choice of retransmissions, the detection of spurious losses)
//! belongs to the transport. The transport informs the controller when a loss episode begins, ends,
//! or is found to be spurious. Windows are counted in whole segments, as in Linux, and reported in
//! bytes.
//!
//! The closed set is [`Controller`], dispatched by `match` in the hot loop.

mod arwa;
mod bbr;
mod bbr3;
mod cubic;
mod discriminator;
mod max_filter;
mod mdcc;
mod meld;
mod newreno;
mod own;
mod peers;
mod scalable;
mod script;
mod slow_start;
#[cfg(test)]
mod tests;
mod vegas;
mod veno;
mod westwood;
mod window;

pub use arwa::{Arwa, ArwaSender, CodeStep, SlowStart};
pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use cubic::{Cubic, CubicConfig, CubicVariant};
pub use discriminator::{AlwaysCongestion, LossCause, LossDiscrimination, LossDiscriminator, QueueTest};
pub use mdcc::{Domain, InflightScope, Mdcc, MdccConfig};
pub use meld::{BlockSizes, Meld, MeldConfig, MeldVariant, QueueThreshold};
pub use newreno::NewReno;
pub use own::{MakeController, OwnController, OwnControllers};
pub use peers::{KneeTest, UsageTest};
pub use scalable::Scalable;
pub use script::{AckTold, Script, ScriptedController, Told, Wanted};
pub use slow_start::SlowStartRules;
pub use vegas::Vegas;
pub use veno::Veno;
pub use westwood::Westwood;
pub use window::SegmentWindow;

use discriminator::Discriminator;
use slow_start::SlowStartEnd;

use airlane_core::{BitRate, Bytes, CubicCurve, Duration, Instant, PathModel, Stream};

pub use crate::recovery::Phase;

/// The kind of controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// Scalable TCP (Kelly 2003).
    Scalable,
    /// TCP Vegas (Brakmo and Peterson 1995).
    Vegas,
    /// TCP Westwood+ (Grieco and Mascolo 2004).
    Westwood,
    /// TCP Veno (Fu and Liew 2003).
    Veno,
    /// BBR, version 1 (Cardwell et al. 2016).
    Bbr,
    /// BBR, version 3 (draft-ietf-ccwg-bbr).
    Bbr3,
    /// Multi-domain congestion control (Krämer et al. 2019).
    Mdcc,
    /// A controller from outside this crate, [`OwnControllers`].
    Own,
}

impl CongestionKind {
    /// All kinds of this crate, in the order of their implementation.
    pub const ALL: [Self; 9] = [
        Self::NewReno,
        Self::Cubic,
        Self::Scalable,
        Self::Vegas,
        Self::Westwood,
        Self::Veno,
        Self::Bbr,
        Self::Bbr3,
        Self::Mdcc,
    ];

    /// Its name in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewReno => "newreno",
            Self::Cubic => "cubic",
            Self::Scalable => "scalable",
            Self::Vegas => "vegas",
            Self::Westwood => "westwood",
            Self::Veno => "veno",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
            Self::Mdcc => "mdcc",
            Self::Own => "own",
        }
    }
}

/// An acknowledgment at its arrival, before it is processed.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time.
    pub now: Instant,
    /// Stream position acknowledged, the same as before for a duplicate.
    pub acked_to: u64,
    /// Round trip of the segment delivered last, if it was sent once.
    pub rtt: Option<Duration>,
}

/// The result of one acknowledgment.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Segments newly delivered, cumulatively or selectively.
    pub delivered_segments: u32,
    /// True if the window may grow: in-order data was acknowledged, and no reduction is in progress.
    pub may_grow: bool,
    /// True if the window limited the sender in the last round.
    pub window_limited: bool,
    /// Maximum number of outstanding segments in the last round, for growth in slow start.
    pub max_outstanding_segments: u32,
    /// Segments outstanding now (sent and not cumulatively acknowledged).
    pub outstanding_segments: u32,
    /// Round trip of the segment delivered last, if it was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Stream position acknowledged.
    pub acked_to: u64,
    /// Stream position sent.
    pub sent_to: u64,
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Segments delivered in the interval.
    pub delivered: u64,
    /// The longer of the time in which they were sent and the time in which they were acknowledged.
    pub interval: Duration,
    /// Segments that had been delivered when the newest of them was sent.
    pub prior_delivered: u64,
    /// True if the application, not the path, limited the rate.
    pub app_limited: bool,
    /// Segments declared lost since the newest was sent.
    pub lost: u64,
    /// Segments in flight when the newest was sent, including itself.
    pub in_flight_when_sent: u32,
    /// True if the newest is a retransmission.
    pub retransmission: bool,
}

/// The values of each acknowledgment for a model-based controller.
#[derive(Clone, Copy, Debug)]
pub struct DeliverySample {
    /// When it arrived.
    pub now: Instant,
    /// Segments delivered since the start of the connection, including the SYN.
    pub delivered: u64,
    /// When the last segment was delivered.
    pub delivered_at: Instant,
    /// Segments declared lost since the start of the connection.
    pub lost: u64,
    /// Segments that this acknowledgment delivered.
    pub newly_delivered: u32,
    /// Segments found lost with it.
    pub newly_lost: u32,
    /// Segments in flight now.
    pub in_flight: u32,
    /// Segments in flight before it.
    pub prior_in_flight: u32,
    /// True if the window limited the sender in the last round.
    pub window_limited: bool,
    /// Round trip of the segment delivered last, if it was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// When the next segment may leave.
    pub next_send_at: Instant,
    /// The state of loss recovery.
    pub phase: Phase,
    /// The rate sample, if the acknowledgment gives one.
    pub rate: Option<RateSample>,
}

/// A segment that is declared lost, for a model-based controller.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// The time.
    pub now: Instant,
    /// Its number; consecutive segments have consecutive numbers.
    pub number: u64,
    /// Segments in flight when it was sent, including itself.
    pub in_flight_when_sent: u32,
    /// Segments declared lost since then, including itself.
    pub lost: u64,
    /// Segments delivered since the connection began.
    pub delivered: u64,
    /// True if the application, not the path, limited the rate when it was sent.
    pub app_limited: bool,
}

/// Loss recovery enters a phase.
#[derive(Clone, Copy, Debug)]
pub struct PhaseChange {
    /// The phase.
    pub phase: Phase,
    /// Stream position sent.
    pub sent_to: u64,
    /// For model-based controllers: the segments delivered and lost so far.
    pub delivery: Option<DeliverySample>,
}

/// A segment is sent while no segment is in flight.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// The time.
    pub now: Instant,
    /// When the segment before it was sent.
    pub last_sent_at: Instant,
    /// Stream position sent before it.
    pub sent_to: u64,
    /// True if the application had too little data to send (known only with delivery samples).
    pub app_limited: bool,
    /// Smoothed round-trip time.
    pub srtt: Duration,
}

/// The start of a loss episode.
#[derive(Clone, Copy, Debug)]
pub struct LossEpisode {
    /// When it was detected.
    pub now: Instant,
    /// Segments in flight.
    pub in_flight_segments: u32,
    /// The window at the loss, in segments.
    pub window_segments: u32,
    /// True if the acknowledgment that shows it also echoes an ECN mark (RFC 3168).
    pub marked: bool,
    /// Segments found lost so far in this episode.
    pub lost_segments: u32,
    /// The number of the newest of them; consecutive segments have consecutive numbers.
    pub newest_lost: u64,
}

/// A report about the path, in addition to acknowledgments: the message of a middlebox or a base
/// station that knows where packets are lost.
#[derive(Clone, Copy, Debug)]
pub struct PathFeedback {
    /// The cause of the path's losses.
    pub losses: LossCause,
    /// The end of its validity.
    pub until: Instant,
}

/// A base station's measurements of one UE's downlink, received through a radio network information
/// service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioInformation {
    /// The time of the measurement.
    pub measured_at: Instant,
    /// Size of the UE's last transport block.
    pub transport_block: Bytes,
    /// Physical resource blocks of that transport block.
    pub resource_blocks: u16,
    /// The last wideband CQI at the base station; 0 for none.
    pub cqi: u8,
    /// Bytes that wait in the transmit queue of its RLC entity.
    pub queue: Bytes,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutEpisode {
    /// The time.
    pub now: Instant,
    /// True if the window was not already reduced for these segments in flight.
    pub new_episode: bool,
    /// The window to restart from, in segments (RFC 5681 §3.1: one more than in flight).
    pub restart_segments: u32,
    /// Stream position acknowledged.
    pub acked_to: u64,
    /// Stream position sent.
    pub sent_to: u64,
}

/// The state that an undo restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Congestion window in segments.
    pub window_segments: u32,
    /// Slow-start threshold in segments.
    pub ssthresh_segments: u32,
}

/// A congestion controller: the law of a window.
///
/// The default methods contain the common behaviour of window-based controllers. A new controller
/// defines how the window grows ([`Self::on_ack`]) and its value after a loss
/// ([`Self::threshold`]).
pub trait CongestionController {
    /// The handshake is complete; it took one round trip, `None` if unknown.
    fn on_established(&mut self, _: &SegmentWindow, _now: Instant, _rtt: Option<Duration>) {}
    /// The first segment of the connection, or after an idle time, is sent.
    fn on_restart(&mut self, _: &mut SegmentWindow, _: &Restart) {}
    /// An acknowledgment arrived; [`Self::on_phase`], [`Self::on_loss`] and
    /// [`Self::on_recovery_exit`] may follow, and then [`Self::on_ack`].
    fn on_arrival(&mut self, _segment_size: u32, _: &Arrival) {}
    /// An acknowledgment was processed.
    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample);
    /// An acknowledgment was processed, for a model-based controller. It replaces [`Self::on_ack`],
    /// and the resulting window also applies during recovery.
    fn on_delivery(&mut self, _: &mut SegmentWindow, _: &DeliverySample) {}
    /// A segment is declared lost; for a model-based controller.
    fn on_segment_lost(&mut self, _: &mut SegmentWindow, _: &LostSegment) {}
    /// Loss recovery enters a phase.
    fn on_phase(&mut self, _: &SegmentWindow, _: &PhaseChange) {}
    /// The threshold after a loss, in segments.
    fn threshold(&mut self, window: &SegmentWindow) -> u32;
    /// A loss episode begins: sets the threshold. The window itself is set in
    /// [`Self::on_recovery_exit`]; in between, recovery decides what is sent. For a random loss, the
    /// threshold is the window: the window is the same afterwards, but slow start, which only a loss
    /// ends, is over. Unreported losses do not reach the controller.
    fn on_loss(&mut self, window: &mut SegmentWindow, _: &LossEpisode, cause: LossCause) {
        match cause {
            LossCause::Congestion => window.reduce_to(self.threshold(window)),
            LossCause::Random => window.keep(),
            LossCause::Unreported => {}
        }
    }
    /// Congestion was marked instead of lost (RFC 3168): treated as a loss, unless a controller
    /// overrides this.
    fn on_ecn(&mut self, window: &mut SegmentWindow, episode: &LossEpisode) {
        self.on_loss(window, episode, LossCause::Congestion);
    }
    /// A report about the path.
    fn on_feedback(&mut self, _: &mut SegmentWindow, _: &PathFeedback) {}
    /// The episode is over: the window is the threshold.
    fn on_recovery_exit(&mut self, window: &mut SegmentWindow) {
        window.segments = window.ssthresh;
    }
    /// The retransmission timer expired.
    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            window.reduce_to(self.threshold(window));
        }
        window.restart_from(timeout.restart_segments);
    }
    /// The loss was spurious (F-RTO, Eifel, D-SACK): restores the state before it.
    fn on_undo(&mut self, window: &mut SegmentWindow, snapshot: &Snapshot) {
        window.undo(snapshot);
    }
    /// The rate at which to send, if the controller paces.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// Number of segments that may leave at once if the controller paces.
    fn send_quantum(&self, _segment_size: u32) -> u32 {
        1
    }
    /// The controller's model of the path, if it has one.
    fn path_model(&self, _: &SegmentWindow, _in_flight: u32) -> Option<PathModel> {
        None
    }
    /// True while the controller limits the data in flight to measure the empty path: the rates are
    /// then not those of the path.
    fn holds_back(&self) -> bool {
        false
    }
}

/// The laws of this crate.
#[derive(Clone, Debug)]
enum Law {
    NewReno(NewReno),
    Cubic(Cubic),
    Scalable(Scalable),
    Vegas(Vegas),
    Westwood(Westwood),
    Veno(Veno),
    Bbr(Box<Bbr>),
    Bbr3(Box<Bbr3>),
    Mdcc(Box<Mdcc>),
    Arwa(Arwa),
    Own(Box<dyn OwnController>),
}

macro_rules! each {
    ($self:expr, $law:ident => $call:expr) => {
        match $self {
            Law::NewReno($law) => $call,
            Law::Cubic($law) => $call,
            Law::Scalable($law) => $call,
            Law::Vegas($law) => $call,
            Law::Westwood($law) => $call,
            Law::Veno($law) => $call,
            Law::Bbr($law) => $call,
            Law::Bbr3($law) => $call,
            Law::Mdcc($law) => $call,
            Law::Arwa($law) => $call,
            Law::Own($law) => $call,
        }
    };
}

/// A window and its law. The window is outside the law, so that the sender reads it without a dispatch.
#[derive(Clone, Debug)]
pub struct Controller {
    window: SegmentWindow,
    law: Law,
    discriminator: Discriminator,
    slow_start: SlowStartEnd,
    /// True if the current episode was not reported to the law.
    unreported: bool,
}

impl Controller {
    /// A controller of this kind for segments of `segment_size` payload bytes; it draws random
    /// numbers from `stream`.
    ///
    /// # Panics
    /// If it is [`CongestionKind::Own`], for which [`Self::own`] exists.
    #[must_use]
    pub fn new(kind: CongestionKind, window: SegmentWindow, hystart: bool, stream: Stream) -> Self {
        let law = match kind {
            CongestionKind::NewReno => Law::NewReno(NewReno),
            CongestionKind::Cubic => Law::Cubic(Cubic::new(hystart)),
            CongestionKind::Scalable => Law::Scalable(Scalable),
            CongestionKind::Vegas => Law::Vegas(Vegas::new()),
            CongestionKind::Westwood => Law::Westwood(Westwood::new()),
            CongestionKind::Veno => Law::Veno(Veno::new()),
            CongestionKind::Bbr => Law::Bbr(Box::new(Bbr::new(stream))),
            CongestionKind::Bbr3 => Law::Bbr3(Box::new(Bbr3::new(stream))),
            CongestionKind::Mdcc => Law::Mdcc(Box::new(Mdcc::new(MdccConfig::PAPER, &window, hystart))),
            CongestionKind::Own => panic!("made by `Controller::own`"),
        };
        Self::of(window, law)
    }

    fn of(window: SegmentWindow, law: Law) -> Self {
        Self {
            window,
            law,
            discriminator: Discriminator::new(LossDiscrimination::None),
            slow_start: SlowStartEnd::default(),
            unreported: false,
        }
    }

    /// The same controller with other rules for the end of slow start.
    #[must_use]
    pub fn with_slow_start(mut self, rules: SlowStartRules) -> Self {
        self.slow_start = SlowStartEnd::new(rules);
        self
    }

    /// The same controller, with these parameters if it is [`Cubic`].
    #[must_use]
    pub fn with_cubic(mut self, config: CubicConfig) -> Self {
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.configure(config);
        }
        self
    }

    /// A user's own controller.
    #[must_use]
    pub fn own(makers: &OwnControllers, window: SegmentWindow) -> Self {
        let law = Law::Own(makers.0.make(&window));
        Self::of(window, law)
    }

    /// The same controller with another classification of losses.
    #[must_use]
    pub fn discriminating(mut self, kind: LossDiscrimination) -> Self {
        self.discriminator = Discriminator::new(kind);
        self
    }

    /// The same controller for a sender that paces any controller: acknowledgments are then spaced like
    /// the segments, which is no sign of a full path.
    #[must_use]
    pub fn paced(mut self) -> Self {
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.pace();
        }
        self
    }

    /// The same controller, with these parameters if it is [`Mdcc`].
    #[must_use]
    pub fn with_mdcc(mut self, config: MdccConfig, hystart: bool) -> Self {
        if let Law::Mdcc(law) = &mut self.law {
            **law = Mdcc::new(config, &self.window, hystart);
        }
        self
    }

    /// Changes the segment size: the window in bytes stays the same.
    pub fn on_segment_size(&mut self, segment_size: u32) {
        self.window.resize_segments(segment_size);
    }

    /// The multi-domain controller, if it is one.
    #[must_use]
    pub fn domains(&self) -> Option<&Mdcc> {
        if let Law::Mdcc(law) = &self.law { Some(law) } else { None }
    }

    /// [`Mdcc::on_domain_ack`].
    pub fn on_domain_ack(&mut self, domain: Domain, ack: &AckSample) {
        if let Law::Mdcc(law) = &mut self.law {
            law.on_domain_ack(&mut self.window, domain, ack);
        }
    }

    /// [`Mdcc::on_domain_loss`].
    pub fn on_domain_loss(&mut self, domain: Domain) {
        if let Law::Mdcc(law) = &mut self.law {
            law.on_domain_loss(&mut self.window, domain);
        }
    }

    /// [`Mdcc::on_episode`].
    pub fn on_episode(&mut self) {
        if let Law::Mdcc(law) = &mut self.law {
            law.on_episode();
        }
    }

    /// [`Mdcc::on_clock_change`].
    pub fn on_clock_change(&mut self) {
        if let Law::Mdcc(law) = &mut self.law {
            law.on_clock_change();
        }
    }

    /// The same controller, which must be NewReno, obeying the codes of the receiver.
    ///
    /// # Panics
    /// If it is another controller.
    #[must_use]
    pub fn obeying(mut self, config: ArwaSender) -> Self {
        assert!(matches!(self.law, Law::NewReno(_)), "codes are obeyed by NewReno");
        self.law = Law::Arwa(Arwa::new(config));
        self
    }

    /// A code of the receiver arrived. Returns the window in bytes before and after, if the code is
    /// obeyed.
    pub fn on_code(&mut self, code: u8) -> Option<[Bytes; 2]> {
        match &mut self.law {
            Law::Arwa(arwa) => arwa.on_code(&mut self.window, code).map(|bytes| bytes.map(Bytes)),
            _ => None,
        }
    }

    /// Window and threshold.
    #[inline]
    #[must_use]
    pub const fn window(&self) -> &SegmentWindow {
        &self.window
    }
    /// The window in segments.
    #[inline]
    #[must_use]
    pub const fn window_segments(&self) -> u32 {
        self.window.segments
    }
    /// The threshold in segments; `u32::MAX` while unset.
    #[inline]
    #[must_use]
    pub const fn ssthresh_segments(&self) -> u32 {
        self.window.ssthresh
    }
    /// The congestion window.
    #[must_use]
    pub fn congestion_window(&self) -> Bytes {
        match &self.law {
            Law::Arwa(arwa) => Bytes(arwa.bytes(&self.window)),
            _ => self.window.bytes(),
        }
    }
    /// The slow-start threshold; `None` while unset.
    #[must_use]
    pub const fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh_bytes()
    }
    /// The window's curve, if the controller is CUBIC and has had a loss.
    #[must_use]
    pub fn cubic_curve(&self) -> Option<CubicCurve> {
        match &self.law {
            Law::Cubic(cubic) => cubic.curve_of(self.window.segment_size()),
            _ => None,
        }
    }
    /// The state to restore if the loss about to be reported is spurious.
    #[must_use]
    pub const fn snapshot(&self) -> Snapshot {
        self.window.snapshot()
    }

    /// [`CongestionController::on_established`].
    pub fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        each!(&mut self.law, law => law.on_established(&self.window, now, rtt));
    }
    /// [`CongestionController::on_restart`].
    pub fn on_restart(&mut self, restart: &Restart) {
        each!(&mut self.law, law => law.on_restart(&mut self.window, restart));
    }
    /// False if [`Self::on_arrival`] does nothing and need not be called.
    #[inline]
    #[must_use]
    pub const fn hears_arrivals(&self) -> bool {
        matches!(self.law, Law::Vegas(_) | Law::Westwood(_) | Law::Veno(_) | Law::Own(_))
            || self.discriminator.hears_arrivals()
    }
    /// [`CongestionController::on_arrival`].
    pub fn on_arrival(&mut self, arrival: &Arrival) {
        self.discriminator.on_arrival(arrival);
        let segment_size = self.window.segment_size();
        each!(&mut self.law, law => law.on_arrival(segment_size, arrival));
    }
    /// [`CongestionController::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, ack: &AckSample) {
        each!(&mut self.law, law => law.on_ack(&mut self.window, ack));
        if self.slow_start.hears_rtt() && self.window.ssthresh == u32::MAX {
            self.watch_rtt(ack);
        }
    }
    /// An increased round trip ends the first slow start.
    fn watch_rtt(&mut self, ack: &AckSample) {
        if ack.rtt.is_some_and(|rtt| self.slow_start.on_rtt(ack.now, rtt)) {
            self.window.ssthresh = self.window.segments;
            if let Law::Cubic(cubic) = &mut self.law {
                cubic.on_slow_start_exit(&self.window);
            }
        }
    }
    /// True if the controller is model-based: it needs the delivery rate and paces.
    #[must_use]
    pub fn models_path(&self) -> bool {
        match &self.law {
            Law::Bbr(_) | Law::Bbr3(_) => true,
            Law::Own(law) => law.models_path(),
            _ => false,
        }
    }
    /// [`CongestionController::on_delivery`].
    pub fn on_delivery(&mut self, sample: &DeliverySample) {
        each!(&mut self.law, law => law.on_delivery(&mut self.window, sample));
    }
    /// [`CongestionController::on_segment_lost`].
    pub fn on_segment_lost(&mut self, lost: &LostSegment) {
        each!(&mut self.law, law => law.on_segment_lost(&mut self.window, lost));
    }
    /// [`CongestionController::send_quantum`].
    #[must_use]
    pub fn send_quantum(&self) -> u32 {
        each!(&self.law, law => law.send_quantum(self.window.segment_size()))
    }
    /// [`CongestionController::on_phase`].
    pub fn on_phase(&mut self, change: &PhaseChange) {
        each!(&mut self.law, law => law.on_phase(&self.window, change));
    }
    /// [`CongestionController::on_loss`], with the cause from the discriminator, unless the loss is not
    /// reported to the law.
    pub fn on_loss(&mut self, episode: &LossEpisode) -> LossCause {
        let mut cause = self.discriminator.classify(episode);
        let bears =
            cause == LossCause::Congestion && self.window.in_slow_start() && self.slow_start.bears(episode);
        if bears {
            cause = LossCause::Unreported;
        }
        self.unreported = cause == LossCause::Unreported;
        if !self.unreported {
            each!(&mut self.law, law => law.on_loss(&mut self.window, episode, cause));
        }
        cause
    }
    /// The cause of a timeout: congestion, unless the discriminator also classifies timeouts and finds
    /// another cause.
    pub fn cause_of_timeout(&mut self, episode: &LossEpisode) -> LossCause {
        if self.discriminator.judges_timeouts() {
            self.discriminator.classify(episode)
        } else {
            LossCause::Congestion
        }
    }
    /// [`CongestionController::on_feedback`]; also passed to the discriminator.
    pub fn on_feedback(&mut self, feedback: &PathFeedback) {
        self.discriminator.on_feedback(feedback);
        each!(&mut self.law, law => law.on_feedback(&mut self.window, feedback));
    }
    /// Passes the base station's information about the UE to the discriminator.
    pub fn on_radio_information(&mut self, information: &RadioInformation) {
        self.discriminator.on_radio_information(information);
    }
    /// [`CongestionController::on_ecn`].
    pub fn on_ecn(&mut self, episode: &LossEpisode) {
        each!(&mut self.law, law => law.on_ecn(&mut self.window, episode));
    }
    /// [`CongestionController::on_recovery_exit`].
    pub fn on_recovery_exit(&mut self) {
        if core::mem::take(&mut self.unreported) {
            return;
        }
        each!(&mut self.law, law => law.on_recovery_exit(&mut self.window));
    }
    /// [`CongestionController::on_timeout`].
    pub fn on_timeout(&mut self, timeout: &TimeoutEpisode) {
        self.unreported = false;
        each!(&mut self.law, law => law.on_timeout(&mut self.window, timeout));
    }
    /// [`CongestionController::on_undo`].
    pub fn on_undo(&mut self, snapshot: &Snapshot) {
        each!(&mut self.law, law => law.on_undo(&mut self.window, snapshot));
    }
    /// The sender did not use its window for a while, or was idle: the window is reduced by
    /// validation (RFC 7661, RFC 5681 §4.1).
    pub fn on_window_validation(&mut self, window_segments: u32, ssthresh_segments: u32) {
        self.window.segments = window_segments;
        self.window.ssthresh = ssthresh_segments;
        if let Law::Mdcc(law) = &mut self.law {
            law.validate(&mut self.window);
        }
    }
    /// [`CongestionController::pacing_rate`].
    #[must_use]
    pub fn pacing_rate(&self) -> Option<BitRate> {
        each!(&self.law, law => law.pacing_rate())
    }
    /// [`CongestionController::path_model`].
    #[must_use]
    pub fn path_model(&self, in_flight: u32) -> Option<PathModel> {
        each!(&self.law, law => law.path_model(&self.window, in_flight))
    }
    /// [`CongestionController::holds_back`].
    #[must_use]
    pub fn holds_back(&self) -> bool {
        each!(&self.law, law => law.holds_back())
    }
}
