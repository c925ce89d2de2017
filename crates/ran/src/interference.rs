//! Interference between cells of one carrier: the PRBs on which they transmit in each slot, and the
//! resulting noise and interference at a receiver.
//!
//! *Downlink.* A UE receives from each other cell what that cell transmits. In the data region of a slot this
//! is PDSCH on the resource block groups that the cell assigned, or on all groups if the cell is only an
//! interferer. In the control region of each slot it is the whole band, since reference signals, PCFICH and
//! PDCCH are always present. *Uplink.* An eNB receives the UEs of other cells on the PRBs of their PUSCH.
//!
//! Cells interfere if their carriers are the same; such cells have the same bandwidth. Carriers
//! that overlap in part do not interfere.
//!
//! Weak interference is simplified. An interferer more than 30 dB below the noise is ignored. One
//! that contributes less than a tenth of noise and interference counts with its mean power: its
//! fading changes the sum by less than half a decibel. The others fade, each with its own stream,
//! once per resource block group. Interference in the uplink is a sum over the UEs of many cells
//! and always counts with its mean. Not included: interference of the neighbours' reference signals
//! with PDSCH, and PUCCH and sounding signals.
//!
//! *Large networks.* A UE may have channels with the cells alone that it receives strongest ([`crate::reach`]). The
//! others then interfere in the downlink with their mean power, by the share of the band that all cells use in a slot,
//! and not in the uplink.

mod control;
mod noise;
mod rivals;
mod uplink;

use core::ops::Range;

use airlane_core::{CellId, Duration, Instant};
use airlane_radio::{Mobility, Position};
use pulp::Arch;

use crate::channel::Channel;
use crate::config::CellConfig;
use crate::mac::grid::RbgSet;
use crate::numerology::Duplex;
use crate::reach::{self, Reach};
pub(crate) use control::Control;
use noise::{AddAll, AddUp, Heard, LANES, Listen, Uneven};
pub(crate) use noise::{Noise, PLACES, ScaledSinr};
use rivals::Rivals;
use uplink::{Average, Raise};

/// An interferer this far below the noise is ignored: -30 dB.
const NEGLIGIBLE: f32 = 1e-3;
/// An interferer that contributes less than this share of noise and interference does not fade.
const SMALL: f32 = 0.1;
/// Slots over which an eNB averages the received interference; choice.
const RISE_WINDOW: f32 = 32.0;

/// How often the position of a UE is checked.
pub(crate) const SNAPSHOT_PERIOD: Duration = Duration::from_millis(10);
/// How far a UE moves until the other cells' power is computed again. At 35 m from a site this is 0.5 dB
/// of path loss (37.6 log10(36 / 35)), and less farther out; shadowing changes by 0.2 standard deviations
/// (50 m).
pub(crate) const STEP_M: f64 = 1.0;

/// The channels between a UE and a cell that does not serve it.
#[derive(Debug)]
pub(crate) struct CellChannels {
    pub(crate) cell: CellId,
    pub(crate) downlink: Channel,
    pub(crate) uplink: Channel,
}

/// Identifies a position at which the received powers were computed; valid until two further snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Snapshot(u32);

impl Snapshot {
    /// Whether it is still valid when this one is the latest.
    fn is_known_at(self, latest: Self) -> bool {
        latest.0.wrapping_sub(self.0) < 2
    }
}

/// The control regions of other cells at a UE; these are always transmitted.
#[derive(Debug, Default)]
struct ControlLevels {
    /// The snapshot for which they are valid, and the time since which these cells' radios were on.
    of: Option<(Snapshot, Instant)>,
    /// Cells whose links fade, and their mean power.
    fading: Vec<(usize, f32)>,
    /// Sum of the powers of all other links.
    flat: f32,
}

