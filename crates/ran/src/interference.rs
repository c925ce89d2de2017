//! What cells of one carrier do to each other: which PRBs they send on, slot by slot, and the
//! noise and interference that a receiver has for it.
//!
//! *Downlink.* A UE hears of each other cell what that cell really sends: in the slot in which a
//! block is in the air, PDSCH on the resource block groups that the cell gave away for it; in the
//! control region of each slot all of the band, since reference signals, PCFICH and PDCCH are
//! always there. *Uplink.* An eNB hears the UEs of other cells on the PRBs of their PUSCH.
//!
//! Cells interfere where their carriers are the same; such cells have one bandwidth. Carriers that
//! overlap in part are taken as apart.
//!
//! What is not heard is not computed. An interferer more than 30 dB under the noise counts as
//! silent. One that brings less than a tenth of noise and interference counts with its mean power:
//! its fades move the sum by less than half a decibel. The others fade, each by a stream of its
//! own, once per resource block group. Interference of the uplink is a sum over the UEs of many
//! cells and counts with its means throughout. Left out: that reference signals of neighbours also
//! hit PDSCH, and PUCCH and sounding signals.

use airlane_core::{CellId, Instant};
use airlane_radio::Mobility;

use crate::channel::Channel;
use crate::config::CellConfig;
use crate::mac::grid::{RbgSet, each, rbg_size};
use crate::mac::scheduler::MAX_RBGS;

/// An interferer this far under the noise counts as silent: -30 dB.
const NEGLIGIBLE: f32 = 1e-3;
/// An interferer that brings less than this share of noise and interference does not fade.
const SMALL: f32 = 0.1;
/// Slots over which an eNB averages the interference that it hears; choice.
const RISE_WINDOW: f32 = 32.0;

/// The channels between a UE and a cell that does not serve it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) cell: CellId,
    pub(crate) downlink: Channel,
    pub(crate) uplink: Channel,
}

/// Noise and interference on each resource block group, over the noise alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Noise {
    rbgs: [f32; MAX_RBGS],
    rbg_size: usize,
}

impl Noise {
    /// Divides what the band would have without interference.
    pub(crate) fn weaken(&self, sinr: &mut [f32]) {
        for (group, noise) in sinr.chunks_mut(self.rbg_size).zip(&self.rbgs) {
            let share = 1.0 / noise;
            group.iter_mut().for_each(|sinr| *sinr *= share);
        }
    }
}

/// RBGs of one cell by the slot in which they were in the air.
#[derive(Debug)]
struct History(Vec<(u64, RbgSet)>);

impl History {
    fn place(&self, slot: u64) -> usize {
        slot as usize & (self.0.len() - 1)
    }

    fn at(&self, slot: u64) -> RbgSet {
        let (of, rbgs) = self.0[self.place(slot)];
        if of == slot { rbgs } else { 0 }
    }
}

/// What one cell has to do with the others.
#[derive(Debug)]
struct Site {
    /// Whose downlink is on the same carrier, by cell.
    downlink_rivals: Vec<bool>,
    /// Whose uplink is.
    uplink_rivals: Vec<usize>,
    sent: History,
    /// Interference over noise on each PRB of the uplink in the latest slot, and its average.
    rise: Vec<f32>,
    mean_rise: Vec<f32>,
    rbgs: usize,
    rbg_size: usize,
}

/// What is in the air.
#[derive(Debug)]
pub(crate) struct Air {
    /// Empty for a network of one cell.
    sites: Vec<Site>,
    /// The slot of `rise`.
    slot: u64,
}

/// When something is received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// For place: it never decreases.
    pub(crate) now: Instant,
    /// For fading.
    pub(crate) fading: Instant,
}

impl Air {
    pub(crate) fn new(cells: &[CellConfig]) -> Self {
        if cells.len() < 2 {
            return Self { sites: Vec::new(), slot: 0 };
        }
        let depth = cells.iter().map(|cell| {
            let mac = &cell.mac;
            u64::from(mac.downlink_latency) + u64::from(mac.cqi_period) + u64::from(mac.cqi_delay) + 2
        });
        let depth = depth.max().expect("there are two cells").next_power_of_two() as usize;
        let site = |(index, cell): (usize, &CellConfig)| {
            let others = || cells.iter().enumerate().filter(move |(other, _)| *other != index);
            let mut downlink_rivals = vec![false; cells.len()];
            for (other, config) in others().filter(|(_, c)| c.downlink_hz == cell.downlink_hz) {
                assert!(config.resource_blocks == cell.resource_blocks, "one carrier, two bandwidths");
                downlink_rivals[other] = true;
            }
            let uplink_rivals = others().filter(|(_, c)| c.uplink_hz == cell.uplink_hz);
            let (prbs, size) = (cell.resource_blocks, rbg_size(cell.resource_blocks));
            Site {
                downlink_rivals,
                uplink_rivals: uplink_rivals.map(|(other, _)| other).collect(),
                sent: History(vec![(u64::MAX, 0); depth]),
                rise: vec![0.0; usize::from(prbs)],
                mean_rise: vec![0.0; usize::from(prbs)],
                rbgs: usize::from(prbs.div_ceil(size)),
                rbg_size: usize::from(size),
            }
        };
        Self { sites: cells.iter().enumerate().map(site).collect(), slot: 0 }
    }

