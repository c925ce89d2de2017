//! ACK aggregation: the number of segments acknowledged at once beyond what the rate explains. With
//! aggregation, as in Wi-Fi and cable networks, a window of twice the path's bandwidth-delay
//! product would run empty between bursts of acknowledgments. Linux since 5.1
//! (`bbr_update_ack_aggregation`).

use airlane_core::{Duration, Instant};

use super::{BW_UNIT, DeliverySample};

/// Round trips after which the older half of the maximum expires.
const WINDOW_ROUNDS: u32 = 5;
/// The count restarts at this value.
const COUNT_MAX: u64 = 1 << 20;
/// The window increases by at most what the rate delivers in 100 ms.
const WINDOW_MAX: Duration = Duration::from_millis(100);

/// The estimate: the maximum excess of the last five to ten round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    began: Instant,
    acked: u64,
    extra: [u32; 2],
    half: usize,
    rounds: u32,
}

impl Aggregation {
    /// Begins an epoch.
    pub(super) fn begin(&mut self, now: Instant) {
        self.began = now;
        self.acked = 0;
    }

    /// Adds an ACK at the rate `bw`.
    pub(super) fn update(&mut self, bw: u64, round_start: bool, window: u32, sample: &DeliverySample) {
        if sample.newly_delivered == 0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.half = 1 - self.half;
                self.extra[self.half] = 0;
            }
        }
        let mut expected = segments(bw, sample.delivered_at.saturating_since(self.began));
        let acked = u64::from(sample.newly_delivered);
        if self.acked <= expected || self.acked + acked >= COUNT_MAX {
            self.begin(sample.delivered_at);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(COUNT_MAX - 1);
        let extra = (self.acked - expected).min(u64::from(window)) as u32;
        self.extra[self.half] = self.extra[self.half].max(extra);
    }

    /// Additional segments of the window at the rate `bw`.
    pub(super) fn window(&self, bw: u64) -> u32 {
        let most = segments(bw, WINDOW_MAX);
        u64::from(self.extra[0].max(self.extra[1])).min(most) as u32
    }
}

/// Segments that the rate delivers in a span.
fn segments(bw: u64, span: Duration) -> u64 {
    (u128::from(bw) * u128::from(span.as_micros()) / u128::from(BW_UNIT)) as u64
}