/// The cells that do not serve a UE, and the power they receive from each other.
#[derive(Debug)]
pub(crate) struct Neighbours {
    /// One for each other cell in reach, ascending.
    channels: Vec<CellChannels>,
    /// The cells in reach, ascending, the serving one among them: what follows has a place for each. `None` for all.
    reach: Option<Reach>,
    /// Mean power over the noise by place at the last snapshot and the one before, alternating; zero for an
    /// ignored cell, for the serving cell, and in the places beyond the last.
    downlink: [Vec<f32>; 2],
    latest: Snapshot,
    /// Mean power of the UE over the noise at each other cell, computed when the UE sends.
    uplink: Vec<f32>,
    uplink_is_old: bool,
    control: ControlLevels,
    checked_at: Option<Instant>,
    place: Option<Position>,
    /// The interferers of the current reception, and their sum with the noise.
    heard: Heard,
    noise: Noise,
    /// Fading of each RBG by place.
    gains: Vec<[f32; PLACES]>,
    /// The times to which they belong: side by side, since most are compared without a use of the gains.
    gains_at: Vec<Instant>,
}

impl Neighbours {
    pub(crate) fn new(channels: Vec<CellChannels>, reach: Option<Reach>) -> Self {
        let count = channels.len();
        // Without other cells there is nothing to store.
        let cells = if channels.is_empty() { 0 } else { count + 1 };
        let places = whole_vectors(cells);
        Self {
            channels,
            reach,
            downlink: [vec![0.0; places], vec![0.0; places]],
            latest: Snapshot(0),
            uplink: vec![0.0; count],
            uplink_is_old: false,
            control: ControlLevels { fading: Vec::with_capacity(count), ..ControlLevels::default() },
            checked_at: None,
            place: None,
            heard: Heard::new(places),
            noise: Noise::alone(0, 1),
            gains: vec![[0.0; PLACES]; cells],
            gains_at: vec![Instant::FAR_FUTURE; cells],
        }
    }

    /// These cells stay in reach until the next call.
    pub(crate) fn hold(&mut self, cells: impl Iterator<Item = CellId>) {
        if let Some(reach) = &mut self.reach {
            reach.hold(cells);
        }
    }

    pub(crate) fn channels_mut(&mut self) -> &mut [CellChannels] {
        &mut self.channels
    }

    /// Cell `to` serves from now on instead of `from`, to which these channels belong.
    pub(crate) fn exchange(&mut self, from: CellId, to: CellId, channels: [&mut Channel; 2]) {
        self.hear_uplink();
        let mut place = self.channels.binary_search_by_key(&to, |link| link.cell);
        if let (Err(_), Some(reach)) = (&place, &mut self.reach) {
            let before = reach.cells.clone();
            reach.admit(to);
            self.arrange(&before, from);
            place = self.channels.binary_search_by_key(&to, |link| link.cell);
        }
        let mut link = self.channels.remove(place.expect("a UE has a link to each other cell in reach"));
        let [downlink, uplink] = channels;
        core::mem::swap(&mut link.downlink, downlink);
        core::mem::swap(&mut link.uplink, uplink);
        link.cell = from;
        let place = self.channels.partition_point(|other| other.cell < link.cell);
        self.channels.insert(place, link);
        (self.checked_at, self.place, self.control.of) = (None, None, None);
        self.gains_at.fill(Instant::FAR_FUTURE);
    }

    /// Computes the received powers at the current position, if the UE has moved.
    fn snapshot(&mut self, now: Instant, mobility: &mut Mobility) {
        let is_recent = |at: Instant| now.saturating_since(at) < SNAPSHOT_PERIOD || mobility.is_static();
        if self.checked_at.is_some_and(is_recent) {
            return;
        }
        self.checked_at = Some(now);
        let here = mobility.position_at(now);
        if self.place.is_some_and(|place| place.ground_distance(&here) < STEP_M) {
            return;
        }
        self.follow(here);
        self.place = Some(here);
        let mut common = None;
        self.latest.0 = self.latest.0.wrapping_add(1);
        let levels = &mut self.downlink[self.latest.0 as usize % 2];
        levels.fill(0.0);
        for link in &mut self.channels {
            levels[place_in(self.reach.as_ref(), link.cell)] =
                audible(link.downlink.interference_at(&here, &mut common));
        }
        self.uplink_is_old = true;
    }

