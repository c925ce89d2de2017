//! The frequency response of a multipath profile.

use core::ops::Range;

use pulp::Arch;

use super::delay_lines::Profile;
use super::oscillators::{MAX_TAPS, Specular, Values, places};

/// Pairs of points computed together: two registers of AVX2, or four of SSE.
pub(super) const WIDE: usize = 16;

/// Pairs computed together when fewer than [`WIDE`] are left.
pub(super) const PAIRS: usize = 8;

/// Pairs computed together at the end: both of their parts, interleaved, fill one register.
pub(super) const REST: usize = 2;

/// Single points computed together: the number of PRBs in most RBGs of LTE, and a part of those of wide carriers.
pub(super) const SINGLES: usize = 4;
pub(super) const MORE_SINGLES: usize = 8;

/// The phasor of a tap, amplitude included, at neighbouring frequencies.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Phasors<const N: usize> {
    pub(super) cos: [f32; N],
    pub(super) sin: [f32; N],
}

impl<const N: usize> Phasors<N> {
    const SILENT: Self = Self { cos: [0.0; N], sin: [0.0; N] };

    /// Phasors at these pairs, at most `N`; `phasor` gives the cosine and sine of each.
    fn new(pairs: Range<usize>, phasor: impl Fn(usize) -> (f32, f32)) -> Self {
        let mut phasors = Self::SILENT;
        for (lane, pair) in pairs.enumerate() {
            (phasors.cos[lane], phasors.sin[lane]) = phasor(pair);
        }
        phasors
    }
}

/// The phasors of a tap at the last pairs: for each the cosine, twice the sine, and the cosine, which are multiplied
/// with the real and the imaginary part of the tap in turn.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Last(pub(super) [f32; 4 * REST]);

impl Last {
    /// Phasors at these pairs, at most [`REST`]; `phasor` gives the cosine and sine of each.
    fn new(pairs: Range<usize>, phasor: impl Fn(usize) -> (f32, f32)) -> Self {
        let mut last = Self([0.0; 4 * REST]);
        for (lane, pair) in pairs.enumerate() {
            let (cos, sin) = phasor(pair);
            last.0[4 * lane..][..4].copy_from_slice(&[cos, sin, sin, cos]);
        }
        last
    }
}

/// The phase of each tap of a profile over the carrier. It contains nothing random: one grid per
/// cell serves all links.
#[derive(Clone, Debug)]
pub struct FrequencyGrid {
    profile: Profile,
    /// Number of taps that fade.
    pub(super) scattered: usize,
    /// The line of sight of the first tap.
    pub(super) specular: Option<Specular>,
    /// The widest vectors of this machine. Results do not depend on it: each lane does the same
    /// additions and multiplications in the same order, and none of them is fused.
    pub(super) arch: Arch,
    pub(super) prbs: Response,
    pub(super) rbgs: Response,
}

/// Tap phasors at evenly spaced frequencies, stored for the upper half only: at the mirrored
/// frequency a phasor is its own conjugate, and four products serve two points.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) points: usize,
    /// By chunk of [`WIDE`] pairs from the middle outwards, then by tap.
    pub(super) wide: Vec<Phasors<WIDE>>,
    /// The pairs after these by tap, if there are more than [`REST`] and at most [`PAIRS`] plus [`REST`].
    pub(super) pairs: Vec<Phasors<PAIRS>>,
    /// The pairs after these by tap, if there are at most [`REST`].
    pub(super) last: Vec<Last>,
    /// The phase rotation of each tap at the middle of these points, if it is not the middle of the
    /// carrier.
    pub(super) turn: Option<Values<MAX_TAPS>>,
    /// The phasors again, for queries of few points.
    pub(super) upwards: Upwards,
}

/// Tap phasors by chunk of points from the lowest, then by tap; below the middle the sine includes its sign.
#[derive(Clone, Debug)]
pub(super) enum Upwards {
    /// Chunks of [`SINGLES`] points.
    Narrow(Vec<Phasors<SINGLES>>),
    /// Chunks of [`MORE_SINGLES`] points, for RBGs of whole chunks.
    Wide(Vec<Phasors<MORE_SINGLES>>),
}

