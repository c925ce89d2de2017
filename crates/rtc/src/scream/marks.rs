//! The part of the packets that carry a CE mark.

use airlane_core::{Duration, Instant};

use super::settings::{ALPHA_GAIN_DOWN, ALPHA_GAIN_UP};

/// The longest time between two updates of the draft. Draft, "Receiving ECN-CE for L4S".
const UPDATE: Duration = Duration::from_millis(10);

/// `l4s_alpha`: the average part of packets with a CE mark. It rises fast and falls slowly.
#[derive(Clone, Debug, Default)]
pub(super) struct Alpha {
    average: f64,
    delivered: u64,
    marked: u64,
    updated_at: Instant,
}

impl Alpha {
    pub(super) const fn get(&self) -> f64 {
        self.average
    }

    /// An update as in the draft: of all packets of at least 10 ms or a round trip.
    pub(super) fn update_spaced(&mut self, now: Instant, packets: u64, marked: u64, smoothed_rtt: Duration) {
        self.delivered += packets;
        self.marked += marked;
        if self.delivered == 0 || now.saturating_since(self.updated_at) < smoothed_rtt.min(UPDATE) {
            return;
        }
        self.update(self.delivered, self.marked);
        (self.delivered, self.marked, self.updated_at) = (0, 0, now);
    }

    /// An update as in libwebrtc: of the packets of each report.
    pub(super) fn update(&mut self, packets: u64, marked: u64) {
        let part = marked as f64 / packets as f64;
        self.average = if part >= self.average && marked > 0 {
            ALPHA_GAIN_UP * part + (1.0 - ALPHA_GAIN_UP) * self.average
        } else {
            (1.0 - ALPHA_GAIN_DOWN) * self.average
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_converges_to_the_part_of_marked_packets() {
        let mut alpha = Alpha::default();
        for _ in 0..80 {
            alpha.update(20, 4);
        }
        assert!((alpha.get() - 0.2).abs() < 0.01, "{}", alpha.get());
    }

    #[test]
    fn the_average_falls_slower_than_it_rises() {
        let mut alpha = Alpha::default();
        alpha.update(10, 10);
        assert!((alpha.get() - 0.125).abs() < 1e-12);
        alpha.update(10, 0);
        assert!((alpha.get() - 0.125 * 127.0 / 128.0).abs() < 1e-12);
    }

    #[test]
    fn the_draft_counts_the_packets_of_ten_milliseconds() {
        let mut alpha = Alpha::default();
        let rtt = Duration::from_millis(50);
        alpha.update_spaced(Instant::from_millis(10), 1, 0, rtt);
        alpha.update_spaced(Instant::from_millis(14), 1, 1, rtt);
        assert!(alpha.get().abs() < 1e-12, "not yet");
        alpha.update_spaced(Instant::from_millis(20), 2, 1, rtt);
        // 2 of the 3 packets since 10 ms.
        assert!((alpha.get() - 2.0 / 3.0 / 8.0).abs() < 1e-12, "{}", alpha.get());
    }
}