    /// Renews the cells in reach of a UE that moves, before its reception is measured.
    pub(crate) fn prepare(&mut self, now: Instant, mobility: &mut Mobility) {
        if self.reach.as_ref().is_some_and(Reach::follows) {
            self.follow(mobility.position_at(now));
        }
    }

    /// Renews the cells in reach if the UE has moved by the bound.
    fn follow(&mut self, here: Position) {
        let Some(reach) = self.reach.as_mut().filter(|reach| reach.is_due(&here)) else { return };
        let before = reach.cells.clone();
        let serves = |cell: &CellId| self.channels.binary_search_by_key(cell, |link| link.cell).is_err();
        let serving = before.iter().copied().find(serves).expect("a cell in reach serves the UE");
        reach.renew(here, Some(serving));
        self.arrange(&before, serving);
    }

    /// The cells in reach are others than `before`: channels and levels get their new places. A channel that is new has
    /// its level of this moment in earlier snapshots, too.
    fn arrange(&mut self, before: &[CellId], serving: CellId) {
        let Some(reach) = &self.reach else { return };
        self.control.of = None;
        if reach.cells == before {
            return;
        }
        let is_known = |cell: &CellId| before.binary_search(cell).is_ok();
        let fresh: Vec<_> = reach.cells.iter().copied().filter(|cell| !is_known(cell)).collect();
        let mut fresh = reach.channels(&fresh).into_iter();
        let mut known = core::mem::take(&mut self.channels).into_iter();
        let places = whole_vectors(reach.cells.len());
        let old = core::mem::replace(&mut self.downlink, [vec![0.0; places], vec![0.0; places]]);
        let mut common = None;
        for (place, cell) in reach.cells.iter().enumerate().filter(|(_, cell)| **cell != serving) {
            let link = if let Ok(from) = before.binary_search(cell) {
                self.downlink.iter_mut().zip(&old).for_each(|(to, old)| to[place] = old[from]);
                known.find(|link| link.cell == *cell).expect("a cell that was in reach")
            } else {
                let mut link = fresh.next().expect("one for each cell that was not in reach");
                if let Some(at) = &self.place {
                    let level = audible(link.downlink.interference_at(at, &mut common));
                    self.downlink.iter_mut().for_each(|levels| levels[place] = level);
                }
                link
            };
            self.channels.push(link);
        }
        self.uplink = vec![0.0; self.channels.len()];
        self.uplink_is_old = true;
        self.heard = Heard::new(places);
        self.gains.resize(reach.cells.len(), [0.0; PLACES]);
        self.gains_at = vec![Instant::FAR_FUTURE; reach.cells.len()];
    }

    /// Computes the power of the UE at other cells for the position of the last snapshot.
    fn hear_uplink(&mut self) {
        let Some(here) = self.place.filter(|_| self.uplink_is_old) else { return };
        let mut common = None;
        for (link, level) in self.channels.iter_mut().zip(&mut self.uplink) {
            link.uplink.share_shadowing(&link.downlink);
            *level = link.uplink.interference_at(&here, &mut common);
        }
        self.uplink_is_old = false;
    }

    /// Computes the control regions of the cells on the UE's carrier, of which those out of reach add up to `far`.
    fn hear_control(&mut self, snapshot: Snapshot, since: Instant, rivals: &[RbgSet], far: f32) {
        let Self { channels: links, control, reach, .. } = self;
        let levels = Self::levels(&self.downlink, self.latest, snapshot);
        let place = |cell: CellId| place_in(reach.as_ref(), cell);
        let heard = links.iter().map(|link| link.cell).enumerate();
        let heard = heard
            .map(|(link, cell)| (link, if rivals[cell.index()] == 0 { 0.0 } else { levels[place(cell)] }));
        let heard = heard.filter(|&(_, level)| level > 0.0);
        let total = heard.clone().fold(1.0 + far, |total, (_, level)| total + level);
        control.fading.clear();
        (control.of, control.flat) = (Some((snapshot, since)), far);
        for (link, level) in heard {
            if level >= SMALL * total && !links[link].downlink.is_flat() {
                control.fading.push((place(links[link].cell), level));
            } else {
                control.flat += level;
            }
        }
    }

