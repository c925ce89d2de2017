//! The channel between a cell and a UE in one direction: its SINR on each PRB. It is computed on
//! demand, and only the parts that can have changed.

use core::ops::Range;
use std::sync::Arc;

use airlane_core::{Dbm, Decibel, Duration, Instant};
use airlane_radio::blockage::{Blockage, PathGeometry};
use airlane_radio::layers::LayerGain;
use airlane_radio::shadowing::Grain;
use airlane_radio::{
    Antenna, Bursts, Fading, LossMemo, Mobility, PathLoss, Position, RadioPath, Raster, Shadowing,
    WrapAround, noise,
};

use crate::config::ShadowingConfig;
use crate::interference::STEP_M;
use crate::mac::scheduler::MAX_RBGS;
use crate::reach::Change;

/// For how long a moving UE's path loss is kept. At 40 km/h the UE moves 11 cm in this time.
const PATH_LOSS_REFRESH: Duration = Duration::from_millis(10);
/// How far a UE among several cells moves until its path loss is computed again: the resolution of
/// shadowing (0.25 m of 50 m). At 35 m from a site this is 0.12 dB of path loss.
const SERVING_STEP_M: f64 = 0.25;

/// The maximum increase of RSRP by fading. Eight oscillators with evenly spaced directions over half a
/// turn limit a tap to (1 / (2 sin(π / 16)))², 8.2 dB; the taps of a profile do not reach their maxima
/// together.
const LARGEST_FADE: Decibel = Decibel(12.0);

/// Cache of the shadowing that is the same towards all sites: correlation distance in metres, place, and
/// value.
pub(crate) type CommonShadow = Option<(f64, Grain, f64)>;

/// The parameters of a link budget, apart from place and fading.
#[derive(Clone, Debug)]
pub(crate) struct LinkBudget {
    pub(crate) path_loss: PathLoss,
    pub(crate) tx_power: Dbm,
    /// Noise of a PRB at the receiver.
    pub(crate) noise: Dbm,
    /// Transmission mode.
    pub(crate) gain: Decibel,
    /// Penetration loss of the walls around the UE.
    pub(crate) penetration_loss: Decibel,
    /// The smallest loss with antenna gains, or none.
    pub(crate) minimum_coupling_loss: Option<Decibel>,
    /// Number of PRBs over which the transmit power is spread.
    pub(crate) prbs: u16,
    /// Number of RBGs of the band.
    pub(crate) rbgs: u16,
    /// Subcarriers of a PRB.
    pub(crate) subcarriers: u16,
}

/// The site of a cell, and the line of sight and shadowing to a UE: the same in both directions.
#[derive(Clone, Debug)]
pub(crate) struct Scenery {
    pub(crate) site: Position,
    pub(crate) antenna: Antenna,
    pub(crate) wrap_around: Option<WrapAround>,
    pub(crate) sight: Sight,
    /// Two draws for the random environment height, or none.
    pub(crate) environment: Option<[f64; 2]>,
    /// Distance along the ground from the wall to a UE in a building, metres.
    pub(crate) inside_m: Option<f64>,
    pub(crate) shadowing: Option<(ShadowingConfig, Arc<Shadowing>)>,
    /// Path loss in the place of the law's.
    pub(crate) path_loss_map: Option<Arc<Raster>>,
    /// Additional loss.
    pub(crate) clutter_loss_map: Option<Arc<Raster>>,
}

/// What reduces the SINR for some time.
#[derive(Debug)]
struct Disturbance {
    bursts: Option<Bursts>,
    blockage: Option<Blockage>,
}

/// Where there is a line of sight: where its probability is larger than this.
#[derive(Clone, Debug)]
pub(crate) enum Sight {
    /// One uniform draw for each pair of UE and site.
    Draw(f64),
    /// A number from 0 to 1 at each place, the distribution function of a Gaussian field, and the distance in metres at
    /// which the correlation of the field is 1/e.
    Field(Arc<Shadowing>, f64),
}

impl Scenery {
    /// The site, or the copy of it that is nearest to the UE.
    fn site_for(&self, ue: &Position) -> Position {
        self.wrap_around.as_ref().map_or(self.site, |wrap| wrap.nearest(&self.site, ue))
    }

    fn is_in_sight(&self, probability: f64, ue: &Position) -> bool {
        let draw = match &self.sight {
            Sight::Draw(draw) => *draw,
            Sight::Field(field, correlation_m) => {
                let deviations = field.with_common(0.0, Grain::of(ue, *correlation_m));
                0.5 * libm::erfc(-deviations * core::f64::consts::FRAC_1_SQRT_2)
            }
        };
        draw < probability
    }

