//! A window and its law, as the senders of TCP and QUIC use them.

use airlane_core::{BitRate, Bytes, Duration, Instant, PathModel, Stream};

use super::discriminator::Discriminator;
use super::slow_start::{SlowStartEnd, SlowStartWatch};
use super::{
    Abc, AbcConfig, AckSample, Arrival, Arwa, ArwaSender, Bbr, Bbr3, C2tcp, C2tcpConfig, C4,
    CongestionController, CongestionKind, Copa, CopaConfig, Cubic, CubicConfig, Dctcp, DeliverySample,
    LedbatPlusPlus, LossCause, LossDiscrimination, LossDiscriminator, LossEpisode, LostSegment, MarkSample,
    Mdcc, MdccConfig, Needs, NewReno, OwnController, OwnControllers, Pbe, PhaseChange, Prague, PragueConfig,
    RadioInformation, Restart, Scalable, SegmentWindow, SlowStartAlgorithm, SlowStartRules, Snapshot,
    TimeoutEpisode, Transmission, Vegas, Veno, Verus, Vivace, Westwood,
};

/// The parameters of all laws. Each law reads its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawParameters {
    /// Parameters of CUBIC.
    pub cubic: CubicConfig,
    /// NewReno and CUBIC reduce the window less at a mark than at a loss (RFC 8511).
    pub abe: bool,
    /// BBRv3 responds to congestion marks as google/bbr does, once its minimum round trip was at most this.
    pub ecn_max_rtt: Option<Duration>,
    /// Parameters of Copa.
    pub copa: CopaConfig,
    /// Parameters of ABC.
    pub abc: AbcConfig,
    /// Parameters of C2TCP.
    pub c2tcp: C2tcpConfig,
    /// Parameters of Prague.
    pub prague: PragueConfig,
    /// Parameters of multi-domain congestion control.
    pub mdcc: MdccConfig,
}

impl LawParameters {
    /// The defaults of all laws.
    pub const DEFAULT: Self = Self {
        cubic: CubicConfig::RFC9438,
        abe: false,
        ecn_max_rtt: None,
        copa: CopaConfig::PAPER,
        abc: AbcConfig::PAPER,
        c2tcp: C2tcpConfig::CODE,
        prague: PragueConfig::LINUX,
        mdcc: MdccConfig::PAPER,
    };
}

/// The choice of a controller, and the parameters of all laws.
#[derive(Clone, Copy, Debug)]
pub struct ControllerSetup<'a> {
    /// The law.
    pub kind: CongestionKind,
    /// The factory for [`CongestionKind::Own`].
    pub own: Option<&'a OwnControllers>,
    /// How random losses are distinguished from congestion.
    pub discriminator: LossDiscrimination,
    /// How slow start ends.
    pub slow_start: SlowStartRules,
    /// HyStart, for laws that have it, unless `slow_start` names an algorithm.
    pub hystart: bool,
    /// Parameters of the laws.
    pub laws: LawParameters,
    /// NewReno obeys the codes of an ARWA receiver.
    pub codes: Option<ArwaSender>,
    /// The sender paces with every law: acknowledgments are then spaced like the segments, which is no sign
    /// of a full path.
    pub paced: bool,
}