    /// Whether the powers of a snapshot are still known: it is the latest or the one before.
    pub(crate) fn knows(&self, snapshot: Snapshot) -> bool {
        snapshot.is_known_at(self.latest)
    }

    /// Mean power over the noise by cell, at a snapshot that is still known.
    fn levels(downlink: &[Vec<f32>; 2], latest: Snapshot, snapshot: Snapshot) -> &[f32] {
        assert!(snapshot.is_known_at(latest), "what was heard then is forgotten");
        &downlink[snapshot.0 as usize % 2]
    }

    /// Computes the fading of each RBG between the cell at place `other` and the UE, unless it is known or there is no
    /// fading.
    #[inline(always)]
    fn hear_fading(&mut self, other: usize, serving: CellId, at: Instant, rbgs: usize) {
        if self.gains_at[other] != at {
            self.hear_fading_anew(other, serving, at, rbgs);
        }
    }

    #[inline(never)]
    fn hear_fading_anew(&mut self, other: usize, serving: CellId, at: Instant, rbgs: usize) {
        let link = &self.channels[link_to(other, place_in(self.reach.as_ref(), serving))];
        if link.downlink.rbg_gains(at, &mut self.gains[other][..rbgs]) {
            self.gains_at[other] = at;
        }
    }
}

/// The place of a cell among those in reach, or among all.
#[inline]
fn place_in(reach: Option<&Reach>, cell: CellId) -> usize {
    reach.map_or(cell.index(), |reach| reach.place_of(cell))
}

/// The link to the cell at a place, of a UE that is served by the one at `serving`.
fn link_to(place: usize, serving: usize) -> usize {
    place - usize::from(place > serving)
}

/// Number of places for this many cells, in whole vectors.
pub(crate) fn whole_vectors(cells: usize) -> usize {
    cells.next_multiple_of(LANES)
}

/// RBGs by the slot of their transmission, for all cells.
#[derive(Debug)]
struct History {
    /// A ring of slots, whose size is a power of two: the slot number, and the RBGs of each cell.
    slots: Vec<(u64, Vec<RbgSet>)>,
    /// The RBGs of the cells of this clock together in each of them; and without assignments, those of the cells that
    /// only interfere; and the RBGs of their bands.
    total: Vec<u32>,
    always_total: u32,
    bands: u32,
    /// The RBGs of cells in a slot without assignments: all of those that only interfere.
    always: Vec<RbgSet>,
}

impl History {
    /// `bands` has the RBGs of each cell's band: of those that only interfere, and of all.
    fn new(always: Vec<RbgSet>, depth: usize, [always_total, bands]: [u32; 2]) -> Self {
        let slots = vec![(u64::MAX, always.clone()); depth];
        Self { slots, total: vec![always_total; depth], always_total, bands, always }
    }

    /// The share of their bands that all cells together use in a slot.
    fn share_of(&self, slot: u64) -> f32 {
        let place = self.place(slot);
        let used = if self.slots[place].0 == slot { self.total[place] } else { self.always_total };
        used as f32 / self.bands as f32
    }

    fn place(&self, slot: u64) -> usize {
        slot as usize & (self.slots.len() - 1)
    }

    /// The RBGs of each cell in a slot.
    fn of(&self, slot: u64) -> &[RbgSet] {
        let (of, sent) = &self.slots[self.place(slot)];
        if *of == slot { sent } else { &self.always }
    }

    fn put(&mut self, cell: usize, slot: u64, rbgs: RbgSet) {
        let place = self.place(slot);
        let (of, sent) = &mut self.slots[place];
        if *of != slot {
            *of = slot;
            sent.copy_from_slice(&self.always);
            self.total[place] = self.always_total;
        }
        if self.always[cell] == 0 {
            self.total[place] = self.total[place] + rbgs.count_ones() - sent[cell].count_ones();
        }
        sent[cell] = rbgs | self.always[cell];
    }
}

