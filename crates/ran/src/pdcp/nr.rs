//! The receiving side of PDCP of NR (TS 38.323 v18.5.0 §5.2.2): reordering by COUNT, each SDU once, and its status
//! report.
//!
//! COUNTs are compared without the modulus of the sequence number. Not included, besides what LTE's PDCP leaves out:
//! duplication, DAPS, and SN gap reports.

use airlane_core::ring::Ring;
use airlane_core::{Cx, DropCause, Duration, Instant, PacketRef};

use super::status::StatusReport;

/// Configuration of the receiving side of PDCP (TS 38.331 v18.6.0 §6.3.2, PDCP-Config).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReorderingConfig {
    /// t-Reordering: how long a gap may exist before the receiver gives it up; `None` for infinity, which the field
    /// means if it is absent.
    pub t_reordering: Option<Duration>,
    /// outOfOrderDelivery: SDUs are delivered in the order of arrival.
    pub out_of_order: bool,
}

/// An SDU from RX_DELIV on.
#[derive(Debug, Default)]
enum Slot {
    #[default]
    Missing,
    Stored(PacketRef),
    /// Delivered out of order.
    Delivered,
}

/// Memory is reserved for this many SDUs behind a gap: at 1 Gbit/s with SDUs of 1500 bytes those of 24 ms, which is
/// more than three HARQ retransmissions take.
const RESERVED: usize = 2048;

/// The receiving side of PDCP in one direction.
#[derive(Debug)]
pub(crate) struct Receiver {
    config: ReorderingConfig,
    /// RX_DELIV: the first COUNT not delivered that is still waited for.
    first_missing: u32,
    /// From RX_DELIV to RX_NEXT, which is one past the highest COUNT received.
    slots: Ring<Slot>,
    /// RX_REORD, and when t-Reordering expires; `FAR_FUTURE` while it does not run.
    reordering_count: u32,
    until: Instant,
    /// Packets stored.
    held: usize,
    duplicates: u64,
    /// A status report is due.
    report_due: bool,
}

impl Receiver {
    pub(crate) fn new(config: &ReorderingConfig) -> Self {
        Self {
            config: *config,
            first_missing: 0,
            slots: Ring::new(RESERVED),
            reordering_count: 0,
            until: Instant::FAR_FUTURE,
            held: 0,
            duplicates: 0,
            report_due: false,
        }
    }

    /// RX_DELIV.
    pub(crate) fn first_missing(&self) -> u32 {
        self.first_missing
    }

    /// RX_NEXT.
    fn next(&self) -> u32 {
        self.first_missing + self.slots.len() as u32
    }

