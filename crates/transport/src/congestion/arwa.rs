//! Adaptive receiver-window adjustment, the sender's half: NewReno that obeys its receiver's codes.
//!
//! N. D. Adesh and A. Renuka, J. Computer Networks and Communications 2019, 3645717, Algorithm 2, whose
//! listing is lost; section 3.4 tells what it does. A code below 100 reduces the window, but never to less
//! than 3000 bytes; a smaller window is raised to that. A code of 101 to 120 raises it, by half as much when
//! it is above 10000 bytes. Losses and acknowledgments do what they do in NewReno.
//!
//! A code moves the window by less than a segment, so the window is kept in bytes here (RFC 5681 §3.1,
//! equation 3), and what is below a segment waits until it has grown to one.

use airlane_core::Bytes;

use super::{AckSample, CongestionController, NewReno, SegmentWindow};

/// By how much a code changes the window: the text says only that it is "used to" do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeStep {
    /// By so many percent of the window: 1 to 100 down, or 1 to 20 up for 101 to 120.
    Percent,
    /// By so many bytes: a code of 60 takes 60 bytes away, one of 110 adds 110.
    Bytes,
}

/// What becomes of slow start when a code reduces the window, of which the paper says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStart {
    /// It goes on: the window doubles again.
    GoesOn,
    /// It is over: the reduced window is the threshold.
    Ends,
}

/// The set-up of a sender that obeys codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArwaSender {
    /// What a code below 100 takes away.
    pub cut: CodeStep,
    /// What a code above 100 adds.
    pub gain: CodeStep,
    /// Codes do not reduce the window to less ("lower target limit", 3000 bytes in the paper).
    pub window_min: Bytes,
    /// Above it, codes add half ("upper target limit", 10000 bytes in the paper).
    pub upper_target: Bytes,
    /// A code that says the same as the one before it changes nothing.
    pub only_changes: bool,
    /// What becomes of slow start when a code reduces the window.
    pub slow_start: SlowStart,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Arwa {
    config: ArwaSender,
    /// The window in bytes; its whole segments are the window's.
    bytes: u64,
    last_code: u8,
}

impl Arwa {
    pub(super) const fn new(config: ArwaSender) -> Self {
        Self { config, bytes: 0, last_code: 0 }
    }

    /// The window in bytes: as kept here, unless something else has changed its whole segments since.
    pub(super) fn bytes(&self, window: &SegmentWindow) -> u64 {
        let size = u64::from(window.segment_size());
        if self.bytes / size == u64::from(window.segments) { self.bytes } else { window.bytes().get() }
    }

    fn set(&mut self, window: &mut SegmentWindow, bytes: u64) {
        let size = u64::from(window.segment_size());
        self.bytes = bytes.max(size); // no window is below a segment
        window.segments = (self.bytes / size) as u32;
    }

    /// A code of 1 to 120 arrived. Returns the window in bytes before and after, if it is obeyed.
    pub(super) fn on_code(&mut self, window: &mut SegmentWindow, code: u8) -> Option<[u64; 2]> {
        let repeated = self.last_code == code;
        self.last_code = code;
        let before = self.bytes(window);
        // Section 3.4 compares the code with the window, which is larger as soon as it has a segment.
        if u64::from(code) >= before || !(1..=120).contains(&code) || (self.config.only_changes && repeated) {
            return None;
        }
        let after = if code <= 100 { self.cut(before, code) } else { self.grown(before, code) };
        self.set(window, after);
        if after < before && self.config.slow_start == SlowStart::Ends {
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

    /// Half of the code is half of what it is above 100, or half of the bytes: half of a percentage of 101
    /// to 120 would be more than the whole.
    fn grown(&self, window: u64, code: u8) -> u64 {
        let halves = if window > self.config.upper_target.get() { 1 } else { 2 };
        let gain = match self.config.gain {
            CodeStep::Percent => window * u64::from(code - 100) * halves / 200,
            CodeStep::Bytes => u64::from(code) * halves / 2,
        };
        window + gain
    }
}

impl CongestionController for Arwa {
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
        NewReno.threshold(window)
    }
}

#[cfg(test)]
mod tests;
