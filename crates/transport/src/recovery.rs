//! The state of loss recovery: phase, rate reduction (RFC 6937 or its predecessor in Linux), and the
//! data to detect that a reduction was wrong (RFC 4015, RFC 3708).

use crate::config::RateReductionKind;
use crate::congestion::Snapshot;

/// The phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Normal operation.
    Open,
    /// Segments were SACKed or retransmitted; no loss is certain.
    Disorder,
    /// The window is being reduced because congestion was signalled, without a loss ("CWR").
    Reduction,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// The window while it is being reduced: proportional rate reduction (RFC 6937 §3.1 with the
/// slow-start reduction bound, which Linux uses while there is no further loss) or rate halving.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateReduction {
    kind: RateReductionKind,
    /// Rate halving: the number of ACKs so far is odd.
    odd: bool,
    /// The window when recovery began ("RecoverFS").
    prior_window: u32,
    delivered: u32,
    pub(crate) sent: u32,
    /// The window in force, in segments.
    pub(crate) window: u32,
}

impl Phase {
    /// True while rate reduction sets the window.
    #[inline]
    pub(crate) const fn reduces(self) -> bool {
        matches!(self, Self::Reduction | Self::Recovery)
    }
}

impl RateReduction {
    pub(crate) const fn begin(kind: RateReductionKind, window: u32) -> Self {
        Self { kind, odd: false, prior_window: window, delivered: 0, sent: 0, window }
    }

    /// An ACK delivered `delivered` segments; `clean` is true if it advanced without new losses.
    pub(crate) fn on_ack(&mut self, delivered: u32, clean: bool, in_flight: u32, ssthresh: u32) {
        if delivered == 0 || self.prior_window == 0 {
            return;
        }
        if self.kind == RateReductionKind::Halving {
            return self.halve(in_flight, ssthresh);
        }
        self.delivered += delivered;
        let allowed = if in_flight > ssthresh {
            // Send in proportion to the delivered segments: ssthresh / prior window.
            let scaled = u64::from(ssthresh) * u64::from(self.delivered);
            scaled.div_ceil(u64::from(self.prior_window)) as i64 - i64::from(self.sent)
        } else {
            // Fill up to ssthresh, by one more than delivered while there is no new loss.
            let owed = i64::from(self.delivered) - i64::from(self.sent);
            let limit = owed.max(i64::from(delivered)) + i64::from(clean);
            limit.min(i64::from(ssthresh) - i64::from(in_flight))
        };
        // The first retransmission is always allowed.
        let allowed = allowed.max(i64::from(self.sent == 0));
        self.window = (i64::from(in_flight) + allowed).max(0) as u32;
    }

    /// Reduces the window by one for every second ACK until ssthresh is reached, and never leaves
    /// more than one above the segments in flight (RFC 6937 §1, `tcp_cwnd_down` of Linux 2.6): with
    /// many losses, the window is what remains in flight.
    fn halve(&mut self, in_flight: u32, ssthresh: u32) {
        self.window -= u32::from(self.odd && self.window > ssthresh);
        self.odd = !self.odd;
        self.window = self.window.min(in_flight + 1);
    }

    /// The window at the end of recovery: ssthresh (RFC 6937 §3.1), or with rate halving the
    /// current window if that is less (`tcp_complete_cwr` of Linux 2.6).
    pub(crate) fn final_window(&self, ssthresh: u32) -> u32 {
        match self.kind {
            RateReductionKind::Proportional => ssthresh,
            RateReductionKind::Halving => ssthresh.min(self.window),
        }
    }
}

/// The state for undoing a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UndoState {
    /// Position acknowledged when the reduction happened; `None` if nothing can be undone.
    pub(crate) marker: Option<u64>,
    /// Retransmissions of this episode that no D-SACK has reported; `None` before the first.
    pub(crate) unreported: Option<u32>,
    /// The state to restore.
    pub(crate) snapshot: Snapshot,
    /// TSval of the first retransmission of the episode (RFC 4015 §3.2), in ms.
    pub(crate) first_retransmission_ts: Option<u32>,
}

impl UndoState {
    /// A reduction happens with `retransmitted` retransmissions already in flight.
    pub(crate) fn begin(&mut self, una: u64, snapshot: Snapshot, retransmitted: u32) {
        self.marker = Some(una);
        self.snapshot = snapshot;
        self.unreported = (retransmitted > 0).then_some(retransmitted);
    }

