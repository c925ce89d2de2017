//! The split-connection proxy: accepts SYNs, answers as the far end on each side, and relays the bytes
//! between two independent TCP connections.
//!
//! Each of them has its own congestion controller, options and timers, so losses are repaired and windows
//! grow over the round trip of one side (Farkas, Héder and Nováczki, EUNICE 2012, section 3.3, put it into
//! the SAE gateway and name the eNB as the alternative; RFC 3135 §3.1 describes the type). Each direction has
//! one buffer, in which a byte stays from its arrival until the far peer has acknowledged it. When this
//! buffer or the memory of all buffers is full, the advertised window closes. A FIN is forwarded after the
//! bytes before it and leaves the other direction open; a RST is forwarded at once.
//!
//! At its limits of connections and memory, a new connection passes unchanged (or is refused, if so
//! configured). The proxy never uses data behind the TCP header: other protocols pass, and so does a
//! connection whose SYN it has not seen.
//!
//! It depends only on packets and a clock, as every [`NetworkFunction`] does.

mod budget;
mod config;
mod connection;
mod enb;
mod key;
mod legs;
mod statistics;
mod time_wait;
mod timers;

use std::collections::BTreeMap;

use airlane_core::{Cx, FlowId, Header, Instant, Outbox, Packet, PacketRef, Payload, TcpFlags, TcpHeader};
use airlane_net::gtp;
use airlane_transport::content::PagePool;
use airlane_transport::refusal;

use crate::node::{NetworkFunction, Side};
use budget::Budget;
use connection::{Connection, Shared, direction_to};
use enb::HandoverContext;
use key::Key;
use time_wait::{TimeWait, TimeWaitTable};
use timers::Timers;

pub use config::{ConnectOrder, SplitConfig, WhenFull};
pub use enb::EnbProxies;
pub use legs::LegStatistics;
pub use statistics::{Ending, SplitStatistics};

/// The proxy.
#[derive(Debug)]
pub struct SplitProxy {
    shared: Shared,
    /// The slot of each connection.
    table: BTreeMap<Key, u32>,
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    timers: Timers,
    /// Ended connections, and those that pass unchanged.
    time_wait: TimeWaitTable,
    /// The last congestion window towards the UE of each flow, if new connections use it.
    windows: BTreeMap<FlowId, u32>,
}

impl SplitProxy {
    /// A proxy without connections.
    #[must_use]
    pub fn new(config: SplitConfig) -> Self {
        Self {
            time_wait: TimeWaitTable::new(config.connections),
            shared: Shared {
                budget: Budget::new(config.memory.get(), config.reserve(), config.connections as u64),
                statistics: SplitStatistics::default(),
                legs: Default::default(),
                stock: PagePool::default(),
                scratch: Outbox::with_capacity(64),
                config,
            },
            table: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            timers: Timers::default(),
            windows: BTreeMap::new(),
        }
    }

    /// The counters of the proxy.
    #[must_use]
    pub const fn statistics(&self) -> SplitStatistics {
        self.shared.statistics
    }

    /// The connections of the proxy to each side at this time, in the order of [`Side`]. This reads every connection.
    #[must_use]
    pub fn legs(&self, now: Instant) -> [LegStatistics; 2] {
        let mut legs = self.shared.legs;
        for connection in self.slots.iter().flatten() {
            for side in [Side::Core, Side::Ran] {
                connection.look_at(now, side, &mut legs[side as usize]);
            }
        }
        legs
    }

    /// The configuration of the proxy.
    #[must_use]
    pub const fn config(&self) -> &SplitConfig {
        &self.shared.config
    }

    /// Memory in bytes that its buffers use or have promised, and the maximum so far.
    #[must_use]
    pub const fn memory(&self) -> (u64, u64) {
        self.shared.budget.used()
    }

