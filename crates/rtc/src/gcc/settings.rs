//! The constants of GCC as libwebrtc has them by default.
//!
//! All values are those of libwebrtc at commit f3ae3eb (2026-08-21), read in the mirror maitrungduc1410/webrtc. Each group
//! names its file; files without a folder are in `modules/congestion_controller/goog_cc`.

use airlane_core::{BitRate, Bytes, Duration};

use super::loss_settings::LossSettings;

/// All settings of [`super::Gcc`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GccSettings {
    /// How packets become groups.
    pub(super) grouping: Grouping,
    /// The filter of the delay gradient and its threshold.
    pub(super) trendline: TrendlineSettings,
    /// The control of the rate by delay.
    pub(super) aimd: AimdSettings,
    /// The estimate of the link's capacity.
    pub(super) link_capacity: LinkCapacitySettings,
    /// The estimate of the acknowledged rate.
    pub(super) throughput: ThroughputSettings,
    /// The estimate by loss.
    pub(super) loss: LossSettings,
    /// The backoff when feedback is late.
    pub(super) rtt_backoff: RttBackoffSettings,
    /// The times and rates of probes.
    pub(super) probing: ProbingSettings,
    /// The evaluation of a probe.
    pub(super) probe_result: ProbeResultSettings,
    /// The detection of a sender with little to send.
    pub(super) alr: AlrSettings,
    /// The rate of the pacer, and the interval of processing.
    pub(super) pacing: PacingSettings,
    /// The window that lowers the media's rate when it is full.
    pub(super) congestion_window: CongestionWindowSettings,
}

impl GccSettings {
    /// These settings without the window that lowers the media's rate when it is full: the target is the estimate.
    #[must_use]
    pub const fn without_congestion_window(mut self) -> Self {
        self.congestion_window.enabled = false;
        self
    }
}

/// The grouping of packets: `delay_based_bwe.cc`, `inter_arrival_delta.cc`, and `inter_arrival_delta.h` for the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grouping {
    /// A group is sent within this time.
    pub(super) send_time: Duration,
    /// A packet that arrives this soon after the one before, and sooner than it was sent after it, is of its group.
    pub(super) burst_gap: Duration,
    /// The longest time in which such a group arrives.
    pub(super) burst_max: Duration,
    /// Filter and groups are reset after this time without feedback.
    pub(super) stream_timeout: Duration,
    /// Groups are reset when arrivals are this far ahead of the sender's clock.
    pub(super) clock_offset: Duration,
    /// Groups are reset after as many groups out of order.
    pub(super) reordered_max: u32,
}

impl Default for Grouping {
    fn default() -> Self {
        Self {
            send_time: Duration::from_millis(5),
            burst_gap: Duration::from_millis(5),
            burst_max: Duration::from_millis(100),
            stream_timeout: Duration::from_secs(2),
            clock_offset: Duration::from_secs(3),
            reordered_max: 3,
        }
    }
}

/// The trendline filter and the detector of overuse: `trendline_estimator.cc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrendlineSettings {
    /// The groups over which a line is fitted.
    pub(super) window: usize,
    /// The weight of the past in the smoothed delay.
    pub(super) smoothing: f64,
    /// The gain of the trend before it is compared with the threshold.
    pub(super) gain: f64,
    /// The trend is multiplied by the number of groups seen, up to this number.
    pub(super) deltas_max: u32,
    /// The first threshold, in ms.
    pub(super) threshold: f64,
    /// The least threshold, in ms.
    pub(super) threshold_min: f64,
    /// The greatest threshold, in ms.
    pub(super) threshold_max: f64,
    /// How fast the threshold rises, per ms.
    pub(super) k_up: f64,
    /// How fast it falls, per ms.
    pub(super) k_down: f64,
    /// The threshold does not adapt to a trend that exceeds it by this, in ms.
    pub(super) adapt_offset_max: f64,
    /// The longest time that one adaptation counts, in ms.
    pub(super) adapt_time_max: i64,
    /// The trend exceeds the threshold for longer than this before it is overuse, in ms.
    pub(super) overuse_time: f64,
}

impl Default for TrendlineSettings {
    fn default() -> Self {
        Self {
            window: 20,
            smoothing: 0.9,
            gain: 4.0,
            deltas_max: 60,
            threshold: 12.5,
            threshold_min: 6.0,
            threshold_max: 600.0,
            k_up: 0.0087,
            k_down: 0.039,
            adapt_offset_max: 15.0,
            adapt_time_max: 100,
            overuse_time: 10.0,
        }
    }
}

