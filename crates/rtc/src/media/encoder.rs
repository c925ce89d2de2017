//! The statistical model of a video encoder (RFC 8593 section 5), with key frames on request.
//!
//! Sizes and intervals of frames deviate from their means by Laplace distributions (section 5.3). The encoder follows a new
//! rate at most once in its reaction latency (section 5.1). A large change of the rate begins with a large frame and smaller
//! ones, whose mean is the new rate (section 5.2). A key frame does the same. RFC 8593 does not say which changes are
//! large in this model; those of section 7 are.

use airlane_core::{BitRate, Bytes, Duration, Instant, Stream};

/// The smallest frame (section 6.2.1, `fs_min`).
const FRAME_MIN: f64 = 10.0;
/// The smallest interval, as a share of the mean. A choice: one frame in 800 would come earlier.
const INTERVAL_MIN: f64 = 0.1;

/// The parameters of the model. RFC 8593 figure 2 has an example of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderModel {
    /// Frames per second.
    pub frame_rate: f64,
    /// The lowest and the highest rate, without headers: `R_min` and `R_max`.
    pub rates: [BitRate; 2],
    /// The reaction latency: `tau_v`.
    pub reaction: Duration,
    /// The number of frames of a transient: `K_d`.
    pub transient_frames: u32,
    /// The size of the first frame of a transient, in mean frames: `K_B` over `B0`.
    pub transient_size: f64,
    /// The change of the rate that begins a transient, as a share.
    pub transient_change: f64,
    /// The scale of the deviations of the interval: `SCALE_t`.
    pub interval_scale: f64,
    /// The scale of the deviations of the size: `SCALE_B`.
    pub size_scale: f64,
}

/// A frame of video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its number, from 0.
    pub(super) number: u64,
    /// Its size without headers.
    pub(super) size: Bytes,
    /// Whether it is a key frame.
    pub(super) key: bool,
}

/// Makes frames at a rate that changes.
#[derive(Debug)]
pub(super) struct Encoder {
    model: EncoderModel,
    draws: Stream,
    /// The rate that it was asked for, and the one that it follows.
    wanted: BitRate,
    rate: BitRate,
    changed_at: Option<Instant>,
    /// Frames of the current transient that are still to come, without its first.
    transient: u32,
    key_wanted: bool,
    next: u64,
    next_at: Instant,
}

impl Encoder {
    /// An encoder that begins at `start` with this rate, and with a key frame.
    #[must_use]
    pub(super) fn new(model: EncoderModel, rate: BitRate, start: Instant, draws: Stream) -> Self {
        let rate = clip(&model, rate);
        Self {
            model,
            draws,
            wanted: rate,
            rate,
            changed_at: None,
            transient: 0,
            key_wanted: true,
            next: 0,
            next_at: start,
        }
    }

    /// When the next frame comes.
    #[must_use]
    pub(super) const fn next_at(&self) -> Instant {
        self.next_at
    }

    /// The next frame does not come before this time.
    pub(super) fn wait_until(&mut self, at: Instant) {
        self.next_at = self.next_at.max(at);
    }

    /// The rate that it follows.
    #[must_use]
    pub(super) const fn rate(&self) -> BitRate {
        self.rate
    }

    /// Asks for a rate. A request that stands when the latency after the last change has passed takes effect then.
    pub(super) fn set_rate(&mut self, rate: BitRate) {
        self.wanted = clip(&self.model, rate);
    }

    /// Asks for a key frame.
    pub(super) fn request_key_frame(&mut self) {
        self.key_wanted = true;
    }

    /// Makes the frame that is due, or leaves it out.
    pub(super) fn encode(&mut self, now: Instant, skip: bool) -> Option<Frame> {
        let mean = 1.0 / self.model.frame_rate;
        let deviation = laplace(&mut self.draws, self.model.interval_scale);
        self.next_at = now + Duration::from_secs_f64(mean * (1.0 + deviation).max(INTERVAL_MIN));
        if skip {
            return None;
        }
        let changes = self.follow(now);
        let key = core::mem::take(&mut self.key_wanted);
        let factor = if key || changes {
            self.transient = self.model.transient_frames - 1;
            self.model.transient_size
        } else if self.transient > 0 {
            self.transient -= 1;
            let frames = f64::from(self.model.transient_frames);
            (frames - self.model.transient_size) / (frames - 1.0)
        } else {
            1.0 + laplace(&mut self.draws, self.model.size_scale)
        };
        let bytes = self.rate.bits_per_second() as f64 / 8.0 * mean * factor;
        let frame = Frame { number: self.next, size: Bytes(bytes.max(FRAME_MIN) as u64), key };
        self.next += 1;
        Some(frame)
    }

