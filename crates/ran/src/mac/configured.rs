//! Configured grants of type 1 (TS 38.321 §5.8.2): each UE has resource blocks of its own at regular times, on which it
//! sends without a scheduling request and without a grant on PDCCH.
//!
//! UE `k` of the network has its occasions `k` uplink slots after those of the configuration, so that the UEs of a cell
//! take turns. With TDD, an occasion in a slot without an uplink is in the next one that has. The block of an occasion has a
//! buffer status report: the rest of the data gets dynamic grants, and so do retransmissions. A UE with a
//! dynamic grant for the same slot uses that one (§5.4.1). The resource blocks of an occasion stay empty if its UE has no
//! data.

use airlane_core::{Bytes, CellId};
use airlane_radio::{Mcs, Mobility};

use super::phy::{BlockTables, Phy};
use super::pusch::{self, PuschBlock, PuschNeed, sound};
use crate::config::{CellConfig, UplinkAccess};
use crate::link::{Radio, ServingLink};
use crate::numerology::{Numerology, UplinkOccasions};
use crate::slot::UeSet;
use crate::ue::Ue;

/// Bytes of the smallest block with data: a buffer status report, a power headroom report, and the header of a segment
/// with a byte.
const LEAST_BLOCK: u64 = 12;

/// The configured grants of the UEs of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfiguredGrants {
    numerology: Numerology,
    occasions: UplinkOccasions,
    pub(crate) mcs: Mcs,
    /// Resource blocks of an occasion, and the bytes of its block.
    pub(crate) prbs: u16,
    pub(crate) size: Bytes,
}

impl ConfiguredGrants {
    /// Those of a cell, if it has some.
    ///
    /// # Panics
    /// If a block of the configured size does not fit into the band.
    pub(crate) fn of(cell: &CellConfig, blocks: &BlockTables) -> Option<Self> {
        let UplinkAccess::ConfiguredGrant { period, offset, size, mcs } = cell.mac.uplink.access else {
            return None;
        };
        let band = cell.resource_blocks - cell.mac.uplink.pucch_resource_blocks;
        let prbs = (1..=band).find(|&prbs| blocks.uplink(1, mcs, prbs) >= size);
        let prbs = prbs.expect("a configured grant fits into the band");
        let occasions = UplinkOccasions { period, offset };
        Some(Self { numerology: cell.numerology, occasions, mcs, prbs, size: blocks.uplink(1, mcs, prbs) })
    }

    /// The block of a UE in an occasion. If the UE is limited by its power, and the configured block would miss the error
    /// target, the block with the most bytes within the PRBs of the occasion: a gNB that knows the headroom of a UE would
    /// configure it so. Before the first power headroom report, every UE may be limited. Without reports, always the
    /// configured block.
    pub(crate) fn block(
        &self,
        slot: u64,
        radio: Radio<'_>,
        phy: &mut Phy,
        link: &mut ServingLink,
        mobility: &mut Mobility,
    ) -> PuschBlock {
        let cell = radio.cell;
        let configured = PuschBlock {
            mcs: self.mcs,
            prbs: self.prbs,
            start: None,
            layers: 1,
            size: self.size,
            is_beyond_reach: false,
        };
        let band = f32::from(cell.resource_blocks);
        let may_be_limited = link.uplink.power.is_controlled()
            && link.uplink.known_power.factor.is_none_or(|factor| factor * f32::from(self.prbs) > band);
        if cell.mac.uplink.headroom.is_none() || !may_be_limited {
            return configured;
        }
        sound(slot, radio, link, mobility);
        let need = PuschNeed { wanted: self.size, least: Bytes(LEAST_BLOCK), highest: self.mcs, power: 1.0 };
        let block = pusch::choose(cell, phy, &mut link.uplink, self.prbs, need, |_| true);
        block.filter(|block| block.size < self.size).unwrap_or(configured)
    }

    /// Whether a UE has an occasion in this slot.
    fn is_due(&self, slot: u64, ue: u32) -> bool {
        let duplex = self.numerology.duplex;
        if !duplex.has_uplink(slot) {
            return false;
        }
        let phase = duplex.phase_of(self.occasions, ue);
        duplex.takes_place(slot, self.occasions.period, phase)
    }

    /// The UEs with an occasion in this slot, and no gap.
    pub(crate) fn due<'a>(
        &'a self,
        slot: u64,
        cell: CellId,
        ues: &'a (impl UeSet + ?Sized),
    ) -> impl Iterator<Item = u32> + 'a {
        let here = move |ue: &&Ue| {
            ue.is_present
                && ue.links.is_primary(cell)
                && self.is_due(slot, ue.id.0)
                && ue.may_send(&self.numerology, slot)
        };
        ues.each().filter(here).map(|ue| ue.id.0)
    }

    /// Resource blocks of the occasions of a slot, of which `band` has place for whole ones.
    pub(crate) fn reserved(&self, slot: u64, cell: CellId, band: u16, ues: &(impl UeSet + ?Sized)) -> u16 {
        let most = usize::from(band / self.prbs);
        self.due(slot, cell, ues).take(most).count() as u16 * self.prbs
    }
}
