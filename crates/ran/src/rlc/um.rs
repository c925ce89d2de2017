//! RLC unacknowledged mode (TS 36.322 v17.0 §5.1.2): segmentation and concatenation, and reordering
//! at the receiver; lost PDUs are not recovered.

use airlane_core::ring::Ring;
use airlane_core::{Cx, DropCause, Duration, Instant, PacketRef};

use super::header;
use super::source::Source;
use super::store::{Ranges, SduStore};
use super::{DataPdu, Pdu};

/// Configuration of unacknowledged mode (TS 36.331 §6.3.2, UL-UM-RLC and DL-UM-RLC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UmConfig {
    /// Bits of the sequence number: 5 or 10.
    pub sn_bits: u8,
    /// t-Reordering: how long a gap may exist before the receiver gives it up.
    pub t_reordering: Duration,
}

/// The transmitting side.
#[derive(Debug)]
pub(crate) struct Transmitter {
    header: u32,
    /// VT(US).
    next_sn: u32,
}

impl Transmitter {
    pub(crate) fn new(config: &UmConfig) -> Self {
        Self { header: header::unacknowledged(config.sn_bits), next_sn: 0 }
    }

    /// The fixed part of a header.
    pub(crate) fn header(&self) -> u32 {
        self.header
    }

    /// Re-establishment (TS 36.322 v17.0 §5.4): the next sequence number, with which the receiver
    /// starts.
    pub(crate) fn reestablish(&self) -> u32 {
        self.next_sn
    }

    /// One PDU of at most `space` bytes.
    #[inline]
    pub(crate) fn transmit(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<Pdu> {
        let from = source.position();
        let filled = source.fill(cx, space, self.header)?;
        let sn = self.next_sn;
        self.next_sn += 1;
        let size = filled.header + filled.len;
        Some(Pdu::Data(DataPdu { from, len: filled.len, sn, size, ..DataPdu::default() }))
    }
}

/// A PDU in the reception buffer; `len` is 0 if it has not been received.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    from: u64,
    len: u32,
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct Receiver {
    t_reordering: Duration,
    /// UM_Window_Size (TS 36.322 v17.0 §7.2): half the sequence numbers.
    window: u32,
    /// VR(UR): the first sequence number that is still awaited.
    first_missing: u32,
    /// From VR(UR) to VR(UH), which is one past the highest one received.
    slots: Ring<Slot>,
    /// VR(UX), and when t-Reordering expires; `FAR_FUTURE` while it does not run.
    reordering_sn: u32,
    reordering_until: Instant,
    /// The end of the last PDU that was received in order.
    position: u64,
}

impl Receiver {
    pub(crate) fn new(config: &UmConfig) -> Self {
        Self {
            t_reordering: config.t_reordering,
            window: 1 << (config.sn_bits - 1),
            first_missing: 0,
            slots: Ring::new(1 << (config.sn_bits - 1)),
            reordering_sn: 0,
            reordering_until: Instant::FAR_FUTURE,
            position: 0,
        }
    }

    /// When t-Reordering expires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.reordering_until
    }

    /// The received ranges of the stream.
    pub(crate) fn received(&self) -> Ranges {
        let mut ranges = Ranges::until(self.position);
        for slot in self.slots.iter().filter(|slot| slot.len > 0) {
            ranges.add(slot.from, slot.from + u64::from(slot.len));
        }
        ranges
    }

    /// Re-establishment (TS 36.322 v17.0 §5.4): no PDUs, no timers; the stream continues at
    /// `position`. Sequence numbers continue as well: only their differences matter.
    pub(crate) fn reestablish(&mut self, next_sn: u32, position: u64) {
        self.first_missing = next_sn;
        self.slots.clear();
        self.reordering_until = Instant::FAR_FUTURE;
        self.position = position;
    }

