//! The receiving side of acknowledged mode (TS 38.322 v18.2.0 §5.2.3.2, §5.3.4).

use airlane_core::Instant;
use airlane_core::ring::Ring;

use super::AmConfig;
use super::status::{NrReports, Writer};
use crate::rlc::nr::header;
use crate::rlc::nr::parts::Parts;
use crate::rlc::window::{Missing, OPEN_END};
use crate::rlc::{DataPdu, StatusPdu};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Missing,
    Partial,
    Complete,
}

/// An SDU in the reception buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Its length; 0 while unknown.
    len: u32,
    state: State,
    /// A PDU of it polled, and RX_Highest_Status delays the STATUS PDU.
    polled: bool,
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct Receiver {
    config: AmConfig,
    /// RX_Next: the first sequence number that has not been received completely.
    first_missing: u32,
    /// RX_Highest_Status: the highest ACK_SN that a STATUS PDU may have.
    highest_status: u32,
    /// From RX_Next to RX_Next_Highest, which is one past the highest sequence number of which anything was received.
    slots: Ring<Slot>,
    /// The received segments of incomplete SDUs.
    parts: Parts,
    /// RX_Next_Status_Trigger, and when t-Reassembly expires; `FAR_FUTURE` while it does not run.
    trigger_sn: u32,
    reassembly_until: Instant,
    /// A STATUS PDU is due, but not before t-StatusProhibit has expired.
    triggered: bool,
    prohibited_until: Instant,
    /// When the bearer must be informed that a STATUS PDU is possible; `FAR_FUTURE` if none is due.
    wake_at: Instant,
}

impl Receiver {
    pub(crate) fn new(config: &AmConfig) -> Self {
        Self {
            config: *config,
            first_missing: 0,
            highest_status: 0,
            slots: Ring::new(config.reserved()),
            parts: Parts::default(),
            trigger_sn: 0,
            reassembly_until: Instant::FAR_FUTURE,
            triggered: false,
            prohibited_until: Instant::ZERO,
            wake_at: Instant::FAR_FUTURE,
        }
    }

    /// Re-establishment (TS 38.322 v18.2.0 §5.1.2): no segments, no timers. Sequence numbers continue with the
    /// transmitter's next, since only their differences matter; a PDU that was on the air before then counts as old.
    pub(crate) fn reestablish(&mut self, next_sn: u32) {
        self.first_missing = next_sn;
        self.highest_status = next_sn;
        self.slots.clear();
        self.parts.clear();
        self.reassembly_until = Instant::FAR_FUTURE;
        self.triggered = false;
        self.prohibited_until = Instant::ZERO;
        self.wake_at = Instant::FAR_FUTURE;
    }

