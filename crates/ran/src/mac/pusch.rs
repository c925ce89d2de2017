//! The number of PRBs and the MCS of a PUSCH, from the latest sounding and the latest power headroom report.
//!
//! A UE at its power limit spreads a constant power over its PRBs, so that the SINR falls with their number, and with it
//! the MCS. Both are therefore chosen together: the MCS is the highest whose block of this size meets the error target at
//! the SINR that is expected on this many PRBs, and the number of PRBs is the one whose block has most bytes. PRBs on
//! which the lowest MCS does not meet the target are not granted. A UE without enough data gets the fewest PRBs that
//! carry it.
//!
//! The outer loop's offset is added to the MCS, with its fraction between two needs of SINR. At MCS 0, a negative offset
//! reduces the number of PRBs; a positive one does not increase it beyond those on which MCS 0 is expected to meet the
//! target.
//!
//! A UE without full power on even one PRB sends on the PRBs with the best channel ([`selective`]), if the channel of the
//! sounding lasts until the PUSCH, and its cell is alone on the carrier and has no configured grants. Other UEs, and those
//! in cells that interfere, get PRBs in ascending order.
//!
//! If no number of PRBs meets the target, the block is the smallest that carries data, on the PRBs that the UE has full
//! power for: HARQ may still combine its transmissions. Its failures do not lower the offset, because nothing more robust
//! is left.
//!
//! The cell knows the power of a sounding only. Until a UE has reported its headroom, and without reports, a PUSCH is
//! expected to have the SINR of the sounding. Without reports ([`UplinkConfig::headroom`](crate::config::UplinkConfig)),
//! the MCS follows from a CQI of the sounding, as in ns-3.

use core::ops::Range;

use airlane_core::{Bytes, Instant};
use airlane_radio::mutual_information;
use airlane_radio::{Cqi, Mcs, Mobility, Modulation};

use super::bwp::{Bwp, Part};
use super::drx::Drx;
use super::phy::{BlockTables, LinkAdaptation, Phy};
use crate::channel::{BlockSinr, Channel};
use crate::config::{CellConfig, McsRule};
use crate::layers::gain_of;
use crate::link::{Radio, ServingLink, UplinkState};
use crate::numerology::PuschSizes;

mod selective;

/// A block of the uplink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PuschBlock {
    pub(crate) mcs: Mcs,
    pub(crate) prbs: u16,
    /// The first of the PRBs, if they were selected by their channel.
    pub(crate) start: Option<u16>,
    pub(crate) layers: u8,
    pub(crate) size: Bytes,
    /// The lowest MCS is not expected to meet the error target, on any number of PRBs.
    pub(crate) is_beyond_reach: bool,
}

impl PuschBlock {
    /// Its PRBs, if they were selected by their channel.
    pub(crate) fn selected_prbs(&self) -> Option<Range<u16>> {
        self.start.map(|first| first..first + self.prbs)
    }
}

/// The bytes that a PUSCH should carry, its highest MCS, and its power.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PuschNeed {
    /// Bytes that are known to wait, with headers.
    pub(crate) wanted: Bytes,
    /// The smallest block that carries data.
    pub(crate) least: Bytes,
    /// The highest MCS that may be used.
    pub(crate) highest: Mcs,
    /// The share of the UE's power that other cells leave.
    pub(crate) power: f32,
}

