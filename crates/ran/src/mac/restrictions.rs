//! Whether a link may be scheduled, and until when.
//!
//! Whatever keeps a cell from scheduling a link although there is data is a rule of
//! [`Restrictions::may_be_scheduled`]: the radio of the cell, which planned outages switch off; a downlink without a CQI
//! report or without a free HARQ process; a UE that does not listen to PDCCH, or has a measurement gap; a secondary cell that
//! is not active; a UE that switches its bandwidth part, or waits for that; and early throttling. Each answer says until when
//! it holds, so that a link need not be asked again in each slot
//! ([`super::changes`]). A handover needs no rule: while it is carried out, the bearers of its UE are suspended and have no
//! data. A UE out of range needs none either: its RBGs carry no bytes.

use airlane_core::{Bytes, Direction, Instant};

use super::bwp::Part;
use super::gaps::{Listening, PlannedBlock};
use super::throttle::Throttle;
use crate::config::CellConfig;
use crate::link::{DownlinkState, ServingLink};

/// Whether a link may be scheduled, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Availability {
    pub(crate) may_be_scheduled: bool,
    /// The answer holds before this time, unless the HARQ processes of the link change, or
    /// [`Restrictions::begin_slot`] says that answers have changed.
    pub(crate) until: Instant,
}

impl Availability {
    /// Whether the link need not be looked at before [`Self::until`], which is known.
    pub(crate) fn rests(&self, pdcch: Instant) -> bool {
        !self.may_be_scheduled && self.until > pdcch && self.until != Instant::FAR_FUTURE
    }
}

/// The rules of a cell.
#[derive(Debug)]
pub(crate) struct Restrictions {
    /// Whether the radio is on. When it is switched off, the MAC of all UEs is reset.
    pub(crate) is_on: bool,
    throttle: Option<Throttle>,
}

impl Restrictions {
    /// For a cell in a network of this many UEs.
    pub(crate) fn new(cell: &CellConfig, ues: usize) -> Self {
        Self { is_on: true, throttle: cell.early_throttling.map(|config| Throttle::new(config, ues)) }
    }

    /// A UE was added to the network.
    pub(crate) fn add_ue(&mut self) {
        if let Some(throttle) = &mut self.throttle {
            throttle.add_ue();
        }
    }

    /// A UE leaves the cell.
    pub(crate) fn forget(&mut self, ue: u32) {
        if let Some(throttle) = &mut self.throttle {
            throttle.forget(ue);
        }
    }

    /// The bearer of a UE will be set up at this time.
    pub(crate) fn announce(&mut self, at: Instant, ue: u32) {
        if let Some(throttle) = &mut self.throttle {
            throttle.announce(at, ue);
        }
    }

    /// A packet of a UE has arrived. Returns whether it may enter its queue, of which `queue` gives length and limit.
    #[inline]
    pub(crate) fn admits(
        &mut self,
        now: Instant,
        ue: u32,
        direction: Direction,
        queue: impl FnOnce() -> (Bytes, Bytes),
    ) -> bool {
        let Some(throttle) = &mut self.throttle else { return true };
        throttle.packet(now, ue);
        let (length, limit) = queue();
        direction == Direction::Uplink || throttle.admits(now, ue, length, limit)
    }

    /// Whether every packet may enter its queue, and no packet changes what may be scheduled.
    pub(crate) fn ignore_packets(&self) -> bool {
        self.throttle.is_none()
    }

    /// A slot of the downlink is about to be scheduled. Returns true if answers may have changed before their time.
    #[inline]
    pub(crate) fn begin_slot(&mut self, now: Instant) -> bool {
        self.throttle.as_mut().is_some_and(|throttle| throttle.begin_slot(now))
    }

