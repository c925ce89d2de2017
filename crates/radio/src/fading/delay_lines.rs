//! Power delay profiles: those of TS 36.104 v8.9.0 Annex B.2 and the tapped delay lines of TR 38.901 v16.1.0
//! clause 7.7.2.
//!
//! The constants of TR 38.901 are those of four transcriptions that agree with each other (the channels of Sionna,
//! NeoRadium, LLSim5G and QuaDRiGa); the report itself is unverified.

use airlane_core::{Decibel, Duration};

use super::oscillators::Specular;

/// A power delay profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Extended pedestrian A, delay spread 45 ns.
    Epa,
    /// Extended vehicular A, 357 ns.
    Eva,
    /// Extended typical urban, 991 ns.
    Etu,
    /// A single path: all PRBs fade together.
    Flat,
    /// A delay line of TR 38.901, scaled to this root mean square delay spread (clause 7.7.3).
    Tdl(DelayLine, Duration),
}

/// The tapped delay lines of TR 38.901 v16.1.0 clause 7.7.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayLine {
    /// TDL-A: no line of sight.
    A,
    /// TDL-B: no line of sight.
    B,
    /// TDL-C: no line of sight.
    C,
    /// TDL-D: a line of sight, 13.3 dB above the rest of the first tap.
    D,
    /// TDL-E: a line of sight, 22 dB above the rest of the first tap.
    E,
}

impl DelayLine {
    /// All delay lines.
    pub const ALL: [Self; 5] = [Self::A, Self::B, Self::C, Self::D, Self::E];

    /// Whether the first tap has a line of sight.
    #[must_use]
    pub const fn has_line_of_sight(self) -> bool {
        matches!(self, Self::D | Self::E)
    }
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
/// One path in four parts: the oscillators of a single tap would make the deepest fades too rare.
const FLAT: [(f64, f64); 4] = [(0.0, 0.0); 4];

/// Delay over the delay spread and relative power in dB of each tap. TR 38.901 v16.1.0 Tables 7.7.2-1 to -5; of
/// the first taps of D and E, the part that fades.
const TDL_A: [(f64, f64); 23] = [
    (0.0, -13.4),
    (0.3819, 0.0),
    (0.4025, -2.2),
    (0.5868, -4.0),
    (0.461, -6.0),
    (0.5375, -8.2),
    (0.6708, -9.9),
    (0.575, -10.5),
    (0.7618, -7.5),
    (1.5375, -15.9),
    (1.8978, -6.6),
    (2.2242, -16.7),
    (2.1718, -12.4),
    (2.4942, -15.2),
    (2.5119, -10.8),
    (3.0582, -11.3),
    (4.081, -12.7),
    (4.4579, -16.2),
    (4.5695, -18.3),
    (4.7966, -18.9),
    (5.0066, -16.6),
    (5.3043, -19.9),
    (9.6586, -29.7),
];
const TDL_B: [(f64, f64); 23] = [
    (0.0, 0.0),
    (0.1072, -2.2),
    (0.2155, -4.0),
    (0.2095, -3.2),
    (0.287, -9.8),
    (0.2986, -1.2),
    (0.3752, -3.4),
    (0.5055, -5.2),
    (0.3681, -7.6),
    (0.3697, -3.0),
    (0.57, -8.9),
    (0.5283, -9.0),
    (1.1021, -4.8),
    (1.2756, -5.7),
    (1.5474, -7.5),
    (1.7842, -1.9),
    (2.0169, -7.6),
    (2.8294, -12.2),
    (3.0219, -9.8),
    (3.6187, -11.4),
    (4.1067, -14.9),
    (4.279, -9.2),
    (4.7834, -11.3),
];
#[expect(clippy::approx_constant, reason = "a delay that happens to be near 2/π")]
const TDL_C: [(f64, f64); 24] = [
    (0.0, -4.4),
    (0.2099, -1.2),
    (0.2219, -3.5),
    (0.2329, -5.2),
    (0.2176, -2.5),
    (0.6366, 0.0),
    (0.6448, -2.2),
    (0.656, -3.9),
    (0.6584, -7.4),
    (0.7935, -7.1),
    (0.8213, -10.7),
    (0.9336, -11.1),
    (1.2285, -5.1),
    (1.3083, -6.8),
    (2.1704, -8.7),
    (2.7105, -13.2),
    (4.2589, -13.9),
    (4.6003, -13.9),
    (5.4902, -15.8),
    (5.6077, -17.1),
    (6.3065, -16.0),
    (6.6374, -15.7),
    (7.0427, -21.6),
    (8.6523, -22.8),
];
const TDL_D: [(f64, f64); 13] = [
    (0.0, -13.5),
    (0.035, -18.8),
    (0.612, -21.0),
    (1.363, -22.8),
    (1.405, -17.9),
    (1.804, -20.1),
    (2.596, -21.9),
    (1.775, -22.9),
    (4.042, -27.8),
    (7.937, -23.6),
    (9.424, -24.8),
    (9.708, -30.0),
    (12.525, -27.7),
];
const TDL_E: [(f64, f64); 14] = [
    (0.0, -22.03),
    (0.5133, -15.8),
    (0.544, -18.1),
    (0.563, -19.8),
    (0.544, -22.9),
    (0.7112, -22.4),
    (1.9092, -18.6),
    (1.9293, -20.8),
    (1.9589, -22.6),
    (2.6426, -22.3),
    (3.7136, -25.6),
    (5.4524, -20.2),
    (12.0034, -29.8),
    (20.6519, -29.2),
];
/// Power of the line of sight in dB, on the scale of the taps. TR 38.901 v16.1.0 Tables 7.7.2-4 and -5.
const SIGHT_D: f64 = -0.2;
const SIGHT_E: f64 = -0.03;
/// Doppler shift of the line of sight over the maximum one (TR 38.901 v16.1.0 clause 7.7.2).
const SIGHT_DOPPLER: f64 = 0.7;

impl Profile {
    /// Delay in seconds and power of each tap; the powers add up to one.
    #[must_use]
    pub fn taps(self) -> Vec<(f64, f64)> {
        let mut taps = self.scattered();
        if let Some(Specular { k_factor, .. }) = self.specular() {
            taps[0].1 *= 1.0 + k_factor;
        }
        taps
    }