/// The eNB's latest sounding of a UE's uplink.
#[derive(Debug, Default)]
pub(crate) struct Sounding {
    /// The slot in which it was made.
    pub(crate) at: Option<u64>,
    /// SINR of each PRB; one value if all are equal. The sounding has the power of a PUSCH on the whole band.
    pub(crate) sinr: Vec<f32>,
    /// The PRBs of the default bandwidth part, if it is on this part; 0 for the whole band.
    part: u16,
    /// The PRBs of which the cell selects the best; empty if it does not select.
    selectable: Range<u16>,
    /// Sums of `sinr` up to each PRB; computed on demand, like the following.
    sums: Vec<f32>,
    /// By number of PRBs, the first of the best.
    starts: Vec<Option<u16>>,
    /// Number of layers of a PUSCH.
    pub(crate) rank: u8,
    /// The MCS of its CQI; computed on demand, like the following.
    chosen: Option<Mcs>,
    /// The effective SINR in each modulation with 2^k times the power of the sounding.
    levels: Vec<Option<[f32; 4]>>,
    /// By number of PRBs, the MCS that meets the target, with a fraction; NaN where it is not known.
    indices: Vec<f32>,
    /// The share of the UE's power with which it does.
    power: f32,
}

impl Sounding {
    /// The known power of the UE has changed.
    pub(crate) fn forget_choices(&mut self) {
        self.indices.fill(f32::NAN);
    }

    /// Whether the UE, which can send, is on another part of the band than the sounding.
    pub(crate) fn is_of_other_part(&self, bwp: &Bwp, now: Instant) -> bool {
        match bwp.part(now) {
            Part::Default => self.part != bwp.prbs(),
            Part::Carrier => self.part != 0,
            Part::Switching => false,
        }
    }

    /// Whether a UE may have sounded since it woke up, which it does once in a period of its Active Time. The first
    /// sounding is an aperiodic one.
    fn may_be_repeated(&self, drx: Option<&mut Drx>, cell: &CellConfig, now: Instant) -> bool {
        let Some(drx) = drx else { return true };
        let period = cell.numerology.slot * u64::from(cell.mac.uplink.sounding_period.max(1));
        self.at.is_none() || now.saturating_since(drx.awake_from(now)) >= period
    }
}

/// Whether the uplink of a UE may have been sounded since its latest sounding: by time, or because it is on another part of
/// the band.
pub(crate) fn may_sound(link: &ServingLink, drx: Option<&mut Drx>, cell: &CellConfig, now: Instant) -> bool {
    let sounding = &link.uplink.sounding;
    link.bwp.as_ref().is_some_and(|bwp| sounding.is_of_other_part(bwp, now))
        || sounding.may_be_repeated(drx, cell, now)
}

/// Octaves of the power of a PRB above that of a sounding: one PRB of 275 has less than 2^9 times its power.
const OCTAVES: usize = 10;

/// Sounds the uplink again when the last sounding is old.
pub(crate) fn sound(slot: u64, radio: Radio<'_>, link: &mut ServingLink, mobility: &mut Mobility) {
    let Radio { cell, air } = radio;
    let period = u64::from(cell.mac.uplink.sounding_period.max(1));
    let now = cell.numerology.start_of(slot);
    let bwp = link.bwp.as_deref();
    let is_known = |at: u64| {
        let is_of_part = bwp.is_none_or(|bwp| !link.uplink.sounding.is_of_other_part(bwp, now));
        (slot < at + period && is_of_part) || bwp.is_some_and(|bwp| !bwp.may_send(now))
    };
    if link.uplink.sounding.at.is_some_and(is_known) {
        return;
    }
    let default = bwp.filter(|bwp| bwp.part(now) != Part::Carrier);
    let part = default.map_or(0, |bwp| bwp.prbs());
    let UplinkState { channel, sounding, power, .. } = &mut link.uplink;
    let mean = channel.mean_sinr(now, mobility);
    let points = if channel.is_flat() && air.is_quiet() { 1 } else { usize::from(cell.resource_blocks) };
    sounding.sinr.resize(points, 0.0);
    let heard = mean * power.factor(mean, cell.resource_blocks, 1.0) * channel.burst_gain(now);
    let gains = channel.gains(now);
    sounding.rank = cell.uplink_layers.map_or(1, |layers| layers.rank(cell.mac.rank, heard, gains));
    let layers = gain_of(cell.uplink_layers.as_ref(), sounding.rank, heard);
    channel.layered_sinr(now, BlockSinr { mean: heard, layers }, &mut sounding.sinr);
    if !air.is_quiet() {
        air.weaken_uplink_mean(link.cell, &mut sounding.sinr);
    }
    (sounding.at, sounding.part) = (Some(slot), part);
    if part > 0 {
        sounding.sinr.truncate(part.into()); // one value without fading
    }
    sounding.chosen = None;
    sounding.levels.clear();
    sounding.levels.resize(OCTAVES, None);
    sounding.indices.clear();
    sounding.indices.resize(usize::from(cell.resource_blocks) + 1, f32::NAN);
    let is_selective = points > 1 && air.is_quiet() && is_timely(cell, channel);
    let most = default.map_or(u16::MAX, |bwp| bwp.pusch);
    sounding.selectable = selective::selectable_prbs(cell, most).filter(|_| is_selective).unwrap_or(0..0);
    if is_selective {
        sounding.sums.clear();
        sounding.starts.clear();
        sounding.starts.resize(sounding.indices.len(), None);
    }
}

