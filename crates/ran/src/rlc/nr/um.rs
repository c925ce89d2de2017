//! RLC unacknowledged mode of NR (TS 38.322 v18.2.0 §5.2.2): segmentation and reassembly. A complete SDU has no
//! sequence number, a segment has that of its SDU among the segmented ones.

use airlane_core::ring::Ring;
use airlane_core::{Cx, Duration, Instant};

use super::header::{self, Headers};
use super::parts::Parts;
use crate::rlc::DataPdu;
use crate::rlc::source::Source;

/// Configuration of unacknowledged mode (TS 38.331 v18.6.0 §6.3.2, UL-UM-RLC and DL-UM-RLC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UmConfig {
    /// Bits of the sequence number: 6 or 12.
    pub sn_bits: u8,
    /// t-Reassembly: how long the receiver waits for missing segments.
    pub t_reassembly: Duration,
}

/// The transmitting side.
#[derive(Debug)]
pub(crate) struct Transmitter {
    headers: Headers,
    /// TX_Next (TS 38.322 v18.2.0 §7.1).
    next_sn: u32,
    /// Bytes of the SDU that is being segmented.
    sdu: u32,
}

impl Transmitter {
    pub(crate) fn new(config: &UmConfig) -> Self {
        Self { headers: header::unacknowledged(config.sn_bits), next_sn: 0, sdu: 0 }
    }

    pub(crate) fn headers(&self) -> Headers {
        self.headers
    }

    /// Re-establishment (TS 38.322 v18.2.0 §5.1.2). Sequence numbers continue: only their differences matter.
    pub(crate) fn reestablish(&mut self) -> u32 {
        self.next_sn += 1; // an SDU may be incomplete at the receiver
        self.next_sn
    }

    /// One PDU of at most `space` bytes.
    #[inline]
    pub(crate) fn transmit(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<DataPdu> {
        let part = source.fill_part(cx, space, self.headers)?;
        let size = part.header + part.len;
        let whole = DataPdu { from: part.from, len: part.len, size, ..DataPdu::default() };
        if part.first && part.last {
            return Some(whole);
        }
        if part.first {
            self.sdu = part.rest;
        }
        let pdu = DataPdu {
            sn: self.next_sn,
            offset: self.sdu - part.rest,
            segment: true,
            last: part.last,
            ..whole
        };
        self.next_sn += u32::from(part.last);
        Some(pdu)
    }
}

/// An SDU in the reception buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Missing,
    /// A segment was received; its length is 0 while the last segment is missing.
    Partial {
        len: u32,
    },
    Delivered,
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct Receiver {
    t_reassembly: Duration,
    /// UM_Window_Size (TS 38.322 v18.2.0 §7.2): half the sequence numbers.
    window: u32,
    /// RX_Next_Reassembly: the earliest sequence number that is still considered for reassembly.
    first: u32,
    /// From RX_Next_Reassembly to RX_Next_Highest, which is one past the highest one received.
    slots: Ring<State>,
    /// The received segments of incomplete SDUs.
    parts: Parts,
    /// RX_Timer_Trigger, and when t-Reassembly expires; `FAR_FUTURE` while it does not run.
    trigger: u32,
    until: Instant,
}

impl Receiver {
    pub(crate) fn new(config: &UmConfig) -> Self {
        Self {
            t_reassembly: config.t_reassembly,
            window: 1 << (config.sn_bits - 1),
            first: 0,
            slots: Ring::new(1 << (config.sn_bits - 1)),
            parts: Parts::default(),
            trigger: 0,
            until: Instant::FAR_FUTURE,
        }
    }

    /// When t-Reassembly expires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.until
    }

    /// Re-establishment (TS 38.322 v18.2.0 §5.1.2): no segments, no timer.
    pub(crate) fn reestablish(&mut self, next_sn: u32) {
        self.first = next_sn;
        self.slots.clear();
        self.parts.clear();
        self.until = Instant::FAR_FUTURE;
    }

    /// RX_Next_Highest.
    fn highest(&self) -> u32 {
        self.first + self.slots.len() as u32
    }

    /// Receives a PDU; true if this completes its SDU.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant, pdu: &DataPdu) -> bool {
        if pdu.from == 0 {
            // So that a loss after warm-up does not allocate.
            self.slots.warm_up();
            self.parts.warm_up();
        }
        if !pdu.segment {
            return true; // §5.2.2.2.2: delivered, it is not in the window
        }
        self.receive_segment(now, pdu)
    }

    /// TS 38.322 v18.2.0 §5.2.2.2.2, §5.2.2.2.3.
    fn receive_segment(&mut self, now: Instant, pdu: &DataPdu) -> bool {
        let Some(index) = pdu.sn.checked_sub(self.first) else {
            return false;
        };
        let index = index as usize;
        let outside = index >= self.slots.len();
        self.slots.extend_to(index + 1);
        let known = match self.slots[index] {
            State::Delivered => return false,
            State::Partial { len } => len,
            State::Missing => 0,
        };
        let len = if pdu.last { pdu.offset + pdu.len } else { known };
        let joined = self.parts.merge(pdu.sn, pdu.offset, pdu.offset + pdu.len);
        let complete = len > 0 && joined == (0, len);
        let slot = self.slots.get_mut(index).expect("it was extended to this index");
        *slot = if complete { State::Delivered } else { State::Partial { len } };
        if complete {
            self.parts.remove(pdu.sn);
            self.skip_delivered();
        } else if outside {
            let lowest = (pdu.sn + 1).saturating_sub(self.window);
            self.give_up_below(lowest);
        }
        self.update_timer(now);
        complete
    }

    /// Advances RX_Next_Reassembly over SDUs that were delivered.
    fn skip_delivered(&mut self) {
        while self.slots.front() == Some(&State::Delivered) {
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// Sets RX_Next_Reassembly to the first sequence number from `lowest` on that was not delivered, and discards
    /// segments below.
    fn give_up_below(&mut self, lowest: u32) {
        if self.first >= lowest {
            return;
        }
        while self.first < lowest && self.slots.pop_front().is_some() {
            self.first += 1;
        }
        self.first = self.first.max(lowest);
        self.skip_delivered();
        self.parts.remove_below(self.first);
    }

    /// True if t-Reassembly has something to wait for.
    fn is_waiting(&self) -> bool {
        let highest = self.highest();
        highest > self.first + 1 || highest == self.first + 1 && self.parts.has_gap(self.first)
    }

    fn update_timer(&mut self, now: Instant) {
        if self.until != Instant::FAR_FUTURE {
            // RX_Timer_Trigger was RX_Next_Highest once, so it is below the window only if it is not above
            // RX_Next_Reassembly.
            let only_prefix = self.highest() == self.first + 1 && !self.parts.has_gap(self.first);
            if self.trigger <= self.first || only_prefix {
                self.until = Instant::FAR_FUTURE;
            }
        }
        self.start_timer(now);
    }

    fn start_timer(&mut self, now: Instant) {
        if self.until == Instant::FAR_FUTURE && self.is_waiting() {
            self.until = now.saturating_add(self.t_reassembly);
            self.trigger = self.highest();
        }
    }

    /// t-Reassembly has expired (TS 38.322 v18.2.0 §5.2.2.2.4).
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.until > now {
            return;
        }
        self.until = Instant::FAR_FUTURE;
        self.give_up_below(self.trigger);
        self.start_timer(now);
    }
}
