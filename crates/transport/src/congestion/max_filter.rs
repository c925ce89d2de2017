//! The maximum over a sliding time window, in three samples (K. Nichols' windowed filter, as in
//! Linux and the BBR drafts): the best, the best after it, and the best after that.

/// The filter; its time counts round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter {
    best: [(u64, u64); 3],
}

impl MaxFilter {
    /// The maximum in the window.
    pub(super) const fn get(&self) -> u64 {
        self.best[0].1
    }

    /// Adds `value` at `time`, with a window of this length.
    pub(super) fn update(&mut self, window: u64, time: u64, value: u64) {
        let sample = (time, value);
        if value >= self.best[0].1 || time - self.best[2].0 > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        self.age(window, sample);
    }

    /// Removes samples that have left the window; keeps the second and third sample apart in time,
    /// so that one of them is recent when the best leaves.
    fn age(&mut self, window: u64, sample: (u64, u64)) {
        let since_best = sample.0 - self.best[0].0;
        if since_best > window {
            self.best = [self.best[1], self.best[2], sample];
            if sample.0 - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && since_best > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && since_best > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stays_for_its_window_and_no_longer() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 100);
        for time in 1..=10 {
            filter.update(10, time, 60 - time);
            assert_eq!(filter.get(), 100, "{time}");
        }
        // At 11 the 100 has left. Of the others the filter has the one of 3 (the first after a
        // quarter of the window), 57, not the largest, 59: it keeps only three samples.
        filter.update(10, 11, 49);
        assert_eq!(filter.get(), 57);
        filter.update(10, 12, 200);
        assert_eq!(filter.get(), 200);
    }
}
