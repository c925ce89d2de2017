//! One seed, many named streams.
//!
//! Each random process draws from its own named stream. A new draw in one place changes no draw
//! elsewhere, so two controllers that are compared under one seed see the same radio channel.
//!
//! A stream is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
//! ACM TOMS 47(4), 2021), its state filled by splitmix64 from the run's seed and the FNV-1a hash of
//! the name. The generator is implemented here because results must be the same on any machine and
//! in any later version.

/// The root of all random streams of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    seed: u64,
}

impl Seeds {
    /// The streams of the run with this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed of the run.
    #[must_use]
    pub const fn seed(self) -> u64 {
        self.seed
    }

    /// The stream of this name, such as `cell/0/ue/3/fading`.
    #[must_use]
    pub fn stream(self, name: &str) -> Stream {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64; // FNV-1a, 64 bits
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut x = hash ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Stream { state: core::array::from_fn(|_| splitmix64(&mut x)) }
    }
}

fn splitmix64(x: &mut u64) -> u64 {
    *x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *x;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// Sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform in 0..n, without bias (Lemire, ACM TOMACS 29(1), 2019). Zero for `n` = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            let low = wide as u64;
            if low >= n || low >= n.wrapping_neg() % n.max(1) {
                return (wide >> 64) as u64;
            }
        }
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Standard normal (Box and Muller, one value of the pair; the other is discarded, so that the
    /// state depends only on the number of draws).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_seed_fix_the_stream() {
        let draw = |seed, name: &str| Seeds::new(seed).stream(name).bits();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn moments_are_those_of_the_law() {
        let mut s = Seeds::new(7).stream("moments");
        let n = 200_000;
        let (mut u, mut e, mut z, mut z2) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..n {
            u += s.uniform();
            e += s.exponential(2.0);
            let x = s.normal();
            z += x;
            z2 += x * x;
        }
        let n = f64::from(n);
        // Five standard errors each.
        assert!((u / n - 0.5).abs() < 5.0 * (1.0_f64 / 12.0 / n).sqrt());
        assert!((e / n - 2.0).abs() < 5.0 * 2.0 / n.sqrt());
        assert!((z / n).abs() < 5.0 / n.sqrt());
        assert!((z2 / n - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
    }

    #[test]
    fn below_covers_its_range() {
        let mut s = Seeds::new(3).stream("below");
        let mut seen = [0_u32; 5];
        for _ in 0..5000 {
            seen[s.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&k| (850..1150).contains(&k)), "{seen:?}");
    }
}
