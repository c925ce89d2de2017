//! The physical layer for the MAC: the reception of a block, and whether it decodes.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use airlane_core::{Bytes, Decibel, Direction, Stream};
use airlane_radio::link_tables::{Allocation, LinkTables};
use airlane_radio::{
    Amc, AmcRule, CodedBlock, Cqi, CqiToMcs, HarqSoftState, Mcs, Modulation, mutual_information,
};

use super::harq::HarqProcess;
use crate::config::CellConfig;
use crate::interference::{Noise, ScaledSinr};
use crate::numerology::{Duplex, SYMBOLS};

/// The kinds of slots with a downlink, which differ in the size of their blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SlotFormat {
    /// All symbols are for one direction.
    #[default]
    Whole,
    /// A special slot.
    Special,
}

/// Number of kinds of slots.
pub(crate) const FORMATS: usize = 2;

/// The tables of cells with equal tables: sizes of blocks by slot, MCS and PRBs, and their code, computed when first
/// needed. They are the same in every cell: one table stays in the cache, several would not.
#[derive(Debug)]
pub(crate) struct BlockTables {
    tables: Arc<dyn LinkTables>,
    duplex: Duplex,
    /// Maximum numbers of layers of a block, of the downlink and of the uplink.
    layers: [u8; 2],
    downlink: Blocks,
    uplink: Blocks,
    /// Information bits per symbol by MCS.
    efficiency: Vec<f64>,
    /// Number of places per MCS.
    places: usize,
    /// Number of MCS of all kinds of slots of the downlink.
    schemes: usize,
    needs: UplinkNeeds,
}

/// The SINR that a block of the uplink needs.
#[derive(Debug)]
struct UplinkNeeds {
    rule: AmcRule,
    /// The modulation of each MCS.
    modulation: Vec<Modulation>,
    /// By MCS, under the rule of a Shannon gap, which does not depend on the size.
    shannon: Vec<f32>,
    /// By number of layers less one, number of PRBs and MCS, so that a search over the MCS stays in one place of memory.
    /// The bits of each need, computed when first needed: until then [`UNKNOWN`]. The bits are the same on any thread.
    by_block: Vec<AtomicU32>,
}

/// The bits of a NaN, which no need is.
const UNKNOWN: u32 = f32::NAN.to_bits();

impl UplinkNeeds {
    fn new(cell: &CellConfig, schemes: &[Mcs]) -> Self {
        let (rule, tables) = (cell.mac.uplink.amc, &cell.tables);
        let shannon = schemes.iter().map(|mcs| rule.shannon_sinr(tables.efficiency(*mcs)).unwrap_or(0.0));
        let modulation = schemes.iter().map(|mcs| tables.modulation(*mcs, Direction::Uplink));
        Self { rule, modulation: modulation.collect(), shannon: shannon.collect(), by_block: Vec::new() }
    }
}

#[derive(Debug)]
struct Blocks {
    bytes: Vec<u32>,
    coded: Vec<OnceLock<Block>>,
}

#[derive(Debug)]
struct Block {
    coded: CodedBlock,
    /// [`CodedBlock::certain_from`].
    certain_from: f32,
}

