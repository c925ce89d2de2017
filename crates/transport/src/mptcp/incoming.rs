//! The data that a connection receives, in the order of its data sequence numbers.
//!
//! Positions count the bytes of the data from zero.

use airlane_core::order::{Order, Released};
use airlane_core::{Bytes, Duration, Instant};

use crate::config::ReceiveWindowKind;
use crate::window::{Arrival, Read, ReceiveWindow, Window};

/// The receive half of a connection.
#[derive(Debug)]
pub(super) struct Incoming {
    order: Order,
    /// Position up to which the application has read.
    read_to: u64,
    /// First position that the peer must not fill.
    edge: u64,
    /// The end of the data, if the peer's DATA_FIN has arrived.
    end: Option<u64>,
    window: Window,
    segment: Bytes,
}

impl Incoming {
    /// `segment` is the payload of a full segment.
    pub(super) fn new(kind: ReceiveWindowKind, segment: u32) -> Self {
        let segment = Bytes(u64::from(segment));
        let window = Window::new(kind, segment);
        let edge = window.first_offer(segment).get();
        Self { order: Order::default(), read_to: 0, edge, end: None, window, segment }
    }

    /// The largest window that it offers.
    pub(super) fn ceiling(&self) -> Bytes {
        self.window.ceiling()
    }

    pub(super) const fn next(&self) -> u64 {
        self.order.next()
    }

    pub(super) const fn readable(&self) -> u64 {
        self.next() - self.read_to
    }

    /// The peer's DATA_FIN, with the end of the data.
    pub(super) fn on_end(&mut self, end: u64) {
        self.end.get_or_insert(end);
    }

    /// Whether all data up to the DATA_FIN has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| self.next() >= end)
    }

    /// Whether the application has read all data.
    pub(super) fn at_end(&self) -> bool {
        self.is_complete() && self.readable() == 0
    }

    /// The data acknowledgment, as a position: the DATA_FIN takes one (RFC 8684 §3.3.3).
    pub(super) fn acknowledged(&self) -> u64 {
        self.next() + u64::from(self.is_complete())
    }

    /// The window to announce. Its right edge does not move left.
    pub(super) fn offer(&mut self) -> u64 {
        let held = Bytes(self.order.held() + self.readable());
        self.edge = self.edge.max(self.next() + self.window.advertise(held).get());
        self.edge - self.next()
    }

    pub(super) fn on_established(&mut self, now: Instant) {
        self.window.on_established(now);
    }

    /// Bytes arrived through a subflow: their start and number. Returns how many of them are new, and adds what can be read
    /// besides them to `released`.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        subflow: usize,
        data: (u64, u64),
        released: &mut Vec<Released>,
    ) -> u64 {
        let fresh = self.order.receive(now, subflow, data, released);
        if fresh > 0 {
            let arrival = Arrival {
                now,
                bytes: Bytes(fresh),
                segments: 1,
                segment_size: self.segment,
                timestamp: None,
                echo: None,
            };
            self.window.on_data(&arrival, Bytes(self.order.held()));
        }
        fresh
    }

    /// The application reads up to `limit` bytes; `rtt` is the longest round-trip time of a subflow, as in Linux
    /// (`mptcp_rcv_space_adjust`).
    pub(super) fn read(&mut self, now: Instant, limit: u64, rtt: Duration) -> u64 {
        let bytes = self.readable().min(limit);
        self.read_to += bytes;
        if bytes > 0 {
            let queued = self.readable();
            let read = Read { now, total: self.read_to, queued, rtt, segment_size: self.segment };
            self.window.on_read(&read);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Three segments of ten bytes over two subflows; the second arrives first, twice.
    #[test]
    fn data_is_read_once_and_in_order() {
        let mut incoming = Incoming::new(ReceiveWindowKind::Fixed(Bytes(100)), 10);
        let mut released = vec![];
        assert_eq!(incoming.receive(at(0), 1, (10, 10), &mut released), 10);
        assert_eq!((incoming.readable(), incoming.offer()), (0, 100));
        assert_eq!(incoming.receive(at(1), 0, (5, 20), &mut released), 10); // 5 to 10, and 20 to 25
        assert_eq!((incoming.readable(), released.len()), (0, 0));
        assert_eq!(incoming.receive(at(7), 0, (0, 10), &mut released), 5);
        let waits = released.iter().map(|one| (one.path, one.bytes, one.waited.as_millis()));
        assert_eq!(waits.collect::<Vec<_>>(), [(0, 5, 6), (1, 10, 7), (0, 5, 6)]);
        assert_eq!((incoming.next(), incoming.read(at(7), u64::MAX, Duration::ZERO)), (25, 25));
        assert_eq!(incoming.receive(at(8), 1, (0, 25), &mut released), 0);
        incoming.on_end(30);
        assert!(!incoming.is_complete());
        assert_eq!(incoming.receive(at(9), 1, (25, 5), &mut released), 5);
        assert_eq!((incoming.is_complete(), incoming.at_end(), incoming.acknowledged()), (true, false, 31));
        assert_eq!((incoming.read(at(9), u64::MAX, Duration::ZERO), incoming.at_end()), (5, true));
    }
}