/// The phasors of all points in chunks of `N`; `phasor` gives the cosine and sine of a tap at a pair of points.
fn upwards<const N: usize>(
    points: usize,
    taps: &[(f64, f64)],
    phasor: impl Fn(usize, (f64, f64)) -> (f32, f32),
) -> Vec<Phasors<N>> {
    let (half, pairs) = (points / 2, points.div_ceil(2));
    let mut upwards = vec![Phasors::SILENT; points.div_ceil(N) * taps.len()];
    for point in 0..points {
        let (pair, sign) = if point >= half { (point - half, 1.0) } else { (pairs - 1 - point, -1.0) };
        for (number, &tap) in taps.iter().enumerate() {
            let to = &mut upwards[point / N * taps.len() + number];
            let (cos, sin) = phasor(pair, tap);
            (to.cos[point % N], to.sin[point % N]) = (cos, sign * sin);
        }
    }
    upwards
}

impl FrequencyGrid {
    /// The grid of an LTE carrier with `n_prb` PRBs of 12 subcarriers of 15 kHz (TS 36.211 v8.9.0 table
    /// 6.2.3-1), in groups of `rbg_size`.
    #[must_use]
    pub fn new(profile: Profile, n_prb: usize, rbg_size: usize) -> Self {
        Self::with_spacing(profile, n_prb, rbg_size, 180_000.0)
    }

    /// A grid with this spacing of PRBs: their bandwidth, or that of a trace for comparison.
    #[must_use]
    pub fn with_spacing(profile: Profile, n_prb: usize, rbg_size: usize, spacing_hz: f64) -> Self {
        assert!(rbg_size > 0, "an RBG has a PRB");
        let mut taps = profile.scattered();
        let scattered = taps.len();
        taps.resize(places(taps.len()), (0.0, 0.0));
        let n_rbg = n_prb.div_ceil(rbg_size);
        // Distance in PRBs of the middle of the groups, all counted as full, above the middle of the carrier.
        let beyond = (n_rbg * rbg_size - n_prb) as f64 / 2.0;
        Self {
            profile,
            scattered,
            specular: profile.specular(),
            arch: Arch::new(),
            prbs: Response::new(&taps, (n_prb, rbg_size), spacing_hz, 0.0),
            rbgs: Response::new(&taps, (n_rbg, 1), rbg_size as f64 * spacing_hz, beyond * spacing_hz),
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
}

impl Response {
    /// `√power · e^(−j 2π f τ)` for each tap at `points` frequencies `spacing` Hz apart, whose
    /// middle is `middle` Hz above that of the carrier. Queries are for groups of `group` points.
    fn new(taps: &[(f64, f64)], (points, group): (usize, usize), spacing: f64, middle: f64) -> Self {
        assert!(taps[0].0 == 0.0, "delays count from the first path");
        let pairs = points.div_ceil(2);
        // Offsets from the middle: 0, 1, 2, … spacings, or ½, 1½, 2½, …
        let first = if points % 2 == 1 { 0.0 } else { 0.5 };
        let phasor = |pair: usize, (delay, power): (f64, f64)| {
            let angle = 2.0 * core::f64::consts::PI * (pair as f64 + first) * spacing * delay;
            ((power.sqrt() * libm::cos(angle)) as f32, (power.sqrt() * libm::sin(angle)) as f32)
        };
        let (mut wide, mut fewer, mut last) = (Vec::new(), Vec::new(), Vec::new());
        let mut from = 0;
        while from < pairs {
            match pairs - from {
                ..=REST => {
                    last.extend(taps.iter().map(|&tap| Last::new(from..pairs, |pair| phasor(pair, tap))));
                    from = pairs;
                }
                left if left <= PAIRS + REST => {
                    let to = pairs.min(from + PAIRS);
                    fewer.extend(taps.iter().map(|&tap| Phasors::new(from..to, |pair| phasor(pair, tap))));
                    from = to;
                }
                _ => {
                    let to = pairs.min(from + WIDE);
                    wide.extend(taps.iter().map(|&tap| Phasors::new(from..to, |pair| phasor(pair, tap))));
                    from = to;
                }
            }
        }
        let turn = (middle != 0.0).then(|| {
            let mut turn = Values::ZERO;
            for ((re, im), (delay, _)) in turn.re.iter_mut().zip(&mut turn.im).zip(taps) {
                let angle = -2.0 * core::f64::consts::PI * middle * delay;
                (*re, *im) = (libm::cos(angle) as f32, libm::sin(angle) as f32);
            }
            turn
        });
        let upwards = match group.is_multiple_of(MORE_SINGLES) {
            true => Upwards::Wide(upwards(points, taps, phasor)),
            false => Upwards::Narrow(upwards(points, taps, phasor)),
        };
        Self { points, wide, pairs: fewer, last, turn, upwards }
    }
}
