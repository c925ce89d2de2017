//! An application that always has more data, writing into a send queue with Linux's rules.
//!
//! It has one effect: each write ends with PSH, and a receiver acknowledges a full segment with PSH
//! at once when the application has read everything (Linux since 6.6). The ends of writes therefore
//! determine for which of two segments a delayed ACK waits. They depend on the room in the queue:
//!
//! - a segment takes its payload and [`SEGMENT_OVERHEAD`] bytes; adjacent SACKed segments are
//!   merged and have one overhead (`tcp_shift_skb_data`);
//! - the queue is as large as two windows (three for BBR) of [`SEGMENT_MEMORY`] and grows when the
//!   window is not filled (`tcp_sndbuf_expand`, `tcp_should_expand_sndbuf`);
//! - the application wakes when a third of the queue is free (`sk_stream_is_writeable`) and writes
//!   until the queue is full;
//! - half a peer's window without PSH sets one (`forced_push`).

use std::collections::VecDeque;

use airlane_core::Bytes;

/// Memory of a queued segment in addition to its payload: 896 bytes on x86-64 (`SKB_TRUESIZE` of a
/// head of 640 bytes: 320 for headers, 320 for `skb_shared_info`, and 256 for `sk_buff`).
const SEGMENT_OVERHEAD: u64 = 896;
/// The memory that `tcp_sndbuf_expand` uses for a segment of an Ethernet frame: 1460 + 320 + 320
/// bytes, rounded up to a power of two, and 256 for `sk_buff`.
const SEGMENT_MEMORY: u64 = 4352;
/// The third value of `tcp_wmem` in the reference runs; Linux's default is 4 MiB, a window of 480
/// segments. The limit is never reached here.
const MEMORY_MAX: u64 = 16_777_216;
/// Minimum window for which the queue is sized (`TCP_INIT_CWND`).
const INITIAL_SEGMENTS: u32 = 10;

/// The state of the sender when the writer may write.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendState {
    pub(super) una: u64,
    pub(super) nxt: u64,
    /// The peer's widest window.
    pub(super) max_offered: u64,
    pub(super) in_flight: u32,
    /// The congestion window in segments.
    pub(super) window: u32,
    /// Degree of reordering in segments.
    pub(super) reordering: u32,
    /// Pairs of adjacent SACKed segments.
    pub(super) merged: u64,
}

/// The application and its queue.
#[derive(Debug)]
pub(super) struct Writer {
    segment: u64,
    /// Number of windows that the queue holds.
    windows: u64,
    /// Bytes of one write.
    size: u64,
    /// Memory of the queue, and whether the last write did not fit.
    memory: u64,
    blocked: bool,
    written: u64,
    /// Position of the last PSH, and ends of the unsent segments with PSH.
    pushed_to: u64,
    pushes: VecDeque<u64>,
}

impl Writer {
    pub(super) fn new(size: Bytes, segment: u32, windows: u64) -> Self {
        Self {
            segment: u64::from(segment),
            windows,
            size: size.get().max(1),
            memory: 0,
            blocked: false,
            written: 1,
            pushed_to: 1,
            pushes: VecDeque::with_capacity(64),
        }
    }

    /// Stream position up to which it has written.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// True while it waits for room.
    pub(super) const fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// The connection is established: the first writes.
    pub(super) fn begin(&mut self, at: &SendState) {
        self.expand(at);
        self.fill(at);
    }

    /// An acknowledgment was processed and the window filled from the queue. Returns true if it wrote.
    pub(super) fn after_ack(&mut self, at: &SendState) -> bool {
        if at.in_flight < at.window {
            self.expand(at);
        }
        let queued = self.queued(at);
        if queued >= self.memory || self.memory - queued < queued / 2 {
            return false;
        }
        self.fill(at);
        true
    }

    /// True if the segment that ends here carries PSH; must be called for segments in their order.
    pub(super) fn takes_push(&mut self, end: u64) -> bool {
        let mut hit = false;
        while let Some(&at) = self.pushes.front()
            && at <= end
        {
            hit |= at == end;
            self.pushes.pop_front();
        }
        hit
    }

    fn expand(&mut self, at: &SendState) {
        let segments = at.window.max(INITIAL_SEGMENTS).max(at.reordering + 1);
        let wanted = self.windows * u64::from(segments) * SEGMENT_MEMORY;
        self.memory = self.memory.max(wanted.min(MEMORY_MAX));
    }

