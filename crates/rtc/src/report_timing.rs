//! When a receiver sends its next report (RFC 8888).

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// The rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportTiming {
    /// At once when more than 16 packets or the end of a frame have arrived, else 40 ms after the last report:
    /// draft-ietf-ccwg-rfc8298bis-screamv2, "Receiver Requirements on Feedback Intensity" (editor's copy d30e8b8a).
    ScreamDraft,
    /// When a frame has ended, or 25 ms after its first packet, but 25 ms after the last report at the earliest, or up to
    /// 250 ms if reports take more than 500 kbit/s: libwebrtc's `congestion_control_feedback_generator.cc`
    /// (maitrungduc1410/webrtc f3ae3eb), which does not bound the rate by the estimate of the other direction unless it
    /// is configured to.
    Libwebrtc,
    /// At a constant interval while packets arrive, for example each 100 ms (RFC 8698 section 4.1, `DELTA`).
    Interval(Duration),
}

/// The packets that have arrived and that no report covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingReport {
    /// Their number.
    pub packets: u32,
    /// The arrival of the first of them.
    pub first: Instant,
    /// The arrival of the last of them.
    pub last: Instant,
    /// True if one of them is the last of a frame (RTP's marker).
    pub frame_end: bool,
}

impl PendingReport {
    /// A packet has arrived.
    pub fn add(&mut self, now: Instant, frame_end: bool) {
        if self.packets == 0 {
            self.first = now;
        }
        self.packets += 1;
        self.last = now;
        self.frame_end |= frame_end;
    }
}

/// The reports that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportHistory {
    last: Option<Instant>,
    earliest: Instant,
    debt: Bytes,
}

/// Packets without a report of the draft's rule.
const DRAFT_PACKETS: u32 = 16;
/// The longest interval of the draft's rule.
const DRAFT_INTERVAL: Duration = Duration::from_millis(40);
/// libwebrtc's `max_time_to_wait_for_packet_with_marker_`.
const LIBWEBRTC_WAIT: Duration = Duration::from_millis(25);
/// libwebrtc's `min_time_between_feedback_`.
const LIBWEBRTC_LEAST: Duration = Duration::from_millis(25);
/// libwebrtc's `max_time_between_feedback_`.
const LIBWEBRTC_MOST: Duration = Duration::from_millis(250);
/// libwebrtc's `kMaxFeedbackRate`.
const LIBWEBRTC_RATE: BitRate = BitRate(500_000);

impl ReportTiming {
    /// When the next report is sent, if no further packet arrives; `None` if there is nothing to report.
    #[must_use]
    pub fn next(self, pending: &PendingReport, history: &ReportHistory) -> Option<Instant> {
        if pending.packets == 0 {
            return None;
        }
        let after = |interval: Duration| history.last.unwrap_or(pending.first) + interval;
        Some(match self {
            Self::ScreamDraft if pending.frame_end || pending.packets > DRAFT_PACKETS => pending.last,
            Self::ScreamDraft => after(DRAFT_INTERVAL).max(pending.last),
            Self::Libwebrtc if pending.frame_end => history.earliest.max(pending.last),
            Self::Libwebrtc => history.earliest.max(pending.first + LIBWEBRTC_WAIT),
            Self::Interval(interval) => after(interval).max(pending.last),
        })
    }
}

impl ReportHistory {
    /// The history with one more report, which has this size with all headers.
    #[must_use]
    pub fn with(self, now: Instant, size: Bytes) -> Self {
        let paid = self.last.map_or(Bytes::ZERO, |last| LIBWEBRTC_RATE.bytes_in(now.saturating_since(last)));
        let debt = Bytes(self.debt.saturating_sub(paid).get() + size.get());
        let spacing = LIBWEBRTC_RATE.transmission_time(debt).clamp(LIBWEBRTC_LEAST, LIBWEBRTC_MOST);
        Self { last: Some(now), earliest: now + spacing, debt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn pending(arrivals: &[u64], frame_end: bool) -> PendingReport {
        let mut pending = PendingReport::default();
        for (index, at) in arrivals.iter().enumerate() {
            pending.add(ms(*at), frame_end && index + 1 == arrivals.len());
        }
        pending
    }

    #[test]
    fn without_packets_there_is_no_report() {
        for rule in [ReportTiming::ScreamDraft, ReportTiming::Libwebrtc] {
            assert_eq!(rule.next(&PendingReport::default(), &ReportHistory::default()), None);
        }
    }

    #[test]
    fn the_draft_reports_frames_packets_and_each_40_ms() {
        let history = ReportHistory::default().with(ms(100), Bytes(80));
        let next = |pending: PendingReport| ReportTiming::ScreamDraft.next(&pending, &history);
        assert_eq!(next(pending(&[105, 107], false)), Some(ms(140)));
        assert_eq!(next(pending(&[105, 107], true)), Some(ms(107)));
        assert_eq!(next(pending(&[105; 16], false)), Some(ms(140)));
        assert_eq!(next(pending(&[105; 17], false)), Some(ms(105)));
        assert_eq!(next(pending(&[900], false)), Some(ms(900)), "40 ms have passed long ago");
    }

    #[test]
    fn libwebrtc_waits_for_the_end_of_a_frame_and_keeps_its_distance() {
        let history = ReportHistory::default().with(ms(100), Bytes(80));
        let next = |pending: PendingReport| ReportTiming::Libwebrtc.next(&pending, &history);
        assert_eq!(next(pending(&[130, 137], false)), Some(ms(155)));
        assert_eq!(next(pending(&[130, 137], true)), Some(ms(137)));
        assert_eq!(next(pending(&[105, 107], true)), Some(ms(125)), "25 ms after the last report");
    }

    #[test]
    fn libwebrtc_spaces_large_reports() {
        let rule = ReportTiming::Libwebrtc;
        let frame = |at: u64| pending(&[at], true);
        // 3125 bytes take 50 ms at 500 kbit/s.
        let history = ReportHistory::default().with(ms(100), Bytes(3125));
        assert_eq!(rule.next(&frame(101), &history), Some(ms(150)));
        // At 130 ms 30 ms are paid; 20 ms are left, and 50 more are due.
        let history = history.with(ms(130), Bytes(3125));
        assert_eq!(rule.next(&frame(131), &history), Some(ms(200)));
        let history = history.with(ms(131), Bytes(60_000));
        assert_eq!(rule.next(&frame(132), &history), Some(ms(381)), "at most 250 ms");
    }
}
