//! The data that a connection sends, in the order of its data sequence numbers.
//!
//! Positions count the bytes of the data from zero.

use std::collections::VecDeque;

/// Data that must be sent again, through another subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reinjection {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The subflow that has carried it, and that will repeat it if its path recovers; none if it was removed.
    pub(super) from: Option<usize>,
}

/// The send half of a connection.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// First position that is not acknowledged, and first that was not sent.
    una: u64,
    next: u64,
    /// Position up to which the application has written; `u64::MAX` if it always has more.
    written: u64,
    closed: bool,
    /// First position that the peer does not accept.
    window_end: u64,
    reinjections: VecDeque<Reinjection>,
}

impl Outgoing {
    pub(super) const fn new() -> Self {
        Self { una: 0, next: 0, written: 0, closed: false, window_end: 0, reinjections: VecDeque::new() }
    }

    pub(super) const fn una(&self) -> u64 {
        self.una
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) const fn supply(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    pub(super) const fn supply_endless(&mut self) {
        self.written = u64::MAX;
    }

    /// An application that always had more data has none for now.
    pub(super) const fn hold_supply(&mut self) {
        if self.written == u64::MAX {
            self.written = self.next;
        }
    }

    /// The application writes no more. One that always had more ends with the data sent.
    pub(super) const fn close(&mut self) {
        self.hold_supply();
        self.closed = true;
    }

    /// Bytes that were written and have not been sent.
    pub(super) const fn unsent(&self) -> u64 {
        self.written - self.next
    }

    /// New data that the peer accepts, from [`Self::next`] on.
    pub(super) fn sendable(&self) -> u64 {
        self.written.min(self.window_end).saturating_sub(self.next)
    }

    /// Whether the peer's window alone prevents that more is sent.
    pub(super) fn is_blocked(&self) -> bool {
        self.unsent() > 0 && self.sendable() == 0
    }

    /// The peer's window in bytes.
    pub(super) fn window(&self) -> u64 {
        self.window_end.saturating_sub(self.una)
    }

    /// New data was sent.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        assert!(bytes <= self.sendable(), "a scheduler sends what was written and fits into the window");
        self.next += bytes;
    }

    /// The end of the data, if all of it has been sent: a DATA_FIN may follow.
    pub(super) fn end(&self) -> Option<u64> {
        (self.closed && self.next == self.written).then_some(self.written)
    }

    /// Whether the peer has acknowledged all data, independent of the DATA_FIN.
    pub(super) const fn data_acknowledged(&self) -> bool {
        self.una >= self.written
    }

    /// Whether the peer has acknowledged the DATA_FIN.
    pub(super) const fn is_finished(&self) -> bool {
        self.closed && self.una > self.written
    }

    /// A data acknowledgment with the window that the segment announces. What acknowledges data that was never sent is
    /// ignored (RFC 8684 §3.3.2).
    pub(super) fn on_ack(&mut self, acknowledged: u64, window: u64) {
        let limit = self.next + u64::from(self.end().is_some());
        if acknowledged > limit {
            return;
        }
        self.una = self.una.max(acknowledged);
        self.window_end = self.window_end.max(acknowledged + window);
    }

    /// Data must be sent again, because a subflow may not deliver it.
    pub(super) fn reinject(&mut self, reinjection: Reinjection) {
        if reinjection.end > self.una {
            let place = self.reinjections.partition_point(|other| other.start <= reinjection.start);
            self.reinjections.insert(place, reinjection);
        }
    }

    /// A subflow was removed: it repeats nothing.
    pub(super) fn forget_carrier(&mut self, subflow: usize) {
        let carried = self.reinjections.iter_mut().filter(|one| one.from == Some(subflow));
        carried.for_each(|one| one.from = None);
    }

    /// Nothing more is sent.
    pub(super) fn abandon(&mut self) {
        self.reinjections.clear();
        (self.written, self.window_end) = (self.next, self.next);
    }

    /// The first data that must be sent again.
    pub(super) fn reinjection(&mut self) -> Option<Reinjection> {
        while let Some(first) = self.reinjections.front_mut() {
            first.start = first.start.max(self.una);
            if first.start < first.end {
                return Some(*first);
            }
            self.reinjections.pop_front();
        }
        None
    }

    /// The first bytes of it were sent again.
    pub(super) fn on_reinjected(&mut self, bytes: u64) {
        if let Some(first) = self.reinjections.front_mut() {
            first.start += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_is_not_sent_again() {
        let mut outgoing = Outgoing::new();
        outgoing.supply(100);
        outgoing.on_ack(0, 60);
        assert_eq!((outgoing.sendable(), outgoing.is_blocked()), (60, false));
        outgoing.on_sent(60);
        assert!(outgoing.is_blocked());
        outgoing.reinject(Reinjection { start: 30, end: 40, from: Some(1) });
        outgoing.reinject(Reinjection { start: 0, end: 20, from: Some(0) });
        outgoing.on_ack(61, 60); // never sent
        outgoing.on_ack(10, 60);
        assert_eq!(outgoing.reinjection(), Some(Reinjection { start: 10, end: 20, from: Some(0) }));
        outgoing.on_reinjected(10);
        assert_eq!(outgoing.reinjection(), Some(Reinjection { start: 30, end: 40, from: Some(1) }));
        outgoing.on_ack(40, 60);
        assert_eq!((outgoing.reinjection(), outgoing.sendable(), outgoing.end()), (None, 40, None));
        outgoing.close();
        outgoing.on_sent(40);
        assert_eq!(outgoing.end(), Some(100));
        outgoing.on_ack(101, 60);
        assert!(outgoing.is_finished() && outgoing.data_acknowledged());
    }
}
