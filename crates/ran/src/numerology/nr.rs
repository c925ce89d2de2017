//! The numerologies of NR, and the PRBs of its channels.

use airlane_core::Duration;

use super::{Duplex, HarqTiming, Numerology, PuschSizes, RbgLayout, UplinkHarq};

/// The highest numerology of data channels up to 52.6 GHz (TS 38.211 table 4.2-1): 120 kHz.
pub const HIGHEST: u8 = 3;

/// HARQ processes of a UE in either direction: the maximum of the downlink, and those of the uplink, without the 32 of
/// release 17 (TS 38.214 §5.1, §6.1).
const PROCESSES: u8 = 16;

/// A frequency range (TS 38.101-1 table 5.1-1, TS 38.101-2 table 5.1-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencyRange {
    /// FR1: 410 MHz to 7125 MHz.
    One,
    /// FR2-1: 24.25 GHz to 52.6 GHz.
    Two,
}

impl FrequencyRange {
    /// The range of a carrier; `None` between them and beyond.
    #[must_use]
    pub fn of(carrier_hz: f64) -> Option<Self> {
        match carrier_hz {
            410e6..=7.125e9 => Some(Self::One),
            24.25e9..=52.6e9 => Some(Self::Two),
            _ => None,
        }
    }

    /// Its numerologies for data: 15, 30 and 60 kHz, or 60 and 120 kHz.
    #[must_use]
    pub const fn numerologies(self) -> core::ops::RangeInclusive<u8> {
        match self {
            Self::One => 0..=2,
            Self::Two => 2..=3,
        }
    }

    /// The channels of a numerology: bandwidth in MHz, and PRBs. Empty if the range does not have the numerology.
    ///
    /// TS 38.101-1 v19.5.0 table 5.3.2-1, without 3 and 7 MHz, and TS 38.101-2 v19.4.0 table 5.3.2-1.
    #[must_use]
    pub const fn channels(self, numerology: u8) -> &'static [(u16, u16)] {
        match (self, numerology) {
            (Self::One, 0) => &FR1_15_KHZ,
            (Self::One, 1) => &FR1_30_KHZ,
            (Self::One, 2) => &FR1_60_KHZ,
            (Self::Two, 2) => &FR2_60_KHZ,
            (Self::Two, 3) => &FR2_120_KHZ,
            _ => &[],
        }
    }
}

const FR1_15_KHZ: [(u16, u16); 10] = [
    (5, 25),
    (10, 52),
    (15, 79),
    (20, 106),
    (25, 133),
    (30, 160),
    (35, 188),
    (40, 216),
    (45, 242),
    (50, 270),
];
const FR1_30_KHZ: [(u16, u16); 15] = [
    (5, 11),
    (10, 24),
    (15, 38),
    (20, 51),
    (25, 65),
    (30, 78),
    (35, 92),
    (40, 106),
    (45, 119),
    (50, 133),
    (60, 162),
    (70, 189),
    (80, 217),
    (90, 245),
    (100, 273),
];
const FR1_60_KHZ: [(u16, u16); 14] = [
    (10, 11),
    (15, 18),
    (20, 24),
    (25, 31),
    (30, 38),
    (35, 44),
    (40, 51),
    (45, 58),
    (50, 65),
    (60, 79),
    (70, 93),
    (80, 107),
    (90, 121),
    (100, 135),
];
const FR2_60_KHZ: [(u16, u16); 3] = [(50, 66), (100, 132), (200, 264)];
const FR2_120_KHZ: [(u16, u16); 4] = [(50, 32), (100, 66), (200, 132), (400, 264)];

/// Length of a slot (TS 38.211 §4.3.2): 1 ms / 2^µ.
#[must_use]
pub const fn slot(numerology: u8) -> Duration {
    Duration::from_nanos(1_000_000 >> numerology)
}

impl RbgLayout {
    /// Resource allocation type 0 of NR, configuration 1 (TS 38.214 table 5.1.2.2.1-1), for a bandwidth part that
    /// begins at a multiple of the size.
    pub const NR: Self = Self { sizes: &[(36, 2), (72, 4), (144, 8), (275, 16)] };
}

impl Numerology {
    /// NR with subcarriers of 15 kHz × 2^µ: slots of 1 ms / 2^µ (TS 38.211 §4.2, §4.3.2), resource blocks of 12
    /// subcarriers (§4.4.4.1), and 16 asynchronous HARQ processes. Feedback is sent `k1` slots after a block, or in
    /// the next slot with an uplink.
    ///
    /// # Panics
    /// If there is no such numerology.
    #[must_use]
    pub fn nr(numerology: u8, k1: u32, duplex: Duplex) -> Self {
        assert!(numerology <= HIGHEST, "there is no numerology {numerology} for data");
        Self {
            slot: slot(numerology),
            subcarrier_spacing_hz: 15_000 << numerology,
            subcarriers_per_prb: 12,
            rbg: RbgLayout::NR,
            pusch_sizes: PuschSizes::Any,
            harq: HarqTiming { processes: PROCESSES, feedback: k1, uplink: UplinkHarq::Asynchronous },
            duplex,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_fill_their_bandwidth_but_for_the_guards() {
        for range in [FrequencyRange::One, FrequencyRange::Two] {
            for numerology in 0..=HIGHEST {
                let channels = range.channels(numerology);
                assert_eq!(!channels.is_empty(), range.numerologies().contains(&numerology));
                assert!(channels.is_sorted());
                for &(mhz, prbs) in channels {
                    let used =
                        Numerology::nr(numerology, 2, Duplex::Fdd).prb_bandwidth_hz() * f64::from(prbs);
                    // From 79 % (11 PRBs of 360 kHz in 5 MHz) to 98.3 % (273 in 100 MHz).
                    let share = used / (f64::from(mhz) * 1e6);
                    assert!((0.79..0.984).contains(&share), "{range:?} {numerology} {mhz} MHz: {share}");
                }
            }
        }
        assert_eq!(FrequencyRange::of(3.5e9), Some(FrequencyRange::One));
        assert_eq!(FrequencyRange::of(28e9), Some(FrequencyRange::Two));
        assert_eq!(FrequencyRange::of(10e9), None);
    }

    #[test]
    fn slots_become_shorter_as_subcarriers_become_wider() {
        let slots = [0, 1, 2, 3].map(|mu| Numerology::nr(mu, 2, Duplex::Fdd).slot.as_nanos());
        assert_eq!(slots, [1_000_000, 500_000, 250_000, 125_000]);
        let spacing = [0, 1, 2, 3].map(|mu| Numerology::nr(mu, 2, Duplex::Fdd).subcarrier_spacing_hz);
        assert_eq!(spacing, [15_000, 30_000, 60_000, 120_000]);
        assert_eq!(Numerology::nr(1, 2, Duplex::Fdd).rbg_size(273), 16);
        assert_eq!([36, 37, 72, 73, 144, 145].map(|prbs| RbgLayout::NR.size(prbs)), [2, 4, 4, 8, 8, 16]);
    }
}