impl ControllerSetup<'_> {
    /// A law with its defaults.
    #[must_use]
    pub const fn new(kind: CongestionKind) -> Self {
        Self {
            kind,
            own: None,
            discriminator: LossDiscrimination::None,
            slow_start: SlowStartRules::LAW,
            hystart: true,
            laws: LawParameters::DEFAULT,
            codes: None,
            paced: false,
        }
    }

    /// Whether HyStart is part of the law.
    fn hystart_of_law(&self) -> bool {
        self.slow_start.algorithm.map_or(self.hystart, |algorithm| algorithm == SlowStartAlgorithm::HyStart)
    }

    /// The algorithm that ends slow start, next to the law.
    fn watch(&self, law_needs: Needs) -> Option<SlowStartWatch> {
        let algorithm = self.slow_start.algorithm.filter(|_| !self.kind.has_own_start())?;
        let has_hystart = matches!(self.kind, CongestionKind::Cubic | CongestionKind::C2tcp);
        if has_hystart && algorithm == SlowStartAlgorithm::HyStart {
            return None;
        }
        SlowStartWatch::new(algorithm, self.paced || law_needs.pacing)
    }

    /// The law of a connection that begins with this window. It draws random numbers from `stream`.
    fn law(&self, window: &SegmentWindow, stream: Stream) -> Law {
        let laws = &self.laws;
        match self.kind {
            CongestionKind::NewReno => self
                .codes
                .map_or(Law::NewReno(NewReno { abe: laws.abe }), |codes| Law::Arwa(Arwa::new(codes))),
            CongestionKind::Cubic => {
                Law::Cubic(Cubic::new(laws.cubic, self.hystart_of_law(), self.paced).with_abe(laws.abe))
            }
            CongestionKind::C2tcp => {
                let cubic = Cubic::new(laws.cubic, self.hystart_of_law(), self.paced).with_abe(laws.abe);
                Law::C2tcp(Box::new(C2tcp::new(laws.c2tcp, cubic)))
            }
            CongestionKind::Scalable => Law::Scalable(Scalable),
            CongestionKind::Vegas => Law::Vegas(Vegas::new()),
            CongestionKind::Westwood => Law::Westwood(Westwood::new()),
            CongestionKind::Veno => Law::Veno(Veno::new()),
            CongestionKind::Bbr => Law::Bbr(Box::new(Bbr::new(stream))),
            CongestionKind::Bbr3 => Law::Bbr3(Box::new(Bbr3::new(stream).with_marks(laws.ecn_max_rtt))),
            CongestionKind::C4 => Law::C4(Box::default()),
            CongestionKind::Vivace => Law::Vivace(Box::new(Vivace::new(window, stream))),
            CongestionKind::Pbe => Law::Pbe(Box::new(Pbe::new(window, stream))),
            CongestionKind::Verus => Law::Verus(Box::new(Verus::new(window))),
            CongestionKind::Abc => {
                let cubic = Cubic::new(laws.cubic, self.hystart, true).with_abe(laws.abe);
                Law::Abc(Box::new(Abc::new(laws.abc, window, cubic)))
            }
            CongestionKind::LedbatPlusPlus => Law::LedbatPlusPlus(Box::new(LedbatPlusPlus::new(window))),
            CongestionKind::Copa => Law::Copa(Box::new(Copa::new(laws.copa, window))),
            CongestionKind::Mdcc => Law::Mdcc(Box::new(Mdcc::new(laws.mdcc, window, self.hystart))),
            CongestionKind::Dctcp => Law::Dctcp(Dctcp::new()),
            CongestionKind::Prague => Law::Prague(Box::new(Prague::new(window, laws.prague))),
            CongestionKind::Own => {
                Law::Own(self.own.expect("a factory is set with this kind").0.make(window))
            }
        }
    }
}

/// The laws of this crate.
#[derive(Clone, Debug)]
pub(super) enum Law {
    NewReno(NewReno),
    Cubic(Cubic),
    Scalable(Scalable),
    Vegas(Vegas),
    Westwood(Westwood),
    Veno(Veno),
    Bbr(Box<Bbr>),
    Bbr3(Box<Bbr3>),
    C2tcp(Box<C2tcp>),
    C4(Box<C4>),
    Vivace(Box<Vivace>),
    Pbe(Box<Pbe>),
    Verus(Box<Verus>),
    Abc(Box<Abc>),
    LedbatPlusPlus(Box<LedbatPlusPlus>),
    Copa(Box<Copa>),
    Mdcc(Box<Mdcc>),
    Dctcp(Dctcp),
    Prague(Box<Prague>),
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
            Law::C2tcp($law) => $call,
            Law::C4($law) => $call,
            Law::Vivace($law) => $call,
            Law::Pbe($law) => $call,
            Law::Verus($law) => $call,
            Law::Abc($law) => $call,
            Law::LedbatPlusPlus($law) => $call,
            Law::Copa($law) => $call,
            Law::Mdcc($law) => $call,
            Law::Dctcp($law) => $call,
            Law::Prague($law) => $call,
            Law::Arwa($law) => $call,
            Law::Own($law) => $call,
        }
    };
}

/// A window and its law. The window is outside the law, so that the sender reads it without a dispatch.
#[derive(Clone, Debug)]
pub struct Controller {
    pub(super) window: SegmentWindow,
    pub(super) law: Law,
    /// The inputs of the law and the discriminator together, and those of the law.
    needs: Needs,
    law_needs: Needs,
    discriminator: Discriminator,
    slow_start: SlowStartEnd,
    /// Boxed, so that a controller without one is not larger for it.
    watch: Option<Box<SlowStartWatch>>,
    /// True if the current episode was not reported to the law.
    unreported: bool,
}

impl Controller {
    /// The controller of a connection that begins with this window. It draws random numbers from `stream`.
    ///
    /// # Panics
    /// If the kind is [`CongestionKind::Own`] without a factory, or another law than NewReno must obey codes.
    #[must_use]
    pub fn new(setup: &ControllerSetup<'_>, window: SegmentWindow, stream: Stream) -> Self {
        let obeys = setup.codes.is_none() || setup.kind == CongestionKind::NewReno;
        assert!(obeys, "codes are obeyed by NewReno");
        let law = setup.law(&window, stream);
        let discriminator = Discriminator::new(setup.discriminator);
        let law_needs = each!(&law, law => law.needs());
        let needs = law_needs.and(discriminator.needs());
        let slow_start = SlowStartEnd::new(setup.slow_start);
        let watch = setup.watch(law_needs).map(Box::new);
        Self { window, law, needs, law_needs, discriminator, slow_start, watch, unreported: false }
    }

    /// The inputs that the law and the discriminator need. The methods of other inputs have no effect.
    #[inline]
    #[must_use]
    pub const fn needs(&self) -> Needs {
        self.needs
    }

