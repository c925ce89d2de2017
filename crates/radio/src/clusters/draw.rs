//! Delays, powers and angles of clusters and rays (TR 38.901 clause 7.5, steps 5 to 8).

use airlane_core::Stream;

use super::columns::Column;
use super::{ClusterLink, ClusterModel, LinkParameters, Reading, Readings, Spreads, spread};

/// Rays of a cluster, and their offsets for a spread of one degree (Table 7.5-3): each with both signs.
const RAYS: usize = 20;
const OFFSETS: [f64; RAYS / 2] =
    [0.0447, 0.1413, 0.2492, 0.3715, 0.5129, 0.6797, 0.8844, 1.1481, 1.5195, 2.1551];
/// Power below that of the strongest cluster at which one is removed (step 6): 25 dB.
const WEAKEST: f64 = 0.003_162_277_660_168_379_5;
/// Share of the rays, and delay in c_DS, of the three parts of the two strongest clusters (Table 7.5-5, 7.5-26).
const PARTS: [(f64, f64); 3] = [(0.5, 0.0), (0.3, 1.28), (0.2, 2.56)];

/// Factors of the azimuth by the number of clusters, C_φ (Table 7.5-2), and of the zenith, C_θ (Table 7.5-4).
const AZIMUTH_FACTORS: [(usize, f64); 8] =
    [(8, 1.018), (10, 1.090), (11, 1.123), (12, 1.146), (15, 1.211), (16, 1.226), (19, 1.273), (20, 1.289)];
const ZENITH_FACTORS: [(usize, f64); 7] =
    [(8, 0.889), (10, 0.957), (11, 1.031), (12, 1.104), (15, 1.1088), (19, 1.184), (20, 1.178)];

/// A ray at the site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Azimuth of departure in degrees from the x axis.
    pub azimuth_deg: f64,
    /// Zenith angle of departure in degrees, 0 to 180.
    pub zenith_deg: f64,
    /// Share of the power of the link.
    pub power: f64,
}

/// The rays of a link.
#[derive(Clone, Debug)]
pub struct Rays {
    /// The line of sight, if there is one outdoors.
    pub line_of_sight: Option<Ray>,
    /// Rays of the clusters.
    pub scattered: Vec<Ray>,
    /// Azimuths and zeniths of arrival, with their powers, of all rays.
    arrivals: Vec<(f64, f64, f64)>,
    /// Delays in seconds, with their powers.
    delays: Vec<(f64, f64)>,
    /// Whether the angle spread is that of TR 38.901 Annex A.
    logarithmic: bool,
}

/// A cluster: delay in seconds, power in the model of angles, and share of the power of the link.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    delay_s: f64,
    with_sight: f64,
    power: f64,
}

impl ClusterModel {
    /// Draws the rays of a link with these parameters.
    pub fn rays(&self, link: &ClusterLink, parameters: &LinkParameters, stream: &mut Stream) -> Rays {
        let column = &self.condition(link).column;
        let k = parameters.k_db.map_or(0.0, |k_db| libm::exp10(k_db / 10.0));
        let mut clusters = clusters(column, parameters, k, stream);
        remove_weak(&mut clusters, &self.readings);
        let strongest = clusters.iter().map(|cluster| cluster.with_sight).fold(0.0, f64::max);
        let angles = Angles::new(self, link, parameters);
        let mut centres: Vec<[f64; 4]> =
            clusters.iter().map(|c| angles.draw(c.with_sight / strongest, stream)).collect();
        if parameters.k_db.is_some() {
            // The first cluster is in the direction of the line of sight (7.5-12 and 7.5-17).
            let first = centres[0];
            centres.iter_mut().for_each(|centre| (0..4).for_each(|i| centre[i] -= first[i]));
        }
        let logarithmic = self.readings.has(Reading::LogarithmicSpread);
        let mut rays = Rays {
            line_of_sight: None,
            scattered: Vec::new(),
            arrivals: Vec::new(),
            delays: Vec::new(),
            logarithmic,
        };
        let spread_sight = self.readings.has(Reading::SightInFirstCluster);
        if spread_sight {
            clusters.iter_mut().for_each(|cluster| cluster.power = cluster.with_sight);
        }
        for (cluster, centre) in clusters.iter().zip(&centres) {
            rays.add(cluster.power, &angles, *centre, stream);
        }
        rays.add_delays(&clusters, column, parameters);
        if parameters.k_db.is_some() && !spread_sight {
            let [azimuth_deg, zenith_deg, arrival_deg, zenith_arrival_deg] = angles.sight;
            let power = k / (1.0 + k);
            rays.line_of_sight = Some(Ray { azimuth_deg, zenith_deg, power });
            rays.arrivals.push((arrival_deg, zenith_arrival_deg, power));
            rays.delays.push((0.0, power));
        }
        rays
    }
}

