//! The two kinds of buffer of a receive window: fixed or tuned.

use airlane_core::{Bytes, Instant};

use super::{Arrival, Read, ReceiveWindow};
use crate::config::ReceiveBuffer;

/// A buffer of constant size.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    size: Bytes,
}

impl FixedWindow {
    /// A buffer of `size` bytes.
    #[must_use]
    pub const fn new(size: Bytes) -> Self {
        Self { size }
    }
}

impl ReceiveWindow for FixedWindow {
    fn on_established(&mut self, _: Instant) {}
    fn on_data(&mut self, _: &Arrival, _: Bytes) -> bool {
        false
    }
    fn on_read(&mut self, _: &Read) {}
    fn advertise(&self, held: Bytes) -> Bytes {
        self.size.saturating_sub(held)
    }
    fn ceiling(&self) -> Bytes {
        self.size
    }
}

/// A buffer that follows the flow, with Linux's tuning ("dynamic right-sizing", Fisk and Feng
/// 2001): the amount read in the last round trip was the sender's window, so twice that plus its
/// recent growth is offered. The window opens towards the buffer by two segments per received
/// segment, so that it does not limit a sender in slow start.
///
/// The buffer is counted in memory, as `tcp_rmem` is. Payload is a part of it: half until the first
/// segment, then the ratio of payload to memory of a received segment.
#[derive(Clone, Copy, Debug)]
pub struct AutotunedWindow {
    /// The current maximum offer.
    open: u64,
    /// Current and maximum size of the buffer in bytes of memory.
    memory: u64,
    memory_max: u64,
    /// Payload in 256 bytes of memory.
    payload_share: u64,
    /// Segments have arrived as one.
    has_joined: bool,
    /// Maximum number of bytes read in a round trip so far.
    per_rtt: u64,
    /// Position and time at the start of the current round trip.
    round_from: u64,
    round_began: Instant,
}

impl AutotunedWindow {
    /// Assumed segments per round trip (the initial window of a sender, RFC 6928).
    const INITIAL_SEGMENTS: u64 = 10;
    /// Additional segments for a sender that has just started.
    const HEADROOM_SEGMENTS: u64 = 16;
    /// Payload share before the first segment (Linux tcp_adv_win_scale 1): half.
    const INITIAL_SHARE: u64 = 128;
    /// Memory of a received segment beyond its payload: link, IP and TCP headers, alignment and
    /// book-keeping. 2176 bytes hold 1448 in the kernel of the reference measurements; drivers
    /// differ.
    const SEGMENT_OVERHEAD: u64 = 728;
    /// The part of the overhead that segments which arrive as one share (Linux `struct sk_buff`).
    const SHARED_OVERHEAD: u64 = 256;
    /// Shorter segments (bytes) do not open the window.
    const SMALL: u64 = 128;

    /// A buffer of `initial` bytes of memory that may grow to `max`, for segments of at most
    /// `segment_size`.
    #[must_use]
    pub fn new(initial: Bytes, max: Bytes, segment_size: Bytes) -> Self {
        let segment = segment_size.get().max(1);
        let window = initial.get() * Self::INITIAL_SHARE / 256;
        // One segment is reserved, and a SYN can announce at most 65535 (RFC 7323 §2.2).
        let open = window.saturating_sub(segment).clamp(segment.min(window), 65_535);
        Self {
            open,
            memory: initial.get(),
            memory_max: max.get().max(initial.get()),
            payload_share: Self::INITIAL_SHARE,
            has_joined: false,
            per_rtt: open.min(Self::INITIAL_SEGMENTS * segment),
            round_from: 0,
            round_began: Instant::ZERO,
        }
    }

    /// The memory that an arrival takes.
    const fn memory_of(arrival: &Arrival) -> u64 {
        let shared = (arrival.segments - 1) * Self::SHARED_OVERHEAD;
        arrival.bytes.get() + arrival.segments * Self::SEGMENT_OVERHEAD - shared
    }

