//! Places of connections: how many a listener has at a time, in all and of each client.
//!
//! A client is an IPv4 address or an IPv6 /64 ([`client_of`]). When all places are taken, a client with fewer
//! connections than another one takes a place of the client that has the most: of its connections, the one without
//! progress for the longest time ends. So a client, however many connections it opens and holds, shuts no other client
//! out (max-min fairness of the places).

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::task::AtomicWaker;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use crate::clients::{Client, client_of};

/// Maximum number of connections that have lost their places and have not ended yet. Above it, no client gets the place
/// of another one.
const LEAVING_MAX: u32 = 32;

/// How many places there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    /// Connections at a time.
    pub(crate) connections: u32,
    /// Maximum number of connections of one client.
    pub(crate) per_client: u32,
}

/// The counters of connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Open connections.
    pub(crate) open: Gauge,
    /// Connections above a bound.
    pub(crate) refused: Counter,
    /// Connections that ended because another client needed the place.
    pub(crate) displaced: Counter,
}

/// The places of a listener.
#[derive(Debug)]
pub(crate) struct Places {
    count: Count,
    counters: Counters,
    /// The beginning of the times of [`Held`].
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    all: u32,
    /// Connections that have lost their places and have not ended yet.
    leaving: u32,
    /// The number of the next connection.
    next: u64,
    clients: BTreeMap<Client, BTreeMap<u64, Arc<Held>>>,
}

/// A connection with a place.
#[derive(Debug)]
struct Held {
    number: u64,
    /// Time of the last progress, in milliseconds.
    progress: AtomicU64,
    displaced: AtomicBool,
    waker: AtomicWaker,
}

/// The place of a connection; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    client: Client,
    held: Arc<Held>,
}