impl BlockTables {
    /// The tables of a cell, wide enough for those of these cells that share them.
    pub(crate) fn new(cell: &CellConfig, cells: &[CellConfig]) -> Self {
        let (tables, duplex) = (Arc::clone(&cell.tables), cell.numerology.duplex);
        let schemes: Vec<_> = (0..=tables.highest_mcs().index()).map(Mcs::new).collect();
        let mut all = Self {
            tables: Arc::clone(&tables),
            duplex,
            layers: layers_of(cell),
            downlink: Blocks { bytes: Vec::new(), coded: Vec::new() },
            uplink: Blocks { bytes: Vec::new(), coded: Vec::new() },
            efficiency: schemes.iter().map(|mcs| tables.efficiency(*mcs)).collect(),
            places: 0,
            schemes: 0,
            needs: UplinkNeeds::new(cell, &schemes),
        };
        let sharing = cells.iter().filter(|cell| all.are_of(cell)).map(|cell| cell.resource_blocks);
        let widest = sharing.max().unwrap_or(0);
        assert!(widest <= tables.widest(), "{widest} PRBs are more than the tables {:?} have", tables.name());
        let special = duplex.special_symbols();
        let formats: &[u8] = match special {
            Some(symbols) => &[SYMBOLS, symbols],
            None => &[SYMBOLS],
        };
        let blocks = |direction, most, formats: &[u8]| {
            let mut bytes = Vec::new();
            for layers in 1..=most {
                for &symbols in formats {
                    for &mcs in &schemes {
                        let on = |prbs| Allocation { prbs, symbols, layers };
                        let size = |prbs| tables.transport_block(mcs, on(prbs), direction).get() as u32;
                        bytes.extend((0..=widest).map(size));
                    }
                }
            }
            let coded = bytes.iter().map(|_| OnceLock::new()).collect();
            Blocks { bytes, coded }
        };
        let [downlink, uplink] = all.layers;
        all.downlink = blocks(Direction::Downlink, downlink, formats);
        all.uplink = blocks(Direction::Uplink, uplink, &formats[..1]);
        all.needs.by_block = all.uplink.bytes.iter().map(|_| AtomicU32::new(UNKNOWN)).collect();
        all.places = usize::from(widest) + 1;
        all.schemes = formats.len() * schemes.len();
        all
    }

    /// True if the cell can use them, apart from its bandwidth.
    pub(crate) fn are_of(&self, cell: &CellConfig) -> bool {
        (self.tables.name(), self.duplex, self.layers, self.needs.rule)
            == (cell.tables.name(), cell.numerology.duplex, layers_of(cell), cell.mac.uplink.amc)
    }

    #[inline]
    fn blocks(&self, direction: Direction) -> &Blocks {
        match direction {
            Direction::Downlink => &self.downlink,
            Direction::Uplink => &self.uplink,
        }
    }

    #[inline]
    fn place(&self, format: SlotFormat, mcs: Mcs, prbs: u16) -> usize {
        let scheme = format as usize * self.efficiency.len() + usize::from(mcs.index());
        scheme * self.places + usize::from(prbs)
    }

    /// Places of the tables of one layer.
    #[inline]
    fn places_of_layer(&self, direction: Direction) -> usize {
        let schemes = match direction {
            Direction::Downlink => self.schemes,
            Direction::Uplink => self.efficiency.len(),
        };
        schemes * self.places
    }

    /// Size of a block of the downlink.
    #[inline]
    pub(crate) fn downlink(&self, layers: u8, format: SlotFormat, mcs: Mcs, prbs: u16) -> Bytes {
        let before = usize::from(layers - 1) * self.places_of_layer(Direction::Downlink);
        Bytes(u64::from(self.downlink.bytes[before + self.place(format, mcs, prbs)]))
    }

    /// Size of a block of the uplink.
    #[inline]
    pub(crate) fn uplink(&self, layers: u8, mcs: Mcs, prbs: u16) -> Bytes {
        let before = usize::from(layers - 1) * self.places_of_layer(Direction::Uplink);
        Bytes(u64::from(self.uplink.bytes[before + self.place(SlotFormat::Whole, mcs, prbs)]))
    }

    /// The SINR at which the first transmission of a block of the uplink meets the target of link adaptation, by MCS.
    #[inline]
    fn uplink_needs(&self, layers: u8, prbs: u16) -> impl Fn(usize) -> f32 {
        let count = self.efficiency.len();
        let row = (usize::from(layers - 1) * self.places + usize::from(prbs)) * count;
        let known = match self.needs.rule {
            AmcRule::MutualInformation { .. } => &self.needs.by_block[row..row + count],
            _ => &[],
        };
        move |mcs| match known.get(mcs) {
            None => self.needs.shannon[mcs],
            Some(need) => match f32::from_bits(need.load(Ordering::Relaxed)) {
                unknown if unknown.is_nan() => self.find_uplink_need(layers, Mcs::new(mcs as u8), prbs, need),
                need => need,
            },
        }
    }

