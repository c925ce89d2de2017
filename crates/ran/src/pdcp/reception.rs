//! The receiving side of PDCP after a re-establishment: SDUs in the order of COUNT, each once (TS
//! 36.323 v17.0 §5.1.2.1.2).
//!
//! Between two re-establishments RLC delivers in order and there is nothing to do. After a
//! re-establishment, the receiver holds SDUs behind a gap, and the sender sends again all SDUs that
//! are not confirmed. An SDU that the receiver already has arrives without its packet, since the
//! packet is held here or was delivered.

use std::collections::VecDeque;

use airlane_core::PacketRef;

use crate::rlc::store::CONTROL;

/// The receiving side of PDCP in one direction.
#[derive(Debug, Default)]
pub(crate) struct Reception {
    /// False while the order of RLC is the order of PDCP.
    sorting: bool,
    /// Last_Submitted_PDCP_RX_SN + 1, with its hyper frame number.
    next: u32,
    /// All SDUs from this COUNT on are sent for the first time.
    until: u32,
    /// SDUs behind a gap, in the order of COUNT.
    stored: VecDeque<(u32, PacketRef)>,
    /// SDUs that arrived after one with a higher COUNT had been delivered; they will be discarded.
    late: Vec<PacketRef>,
    duplicates: u64,
    /// A status report for the other direction: under way to this side, and received.
    report: Option<Vec<u8>>,
    report_has_come: bool,
}

impl Reception {
    /// True if SDUs must pass through this reordering.
    #[inline]
    pub(crate) fn is_sorting(&self) -> bool {
        self.sorting
    }

    /// Packets held.
    pub(crate) fn held(&self) -> usize {
        self.stored.len() + self.late.len()
    }

    /// SDUs that were received more than once.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Starts reordering: `next` is the COUNT awaited (unless it is known here already), and all
    /// SDUs from `until` on will be sent for the first time.
    pub(crate) fn begin(&mut self, next: u32, until: u32) {
        if !self.sorting {
            self.next = next;
        }
        self.until = until;
        self.sorting = true;
    }

    /// The COUNT of the first missing SDU: FMS with its hyper frame number.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// The COUNTs of the SDUs behind a gap.
    pub(crate) fn stored(&self) -> impl Iterator<Item = u32> {
        self.stored.iter().map(|(count, _)| *count)
    }

    /// Stores an SDU that RLC delivers because of its re-establishment; this does not give up a gap. It is late if this
    /// side has gone past it before.
    pub(crate) fn store(&mut self, count: u32, packet: PacketRef) {
        if self.sorting && count < self.next {
            return self.late.push(packet);
        }
        debug_assert!(count >= self.next, "delivered and still there");
        let index = self.stored.partition_point(|(other, _)| *other < count);
        self.stored.insert(index, (count, packet));
    }

    /// Delivers the SDUs that are in order.
    pub(crate) fn advance(&mut self, deliver: &mut Vec<PacketRef>) {
        while self.stored.front().is_some_and(|(count, _)| *count == self.next) {
            deliver.extend(self.stored.pop_front().map(|(_, packet)| packet));
            self.next += 1;
        }
    }

    /// Delivers everything and ends reordering.
    pub(crate) fn end(&mut self, deliver: &mut Vec<PacketRef>) {
        deliver.extend(self.stored.drain(..).map(|(_, packet)| packet));
        self.sorting = false;
    }

    /// Receives an SDU from RLC, in RLC's order: SDUs with a lower COUNT that have not arrived
    /// never will.
    #[cold]
    pub(crate) fn receive(&mut self, count: u32, packet: Option<PacketRef>, deliver: &mut Vec<PacketRef>) {
        match packet {
            None if count == CONTROL => return self.report_arrives(),
            None => self.duplicates += 1,
            Some(packet) if count < self.next => self.late.push(packet),
            Some(packet) => {
                while self.stored.front().is_some_and(|(other, _)| *other < count) {
                    deliver.extend(self.stored.pop_front().map(|(_, before)| before));
                }
                deliver.push(packet);
                self.next = count + 1;
                self.advance(deliver);
            }
        }
        self.sorting = count + 1 < self.until || !self.stored.is_empty() || self.report.is_some();
    }

    /// True if there is a late SDU or a report for the owner of both directions.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.report_has_come || !self.late.is_empty()
    }

    /// The next SDU that arrived too late.
    pub(crate) fn take_late(&mut self) -> Option<PacketRef> {
        self.late.pop()
    }

    /// A status report for this side has been sent.
    pub(crate) fn expect_report(&mut self, report: Vec<u8>) {
        self.hold_report(report);
        self.sorting = true;
    }

    /// A status report for this side has been sent, whose arrival RLC announces.
    pub(crate) fn hold_report(&mut self, report: Vec<u8>) {
        self.report = Some(report);
        self.report_has_come = false;
    }

    /// The status report arrives.
    pub(crate) fn report_arrives(&mut self) {
        self.report_has_come = true;
    }

    /// The status report that has arrived. One that is under way at a re-establishment never arrives.
    pub(crate) fn take_report(&mut self) -> Option<Vec<u8>> {
        if core::mem::take(&mut self.report_has_come) { self.report.take() } else { None }
    }

    /// Removes a report that was under way.
    pub(crate) fn lose_report(&mut self) {
        self.report = None;
        self.report_has_come = false;
    }

    /// True if no state of a re-establishment is left.
    pub(crate) fn is_idle(&self) -> bool {
        !self.sorting && self.held() == 0 && self.report.is_none()
    }
}