/// The relations of one cell to the others.
#[derive(Debug)]
struct Site {
    /// The cells whose downlink is on the same carrier, while their radios are on.
    downlink_rivals: Rivals,
    /// By cell: whether its uplink is on the same carrier.
    uplink_rivals: Vec<bool>,
    /// The place of its downlink carrier ([`reach::carriers`]).
    carrier: usize,
    /// Interference over noise on each PRB of the uplink in the latest slot, and its average.
    rise: Vec<f32>,
    mean_rise: Vec<f32>,
    rbgs: usize,
    rbg_size: usize,
    /// Its place in [`Air::clocks`].
    clock: usize,
}

/// The transmissions of the cells with slots of one length and of the same directions.
#[derive(Debug)]
struct Clock {
    slot: Duration,
    duplex: Duplex,
    sent: History,
    /// Slots with an uplink before the one to which [`Site::rise`] belongs.
    uplinks: u64,
}

impl Clock {
    /// The clock of a cell, among these cells.
    fn new(cell: &CellConfig, cells: &[CellConfig], always: &[RbgSet]) -> Self {
        let (slot, duplex) = (cell.numerology.slot, cell.numerology.duplex);
        let mut clock = Self { slot, duplex, sent: History::new(Vec::new(), 1, [0, 1]), uplinks: 0 };
        let depth = cells.iter().filter(|cell| clock.is_of(cell)).map(|cell| {
            let mac = &cell.mac;
            let earlier = if mac.assigned_ahead { duplex.period() } else { 0 };
            let latency = u64::from(mac.downlink_latency) + earlier;
            latency + u64::from(mac.cqi_period) + u64::from(mac.cqi_delay) + 1 + cell.slot_period()
        });
        let depth = depth.max().expect("at least this cell").next_power_of_two();
        let (mut always_total, mut bands) = (0, 0);
        for cell in cells.iter().filter(|cell| clock.is_of(cell)) {
            let rbgs =
                u32::from(cell.resource_blocks.div_ceil(cell.numerology.rbg_size(cell.resource_blocks)));
            bands += rbgs;
            always_total += if cell.interferer { rbgs } else { 0 };
        }
        clock.sent = History::new(always.to_vec(), depth as usize, [always_total, bands]);
        clock
    }

    fn is_of(&self, cell: &CellConfig) -> bool {
        (self.slot, self.duplex) == (cell.numerology.slot, cell.numerology.duplex)
    }

    /// For how long the states of radios are kept.
    fn kept(&self) -> Duration {
        self.slot * self.sent.slots.len() as u64 + SNAPSHOT_PERIOD * 2
    }
}

impl Site {
    /// The number of PRBs in these RBGs; the last RBG of the band may be smaller.
    fn prbs_in(&self, rbgs: RbgSet) -> u32 {
        let band = rbgs & ((1_u64 << self.rbgs) - 1) as RbgSet;
        let missing = self.rbgs * self.rbg_size - self.rise.len();
        let last = band >> (self.rbgs - 1) & 1;
        band.count_ones() * self.rbg_size as u32 - u32::from(last != 0) * missing as u32
    }
}

/// All transmissions on the air.
#[derive(Debug)]
pub(crate) struct Air {
    /// Empty for a network of one cell.
    sites: Vec<Site>,
    clocks: Vec<Clock>,
    /// The widest vectors of this machine; the additions are the same in any.
    arch: Arch,
    /// Resource blocks with PDSCH of each cell since the start; empty if they are not counted.
    used: Vec<u64>,
}

/// A PUSCH on the air.
#[derive(Clone, Debug)]
pub(crate) struct SentPusch {
    /// The serving cell of its UE.
    pub(crate) cell: CellId,
    pub(crate) prbs: Range<usize>,
    /// The power of each PRB, relative to full power over the band.
    pub(crate) factor: f32,
}

/// The time of a reception.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Determines the position.
    pub(crate) snapshot: Snapshot,
    /// Determines the fading.
    pub(crate) fading: Instant,
}