    #[cold]
    fn find_uplink_need(&self, layers: u8, mcs: Mcs, prbs: u16, known: &AtomicU32) -> f32 {
        let AmcRule::MutualInformation { target_error_rate } = self.needs.rule else {
            unreachable!("only this rule depends on the size")
        };
        let size = self.uplink(layers, mcs, prbs);
        let need = if size == Bytes::ZERO {
            f32::INFINITY
        } else {
            let whole = Allocation { prbs, symbols: SYMBOLS, layers };
            let reference = self.tables.reference(Cqi::new(1), whole, Direction::Uplink);
            let target = reference.map_or(target_error_rate, |reference| reference.error_rate);
            self.tables.coded_block(mcs, size, Direction::Uplink).sinr_for(target)
        };
        known.store(need.to_bits(), Ordering::Relaxed);
        need
    }

    /// The highest MCS of a block of the uplink that meets the target at these effective SINRs, by modulation. The
    /// fraction says how much of the way to the need of the next MCS is left behind. Below the need of MCS 0 it is negative,
    /// in steps as large as the first.
    pub(crate) fn uplink_index(&self, layers: u8, prbs: u16, levels: &[f32; 4]) -> f32 {
        let count = self.efficiency.len();
        let level = |mcs: usize| levels[self.needs.modulation[mcs].index()];
        let need = self.uplink_needs(layers, prbs);
        let (mut low, mut high) = (0, count); // MCS below `low` meet it
        while low < high {
            let middle = usize::midpoint(low, high);
            if level(middle) >= need(middle) { low = middle + 1 } else { high = middle }
        }
        if low == count {
            return (count - 1) as f32;
        }
        let (next, is_at) = (need(low), level(low));
        if low == 0 {
            let step = need(1) / next - 1.0;
            return (-(next / is_at - 1.0) / step.max(0.1)).max(-100.0);
        }
        let last = need(low - 1);
        let way = if next > last { ((is_at - last) / (next - last)).clamp(0.0, 0.999) } else { 0.0 };
        (low - 1) as f32 + way
    }

    /// The error rate of the first transmission of a block of the uplink at these effective SINRs.
    pub(crate) fn uplink_error_rate(&self, layers: u8, mcs: Mcs, prbs: u16, levels: &[f32; 4]) -> f64 {
        let block = self.tables.coded_block(mcs, self.uplink(layers, mcs, prbs), Direction::Uplink);
        block.error_rate_at(levels[block.modulation().index()])
    }

    fn coded(&self, process: &HarqProcess, direction: Direction) -> &Block {
        let blocks = self.blocks(direction);
        let before = usize::from(process.layers - 1) * self.places_of_layer(direction);
        let place = before + self.place(process.format, process.mcs, process.coded_prbs);
        blocks.coded[place].get_or_init(|| {
            let size = Bytes(u64::from(blocks.bytes[place]));
            let coded = self.tables.coded_block(process.mcs, size, direction);
            Block { coded, certain_from: coded.certain_from() }
        })
    }

    /// Information bits per symbol of an MCS in the downlink.
    #[inline]
    pub(crate) fn efficiency(&self, mcs: Mcs) -> f64 {
        self.efficiency[usize::from(mcs.index())]
    }

    /// The highest MCS whose efficiency is not above this one; the lowest if all are.
    #[inline]
    pub(crate) fn of_efficiency(&self, bits_per_symbol: f64) -> Mcs {
        let fit = self.efficiency.partition_point(|efficiency| *efficiency <= bits_per_symbol);
        Mcs::new(fit.saturating_sub(1) as u8)
    }

