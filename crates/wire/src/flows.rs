//! A table of flows by 5-tuple, for packets that a scenario does not name.
//!
//! Peers may be hostile, so everything has a bound. A full table gives new flows no number, so that a flood of new
//! tuples cannot displace the flows that exist. A flow without a packet for some time ends; one that was seen in one
//! direction only ends earlier. The work per packet is a search in a tree.
//!
//! The order of events decides everything: the same packets at the same times give the same numbers.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{Direction, Duration, FlowId, Instant};

use crate::{Class, Error, FiveTuple, FragmentId, classify};

/// The bounds of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// The number of the first flow; the others follow.
    pub first: u32,
    /// Maximum number of flows.
    pub flows: u32,
    /// Time without a packet after which a flow ends.
    pub idle: Duration,
    /// Idle time after which a flow that was seen in one direction only ends.
    pub idle_unanswered: Duration,
    /// Maximum number of fragmented packets whose later fragments are expected.
    pub fragments: usize,
    /// How long they are expected.
    pub fragment_lifetime: Duration,
}

impl FlowLimits {
    /// Bounds for this many flows: 124 minutes and 4 minutes of idle time (RFC 5382 §5, REQ-5, for established and
    /// transitory connections of TCP; other protocols have no states), and 30 s for fragments (Linux `IP_FRAG_TIME`).
    #[must_use]
    pub const fn for_flows(first: u32, flows: u32) -> Self {
        Self {
            first,
            flows,
            idle: Duration::from_secs(124 * 60),
            idle_unanswered: Duration::from_secs(240),
            fragments: 1024,
            fragment_lifetime: Duration::from_secs(30),
        }
    }
}

/// The flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The packet belongs to this flow.
    Known(FlowId),
    /// The packet is the first one of this flow.
    New(FlowId),
    /// A fragment whose first fragment was not seen, or an ICMP error about no flow of the table.
    Stray,
    /// The packet would be the first one of a flow, but the table is full.
    Full,
}

/// A flow, seen from the UE.
type Key = FiveTuple;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    last: Instant,
    /// Directions in which packets were seen, one bit each.
    seen: u8,
    /// Neighbours in the list of its kind, by the time of the last packet.
    before: u32,
    after: u32,
}

/// Flows, from the longest idle one to the latest.
#[derive(Clone, Copy, Debug)]
struct List {
    oldest: u32,
    latest: u32,
}

/// The table.
#[derive(Debug)]
pub struct FlowTable {
    limits: FlowLimits,
    numbers: BTreeMap<Key, u32>,
    entries: Vec<Entry>,
    /// Places of flows that ended.
    free: Vec<u32>,
    /// Unanswered and answered flows.
    lists: [List; 2],
    fragments: BTreeMap<FragmentId, Key>,
    expected: VecDeque<(Instant, FragmentId)>,
    /// Ended flows that [`FlowTable::poll_ended`] has not returned yet.
    ended: VecDeque<u32>,
}

impl FlowTable {
    /// An empty table.
    #[must_use]
    pub const fn new(limits: FlowLimits) -> Self {
        let list = List { oldest: NONE, latest: NONE };
        Self {
            limits,
            numbers: BTreeMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            lists: [list; 2],
            fragments: BTreeMap::new(),
            expected: VecDeque::new(),
            ended: VecDeque::new(),
        }
    }

    /// The flow of a packet that travels in this direction. Times must not decrease.
    ///
    /// # Errors
    /// If the bytes are no packet.
    pub fn find(&mut self, bytes: &[u8], direction: Direction, now: Instant) -> Result<Found, Error> {
        let class = classify(bytes)?;
        self.expire(now);
        Ok(match class {
            Class::Whole(tuple) => self.find_or_add(tuple, direction, now),
            Class::FirstFragment(tuple, id) => {
                let found = self.find_or_add(tuple, direction, now);
                if let Found::Known(_) | Found::New(_) = found {
                    self.expect(id, key(tuple, direction), now);
                }
                found
            }
            Class::Fragment(id) => self.fragments.get(&id).map_or(Found::Stray, |key| self.known(key)),
            Class::Quotes(tuple) => {
                // The quoted packet travelled in the opposite direction. An error does not keep a flow alive.
                self.known(&key(tuple, direction.reversed()))
            }
        })
    }