/// Whether the oldest sounding that a PUSCH follows still tells which PRBs are the best.
fn is_timely(cell: &CellConfig, channel: &Channel) -> bool {
    let slots = cell.mac.uplink.sounding_period.max(1) + cell.mac.grant_to_pusch;
    channel.is_coherent_over(cell.numerology.slot * u64::from(slots))
}

/// The block of a UE within `share` PRBs. `None` if the cell selects its PRBs, and none that it could use is free.
pub(crate) fn choose(
    cell: &CellConfig,
    phy: &mut Phy,
    ue: &mut UplinkState,
    share: u16,
    need: PuschNeed,
    is_free: impl Fn(&Range<u16>) -> bool,
) -> Option<PuschBlock> {
    if cell.mac.uplink.headroom.is_some() {
        let mut adaptation = Adaptation::new(cell, &phy.blocks, ue, need.power);
        let block = adaptation.choose(share, need);
        return adaptation.on_free_prbs(block, is_free);
    }
    let mcs = by_cqi(phy, ue);
    let raw = f32::from(mcs.index()) + ue.outer_loop;
    let mcs = match cell.mac.mcs_rule {
        McsRule::WorstSubband => mcs,
        McsRule::Effective { .. } => phy.blocks.corrected(mcs, ue.outer_loop),
    };
    let sizes = Sizes(cell.numerology.pusch_sizes);
    let layers = ue.sounding.rank;
    let prbs = sizes.smallest(share, |prbs| phy.blocks.uplink(layers, mcs, prbs) >= need.wanted);
    let size = phy.blocks.uplink(layers, mcs, prbs);
    Some(PuschBlock { mcs, prbs, start: None, layers, size, is_beyond_reach: raw < 0.0 })
}

/// The block error rate that a cell expects of a first transmission, from what it knows, without the outer loop. `None`
/// before a sounding. `power` is the share of the UE's power that other cells leave.
pub(crate) fn expected_error_rate(
    cell: &CellConfig,
    phy: &mut Phy,
    ue: &mut UplinkState,
    block: &PuschBlock,
    power: f32,
) -> Option<f64> {
    ue.sounding.at?;
    Some(Adaptation::new(cell, &phy.blocks, ue, power).error_rate(block))
}

/// The MCS of the sounding's CQI.
fn by_cqi(phy: &mut Phy, ue: &mut UplinkState) -> Mcs {
    let sounding = &mut ue.sounding;
    *sounding.chosen.get_or_insert_with(|| {
        let LinkAdaptation { amc, mcs_of, .. } = phy.uplink();
        // Out of range, the most robust scheme is used nevertheless: the UE has no alternative.
        let cqi = amc.wideband_cqi(&sounding.sinr).max(Cqi::new(1));
        mcs_of[usize::from(cqi.index() & 15)]
    })
}