    /// True if there is one cell.
    pub(crate) fn is_quiet(&self) -> bool {
        self.sites.is_empty()
    }

    /// A cell sends PDSCH on these RBGs in a slot that is to come.
    pub(crate) fn send_downlink(&mut self, cell: usize, slot: u64, rbgs: RbgSet) {
        if let Some(site) = self.sites.get_mut(cell) {
            let place = site.sent.place(slot);
            site.sent.0[place] = (slot, rbgs);
        }
    }

    /// A new slot of the uplink begins: what was heard until now enters the averages.
    pub(crate) fn begin_uplink(&mut self, slot: u64) {
        // Nothing was sent in the slots that nobody processed.
        let silent = slot.saturating_sub(self.slot + 1).min(100_000) as f32;
        self.slot = slot;
        let stays = 1.0 - 1.0 / RISE_WINDOW;
        for site in &mut self.sites {
            let faded = if silent == 0.0 { 1.0 } else { libm::powf(stays, silent) };
            for (mean, rise) in site.mean_rise.iter_mut().zip(&mut site.rise) {
                *mean = (stays * *mean + *rise / RISE_WINDOW) * faded;
                *rise = 0.0;
            }
        }
    }

    /// A UE of `cell` sends on these PRBs, with `factor` times its full power over the band on each.
    pub(crate) fn send_uplink(
        &mut self,
        cell: usize,
        prbs: core::ops::Range<usize>,
        factor: f32,
        now: Instant,
        (links, mobility): (&mut [Link], &mut Mobility),
    ) {
        let Some(site) = self.sites.get(cell) else { return };
        for index in 0..site.uplink_rivals.len() {
            let other = self.sites[cell].uplink_rivals[index];
            let link = links.iter_mut().find(|link| link.cell.index() == other);
            let link = link.expect("a UE has a link to each cell that does not serve it");
            let level = factor * link.uplink.interference(now, mobility);
            if level >= NEGLIGIBLE {
                self.sites[other].rise[prbs.clone()].iter_mut().for_each(|rise| *rise += level);
            }
        }
    }

    /// Takes the interference of the latest slot from what the uplink of a cell would have.
    pub(crate) fn weaken_uplink(&self, cell: usize, sinr: &mut [f32]) {
        weaken_by(&self.sites[cell].rise, sinr);
    }

    /// Takes from it the interference that the eNB has heard on average.
    pub(crate) fn weaken_uplink_mean(&self, cell: usize, sinr: &mut [f32]) {
        weaken_by(&self.sites[cell].mean_rise, sinr);
    }

    /// Noise and interference of a UE of `cell` on these RBGs in the data region of a slot. `None` if nobody
    /// else sends there.
    pub(crate) fn data_noise(
        &self,
        cell: CellId,
        slot: u64,
        rbgs: RbgSet,
        moment: Moment,
        (links, mobility): (&mut [Link], &mut Mobility),
    ) -> Option<Noise> {
        let sent = |other: usize| self.sites[other].sent.at(slot) & rbgs;
        self.noise(cell, sent, moment, (links, mobility))
    }

    /// Noise and interference of a UE of `cell` in the control region.
    pub(crate) fn control_noise(
        &self,
        cell: CellId,
        moment: Moment,
        (links, mobility): (&mut [Link], &mut Mobility),
    ) -> Option<Noise> {
        self.noise(cell, |_| RbgSet::MAX, moment, (links, mobility))
    }

    fn noise(
        &self,
        cell: CellId,
        sent: impl Fn(usize) -> RbgSet,
        moment: Moment,
        (links, mobility): (&mut [Link], &mut Mobility),
    ) -> Option<Noise> {
        let site = self.sites.get(cell.index())?;
        let mut total = 1.0;
        for link in links.iter_mut().filter(|link| site.downlink_rivals[link.cell.index()]) {
            if sent(link.cell.index()) != 0 {
                total += audible(link.downlink.interference(moment.now, mobility));
            }
        }
        if total == 1.0 {
            return None;
        }
        let whole = ((1_u64 << site.rbgs) - 1) as RbgSet;
        let mut noise = Noise { rbgs: [1.0; MAX_RBGS], rbg_size: site.rbg_size };
        let mut gains = [1.0; MAX_RBGS];
        for link in links.iter_mut().filter(|link| site.downlink_rivals[link.cell.index()]) {
            let rbgs = sent(link.cell.index()) & whole;
            let level =
                if rbgs == 0 { 0.0 } else { audible(link.downlink.interference(moment.now, mobility)) };
            if level == 0.0 {
                continue;
            }
            if level >= SMALL * total && link.downlink.rbg_gains(moment.fading, &mut gains[..site.rbgs]) {
                each(rbgs).for_each(|rbg| noise.rbgs[usize::from(rbg)] += level * gains[usize::from(rbg)]);
            } else if rbgs == whole {
                noise.rbgs[..site.rbgs].iter_mut().for_each(|noise| *noise += level);
            } else {
                each(rbgs).for_each(|rbg| noise.rbgs[usize::from(rbg)] += level);
            }
        }
        Some(noise)
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
