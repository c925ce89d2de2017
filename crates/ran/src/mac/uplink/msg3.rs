//! Msg3 of UEs that set up their connections, or ask for a grant: the only grants that are not made in the order of their
//! slots.
//!
//! A UE sends one PUSCH in a slot. One with a grant in a random access response and another one for its C-RNTI in the same
//! slot may use either (TS 38.321 v16.0.0 §5.4.1, note 3; TS 36.321 §5.4.1, unverified). Here it uses that for its C-RNTI.

use airlane_core::{Bytes, UeId};
use airlane_radio::Mcs;

use super::super::phy::Phy;
use super::super::pusch::PuschBlock;
use super::{Grant, UplinkMac, process_for};
use crate::config::CellConfig;
use crate::link::ServingLink;
use crate::numerology::UplinkHarq;
use crate::rrc::connection::ConnectionConfig;
use crate::slot::{CellSlot, UeSet};

/// Bytes of control elements that may be in the block of Msg3 (TS 36.321 §6.1.3, TS 38.321 §6.1.3).
const REQUEST_CONTROL: u64 = 6;

/// A Msg3, or the PUSCH of a MsgA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Msg3 {
    /// Its sender.
    pub(crate) ue: UeId,
    /// The first slot in which it may be sent.
    pub(crate) earliest: u64,
    /// Bytes of the request in it.
    pub(crate) bytes: Bytes,
}

impl UplinkMac {
    /// Grants Msg3 to a UE (TS 36.213 §6.2, TS 38.213 §8.2): a block of the lowest MCS with room for the request, in the
    /// first slot with an uplink. Returns the slot, or `None` if it has no room, or the UE has another PUSCH there.
    pub(crate) fn grant_msg3(
        &mut self,
        cell: &CellConfig,
        phy: &Phy,
        link: &mut ServingLink,
        msg3: Msg3,
    ) -> Option<u64> {
        let Msg3 { ue, earliest, bytes } = msg3;
        let numerology = &cell.numerology;
        let pusch = numerology.duplex.next_uplink(earliest);
        if self.is_granted(ue.0, pusch) || self.repeats(ue.0, pusch) {
            return None;
        }
        if link.bwp.as_ref().is_some_and(|bwp| !bwp.may_send(numerology.start_of(pusch))) {
            return None;
        }
        let process = process_for(numerology.harq, pusch, &link.uplink.harq)?;
        let prbs = self.request_prbs(phy, bytes)?;
        let size = phy.blocks.uplink(1, Mcs::new(0), prbs);
        if self.repeated(pusch) + self.granted(pusch) + prbs > self.prbs {
            return None;
        }
        link.on_answer(numerology.start_of(pusch + 1));
        link.uplink.harq.start(process);
        link.uplink.outstanding += size.get();
        let mcs = Mcs::new(0);
        let block = PuschBlock { mcs, prbs, start: None, layers: 1, size, is_beyond_reach: true };
        self.add_grant(Grant::new(pusch, ue.0, process, block));
        Some(pusch)
    }

    /// PRBs of a block of the lowest MCS with room for a request of this many bytes; `None` if the band is too narrow.
    fn request_prbs(&self, phy: &Phy, bytes: Bytes) -> Option<u16> {
        let wanted = bytes + Bytes(REQUEST_CONTROL);
        (1..=self.prbs).find(|&prbs| phy.blocks.uplink(1, Mcs::new(0), prbs) >= wanted)
    }

    /// PRBs of a slot that are kept for the PUSCH of MsgA: those of each preamble, without those that are granted.
    fn kept_for_message_a<U: UeSet + ?Sized>(
        &self,
        slot: &CellSlot<'_, U>,
        pusch: u64,
        connection: &ConnectionConfig,
    ) -> u16 {
        let access = &connection.access;
        let Some(message_a) = access.message_a else { return 0 };
        if !access.has_message_a(pusch, &slot.cell.numerology) {
            return 0;
        }
        let bytes = Bytes(u64::from(connection.messages[0].bytes));
        let each = self.request_prbs(slot.phy, bytes).unwrap_or(0);
        let all = (u32::from(each) * message_a.preambles).min(self.prbs.into()) as u16;
        all.saturating_sub(self.granted(pusch))
    }

    /// Retransmissions that are due in a slot, as far as they are known.
    fn due_again(&self, pusch: u64) -> impl Iterator<Item = &Grant> {
        self.retransmissions.iter().filter(move |grant| grant.slot == pusch)
    }

    /// Their PRBs.
    fn repeated(&self, pusch: u64) -> u16 {
        self.due_again(pusch).map(|grant| grant.block.prbs).sum()
    }

    /// Whether one of them is a UE's.
    fn repeats(&self, ue: u32, pusch: u64) -> bool {
        self.due_again(pusch).any(|grant| grant.ue == ue)
    }

    /// A Msg3 that the retransmissions of a slot do not allow: that of a UE which has one of them, or else the latest, if there
    /// are not enough PRBs.
    fn displaced(&self, pusch: u64, free: u16) -> Option<usize> {
        let grants = || self.grants.iter();
        let of_repeating = grants().rposition(|grant| grant.slot == pusch && self.repeats(grant.ue, pusch));
        of_repeating.or_else(|| {
            let is_full = self.repeated(pusch) + self.granted(pusch) > free;
            if is_full { grants().rposition(|grant| grant.slot == pusch) } else { None }
        })
    }

    /// With synchronous HARQ, a retransmission keeps its slot and its PRBs: Msg3 that was granted there before the first
    /// transmission failed is not sent, and its UE contends again.
    fn withdraw_requests<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>, pusch: u64, free: u16) {
        let is_synchronous = slot.cell.numerology.harq.uplink == UplinkHarq::Synchronous;
        if !is_synchronous || self.retransmissions.is_empty() {
            return;
        }
        while let Some(at) = self.displaced(pusch, free)
            && let Some(request) = self.grants.remove(at)
        {
            let uplink = &mut slot.link(request.ue).uplink;
            uplink.outstanding -= request.block.size.get();
            uplink.harq.release(request.process);
        }
    }

    /// [`Self::grant_retransmissions`], next to Msg3 and the PRACH of UEs that set up their connections.
    pub(super) fn repeat_blocks<U: UeSet + ?Sized>(
        &mut self,
        slot: &mut CellSlot<'_, U>,
        earliest: u64,
        pusch: u64,
        free: u16,
    ) -> u16 {
        let cell = slot.cell;
        let Some(connection) = &cell.connection else {
            return self.grant_retransmissions(slot, earliest, pusch, free);
        };
        self.withdraw_requests(slot, pusch, free);
        let kept = self.kept_for_message_a(slot, pusch, connection);
        let free = free.saturating_sub(self.granted(pusch) + kept);
        let left = self.grant_retransmissions(slot, earliest, pusch, free);
        let begins = cell.numerology.start_of(pusch);
        left.saturating_sub(connection.access.prach_prbs(begins, &cell.numerology))
    }
}