impl Air {
    pub(crate) fn new(cells: &[CellConfig]) -> Self {
        if cells.len() < 2 {
            return Self { sites: Vec::new(), clocks: Vec::new(), arch: Arch::new(), used: Vec::new() };
        }
        let mut always: Vec<_> = cells.iter().map(|c| if c.interferer { RbgSet::MAX } else { 0 }).collect();
        always.resize(whole_vectors(cells.len()), 0);
        let mut clocks: Vec<Clock> = Vec::new();
        for cell in cells {
            if clocks.iter().all(|clock| !clock.is_of(cell)) {
                clocks.push(Clock::new(cell, cells, &always));
            }
        }
        let carriers = reach::carriers(cells.iter());
        let site = |(index, cell): (usize, &CellConfig)| {
            let others = || cells.iter().enumerate().filter(move |(other, _)| *other != index);
            let mut same_carrier = vec![0; whole_vectors(cells.len())];
            for (other, config) in others().filter(|(_, c)| c.downlink_hz == cell.downlink_hz) {
                assert!(config.resource_blocks == cell.resource_blocks, "one carrier, two bandwidths");
                assert!(config.numerology == cell.numerology, "one carrier, two numerologies");
                same_carrier[other] = RbgSet::MAX;
            }
            let mut uplink_rivals = vec![false; cells.len()];
            others().for_each(|(other, config)| uplink_rivals[other] = config.uplink_hz == cell.uplink_hz);
            let (prbs, size) = (cell.resource_blocks, cell.numerology.rbg_size(cell.resource_blocks));
            let clock = clocks.iter().position(|clock| clock.is_of(cell)).expect("each cell has one");
            Site {
                clock,
                downlink_rivals: Rivals::new(same_carrier, clocks[clock].kept()),
                uplink_rivals,
                carrier: carriers[index],
                rise: vec![0.0; usize::from(prbs)],
                mean_rise: vec![0.0; usize::from(prbs)],
                rbgs: usize::from(prbs.div_ceil(size)),
                rbg_size: usize::from(size),
            }
        };
        let sites: Vec<_> = cells.iter().enumerate().map(site).collect();
        Self { sites, clocks, arch: Arch::new(), used: Vec::new() }
    }

    /// True if there is one cell.
    pub(crate) fn is_quiet(&self) -> bool {
        self.sites.is_empty()
    }

    /// The radio of a cell is switched off or on, for the slots that begin now or later.
    pub(crate) fn switch(&mut self, now: Instant, cell: usize, on: bool) {
        self.sites.iter_mut().for_each(|site| site.downlink_rivals.switch(now, cell, on));
    }

    /// Computes the received powers of a UE at its current position; `now` must not decrease.
    pub(crate) fn snapshot(
        &self,
        now: Instant,
        neighbours: &mut Neighbours,
        mobility: &mut Mobility,
    ) -> Snapshot {
        if !self.is_quiet() {
            neighbours.snapshot(now, mobility);
        }
        neighbours.latest
    }

    /// A cell transmits PDSCH on these RBGs in a future slot.
    pub(crate) fn send_downlink(&mut self, cell: CellId, slot: u64, rbgs: RbgSet) {
        if !self.is_quiet() {
            let cell = cell.index();
            self.clocks[self.sites[cell].clock].sent.put(cell, slot, rbgs);
            if let Some(used) = self.used.get_mut(cell) {
                *used += u64::from(self.sites[cell].prbs_in(rbgs));
            }
        }
    }

    /// From now on, counts the resource blocks on which each cell transmits PDSCH.
    pub(crate) fn count_use(&mut self) {
        self.used = vec![0; self.sites.len()];
    }

    /// The resource blocks with PDSCH of each cell since [`Self::count_use`].
    pub(crate) fn used(&self) -> &[u64] {
        &self.used
    }