    /// An MCS with an offset in steps.
    #[inline]
    pub(crate) fn corrected(&self, mcs: Mcs, offset: f32) -> Mcs {
        let highest = (self.efficiency.len() - 1) as f32;
        Mcs::new((f32::from(mcs.index()) + offset).clamp(0.0, highest) as u8)
    }
}

/// The linear SINR from which a block of the lowest MCS on the whole band is decoded with a probability of one half within
/// the transmissions of HARQ, between -40 and 20 dB; and its modulation.
fn decodable(cell: &CellConfig, direction: Direction) -> (f32, Modulation) {
    let (lowest, whole) =
        (Mcs::new(0), Allocation { prbs: cell.resource_blocks, symbols: SYMBOLS, layers: 1 });
    let size = cell.tables.transport_block(lowest, whole, direction);
    let block = cell.tables.coded_block(lowest, size, direction);
    let transmissions = if cell.mac.harq { cell.mac.harq_max_transmissions.max(1) } else { 1 };
    let fails = |sinr_db: f64| {
        let mut soft = HarqSoftState::default();
        let sinr = Decibel(sinr_db).linear() as f32;
        (0..transmissions).for_each(|_| soft.receive_flat(&block, sinr));
        block.error_rate(&soft) > 0.5
    };
    let (mut low, mut high) = (-40.0, 20.0);
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        if fails(middle) { low = middle } else { high = middle }
    }
    (Decibel(high).linear() as f32, block.modulation())
}

/// Maximum numbers of layers of a block of a cell, of the downlink and of the uplink.
fn layers_of(cell: &CellConfig) -> [u8; 2] {
    [&cell.layers, &cell.uplink_layers].map(|layers| layers.map_or(1, |layers| layers.most))
}

/// Maximum number of layers of a UE.
pub(crate) const LAYERS: usize = 4;

/// The layers of a UE in a slot: NR has one block on all of them, LTE one block on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    /// Blocks.
    pub(crate) blocks: u8,
    /// Layers of each block.
    pub(crate) layers: u8,
}

impl Rank {
    /// This many layers in a cell.
    #[inline]
    pub(crate) fn of(cell: &CellConfig, rank: u8) -> Self {
        match cell.layers {
            Some(_) => Self { blocks: 1, layers: rank },
            None => Self { blocks: rank, layers: 1 },
        }
    }

    /// Maximum number of layers of a UE in a cell.
    #[inline]
    pub(crate) fn most(cell: &CellConfig) -> u8 {
        cell.layers.map_or(cell.transmission_mode.layers(), |layers| layers.most)
    }
}

/// Link adaptation of one direction of a cell.
#[derive(Debug)]
pub(crate) struct LinkAdaptation {
    pub(crate) amc: Amc,
    pub(crate) blocks: Arc<BlockTables>,
    /// The MCS of each CQI.
    pub(crate) mcs_of: [Mcs; 16],
    /// Information bits per symbol of that MCS.
    pub(crate) efficiency_of: [f64; 16],
    /// Bytes of the downlink blocks of one RBG, by number of layers less one, kind of slot and CQI; zero out of range.
    pub(crate) rbg_bytes: [[[u16; 16]; FORMATS]; LAYERS],
    /// The linear SINR from which a block of the lowest MCS on the whole band is decoded within the transmissions of HARQ
    /// more often than not, and its modulation.
    decodable: (f32, Modulation),
}

/// Link adaptation, decoding and their scratch space, one per cell.
#[derive(Debug)]
pub(crate) struct Phy {
    pub(crate) downlink: LinkAdaptation,
    uplink: LinkAdaptation,
    pub(crate) blocks: Arc<BlockTables>,
    sinr: Vec<f32>,
    gathered: Vec<f32>,
}

