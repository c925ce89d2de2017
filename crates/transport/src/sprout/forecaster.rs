//! The distribution of the rate of a link, and the forecast of its deliveries.

use super::TICKS;
use super::model::{BINS, Bins, Model, normalise};

/// The probabilities of the rates of a link, and the forecast that follows from them. It advances by ticks.
#[derive(Clone, Debug)]
pub struct Forecaster {
    model: &'static Model,
    /// The probability of each bin of rates.
    mass: Box<Bins>,
    quantile: f64,
    /// The latest forecast, near which the next one is searched.
    latest: [u16; TICKS],
}

impl Forecaster {
    /// Nothing is known: each rate from 0 to 1000 packets/s is equally likely. The link delivers at least as many packets as
    /// a forecast says with a probability of 1 - `quantile`.
    ///
    /// # Panics
    /// If `quantile` is not above 0 and below 1.
    #[must_use]
    pub fn new(quantile: f64) -> Self {
        assert!(quantile > 0.0 && quantile < 1.0, "a quantile is above 0 and below 1");
        let mut mass = Box::new([1.0; BINS]);
        normalise(&mut mass);
        Self { model: Model::get(), mass, quantile, latest: [0; TICKS] }
    }

    /// A tick has passed, in which `count` packets of 1400 B arrived. `None` leaves the rates to their motion alone, where
    /// the sender had nothing to send.
    pub fn advance(&mut self, count: Option<usize>) {
        *self.mass = self.model.evolve(&self.mass);
        if let Some(count) = count {
            for (one, likelihood) in self.mass.iter_mut().zip(self.model.likelihood(count)) {
                *one *= likelihood;
            }
        }
        normalise(&mut self.mass);
    }

    /// The packets that the link delivers within one, two and up to eight ticks.
    pub fn forecast(&mut self) -> [u16; TICKS] {
        for tick in 0..TICKS {
            self.latest[tick] = self.search(tick, usize::from(self.latest[tick])) as u16;
        }
        self.latest
    }

    /// The smallest count that reaches the quantile. Most are near the latest, so that the search goes from there by one
    /// packet at a time.
    fn search(&self, tick: usize, latest: usize) -> usize {
        let reached = |count| self.model.at_most(tick, count, &self.mass) >= self.quantile;
        let mut count = latest;
        while count > 0 && reached(count - 1) {
            count -= 1;
        }
        while count < self.model.count_max(tick) && !reached(count) {
            count += 1;
        }
        count
    }
}