    /// Memory in use.
    fn queued(&self, at: &SendState) -> u64 {
        let first = (at.una - 1) / self.segment;
        let last = (self.written - 1).div_ceil(self.segment);
        (last - first - at.merged) * SEGMENT_OVERHEAD + (self.written - at.una)
    }

    /// Writes until the queue is full. Data that the window allows leaves during the writes.
    fn fill(&mut self, at: &SendState) {
        let mut room = u64::from(at.window.saturating_sub(at.in_flight));
        let mut nxt = at.nxt;
        loop {
            let mut left = self.size;
            self.blocked = false;
            while left > 0 && !self.blocked {
                let part = (self.written - 1) % self.segment;
                if part == 0 && self.queued(at) >= self.memory {
                    self.blocked = true;
                    break;
                }
                let copy = left.min(self.segment - part);
                self.written += copy;
                left -= copy;
                let filled = part + copy == self.segment;
                if !filled || left == 0 {
                    continue;
                }
                if self.written > self.pushed_to + at.max_offered / 2 {
                    self.push();
                    self.leave(&mut nxt, &mut room, u64::MAX);
                } else if nxt + self.segment == self.written {
                    self.leave(&mut nxt, &mut room, 1);
                }
            }
            // Marks the end of a write, unless the write made no progress or its end has left.
            if left < self.size && nxt < self.written {
                self.push();
                self.leave(&mut nxt, &mut room, u64::MAX);
            }
            if self.blocked {
                return;
            }
        }
    }

    /// The last segment written gets PSH.
    fn push(&mut self) {
        let end = (self.written - 1).div_ceil(self.segment) * self.segment + 1;
        if self.pushes.back() != Some(&end) {
            self.pushes.push_back(end);
        }
        self.pushed_to = self.written;
    }

    /// Up to `count` segments leave, if the window has room.
    fn leave(&self, nxt: &mut u64, room: &mut u64, count: u64) {
        let waiting = (self.written - *nxt).div_ceil(self.segment);
        let going = waiting.min(*room).min(count);
        *nxt = (*nxt + going * self.segment).min(self.written);
        *room -= going;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send_state(una: u64, window: u32) -> SendState {
        let in_flight = window;
        SendState {
            una,
            nxt: una + u64::from(in_flight) * 1448,
            max_offered: 64_000,
            in_flight,
            window,
            reordering: 3,
            merged: 0,
        }
    }

    #[test]
    fn the_queue_is_filled_and_filled_again_when_a_third_is_free() {
        let mut w = Writer::new(Bytes(65_536), 1448, 2);
        w.begin(&SendState { in_flight: 0, nxt: 1, ..send_state(1, 10) });
        // 2 × 10 × 4352 = 87040 bytes; 37.1 segments of 2344 fit, and the last may exceed the limit.
        assert_eq!(w.written(), 1 + 38 * 1448);
        assert!(w.is_blocked());
        // 32000 bytes without PSH set one at segment 23; the write that did not fit sets one at 38.
        assert_eq!(w.pushes, [1 + 23 * 1448, 1 + 38 * 1448]);
        // Two thirds are 58026 bytes: 24 segments still waiting are 56256, 25 are 58600.
        assert!(!w.after_ack(&send_state(1 + 13 * 1448, 10)));
        assert!(w.after_ack(&send_state(1 + 14 * 1448, 10)));
        assert_eq!(w.written(), 1 + 52 * 1448);
    }

    #[test]
    fn a_whole_write_ends_inside_a_segment_which_carries_its_push() {
        let mut w = Writer::new(Bytes(10_000), 1448, 2);
        w.begin(&SendState { max_offered: 1 << 20, in_flight: 0, nxt: 1, ..send_state(1, 10) });
        // 10000 bytes are 6.9 segments. The ends of the first write have left with the window.
        let ends: Vec<u64> = w.pushes.iter().map(|end| (end - 1) / 1448).collect();
        assert_eq!(ends, [7, 14, 21, 28, 35, 38]);
        assert!(!w.takes_push(1 + 6 * 1448));
        assert!(w.takes_push(1 + 7 * 1448));
        assert!(!w.takes_push(1 + 8 * 1448));
    }
}