    /// Packets stored.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// SDUs that were received more than once.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// When t-Reordering expires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.until
    }

    /// Receives an SDU from RLC (TS 38.323 v18.5.0 §5.2.2.1), without its packet if it was received before.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        count: u32,
        packet: Option<PacketRef>,
        deliver: &mut Vec<PacketRef>,
    ) {
        let Some(packet) = packet else {
            self.duplicates += 1;
            return;
        };
        if count == self.first_missing && self.slots.is_empty() {
            // RX_NEXT = RX_DELIV, and t-Reordering does not run.
            if count == 0 {
                self.slots.warm_up();
            }
            self.first_missing += 1;
            deliver.push(packet);
            return;
        }
        self.receive_out_of_order(cx, count, packet, deliver);
    }

    fn receive_out_of_order(
        &mut self,
        cx: &mut Cx<'_>,
        count: u32,
        packet: PacketRef,
        deliver: &mut Vec<PacketRef>,
    ) {
        let Some(index) = count.checked_sub(self.first_missing) else {
            return cx.discard(packet, DropCause::Discarded); // after the end of t-Reordering
        };
        let index = index as usize;
        self.slots.extend_to(index + 1);
        let slot = self.slots.get_mut(index).expect("extended to it");
        assert!(matches!(slot, Slot::Missing), "one packet at two ends");
        *slot = if self.config.out_of_order {
            deliver.push(packet);
            Slot::Delivered
        } else {
            self.held += 1;
            Slot::Stored(packet)
        };
        self.advance(deliver);
        if self.until != Instant::FAR_FUTURE && self.first_missing >= self.reordering_count {
            self.until = Instant::FAR_FUTURE;
        }
        self.start_reordering(cx.now);
    }

    /// Delivers the SDUs that are in order, and moves RX_DELIV over them.
    fn advance(&mut self, deliver: &mut Vec<PacketRef>) {
        while self.slots.front().is_some_and(|slot| !matches!(slot, Slot::Missing)) {
            self.step(deliver);
        }
    }

    /// Moves RX_DELIV by one, past an SDU that was received or given up.
    fn step(&mut self, deliver: &mut Vec<PacketRef>) {
        self.first_missing += 1;
        if let Some(Slot::Stored(packet)) = self.slots.pop_front() {
            self.held -= 1;
            deliver.push(packet);
        }
    }

    fn start_reordering(&mut self, now: Instant) {
        if self.until == Instant::FAR_FUTURE
            && !self.slots.is_empty()
            && let Some(t_reordering) = self.config.t_reordering
        {
            self.reordering_count = self.next();
            self.until = now.saturating_add(t_reordering);
        }
    }

    /// t-Reordering has expired (TS 38.323 v18.5.0 §5.2.2.2): missing SDUs below RX_REORD are given up.
    pub(crate) fn handle_timeout(&mut self, now: Instant, deliver: &mut Vec<PacketRef>) {
        self.until = Instant::FAR_FUTURE;
        while self.first_missing < self.reordering_count {
            self.step(deliver);
        }
        self.advance(deliver);
        self.start_reordering(now);
    }

    /// Delivers all stored SDUs and stops t-Reordering; the next SDU expected is `next` (TS 38.323 v18.5.0 §5.1.2 for
    /// unacknowledged mode, §5.1.3).
    pub(crate) fn end(&mut self, next: u32, deliver: &mut Vec<PacketRef>) {
        while !self.slots.is_empty() {
            self.step(deliver);
        }
        self.first_missing = next;
        self.until = Instant::FAR_FUTURE;
    }

    /// Removes a stored SDU, which will be received again.
    pub(crate) fn take_back(&mut self, count: u32) -> Option<PacketRef> {
        let slot = self.slots.get_mut(count.checked_sub(self.first_missing)? as usize)?;
        match core::mem::take(slot) {
            Slot::Stored(packet) => {
                self.held -= 1;
                Some(packet)
            }
            other => {
                *slot = other;
                None
            }
        }
    }

    /// A re-establishment triggers a status report (TS 38.323 v18.5.0 §5.4.1).
    pub(crate) fn request_report(&mut self) {
        self.report_due = true;
    }

    /// The status report that is due.
    pub(crate) fn take_report(&mut self) -> Option<StatusReport> {
        core::mem::take(&mut self.report_due).then(|| self.report())
    }

    /// The COUNTs received behind RX_DELIV.
    fn report(&self) -> StatusReport {
        let received = (self.first_missing..).zip(self.slots.iter());
        let received = received.filter(|(_, slot)| !matches!(slot, Slot::Missing)).map(|(count, _)| count);
        StatusReport { first_missing: self.first_missing, received: received.collect() }
    }
}

/// The longest control PDU (TS 38.323 v18.5.0 §5.4.1), of which the header and FMC take five bytes.
const REPORT_MAX: usize = 9000;

impl StatusReport {
    /// The control PDU of NR (TS 38.323 v18.5.0 §6.2.3.1): D/C and PDU type 0, reserved bits, FMC of 32 bits, and the
    /// bitmap, whose first bit is FMC + 1.
    pub(crate) fn encode_nr(&self) -> Vec<u8> {
        let mut pdu = vec![0];
        pdu.extend(self.first_missing.to_be_bytes());
        for count in &self.received {
            let bit = (count - self.first_missing - 1) as usize;
            let octet = pdu.len().max(5 + bit / 8 + 1);
            if octet > REPORT_MAX {
                break;
            }
            pdu.resize(octet, 0);
            pdu[5 + bit / 8] |= 0x80 >> (bit % 8);
        }
        pdu
    }

    /// Decodes a control PDU of NR.
    pub(crate) fn decode_nr(pdu: &[u8]) -> Option<Self> {
        let (fixed, bitmap) = pdu.split_at_checked(5)?;
        let [0x00..=0x0F, count @ ..] = fixed else {
            return None; // not a status report
        };
        let first_missing = u32::from_be_bytes(count.try_into().ok()?);
        let is_set = |bit: u32| bitmap[bit as usize / 8] & (0x80 >> (bit % 8)) != 0;
        let bits = 8 * bitmap.len() as u32;
        let received = (0..bits).filter(|&bit| is_set(bit)).map(|bit| first_missing + 1 + bit).collect();
        Some(Self { first_missing, received })
    }
}

#[cfg(test)]
mod tests;