/// Link adaptation of a UE's PUSCH.
struct Adaptation<'a> {
    blocks: &'a BlockTables,
    sizes: Sizes,
    ue: &'a mut UplinkState,
    /// PRBs of the band.
    band: f32,
    /// [`KnownPower::factor`](super::headroom::KnownPower).
    known: f32,
    /// The share of the UE's power that other cells leave; 1 if it is enough for the whole band.
    power: f32,
}

impl<'a> Adaptation<'a> {
    fn new(cell: &CellConfig, blocks: &'a BlockTables, ue: &'a mut UplinkState, power: f32) -> Self {
        let known = ue.known_power.factor.unwrap_or(1.0);
        let sizes = Sizes(cell.numerology.pusch_sizes);
        let power = if known <= power { 1.0 } else { power };
        if ue.sounding.power != power {
            ue.sounding.forget_choices();
            ue.sounding.power = power;
        }
        Self { blocks, sizes, ue, band: f32::from(cell.resource_blocks), known, power }
    }

    fn choose(&mut self, share: u16, need: PuschNeed) -> PuschBlock {
        let most = self.most(share, need);
        if most.size <= need.wanted || most.is_beyond_reach {
            return most;
        }
        let prbs = self.smallest(most.mcs, most.prbs, need.wanted);
        let own = self.mcs_on(prbs, need.highest);
        if own == Some(most.mcs) {
            return self.block(most.mcs, prbs);
        }
        // Each of fewer PRBs may have more power, which allows a higher MCS on even fewer.
        if let Some(own) = own.filter(|own| *own > most.mcs) {
            let fewer = self.smallest(own, prbs, need.wanted);
            let holds = self.mcs_on(fewer, need.highest).is_some_and(|mcs| mcs >= own);
            return if holds { self.block(own, fewer) } else { self.block(most.mcs, prbs) };
        }
        // A shorter block needs a higher SINR.
        let sizes = self.sizes;
        let is_enough = |this: &mut Self, prbs: u16| {
            this.mcs_on(prbs, need.highest).is_some_and(|mcs| this.block(mcs, prbs).size >= need.wanted)
        };
        let prbs = sizes.smallest(most.prbs, |prbs| is_enough(self, prbs));
        match self.mcs_on(prbs, need.highest) {
            Some(mcs) if prbs < most.prbs => self.block(mcs, prbs),
            _ => most,
        }
    }

    /// The block with the most bytes within `share` PRBs.
    fn most(&mut self, share: u16, need: PuschNeed) -> PuschBlock {
        let share = self.sizes.at(self.sizes.count(share) - 1);
        if !self.is_limited(share) {
            return match self.mcs_on(share, need.highest) {
                Some(mcs) => self.block(mcs, share),
                None => self.beyond_reach(share, need),
            };
        }
        let full_power = self.full_power().min(share);
        let ladder = self.sizes.ladder();
        let mut best: Option<PuschBlock> = None;
        let mut until = share;
        for at in ladder.partition_point(|prbs| *prbs < full_power)..=ladder.len() {
            let prbs = ladder.get(at).map_or(share, |prbs| share.min(*prbs));
            if let Some(mcs) = self.mcs_on(prbs, need.highest) {
                let block = self.block(mcs, prbs);
                if best.is_none_or(|best| block.size >= best.size) {
                    best = Some(block);
                    until = ladder.get(at + 1).map_or(share, |next| share.min(*next));
                }
            } else if best.is_some() {
                break; // from here on the SINR only falls
            }
            if prbs == share {
                break;
            }
        }
        match best.filter(|best| best.size >= need.least) {
            Some(best) => self.widened(best, until, need.highest),
            None => self.beyond_reach(share, need),
        }
    }

