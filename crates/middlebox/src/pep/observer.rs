//! The state of connections in a PEP, and the times of its reports: without packets, so that a program with real
//! sockets can also run it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use airlane_core::{Duration, Instant, TcpFlags};
use airlane_net::pep::{Body, Key, LIST_MAX, Message};

use super::PepConfig;
use super::fault::Faulty;
use super::observation::{Observation, Recent, SegmentEffect};

/// Counters of a PEP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PepStatistics {
    /// Segments with data that passed from the core.
    pub segments: u64,
    /// Packets that were not observed because the table was full.
    pub unwatched: u64,
    /// Packets that were not stored because the ranges of the flow were full.
    pub unremembered: u64,
    /// Messages sent.
    pub messages: u64,
    /// Messages that were sent for a hole.
    pub nacks: u64,
}

/// The observation of a flow.
#[derive(Debug)]
enum Observed {
    Tcp(Observation),
    Opaque(Recent),
}

impl Observed {
    fn report(&self) -> Body {
        match self {
            Self::Tcp(seen) => Body::Tcp(seen.report()),
            Self::Opaque(recent) => Body::Opaque(recent.report()),
        }
    }
}

/// A connection, as identified by its packets.
pub trait Connection: Copy + Ord {
    /// The number of the connection in messages, for those who share the secret.
    fn identifier(&self, secret: &[u8]) -> u64;
}

/// The outlet of messages.
pub trait Outlet<C> {
    /// An empty buffer.
    fn buffer(&mut self) -> Vec<u8>;

    /// The time at which a message leaves that is due `now`. A driver with a real clock is later than that.
    fn leaves_at(&self, now: Instant) -> Instant;

    /// Sends a message about a connection.
    fn send(&mut self, connection: C, serial: u32, message: Vec<u8>);
}

/// The fields of a TCP segment that a PEP reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number.
    pub sequence: u32,
    /// The acknowledgment number.
    pub acknowledgment: u32,
    /// The control bits.
    pub flags: TcpFlags,
    /// Bytes of payload.
    pub payload: u32,
}

/// An observed connection.
#[derive(Debug)]
struct Watched {
    identifier: u64,
    key: Key,
    observed: Observed,
    serial: u32,
    /// Number of segments since the last message, and the times of the first and the last of them.
    pending: u32,
    pending_since: Instant,
    newest_at: Instant,
    /// A hole has become certain since the last message.
    urgent: bool,
    /// Send time of the last message.
    sent_at: Option<Instant>,
    /// Time at which the next message is due.
    due: Instant,
    /// The sequence number after the FIN, once it was seen.
    end: Option<u32>,
}

/// The observation of connections, and the messages about them.
#[derive(Debug)]
pub struct Observer<C> {
    reporter: Reporter,
    flows: BTreeMap<C, Watched>,
    /// Due times of messages; outdated entries are skipped.
    due: Due<C>,
    /// The table was full, without an idle flow: it is not searched again before this time.
    full_until: Instant,
    /// Highest serial of a connection whose state was discarded, if serials must not begin again.
    discarded: Option<u32>,
}

/// Makes messages, and has the state that is not per flow.
#[derive(Debug)]
struct Reporter {
    config: PepConfig,
    faulty: Option<Faulty>,
    instance: u32,
    statistics: PepStatistics,
    /// A serial has reached its end.
    exhausted: bool,
}

/// Due times of messages, by connection.
type Due<C> = BinaryHeap<Reverse<(Instant, C)>>;

/// How long a full table is not searched again.
const FULL_FOR: Duration = Duration::from_secs(1);

impl<C: Connection> Observer<C> {
    /// An observer without state.
    #[must_use]
    pub fn new(mut config: PepConfig) -> Self {
        let faulty = config.fault.take().map(|(fault, chance)| Faulty::new(fault, chance));
        let statistics = PepStatistics::default();
        Self {
            reporter: Reporter { config, faulty, instance: 1, statistics, exhausted: false },
            flows: BTreeMap::new(),
            due: BinaryHeap::new(),
            full_until: Instant::ZERO,
            discarded: None,
        }
    }

    /// An observer whose serials rise even if it has discarded the state of a connection since: a receiver would
    /// take a serial from 1 for a repetition.
    #[must_use]
    pub fn with_rising_serials(mut self) -> Self {
        self.discarded = Some(0);
        self
    }

    /// The counters of the observer.
    #[must_use]
    pub const fn statistics(&self) -> PepStatistics {
        self.reporter.statistics
    }

