//! TIME-WAIT of a proxy: the state that is kept for a time after a connection has left the table.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::Instant;
use airlane_transport::{ClosedEnd, TcpEndpoint};

use super::key::Key;

/// The answer to a late segment.
#[derive(Clone, Copy, Debug)]
pub(super) enum TimeWait {
    /// Both ends have closed: the last acknowledgment is repeated (TIME-WAIT, RFC 9293 §3.6.1).
    Closed([ClosedEnd; 2]),
    /// The connection was aborted: a segment is answered with a RST.
    Reset,
    /// The connection was never proxied, and passes. A repeated SYN must not be proxied either.
    Passes,
}

impl TimeWait {
    pub(super) fn closed(ends: [TcpEndpoint; 2], now: Instant) -> Self {
        match ends.map(|end| end.into_closed(now)) {
            [Some(core), Some(ran)] => Self::Closed([core, ran]),
            _ => Self::Reset,
        }
    }
}

/// A kept state, with its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeWaitEntry {
    pub(super) key: Key,
    until: Instant,
    answer: TimeWait,
}

impl TimeWaitEntry {
    /// True if late segments are answered.
    pub(super) const fn answers(&self) -> bool {
        !matches!(self.answer, TimeWait::Passes)
    }
}

/// The kept states, bounded in number.
#[derive(Debug)]
pub(super) struct TimeWaitTable {
    most: usize,
    by_key: BTreeMap<Key, (Instant, TimeWait)>,
    /// The end of each entry; a replaced or removed entry stays here until then. All entries are kept for one of two
    /// durations, so each of two queues is in order.
    until: [VecDeque<(Instant, Key)>; 2],
    full_until: Instant,
}

/// The queue of ended connections, and of those that pass.
const ENDED: usize = 0;
const PASSING: usize = 1;

impl TimeWaitTable {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            most,
            by_key: BTreeMap::new(),
            until: [VecDeque::new(), VecDeque::new()],
            full_until: Instant::ZERO,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(super) fn get(&self, key: Key) -> Option<TimeWait> {
        self.by_key.get(&key).map(|(_, answer)| *answer)
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.by_key.remove(&key);
    }

    /// Adds an ended connection; the oldest are removed if there are too many. Returns how many were removed
    /// early.
    pub(super) fn add(&mut self, until: Instant, key: Key, answer: TimeWait) -> u64 {
        self.by_key.insert(key, (until, answer));
        self.until[ENDED].push_back((until, key));
        let mut forgotten = 0;
        while self.until[ENDED].len() > self.most {
            forgotten += u64::from(self.drop_first(ENDED));
        }
        forgotten
    }

    /// Adds an unproxied connection, whose SYN may be repeated until then. If there are too many of them, no other
    /// connection is proxied until the time of this one is over ([`Self::are_full`]).
    pub(super) fn add_passing(&mut self, until: Instant, key: Key) {
        if self.until[PASSING].len() < self.most {
            self.by_key.insert(key, (until, TimeWait::Passes));
            self.until[PASSING].push_back((until, key));
        } else {
            self.be_full_until(until);
        }
    }

    /// Removes the states of some connections.
    pub(super) fn take(&mut self, is_of: impl Fn(Key) -> bool) -> Vec<TimeWaitEntry> {
        let ours = self.by_key.iter().filter(|(key, _)| is_of(**key));
        let state = |(key, (until, answer)): (&Key, &(Instant, TimeWait))| TimeWaitEntry {
            key: *key,
            until: *until,
            answer: *answer,
        };
        let taken: Vec<TimeWaitEntry> = ours.map(state).collect();
        if !taken.is_empty() {
            taken.iter().for_each(|state| self.remove(state.key));
            // The connections may return, and must not be counted twice.
            self.until.iter_mut().for_each(|queue| queue.retain(|(_, key)| !is_of(*key)));
        }
        taken
    }

    /// Adds a state from another proxy, which may be kept a little longer than there.
    pub(super) fn put(&mut self, state: TimeWaitEntry) -> u64 {
        let TimeWaitEntry { key, until, answer } = state;
        match answer {
            TimeWait::Passes => {
                self.add_passing(until, key);
                0
            }
            TimeWait::Closed(_) | TimeWait::Reset => self.add(until, key, answer),
        }
    }

    /// True if a SYN may belong to a passing connection that is not listed.
    pub(super) fn are_full(&self, now: Instant) -> bool {
        now < self.full_until
    }

    /// The end of [`Self::are_full`].
    pub(super) const fn full_until(&self) -> Instant {
        self.full_until
    }

    /// A SYN may belong to a connection that passes another proxy and is not listed there.
    pub(super) fn be_full_until(&mut self, until: Instant) {
        self.full_until = self.full_until.max(until);
    }

    /// Removes the expired states.
    pub(super) fn forget_until(&mut self, now: Instant) {
        for queue in 0..self.until.len() {
            while self.until[queue].front().is_some_and(|(at, _)| *at <= now) {
                self.drop_first(queue);
            }
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.until.iter().filter_map(|queue| queue.front().map(|(at, _)| *at)).min()
    }

    /// Removes the first of a queue; false if it was replaced or removed before.
    fn drop_first(&mut self, queue: usize) -> bool {
        let Some((at, key)) = self.until[queue].pop_front() else { return false };
        let stands = self.by_key.get(&key).is_some_and(|(until, _)| *until == at);
        if stands {
            self.by_key.remove(&key);
        }
        stands
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Direction, FlowId, Header, Packet, Payload, TcpHeader};

    use super::*;

    fn key(flow: u32) -> Key {
        let (header, payload) = (Header::Tcp(TcpHeader::default()), Payload::Length(0));
        Key::of(&Packet::new(FlowId(flow), Direction::Uplink, header, payload, Instant::ZERO))
    }

    #[test]
    fn who_comes_back_takes_up_its_room_once() {
        let until = Instant::from_millis(60_000);
        let (mut here, mut there) = (TimeWaitTable::new(2), TimeWaitTable::new(2));
        here.add_passing(until, key(0));
        assert_eq!(here.add(until, key(1), TimeWait::Reset), 0);
        for _ in 0..5 {
            for (from, to) in [(0, 1), (1, 0)] {
                let both = [&mut here, &mut there];
                let taken = both[from].take(|_| true);
                assert!(both[from].is_empty() && both[from].next_timeout().is_none());
                assert_eq!(taken.into_iter().map(|state| both[to].put(state)).sum::<u64>(), 0);
            }
        }
        assert!(matches!(here.get(key(0)), Some(TimeWait::Passes)) && !here.are_full(Instant::ZERO));
        assert!(matches!(here.get(key(1)), Some(TimeWait::Reset)));
        // The third ended connection exceeds the bound: the first is removed early.
        assert_eq!(here.add(until, key(2), TimeWait::Reset) + here.add(until, key(3), TimeWait::Reset), 1);
        assert!(here.get(key(1)).is_none());
        here.forget_until(until);
        assert!(here.is_empty());
    }

    #[test]
    fn a_proxy_is_full_as_long_as_any_that_passes_may_come_again() {
        let at = Instant::from_millis;
        let mut table = TimeWaitTable::new(0);
        table.add_passing(at(60), key(0));
        table.add_passing(at(50), key(1)); // from another proxy, where it had passed before
        assert!(table.are_full(at(59)) && !table.are_full(at(60)));
    }
}
