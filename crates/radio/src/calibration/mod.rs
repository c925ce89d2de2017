//! The drops of 3GPP's large-scale calibrations: TR 36.873 clause 8.2, phase 1, and TR 38.901 clause 7.8.1.
//!
//! UEs are dropped over all sites, with wrap-around; each attaches to the sector with the highest coupling gain.
//! Without small-scale fading, that gain is antenna gain less path loss, building entry and shadowing. Its
//! distribution over the UEs, and that of the geometry (the gain over the sum of the gains of all other sectors,
//! without noise) are what the companies compared. Transmit powers have no effect on either.
//!
//! Each UE has a stream of its own, so a drop of more UEs begins with the same ones.

mod layout;

use airlane_core::{Decibel, Seeds, Stream};

pub use layout::{SECTORS_DEG, SiteLayout};

use crate::geometry::Position;
use crate::large_scale::{BuildingEntry, BuildingType, ChannelReport, ChannelScenario, LargeScale};
use crate::panel::{Column, element_gain};
use crate::path_loss::RadioPath;

/// Share of the UEs that are indoors in cities (TR 36.873 Table 6-1, TR 38.901 Table 7.2-1).
const INDOOR_SHARE: f64 = 0.8;
/// Greatest distance from the wall to a UE in cities (TR 36.873 clause 7.2.3, TR 38.901 clause 7.4.3.1).
const DEPTH_M: f64 = 25.0;
/// Share of UEs behind low-loss walls (TR 38.901 Table 7.8-1).
const LOW_LOSS_SHARE: f64 = 0.5;
/// Height of a UE above its floor, and of a storey (TR 36.873 Table 6-1).
const ABOVE_FLOOR_M: f64 = 1.5;
const STOREY_M: f64 = 3.0;
/// Fewest and most storeys of a building (TR 36.873 Table 6-1).
const STOREYS: [u64; 2] = [4, 8];
/// Height of a UE in an office (TR 38.901 Table 7.2-2).
const OFFICE_UE_M: f64 = 1.0;

/// One calibration: a channel, the antenna of each sector, and where the sites are.
#[derive(Clone, Debug)]
pub struct Calibration {
    channel: LargeScale,
    antenna: Column,
    layout: SiteLayout,
    /// Least distance of a UE from its site, along the ground and outdoors.
    least_m: f64,
}

/// Results of a drop: one value per UE, in the order of the UEs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Gain to the serving sector in dB (3GPP's coupling loss with the sign reversed).
    pub coupling_gain_db: Vec<f64>,
    /// Serving gain over the sum of all others in dB.
    pub geometry_db: Vec<f64>,
}

/// One UE and its place.
struct Dropped {
    position: Position,
    entry: Option<BuildingEntry>,
}

impl Calibration {
    /// The calibration of a channel; `None` for RMa, which the companies did not compare.
    #[must_use]
    pub fn new(channel: LargeScale, antenna: Column) -> Option<Self> {
        let (layout, least_m) = match channel.scenario {
            // TR 38.901 Table 7.2-1, TR 36.873 Table 6-1.
            ChannelScenario::UrbanMicro => (SiteLayout::hexagonal(200.0, 10.0), 10.0),
            ChannelScenario::UrbanMacro => (SiteLayout::hexagonal(500.0, 25.0), 35.0),
            // TR 38.901 Table 7.2-2.
            ChannelScenario::MixedOffice | ChannelScenario::OpenOffice => (SiteLayout::hall(3.0), 0.0),
            ChannelScenario::RuralMacro => return None,
        };
        Some(Self { channel, antenna, layout, least_m })
    }