    /// A slot may begin now: in cells where it has an uplink, the interference received until now enters the
    /// averages.
    pub(crate) fn begin_uplink(&mut self, now: Instant) {
        for index in 0..self.clocks.len() {
            let clock = &mut self.clocks[index];
            let slot = now.as_nanos() / clock.slot.as_nanos();
            if Instant::ZERO + clock.slot * slot == now && clock.duplex.has_uplink(slot) {
                // Nothing was sent in the slots that were not processed.
                let uplinks = clock.duplex.uplinks_before(slot);
                let silent = uplinks.saturating_sub(clock.uplinks + 1).min(100_000) as f32;
                clock.uplinks = uplinks;
                self.average_rise(index, silent);
            }
        }
    }

    fn average_rise(&mut self, clock: usize, silent: f32) {
        let stays = 1.0 - 1.0 / RISE_WINDOW;
        for site in self.sites.iter_mut().filter(|site| site.clock == clock) {
            let faded = if silent == 0.0 { 1.0 } else { libm::powf(stays, silent) };
            self.arch.dispatch(Average { site, stays, faded });
        }
    }

    /// A UE sends a PUSCH.
    pub(crate) fn send_uplink(
        &mut self,
        now: Instant,
        sent: SentPusch,
        neighbours: &mut Neighbours,
        mobility: &mut Mobility,
    ) {
        let SentPusch { cell, prbs, factor } = sent;
        let cell = cell.index();
        let Some(site) = self.sites.get_mut(cell) else { return };
        neighbours.snapshot(now, mobility);
        neighbours.hear_uplink();
        let rivals = core::mem::take(&mut site.uplink_rivals);
        let (sites, Neighbours { channels, uplink, .. }) = (&mut self.sites[..], neighbours);
        self.arch.dispatch(Raise { sites, rivals: &rivals, channels, levels: uplink, factor, prbs });
        self.sites[cell].uplink_rivals = rivals;
    }

    /// Applies the interference of the latest slot to the SINR of a cell's uplink on these PRBs.
    pub(crate) fn weaken_uplink(&self, cell: CellId, prbs: Range<usize>, sinr: &mut [f32]) {
        weaken_by(&self.sites[cell.index()].rise[prbs.clone()], &mut sinr[prbs]);
    }

    /// Applies the average interference at the eNB to it.
    pub(crate) fn weaken_uplink_mean(&self, cell: CellId, sinr: &mut [f32]) {
        weaken_by(&self.sites[cell.index()].mean_rise, sinr);
    }

