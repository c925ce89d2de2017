//! Loss on the way into a building (TR 38.901 clause 7.4.3.1, TR 36.873 clause 7.2.3).

use airlane_core::{Decibel, Stream};

/// The wall that a UE is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildingType {
    /// The low-loss model: 30 % standard glass, 70 % concrete.
    LowLoss,
    /// The high-loss model: 70 % glass that reflects infrared, 30 % concrete.
    HighLoss,
    /// 20 dB at each frequency: TR 36.873, and TR 38.901 Table 7.4.3-3 for a single carrier below 6 GHz.
    TwentyDecibels,
}

/// The way into a building of one UE, which all its links share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuildingEntry {
    /// The wall.
    pub building: BuildingType,
    /// d_2D-in: distance along the ground from the wall to the UE, metres.
    pub inside_m: f64,
    /// Deviation of the loss from its mean, in standard deviations.
    pub deviation: f64,
}

impl BuildingType {
    /// Loss through the external wall (Tables 7.4.3-1 and 7.4.3-2).
    #[must_use]
    pub fn wall(self, carrier_ghz: f64) -> Decibel {
        // Shares of two materials, each with its loss in dB.
        let mixed = |share: f64, first: f64, second: f64| {
            let through = share * Decibel(-first).linear() + (1.0 - share) * Decibel(-second).linear();
            Decibel(5.0 - 10.0 * libm::log10(through))
        };
        let glass = 2.0 + 0.2 * carrier_ghz;
        let infrared_glass = 23.0 + 0.3 * carrier_ghz;
        let concrete = 5.0 + 4.0 * carrier_ghz;
        match self {
            Self::LowLoss => mixed(0.3, glass, concrete),
            Self::HighLoss => mixed(0.7, infrared_glass, concrete),
            Self::TwentyDecibels => Decibel(20.0),
        }
    }

    /// σ_P: standard deviation of the loss (Tables 7.4.3-2 and 7.4.3-3).
    #[must_use]
    pub fn sigma(self) -> Decibel {
        match self {
            Self::LowLoss => Decibel(4.4),
            Self::HighLoss => Decibel(6.5),
            Self::TwentyDecibels => Decibel(0.0),
        }
    }
}

impl BuildingEntry {
    /// Draws the way into this building. `depth_m` is the maximum of d_2D-in: 25 m in cities, 10 m in RMa. d_2D-in
    /// is uniform for walls of 20 dB, and otherwise the smaller one of two uniform draws (clause 7.4.3.1).
    pub fn draw(building: BuildingType, depth_m: f64, stream: &mut Stream) -> Self {
        let (first, second) = (stream.uniform(), stream.uniform());
        let share = if building == BuildingType::TwentyDecibels { first } else { first.min(second) };
        Self { building, inside_m: depth_m * share, deviation: stream.normal() }
    }

    /// PL_tw + PL_in + N(0, σ_P²) of equation 7.4-2.
    #[must_use]
    pub fn loss(&self, carrier_ghz: f64) -> Decibel {
        let inside = Decibel(0.5 * self.inside_m);
        self.building.wall(carrier_ghz) + inside + Decibel(self.deviation * self.building.sigma().0)
    }
}
