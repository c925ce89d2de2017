//! The parameters of SCReAM v2.
//!
//! "Draft" is draft-ietf-ccwg-rfc8298bis-screamv2, the editor's copy in IngJohEricsson/draft-johansson-ccwg-scream-bis
//! at d30e8b8a; "libwebrtc" is `modules/congestion_controller/scream` in maitrungduc1410/webrtc at f3ae3eb. A section is
//! named by its title, since the editor's copy has no numbers.

use airlane_core::{Bytes, Duration};

/// The algorithm, of which there are two that differ in more than constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScreamVariant {
    /// The draft.
    Draft(DraftOptions),
    /// libwebrtc's, which differs in when it updates its averages, in how it reacts to loss, in the conditions of an
    /// increase, and in how it treats a source that sends less than the target. It always reacts to CE as L4S does.
    Libwebrtc,
}

/// Parts that the draft leaves to the implementation, and parameters that libwebrtc does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DraftOptions {
    /// `IS_L4S`: a CE mark is one of a scalable marker (the packets are sent as ECT(1)). Without, it reduces the window by
    /// `BETA_ECN`. Draft, "Reference Window Update": false.
    pub l4s: bool,
    /// `REDUCE_JITTER`: grow more slowly, and allow less in flight, while the queue delay varies. Draft, "Detecting
    /// Increased Queue Delay": false.
    pub reduce_jitter: bool,
    /// Reduce less while the target is below the acknowledged rate. Draft, "Reference window undershoot at congestion":
    /// optional.
    pub reduce_undershoot: bool,
    /// Tolerate losses that are no congestion, and bound the window behind a rate policer. Draft, "Link layer losses and
    /// rate policers": optional.
    pub tolerate_link_loss: bool,
    /// Forget the base delay if the queue delay never falls near zero. Draft, "Clock drift issues and remedies":
    /// additional.
    pub correct_clock_drift: bool,
    /// How much window and round-trip time exceed the target. Draft, "Media Rate Control".
    pub rate_margin: f64,
    /// `MAX_RELAXED_PACING_FACTOR`: how much faster packets are paced at the highest target. Draft, "Packet Pacing".
    pub relaxed_pacing: f64,
}

/// The parameters of SCReAM v2 in which the draft and libwebrtc differ, or that an experiment may want to change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreamSettings {
    /// The algorithm.
    pub variant: ScreamVariant,
    /// `MSS`: the size of the largest packet.
    pub mss: Bytes,
    /// `MIN_REF_WND`: the smallest reference window.
    pub min_window: Bytes,
    /// `BYTES_IN_FLIGHT_HEAD_ROOM`: the reference window grows up to this multiple of the bytes in flight.
    pub head_room: f64,
    /// `MUL_INCREASE_FACTOR`: the part of the window that is added in a round trip without congestion.
    pub multiplicative_increase: f64,
    /// The factor of the distance from the inflection point; the larger, the narrower the region of slow changes.
    pub inflection_factor: f64,
    /// `QDELAY_TARGET_LO`: the queue delay at which a window is halved. A reduction begins at its half.
    pub queue_delay_target: Duration,
    /// `POST_CONGESTION_DELAY_RTT`: round trips after congestion until the increase is fully multiplicative.
    pub post_congestion_rtts: f64,
    /// `REF_WND_OVERHEAD_MAX`: the bytes in flight in multiples of the reference window, while the queue delay does not
    /// vary.
    pub overhead_most: f64,
    /// `PACKET_PACING_HEADROOM`: the rate of the pacer in multiples of the target.
    pub pacing_headroom: f64,
}

impl ScreamSettings {
    /// The parameters that the draft recommends.
    #[must_use]
    pub const fn draft() -> Self {
        Self {
            variant: ScreamVariant::Draft(DraftOptions {
                l4s: false,
                reduce_jitter: false,
                reduce_undershoot: false,
                tolerate_link_loss: false,
                correct_clock_drift: true,
                rate_margin: 1.2,
                relaxed_pacing: 4.0,
            }),
            // Draft, "Reference Window Update".
            mss: Bytes(1000),
            min_window: Bytes(3000),
            head_room: 1.5,
            multiplicative_increase: 0.02,
            queue_delay_target: Duration::from_millis(60),
            post_congestion_rtts: 100.0,
            // Draft, "Reference Window Reduction".
            inflection_factor: 8.0,
            // Draft, "Send Window Calculation".
            overhead_most: 3.0,
            // Draft, "Packet Pacing".
            pacing_headroom: 1.5,
        }
    }