    /// The taps without the line of sight.
    pub(super) fn scattered(self) -> Vec<(f64, f64)> {
        let (table, unit, sight): (&[(f64, f64)], f64, Option<f64>) = match self {
            Self::Epa => (&EPA, 1e-9, None),
            Self::Eva => (&EVA, 1e-9, None),
            Self::Etu => (&ETU, 1e-9, None),
            Self::Flat => (&FLAT, 1e-9, None),
            Self::Tdl(line, spread) => {
                let unit = spread.as_nanos() as f64 * 1e-9;
                match line {
                    DelayLine::A => (&TDL_A, unit, None),
                    DelayLine::B => (&TDL_B, unit, None),
                    DelayLine::C => (&TDL_C, unit, None),
                    DelayLine::D => (&TDL_D, unit, Some(SIGHT_D)),
                    DelayLine::E => (&TDL_E, unit, Some(SIGHT_E)),
                }
            }
        };
        let total: f64 = table.iter().map(|&(_, db)| Decibel(db).linear()).sum::<f64>()
            + sight.map_or(0.0, |db| Decibel(db).linear());
        table.iter().map(|&(delay, db)| (delay * unit, Decibel(db).linear() / total)).collect()
    }

    /// The line of sight of the first tap.
    pub(super) fn specular(self) -> Option<Specular> {
        let over_rest = |sight: f64, first: f64| {
            Some(Specular { k_factor: Decibel(sight - first).linear(), doppler: SIGHT_DOPPLER })
        };
        match self {
            Self::Tdl(DelayLine::D, _) => over_rest(SIGHT_D, TDL_D[0].1),
            Self::Tdl(DelayLine::E, _) => over_rest(SIGHT_E, TDL_E[0].1),
            _ => None,
        }
    }
}