    /// Drops this many UEs.
    #[must_use]
    pub fn run(&self, ues: u32, seeds: Seeds) -> Curves {
        let mut curves = Curves::default();
        for ue in 0..ues {
            let mut stream = seeds.stream(&format!("calibration/ue/{ue}"));
            let dropped = self.drop_ue(&mut stream);
            let gains = self.sector_gains(&dropped, &mut stream);
            let best = gains.iter().copied().fold(0.0, f64::max);
            let others = gains.iter().sum::<f64>() - best;
            curves.coupling_gain_db.push(Decibel::from_linear(best).0);
            curves.geometry_db.push(Decibel::from_linear(best / others).0);
        }
        curves
    }

    fn drop_ue(&self, stream: &mut Stream) -> Dropped {
        if matches!(self.layout, SiteLayout::Hall { .. }) {
            let position = self.layout.place(self.least_m, stream);
            return Dropped { position: Position { z: OFFICE_UE_M, ..position }, entry: None };
        }
        let indoor = stream.chance(INDOOR_SHARE);
        let entry = indoor.then(|| self.entry(stream));
        let storeys = STOREYS[0] + stream.below(STOREYS[1] - STOREYS[0] + 1);
        let floor = if indoor { stream.below(storeys) } else { 0 };
        // The least distance is that of the part outdoors (TR 36.873 Table 6-1, note 1).
        let least_m = self.least_m + entry.map_or(0.0, |entry| entry.inside_m);
        let place = self.layout.place(least_m, stream);
        let z = ABOVE_FLOOR_M + STOREY_M * floor as f64;
        Dropped { position: Position { z, ..place }, entry }
    }

    fn entry(&self, stream: &mut Stream) -> BuildingEntry {
        let low_loss = stream.chance(LOW_LOSS_SHARE);
        let building = match self.channel.report {
            ChannelReport::Tr36873 => BuildingType::TwentyDecibels,
            ChannelReport::Tr38900 | ChannelReport::Tr38901 if low_loss => BuildingType::LowLoss,
            ChannelReport::Tr38900 | ChannelReport::Tr38901 => BuildingType::HighLoss,
        };
        BuildingEntry::draw(building, DEPTH_M, stream)
    }

    /// Linear gain of each sector of each site.
    fn sector_gains(&self, ue: &Dropped, stream: &mut Stream) -> Vec<f64> {
        let entry_loss = ue.entry.map_or(Decibel(0.0), |entry| entry.loss(self.channel.carrier_ghz));
        let mut gains = Vec::new();
        for site in self.layout.sites_around(&ue.position) {
            let loss = self.site_loss(&site, ue, stream) + entry_loss;
            let (dx, dy) = (ue.position.x - site.x, ue.position.y - site.y);
            let ground_m = site.ground_distance(&ue.position);
            let zenith_deg = 90.0 + libm::atan2(site.z - ue.position.z, ground_m).to_degrees();
            let bearing_deg = libm::atan2(dy, dx).to_degrees();
            // The sectors of a site differ in azimuth only.
            let common = self.antenna.array_factor(zenith_deg) - loss;
            let sector = |sector_deg| (element_gain(zenith_deg, bearing_deg - sector_deg) + common).linear();
            gains.extend(SECTORS_DEG.map(sector));
        }
        gains
    }

    /// Path loss and shadowing from a site, which its sectors share. The indoor part of the way counts in the
    /// distances of the path loss, and not in the probability of a line of sight (TR 38.901 clause 7.4.3.1).
    fn site_loss(&self, site: &Position, ue: &Dropped, stream: &mut Stream) -> Decibel {
        let (ground_m, height_m) = (site.ground_distance(&ue.position), ue.position.z);
        let outdoor_m = ground_m - ue.entry.map_or(0.0, |entry| entry.inside_m);
        let line_of_sight = stream.chance(self.channel.line_of_sight_probability(outdoor_m, height_m));
        let environment_m = self.channel.environment_height_m(ground_m, height_m, stream);
        let path = RadioPath::between(site, &ue.position, line_of_sight);
        let (sigma, _) = self.channel.shadowing(&path, ue.entry.is_some());
        self.channel.loss(&path, environment_m) + Decibel(sigma.0 * stream.normal())
    }
}

#[cfg(test)]
mod tests;