    /// Receives a PDU (TS 36.322 v17.0 §5.1.2.2.2 to §5.1.2.2.3).
    #[inline]
    pub(crate) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        sdus: &mut SduStore,
        pdu: &DataPdu,
        deliver: &mut Vec<PacketRef>,
    ) {
        if pdu.sn == self.first_missing && self.slots.is_empty() {
            // Nothing is out of order, so t-Reordering does not run either.
            if pdu.sn == 0 {
                self.slots.warm_up();
            }
            self.first_missing += 1;
            self.assemble(cx, sdus, Slot { from: pdu.from, len: pdu.len }, deliver);
            return;
        }
        if pdu.sn < self.first_missing {
            return; // after the end of t-Reordering
        }
        // The window advances with VR(UH), and VR(UR) with it.
        let lowest = (pdu.sn + 1).saturating_sub(self.window);
        while self.first_missing < lowest && !self.slots.is_empty() {
            self.step(cx, sdus, deliver);
        }
        self.first_missing = self.first_missing.max(lowest);
        let index = (pdu.sn - self.first_missing) as usize;
        self.slots.extend_to(index + 1);
        self.slots[index] = Slot { from: pdu.from, len: pdu.len };
        self.assemble_in_order(cx, sdus, deliver);
        if self.reordering_sn <= self.first_missing {
            self.reordering_until = Instant::FAR_FUTURE;
        }
        self.start_reordering(cx.now);
    }

    /// t-Reordering has expired (TS 36.322 v17.0 §5.1.2.2.4): missing PDUs below VR(UX) are given up.
    pub(crate) fn handle_timeout(
        &mut self,
        cx: &mut Cx<'_>,
        sdus: &mut SduStore,
        deliver: &mut Vec<PacketRef>,
    ) {
        if self.reordering_until > cx.now {
            return;
        }
        self.reordering_until = Instant::FAR_FUTURE;
        while self.first_missing < self.reordering_sn {
            self.step(cx, sdus, deliver);
        }
        self.assemble_in_order(cx, sdus, deliver);
        self.start_reordering(cx.now);
    }

    fn start_reordering(&mut self, now: Instant) {
        if self.reordering_until == Instant::FAR_FUTURE && !self.slots.is_empty() {
            self.reordering_sn = self.first_missing + self.slots.len() as u32;
            self.reordering_until = now.saturating_add(self.t_reordering);
        }
    }

    fn assemble_in_order(&mut self, cx: &mut Cx<'_>, sdus: &mut SduStore, deliver: &mut Vec<PacketRef>) {
        while self.slots.front().is_some_and(|slot| slot.len > 0) {
            self.step(cx, sdus, deliver);
        }
    }

    /// Advances VR(UR) by one, past a PDU that was received or given up.
    fn step(&mut self, cx: &mut Cx<'_>, sdus: &mut SduStore, deliver: &mut Vec<PacketRef>) {
        let slot = self.slots.pop_front().expect("VR(UR) stays below VR(UH)");
        self.first_missing += 1;
        if slot.len > 0 {
            self.assemble(cx, sdus, slot, deliver);
        }
    }

    /// Takes the next PDU in order and delivers the SDUs that it completes. If the stream has a gap
    /// before it, every SDU that is in the gap, completely or in part, is lost.
    #[inline]
    fn assemble(&mut self, cx: &mut Cx<'_>, sdus: &mut SduStore, slot: Slot, deliver: &mut Vec<PacketRef>) {
        if slot.from > self.position {
            give_up(cx, sdus, self.position, slot.from);
        }
        self.position = slot.from + u64::from(slot.len);
        while let Some(packet) = sdus.take_until(self.position) {
            deliver.push(packet);
        }
        sdus.release_until(self.position);
    }
}

/// Discards the SDUs that overlap `[from, to)`, a lost part of the stream. All SDUs before it were
/// handled.
#[cold]
fn give_up(cx: &mut Cx<'_>, sdus: &mut SduStore, from: u64, to: u64) {
    while let Some(packet) = sdus.take_until(to) {
        cx.discard(packet, DropCause::Radio);
    }
    if let Some(packet) = sdus.take_across(to) {
        cx.discard(packet, DropCause::Radio);
    }
    debug_assert!(from < to, "an empty gap");
}