    /// True unless segments that take more memory than the window counts for them have opened it far: to half of
    /// its maximum if they take up to twice as much, to a quarter if up to four times (Linux `__tcp_grow_window`).
    /// Asked only once segments have arrived as one, so that hosts without receive offload keep their windows.
    fn fits_again(&self, arrival: &Arrival) -> bool {
        let mut counted = Self::memory_of(arrival) * self.payload_share / 256;
        let mut limit = self.memory_max * self.payload_share / 256;
        while counted > arrival.bytes.get() {
            (counted, limit) = (counted / 2, limit / 2);
            if self.open > limit {
                return false;
            }
        }
        true
    }

    /// The part of the buffer that payload can fill.
    const fn buffer(&self) -> u64 {
        self.memory * self.payload_share / 256
    }
}

impl ReceiveWindow for AutotunedWindow {
    fn on_established(&mut self, now: Instant) {
        self.round_began = now;
    }

    fn on_data(&mut self, arrival: &Arrival, held: Bytes) -> bool {
        let payload = arrival.bytes.get();
        if self.payload_share == Self::INITIAL_SHARE && payload >= arrival.segment_size.get() {
            self.payload_share = payload * 256 / Self::memory_of(arrival);
        }
        self.has_joined |= arrival.segments > 1;
        let room = self.buffer().saturating_sub(held.get()).saturating_sub(self.open);
        let grows = room > 0 && payload >= Self::SMALL && (!self.has_joined || self.fits_again(arrival));
        if grows {
            self.open += room.min(2 * arrival.bytes.max(arrival.segment_size).get());
        }
        grows
    }

    fn on_read(&mut self, read: &Read) {
        if read.rtt.is_zero() || read.now.saturating_since(self.round_began) < read.rtt {
            return;
        }
        let read_in_round = (read.total - self.round_from).saturating_sub(read.queued);
        if read_in_round > self.per_rtt {
            let base = 2 * read_in_round + Self::HEADROOM_SEGMENTS * read.segment_size.get();
            // The growth of the flow, doubled, is added again, since the measurement is one round old.
            let growth =
                u128::from(base) * u128::from(read_in_round - self.per_rtt) / u128::from(self.per_rtt);
            let wanted = (u128::from(base) + 2 * growth) * 256 / u128::from(self.payload_share);
            self.memory = self.memory.max(wanted.min(u128::from(self.memory_max)) as u64);
            self.per_rtt = read_in_round;
        }
        self.round_from = read.total;
        self.round_began = read.now;
    }

    /// The free space in whole segments (Linux `tcp_select_initial_window`). `open`, which is a segment less than
    /// the space, applies once the connection is established (`tcp_init_buffer_space`).
    fn first_offer(&self, segment: Bytes) -> Bytes {
        let (space, segment) = (self.buffer(), segment.get().max(1));
        Bytes(if space > segment { space - space % segment } else { space })
    }

    fn advertise(&self, held: Bytes) -> Bytes {
        Bytes(self.open.min(self.buffer().saturating_sub(held.get())))
    }

    fn ceiling(&self) -> Bytes {
        Bytes(self.memory_max)
    }
}

/// The buffer of a policy.
#[derive(Clone, Copy, Debug)]
pub enum Buffer {
    /// Fixed.
    Fixed(FixedWindow),
    /// Autotuned.
    Autotuned(AutotunedWindow),
}

impl Buffer {
    /// The buffer of this kind, for segments of `segment_size`.
    #[must_use]
    pub fn new(kind: ReceiveBuffer, segment_size: Bytes) -> Self {
        match kind {
            ReceiveBuffer::Fixed(size) => Self::Fixed(FixedWindow::new(size)),
            ReceiveBuffer::Autotuned { initial, max } => {
                Self::Autotuned(AutotunedWindow::new(initial, max, segment_size))
            }
        }
    }
}