impl LinkAdaptation {
    /// Whether a block of the lowest MCS on PRBs of these SINRs is decoded within the transmissions of HARQ more often
    /// than not.
    #[cold]
    pub(crate) fn lowest_is_decodable(&self, sinr: &[f32]) -> bool {
        let (least, modulation) = self.decodable;
        mutual_information::sinr_of(modulation, mutual_information::mean_of(modulation, sinr)) >= least
    }

    /// True if no symbol of a special slot is left for data, or if there are no such slots.
    pub(crate) fn has_empty_special_slots(&self) -> bool {
        self.rbg_bytes[0][SlotFormat::Special as usize][15] == 0
    }
}

impl Phy {
    pub(crate) fn new(cell: &CellConfig, blocks: Arc<BlockTables>) -> Self {
        let (prbs, mac) = (usize::from(cell.resource_blocks), &cell.mac);
        let rbg_size = cell.numerology.rbg_size(cell.resource_blocks);
        let cqis = || core::array::from_fn(|cqi| Cqi::new(cqi as u8));
        let adaptation = |rule, direction, table: CqiToMcs| {
            let mcs_of: [Mcs; 16] = cqis().map(|cqi| table.mcs_in(&*cell.tables, cqi));
            let of = |rank, format| {
                let Rank { blocks: count, layers } = Rank::of(cell, rank);
                let mcs = |cqi: Cqi| mcs_of[usize::from(cqi.index())];
                let bytes = |cqi: Cqi| match cqi {
                    Cqi::OUT_OF_RANGE => 0,
                    _ => blocks.downlink(layers, format, mcs(cqi), rbg_size).get() as u16 * u16::from(count),
                };
                cqis().map(bytes)
            };
            let has_special = cell.numerology.duplex.special_symbols().is_some();
            let of_layers = |layers: usize| match layers as u8 + 1 {
                rank if rank > Rank::most(cell) => [[0; 16]; FORMATS],
                rank if has_special => [of(rank, SlotFormat::Whole), of(rank, SlotFormat::Special)],
                rank => [of(rank, SlotFormat::Whole), [0; 16]],
            };
            LinkAdaptation {
                amc: Amc::new(&*cell.tables, rule, direction, prbs, usize::from(rbg_size)),
                rbg_bytes: core::array::from_fn(of_layers),
                decodable: decodable(cell, direction),
                blocks: Arc::clone(&blocks),
                efficiency_of: mcs_of.map(|mcs| blocks.efficiency(mcs)),
                mcs_of,
            }
        };
        Self {
            downlink: adaptation(mac.amc, Direction::Downlink, mac.cqi_to_mcs),
            uplink: adaptation(mac.uplink.amc, Direction::Uplink, CqiToMcs::Efficiency),
            blocks,
            sinr: vec![0.0; prbs],
            gathered: vec![0.0; prbs],
        }
    }

    /// True if no symbol of a special slot is left for data.
    pub(crate) fn has_empty_special_slots(&self) -> bool {
        self.downlink.has_empty_special_slots()
    }

    /// The kind of a slot, for blocks of the downlink; `None` if it has none.
    #[inline]
    pub(crate) fn downlink_format(&self, cell: &CellConfig, slot: u64) -> Option<SlotFormat> {
        if cell.is_blank(slot) {
            return None;
        }
        match cell.numerology.duplex.downlink_symbols(slot) {
            0 => None,
            SYMBOLS => Some(SlotFormat::Whole),
            _ if self.has_empty_special_slots() => None,
            _ => Some(SlotFormat::Special),
        }
    }

    /// Buffer for the SINR of each PRB.
    pub(crate) fn sinr_mut(&mut self) -> &mut [f32] {
        &mut self.sinr
    }

    /// Link adaptation of the uplink by CQI.
    pub(crate) const fn uplink(&self) -> &LinkAdaptation {
        &self.uplink
    }