    /// The rasters of losses.
    fn rasters(&self) -> impl Iterator<Item = &Raster> {
        [&self.path_loss_map, &self.clutter_loss_map].into_iter().filter_map(Option::as_deref)
    }

    /// The path loss. The part in a building counts in its distances, and not in the probability of a line of sight
    /// (TR 38.901 clause 7.4.3.1).
    fn path(&self, law: &PathLoss, site: &Position, ue: &Position) -> RadioPath {
        let outdoor_m = site.ground_distance(ue) - self.inside_m.unwrap_or(0.0);
        let probability = law.line_of_sight_probability(outdoor_m, ue.z);
        RadioPath::between(site, ue, self.is_in_sight(probability, ue))
    }
}

/// Two independent parts of shadowing as one, each with its standard deviation in dB and its correlation distance in metres:
/// over short distances d, the mean square of its change, 2 σ² d / D, is the sum of theirs.
fn joint_shadowing((one_db, one_m): (f64, f64), (other_db, other_m): (f64, f64)) -> (f64, f64) {
    let slope = one_db * one_db / one_m + other_db * other_db / other_m;
    let correlation_m = one_m.min(other_m);
    ((slope * correlation_m).sqrt(), correlation_m)
}

/// A period over which RSRP is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RsrpPeriod {
    pub(crate) end: Instant,
    pub(crate) length: Duration,
    /// RSRP below this has no effect.
    pub(crate) relevant_from: Dbm,
}

/// The SINR of a block before fading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSinr {
    /// SINR of one pair of antennas, linear.
    pub(crate) mean: f32,
    /// The effect of its layers.
    pub(crate) layers: LayerGain,
}

/// The channel of one UE in one direction.
#[derive(Debug)]
pub(crate) struct Channel {
    budget: LinkBudget,
    /// Transmit power on a PRB, including the gain of the transmission mode.
    sent: Dbm,
    scenery: Scenery,
    fading: Option<Fading>,
    disturbance: Option<Box<Disturbance>>,
    mean_sinr: f32,
    /// The inverse of the gain of the transmission mode.
    without_gain: f32,
    /// There is only one cell: the path loss is computed again each time, even after small movements.
    alone: bool,
    looked_at: Option<Instant>,
    /// The position of the UE at the last computation.
    place: Option<Position>,
    /// Whether it had a line of sight there.
    in_sight: bool,
    /// Gain of each PRB, and the time to which it belongs.
    held: (Instant, Vec<f32>),
    /// Shadowing in standard deviations at the place of the last computation.
    shadowed: Option<(f64, Grain, f64)>,
    memo: LossMemo,
}

impl Channel {
    /// `alone` is true if there is only one cell.
    pub(crate) fn new(budget: LinkBudget, scenery: Scenery, fading: Option<Fading>, alone: bool) -> Self {
        let without_gain = (1.0 / budget.gain.linear()) as f32;
        let sent = noise::prb_power(budget.tx_power, usize::from(budget.prbs)) + budget.gain;
        Self {
            sent,
            budget,
            scenery,
            fading,
            disturbance: None,
            mean_sinr: 0.0,
            without_gain,
            alone,
            looked_at: None,
            place: None,
            in_sight: false,
            held: (Instant::FAR_FUTURE, Vec::new()),
            shadowed: None,
            memo: LossMemo::default(),
        }
    }

    /// Adds bursts of interference at the receiver, and blockage of the direct path.
    pub(crate) fn disturbed_by(self, bursts: Option<Bursts>, blockage: Option<Blockage>) -> Self {
        let is_any = bursts.is_some() || blockage.is_some();
        Self { disturbance: is_any.then(|| Box::new(Disturbance { bursts, blockage })), ..self }
    }

    /// The factor of the SINR due to bursts of interference and to blockage at this time.
    #[inline]
    pub(crate) fn burst_gain(&mut self, at: Instant) -> f32 {
        if self.disturbance.is_none() { 1.0 } else { self.bursts(at) * self.blockage(at) }
    }

    /// True without bursts of interference and without blockage.
    pub(crate) fn has_no_bursts(&self) -> bool {
        self.disturbance.is_none()
    }

