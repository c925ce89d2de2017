//! Segments that leave as one (generic segmentation offload).

use airlane_core::{Duration, Instant};

use super::Sender;
use crate::header::Io;
use crate::model::window_rate;
use crate::recovery::Phase;
use crate::scoreboard::{JOINED, PUSHED};

/// The most bytes that leave as one (Linux GSO_LEGACY_MAX_SIZE).
const GSO_MAX: u64 = 65_536;
/// How long a segment may wait to become larger: so recent is the one before, and so soon the next acknowledgment.
const SOON: Duration = Duration::from_millis(1);
/// A segment does not wait if it fills this part of the window (Linux tcp_tso_win_divisor).
const WINDOW_PARTS: u64 = 3;

impl Sender {
    /// Sends segments, `size` as one: the last of several has PSH (Linux `__tcp_transmit_skb`). There is room for
    /// `room` in the window, and at most `quota` may leave now. Returns how many have left, and whether the rest
    /// waits for more room, so that the window limits the sender (Linux `is_cwnd_limited`).
    pub(super) fn transmit_joined(
        &mut self,
        io: &mut Io<'_, '_>,
        end: u64,
        size: u32,
        (room, quota): (u32, u32),
    ) -> (u32, bool) {
        let quota = quota.min(room);
        let (mut sent, mut at_once) = (0, 0);
        while sent < quota
            && let Some((len, fin)) = self.next_segment(end)
            && self.nxt + u64::from(len) <= self.window_end
        {
            if at_once == 0 && self.waits_for_room(io.now(), end, size, room - sent) {
                return (sent, true);
            }
            let next = self.nxt + u64::from(len);
            let ends = sent + 1 == quota || at_once + 1 == size || next >= end || {
                next + u64::from(self.segment_max) > self.window_end
            };
            self.place = if !ends { JOINED } else { PUSHED * u8::from(at_once > 0) };
            self.send_new(io, len, fin);
            self.place = 0;
            at_once = if ends { 0 } else { at_once + 1 };
            sent += 1;
        }
        (sent, false)
    }

    /// True if the window has room for fewer segments than `size`, and more of it is likely to be free within a
    /// millisecond (Linux `tcp_tso_should_defer`). Left out: the end of what the application wrote at once, which
    /// leaves without waiting.
    fn waits_for_room(&self, now: Instant, end: u64, size: u32, room: u32) -> bool {
        if self.phase >= Phase::Recovery || self.board.is_empty() {
            return false;
        }
        let left_at = match &self.delivery {
            Some(delivery) if delivery.pacer.rate().is_some() => delivery.pacer.next_send_at(),
            _ => self.last_sent_at,
        };
        if now > left_at + SOON {
            return false;
        }
        let segment = u64::from(self.options.segment_size);
        let may_leave = (self.window_end - self.nxt).min(u64::from(room) * segment);
        let window = u64::from(self.controller.window_segments()) * segment;
        let part = window.min(self.window_end - self.una) / WINDOW_PARTS;
        if may_leave >= u64::from(size) * segment || may_leave >= end - self.nxt || may_leave >= part {
            return false;
        }
        let srtt = self.rtt.srtt();
        let acknowledged_at = self.board.get(self.board.head()).sent_at + srtt;
        acknowledged_at <= now + SOON.min(srtt / 2)
    }

    /// The number of segments that a millisecond carries at the pacing rate, at least two (Linux
    /// `tcp_tso_autosize`); the part for short round trips is left out.
    pub(super) fn segments_at_once(&self) -> u32 {
        let (window, ssthresh) = (self.controller.window_segments(), self.controller.ssthresh_segments());
        let size = self.options.segment_size;
        let paced = self.delivery.as_ref().and_then(|delivery| delivery.pacer.rate());
        let rate =
            paced.or_else(|| window_rate(window, ssthresh, self.board.outstanding(), size, self.rtt.srtt()));
        let bytes = rate.map_or(0, |rate| (rate.0 / 8) >> 10).min(GSO_MAX);
        ((bytes / u64::from(size)) as u32).max(2)
    }
}