/// Additive increase, multiplicative decrease: `modules/remote_bitrate_estimator/aimd_rate_control.cc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AimdSettings {
    /// The share of the acknowledged rate after overuse.
    pub(super) backoff: f64,
    /// Subtracted from it, if it is greater than this.
    pub(super) backoff_subtract: BitRate,
    /// The factor by which the rate grows in a second as long as the capacity of the link is unknown.
    pub(super) multiplicative: f64,
    /// The least such growth of one update.
    pub(super) multiplicative_min: BitRate,
    /// The longest time since the last update that counts for it.
    pub(super) multiplicative_time_max: Duration,
    /// The rate does not grow beyond this multiple of the acknowledged rate,
    pub(super) limit_factor: f64,
    /// plus this.
    pub(super) limit_add: BitRate,
    /// The additive increase is one packet of a frame of this duration,
    pub(super) frame_interval: Duration,
    /// where a frame is divided into packets of at most this size,
    pub(super) packet_size: Bytes,
    /// in twice the sum of the RTT and this delay of the detector.
    pub(super) detector_delay: Duration,
    /// The least additive increase per second.
    pub(super) additive_min: BitRate,
    /// The RTT until one is measured.
    pub(super) default_rtt: Duration,
    /// The rate decreases again after an RTT, but not before this time,
    pub(super) decrease_interval_min: Duration,
    /// and at this time at the latest,
    pub(super) decrease_interval_max: Duration,
    /// or at once when the acknowledged rate is below this share of the estimate.
    pub(super) decrease_at_once: f64,
}

impl Default for AimdSettings {
    fn default() -> Self {
        Self {
            backoff: 0.85,
            backoff_subtract: BitRate(5_000),
            multiplicative: 1.08,
            multiplicative_min: BitRate(1_000),
            multiplicative_time_max: Duration::from_secs(1),
            limit_factor: 1.5,
            limit_add: BitRate(10_000),
            // A thirtieth of a second in whole microseconds, as libwebrtc computes it.
            frame_interval: Duration::from_micros(33_333),
            packet_size: Bytes(1_200),
            detector_delay: Duration::from_millis(100),
            additive_min: BitRate(4_000),
            default_rtt: Duration::from_millis(200),
            decrease_interval_min: Duration::from_millis(10),
            decrease_interval_max: Duration::from_millis(200),
            decrease_at_once: 0.5,
        }
    }
}

/// The capacity of the link: `link_capacity_estimator.cc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkCapacitySettings {
    /// The weight of the acknowledged rate at overuse.
    pub(super) smoothing: f64,
    /// The least variance divided by the estimate, in kbit/s.
    pub(super) deviation_min: f64,
    /// The greatest variance divided by the estimate, in kbit/s.
    pub(super) deviation_max: f64,
    /// Half the width of the range of the estimate, in standard deviations.
    pub(super) width: f64,
}

impl Default for LinkCapacitySettings {
    fn default() -> Self {
        Self { smoothing: 0.05, deviation_min: 0.4, deviation_max: 2.5, width: 3.0 }
    }
}

/// The acknowledged rate: `acknowledged_bitrate_estimator_interface.h` and `robust_throughput_estimator.cc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThroughputSettings {
    /// The least number of packets from which a rate is computed.
    pub(super) required_packets: usize,
    /// The window has at least as many packets,
    pub(super) window_packets: usize,
    /// and is at least this long,
    pub(super) window_min: Duration,
    /// unless it has more packets than this,
    pub(super) window_packets_max: usize,
    /// or is longer than this.
    pub(super) window_max: Duration,
    /// The window is emptied when a packet arrived this long before the latest.
    pub(super) reordering_max: Duration,
    /// The shortest time over which a rate is computed.
    pub(super) span_min: Duration,
}

impl Default for ThroughputSettings {
    fn default() -> Self {
        Self {
            required_packets: 10,
            window_packets: 20,
            window_min: Duration::from_secs(1),
            window_packets_max: 500,
            window_max: Duration::from_secs(5),
            reordering_max: Duration::from_secs(1),
            span_min: Duration::from_millis(1),
        }
    }
}

/// The backoff when feedback is late: `send_side_bandwidth_estimation.cc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RttBackoffSettings {
    /// An RTT above this, of which the time since the last feedback is part.
    pub(super) limit: Duration,
    /// The factor of each backoff.
    pub(super) factor: f64,
    /// The time between two.
    pub(super) interval: Duration,
    /// The least rate after it.
    pub(super) floor: BitRate,
}

impl Default for RttBackoffSettings {
    fn default() -> Self {
        Self {
            limit: Duration::from_secs(3),
            factor: 0.8,
            interval: Duration::from_secs(1),
            floor: BitRate(5_000),
        }
    }
}