    /// The factor of the SINR due to bursts of interference.
    fn bursts(&mut self, at: Instant) -> f32 {
        let bursts = self.disturbance.as_mut().and_then(|disturbance| disturbance.bursts.as_mut());
        bursts.map_or(1.0, |bursts| bursts.gain(at))
    }

    /// The factor of the received power due to blockage, where the UE was at the last computation of its path loss;
    /// one without a direct path.
    pub(crate) fn blockage(&mut self, at: Instant) -> f32 {
        let blockage = self.disturbance.as_mut().and_then(|disturbance| disturbance.blockage.as_mut());
        let (Some(blockage), Some(ue), true) = (blockage, &self.place, self.in_sight) else { return 1.0 };
        let site = self.scenery.site_for(ue);
        let path = PathGeometry { ground_m: site.ground_distance(ue), site_m: site.z, ue_m: ue.z };
        blockage.gain(at, path)
    }

    /// True without fading: the SINR is the same on every PRB.
    pub(crate) fn is_flat(&self) -> bool {
        self.fading.is_none()
    }

    /// Mean SINR before fading, linear, for a moving UE.
    pub(crate) fn mean_sinr(&mut self, now: Instant, mobility: &mut Mobility) -> f32 {
        self.refreshed(now, mobility, if self.alone { 0.0 } else { SERVING_STEP_M }, &mut None)
    }

    /// Mean power of a PRB over the noise, at a receiver for which it is interference: without the
    /// gain of the transmission mode.
    pub(crate) fn interference(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        common: &mut CommonShadow,
    ) -> f32 {
        self.refreshed(now, mobility, if self.alone { 0.0 } else { STEP_M }, common) * self.without_gain
    }

    /// [`Self::interference`] for a UE at this position. `common` is shared by all channels of that UE.
    pub(crate) fn interference_at(&mut self, ue: &Position, common: &mut CommonShadow) -> f32 {
        (self.mean_sinr, self.place) = (self.sinr_at(ue, common), Some(*ue));
        self.mean_sinr * self.without_gain
    }

    /// Copies the shadowing from the other direction, where it is the same.
    pub(crate) fn share_shadowing(&mut self, other: &Self) {
        self.shadowed = other.shadowed;
    }

    /// Mean reference signal received power before fading (TS 36.214 v17.0 §5.1.1): that of one
    /// resource element. `common` is shared by all channels of that UE.
    pub(crate) fn rsrp(&mut self, now: Instant, mobility: &mut Mobility, common: &mut CommonShadow) -> Dbm {
        let ratio = self.interference(now, mobility, common) * self.blockage(now);
        self.budget.noise + Decibel::from_linear(f64::from(ratio) / f64::from(self.budget.subcarriers))
    }

    /// Noise power of a PRB at the receiver.
    pub(crate) const fn noise(&self) -> Dbm {
        self.budget.noise
    }

    /// RSRP over a measurement period: the mean of five samples of the whole band. If fading cannot raise it to
    /// `relevant_from`, the mean before fading.
    pub(crate) fn rsrp_over(
        &mut self,
        period: RsrpPeriod,
        mobility: &mut Mobility,
        common: &mut CommonShadow,
    ) -> Dbm {
        const SAMPLES: u64 = 5; // choice: with a larger spacing, short fades would have less effect
        let mean = self.rsrp(period.end, mobility, common);
        let Some(fading) = self.fading.as_ref().filter(|_| mean + LARGEST_FADE >= period.relevant_from)
        else {
            return mean;
        };
        let mut gains = [0.0; MAX_RBGS];
        let gains = &mut gains[..usize::from(self.budget.rbgs)];
        let mut sum = 0.0;
        for look in 0..SAMPLES {
            let back = period.length * look / SAMPLES;
            let at = Instant::ZERO + period.end.saturating_since(Instant::ZERO + back);
            fading.gains_at_rbg(at, gains);
            sum += f64::from(gains.iter().sum::<f32>()) / gains.len() as f64;
        }
        mean + Decibel::from_linear(sum / SAMPLES as f64)
    }

    /// The mean of RSRP over the period that ends now, as layer 1 makes a sample (TS 36.133 §8.1.2.2): the movement of the
    /// UE counts too. `before` has the mean before fading at the beginning of the period, if that is known, and gets the one
    /// of its end.
    pub(crate) fn mean_rsrp(
        &mut self,
        (now, length): (Instant, Duration),
        mobility: &mut Mobility,
        before: &mut Option<Dbm>,
        common: &mut CommonShadow,
    ) -> Dbm {
        let mean = self.rsrp(now, mobility, common);
        let period = RsrpPeriod { end: now, length, relevant_from: Dbm(f64::NEG_INFINITY) };
        let fading = self.rsrp_over(period, mobility, common) - mean;
        let at_begin = before.replace(mean).unwrap_or(mean);
        Dbm((at_begin.0 + mean.0) / 2.0) + fading
    }

