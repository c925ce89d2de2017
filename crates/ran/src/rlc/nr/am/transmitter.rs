//! The transmitting side of acknowledged mode (TS 38.322 v18.2.0 §5.2.3.1, §5.3.2, §5.3.3).

use airlane_core::{Cx, Instant};

use super::AmConfig;
use super::status::NrReports;
use crate::rlc::nr::header::{self, Headers};
use crate::rlc::source::Source;
use crate::rlc::window::{Missing, PartSize, Unit, Window};
use crate::rlc::{DataPdu, StatusPdu};

impl PartSize for Headers {
    fn part_size(&self, _: &Unit, part: &Missing) -> u64 {
        let header = if part.from == 0 { self.first } else { self.rest };
        u64::from(part.to - part.from + header)
    }
}

/// The transmitting side.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// Its units are SDUs, with that which is being segmented; those in the store are the same.
    window: Window<Headers>,
}

impl Transmitter {
    pub(crate) fn new(config: &AmConfig) -> Self {
        Self { window: Window::new(config.transmitting(), header::acknowledged(config.sn_bits)) }
    }

    pub(crate) fn headers(&self) -> Headers {
        *self.window.sizes()
    }

    /// TX_Next_Ack, which is the sequence number of the first SDU in the store.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.window.first()
    }

    /// When t-PollRetransmit expires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.window.next_timeout()
    }

    /// True if the window is full: no new SDU before TX_Next_Ack moves. The rest of a segmented SDU may be sent.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.window.is_full()
    }

    fn is_stalled(&self, source: &Source) -> bool {
        self.is_full() && source.begun() == 0
    }

    /// The size of the PDUs for the retransmission buffer, with `overhead` bytes of the MAC for each.
    #[inline]
    pub(crate) fn retransmission_estimate(&self, overhead: u32) -> u64 {
        let (parts, bytes) = self.window.to_retransmit();
        bytes + parts as u64 * u64::from(overhead)
    }

    /// How often an SDU reached maxRetxThreshold.
    pub(crate) fn failures(&self) -> u64 {
        self.window.failures()
    }

    /// One PDU of at most `space` bytes: retransmissions before new data (§5.2.3.1.1).
    #[inline]
    pub(crate) fn transmit(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<DataPdu> {
        let pdu = match self.window.next_part() {
            Some(part) => self.retransmit(part, space)?,
            None => self.transmit_new(cx, source, space)?,
        };
        let poll = self.window.poll(cx.now, source.is_empty(), self.is_stalled(source));
        Some(DataPdu { poll, ..pdu })
    }

    #[inline]
    fn transmit_new(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<DataPdu> {
        if self.is_stalled(source) {
            return None;
        }
        let part = source.fill_part(cx, space, self.headers())?;
        if part.first {
            self.window.push(Unit::new(part.from, part.rest, 0));
        }
        self.window.count(part.len);
        let sn = self.window.next() - 1;
        let size = part.header + part.len;
        let whole = DataPdu { from: part.from, len: part.len, sn, size, ..DataPdu::default() };
        if part.first && part.last {
            return Some(whole);
        }
        let offset = (part.from - self.window.unit(sn).from) as u32;
        Some(DataPdu { offset, segment: true, last: part.last, ..whole })
    }

    /// Retransmits an SDU or a part of it, or as much of that as fits (§5.3.2).
    fn retransmit(&mut self, part: Missing, space: u32) -> Option<DataPdu> {
        let unit = *self.window.unit(part.sn);
        let headers = self.headers();
        let is_whole = (part.from, part.to) == (0, unit.len) && unit.len + headers.whole <= space;
        let header = match part.from {
            0 if is_whole => headers.whole,
            0 => headers.first,
            _ => headers.rest,
        };
        let len = (part.to - part.from).min(space.saturating_sub(header));
        if len == 0 {
            return None;
        }
        let end = part.from + len;
        self.window.retransmitted(end);
        Some(DataPdu {
            from: unit.from + u64::from(part.from),
            len,
            sn: part.sn,
            size: header + len,
            offset: part.from,
            segment: !is_whole,
            last: !is_whole && end == unit.len,
            poll: false,
        })
    }

    /// Receives a STATUS PDU (§5.3.2, §5.3.3.3, §5.2.3.1.1).
    pub(crate) fn receive_status(&mut self, source: &mut Source, pdu: StatusPdu, reports: &NrReports) {
        let Some(report) = reports.get(pdu) else { return };
        let missing = report.nacks().flat_map(|nack| nack.parts());
        let position = source.position();
        self.window.receive_report(report.ack_sn, missing, position, || source.sdus.release_front());
        if source.is_bounded() {
            source.sdus.update_confirmed_beyond(|from, to| self.has_confirmed(from, to, position));
        }
    }

    /// t-PollRetransmit has expired (§5.3.3.4).
    pub(crate) fn handle_timeout(&mut self, now: Instant, source: &Source) {
        self.window.handle_timeout(now, source.is_empty(), self.is_stalled(source));
    }

    /// True if the SDU in this range of the stream has been sent and acknowledged.
    pub(crate) fn has_confirmed(&self, from: u64, to: u64, sent: u64) -> bool {
        self.window.has_confirmed(from, to, sent)
    }

    /// Re-establishment (§5.1.2). Returns the next sequence number, with which the receiver starts.
    pub(crate) fn reestablish(&mut self) -> u32 {
        self.window.reestablish()
    }
}