/// Steps 5 and 6: in the order of their delays.
fn clusters(column: &Column, parameters: &LinkParameters, k: f64, stream: &mut Stream) -> Vec<Cluster> {
    let scale_s = column.delay_scaling * parameters.delay_s;
    let mut delays: Vec<f64> = (0..column.clusters).map(|_| stream.exponential(scale_s)).collect();
    delays.sort_by(f64::total_cmp);
    let (first, decay) = (delays[0], (column.delay_scaling - 1.0) / scale_s);
    let powers: Vec<f64> = delays
        .iter()
        .map(|delay| {
            let shadowing_db = column.cluster_shadowing_db * stream.normal();
            libm::exp(-(delay - first) * decay) * libm::exp10(-shadowing_db / 10.0)
        })
        .collect();
    let sum: f64 = powers.iter().sum();
    let cluster = |(index, (delay, power)): (usize, (&f64, &f64))| {
        let power = power / sum / (1.0 + k);
        let sight = if index == 0 { k / (1.0 + k) } else { 0.0 };
        Cluster { delay_s: delay - first, with_sight: power + sight, power }
    };
    delays.iter().zip(&powers).enumerate().map(cluster).collect()
}

/// Step 6 without the clusters that are 25 dB below the strongest. Their powers are those of (7.5-6), in the scale
/// of (7.5-8) but without its line of sight: the report has the power with it "only" for (7.5-9) and (7.5-14).
fn remove_weak(clusters: &mut Vec<Cluster>, readings: &Readings) {
    let with_sight = readings.has(Reading::RemovalWithSight);
    let power = |cluster: &Cluster| if with_sight { cluster.with_sight } else { cluster.power };
    let strongest = clusters.iter().map(power).fold(0.0, f64::max);
    if !readings.has(Reading::NoRemoval) {
        clusters.retain(|cluster| power(cluster) >= strongest * WEAKEST);
    }
}

/// Step 7: angles of a link in the order azimuth and zenith of departure, azimuth and zenith of arrival.
struct Angles {
    spreads_deg: [f64; 4],
    factors: [f64; 4],
    sight: [f64; 4],
    /// Mean of the clusters: the line of sight, with the offset of departure; the horizon in buildings.
    centre: [f64; 4],
    /// Spread of the rays of a cluster.
    rays_deg: [f64; 4],
}

impl Angles {
    fn new(model: &ClusterModel, link: &ClusterLink, parameters: &LinkParameters) -> Self {
        let column = &model.condition(link).column;
        let path = &link.path;
        let down_deg = libm::atan2(path.site_height_m - path.ue_height_m, path.ground_m).to_degrees();
        let sight = [link.bearing_deg, 90.0 + down_deg, link.bearing_deg + 180.0, 90.0 - down_deg];
        let ((zenith_mean, _), offset) = model.zenith_departure(link);
        let mut centre = sight;
        centre[1] += offset;
        if link.indoor {
            centre[3] = 90.0;
        }
        let (mut azimuth, mut zenith) = (factor(&AZIMUTH_FACTORS, column), factor(&ZENITH_FACTORS, column));
        if let Some(k_db) = parameters.k_db {
            // (7.5-10) and (7.5-15), polynomials that have a zero at -10 dB; as in QuaDRiGa, not below 0 dB.
            let k = k_db.max(0.0);
            azimuth *= 1.1035 - 0.028 * k - 0.002 * k * k + 0.0001 * k * k * k;
            zenith *= 1.3086 + 0.0339 * k - 0.0077 * k * k + 0.0002 * k * k * k;
        }
        let [departure, arrival, zenith_arrival] = column.cluster_deg;
        Self {
            spreads_deg: [
                parameters.departure_deg,
                parameters.zenith_departure_deg,
                parameters.arrival_deg,
                parameters.zenith_arrival_deg,
            ],
            factors: [azimuth, zenith, azimuth, zenith],
            sight,
            centre,
            rays_deg: [departure, 3.0 / 8.0 * libm::exp10(zenith_mean), arrival, zenith_arrival],
        }
    }