    /// Number of observed connections.
    #[must_use]
    pub fn watched(&self) -> usize {
        self.flows.len()
    }

    /// True if a serial has reached its end: a new instance must begin (§3.1 of the format).
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.reporter.exhausted
    }

    /// Forgets all connections, and begins an instance.
    pub fn begin(&mut self, instance: u32) {
        self.flows.clear();
        self.due.clear();
        self.discarded = self.discarded.map(|_| 0);
        self.reporter.instance = instance;
        self.reporter.exhausted = false;
    }

    /// Handles a failure or a restart. Returns false while it is down.
    pub(super) fn lives(&mut self, now: Instant) -> bool {
        let Some(faulty) = &self.reporter.faulty else { return true };
        let instance = 1 + faulty.restarts(now);
        let dead = faulty.is_dead(now);
        if dead || instance != self.reporter.instance {
            self.begin(instance);
        }
        !dead
    }

    /// Discards the state of a connection.
    fn discard(&mut self, connection: C) {
        if let Some(watched) = self.flows.remove(&connection)
            && let Some(discarded) = &mut self.discarded
        {
            *discarded = watched.serial.max(*discarded);
        }
    }

    /// Discards the state of connections that are idle.
    pub fn expire(&mut self, now: Instant) {
        let Self { reporter, flows, discarded, .. } = self;
        flows.retain(|_, flow| {
            let keep = now.saturating_since(flow.newest_at) < reporter.config.idle;
            if let Some(discarded) = discarded
                && !keep
            {
                *discarded = flow.serial.max(*discarded);
            }
            keep
        });
    }

    /// True if the flow is observed, or there is room for it.
    fn has_room(&mut self, now: Instant, connection: C) -> bool {
        let most = self.reporter.config.flows;
        if self.flows.len() < most || self.flows.contains_key(&connection) {
            return true;
        }
        if now < self.full_until {
            return false;
        }
        self.expire(now);
        let room = self.flows.len() < most;
        if !room {
            self.full_until = now + FULL_FOR;
        }
        room
    }

    /// A segment passes from server to client.
    pub fn on_downlink(
        &mut self,
        now: Instant,
        outlet: &mut impl Outlet<C>,
        connection: C,
        segment: Segment,
    ) {
        let Segment { sequence, flags, payload, .. } = segment;
        let (syn, fin) = (flags.has(TcpFlags::SYN), flags.has(TcpFlags::FIN));
        if syn || flags.has(TcpFlags::RST) {
            self.discard(connection); // the following segments belong to another connection
        }
        let left = sequence.wrapping_add(u32::from(syn));
        let right = left.wrapping_add(payload).wrapping_add(u32::from(fin));
        let data = left != right;
        if flags.has(TcpFlags::RST) || !(data || syn) {
            return;
        }
        self.reporter.statistics.segments += u64::from(data);
        if !self.has_room(now, connection) {
            self.reporter.statistics.unwatched += u64::from(data);
            return;
        }
        let Self { reporter, flows, due, discarded, .. } = self;
        let watched = flows.entry(connection).or_insert_with(|| {
            let seen = Observation::new(left, reporter.config.ranges, reporter.config.reordering);
            reporter.watch(now, connection, Observed::Tcp(seen), *discarded)
        });
        watched.newest_at = now;
        if !data {
            return;
        }
        if fin {
            watched.end = Some(right);
        }
        let Observed::Tcp(observation) = &mut watched.observed else { return };
        let effect = observation.on_segment(left, right);
        watched.urgent |= effect == SegmentEffect::Hole;
        reporter.statistics.unremembered += u64::from(effect == SegmentEffect::NoRoom);
        reporter.passed(now, outlet, connection, watched, due);
    }

    /// A datagram of QUIC passes from server to client. Its first bytes are enough, as many as
    /// [`airlane_net::pep::IDENTIFIED`].
    pub fn on_datagram(&mut self, now: Instant, outlet: &mut impl Outlet<C>, connection: C, prefix: &[u8]) {
        self.reporter.statistics.segments += 1;
        if !self.has_room(now, connection) {
            self.reporter.statistics.unwatched += 1;
            return;
        }
        let Self { reporter, flows, due, discarded, .. } = self;
        let watched = flows.entry(connection).or_insert_with(|| {
            reporter.watch(now, connection, Observed::Opaque(Recent::default()), *discarded)
        });
        watched.newest_at = now;
        let identifier = watched.key.identifier(prefix);
        let Observed::Opaque(recent) = &mut watched.observed else { return };
        recent.on_datagram(identifier);
        reporter.passed(now, outlet, connection, watched, due);
    }

    /// A segment passes from client to server: acknowledged data need not be observed.
    pub fn on_uplink(&mut self, connection: C, segment: Segment) {
        if segment.flags.has(TcpFlags::RST) {
            self.discard(connection);
        } else if segment.flags.has(TcpFlags::ACK)
            && let Some(watched) = self.flows.get_mut(&connection)
        {
            if let Observed::Tcp(seen) = &mut watched.observed {
                seen.on_client_ack(segment.acknowledgment);
            }
            if watched.end.is_some_and(|end| end == segment.acknowledgment) {
                self.discard(connection);
            }
        }
    }

    /// Sends the messages that are due.
    pub fn on_timeout(&mut self, now: Instant, outlet: &mut impl Outlet<C>) {
        while let Some(Reverse((at, connection))) = self.due.peek().copied()
            && at <= now
        {
            self.due.pop();
            let due = |watched: &&mut Watched| watched.due <= now;
            if let Some(watched) = self.flows.get_mut(&connection).filter(due) {
                self.reporter.send(now, outlet, connection, watched);
            }
        }
    }

    /// When the next message is due.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }
}

