//! Variable bitrate: a video as groups of pictures of different sizes.
//!
//! The logarithms of the sizes are a first-order autoregressive process, so that sizes are log-normal
//! ("Analytic model for MPEG-4 and H.263 encoded video traces", core.ac.uk/works/27146614, of the traces of
//! Fitzek and Reisslein, IEEE Network 15(6), 2001) with an autocorrelation that decays exponentially (Koumaras
//! et al., "Analysis of H.264 video encoded traffic", INC 2005). The sizes are scaled to the bytes of the file,
//! so the mean bitrate of each video is exact.
//!
//! Not included: long-range dependence (the Hurst parameters of those traces are 0.7 to 0.9), and the sizes of the
//! frames within a group, which a buffer of seconds averages.

use airlane_core::{Bytes, Duration, Stream};

/// The law of the sizes of groups of pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupLaw {
    /// Playing time of a group.
    pub group: Duration,
    /// Standard deviation of the sizes over their mean.
    pub coefficient: f64,
    /// Time in which the autocorrelation of the logarithms falls to 1/e; zero for independent groups.
    pub correlation: Duration,
}

/// The groups of one video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    group: Duration,
    length: Duration,
    /// Bytes of the file up to the end of each group.
    ends: Vec<u64>,
}

impl Groups {
    /// The groups of a video of this length, in a file of this size. The last group may be shorter.
    ///
    /// # Panics
    /// If the groups have no playing time.
    #[must_use]
    pub fn draw(law: &GroupLaw, size: Bytes, length: Duration, draws: &mut Stream) -> Self {
        assert!(law.group > Duration::ZERO, "a group of pictures plays for a time");
        let sigma = libm::sqrt(libm::log(1.0 + law.coefficient * law.coefficient));
        let kept = match law.correlation.as_secs_f64() {
            0.0 => 0.0,
            time => libm::exp(-law.group.as_secs_f64() / time),
        };
        let fresh = libm::sqrt(1.0 - kept * kept);
        let count = length.as_nanos().div_ceil(law.group.as_nanos());
        let (mut level, mut sum) = (draws.normal(), 0.0);
        let mut sums = Vec::with_capacity(count as usize);
        for index in 0..count {
            let plays = law.group.min(length - law.group * index);
            sum += libm::exp(sigma * level) * plays.as_secs_f64();
            sums.push(sum);
            level = kept * level + fresh * draws.normal();
        }
        let mut ends: Vec<u64> = sums.iter().map(|part| (size.get() as f64 * (part / sum)) as u64).collect();
        if let Some(last) = ends.last_mut() {
            *last = size.get();
        }
        Self { group: law.group, length, ends }
    }

    /// Playing time of the first bytes, rounded down.
    #[must_use]
    pub fn media_of(&self, bytes: Bytes) -> Duration {
        let index = self.ends.partition_point(|end| *end <= bytes.get());
        if index == self.ends.len() {
            return self.length;
        }
        let (begin, plays) = (self.begin(index), self.plays(index));
        let part = u128::from(bytes.get() - begin) * u128::from(plays.as_nanos());
        let within = part / u128::from(self.ends[index] - begin);
        self.group * index as u64 + Duration::from_nanos(within as u64)
    }

    /// Bytes of this playing time, rounded down.
    #[must_use]
    pub fn bytes_of(&self, media: Duration) -> Bytes {
        let index = (media.as_nanos() / self.group.as_nanos()) as usize;
        if media >= self.length {
            return Bytes(self.ends.last().copied().unwrap_or(0));
        }
        let (begin, plays) = (self.begin(index), self.plays(index));
        let within = media - self.group * index as u64;
        let part = u128::from(self.ends[index] - begin) * u128::from(within.as_nanos());
        Bytes(begin + (part / u128::from(plays.as_nanos())) as u64)
    }

    fn begin(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    fn plays(&self, index: usize) -> Duration {
        self.group.min(self.length - self.group * index as u64)
    }
}

#[cfg(test)]
mod tests;