    /// Computes the path loss again once the UE has moved by this distance.
    #[inline]
    fn refreshed(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        step_m: f64,
        common: &mut CommonShadow,
    ) -> f32 {
        let looked = |at: Instant| now.saturating_since(at) < PATH_LOSS_REFRESH || mobility.is_static();
        if self.looked_at.is_some_and(looked) {
            return self.mean_sinr;
        }
        self.refresh(now, mobility, step_m, common)
    }

    fn refresh(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        step_m: f64,
        common: &mut CommonShadow,
    ) -> f32 {
        self.looked_at = Some(now);
        let here = mobility.position_at(now);
        if self.place.is_none_or(|place| place.ground_distance(&here) >= step_m) {
            self.place = Some(here);
            self.mean_sinr = self.sinr_at(&here, common);
        }
        self.mean_sinr
    }

    /// Mean SINR before fading, linear, for a UE at this position.
    fn sinr_at(&mut self, ue: &Position, common: &mut CommonShadow) -> f32 {
        let (site, law) = (self.scenery.site_for(ue), self.budget.path_loss);
        let path = self.scenery.path(&law, &site, ue);
        self.in_sight = path.line_of_sight;
        let others = self.shadowing(ue, &path, common) - self.scenery.antenna.gain_towards(&site, ue);
        let over_distance = match (&self.scenery.path_loss_map, &law, self.scenery.environment) {
            (Some(map), ..) => map.at(ue).unwrap_or(Raster::UNREACHED),
            (None, PathLoss::LargeScale(model), Some(draws)) => {
                model.loss(&path, model.environment_height_of(path.ground_m, ue.z, draws))
            }
            (None, ..) => law.loss_again(&path, &mut self.memo),
        };
        let mut loss = over_distance + self.budget.penetration_loss + others;
        if let Some(clutter) = &self.scenery.clutter_loss_map {
            loss = loss + clutter.at(ue).unwrap_or(Decibel(0.0));
        }
        let loss = self.budget.minimum_coupling_loss.map_or(loss, |least| Decibel(loss.0.max(least.0)));
        noise::prb_snr(self.sent, loss, self.budget.noise)
    }

    /// The change of the loss by shadowing, negative where it reduces the loss.
    fn shadowing(&mut self, ue: &Position, path: &RadioPath, common: &mut CommonShadow) -> Decibel {
        let Some((config, shadowing)) = &self.scenery.shadowing else { return Decibel(0.0) };
        let (sigma, correlation_m) = self.shadowing_law(config, path);
        let grain = Grain::of(ue, correlation_m);
        let value = match self.shadowed {
            Some((metres, at, value)) if metres == correlation_m && at == grain => value,
            _ => {
                let part = match *common {
                    Some((metres, at, part)) if metres == correlation_m && at == grain => part,
                    _ => shadowing.common_at(grain),
                };
                *common = Some((correlation_m, grain, part));
                shadowing.with_common(part, grain)
            }
        };
        self.shadowed = Some((correlation_m, grain, value));
        Decibel(sigma.0 * value)
    }

    /// The standard deviation of shadowing, and the distance in metres at which its correlation is 1/e.
    fn shadowing_law(&self, config: &ShadowingConfig, path: &RadioPath) -> (Decibel, f64) {
        let law = match (&self.budget.path_loss, self.scenery.inside_m) {
            (PathLoss::LargeScale(model), Some(_)) => Some(model.shadowing(path, true)),
            (law, _) => law.shadowing(path),
        };
        let sigma = config.deviation.or(law.map(|(sigma, _)| sigma));
        let correlation_m = config.correlation_m.or(law.map(|(_, metres)| metres));
        sigma.zip(correlation_m).expect("asked for when the network was built")
    }

