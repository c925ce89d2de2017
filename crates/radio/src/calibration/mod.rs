//! The drops of 3GPP's calibrations: TR 36.873 clause 8.2, phases 1 and 2, and TR 38.901 clauses 7.8.1 (large
//! scale) and 7.8.2 (full).
//!
//! UEs are dropped over all sites, with wrap-around; each attaches to the sector with the highest coupling gain.
//! In phase 1 and at large scale there is no small-scale fading, and that gain is antenna gain less path loss,
//! building entry and shadowing. In phase 2 and the full calibration, the antenna gain is that of all rays of the
//! link's clusters. The distribution of the gain over the UEs, that of the geometry (the gain over the sum of the
//! gains of all other sectors, without noise) and those of the delay and angle spreads of the serving link are
//! what the companies compared. Transmit powers have no effect on any.
//!
//! Each UE has a stream of its own, so a drop of more UEs begins with the same ones.

mod beams;
mod layout;

use airlane_core::{Decibel, Seeds, Stream};

use beams::GainTable;
pub use layout::{SECTORS_DEG, SiteLayout};

use crate::clusters::{ClusterLink, ClusterModel, LinkParameters, Rays, Reading, Readings, Spreads};
use crate::geometry::Position;
use crate::large_scale::{BuildingEntry, BuildingType, ChannelReport, ChannelScenario, LargeScale};
use crate::panel::{Panel, element_gain};
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
/// A site whose channel gain is this far below that of another site is neither the serving one nor adds to the
/// interference: its rays are not drawn. No antenna compared has more than 20 dBi.
const NEGLIGIBLE_DB: f64 = 50.0;

/// Antennas of UEs, and with them of sectors, in a calibration with clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UeAntennas {
    /// Vertical ones only, at both ends: phase 2 of TR 36.873, configuration 1.
    Vertical,
    /// A vertical and a horizontal one, whose mean power counts: phase 2, configuration 2, and the full calibration
    /// of TR 38.901.
    CrossPolarized,
}

/// One calibration: a channel, the antenna of each sector, and where the sites are.
#[derive(Clone, Debug)]
pub struct Calibration {
    channel: LargeScale,
    antenna: Panel,
    layout: SiteLayout,
    /// Least distance of a UE from its site, along the ground and outdoors.
    least_m: f64,
    readings: Readings,
    clusters: Option<Clusters>,
}

/// Model, antennas of sectors and of UEs of a calibration with clusters.
#[derive(Clone, Debug)]
struct Clusters {
    model: ClusterModel,
    beam: GainTable,
    ue: UeAntennas,
}

/// Results of a drop: one value per UE, in the order of the UEs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Gain to the serving sector in dB (3GPP's coupling loss with the sign reversed).
    pub coupling_gain_db: Vec<f64>,
    /// Serving gain over the sum of all others in dB.
    pub geometry_db: Vec<f64>,
    /// Zenith angle at the serving site of the line to the UE, degrees.
    pub sight_zenith_deg: Vec<f64>,
    /// Spreads of the serving link; empty without clusters.
    pub spreads: Vec<Spreads>,
}

/// A UE and its place.
struct Dropped {
    position: Position,
    entry: Option<BuildingEntry>,
}

/// A site as a UE sees it.
struct SeenSite {
    link: ClusterLink,
    path_loss: Decibel,
    /// Linear gain of each sector, with antenna.
    gains: [f64; 3],
    rays: Option<Rays>,
}

impl Calibration {
    /// The calibration of a channel at large scale; `None` for RMa, which the companies did not compare.
    #[must_use]
    pub fn new(channel: LargeScale, antenna: Panel) -> Option<Self> {
        let (layout, least_m) = match channel.scenario {
            // TR 38.901 Table 7.2-1, TR 36.873 Table 6-1.
            ChannelScenario::UrbanMicro => (SiteLayout::hexagonal(200.0, 10.0), 10.0),
            ChannelScenario::UrbanMacro => (SiteLayout::hexagonal(500.0, 25.0), 35.0),
            // TR 38.901 Table 7.2-2.
            ChannelScenario::MixedOffice | ChannelScenario::OpenOffice => (SiteLayout::hall(3.0), 0.0),
            ChannelScenario::RuralMacro => return None,
        };
        Some(Self { channel, antenna, layout, least_m, readings: Readings::default(), clusters: None })
    }

    /// The calibration with clusters: phase 2 of TR 36.873, the full calibration of TR 38.901. The reports demand
    /// `correlated_shadowing` ([`ClusterModel::new`]).
    #[must_use]
    pub fn with_clusters(mut self, ue: UeAntennas, correlated_shadowing: bool) -> Self {
        let model = ClusterModel::new(&self.channel, correlated_shadowing);
        self.clusters = Some(Clusters { model, beam: GainTable::new(&self.antenna), ue });
        self
    }

    /// The calibration with other readings of the reports than those taken here.
    #[must_use]
    pub fn with_readings(mut self, readings: &[Reading]) -> Self {
        self.readings = Readings::new(readings);
        if let Some(clusters) = &mut self.clusters {
            clusters.model = clusters.model.clone().with_readings(self.readings.clone());
        }
        self
    }

