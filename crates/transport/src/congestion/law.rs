//! The law of a congestion window.

use airlane_core::{BitRate, Bytes, Duration, Instant, PathModel};

use super::{
    AckSample, Arrival, DeliverySample, LossCause, LossEpisode, LostSegment, MarkSample, PhaseChange,
    RadioInformation, Restart, SegmentWindow, Snapshot, TimeoutEpisode, Transmission,
};

/// The inputs of a law, or of a loss discriminator, in addition to acknowledgments, losses and timeouts. They
/// cost time, so a sender passes on only those that are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Each acknowledgment before it is processed: [`CongestionController::on_arrival`].
    pub arrivals: bool,
    /// Samples of the delivery rate and each lost segment, for a model of the path:
    /// [`CongestionController::on_delivery`] replaces [`CongestionController::on_ack`], the resulting window
    /// also applies during recovery, and the sender paces.
    pub path_model: bool,
    /// Each packet that is sent, and whether it is delivered or lost, with [`Self::path_model`]:
    /// [`CongestionController::on_sent`], [`CongestionController::on_transmission_delivered`],
    /// [`CongestionController::on_transmission_lost`].
    pub transmissions: bool,
    /// The measurements of a base station: [`CongestionController::on_radio_information`].
    pub radio_information: bool,
    /// The number of congestion marks: [`CongestionController::on_marks`] receives each report of accurate feedback,
    /// and then [`CongestionController::on_ecn`] is not called.
    pub marks: bool,
    /// The response to marks is scalable (RFC 9331 §4.3): with accurate feedback, packets are sent with ECT(1).
    pub scalable: bool,
    /// The sender paces.
    pub pacing: bool,
}

impl Needs {
    /// No input but the acknowledgments.
    pub const NOTHING: Self = Self {
        arrivals: false,
        path_model: false,
        transmissions: false,
        radio_information: false,
        marks: false,
        scalable: false,
        pacing: false,
    };
    /// Arrivals.
    pub const ARRIVALS: Self = Self { arrivals: true, ..Self::NOTHING };
    /// Delivery-rate samples.
    pub const PATH_MODEL: Self = Self { path_model: true, ..Self::NOTHING };
    /// A base station's measurements.
    pub const RADIO_INFORMATION: Self = Self { radio_information: true, ..Self::NOTHING };

    /// The inputs that either needs.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            arrivals: self.arrivals || other.arrivals,
            path_model: self.path_model || other.path_model,
            transmissions: self.transmissions || other.transmissions,
            radio_information: self.radio_information || other.radio_information,
            marks: self.marks || other.marks,
            scalable: self.scalable || other.scalable,
            pacing: self.pacing || other.pacing,
        }
    }
}

/// A congestion controller: the law of a window.
///
/// A new controller defines what it needs ([`Self::needs`]), how the window grows ([`Self::on_ack`]) and its
/// value after a loss ([`Self::threshold`]). The default methods contain the common behaviour of window-based
/// controllers.
///
/// [`Self::needs`] has no default, because a method whose input was not asked for would never be called:
///
/// ```compile_fail,E0046
/// use airlane_transport::congestion::{AckSample, Arrival, CongestionController, SegmentWindow};
///
/// struct Forgetful;
///
/// impl CongestionController for Forgetful {
///     fn on_arrival(&mut self, _segment_size: u32, _: &Arrival) {}
///     fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
///         window.grow_as_reno(ack);
///     }
///     fn threshold(&mut self, window: &SegmentWindow) -> u32 {
///         window.segments / 2
///     }
/// }
/// ```
pub trait CongestionController {
    /// The inputs of the law, which never change.
    fn needs(&self) -> Needs;
    /// The handshake is complete; it took one round trip, `None` if unknown.
    fn on_established(&mut self, _: &SegmentWindow, _now: Instant, _rtt: Option<Duration>) {}
    /// The first segment of the connection, or after an idle time, is sent.
    fn on_restart(&mut self, _: &mut SegmentWindow, _: &Restart) {}
    /// An acknowledgment arrived; [`Self::on_phase`], [`Self::on_loss`] and
    /// [`Self::on_recovery_exit`] may follow, and then [`Self::on_ack`]. Called if [`Needs::arrivals`].
    fn on_arrival(&mut self, _segment_size: u32, _: &Arrival) {}
    /// An acknowledgment was processed.
    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample);
    /// An acknowledgment was processed; called instead of [`Self::on_ack`] if [`Needs::path_model`].
    fn on_delivery(&mut self, _: &mut SegmentWindow, _: &DeliverySample) {}
    /// A packet is about to be sent: [`Self::pacing_rate`] is asked for again before the next. Called if
    /// [`Needs::transmissions`].
    fn on_sent(&mut self, _: &mut SegmentWindow, _: &Transmission) {}
    /// The packet with this number is delivered; [`Self::on_delivery`] follows. Called if [`Needs::transmissions`].
    fn on_transmission_delivered(&mut self, _number: u64) {}
    /// The packet with this number is declared lost; [`Self::on_delivery`] follows. Called if [`Needs::transmissions`].
    fn on_transmission_lost(&mut self, _number: u64) {}
    /// A segment is declared lost; called if [`Needs::path_model`].
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
    /// A loss episode begins while the window is being reduced for a mark; it is `current` now.
    fn on_loss_while_reducing(&mut self, _: &mut SegmentWindow, _current: u32) {}
    /// Accurate feedback about congestion marks, before [`Self::on_ack`]; called if [`Needs::marks`].
    fn on_marks(&mut self, _: &mut SegmentWindow, _: &MarkSample) {}
    /// Classic feedback of an acknowledgment: all that it delivers counts as marked if it echoes a mark, else nothing.
    /// Where it does, [`Self::on_ecn`] follows, at most once per window. Called if [`Needs::marks`].
    fn on_echo(&mut self, _: &MarkSample) {}
    /// Congestion was marked instead of lost (RFC 3168): treated as a loss, unless a controller
    /// overrides this.
    fn on_ecn(&mut self, window: &mut SegmentWindow, episode: &LossEpisode) {
        self.on_loss(window, episode, LossCause::Congestion);
    }
    /// A base station has measured the UE; called if [`Needs::radio_information`].
    fn on_radio_information(&mut self, _: &mut SegmentWindow, _: &RadioInformation) {}
    /// Slow start ended without a loss: the threshold is now the window.
    fn on_slow_start_exit(&mut self, _: &SegmentWindow) {}
    /// The sender has reduced the window because it was not used (RFC 7661, RFC 5681 §4.1).
    fn on_window_validation(&mut self, _: &mut SegmentWindow) {}
    /// The size of segments has changed, and with it the number of segments in the window; its bytes are the
    /// same. TCP never changes it; QUIC does after path MTU discovery (RFC 9000 §14.3).
    fn on_segment_size(&mut self, _: &SegmentWindow) {}
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
    /// The window in bytes, for a law that counts them.
    fn window_bytes(&self, window: &SegmentWindow) -> Bytes {
        window.bytes()
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
    /// True while the controller limits the data in flight to measure the empty path: the rates are then below those of
    /// the path.
    fn holds_back(&self) -> bool {
        false
    }
}
