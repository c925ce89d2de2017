//! The smoothed loss rate of picoquic (private-octopus/picoquic 0a82f5f8: `picoquic_cc_hystart_loss_test` in
//! `cc_common.c`, `c4_update_loss_rate` in `c4.c`): a gain of 1/16 for each packet, over at most 32 packets between two
//! losses.

/// PICOQUIC_SMOOTHED_LOSS_SCOPE (`cc_common.h`).
const SCOPE: u64 = 32;
/// PICOQUIC_SMOOTHED_LOSS_FACTOR (`cc_common.h`).
const GAIN: f64 = 1.0 / 16.0;

/// The smoothed share of lost segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRate {
    share: f64,
    /// Number of the last lost segment.
    last_number: u64,
}

impl LossRate {
    /// A segment is lost; consecutive segments have consecutive numbers. Returns the share. A number up to the last one
    /// counts no second time.
    pub(super) fn on_lost(&mut self, number: u64) -> f64 {
        if number > self.last_number {
            let between = (number - self.last_number).min(SCOPE);
            (0..between).for_each(|_| self.share *= 1.0 - GAIN);
            self.share += (1.0 - self.share) * GAIN;
            self.last_number = number;
        }
        self.share
    }

    /// The share.
    pub(super) const fn share(&self) -> f64 {
        self.share
    }

    /// A new measurement begins.
    pub(super) const fn clear(&mut self) {
        self.share = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A first loss is a sixteenth. After 64 segments, which count as 32, (15/16)^32 = 0.1268 of it is left, s = 0.00792.
    /// The second loss adds a sixteenth of the rest: s + (1 - s) / 16 = 0.06993.
    #[test]
    fn losses_far_apart_are_forgotten() {
        let mut losses = LossRate::default();
        assert!((losses.on_lost(64) - 1.0 / 16.0).abs() < 1e-9);
        assert!((losses.on_lost(128) - 0.069_93).abs() < 1e-5);
        assert!((losses.on_lost(128) - 0.069_93).abs() < 1e-5); // counted once
        losses.clear();
        assert!(losses.share().abs() < 1e-9);
    }

    /// A loss directly after another leaves 15/16 of the share and adds a sixteenth of the rest, which makes
    /// (15/16)^2 s + 1/16 of s. The fixed point is (1/16) / (1 - 225/256) = 16/31, and the share after n losses is
    /// 16/31 (1 - (225/256)^n).
    #[test]
    fn losses_in_a_row_approach_a_half() {
        let mut losses = LossRate::default();
        for n in 1..=40 {
            let expected = 16.0 / 31.0 * (1.0 - libm::pow(225.0 / 256.0, f64::from(n)));
            assert!((losses.on_lost(1_000 + n as u64) - expected).abs() < 1e-9, "{n}");
        }
    }
}