    /// When t-Reassembly expires, or t-StatusProhibit if it delays a STATUS PDU.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.reassembly_until.min(self.wake_at)
    }

    /// RX_Next_Highest.
    fn highest(&self) -> u32 {
        self.first_missing + self.slots.len() as u32
    }

    /// Receives a PDU; true if this completes its SDU.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant, pdu: &DataPdu) -> bool {
        if pdu.sn == self.first_missing && self.slots.is_empty() && !pdu.segment {
            // RX_Highest_Status = RX_Next_Highest = RX_Next, and t-Reassembly does not run.
            self.first_missing += 1;
            self.highest_status = self.first_missing;
            if pdu.poll {
                self.trigger(now);
            }
            return true;
        }
        self.receive_out_of_order(now, pdu)
    }

    /// TS 38.322 v18.2.0 §5.2.3.2.2, §5.2.3.2.3.
    fn receive_out_of_order(&mut self, now: Instant, pdu: &DataPdu) -> bool {
        let index = pdu.sn.checked_sub(self.first_missing).map(|index| index as usize);
        let state = |index| self.slots.get(index).map_or(State::Missing, |slot| slot.state);
        let is_discarded = index.is_none_or(|index| state(index) == State::Complete);
        if pdu.poll && (is_discarded || pdu.sn < self.highest_status) {
            self.trigger(now); // §5.3.4
        }
        let Some(index) = index.filter(|_| !is_discarded) else {
            return false;
        };
        assert!(index < self.config.window(), "the transmitter keeps to the window");
        self.slots.extend_to(index + 1);
        let complete = self.place(index, pdu);
        if complete {
            self.advance_highest_status(now);
            while self.slots.front().is_some_and(|slot| slot.state == State::Complete) {
                self.slots.pop_front();
                self.first_missing += 1;
            }
        }
        self.update_reassembly(now);
        complete
    }

    /// Stores a PDU in the slot of its SDU; true if the SDU is complete.
    fn place(&mut self, index: usize, pdu: &DataPdu) -> bool {
        let slot = self.slots.get_mut(index).expect("extended to it");
        slot.polled |= pdu.poll;
        if !pdu.segment || pdu.last {
            slot.len = pdu.offset + pdu.len;
        }
        let len = slot.len;
        let was_partial = slot.state == State::Partial;
        let complete = !pdu.segment || self.parts.merge(pdu.sn, pdu.offset, pdu.offset + pdu.len) == (0, len);
        slot.state = if complete { State::Complete } else { State::Partial };
        if complete && (was_partial || pdu.segment) {
            self.parts.remove(pdu.sn);
        }
        complete
    }

    /// Moves RX_Highest_Status over complete SDUs; a poll that it passes is answered.
    fn advance_highest_status(&mut self, now: Instant) {
        let mut polled = false;
        while let Some(slot) = self.slots.get((self.highest_status - self.first_missing) as usize) {
            if slot.state != State::Complete {
                break;
            }
            polled |= slot.polled;
            self.highest_status += 1;
        }
        if polled {
            self.trigger(now);
        }
    }

    fn update_reassembly(&mut self, now: Instant) {
        let first = self.first_missing;
        // RX_Next_Status_Trigger was RX_Next_Highest once, so it is outside of the window only if RX_Next has passed it.
        let is_over = self.trigger_sn <= first || self.trigger_sn == first + 1 && !self.parts.has_gap(first);
        if self.reassembly_until != Instant::FAR_FUTURE && is_over {
            self.reassembly_until = Instant::FAR_FUTURE;
        }
        self.start_reassembly(now, first);
    }

    /// Starts t-Reassembly if it does not run and something is missing from `first` on, of what was received after.
    fn start_reassembly(&mut self, now: Instant, first: u32) {
        let highest = self.highest();
        let is_waiting = highest > first + 1 || highest == first + 1 && self.parts.has_gap(first);
        if self.reassembly_until == Instant::FAR_FUTURE && is_waiting {
            self.trigger_sn = highest;
            self.reassembly_until = now.saturating_add(self.config.t_reassembly);
        }
    }

    /// t-Reassembly has expired (TS 38.322 v18.2.0 §5.2.3.2.4), or t-StatusProhibit.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.reassembly_until <= now {
            self.reassembly_until = Instant::FAR_FUTURE;
            self.highest_status = self.highest_status.max(self.trigger_sn);
            self.advance_highest_status(now);
            self.start_reassembly(now, self.highest_status);
            self.trigger(now);
        }
        if self.wake_at <= now {
            self.wake_at = Instant::FAR_FUTURE;
        }
    }

    #[inline]
    fn trigger(&mut self, now: Instant) {
        // Reserved here, so that a loss after warm-up does not allocate.
        self.parts.warm_up();
        self.slots.warm_up();
        self.triggered = true;
        if now < self.prohibited_until {
            self.wake_at = self.prohibited_until;
        }
    }

    /// The size of the STATUS PDU that may be sent now; 0 if there is none (TS 38.322 v18.2.0 §5.5).
    #[inline]
    pub(crate) fn status_estimate(&self, now: Instant) -> u32 {
        if !self.triggered || now < self.prohibited_until {
            return 0;
        }
        self.write_status(u32::MAX, |_| {}).1
    }

    /// Writes a STATUS PDU of at most `space` bytes, if one is due (TS 38.322 v18.2.0 §5.3.4).
    #[inline]
    pub(crate) fn status(&mut self, now: Instant, space: u32, reports: &mut NrReports) -> Option<StatusPdu> {
        if !self.triggered || now < self.prohibited_until || space < header::STATUS {
            return None;
        }
        self.triggered = false;
        self.wake_at = Instant::FAR_FUTURE;
        self.prohibited_until = now.saturating_add(self.config.t_status_prohibit);
        reports.begin();
        let (ack_sn, size) = self.write_status(space, |nack| reports.add(nack));
        Some(reports.finish(ack_sn, size))
    }

    /// Lists what is missing below RX_Highest_Status, as far as it fits. Returns ACK_SN, which is the next sequence
    /// number that is missing and not listed, and the size.
    fn write_status(&self, space: u32, add: impl FnMut(super::status::Nack)) -> (u32, u32) {
        let mut writer = Writer::new(self.config.sn_bits, space, add);
        for (sn, slot) in (self.first_missing..self.highest_status).zip(self.slots.iter()) {
            let before = writer.listed();
            let listed = match slot.state {
                State::Complete => true,
                State::Missing => writer.list(Missing::whole(sn)),
                State::Partial => {
                    let listed = self.gaps(sn, slot.len).all(|missing| writer.list(missing));
                    // Without room for one pair of offsets, the only way to request anything is to request the
                    // whole SDU.
                    if !listed && writer.listed() == 0 {
                        writer.list(Missing::whole(sn));
                    }
                    listed
                }
            };
            if !listed {
                let ack_sn = if writer.listed() > before { sn + 1 } else { sn };
                return (ack_sn, writer.finish());
            }
        }
        (self.highest_status, writer.finish())
    }

    /// The missing ranges of an SDU that was received in part.
    fn gaps(&self, sn: u32, len: u32) -> impl Iterator<Item = Missing> + '_ {
        let parts = self.parts.of(sn);
        let ends = core::iter::once(0).chain(parts.clone().map(|(_, to)| to));
        let starts = parts.map(|(from, _)| from).chain(core::iter::once(OPEN_END));
        let gaps = ends.zip(starts).filter(move |&(from, to)| from < to && (len == 0 || from < len));
        gaps.map(move |(from, to)| Missing { sn, from, to })
    }
}