    /// True if there is no state of any connection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty() && self.time_wait.is_empty()
    }

    /// Handles the first segment of a connection, from a side.
    fn on_syn(
        &mut self,
        cx: &mut Cx<'_>,
        (key, side): (Key, Side),
        syn: &TcpHeader,
        packet: PacketRef,
    ) -> Option<PacketRef> {
        let room = self.table.len() < self.shared.config.connections && !self.time_wait.are_full(cx.now);
        let Some(charged) = room.then(|| self.shared.budget.admit()).flatten() else {
            return self.turn_away(cx, (key, side), syn, packet);
        };
        let _ = cx.pool.consume(packet);
        self.shared.statistics.begin();
        let window = self.shared_window(key.flow(), cx.now);
        let connection = Connection::open(cx, &mut self.shared, (key, side), charged, window, syn);
        self.put(Box::new(connection));
        None
    }

    /// The initial window of a new connection to a UE: the mean of the flow's concurrent connections, or that of the last
    /// one that has ended (RFC 9040).
    fn shared_window(&self, flow: FlowId, now: Instant) -> Option<u32> {
        let max = self.shared.config.shared_window_max?;
        let (mut sum, mut count) = (0_u64, 0_u64);
        for (_, slot) in self.table.range(Key::all_of(flow)) {
            let connection = self.slots[*slot as usize].as_ref().expect("a slot of the table is taken");
            if let Some(window) = connection.ran_window(now) {
                (sum, count) = (sum + u64::from(window), count + 1);
            }
        }
        let concurrent = sum.checked_div(count).map(|mean| mean as u32);
        let known = concurrent.or_else(|| self.windows.get(&flow).copied());
        known.map(|window| window.clamp(1, max))
    }

    /// Puts a connection into a slot.
    fn put(&mut self, connection: Box<Connection>) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 connections")
        });
        self.table.insert(connection.key, slot);
        self.timers.set(slot, connection.next_timeout(&self.shared.config));
        self.slots[slot as usize] = Some(connection);
    }

    /// Removes a connection from its slot.
    fn remove(&mut self, slot: u32) -> Option<Box<Connection>> {
        let connection = self.slots[slot as usize].take()?;
        self.timers.set(slot, Instant::FAR_FUTURE);
        self.free.push(slot);
        self.table.remove(&connection.key);
        Some(connection)
    }

    /// True if a packet belongs to a current or former connection, or would open one.
    fn concerns(&self, packet: &Packet) -> bool {
        let Header::Tcp(header) = packet.header else { return false };
        let key = Key::of(packet);
        match self.time_wait.get(key) {
            Some(TimeWait::Passes) => false,
            Some(TimeWait::Closed(_) | TimeWait::Reset) => true,
            None => self.table.contains_key(&key) || is_first(&header),
        }
    }

    /// Counts the bytes of contexts, and of packets that follow one, that left over X2.
    const fn count_x2(&mut self, contexts: u64, packets: u64) {
        self.shared.statistics.x2_context_bytes += contexts;
        self.shared.statistics.x2_packet_bytes += packets;
    }

    /// Removes the state of some flows.
    fn pack(&mut self, cx: &mut Cx<'_>, is_of: impl Fn(FlowId) -> bool) -> HandoverContext {
        let slots: Vec<u32> =
            self.table.iter().filter(|(key, _)| is_of(key.flow())).map(|(_, slot)| *slot).collect();
        let mut context = HandoverContext::default();
        for slot in slots {
            if let Some(mut connection) = self.remove(slot) {
                connection.leave(cx, &mut self.shared);
                context.connections.push(connection);
            }
        }
        context.ended = self.time_wait.take(|key| is_of(key.flow()));
        context.full_until = self.time_wait.full_until();
        context
    }

    /// Adds the state of another proxy.
    fn unpack(&mut self, cx: &mut Cx<'_>, context: HandoverContext) {
        for mut connection in context.connections {
            if connection.join(cx, &mut self.shared) {
                self.put(connection);
            } else {
                self.part(cx.now, connection.key, TimeWait::Reset);
            }
        }
        self.time_wait.be_full_until(context.full_until);
        for state in context.ended {
            self.shared.statistics.forgotten += self.time_wait.put(state);
        }
    }

    /// Handles a connection for which there is no room.
    fn turn_away(
        &mut self,
        cx: &mut Cx<'_>,
        (key, side): (Key, Side),
        syn: &TcpHeader,
        packet: PacketRef,
    ) -> Option<PacketRef> {
        match self.shared.config.when_full {
            WhenFull::PassThrough => {
                self.shared.statistics.passed += 1;
                let until = cx.now.saturating_add(self.shared.config.connect_timeout);
                self.time_wait.add_passing(until, key);
                Some(packet)
            }
            WhenFull::Refuse => {
                self.shared.statistics.refused += 1;
                let _ = cx.pool.consume(packet);
                self.answer(cx, (key, side), refusal(syn, 0));
                None
            }
        }
    }

    /// Sends a segment without a connection back to a side.
    fn answer(&self, cx: &mut Cx<'_>, (key, side): (Key, Side), header: Option<TcpHeader>) {
        let Some(header) = header else { return };
        let path = key.path(direction_to(side));
        let mut packet =
            Packet::new(path.flow, path.direction, Header::Tcp(header), Payload::Length(0), cx.now);
        packet.sockets = path.sockets;
        if self.shared.config.cell.is_some() {
            gtp::encapsulate(&mut packet);
        }
        let packet = cx.pool.insert(packet);
        cx.send(side.port(), packet);
    }

    /// Updates the table after an event of the connection in this slot.
    #[inline]
    fn follow_up(&mut self, cx: &mut Cx<'_>, slot: u32, ending: Option<Ending>) {
        if let Some(ending) = ending {
            return self.end(cx, slot, ending);
        }
        if let Some(connection) = &self.slots[slot as usize] {
            // A timer that moves to a later time stays where it is, and is set again when it fires.
            let wanted = connection.next_timeout(&self.shared.config);
            if wanted < self.timers.due(slot) {
                self.timers.set(slot, wanted);
            }
        }
    }

    /// A connection is over.
    #[cold]
    fn end(&mut self, cx: &mut Cx<'_>, slot: u32, ending: Ending) {
        let Some(connection) = self.remove(slot) else { return };
        self.shared.statistics.end(ending);
        let key = connection.key;
        if self.shared.config.shared_window_max.is_some()
            && let Some(window) = connection.ran_window(cx.now)
        {
            self.windows.insert(key.flow(), window);
        }
        let ends = connection.dismantle(cx, &mut self.shared);
        let answer = match ending {
            Ending::Closed => TimeWait::closed(ends, cx.now),
            _ => TimeWait::Reset,
        };
        self.part(cx.now, key, answer);
    }

    /// Keeps for a time the answer to late segments.
    fn part(&mut self, now: Instant, key: Key, answer: TimeWait) {
        let until = now.saturating_add(self.shared.config.time_wait);
        self.shared.statistics.forgotten += self.time_wait.add(until, key, answer);
    }

    /// Handles a segment of a connection that has ended, or of an unproxied one.
    fn on_straggler(
        &mut self,
        cx: &mut Cx<'_>,
        (key, side): (Key, Side),
        header: &TcpHeader,
        packet: PacketRef,
    ) -> Option<PacketRef> {
        let payload = cx.pool.get(&packet).payload.len();
        let is_syn = is_first(header);
        match self.time_wait.get(key) {
            Some(TimeWait::Passes) => return Some(packet),
            Some(TimeWait::Closed(ends)) => {
                let end = ends[side as usize];
                if is_syn && end.may_begin_anew(header) {
                    self.time_wait.remove(key);
                    return self.on_syn(cx, (key, side), header, packet);
                }
                let answer = end.answer(cx.now, header, payload);
                self.answer(cx, (key, side), answer);
            }
            Some(TimeWait::Reset) => {
                if is_syn {
                    self.time_wait.remove(key);
                    return self.on_syn(cx, (key, side), header, packet);
                }
                self.answer(cx, (key, side), refusal(header, payload));
            }
            None if is_syn => return self.on_syn(cx, (key, side), header, packet),
            None => return Some(packet),
        }
        let packet = cx.pool.consume(packet);
        cx.pool.recycle(packet);
        None
    }
}