    /// Causes of changes of the mean SINR when a UE at this position moves by no more than `nearness` of the distance.
    pub(crate) fn change_at(&self, ue: &Position, nearness: f64) -> Change {
        let (site, law) = (self.scenery.site_for(ue), &self.budget.path_loss);
        let path = self.scenery.path(law, &site, ue);
        let shadowing = self.scenery.shadowing.as_ref().map(|(config, _)| {
            let (sigma, correlation_m) = self.shadowing_law(config, &path);
            (sigma.0, correlation_m)
        });
        let rasters = self.scenery.rasters().map(Raster::roughness).filter(|(sigma_db, _)| *sigma_db > 0.0);
        let shadowing = shadowing.into_iter().chain(rasters).reduce(joint_shadowing);
        let closer_m = path.ground_m * (1.0 - nearness) - STEP_M - self.scenery.inside_m.unwrap_or(0.0);
        let probability = law.line_of_sight_probability(closer_m.max(0.0), ue.z);
        let comes_into_sight =
            !path.line_of_sight && matches!(self.scenery.sight, Sight::Draw(draw) if draw < probability);
        Change { ground_m: path.ground_m, shadowing, comes_into_sight }
    }

    /// [`Self::interference_at`] with a line of sight.
    pub(crate) fn interference_in_sight(mut self, ue: &Position, common: &mut CommonShadow) -> f32 {
        self.scenery.sight = Sight::Draw(f64::NEG_INFINITY);
        self.interference_at(ue, common)
    }

    /// [`Fading::is_coherent_over`]; always without fading.
    pub(crate) fn is_coherent_over(&self, time: Duration) -> bool {
        self.fading.as_ref().is_none_or(|fading| fading.is_coherent_over(time))
    }

    /// Writes the fading gain of each RBG. Without fading, returns false and writes nothing.
    pub(crate) fn rbg_gains(&self, now: Instant, out: &mut [f32]) -> bool {
        if let Some(fading) = &self.fading {
            fading.gains_at_rbg(now, out);
        }
        self.fading.is_some()
    }

    /// Writes the SINR of each PRB at `now`, linear.
    pub(crate) fn sinr(&mut self, now: Instant, mean_sinr: f32, out: &mut [f32]) {
        self.layered_sinr(now, BlockSinr { mean: mean_sinr, layers: LayerGain::ONE }, out);
    }

    /// Writes the SINR of each PRB of a block on each of its layers.
    pub(crate) fn layered_sinr(&mut self, now: Instant, block: BlockSinr, out: &mut [f32]) {
        let BlockSinr { mean, layers } = block;
        match self.gains(now) {
            Some(gains) => layers.put_sinr(mean, gains, out),
            None => out.fill(mean * layers.steady),
        }
    }

    /// The fading gain of each PRB at `now`; `None` without fading.
    pub(crate) fn gains(&mut self, now: Instant) -> Option<&[f32]> {
        let fading = self.fading.as_ref()?;
        // Control, data and CQI of one slot use the same gains. A block is decoded in the slot after
        // it, for which the UE may already have measured its CQI.
        let (held_at, held) = &mut self.held;
        if *held_at != now {
            held.resize(fading.grid().n_prb(), 0.0);
            fading.gains(now, held);
            *held_at = now;
        }
        Some(held)
    }

    /// [`Channel::gains`] of these PRBs alone, at their places; the other places are undefined.
    pub(crate) fn gains_on(
        &mut self,
        now: Instant,
        prbs: impl Iterator<Item = Range<usize>> + Clone,
    ) -> Option<&[f32]> {
        let fading = self.fading.as_ref()?;
        let (held_at, held) = &mut self.held;
        if *held_at != now {
            let band = fading.grid().n_prb();
            held.resize(band, 0.0);
            // For more than half of the band, computing the whole band is cheaper.
            if prbs.clone().map(|range| range.len()).sum::<usize>() * 2 < band {
                fading.gains_in(now, prbs, held);
                *held_at = Instant::FAR_FUTURE; // the others are undefined
            } else {
                fading.gains(now, held);
                *held_at = now;
            }
        }
        Some(held)
    }

    /// [`Channel::layered_sinr`] of these PRBs alone, at their places in `out`; the other places are undefined.
    pub(crate) fn sinr_on(
        &mut self,
        now: Instant,
        BlockSinr { mean, layers }: BlockSinr,
        prbs: impl Iterator<Item = Range<usize>> + Clone,
        out: &mut [f32],
    ) {
        match self.gains_on(now, prbs.clone()) {
            Some(gains) => {
                for range in prbs {
                    layers.put_sinr(mean, &gains[range.clone()], &mut out[range]);
                }
            }
            None => out.fill(mean * layers.steady),
        }
    }
}

#[cfg(test)]
mod tests;