    /// Changes the segment size: the window in bytes stays the same.
    pub fn on_segment_size(&mut self, segment_size: u32) {
        self.window.resize_segments(segment_size);
        each!(&mut self.law, law => law.on_segment_size(&self.window));
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
        each!(&self.law, law => law.window_bytes(&self.window))
    }
    /// The slow-start threshold; `None` while unset.
    #[must_use]
    pub const fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh_bytes()
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
    /// [`CongestionController::on_arrival`].
    pub fn on_arrival(&mut self, arrival: &Arrival) {
        self.discriminator.on_arrival(arrival);
        if self.law_needs.arrivals {
            let segment_size = self.window.segment_size();
            each!(&mut self.law, law => law.on_arrival(segment_size, arrival));
        }
    }
    /// [`CongestionController::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, ack: &AckSample) {
        if self.watch.is_some() {
            self.on_watched_ack(ack);
        } else {
            each!(&mut self.law, law => law.on_ack(&mut self.window, ack));
        }
        if self.slow_start.hears_rtt() && self.window.ssthresh == u32::MAX {
            self.watch_rtt(ack);
        }
    }
    /// [`CongestionController::on_ack`] with an algorithm that may end slow start.
    fn on_watched_ack(&mut self, ack: &AckSample) {
        let watch = self.watch.as_mut().filter(|watch| watch.watches(&self.window));
        let Some(watch) = watch else {
            each!(&mut self.law, law => law.on_ack(&mut self.window, ack));
            return;
        };
        let grows = ack.may_grow && self.window.used_by(ack);
        let growth = if grows { watch.growth(ack.delivered_segments) } else { ack.delivered_segments };
        let counted = AckSample { delivered_segments: growth, ..*ack };
        each!(&mut self.law, law => law.on_ack(&mut self.window, &counted));
        if watch.watches(&self.window) && watch.ends(&self.window, ack) {
            self.end_slow_start();
        }
    }
    /// An increased round trip ends the first slow start.
    fn watch_rtt(&mut self, ack: &AckSample) {
        if ack.rtt.is_some_and(|rtt| self.slow_start.on_rtt(ack.now, rtt)) {
            self.end_slow_start();
        }
    }
    fn end_slow_start(&mut self) {
        self.window.ssthresh = self.window.segments;
        each!(&mut self.law, law => law.on_slow_start_exit(&self.window));
    }
    /// [`CongestionController::on_delivery`].
    pub fn on_delivery(&mut self, sample: &DeliverySample) {
        each!(&mut self.law, law => law.on_delivery(&mut self.window, sample));
    }
    /// [`CongestionController::on_segment_lost`].
    pub fn on_segment_lost(&mut self, lost: &LostSegment) {
        if self.law_needs.path_model {
            each!(&mut self.law, law => law.on_segment_lost(&mut self.window, lost));
        }
    }
    /// [`CongestionController::on_sent`].
    pub fn on_sent(&mut self, packet: &Transmission) {
        if self.law_needs.transmissions {
            each!(&mut self.law, law => law.on_sent(&mut self.window, packet));
        }
    }
    /// [`CongestionController::on_transmission_delivered`].
    pub fn on_transmission_delivered(&mut self, number: u64) {
        if self.law_needs.transmissions {
            each!(&mut self.law, law => law.on_transmission_delivered(number));
        }
    }
    /// [`CongestionController::on_transmission_lost`].
    pub fn on_transmission_lost(&mut self, number: u64) {
        if self.law_needs.transmissions {
            each!(&mut self.law, law => law.on_transmission_lost(number));
        }
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
        let tolerated = cause == LossCause::Congestion
            && self.window.in_slow_start()
            && self.slow_start.tolerates(episode);
        if tolerated {
            cause = LossCause::Unreported;
        }
        self.unreported = cause == LossCause::Unreported;
        if !self.unreported {
            each!(&mut self.law, law => law.on_loss(&mut self.window, episode, cause));
        }
        cause
    }
    /// [`CongestionController::on_loss_while_reducing`].
    pub fn on_loss_while_reducing(&mut self, current: u32) {
        each!(&mut self.law, law => law.on_loss_while_reducing(&mut self.window, current));
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
    /// [`CongestionController::on_radio_information`], for the law and the discriminator.
    pub fn on_radio_information(&mut self, information: &RadioInformation) {
        self.discriminator.on_radio_information(information);
        if self.law_needs.radio_information {
            each!(&mut self.law, law => law.on_radio_information(&mut self.window, information));
        }
    }
    /// [`CongestionController::on_marks`].
    pub fn on_marks(&mut self, sample: &MarkSample) {
        if self.law_needs.marks {
            each!(&mut self.law, law => law.on_marks(&mut self.window, sample));
        }
    }
    /// [`CongestionController::on_echo`].
    pub fn on_echo(&mut self, sample: &MarkSample) {
        if self.law_needs.marks {
            each!(&mut self.law, law => law.on_echo(sample));
        }
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
        if let Some(watch) = &mut self.watch {
            watch.on_timeout(timeout.now, timeout.sent_to);
        }
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
        each!(&mut self.law, law => law.on_window_validation(&mut self.window));
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

#[cfg(test)]
mod tests;