    /// A block with its MCS on the most PRBs below `until` that allow it.
    fn widened(&mut self, block: PuschBlock, until: u16, highest: Mcs) -> PuschBlock {
        let (mut allowed, mut not) = (self.sizes.count(block.prbs) - 1, self.sizes.count(until));
        while not - allowed > 1 {
            let middle = usize::midpoint(allowed, not);
            let holds = self.mcs_on(self.sizes.at(middle), highest).is_some_and(|mcs| mcs >= block.mcs);
            *(if holds { &mut allowed } else { &mut not }) = middle;
        }
        self.block(block.mcs, self.sizes.at(allowed))
    }

    /// The block for a UE that is not expected to be decoded.
    fn beyond_reach(&mut self, share: u16, need: PuschNeed) -> PuschBlock {
        let prbs = if self.ue.known_power.factor.is_some() || !self.ue.power.is_controlled() {
            self.full_power()
        } else {
            1
        };
        let useful = self.smallest(Mcs::new(0), share, need.least);
        let prbs = self.sizes.at(self.sizes.count(prbs.max(useful).min(share)) - 1);
        PuschBlock { is_beyond_reach: true, ..self.block(Mcs::new(0), prbs) }
    }

    fn block(&mut self, mcs: Mcs, prbs: u16) -> PuschBlock {
        let layers = self.ue.sounding.rank;
        let (start, size) = (self.start_of(prbs), self.blocks.uplink(layers, mcs, prbs));
        PuschBlock { mcs, prbs, start, layers, size, is_beyond_reach: false }
    }

    /// The fewest of `share` PRBs whose block has this size, or all.
    fn smallest(&self, mcs: Mcs, share: u16, wanted: Bytes) -> u16 {
        let layers = self.ue.sounding.rank;
        self.sizes.smallest(share, |prbs| self.blocks.uplink(layers, mcs, prbs) >= wanted)
    }

    /// Whether a PUSCH on this many PRBs is expected to have less power than the formula asks for.
    fn is_limited(&self, prbs: u16) -> bool {
        self.known * f32::from(prbs) > self.band * self.power
    }

    /// The number of PRBs on which the UE is expected to reach the power of the formula.
    fn full_power(&self) -> u16 {
        ((self.band * self.power / self.known) as u16).max(1) // saturates
    }

    /// The expected power of a PRB, relative to that of the sounding.
    fn factor(&self, prbs: u16) -> f32 {
        let most = self.band / f32::from(prbs);
        if self.power == 1.0 {
            return most.min(self.known).max(1.0);
        }
        (most * self.power).min(self.known) / self.known.min(1.0)
    }

    /// The highest MCS that meets the target on this many PRBs, corrected by the outer loop.
    fn mcs_on(&mut self, prbs: u16, highest: Mcs) -> Option<Mcs> {
        let known = self.ue.sounding.indices[usize::from(prbs)];
        let index = if known.is_nan() { self.find_index(prbs) } else { known };
        self.corrected(index, highest)
    }

    /// The highest MCS that meets the target, corrected by the outer loop, if one does.
    fn corrected(&self, index: f32, highest: Mcs) -> Option<Mcs> {
        let offset = self.ue.outer_loop;
        let meets = index + offset.min(0.0) >= 0.0;
        meets.then(|| Mcs::new(((index + offset) as u8).min(highest.index())))
    }

    #[inline(never)]
    fn find_index(&mut self, prbs: u16) -> f32 {
        let layers = self.ue.sounding.rank;
        let start = self.start_of(prbs);
        let levels = self.levels_on(prbs, start);
        let index = self.blocks.uplink_index(layers, prbs, &levels);
        self.ue.sounding.indices[usize::from(prbs)] = index;
        index
    }

