//! Adaptive receiver-window adjustment, the sender's half: NewReno that obeys its receiver's codes.
//!
//! N. D. Adesh and A. Renuka, J. Computer Networks and Communications 2019, 3645717, Algorithm 2, whose
//! listing is missing from our copy of the paper; section 3.4 describes it. A code below 100 reduces the
//! window, but not below 3000 bytes; a smaller window is increased to 3000 bytes. A code of 101 to 120
//! increases it, by half as much if it is above 10000 bytes. Losses and acknowledgments have the effects of
//! NewReno.
//!
//! A code changes the window by less than a segment, so the window is counted in bytes here (RFC 5681
//! §3.1, equation 3). A remainder below a segment has no effect until it has grown to a segment.

use airlane_core::Bytes;

use super::controller::Law;
use super::{AckSample, CongestionController, Controller, Needs, NewReno, SegmentWindow};

/// The effect of a code on the window; the paper states only that the code is "used to" change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeStep {
    /// By this percentage of the window: 1 to 100 down, or 1 to 20 up for 101 to 120.
    Percent,
    /// By this number of bytes: a code of 60 subtracts 60 bytes, a code of 110 adds 110.
    Bytes,
}

/// Whether slow start ends when a code reduces the window, which the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartAfterReduction {
    /// Slow start continues: the window doubles again.
    GoesOn,
    /// Slow start ends: the reduced window is the threshold.
    Ends,
}

/// Parameters of a sender that obeys codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArwaSender {
    /// The reduction by a code below 100.
    pub cut: CodeStep,
    /// The increase by a code above 100.
    pub gain: CodeStep,
    /// Lower limit of the window when codes reduce it ("lower target limit", 3000 bytes in the paper).
    pub window_min: Bytes,
    /// Above this window, codes add half ("upper target limit", 10000 bytes in the paper).
    pub upper_target: Bytes,
    /// Whether a code equal to the previous one has no effect.
    pub only_changes: bool,
    /// Whether slow start ends when a code reduces the window.
    pub slow_start: SlowStartAfterReduction,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Arwa {
    config: ArwaSender,
    /// The window in bytes; [`SegmentWindow`] has its whole segments.
    bytes: u64,
    last_code: u8,
}

impl Arwa {
    pub(super) const fn new(config: ArwaSender) -> Self {
        Self { config, bytes: 0, last_code: 0 }
    }

    /// The window in bytes: the value here, unless its whole segments have been changed elsewhere since.
    fn bytes(&self, window: &SegmentWindow) -> u64 {
        let size = u64::from(window.segment_size());
        if self.bytes / size == u64::from(window.segments) { self.bytes } else { window.bytes().get() }
    }

    fn set(&mut self, window: &mut SegmentWindow, bytes: u64) {
        let size = u64::from(window.segment_size());
        self.bytes = bytes.max(size); // a window has at least one segment
        window.segments = (self.bytes / size) as u32;
    }

    /// Handles a code of 1 to 120. Returns the window in bytes before and after, if the code is obeyed.
    fn on_code(&mut self, window: &mut SegmentWindow, code: u8) -> Option<[u64; 2]> {
        let repeated = self.last_code == code;
        self.last_code = code;
        let before = self.bytes(window);
        // Section 3.4 compares the code with the window, which is always larger with at least one
        // segment.
        if u64::from(code) >= before || !(1..=120).contains(&code) || (self.config.only_changes && repeated) {
            return None;
        }
        let after = if code <= 100 { self.cut(before, code) } else { self.grown(before, code) };
        self.set(window, after);
        if after < before && self.config.slow_start == SlowStartAfterReduction::Ends {
            window.ssthresh = window.ssthresh.min(window.segments.max(SegmentWindow::MIN_SSTHRESH));
        }
        Some([before, self.bytes])
    }

    fn cut(&self, window: u64, code: u8) -> u64 {
        let code = u64::from(code);
        let cut = match self.config.cut {
            CodeStep::Percent => window * code / 100,
            CodeStep::Bytes => code,
        };
        window.saturating_sub(cut).max(self.config.window_min.get())
    }

    /// Half of a code is half of its excess over 100, or half of the bytes: half of 101 to 120 as a
    /// percentage would be more than the whole.
    fn grown(&self, window: u64, code: u8) -> u64 {
        let halves = if window > self.config.upper_target.get() { 1 } else { 2 };
        let gain = match self.config.gain {
            CodeStep::Percent => window * u64::from(code - 100) * halves / 200,
            CodeStep::Bytes => u64::from(code) * halves / 2,
        };
        window + gain
    }
}

/// The codes of an ARWA receiver, which only [`Arwa`] obeys.
pub trait ObeysCodes {
    /// A code arrived. Returns the window before and after, if the code is obeyed.
    fn on_code(&mut self, code: u8) -> Option<[Bytes; 2]>;
}

impl ObeysCodes for Controller {
    fn on_code(&mut self, code: u8) -> Option<[Bytes; 2]> {
        let Law::Arwa(arwa) = &mut self.law else { return None };
        arwa.on_code(&mut self.window, code).map(|bytes| bytes.map(Bytes))
    }
}

impl CongestionController for Arwa {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        if !ack.may_grow || !window.used_by(ack) {
            return;
        }
        let size = u64::from(window.segment_size());
        let mut bytes = self.bytes(window);
        let mut delivered = u64::from(ack.delivered_segments);
        let ssthresh = u64::from(window.ssthresh).saturating_mul(size);
        if bytes < ssthresh {
            let grown = (bytes + delivered * size).min(ssthresh); // RFC 5681 §3.1, equation 2
            delivered -= (grown - bytes).div_ceil(size);
            bytes = grown;
        }
        if delivered > 0 {
            bytes += (delivered * size * size / bytes).max(1); // equation 3
        }
        self.set(window, bytes);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        NewReno { abe: false }.threshold(window)
    }

    fn window_bytes(&self, window: &SegmentWindow) -> Bytes {
        Bytes(self.bytes(window))
    }
}

#[cfg(test)]
mod tests;