    /// Follows the rate that it was asked for, if it may. Returns whether that is a large change.
    fn follow(&mut self, now: Instant) -> bool {
        let reacts = self.changed_at.is_none_or(|at| now >= at + self.model.reaction);
        if self.wanted == self.rate || !reacts {
            return false;
        }
        let [before, after] = [self.rate, self.wanted].map(|rate| rate.bits_per_second() as f64);
        self.rate = self.wanted;
        self.changed_at = Some(now);
        (after - before).abs() > self.model.transient_change * before
    }
}

/// Section 5.4.
fn clip(model: &EncoderModel, rate: BitRate) -> BitRate {
    BitRate(rate.0.clamp(model.rates[0].0, model.rates[1].0))
}

/// A Laplace distribution around zero.
fn laplace(draws: &mut Stream, scale: f64) -> f64 {
    let u = draws.uniform() - 0.5;
    let size = -scale * libm::log((1.0 - 2.0 * u.abs()).max(f64::MIN_POSITIVE));
    if u < 0.0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    /// The example of figure 2.
    const MODEL: EncoderModel = EncoderModel {
        frame_rate: 30.0,
        rates: [BitRate(150_000), BitRate(1_500_000)],
        reaction: Duration::from_millis(200),
        transient_frames: 8,
        transient_size: 3.24,
        transient_change: 0.1,
        interval_scale: 0.15,
        size_scale: 0.15,
    };

    fn encoder(rate: u64) -> Encoder {
        Encoder::new(MODEL, BitRate(rate), Instant::ZERO, Seeds::new(1).stream("encoder"))
    }

    fn encode(encoder: &mut Encoder) -> Frame {
        encoder.encode(encoder.next_at(), false).unwrap()
    }

    /// At 1 Mbit/s the mean frame has 4.17 kB, the first 13.5 kB, and seven more 2.83 kB each.
    #[test]
    fn a_key_frame_begins_a_transient_with_the_same_mean() {
        let mut encoder = encoder(1_000_000);
        let sizes: Vec<u64> = (0..8).map(|_| encode(&mut encoder).size.get()).collect();
        assert_eq!(sizes[..3], [13_500, 2_833, 2_833]);
        assert!(sizes.iter().sum::<u64>().abs_diff(8 * 4_166) < 10);
        encoder.request_key_frame();
        let key = encode(&mut encoder);
        assert_eq!((key.number, key.key, key.size), (8, true, Bytes(13_500)));
        assert!(!encode(&mut encoder).key);
    }

    #[test]
    fn sizes_and_intervals_have_the_deviations_of_section_5_3() {
        let mut encoder = encoder(1_000_000);
        (0..8).for_each(|_| _ = encode(&mut encoder));
        let begin = encoder.next_at();
        let n = 20_000;
        let (mut sizes, mut intervals) = (vec![], vec![]);
        for _ in 0..n {
            let at = encoder.next_at();
            sizes.push(encode(&mut encoder).size.get() as f64 / 4_166.7);
            intervals.push((encoder.next_at() - at).as_secs_f64() * 30.0);
        }
        // The mean has a standard error of 0.212/sqrt(n) = 0.0015.
        for values in [sizes, intervals] {
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
            assert!(
                (mean - 1.0).abs() < 0.006 && (variance.sqrt() - 0.212).abs() < 0.008,
                "{mean} {variance}"
            );
        }
        let rate = f64::from(n) / (encoder.next_at() - begin).as_secs_f64();
        assert!((rate - 30.0).abs() < 0.2, "{rate}");
    }

    #[test]
    fn it_follows_a_rate_once_in_its_latency() {
        let mut encoder = encoder(500_000);
        encode(&mut encoder);
        encoder.set_rate(BitRate(520_000)); // no transient
        encode(&mut encoder);
        assert_eq!(encoder.rate(), BitRate(520_000));
        encoder.set_rate(BitRate(9_000_000));
        let changed = encoder.changed_at.unwrap();
        while encoder.rate() == BitRate(520_000) {
            encode(&mut encoder);
        }
        let [took, interval] = [encoder.changed_at.unwrap() - changed, Duration::from_millis(120)];
        assert!(took >= MODEL.reaction && took < MODEL.reaction + interval, "{took:?}");
        assert_eq!((encoder.rate(), encoder.transient), (BitRate(1_500_000), 7));
        encoder.set_rate(BitRate(1));
        (0..40).for_each(|_| _ = encode(&mut encoder));
        assert_eq!(encoder.rate(), BitRate(150_000));
    }
}