    /// The direction of a cluster, relative to the centre, by its power over that of the strongest.
    fn draw(&self, relative: f64, stream: &mut Stream) -> [f64; 4] {
        let depth = -libm::log(relative.min(1.0));
        core::array::from_fn(|i| {
            let spread_deg = self.spreads_deg[i];
            // (7.5-9): an inverse Gaussian in azimuth; (7.5-14): an inverse Laplacian in zenith.
            let away =
                if i % 2 == 0 { 2.0 * spread_deg / 1.4 * libm::sqrt(depth) } else { spread_deg * depth };
            let sign = if stream.chance(0.5) { 1.0 } else { -1.0 };
            sign * away / self.factors[i] + stream.normal() * spread_deg / 7.0
        })
    }
}

fn factor(table: &[(usize, f64)], column: &Column) -> f64 {
    let found = table.iter().find(|(clusters, _)| *clusters == column.clusters);
    found.expect("the tables have each number of clusters").1
}

/// Zenith angles beyond the poles are those of the other side (step 7).
fn folded(zenith_deg: f64) -> f64 {
    let turned = zenith_deg - 360.0 * libm::floor(zenith_deg / 360.0);
    if turned > 180.0 { 360.0 - turned } else { turned }
}

impl Rays {
    fn add(&mut self, power: f64, angles: &Angles, centre: [f64; 4], stream: &mut Stream) {
        let mut order: [usize; RAYS] = core::array::from_fn(|ray| ray);
        for last in (1..RAYS).rev() {
            order.swap(last, stream.below(last as u64 + 1) as usize);
        }
        let offset = |ray: usize| if ray.is_multiple_of(2) { OFFSETS[ray / 2] } else { -OFFSETS[ray / 2] };
        let share = power / RAYS as f64;
        let at = |i: usize, ray: usize| angles.centre[i] + centre[i] + angles.rays_deg[i] * offset(ray);
        for (ray, &other) in order.iter().enumerate() {
            let zenith_deg = folded(at(1, other));
            self.scattered.push(Ray { azimuth_deg: at(0, ray), zenith_deg, power: share });
            self.arrivals.push((at(2, ray), folded(at(3, other)), share));
        }
    }

    /// Delays with the three parts of the two strongest clusters, scaled where there is a line of sight (7.5-3).
    fn add_delays(&mut self, clusters: &[Cluster], column: &Column, parameters: &LinkParameters) {
        let scale =
            parameters.k_db.map_or(1.0, |k| 0.7705 - 0.0433 * k + 0.0002 * k * k + 0.000_017 * k * k * k);
        let mut strong: Vec<usize> = (0..clusters.len()).collect();
        strong.sort_by(|&a, &b| clusters[b].power.total_cmp(&clusters[a].power));
        strong.truncate(2);
        for (index, cluster) in clusters.iter().enumerate() {
            let delay_s = cluster.delay_s / scale;
            if strong.contains(&index) {
                let part = |(share, later): (f64, f64)| {
                    (delay_s + later * column.cluster_delay_s, share * cluster.power)
                };
                self.delays.extend(PARTS.map(part));
            } else {
                self.delays.push((delay_s, cluster.power));
            }
        }
    }

    /// Spreads of the link, without antennas.
    #[must_use]
    pub fn spreads(&self) -> Spreads {
        let departures = || self.scattered.iter().chain(&self.line_of_sight);
        let circular = |mut rays: Vec<(f64, f64)>| {
            if self.logarithmic { spread::logarithmic_deg(&rays) } else { spread::circular_deg(&mut rays) }
        };
        Spreads {
            delay_ns: spread::linear(&self.delays) * 1e9,
            departure_deg: circular(departures().map(|ray| (ray.azimuth_deg, ray.power)).collect()),
            arrival_deg: circular(
                self.arrivals.iter().map(|&(azimuth, _, power)| (azimuth, power)).collect(),
            ),
            zenith_departure_deg: circular(departures().map(|ray| (ray.zenith_deg, ray.power)).collect()),
            zenith_arrival_deg: circular(
                self.arrivals.iter().map(|&(_, zenith, power)| (zenith, power)).collect(),
            ),
        }
    }
}