impl ReceiveWindow for Buffer {
    fn on_established(&mut self, now: Instant) {
        match self {
            Self::Fixed(w) => w.on_established(now),
            Self::Autotuned(w) => w.on_established(now),
        }
    }
    #[inline]
    fn on_data(&mut self, arrival: &Arrival, held: Bytes) -> bool {
        match self {
            Self::Fixed(w) => w.on_data(arrival, held),
            Self::Autotuned(w) => w.on_data(arrival, held),
        }
    }
    #[inline]
    fn on_read(&mut self, read: &Read) {
        match self {
            Self::Fixed(w) => w.on_read(read),
            Self::Autotuned(w) => w.on_read(read),
        }
    }
    fn first_offer(&self, segment: Bytes) -> Bytes {
        match self {
            Self::Fixed(w) => w.first_offer(segment),
            Self::Autotuned(w) => w.first_offer(segment),
        }
    }
    #[inline]
    fn advertise(&self, held: Bytes) -> Bytes {
        match self {
            Self::Fixed(w) => w.advertise(held),
            Self::Autotuned(w) => w.advertise(held),
        }
    }
    fn ceiling(&self) -> Bytes {
        match self {
            Self::Fixed(w) => w.ceiling(),
            Self::Autotuned(w) => w.ceiling(),
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Duration;

    use super::*;

    /// Two segments that arrive as one take 2176 + 1920 bytes: their payload is 181/256 of it. So does a Linux 6.12.
    #[test]
    fn what_arrives_as_one_takes_less_memory() {
        let mut w = AutotunedWindow::new(Bytes(131_072), Bytes(6 << 20), Bytes(1460));
        let arrival = |segments: u64| Arrival {
            now: Instant::ZERO,
            bytes: Bytes(1448 * segments),
            segments,
            segment_size: Bytes(1448),
            timestamp: None,
            echo: None,
        };
        w.on_data(&arrival(2), Bytes::ZERO);
        assert_eq!(w.buffer(), 131_072 * 181 / 256);
    }

    #[test]
    fn the_buffer_follows_what_is_read_in_a_round_trip() {
        let mut w = AutotunedWindow::new(Bytes(131_072), Bytes(16 << 20), Bytes(1460));
        // Half of the memory, less a segment.
        assert_eq!(w.advertise(Bytes::ZERO), Bytes(65_536 - 1460));
        w.on_established(Instant::ZERO);
        let arrival = Arrival {
            now: Instant::ZERO,
            bytes: Bytes(1448),
            segments: 1,
            segment_size: Bytes(1448),
            timestamp: None,
            echo: None,
        };
        // A segment of 1448 in 2176 bytes: 170/256 of 131072 is 87040, 22964 more. Eight segments
        // open it, by 2896 each except the last.
        for _ in 0..8 {
            assert!(w.on_data(&arrival, Bytes::ZERO));
        }
        assert_eq!(w.advertise(Bytes::ZERO), Bytes(87_040));
        assert!(!w.on_data(&arrival, Bytes::ZERO));
        let read = |ms, total| Read {
            now: Instant::from_millis(ms),
            total,
            queued: 0,
            rtt: Duration::from_millis(40),
            segment_size: Bytes(1448),
        };
        w.on_read(&read(40, 14_480)); // the assumed value
        assert_eq!(w.buffer(), 87_040);
        w.on_read(&read(60, 60_000)); // the round trip is not over
        assert_eq!(w.buffer(), 87_040);
        w.on_read(&read(80, 14_480 + 28_960));
        // base 2 * 28960 + 16 * 1448 = 81088; growth over 14600: 81088 * 14360 / 14600 = 79755;
        // 81088 + 2 * 79755 = 240598, in memory 240598 * 256 / 170 = 362312.
        assert_eq!(w.memory, 362_312);
        assert_eq!(w.advertise(Bytes(230_000)), Bytes(240_597 - 230_000).min(Bytes(87_040)));
    }
}