impl Reporter {
    /// The entry of a new connection.
    fn watch<C: Connection>(
        &self,
        now: Instant,
        connection: C,
        observed: Observed,
        discarded: Option<u32>,
    ) -> Watched {
        let identifier = connection.identifier(&self.config.secret);
        Watched {
            identifier,
            key: Key::derive(&self.config.secret, identifier),
            observed,
            serial: discarded.unwrap_or(0),
            pending: 0,
            pending_since: now,
            newest_at: now,
            urgent: false,
            sent_at: None,
            due: Instant::FAR_FUTURE,
            end: None,
        }
    }

    /// Records another packet: a message leaves now, or is due later.
    fn passed<C: Connection>(
        &mut self,
        now: Instant,
        outlet: &mut impl Outlet<C>,
        connection: C,
        watched: &mut Watched,
        due: &mut Due<C>,
    ) {
        if watched.pending == 0 {
            watched.pending_since = now;
        }
        watched.pending += 1;
        let at = self.due(now, watched);
        if at <= now {
            self.send(now, outlet, connection, watched);
        } else if at < watched.due {
            watched.due = at;
            due.push(Reverse((at, connection)));
        }
    }

    /// The time at which the next message about the flow is due.
    fn due(&self, now: Instant, watched: &Watched) -> Instant {
        let most = match watched.observed {
            Observed::Tcp(_) => self.config.ack_every,
            Observed::Opaque(_) => self.config.ack_every.min(LIST_MAX as u32), // the maximum number of a message
        };
        let enough = watched.urgent || watched.pending >= most;
        let wanted = if enough { now } else { watched.pending_since + self.config.max_delay };
        wanted.max(watched.sent_at.map_or(now, |at| at + self.config.min_interval))
    }

    fn send<C: Connection>(
        &mut self,
        now: Instant,
        outlet: &mut impl Outlet<C>,
        connection: C,
        watched: &mut Watched,
    ) {
        let Some(serial) = watched.serial.checked_add(1) else {
            self.exhausted = true;
            return;
        };
        watched.serial = serial;
        let delay_us = outlet.leaves_at(now).saturating_since(watched.newest_at).as_nanos() / 1000;
        let mut message = Message {
            pep: self.config.id,
            flow: watched.identifier,
            instance: self.instance,
            serial,
            delay_us: u32::try_from(delay_us).unwrap_or(u32::MAX),
            body: watched.observed.report(),
        };
        self.statistics.messages += 1;
        self.statistics.nacks += u64::from(watched.urgent);
        watched.pending = 0;
        watched.urgent = false;
        watched.sent_at = Some(now);
        watched.due = Instant::FAR_FUTURE;
        if let Some(faulty) = &self.faulty {
            faulty.falsify(now, &mut message);
        }
        let mut bytes = outlet.buffer();
        message.encode(&watched.key, &mut bytes);
        let leaving = match &mut self.faulty {
            None => [Some(bytes), None],
            Some(faulty) => faulty.leave(bytes),
        };
        for bytes in leaving.into_iter().flatten() {
            outlet.send(connection, serial, bytes);
        }
    }
}
