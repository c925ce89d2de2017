//! The transmitting side of acknowledged mode (TS 36.322 v17.0 §5.1.3.1, §5.2.1, §5.2.2).

use airlane_core::{Cx, Instant};

use super::AmConfig;
use super::status::Reports;
use crate::rlc::header;
use crate::rlc::source::Source;
use crate::rlc::store::Layout;
use crate::rlc::window::{Missing, PartSize, Unit, Window};
use crate::rlc::{DataPdu, Pdu, StatusPdu};

/// The fixed parts of the headers of an AMD PDU and of a segment of one.
#[derive(Clone, Copy, Debug)]
struct Headers {
    whole: u32,
    segment: u32,
}

impl PartSize for Headers {
    fn part_size(&self, unit: &Unit, part: &Missing) -> u64 {
        let len = part.to - part.from;
        let extra = if len == unit.len { 0 } else { self.segment - self.whole };
        u64::from(len) + u64::from(unit.header) + u64::from(extra)
    }
}

/// The transmitting side.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// Its units are AMD PDUs.
    window: Window<Headers>,
}

impl Transmitter {
    pub(crate) fn new(config: &AmConfig) -> Self {
        let bits = config.sn_bits;
        let headers = Headers { whole: header::acknowledged(bits), segment: header::segment(bits) };
        Self { window: Window::new(config.transmitting(), headers) }
    }

    /// The fixed part of a header.
    pub(crate) fn header(&self) -> u32 {
        self.window.sizes().whole
    }

    /// When t-PollRetransmit expires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.window.next_timeout()
    }

    /// True if the window is full: no new PDU before VT(A) moves.
    #[inline]
    pub(crate) fn is_stalled(&self) -> bool {
        self.window.is_full()
    }

    /// The size of the PDUs for the retransmission buffer.
    #[inline]
    pub(crate) fn retransmission_estimate(&self) -> u64 {
        self.window.to_retransmit().1
    }

    /// How often a PDU reached maxRetxThreshold.
    pub(crate) fn failures(&self) -> u64 {
        self.window.failures()
    }

    /// One PDU of at most `space` bytes: retransmissions before new data.
    #[inline]
    pub(crate) fn transmit(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<Pdu> {
        let pdu = match self.window.next_part() {
            Some(part) => self.retransmit(source, part, space)?,
            None => self.transmit_new(cx, source, space)?,
        };
        let poll = self.window.poll(cx.now, source.is_empty(), self.is_stalled());
        Some(Pdu::Data(DataPdu { poll, ..pdu }))
    }

    #[inline]
    fn transmit_new(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<DataPdu> {
        if self.is_stalled() {
            return None;
        }
        let (from, sn) = (source.position(), self.window.next());
        let filled = source.fill(cx, space, self.header())?;
        let header = u16::try_from(filled.header).expect("a header is shorter than 64 KiB");
        self.window.push(Unit::new(from, filled.len, header));
        self.window.count(filled.len);
        let size = filled.header + filled.len;
        Some(DataPdu { from, len: filled.len, sn, size, ..DataPdu::default() })
    }

    /// Retransmits a PDU or a part of it, or as much of that as fits (TS 36.322 v17.0 §5.2.1).
    fn retransmit(&mut self, source: &Source, part: Missing, space: u32) -> Option<DataPdu> {
        let unit = *self.window.unit(part.sn);
        let whole = u32::from(unit.header) + unit.len;
        if (part.from, part.to) == (0, unit.len) && whole <= space {
            self.window.retransmitted(part.to);
            let (from, len) = (unit.from, unit.len);
            return Some(DataPdu { from, len, sn: part.sn, size: whole, ..DataPdu::default() });
        }
        let mut layout = Layout::new(space, self.window.sizes().segment);
        let from = unit.from + u64::from(part.from);
        source.sdus.lay_out(from, unit.from + u64::from(part.to), &mut layout);
        let filled = layout.finish()?;
        let end = part.from + filled.len;
        self.window.retransmitted(end);
        Some(DataPdu {
            from,
            len: filled.len,
            sn: part.sn,
            size: filled.header + filled.len,
            offset: part.from,
            segment: true,
            last: end == unit.len,
            poll: false,
        })
    }

    /// Receives a STATUS PDU (TS 36.322 v17.0 §5.2.1, §5.2.2.2, §5.1.3.1.1).
    pub(crate) fn receive_status(&mut self, source: &mut Source, pdu: StatusPdu, reports: &Reports) {
        let Some(report) = reports.get(pdu) else { return };
        let position = source.position();
        self.window.receive_report(report.ack_sn, report.nacks().copied(), position, || {});
        source.sdus.release_until(self.window.front().map_or(position, |unit| unit.from));
        if source.is_bounded() {
            source.sdus.update_confirmed_beyond(|from, to| self.has_confirmed(from, to, position));
        }
    }

    /// t-PollRetransmit has expired (TS 36.322 v17.0 §5.2.2.3).
    pub(crate) fn handle_timeout(&mut self, now: Instant, source: &Source) {
        self.window.handle_timeout(now, source.is_empty(), self.is_stalled());
    }

    /// True if all of `[from, to)` has been sent and acknowledged.
    pub(crate) fn has_confirmed(&self, from: u64, to: u64, sent: u64) -> bool {
        self.window.has_confirmed(from, to, sent)
    }

    /// The start in the stream of the PDUs from this sequence number on, which is in the window or
    /// is the next to be assigned.
    pub(crate) fn start_of(&self, sn: u32, source: &Source) -> u64 {
        if sn == self.window.next() { source.position() } else { self.window.unit(sn).from }
    }

    /// Re-establishment (TS 36.322 v17.0 §5.4). Returns the next sequence number, with which the receiver starts.
    pub(crate) fn reestablish(&mut self) -> u32 {
        self.window.reestablish()
    }
}