    /// The effective SINR in each modulation with this factor on the power of the sounding, linear between octaves.
    fn levels(&mut self, factor: f32) -> [f32; 4] {
        if let [flat] = self.ue.sounding.sinr[..] {
            return [factor * flat; 4];
        }
        if factor < 1.0 {
            // Only at the same time as a PUSCH of another cell.
            let [mean] = mutual_information::means_scaled(&self.ue.sounding.sinr, [factor]);
            return effective_sinrs(mean);
        }
        let octave = (factor.to_bits() >> 23).saturating_sub(127) as usize;
        let fraction = factor / (1_u32 << octave) as f32 - 1.0;
        if fraction == 0.0 {
            return self.levels_at(octave);
        }
        if let [None, None] = self.ue.sounding.levels[octave..octave + 2] {
            self.find_levels([octave, octave + 1]);
        }
        let (low, high) = (self.levels_at(octave), self.levels_at(octave + 1));
        core::array::from_fn(|m| low[m] + fraction * (high[m] - low[m]))
    }

    #[inline]
    fn levels_at(&mut self, octave: usize) -> [f32; 4] {
        match self.ue.sounding.levels[octave] {
            Some(known) => known,
            None => {
                let [found] = self.find_levels([octave]);
                found
            }
        }
    }

    /// Computes the effective SINRs with the powers of these octaves.
    #[inline(never)]
    fn find_levels<const N: usize>(&mut self, octaves: [usize; N]) -> [[f32; 4]; N] {
        let Sounding { sinr, levels, .. } = &mut self.ue.sounding;
        let means = mutual_information::means_scaled(sinr, octaves.map(|octave| (1_u32 << octave) as f32));
        let found = means.map(effective_sinrs);
        octaves.iter().zip(found).for_each(|(&octave, found)| levels[octave] = Some(found));
        found
    }

    fn error_rate(&mut self, block: &PuschBlock) -> f64 {
        let levels = self.levels_on(block.prbs, block.start);
        self.blocks.uplink_error_rate(block.layers, block.mcs, block.prbs, &levels)
    }
}

/// The SINR of a flat band with this information, in each modulation.
fn effective_sinrs(mean: mutual_information::Lanes) -> [f32; 4] {
    Modulation::ALL.map(|modulation| mutual_information::sinr_of(modulation, mean[modulation.index()]))
}

/// The numbers of PRBs that a PUSCH may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes(pub(crate) PuschSizes);

impl Sizes {
    /// How many of them are within `share`, at least one.
    fn count(self, share: u16) -> usize {
        match self.0 {
            PuschSizes::TransformPrecoded => DFT_SIZES.partition_point(|&prbs| prbs <= share).max(1),
            PuschSizes::Any => usize::from(share.max(1)),
        }
    }

    fn at(self, place: usize) -> u16 {
        match self.0 {
            PuschSizes::TransformPrecoded => DFT_SIZES[place],
            PuschSizes::Any => place as u16 + 1,
        }
    }

    /// The smallest within `share` that is enough, or the largest. All above one that is enough are enough.
    pub(crate) fn smallest(self, share: u16, mut is_enough: impl FnMut(u16) -> bool) -> u16 {
        let (mut low, mut high) = (0, self.count(share) - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_enough(self.at(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.at(low)
    }

    /// Some of them in ascending order, the same for every bandwidth, at most 7 % apart.
    fn ladder(self) -> &'static [u16] {
        match self.0 {
            PuschSizes::TransformPrecoded => &DFT_SIZES,
            PuschSizes::Any => &LADDER,
        }
    }
}

/// Numbers of PRBs of a PUSCH: products of 2, 3 and 5 (TS 36.211 §5.3.3).
const DFT_SIZES: [u16; 53] = [
    1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 27, 30, 32, 36, 40, 45, 48, 50, 54, 60, 64, 72,
    75, 80, 81, 90, 96, 100, 108, 120, 125, 128, 135, 144, 150, 160, 162, 180, 192, 200, 216, 225, 240, 243,
    250, 256, 270,
];

/// [`Sizes::ladder`] of any numbers of PRBs.
const LADDER: [u16; 64] = {
    let mut sizes = [0; 64];
    let (mut place, mut prbs) = (0, 1);
    while place < 64 {
        sizes[place] = prbs;
        prbs += 1 + prbs / 17;
        place += 1;
    }
    sizes
};

#[cfg(test)]
mod tests;
