//! The rule of DRWA, for a receiver's socket in the kernel.
//!
//! It is that of the simulator ([`airlane_transport::window::drwa`]), whose inputs are here `tcp_info`'s
//! `tcpi_bytes_received` and `tcpi_rcv_rtt`. Both differ a little from the paper's: the bytes have arrived in
//! order, and may not have been read yet; the round trip is the kernel's moving average over timestamps,
//! with a weight of 1/8 for a new sample (`tcp_rcv_rtt_update` in Linux' `tcp_input.c`). The mean of its
//! values since the last update takes the place of the paper's mean: the latest value alone follows the queue
//! so closely that the window oscillates around its fixed point.

use airlane_core::{Bytes, Duration, Instant};
use airlane_transport::ReceiveBuffer;
use airlane_transport::window::drwa::DrwaWindow;
use airlane_transport::window::{DrwaReceiver, Read, ReceiveWindow};

/// Larger than any window: the rule alone determines the result.
const NO_LIMIT: Bytes = Bytes(u64::MAX);
/// The largest window of TCP (RFC 7323 section 2.2).
const WINDOW_MAX: u64 = (1 << 30) - 1;

/// Factors of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factors {
    pub(crate) lambda_millionths: u64,
    pub(crate) alpha_millionths: u32,
    pub(crate) floor_segments: u32,
}

/// State of a connection at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Bytes received in order since the connection began.
    pub(crate) bytes: u64,
    /// Round trip as the receiver measures it; zero before the first measurement.
    pub(crate) rtt: Duration,
}

/// The rule for one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    window: DrwaWindow,
    segment: Bytes,
    /// Bytes that had arrived before the connection was observed: they belong to no round trip.
    bytes_before: u64,
    clamp: Option<u32>,
}

impl Rule {
    /// For a connection that is first seen now, with segments of this size.
    pub(crate) fn new(factors: Factors, segment: Bytes, now: Instant, bytes: u64) -> Self {
        let config = DrwaReceiver {
            buffer: ReceiveBuffer::Fixed(NO_LIMIT),
            floor_segments: factors.floor_segments,
            lambda_millionths: factors.lambda_millionths,
            alpha_millionths: factors.alpha_millionths,
        };
        let mut window = DrwaWindow::new(config, segment);
        window.on_established(now);
        Self { window, segment, bytes_before: bytes, clamp: None }
    }

    /// Takes a sample. Returns the new clamp if it has changed.
    pub(crate) fn sample(&mut self, now: Instant, sample: Sample) -> Option<u32> {
        if sample.rtt.is_zero() {
            return None;
        }
        let total = sample.bytes.saturating_sub(self.bytes_before);
        let read = Read { now, total, queued: 0, rtt: sample.rtt, segment_size: self.segment };
        self.window.on_round_trip(sample.rtt);
        self.window.on_read(&read);
        let offer = self.window.advertise(Bytes(0));
        if offer >= NO_LIMIT {
            return None; // before the end of the first round trip
        }
        let clamp = u32::try_from(offer.get().min(WINDOW_MAX)).expect("below 2^30");
        (self.clamp.replace(clamp) != Some(clamp)).then_some(clamp)
    }

    /// The clamp in force.
    pub(crate) const fn clamp(&self) -> Option<u32> {
        self.clamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Factors =
        Factors { lambda_millionths: 3_000_000, alpha_millionths: 875_000, floor_segments: 2 };
    const SEGMENT: Bytes = Bytes(1448);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn sample(bytes: u64, rtt_ms: u64) -> Sample {
        Sample { bytes, rtt: Duration::from_millis(rtt_ms) }
    }

    #[test]
    fn the_clamp_is_that_of_the_paper() {
        let mut rule = Rule::new(PAPER, SEGMENT, at(0), 5_000);
        assert_eq!(rule.sample(at(40), sample(15_000, 50)), None, "the first round trip goes on");
        // cwnd_est = 20,000 bytes; RTT_est = RTT_min = 50 ms; 3 x 1 x 20,000.
        assert_eq!(rule.sample(at(50), sample(25_000, 50)), Some(60_000));
        assert_eq!(rule.sample(at(80), sample(50_000, 60)), None);
        assert_eq!(rule.sample(at(149), sample(100_000, 100)), None, "below the latest round trip");
        // cwnd_est = 7/8 x 20,000 + 1/8 x 100,000 = 30,000; RTT_est = (60 + 100 + 140) / 3 = 100 ms;
        // 3 x 50/100 x 30,000.
        assert_eq!(rule.sample(at(190), sample(125_000, 140)), Some(45_000));
        assert_eq!(rule.clamp(), Some(45_000));
    }

    #[test]
    fn the_clamp_has_a_floor_and_a_ceiling() {
        let mut idle = Rule::new(PAPER, SEGMENT, at(0), 0);
        assert_eq!(idle.sample(at(50), sample(0, 50)), Some(2 * 1448));
        assert_eq!(idle.sample(at(100), sample(0, 50)), None, "as before");
        let mut flooded = Rule::new(PAPER, SEGMENT, at(0), 0);
        assert_eq!(flooded.sample(at(50), sample(u64::MAX / 4, 50)), Some((1 << 30) - 1));
    }

    #[test]
    fn without_a_round_trip_there_is_no_clamp() {
        let mut rule = Rule::new(PAPER, SEGMENT, at(0), 0);
        assert_eq!(rule.sample(at(1000), sample(1 << 20, 0)), None);
        assert_eq!(rule.clamp(), None);
    }
}