    pub(crate) fn on_retransmit(&mut self, ts: u32) {
        self.first_retransmission_ts.get_or_insert(ts);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    pub(crate) fn on_dsack(&mut self, segments: u32) {
        if let Some(n) = &mut self.unreported {
            *n = n.saturating_sub(segments);
        }
    }

    /// Every retransmission was reported as a duplicate (RFC 3708).
    pub(crate) fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.unreported == Some(0)
    }

    /// The peer echoes a timestamp from before the first retransmission: it acknowledges the
    /// original (RFC 4015 §3.2 step 4).
    pub(crate) fn original_echoed(&self, echo: Option<u32>) -> bool {
        match (self.marker, self.first_retransmission_ts, echo) {
            (Some(_), Some(first), Some(echo)) => (echo.wrapping_sub(first) as i32) < 0,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 §4's first example: 20 segments in flight, one lost, ssthresh 10. The ACKs deliver
    /// 19 segments; during the reduction one segment is sent per two delivered, and at the end the
    /// window is ssthresh.
    #[test]
    fn proportional_part_sends_every_other_time() {
        let mut prr = RateReduction::begin(RateReductionKind::Proportional, 20);
        let mut in_flight = 16_u32; // 20 sent, 3 SACKed by the duplicate ACKs, 1 lost
        let mut sends = Vec::new();
        for _ in 0..16 {
            prr.on_ack(1, false, in_flight, 10);
            let quota = prr.window.saturating_sub(in_flight);
            prr.sent += quota;
            in_flight += quota;
            sends.push(quota);
            in_flight = in_flight.saturating_sub(1); // the next ACK removes one
        }
        assert_eq!(sends[0], 1); // the retransmission
        let total: u32 = sends.iter().sum();
        // ceil(10 * 16 / 20) = 8 segments while 16 are delivered.
        assert!((8..=9).contains(&total), "{sends:?}");
    }

    #[test]
    fn after_heavy_loss_it_slow_starts_up_to_the_threshold() {
        let mut prr = RateReduction::begin(RateReductionKind::Proportional, 40);
        prr.on_ack(1, false, 4, 20);
        assert_eq!(prr.window, 5); // max(1 - 0, 1) = 1, conservative on new loss
        prr.sent = 1;
        prr.on_ack(1, true, 4, 20);
        assert_eq!(prr.window, 6); // one more than delivered
        prr.sent = 3;
        prr.on_ack(30, true, 4, 20);
        assert_eq!(prr.window, 20); // never above ssthresh
    }

    /// With one of 20 segments lost the two end alike. With 16 lost, rate halving continues with the
    /// remaining four, one for one, and the proportional reduction returns to ssthresh.
    #[test]
    fn rate_halving_keeps_what_the_losses_have_left() {
        let recover = |kind, lost: u32| {
            let mut reduction = RateReduction::begin(kind, 20);
            let mut in_flight = 20 - 3 - lost; // three SACKed
            for _ in 0..40 {
                reduction.on_ack(1, true, in_flight, 10);
                let quota = reduction.window.saturating_sub(in_flight);
                reduction.sent += quota;
                in_flight = (in_flight + quota).saturating_sub(1);
            }
            (reduction.window, reduction.final_window(10))
        };
        let [proportional, halving] = [RateReductionKind::Proportional, RateReductionKind::Halving];
        assert_eq!((recover(proportional, 1), recover(halving, 1)), ((10, 10), (10, 10)));
        assert_eq!((recover(proportional, 13), recover(halving, 13)), ((10, 10), (5, 5)));
    }

    #[test]
    fn eifel_compares_the_echo_with_the_first_retransmission() {
        let mut u = UndoState::default();
        u.begin(100, Snapshot::default(), 0);
        assert!(!u.original_echoed(Some(5)));
        u.on_retransmit(50);
        u.on_retransmit(60);
        assert!(u.original_echoed(Some(49)));
        assert!(!u.original_echoed(Some(50)));
        assert!(!u.original_echoed(None));
        u.on_dsack(1);
        assert!(!u.all_were_duplicates());
        u.on_dsack(1);
        assert!(u.all_were_duplicates());
    }
}