    /// The tuple of a flow, as packets from the UE have it.
    #[must_use]
    pub fn tuple(&self, flow: FlowId) -> Option<FiveTuple> {
        let place = flow.0.checked_sub(self.limits.first)?;
        let entry = self.entries.get(place as usize)?;
        (self.numbers.get(&entry.key) == Some(&place)).then_some(entry.key)
    }

    /// Ends flows that were idle for too long. [`Self::find`] does it too.
    pub fn expire(&mut self, now: Instant) {
        for (list, idle) in [(0, self.limits.idle_unanswered), (1, self.limits.idle)] {
            while let place = self.lists[list].oldest
                && place != NONE
                && now.saturating_since(self.entries[place as usize].last) >= idle
            {
                self.unlink(list, place);
                self.numbers.remove(&self.entries[place as usize].key);
                self.ended.push_back(place);
            }
        }
        while let Some(&(at, id)) = self.expected.front()
            && now.saturating_since(at) >= self.limits.fragment_lifetime
        {
            self.expected.pop_front();
            self.fragments.remove(&id);
        }
    }

    /// The next flow that has ended. Its number may be given to another flow from now on, so a caller that does not
    /// ask runs out of flows.
    pub fn poll_ended(&mut self) -> Option<FlowId> {
        let place = self.ended.pop_front()?;
        self.free.push(place);
        Some(self.flow(place))
    }

    /// Flows in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// True without flows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    const fn flow(&self, place: u32) -> FlowId {
        FlowId(self.limits.first + place)
    }

    /// The flow of this key, which stays as it is.
    fn known(&self, key: &Key) -> Found {
        self.numbers.get(key).map_or(Found::Stray, |&place| Found::Known(self.flow(place)))
    }

    fn find_or_add(&mut self, tuple: FiveTuple, direction: Direction, now: Instant) -> Found {
        let key = key(tuple, direction);
        if let Some(&place) = self.numbers.get(&key) {
            self.touch(place, direction, now);
            return Found::Known(self.flow(place));
        }
        let entry = Entry { key, last: now, seen: 1 << direction as u8, before: NONE, after: NONE };
        let place = if let Some(place) = self.free.pop() {
            self.entries[place as usize] = entry;
            place
        } else {
            let place = self.entries.len() as u32;
            if place >= self.limits.flows {
                return Found::Full;
            }
            self.entries.push(entry);
            place
        };
        self.numbers.insert(key, place);
        self.link(0, place);
        Found::New(self.flow(place))
    }

    /// A packet of a flow: it is now the latest of its list.
    fn touch(&mut self, place: u32, direction: Direction, now: Instant) {
        let before = self.entries[place as usize].seen;
        self.unlink(usize::from(before == 0b11), place);
        let entry = &mut self.entries[place as usize];
        entry.seen |= 1 << direction as u8;
        entry.last = now;
        let list = usize::from(entry.seen == 0b11);
        self.link(list, place);
    }

    fn link(&mut self, list: usize, place: u32) {
        let latest = self.lists[list].latest;
        let entry = &mut self.entries[place as usize];
        (entry.before, entry.after) = (latest, NONE);
        match latest {
            NONE => self.lists[list].oldest = place,
            latest => self.entries[latest as usize].after = place,
        }
        self.lists[list].latest = place;
    }

    fn unlink(&mut self, list: usize, place: u32) {
        let Entry { before, after, .. } = self.entries[place as usize];
        match before {
            NONE => self.lists[list].oldest = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => self.lists[list].latest = before,
            after => self.entries[after as usize].before = before,
        }
    }

    /// Expects more fragments of a packet; forgets the oldest one if there are too many.
    fn expect(&mut self, id: FragmentId, key: Key, now: Instant) {
        if self.fragments.insert(id, key).is_some() {
            return; // it keeps its first time, so that the queue stays in order
        }
        self.expected.push_back((now, id));
        if self.expected.len() > self.limits.fragments
            && let Some((_, oldest)) = self.expected.pop_front()
        {
            self.fragments.remove(&oldest);
        }
    }
}

/// The key of a packet's flow: the tuple in the direction from the UE.
const fn key(tuple: FiveTuple, direction: Direction) -> Key {
    match direction {
        Direction::Uplink => tuple,
        Direction::Downlink => tuple.reversed(),
    }
}