/// Probing: `probe_controller.cc`, and `modules/pacing/bitrate_prober.cc` for the last two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProbingSettings {
    /// The first probe, as a multiple of the first rate.
    pub(super) first: f64,
    /// The second.
    pub(super) second: f64,
    /// Each further probe, as a multiple of the estimate,
    pub(super) further: f64,
    /// if the estimate exceeds this share of the last probe.
    pub(super) further_threshold: f64,
    /// How long a result is waited for.
    pub(super) result_wait: Duration,
    /// The least number of packets of a probe.
    pub(super) packets: u32,
    /// The least duration of a probe.
    pub(super) duration: Duration,
    /// Whether probes are sent while the application limits the rate. libwebrtc does so for the content or by the
    /// application's setting (`video/video_send_stream_impl.cc`); its default is off.
    pub(super) periodic_in_alr: bool,
    /// The interval of these probes.
    pub(super) alr_interval: Duration,
    /// Their rate as a multiple of the estimate.
    pub(super) alr: f64,
    /// A drop to less than this share of the estimate is a large one.
    pub(super) drop_threshold: f64,
    /// After a large drop, the rate before it is probed if the overuse ends within this time,
    pub(super) drop_timeout: Duration,
    /// and the application limits the rate, or did until this time ago.
    pub(super) alr_ended_timeout: Duration,
    /// The share of the rate before that is probed,
    pub(super) drop_share: f64,
    /// if the estimate is below that by more than this share.
    pub(super) uncertainty: f64,
    /// The least time between two such probes.
    pub(super) drop_interval: Duration,
    /// A probe that has waited for this time is not sent.
    pub(super) pending_max: Duration,
    /// The number of probes that may wait.
    pub(super) pending_count_max: usize,
}

impl Default for ProbingSettings {
    fn default() -> Self {
        Self {
            first: 3.0,
            second: 6.0,
            further: 2.0,
            further_threshold: 0.7,
            result_wait: Duration::from_secs(1),
            packets: 5,
            duration: Duration::from_millis(15),
            periodic_in_alr: false,
            alr_interval: Duration::from_secs(5),
            alr: 2.0,
            drop_threshold: 0.66,
            drop_timeout: Duration::from_secs(5),
            alr_ended_timeout: Duration::from_secs(3),
            drop_share: 0.85,
            uncertainty: 0.05,
            drop_interval: Duration::from_secs(5),
            pending_max: Duration::from_secs(5),
            pending_count_max: 5,
        }
    }
}

/// The result of a probe: `probe_bitrate_estimator.cc`, and `goog_cc_network_control.cc` for the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProbeResultSettings {
    /// The share of a probe's packets that must have arrived.
    pub(super) packets: f64,
    /// The share of its bytes.
    pub(super) bytes: f64,
    /// The greatest ratio of the rate of arrival to that of sending.
    pub(super) ratio_max: f64,
    /// Below this ratio the link was saturated,
    pub(super) unsaturated: f64,
    /// and the result is this share of the rate of arrival.
    pub(super) utilization: f64,
    /// The time after which a probe is forgotten.
    pub(super) history: Duration,
    /// The longest time in which a probe is sent, and in which it arrives.
    pub(super) interval_max: Duration,
    /// A result does not lower the estimate below this share of the acknowledged rate.
    pub(super) acknowledged_share: f64,
}

impl Default for ProbeResultSettings {
    fn default() -> Self {
        Self {
            packets: 0.8,
            bytes: 0.8,
            ratio_max: 2.0,
            unsaturated: 0.9,
            utilization: 0.95,
            history: Duration::from_secs(1),
            interval_max: Duration::from_secs(1),
            acknowledged_share: 0.85,
        }
    }
}

/// The application-limited region (ALR): `alr_detector.h`, and `modules/pacing/interval_budget.cc` for the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AlrSettings {
    /// The share of the estimate that fills the budget.
    pub(super) usage: f64,
    /// The region starts when more than this share of the budget is unused,
    pub(super) start: f64,
    /// and ends when less than this is.
    pub(super) stop: f64,
    /// The length of the budget.
    pub(super) window: Duration,
}

impl Default for AlrSettings {
    fn default() -> Self {
        Self { usage: 0.65, start: 0.8, stop: 0.5, window: Duration::from_millis(500) }
    }
}

/// Pacing: `goog_cc_network_control.cc`, and `api/transport/goog_cc_factory.cc` for the interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PacingSettings {
    /// The rate of the pacer as a multiple of the estimate.
    pub(super) factor: f64,
    /// The same before the first feedback.
    pub(super) factor_at_start: f64,
    /// The interval of processing.
    pub(super) process_interval: Duration,
}

impl Default for PacingSettings {
    fn default() -> Self {
        Self { factor: 1.1, factor_at_start: 2.5, process_interval: Duration::from_millis(25) }
    }
}

/// The congestion window and its pushback: `congestion_window_pushback_controller.cc`, `goog_cc_network_control.cc`,
/// `video/video_stream_encoder.cc`, and the default of `rtc_base/experiments/rate_control_settings.cc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CongestionWindowSettings {
    /// Whether there is a window.
    pub(super) enabled: bool,
    /// The window is the bytes that the estimate allows in the least of the recent RTTs and this time.
    pub(super) queue: Duration,
    /// The least window.
    pub(super) min: Bytes,
    /// The number of reports from which that RTT is taken.
    pub(super) reports: usize,
    /// The least rate that a full window leaves.
    pub(super) rate_min: BitRate,
}

impl Default for CongestionWindowSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            queue: Duration::from_millis(350),
            min: Bytes(3_000),
            reports: 32,
            rate_min: BitRate(30_000),
        }
    }
}
