//! Rules by which a TCP receiver sets its window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Size, Time};

/// Receive window that the receiver offers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ReceiveWindow {
    /// Fixed size.
    Fixed(FixedWindow),
    /// Autotuning: it grows with the amount that the application reads in a round trip.
    Autotuned(AutotunedWindow),
    /// DRWA (Jiang et al., IMC 2012): a window that keeps the queue of the path short.
    Drwa(DrwaWindow),
    /// ARWA (Adesh and Renuka, 2019): the whole buffer, and codes by which a NewReno sender adjusts its window.
    Arwa(ArwaWindow),
}
tagged!(ReceiveWindow by "kind" {
    "fixed" => Fixed(FixedWindow),
    "autotuned" => Autotuned(AutotunedWindow),
    "drwa" => Drwa(DrwaWindow),
    "arwa" => Arwa(ArwaWindow),
});

/// Receive buffer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ReceiveBuffer {
    /// Fixed size.
    Fixed(FixedWindow),
    /// Autotuning: it grows with the amount that the application reads in a round trip.
    Autotuned(AutotunedWindow),
}
tagged!(ReceiveBuffer by "kind" { "fixed" => Fixed(FixedWindow), "autotuned" => Autotuned(AutotunedWindow) });

/// A window that keeps the queue of the path short: `lambda`, times the ratio of minimum to current round-trip time,
/// times the bytes received in a round trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrwaWindow {
    /// Receive buffer, the maximum of the window.
    pub buffer: ReceiveBuffer,
    /// Minimum window in segments. With 0, the window can be below one segment, and the sender waits for its persist
    /// timer.
    pub floor: u32,
    /// Factor of the window of a path with empty queues.
    pub lambda: f64,
    /// Weight of the previous estimate in the moving average of bytes received in a round trip. The last round trip has
    /// the remaining weight.
    pub alpha: f64,
}

/// A receiver that reports by how much the window is too large or too small, and a sender that adjusts its window. Each
/// detail that the paper leaves open has a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArwaWindow {
    /// Receive buffer, which is also the offered window.
    pub buffer: ReceiveBuffer,
    /// Measure of the delay of a segment. Every measure needs `timestamps`.
    pub delay: ArwaDelay,
    /// Offset of the receiver's clock if it is ahead of the sender's.
    pub clock_ahead: Time,
    /// Offset of the receiver's clock if it is behind the sender's.
    pub clock_behind: Time,
    /// Whether short segments also count. They have a lower rate at the same delay.
    pub short_segments: bool,
    /// Code for an increased delay below ten times the minimum.
    pub case_two: ArwaCaseTwo,
    /// Code that is stored after a code was reduced because another was sent in the same 30 ms.
    pub old_code: ArwaOldCode,
    /// Time after which the receiver forgets the segment of minimum delay and takes the minimum of those that follow, as a
    /// device that senses fast movement might. By default, the minimum is that of the session.
    pub forget_after: Option<Time>,
    /// How a code decreases the sender's window.
    pub cut: ArwaStep,
    /// How a code increases the sender's window.
    pub gain: ArwaStep,
    /// Minimum of the sender's window after a code.
    pub window_min: Size,
    /// Sender's window above which codes add half as much.
    pub upper_target: Size,
    /// Codes that the sender applies.
    pub obeys: ArwaObeys,
    /// Effect on slow start of a code that reduces the window.
    pub slow_start: ArwaSlowStartAfterReduction,
}

/// Measure of the delay of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaDelay {
    /// Receiver's clock minus the sender's timestamp. It needs synchronised clocks.
    OneWay,
    /// Delay relative to the fastest segment, plus half the minimum round-trip time.
    Relative,
    /// Round-trip time from the receiver's own timestamps.
    RoundTrip,
}

/// Code for an increased delay below ten times the minimum. P is the decrease of the rate in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaCaseTwo {
    /// Half of P - 30, 0 to 30.
    Scaled,
    /// P - 30, 0 to 60.
    Difference,
}

/// Code that is stored after a code was reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaOldCode {
    /// The reduced code.
    Lessened,
    /// The code before its reduction.
    Estimated,
}

/// By how much a code changes a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaStep {
    /// By a percentage: codes 1 to 100 decrease the window by 1 to 100 %, codes 101 to 120 increase it by 1 to 20 %.
    Percent,
    /// By the number of bytes that the code gives.
    Bytes,
}

/// Codes that a sender applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaObeys {
    /// Every code.
    Each,
    /// Codes that differ from the previous one.
    Changes,
}

/// Effect on slow start of a code that reduces the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaSlowStartAfterReduction {
    /// Slow start continues.
    GoesOn,
    /// Slow start ends: the reduced window becomes the threshold.
    Ends,
}

/// A window of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedWindow {
    /// Size of the window.
    pub size: Size,
}

/// A window that grows with the flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutotunedWindow {
    /// Initial memory of the buffer, as the second value of `tcp_rmem` in Linux. About half to two thirds of it is
    /// window.
    pub initial: Size,
    /// Maximum memory of the buffer, as the third value of `tcp_rmem`.
    pub max: Size,
}