impl HandoverContext {
    /// True if a packet belongs to a connection in it.
    fn concerns(&self, packet: &Packet) -> bool {
        let key = Key::of(packet);
        self.connections.iter().any(|connection| connection.key == key)
            || self.ended.iter().any(|state| state.key == key && state.answers())
    }
}

/// True if a segment requests a connection; one with RST does not (RFC 9293 §3.10.7.2).
const fn is_first(header: &TcpHeader) -> bool {
    let others = TcpFlags::ACK | TcpFlags::RST;
    header.flags.0 & (TcpFlags::SYN | others) == TcpFlags::SYN
}

impl NetworkFunction for SplitProxy {
    fn on_packet(&mut self, cx: &mut Cx<'_>, side: Side, packet: PacketRef) -> Option<PacketRef> {
        let came = cx.pool.get(&packet);
        let Header::Tcp(header) = came.header else { return Some(packet) };
        let key = Key::of(came);
        let Some(&slot) = self.table.get(&key) else {
            self.time_wait.forget_until(cx.now);
            return self.on_straggler(cx, (key, side), &header, packet);
        };
        let connection = self.slots[slot as usize].as_mut().expect("a slot of the table is taken");
        let ending = connection.handle_packet(cx, &mut self.shared, side, packet);
        self.follow_up(cx, slot, ending);
        None
    }

    fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        self.time_wait.forget_until(cx.now);
        while let Some((at, slot)) = self.timers.first()
            && at <= cx.now
        {
            let connection = self.slots[slot as usize].as_mut().expect("a timer of a slot that is taken");
            let wanted = connection.next_timeout(&self.shared.config);
            if wanted > cx.now {
                self.timers.set(slot, wanted);
                continue;
            }
            let ending = connection.handle_timeout(cx, &mut self.shared);
            self.timers.set(slot, Instant::FAR_FUTURE);
            self.follow_up(cx, slot, ending);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let first = self.timers.first().map(|(at, _)| at);
        first.into_iter().chain(self.time_wait.next_timeout()).min()
    }

    fn packets_held(&self) -> usize {
        0
    }
}
