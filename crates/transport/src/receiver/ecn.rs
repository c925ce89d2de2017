//! Congestion marks at the receiver: the echo of classic ECN, and the counters of accurate ECN.

use airlane_core::{AccEcnOption, Ecn, SackList};

use super::{Acknowledgment, DELAY_MIN, Receiver};
use crate::accurate::MarkCounter;

/// Quick ACKs after an ECN mark (Linux tcp_enter_quickack_mode with 2).
const QUICK_AFTER_MARK: u32 = 2;

impl Receiver {
    /// True if ACKs must echo congestion (RFC 3168 §6.1.3).
    #[inline]
    pub(crate) const fn echoes_congestion(&self) -> bool {
        self.echo_congestion
    }

    /// True if any data segment was ECN-capable.
    pub(crate) const fn has_seen_capable(&self) -> bool {
        self.capable_seen
    }

    /// The ECN field of a data segment, and whether its CWR flag is set. The echo continues until
    /// CWR arrives (RFC 3168 §6.1.3); its first ACKs are sent immediately, because the peer's
    /// window may be very small.
    pub(crate) fn on_ecn(&mut self, ecn: Ecn, window_reduced: bool) {
        if window_reduced {
            self.echo_congestion = false;
            self.at_once = true;
        }
        match ecn {
            Ecn::CongestionExperienced => {
                if !self.echo_congestion {
                    self.quick = self.quick.max(QUICK_AFTER_MARK);
                    self.delay = DELAY_MIN;
                }
                self.echo_congestion = true;
                self.capable_seen = true;
            }
            // A retransmission: its sender waits for the acknowledgment.
            Ecn::NotCapable if self.capable_seen => self.quick = self.quick.max(QUICK_AFTER_MARK),
            Ecn::Capable0 | Ecn::Capable1 => self.capable_seen = true,
            Ecn::NotCapable => {}
        }
    }

    /// True if an acknowledgment that waits must leave before the next segment, because that changes the echo (RFC
    /// 8257 §3.2; Linux `dctcp_ece_ack_update`).
    pub(crate) const fn owes_old_echo(&self, ecn: Ecn) -> bool {
        self.pending && self.changes_echo(ecn)
    }

    /// A retransmission of a sender without ECN changes nothing.
    const fn changes_echo(&self, ecn: Ecn) -> bool {
        match ecn {
            Ecn::CongestionExperienced => !self.echo_congestion,
            Ecn::Capable0 | Ecn::Capable1 => self.echo_congestion,
            Ecn::NotCapable => false,
        }
    }

    /// The ECN field of a data segment, at an end of DCTCP: the echo is the mark of the last segment, independent of
    /// CWR, and a change of it is acknowledged at once, so that each acknowledgment covers segments of one kind (RFC
    /// 8257 §3.2).
    pub(crate) fn on_exact_ecn(&mut self, ecn: Ecn) {
        if self.changes_echo(ecn) {
            let marked = ecn == Ecn::CongestionExperienced;
            if marked {
                self.quick = self.quick.max(QUICK_AFTER_MARK);
                self.delay = DELAY_MIN;
            }
            self.echo_congestion = marked;
            self.at_once = true;
        }
        self.capable_seen |= ecn != Ecn::NotCapable;
    }

    /// From now on marks are counted.
    pub(crate) fn count_marks(&mut self, counter: MarkCounter) {
        self.marks = Some(counter);
    }

    /// The counters of accurate ECN, if it was negotiated.
    pub(crate) const fn marks(&mut self) -> Option<&mut MarkCounter> {
        self.marks.as_mut()
    }

    /// The counter of marks, to read.
    pub(crate) const fn counter(&self) -> Option<&MarkCounter> {
        self.marks.as_ref()
    }

    /// A packet arrived on a connection with accurate ECN, with or without data.
    pub(crate) fn on_accurate_ecn(&mut self, ecn: Ecn, payload: u32) {
        let unacknowledged = self.pending;
        let Some(marks) = &mut self.marks else { return };
        if marks.on_packet(ecn, payload, unacknowledged) {
            self.demand_ack();
        }
    }

    /// The ACE field and the option of a segment with this acknowledgment, which loses SACK blocks that have no
    /// room with the option.
    pub(crate) fn report_marks(
        &mut self,
        bare: bool,
        room: u32,
        ack: &mut Acknowledgment,
    ) -> (u16, Option<AccEcnOption>) {
        let Some(marks) = &mut self.marks else { return (0, None) };
        let blocks = ack.sack.as_slice();
        let dsack = ack.dsack.then(|| blocks.first().map(|b| (b.left, b.right))).flatten();
        let flags = marks.ace(bare && blocks.is_empty());
        let (option, left) = marks.option(room, blocks.len(), dsack);
        if left < blocks.len() {
            let mut fewer = SackList::default();
            for block in &blocks[..left] {
                fewer.push(*block);
            }
            ack.sack = fewer;
        }
        (flags, option)
    }
}
