//! The multipath profiles of TS 36.104 v8.9.0 Annex B.2, and their frequency response.

use airlane_core::Decibel;

use crate::noise::PRB_BANDWIDTH_HZ;

/// A power delay profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Extended pedestrian A, delay spread 45 ns.
    Epa,
    /// Extended vehicular A, 357 ns.
    Eva,
    /// Extended typical urban, 991 ns.
    Etu,
    /// One path: all PRBs fade together.
    Flat,
}

/// Delay in ns and relative power in dB of each tap. TS 36.104 v8.9.0 Tables B.2-2 to B.2-4.
const EPA: [(f64, f64); 7] =
    [(0.0, 0.0), (30.0, -1.0), (70.0, -2.0), (90.0, -3.0), (110.0, -8.0), (190.0, -17.2), (410.0, -20.8)];
const EVA: [(f64, f64); 9] = [
    (0.0, 0.0),
    (30.0, -1.5),
    (150.0, -1.4),
    (310.0, -3.6),
    (370.0, -0.6),
    (710.0, -9.1),
    (1090.0, -7.0),
    (1730.0, -12.0),
    (2510.0, -16.9),
];
const ETU: [(f64, f64); 9] = [
    (0.0, -1.0),
    (50.0, -1.0),
    (120.0, -1.0),
    (200.0, 0.0),
    (230.0, 0.0),
    (500.0, 0.0),
    (1600.0, -3.0),
    (2300.0, -5.0),
    (5000.0, -7.0),
];
/// Two halves of one path: as one tap its sixteen oscillators would leave the deepest fades a
/// little too rare; as two they are thirty-two.
const FLAT: [(f64, f64); 2] = [(0.0, 0.0), (0.0, 0.0)];

impl Profile {
    /// Delay in seconds and power of each tap; the powers add up to one.
    #[must_use]
    pub fn taps(self) -> Vec<(f64, f64)> {
        let table: &[(f64, f64)] = match self {
            Self::Epa => &EPA,
            Self::Eva => &EVA,
            Self::Etu => &ETU,
            Self::Flat => &FLAT,
        };
        let total: f64 = table.iter().map(|&(_, db)| Decibel(db).linear()).sum();
        table.iter().map(|&(ns, db)| (ns * 1e-9, Decibel(db).linear() / total)).collect()
    }
}

/// Points evaluated together: two SSE registers.
pub(super) const LANES: usize = 8;

/// Real and imaginary part of one tap's phasor at [`LANES`] neighbouring points.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Phasors {
    pub(super) re: [f32; LANES],
    pub(super) im: [f32; LANES],
}

/// How each tap of a profile turns over the carrier. Depends on nothing random: one per cell
/// serves every link.
#[derive(Clone, Debug)]
pub struct FrequencyGrid {
    profile: Profile,
    taps: usize,
    pub(super) prbs: Response,
    pub(super) rbgs: Response,
}

/// Tap phasors at a row of frequencies.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) points: usize,
    /// By chunk of [`LANES`] points, then by tap.
    pub(super) phasors: Vec<Phasors>,
}

impl FrequencyGrid {
    /// The grid of a carrier with `n_prb` PRBs, in groups of `rbg_size`.
    #[must_use]
    pub fn new(profile: Profile, n_prb: usize, rbg_size: usize) -> Self {
        assert!(rbg_size > 0, "an RBG has a PRB");
        let taps = profile.taps();
        let centres: Vec<f64> = (0..n_prb).map(|k| k as f64 * PRB_BANDWIDTH_HZ).collect();
        let middles: Vec<f64> = centres.chunks(rbg_size).map(|g| (g[0] + g[g.len() - 1]) / 2.0).collect();
        Self {
            profile,
            taps: taps.len(),
            prbs: Response::new(&taps, &centres),
            rbgs: Response::new(&taps, &middles),
        }
    }

    /// The profile.
    #[must_use]
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// Number of PRBs.
    #[must_use]
    pub const fn n_prb(&self) -> usize {
        self.prbs.points
    }

    /// Number of resource block groups.
    #[must_use]
    pub const fn n_rbg(&self) -> usize {
        self.rbgs.points
    }

    /// Number of taps.
    pub(super) const fn taps(&self) -> usize {
        self.taps
    }
}

impl Response {
    /// `√power · e^(−j 2π f τ)` for each tap at each frequency.
    fn new(taps: &[(f64, f64)], frequencies: &[f64]) -> Self {
        let mut phasors = Vec::with_capacity(frequencies.len().div_ceil(LANES) * taps.len());
        for chunk in frequencies.chunks(LANES) {
            for &(delay, power) in taps {
                let mut p = Phasors::default();
                for (lane, &f) in chunk.iter().enumerate() {
                    let angle = -2.0 * core::f64::consts::PI * f * delay;
                    p.re[lane] = (power.sqrt() * libm::cos(angle)) as f32;
                    p.im[lane] = (power.sqrt() * libm::sin(angle)) as f32;
                }
                phasors.push(p);
            }
        }
        Self { points: frequencies.len(), phasors }
    }
}