    /// Link adaptation, and the buffer for the SINR of each PRB.
    pub(crate) fn amc_and_sinr(&mut self, direction: Direction) -> (&LinkAdaptation, &mut [f32]) {
        match direction {
            Direction::Downlink => (&self.downlink, &mut self.sinr),
            Direction::Uplink => (&self.uplink, &mut self.sinr),
        }
    }

    /// Receives a transmission with the same SINR on all PRBs. True if the block decodes.
    pub(crate) fn receive_flat(
        &mut self,
        direction: Direction,
        process: &mut HarqProcess,
        sinr: f32,
        draws: &mut Stream,
    ) -> bool {
        let block = &self.blocks.coded(process, direction).coded;
        process.soft.receive_flat(block, sinr);
        decodes(block, process, draws)
    }

    /// Receives a transmission on these PRBs, whose SINRs are in [`Phy::sinr_mut`]. True if the
    /// block decodes.
    pub(crate) fn receive(
        &mut self,
        direction: Direction,
        process: &mut HarqProcess,
        prbs: impl Iterator<Item = Range<usize>>,
        draws: &mut Stream,
    ) -> bool {
        let (mut count, mut least) = (0, Least::default());
        for range in prbs {
            let from = &self.sinr[range];
            least.copy(from, &mut self.gathered[count..][..from.len()]);
            count += from.len();
        }
        self.judge(direction, process, count, least.value(), draws)
    }

    /// [`Self::receive`] in the downlink, with this noise and interference on the RBGs of the block, and this SINR
    /// without interference; if `seen` is `None`, that of [`Phy::sinr_mut`].
    pub(crate) fn receive_in(
        &mut self,
        noise: &Noise,
        seen: Option<ScaledSinr<'_>>,
        process: &mut HarqProcess,
        draws: &mut Stream,
    ) -> bool {
        let seen = seen.unwrap_or(ScaledSinr { by_prb: &self.sinr, scale: 1.0 });
        let (count, least) = noise.gather(process.rbgs, seen, &mut self.gathered);
        self.judge(Direction::Downlink, process, count, least, draws)
    }

    /// Whether the block decodes, with the SINRs of `count` PRBs in the scratch space.
    fn judge(
        &self,
        direction: Direction,
        process: &mut HarqProcess,
        count: usize,
        least: f32,
        draws: &mut Stream,
    ) -> bool {
        let block = self.blocks.coded(process, direction);
        // For many blocks the worst PRB is sufficient. Their soft information is not kept.
        if process.transmissions == 1 && least >= block.certain_from {
            return true;
        }
        let block = &block.coded;
        process.soft.receive(block, &self.gathered[..count]);
        decodes(block, process, draws)
    }
}

/// The minimum of the copied values, for each of four lanes.
struct Least([f32; 4]);

impl Default for Least {
    fn default() -> Self {
        Self([f32::INFINITY; 4])
    }
}

impl Least {
    #[inline(always)]
    fn copy(&mut self, from: &[f32], to: &mut [f32]) {
        let (fours, rest) = from.as_chunks::<4>();
        let (places, places_of_rest) = to.as_chunks_mut::<4>();
        for (place, four) in places.iter_mut().zip(fours) {
            *place = *four;
            self.0.iter_mut().zip(four).for_each(|(least, &x)| *least = lower(*least, x));
        }
        for (lane, (place, &x)) in places_of_rest.iter_mut().zip(rest).enumerate().take(3) {
            *place = x;
            self.0[lane] = lower(self.0[lane], x);
        }
    }

    fn value(&self) -> f32 {
        lower(lower(self.0[0], self.0[1]), lower(self.0[2], self.0[3]))
    }
}

fn lower(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

fn decodes(block: &CodedBlock, process: &HarqProcess, draws: &mut Stream) -> bool {
    let error_rate = block.error_rate(&process.soft);
    error_rate <= 0.0 || !draws.chance(error_rate)
}
