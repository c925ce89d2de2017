//! Random loss: each packet with payload is lost with the same probability, independently or in bursts.

use airlane_core::{Cx, Instant, PacketRef, Stream};

/// Decides which packets are lost.
#[derive(Clone, Debug)]
pub struct RandomLoss {
    probability: f64,
    /// The probability that a packet is lost if the one before it was lost.
    after_loss: f64,
    lost: bool,
    source: Source,
    /// Future changes, the last first.
    steps: Vec<LossStep>,
}

/// From `at` on, packets are lost with this probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossStep {
    /// The time of the change.
    pub at: Instant,
    /// The new probability.
    pub probability: f64,
}

#[derive(Clone, Debug)]
enum Source {
    Named(Stream),
    SplitMix64(u64),
}

impl RandomLoss {
    /// Loss with this probability, drawn from a stream of the run.
    ///
    /// # Panics
    /// If the probability does not lie in 0..=1.
    #[must_use]
    pub fn new(probability: f64, stream: Stream) -> Self {
        assert!((0.0..=1.0).contains(&probability), "a probability of {probability}");
        Self {
            probability,
            after_loss: probability,
            lost: false,
            source: Source::Named(stream),
            steps: Vec::new(),
        }
    }

    /// Loss of this share of the packets, in bursts of `burst` packets on average (E. N. Gilbert,
    /// "Capacity of a burst-noise channel", Bell System Technical Journal 39(5), 1960). Each packet in
    /// the bad state is lost, none in the good state.
    ///
    /// # Panics
    /// If no such chain exists: a burst has at least one packet, and at least one packet arrives
    /// between two bursts.
    #[must_use]
    pub fn in_bursts(share: f64, burst: f64, stream: Stream) -> Self {
        assert!(
            burst >= 1.0 && (0.0..=burst / (1.0 + burst)).contains(&share),
            "{share} in bursts of {burst}"
        );
        // In the long run as many bursts begin as end: (1 - share) * probability = share / burst.
        let probability = share / burst / (1.0 - share);
        let after_loss = 1.0 - 1.0 / burst;
        Self { probability, after_loss, lost: false, source: Source::Named(stream), steps: Vec::new() }
    }

    /// The same with changes of the probability, in the order of time; from the first change on, losses are
    /// independent.
    ///
    /// # Panics
    /// If a probability does not lie in 0..=1.
    #[must_use]
    pub fn with_steps(mut self, mut steps: Vec<LossStep>) -> Self {
        assert!(steps.iter().all(|step| (0.0..=1.0).contains(&step.probability)), "{steps:?}");
        steps.reverse();
        self.steps = steps;
        self
    }

    fn advance(&mut self, now: Instant) {
        while let Some(step) = self.steps.last()
            && step.at <= now
        {
            (self.probability, self.after_loss) = (step.probability, step.probability);
            self.steps.pop();
        }
    }

    /// True if the next packet of a link is lost. Without a loss model no packet is lost, and a
    /// packet without payload draws no random number.
    #[inline]
    pub(crate) fn takes(loss: &mut Option<Self>, cx: &Cx<'_>, packet: &PacketRef) -> bool {
        loss.as_mut().is_some_and(|loss| {
            loss.advance(cx.now);
            !cx.pool.get(packet).payload.is_empty() && loss.strikes()
        })
    }

    /// Loss drawn from splitmix64 (Steele, Lea and Flood, OOPSLA 2014) with an explicit seed, for
    /// comparison drop by drop with another program that uses it.
    ///
    /// # Panics
    /// If the probability does not lie in 0..=1.
    #[must_use]
    pub fn with_splitmix64(probability: f64, seed: u64) -> Self {
        assert!((0.0..=1.0).contains(&probability), "a probability of {probability}");
        Self {
            probability,
            after_loss: probability,
            lost: false,
            source: Source::SplitMix64(seed),
            steps: Vec::new(),
        }
    }

    /// Draws once: true if the packet is lost.
    pub fn strikes(&mut self) -> bool {
        let uniform = match &mut self.source {
            Source::Named(stream) => stream.uniform(),
            Source::SplitMix64(state) => (splitmix64(state) >> 11) as f64 / (1_u64 << 53) as f64,
        };
        self.lost = uniform < if self.lost { self.after_loss } else { self.probability };
        self.lost
    }
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    #[test]
    fn splitmix64_gives_the_published_sequence() {
        // The five outputs for seed 1234567 that rosettacode.org lists for this generator.
        let mut state = 1_234_567;
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(core::array::from_fn(|_| splitmix64(&mut state)), expected);
    }

    #[test]
    fn drops_are_those_of_the_linux_measurements() {
        // Runs of the TCP of Linux 6.12 in virtual time, over a link that drew one number per data
        // packet in this way (scenario C: 50 Mbit/s, 40 ms): seed, probability, data packets
        // sent, and packets that the link dropped at random.
        let runs = [(1, 0.01, 16_292, 168), (2, 0.001, 59_175, 54), (3, 0.01, 242_609, 2_428)];
        for (seed, probability, packets, dropped) in runs {
            let mut loss = RandomLoss::with_splitmix64(probability, seed);
            assert_eq!((0..packets).filter(|_| loss.strikes()).count(), dropped, "seed {seed}");
        }
    }

    #[test]
    fn bursts_have_their_length_and_their_share() {
        let mut loss = RandomLoss::in_bursts(0.01, 2.5, Seeds::new(1).stream("loss"));
        let lost: Vec<bool> = (0..500_000).map(|_| loss.strikes()).collect();
        let all = lost.iter().filter(|lost| **lost).count();
        let bursts = lost.windows(2).filter(|two| !two[0] && two[1]).count();
        // 5000 losses in 2000 bursts expected; a burst's length has a standard deviation of sqrt(2.5 * 1.5)
        // = 1.9, the number of bursts one of about sqrt(2000) = 45: five times both.
        assert!((1775..=2225).contains(&bursts), "{bursts}");
        let mean = all as f64 / bursts as f64;
        assert!((2.5 - mean).abs() < 5.0 * 1.94 / 45.0, "{mean}");
    }

    #[test]
    fn as_many_are_lost_as_the_probability_says() {
        let stream = Seeds::new(1).stream("loss");
        for mut loss in [RandomLoss::new(0.01, stream), RandomLoss::with_splitmix64(0.01, 1)] {
            let lost = (0..100_000).filter(|_| loss.strikes()).count();
            // 1000 expected, standard deviation sqrt(100000 * 0.01 * 0.99) = 31.5; five of them.
            assert!((843..=1157).contains(&lost), "{lost}");
        }
        assert!(!RandomLoss::with_splitmix64(0.0, 1).strikes());
        assert!(RandomLoss::with_splitmix64(1.0, 1).strikes());
    }
}