    /// Noise and interference of a UE of `cell` on these RBGs in the data region of a slot; the values
    /// of other RBGs are undefined. `None` without other transmissions on these RBGs.
    pub(crate) fn data_noise<'n>(
        &self,
        cell: CellId,
        slot: u64,
        rbgs: RbgSet,
        moment: Moment,
        neighbours: &'n mut Neighbours,
    ) -> Option<&'n Noise> {
        if self.is_quiet() {
            return None;
        }
        let site = self.sites.get(cell.index())?;
        let wanted = rbgs & ((1_u64 << site.rbgs) - 1) as RbgSet;
        let Neighbours { downlink, latest, heard, reach, .. } = &mut *neighbours;
        let levels = Neighbours::levels(downlink, *latest, moment.snapshot);
        let clock = &self.clocks[site.clock];
        let (_, rivals) = site.downlink_rivals.at(Instant::ZERO + clock.slot * slot);
        let sent = clock.sent.of(slot);
        let (sent, rivals) = match reach {
            None => (sent, rivals),
            Some(reach) => {
                heard.far = reach.far[site.carrier] * clock.sent.share_of(slot);
                reach.gather(sent, rivals)
            }
        };
        let total = self.arch.dispatch(Listen { heard, levels, sent, rivals, wanted, share: SMALL });
        (total > 1.0).then(|| self.add_up(cell, wanted, SMALL * total, moment, neighbours))
    }

    /// The other cells' control regions at a UE of `cell`; `None` without any.
    pub(crate) fn control<'n>(
        &self,
        cell: CellId,
        moment: Moment,
        neighbours: &'n mut Neighbours,
    ) -> Option<Control<'n>> {
        let site = self.sites.get(cell.index())?;
        let (since, rivals) = site.downlink_rivals.at(moment.fading);
        if neighbours.control.of != Some((moment.snapshot, since)) {
            let far = neighbours.reach.as_ref().map_or(0.0, |reach| reach.far[site.carrier]);
            neighbours.hear_control(moment.snapshot, since, rivals, far);
        }
        let flat = neighbours.control.flat;
        if flat == 0.0 && neighbours.control.fading.is_empty() {
            return None;
        }
        for index in 0..neighbours.control.fading.len() {
            let (other, _) = neighbours.control.fading[index];
            neighbours.hear_fading(other, cell, moment.fading, site.rbgs);
        }
        let Neighbours { control: ControlLevels { fading, .. }, gains, .. } = neighbours;
        let Site { rbgs, rbg_size, .. } = *site;
        Some(Control { fading, gains, flat, rbgs, rbg_size, arch: self.arch })
    }

    /// Noise and interference of a UE of `cell` in the control region.
    pub(crate) fn control_noise<'n>(
        &self,
        cell: CellId,
        moment: Moment,
        neighbours: &'n mut Neighbours,
    ) -> Option<&'n Noise> {
        let Control { flat, rbgs, rbg_size, .. } = self.control(cell, moment, neighbours)?;
        let Neighbours { control, gains, noise, .. } = neighbours;
        let fading = control.fading.iter().map(|&(other, level)| (&gains[other], level));
        *noise = Noise::alone(rbgs, rbg_size);
        self.arch.dispatch(AddAll { noise, fading, flat });
        Some(noise)
    }

    /// Noise and the other cells' control regions before fading; noise alone is 1.
    pub(crate) fn mean_control_noise(
        &self,
        cell: CellId,
        now: Instant,
        neighbours: &mut Neighbours,
        mobility: &mut Mobility,
    ) -> f32 {
        let Some(site) = self.sites.get(cell.index()) else { return 1.0 };
        neighbours.snapshot(now, mobility);
        let (_, rivals) = site.downlink_rivals.at(now);
        let levels = neighbours.downlink[neighbours.latest.0 as usize % 2].iter();
        let Some(reach) = &neighbours.reach else {
            let heard = levels.zip(rivals).filter(|(_, rival)| **rival != 0);
            return 1.0 + heard.map(|(level, _)| level).sum::<f32>();
        };
        let heard = levels.zip(&reach.cells).filter(|(_, cell)| rivals[cell.index()] != 0);
        1.0 + reach.far[site.carrier] + heard.map(|(level, _)| level).sum::<f32>()
    }

    /// Noise and interference of the recorded cells, and of those out of reach. Those from the level `counts` on may
    /// fade.
    fn add_up<'n>(
        &self,
        cell: CellId,
        wanted: RbgSet,
        counts: f32,
        moment: Moment,
        neighbours: &'n mut Neighbours,
    ) -> &'n Noise {
        let site = &self.sites[cell.index()];
        for index in 0..neighbours.heard.uneven.len() {
            let Uneven { cell: other, level, .. } = neighbours.heard.uneven[index];
            if level >= counts {
                neighbours.hear_fading(other.into(), cell, moment.fading, site.rbgs);
            }
        }
        let Neighbours { heard, gains, gains_at, noise, .. } = neighbours;
        let fades = |cell: usize, level: f32| {
            (level >= counts && gains_at[cell] == moment.fading).then(|| &gains[cell])
        };
        *noise = Noise::alone(site.rbgs, site.rbg_size);
        self.arch.dispatch(AddUp { noise, heard, wanted, fades });
        noise
    }
}

fn audible(level: f32) -> f32 {
    if level >= NEGLIGIBLE { level } else { 0.0 }
}

fn weaken_by(rise: &[f32], sinr: &mut [f32]) {
    assert_eq!(rise.len(), sinr.len(), "one place per PRB");
    sinr.iter_mut().zip(rise).for_each(|(sinr, rise)| *sinr /= 1.0 + rise);
}

#[cfg(test)]
mod tests;