    /// Drops this many UEs.
    #[must_use]
    pub fn run(&self, ues: u32, seeds: Seeds) -> Curves {
        let mut curves = Curves::default();
        for ue in 0..ues {
            let mut stream = seeds.stream(&format!("calibration/ue/{ue}"));
            let dropped = self.drop_ue(&mut stream);
            let sites = match &self.clusters {
                None => self.sites(&dropped, &mut stream),
                Some(clusters) => self.clustered_sites(clusters, &dropped, &mut stream),
            };
            curves.add(&sites, self.readings.has(Reading::AttachmentByPathLoss));
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
        let of_whole = self.readings.has(Reading::LeastDistanceOfWhole);
        let inside_m = entry.filter(|_| !of_whole).map_or(0.0, |entry| entry.inside_m);
        let least_m = self.least_m + inside_m;
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

    /// The sites with one way to each.
    fn sites(&self, ue: &Dropped, stream: &mut Stream) -> Vec<SeenSite> {
        let entry_loss = ue.entry.map_or(Decibel(0.0), |entry| entry.loss(self.channel.carrier_ghz));
        let mut seen = Vec::new();
        for position in self.layout.sites_around(&ue.position) {
            let (link, path_loss) = self.link(&position, ue, stream);
            let (sigma, _) = self.channel.shadowing(&link.path, link.indoor);
            let loss = path_loss + Decibel(sigma.0 * stream.normal()) + entry_loss;
            let zenith_deg = zenith_deg(&link.path);
            let gains = SECTORS_DEG.map(|sector_deg| {
                let off_deg = link.bearing_deg - sector_deg;
                // The sectors of a site differ in azimuth only.
                let common = self.antenna.vertical_factor(zenith_deg) - loss;
                let beside = self.antenna.horizontal_factor(zenith_deg, off_deg);
                (element_gain(zenith_deg, off_deg) + beside + common).linear()
            });
            seen.push(SeenSite { link, path_loss, gains, rays: None });
        }
        seen
    }

    /// The sites with the rays of the clusters of each; those that are negligible have no gain.
    fn clustered_sites(&self, clusters: &Clusters, ue: &Dropped, stream: &mut Stream) -> Vec<SeenSite> {
        let entry_loss = ue.entry.map_or(Decibel(0.0), |entry| entry.loss(self.channel.carrier_ghz));
        let mut drawn = Vec::new();
        for position in self.layout.sites_around(&ue.position) {
            let (link, path_loss) = self.link(&position, ue, stream);
            let parameters = clusters.model.parameters(&link, stream);
            let (sigma, _) = self.channel.shadowing(&link.path, link.indoor);
            let gain = Decibel(sigma.0 * parameters.shadowing) - path_loss - entry_loss;
            drawn.push((link, path_loss, parameters, gain));
        }
        let best = drawn.iter().map(|(.., gain)| gain.0).fold(f64::NEG_INFINITY, f64::max);
        drawn.retain(|(.., gain)| gain.0 > best - NEGLIGIBLE_DB);
        let site = |(link, path_loss, parameters, gain): (ClusterLink, Decibel, LinkParameters, Decibel)| {
            let rays = clusters.model.rays(&link, &parameters, stream);
            let [scattered, sight] = match clusters.ue {
                UeAntennas::Vertical => [1.0, 1.0],
                UeAntennas::CrossPolarized => clusters.model.polarized_shares(&link),
            };
            let gains = SECTORS_DEG.map(|sector_deg| {
                let of = |ray| clusters.beam.power(ray, sector_deg);
                let by_clusters: f64 = rays.scattered.iter().map(of).sum();
                let by_sight = rays.line_of_sight.as_ref().map_or(0.0, of);
                gain.linear() * (scattered * by_clusters + sight * by_sight)
            });
            SeenSite { link, path_loss, gains, rays: Some(rays) }
        };
        drawn.into_iter().map(site).collect()
    }

    /// Draws the state of the link to a site, which its sectors share, and its path loss. The indoor part of the way
    /// counts in the distances of the path loss, and not in the probability of a line of sight (TR 38.901 clause
    /// 7.4.3.1).
    fn link(&self, site: &Position, ue: &Dropped, stream: &mut Stream) -> (ClusterLink, Decibel) {
        let (ground_m, height_m) = (site.ground_distance(&ue.position), ue.position.z);
        let outdoor_m = ground_m - ue.entry.map_or(0.0, |entry| entry.inside_m);
        let line_of_sight = stream.chance(self.channel.line_of_sight_probability(outdoor_m, height_m));
        let environment_m = self.channel.environment_height_m(ground_m, height_m, stream);
        let path = RadioPath::between(site, &ue.position, line_of_sight);
        let (dx, dy) = (ue.position.x - site.x, ue.position.y - site.y);
        let bearing_deg = libm::atan2(dy, dx).to_degrees();
        let link = ClusterLink { path, indoor: ue.entry.is_some(), bearing_deg, outdoor_m };
        (link, self.channel.loss(&path, environment_m))
    }
}

/// Zenith angle of the UE at the site, degrees.
fn zenith_deg(path: &RadioPath) -> f64 {
    90.0 + libm::atan2(path.site_height_m - path.ue_height_m, path.ground_m).to_degrees()
}

impl Curves {
    fn add(&mut self, sites: &[SeenSite], by_path_loss: bool) {
        let (mut best, mut serving, mut sum) = (0.0, 0, 0.0);
        for (index, site) in sites.iter().enumerate() {
            for gain in site.gains {
                sum += gain;
                if gain > best {
                    (best, serving) = (gain, index);
                }
            }
        }
        if by_path_loss {
            let least = |a: &usize, b: &usize| sites[*a].path_loss.0.total_cmp(&sites[*b].path_loss.0);
            serving = (0..sites.len()).min_by(least).expect("a layout has sites");
            best = sites[serving].gains.iter().copied().fold(0.0, f64::max);
        }
        self.coupling_gain_db.push(Decibel::from_linear(best).0);
        self.geometry_db.push(Decibel::from_linear(best / (sum - best)).0);
        self.sight_zenith_deg.push(zenith_deg(&sites[serving].link.path));
        self.spreads.extend(sites[serving].rays.as_ref().map(Rays::spreads));
    }
}

#[cfg(test)]
mod tests;