impl Places {
    pub(crate) fn new(count: Count, counters: Counters) -> Arc<Self> {
        Arc::new(Self { count, counters, begun: Instant::now(), state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while it is locked")
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether all places are taken, so that the next client displaces another one or is refused.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().all >= self.count.connections
    }

    /// A place for one more connection of an address; `None` above a bound.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let client = client_of(address);
        let mut state = self.lock();
        let own = state.of(client);
        let is_free = state.all < self.count.connections;
        if own >= self.count.per_client || !(is_free || self.displace(&mut state, own)) {
            self.counters.refused.inc();
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.all += 1;
        let held = Arc::new(Held {
            number,
            progress: self.now().into(),
            displaced: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        state.clients.entry(client).or_default().insert(number, held.clone());
        self.counters.open.set(state.open());
        drop(state);
        Some(Place { places: self.clone(), client, held })
    }

    /// Ends a connection of the client with the most connections for a client with `own` connections, if neither client
    /// then has more than the other had.
    fn displace(&self, state: &mut State, own: u32) -> bool {
        if state.leaving >= LEAVING_MAX {
            return false;
        }
        let Some((client, most)) = state.clients.iter().max_by_key(|(_, held)| held.len()) else {
            return false;
        };
        if most.len() < own as usize + 2 {
            return false;
        }
        let oldest = most.values().min_by_key(|held| held.progress.load(Ordering::Relaxed)).cloned();
        let (client, held) = (*client, oldest.expect("it has connections"));
        state.remove(client, held.number);
        state.leaving += 1;
        self.counters.displaced.inc();
        held.displaced.store(true, Ordering::Release);
        held.waker.wake();
        true
    }
}

impl State {
    fn of(&self, client: Client) -> u32 {
        self.clients.get(&client).map_or(0, |held| held.len() as u32)
    }

    fn open(&self) -> i64 {
        i64::from(self.all) + i64::from(self.leaving)
    }

    fn remove(&mut self, client: Client, number: u64) {
        let Some(own) = self.clients.get_mut(&client) else { return };
        if own.remove(&number).is_some() {
            self.all -= 1;
        }
        if own.is_empty() {
            self.clients.remove(&client);
        }
    }
}

impl Place {
    /// The client that has it.
    pub(crate) const fn client(&self) -> Client {
        self.client
    }

    /// The connection has made progress.
    pub(crate) fn progress(&self) {
        self.held.progress.store(self.places.now(), Ordering::Relaxed);
    }

    /// Ready when the connection has to end because another client has its place.
    pub(crate) fn poll_displaced(&self, cx: &Context<'_>) -> Poll<()> {
        // Registered before the flag is read, so that no change is missed.
        self.held.waker.register(cx.waker());
        if self.held.displaced.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Resolves when the connection has to end because another client has its place.
    pub(crate) async fn displaced(&self) {
        poll_fn(|cx| self.poll_displaced(cx)).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.lock();
        if self.held.displaced.load(Ordering::Acquire) {
            state.leaving -= 1;
        } else {
            state.remove(self.client, self.held.number);
        }
        self.places.counters.open.set(state.open());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(connections: u32, per_client: u32) -> Arc<Places> {
        Places::new(Count { connections, per_client }, Counters::default())
    }

    fn take(places: &Arc<Places>, address: &str) -> Option<Place> {
        places.take(address.parse().unwrap())
    }

    fn is_displaced(place: &Place) -> bool {
        place.held.displaced.load(Ordering::Acquire)
    }

    #[test]
    fn a_client_has_its_share_and_gives_it_back() {
        let places = places(10, 2);
        let [first, second] = [1, 2].map(|_| take(&places, "10.0.0.1").unwrap());
        assert!(take(&places, "10.0.0.1").is_none() && take(&places, "::ffff:10.0.0.1").is_none());
        let other = take(&places, "10.0.0.2").unwrap();
        assert_eq!(places.counters.open.get(), 3);
        drop(first);
        let again = take(&places, "10.0.0.1").unwrap();
        drop((second, again, other));
        assert_eq!((places.counters.open.get(), places.counters.refused.get()), (0, 2));
        assert!(places.lock().clients.is_empty());
    }

    #[test]
    fn a_prefix_of_ipv6_is_one_client() {
        let places = places(10, 2);
        let _held = [1, 2].map(|n| take(&places, &format!("2001:db8:0:1::{n}")).unwrap());
        assert!(take(&places, "2001:db8:0:1:ffff::9").is_none());
        assert!(take(&places, "2001:db8:0:2::1").is_some());
    }

    /// Four places, all of one client: three others get one each, and the first keeps one.
    #[test]
    fn the_client_with_the_most_connections_makes_room() {
        let places = places(4, 64);
        let held: Vec<_> = (0..4).map(|_| take(&places, "10.0.0.1").unwrap()).collect();
        // The third has made progress last, the second never.
        for (number, at) in [(0, 20), (1, 10), (2, 40), (3, 30)] {
            held[number].held.progress.store(at, Ordering::Relaxed);
        }
        let _others: Vec<_> =
            ["10.0.0.2", "10.0.0.3", "10.0.0.4"].map(|one| take(&places, one).unwrap()).into();
        assert_eq!(held.iter().map(is_displaced).collect::<Vec<_>>(), [true, true, false, true]);
        // Each has one now: a fifth client does not displace any of them, and neither does one that has a place.
        assert!(take(&places, "10.0.0.5").is_none() && take(&places, "10.0.0.2").is_none());
        assert_eq!((places.counters.open.get(), places.counters.displaced.get()), (7, 3));
        drop(held);
        assert_eq!(places.counters.open.get(), 3);
        assert!(take(&places, "10.0.0.5").is_some());
    }

    #[test]
    fn connections_that_lost_their_places_are_bounded() {
        let places = places(100, 100);
        let held: Vec<_> = (0..100).map(|_| take(&places, "10.0.0.1").unwrap()).collect();
        let others: Vec<_> = (0..60).filter_map(|n| take(&places, &format!("10.0.1.{n}"))).collect();
        assert_eq!(others.len(), LEAVING_MAX as usize);
        drop(held);
        assert!(take(&places, "10.0.2.1").is_some());
    }

    #[test]
    fn a_connection_is_woken_when_it_is_displaced() {
        let places = places(2, 2);
        let held = [1, 2].map(|_| take(&places, "10.0.0.1").unwrap());
        let mut first = tokio_test(held[0].displaced());
        assert!(!first());
        let _other = take(&places, "10.0.0.2").unwrap();
        assert!(first());
    }

    /// A function that polls a future and says whether it is ready.
    fn tokio_test(future: impl Future<Output = ()>) -> impl FnMut() -> bool {
        let mut future = Box::pin(future);
        move || future.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_ready()
    }
}