    /// The draft's algorithm with the parameters of Ericsson's implementation, which has the draft's options always on and
    /// made the published measurements (EricssonResearch/scream c8f84c3: `ScreamTx.h`, `ScreamV2Tx.cpp`; the queue delay
    /// target and the overhead are those of its tool `scream_sender.cpp`). Its own algorithm differs in more: it updates the
    /// window each 30 ms, keeps the smallest window at 3 MSS of the packets in use, compensates drift by the long-term
    /// smallest queue delay, and paces large frames faster.
    #[must_use]
    pub const fn ericsson() -> Self {
        Self {
            variant: ScreamVariant::Draft(DraftOptions {
                l4s: false,
                reduce_jitter: true,
                reduce_undershoot: true,
                tolerate_link_loss: true,
                correct_clock_drift: true,
                rate_margin: 1.1,
                relaxed_pacing: 5.0,
            }),
            mss: Bytes(1200),
            min_window: Bytes(3600),
            head_room: 2.0,
            multiplicative_increase: 0.05,
            queue_delay_target: Duration::from_millis(60),
            post_congestion_rtts: 200.0,
            inflection_factor: 8.0,
            overhead_most: 5.0,
            pacing_headroom: 1.5,
        }
    }

    /// These parameters for packets that are sent as ECT(1). Without effect on libwebrtc's, which take a CE mark for one of
    /// L4S always.
    #[must_use]
    pub const fn with_l4s(mut self) -> Self {
        if let ScreamVariant::Draft(options) = &mut self.variant {
            options.l4s = true;
        }
        self
    }

    /// The parameters of libwebrtc (`scream_v2_parameters.cc`).
    #[must_use]
    pub const fn libwebrtc() -> Self {
        Self {
            variant: ScreamVariant::Libwebrtc,
            mss: Bytes(1280),
            min_window: Bytes(1000),
            head_room: 1.1,
            multiplicative_increase: 0.02,
            queue_delay_target: Duration::from_millis(60),
            post_congestion_rtts: 100.0,
            inflection_factor: 2.0,
            overhead_most: 3.0,
            pacing_headroom: 1.1,
        }
    }
}

impl Default for ScreamSettings {
    fn default() -> Self {
        Self::draft()
    }
}

// Where the draft and libwebrtc agree.

/// `VIRTUAL_RTT`. Draft, "Reference Window Update".
pub(super) const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// `BETA_LOSS`. Draft, "Reference Window Update".
pub(super) const BETA_LOSS: f64 = 0.7;
/// Round trips without congestion after which the window is cut to the bytes in flight. Draft, "Reference Window
/// Reduction".
pub(super) const WINDOW_STALE_RTTS: f64 = 100.0;
/// `QDELAY_AVG_G`. Draft, "Detecting Increased Queue Delay".
pub(super) const QUEUE_DELAY_GAIN: f64 = 1.0 / 4.0;
/// `L4S_AVG_G_UP`. Draft, "Receiving ECN-CE for L4S".
pub(super) const ALPHA_GAIN_UP: f64 = 1.0 / 8.0;
/// `L4S_AVG_G_DOWN`. Draft, "Receiving ECN-CE for L4S".
pub(super) const ALPHA_GAIN_DOWN: f64 = 1.0 / 128.0;
/// `REF_WND_OVERHEAD_MIN`. Draft, "Send Window Calculation".
pub(super) const OVERHEAD_MIN: f64 = 1.5;
/// The gain of the smoothed round-trip time (RFC 6298 section 2.3).
pub(super) const RTT_GAIN: f64 = 1.0 / 8.0;
/// The gain of the smoothed round-trip time of a source that sends less than the window allows. The draft ("Discussion")
/// recommends a smaller one without a figure; this is libwebrtc's (`SmoothedRttAvgInAlrG`).
pub(super) const RTT_GAIN_LIMITED: f64 = 1.0 / 128.0;
