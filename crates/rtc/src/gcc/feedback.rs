//! How often a receiver sends transport-wide feedback (TWCC).
//!
//! libwebrtc f3ae3eb, `modules/remote_bitrate_estimator/transport_sequence_number_feedback_generator.cc`.

use airlane_core::{BitRate, Bytes, Duration};

use super::rate::scaled;

/// The interval before the first estimate.
pub const FEEDBACK_INTERVAL_AT_START: Duration = Duration::from_millis(100);

/// The shortest interval.
const MIN: Duration = Duration::from_millis(50);
/// The longest interval.
const MAX: Duration = Duration::from_millis(250);
/// The share of the estimate that reports may take.
const SHARE: f64 = 0.05;
/// The assumed size of a report: 20 B of IPv4, 8 B of UDP, 10 B of SRTP, and 30 B, the mean of reports at both intervals.
const REPORT: Bytes = Bytes(68);

/// The interval between two reports of a receiver that sends at this estimate itself: reports take 5 % of it, at 50 to 250 ms.
///
/// ```
/// use airlane_core::{BitRate, Duration};
/// use airlane_rtc::gcc::feedback_interval;
///
/// // 68 B · 8 / (5 % of 150 kbit/s) = 72.5 ms
/// assert_eq!(feedback_interval(BitRate(150_000)).as_micros(), 72_533);
/// assert_eq!(feedback_interval(BitRate(1_000_000)), Duration::from_millis(50));
/// ```
#[must_use]
pub fn feedback_interval(estimate: BitRate) -> Duration {
    scaled(estimate, SHARE).transmission_time(REPORT).clamp(MIN, MAX)
}