    /// Whether the link of a UE may be scheduled with a block.
    #[inline]
    pub(crate) fn may_be_scheduled(
        &self,
        ue: u32,
        link: &ServingLink,
        Listening { drx, gaps }: Listening<'_>,
        block: PlannedBlock<'_>,
    ) -> Availability {
        let pdcch = block.pdcch;
        if !link.is_in_use() {
            return Availability { may_be_scheduled: false, until: Instant::FAR_FUTURE };
        }
        if let Some(drx) = drx {
            let until = drx.next_active(pdcch);
            if until > pdcch {
                return Availability { may_be_scheduled: false, until };
            }
        }
        if let Some(gaps) = gaps
            && !gaps.leave(block, link.scell.as_deref())
        {
            return Availability { may_be_scheduled: false, until: pdcch };
        }
        if let Some(bwp) = &link.bwp
            && bwp.assigned(block.direction, pdcch) == Part::Switching
        {
            return Availability { may_be_scheduled: false, until: pdcch };
        }
        // A UE that listens now may sleep, have a gap, or switch to another part, in the next slot.
        let may_change = drx.is_some() || gaps.is_some() || link.bwp.is_some();
        let until = if may_change { pdcch } else { Instant::FAR_FUTURE };
        let lasting = |may_be_scheduled: bool| Availability { may_be_scheduled, until };
        let DownlinkState { cqi, harq, .. } = &link.downlink;
        match (block.direction, &self.throttle) {
            (Direction::Uplink, _) => lasting(self.is_on),
            // The first report comes into force in one of the next slots.
            (Direction::Downlink, _) if !cqi.is_valid() => {
                Availability { may_be_scheduled: false, until: pdcch }
            }
            (Direction::Downlink, _) if harq.free_process().is_none() => lasting(false),
            (Direction::Downlink, Some(throttle)) if throttle.is_restricted(ue) => {
                Availability { may_be_scheduled: self.is_on && throttle.is_open(), until: pdcch }
            }
            (Direction::Downlink, _) => lasting(self.is_on),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use airlane_core::{Duration, Seeds};

    use super::super::phy::{BlockTables, Phy};
    use super::super::throttle::{ThrottleBy, ThrottleConfig};
    use super::*;
    use crate::build::Environment;
    use crate::config::UplinkAccess;
    use crate::cqi::MeasuringUe;
    use crate::interference::Air;
    use crate::link::Radio;
    use crate::tests::network;
    use crate::ue::Ue;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// UE 0 is old when two more arrive at 1000 ms; its share falls to 1/3 within 10 ms, for 50 ms.
    #[test]
    fn an_answer_holds_until_its_time_or_until_begin_slot_says_otherwise() {
        let config = network(3, UplinkAccess::IdealBufferStatus { delay: 1 });
        let mut ues = Environment::new(&config).ues(&config, Seeds::new(1));
        let (cell, air) = (&config.cells[0], Air::new(&config.cells));
        let mut phy = Phy::new(cell, Arc::new(BlockTables::new(cell, &config.cells)));
        let [within, ramp, hold] = [10, 10, 50].map(Duration::from_millis);
        let throttle = ThrottleConfig { bearers: 2, within, ramp, hold, by: ThrottleBy::Share };
        let mut restrictions = Restrictions { is_on: true, throttle: Some(Throttle::new(throttle, 3)) };
        let (mut held, mut closed, mut changes) = ([None; 3], 0, vec![]);
        for slot in 0..2000 {
            for ue in (0..3).filter(|ue| slot == if *ue == 0 { 0 } else { 1000 }) {
                assert!(restrictions.admits(ms(slot), ue, Direction::Uplink, || (Bytes(0), Bytes(1))));
            }
            if restrictions.begin_slot(ms(slot)) {
                held = [None; 3];
                changes.push(slot);
            }
            for (Ue { id, mobility, links, .. }, held) in ues.iter_mut().zip(&mut held) {
                let (amc, scratch) = phy.amc_and_sinr(Direction::Downlink);
                let link = links.primary_mut();
                link.measure_cqi(
                    slot,
                    MeasuringUe { mobility, drx: None, gaps: None },
                    Radio { cell, air: &air },
                    amc,
                    scratch,
                );
                let ask = |direction: Direction| {
                    let block = PlannedBlock { cell, direction, pdcch: ms(slot), slot };
                    restrictions.may_be_scheduled(id.0, link, Listening::default(), block)
                };
                let answer = ask(Direction::Downlink);
                assert!(held.is_none_or(|held| held == answer), "{id:?} at {slot} ms");
                *held = (answer.until > ms(slot)).then_some(answer);
                // Before the first report, none may be scheduled.
                assert!(answer.may_be_scheduled || slot < 100 || id.0 == 0);
                closed += u32::from(slot >= 100 && !answer.may_be_scheduled);
                assert!(ask(Direction::Uplink).may_be_scheduled);
            }
        }
        // 1 - 2/3 · k/10 in slot k of the first ten from 1000 ms on, then 1/3 of 50: 7 + 50/3 slots of 60 are open.
        assert_eq!(changes, [1000, 1060]);
        assert!((36..=37).contains(&closed), "{closed}");
    }
}
