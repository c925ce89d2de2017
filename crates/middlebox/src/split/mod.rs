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
mod content;
mod enb;
mod farewell;
mod key;
mod legs;
mod statistics;
mod timers;

use std::collections::BTreeMap;

use airlane_core::{Cx, FlowId, Header, Instant, Outbox, Packet, PacketRef, Payload, TcpFlags, TcpHeader};
use airlane_net::gtp;
use airlane_transport::refusal;

use crate::node::{NetworkFunction, Side};
use budget::Budget;
use connection::{Connection, Shop, direction_to};
use content::Stock;
use enb::Luggage;
use farewell::{Farewell, Farewells};
use key::Key;
use timers::Timers;

pub use config::{ConnectOrder, SplitConfig, WhenFull};
pub use enb::EnbProxies;
pub use legs::LegStatistics;
pub use statistics::{Ending, SplitStatistics};

/// The proxy.
#[derive(Debug)]
pub struct SplitProxy {
    shop: Shop,
    /// The slot of each connection.
    table: BTreeMap<Key, u32>,
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    timers: Timers,
    /// Ended connections, and those that pass unchanged.
    farewells: Farewells,
}

impl SplitProxy {
    /// A proxy without connections.
    #[must_use]
    pub fn new(config: SplitConfig) -> Self {
        Self {
            farewells: Farewells::new(config.connections),
            shop: Shop {
                budget: Budget::new(config.memory.get(), config.reserve(), config.connections as u64),
                statistics: SplitStatistics::default(),
                legs: Default::default(),
                stock: Stock::default(),
                scratch: Outbox::with_capacity(64),
                config,
            },
            table: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            timers: Timers::default(),
        }
    }

    /// Its counters.
    #[must_use]
    pub const fn statistics(&self) -> SplitStatistics {
        self.shop.statistics
    }

    /// Its connections to each side at this time, in the order of [`Side`]. This reads every connection.
    #[must_use]
    pub fn legs(&self, now: Instant) -> [LegStatistics; 2] {
        let mut legs = self.shop.legs;
        for connection in self.slots.iter().flatten() {
            for side in [Side::Core, Side::Ran] {
                connection.look_at(now, side, &mut legs[side as usize]);
            }
        }
        legs
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &SplitConfig {
        &self.shop.config
    }

    /// Memory in bytes that its buffers use or have promised, and the maximum so far.
    #[must_use]
    pub const fn memory(&self) -> (u64, u64) {
        self.shop.budget.used()
    }

    /// True if there is no state of any connection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty() && self.farewells.is_empty()
    }

    /// Handles the first segment of a connection, from a side.
    fn on_syn(
        &mut self,
        cx: &mut Cx<'_>,
        (key, side): (Key, Side),
        syn: &TcpHeader,
        packet: PacketRef,
    ) -> Option<PacketRef> {
        let room = self.table.len() < self.shop.config.connections && !self.farewells.are_full(cx.now);
        let Some(charged) = room.then(|| self.shop.budget.admit()).flatten() else {
            return self.turn_away(cx, (key, side), syn, packet);
        };
        let _ = cx.pool.consume(packet);
        self.shop.statistics.begin();
        let connection = Connection::open(cx, &mut self.shop, (key, side), charged, syn);
        self.put(Box::new(connection));
        None
    }

    /// Puts a connection into a slot.
    fn put(&mut self, connection: Box<Connection>) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 connections")
        });
        self.table.insert(connection.key, slot);
        self.timers.set(slot, connection.next_timeout(&self.shop.config));
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
        match self.farewells.get(key) {
            Some(Farewell::Passes) => false,
            Some(Farewell::Closed(_) | Farewell::Reset) => true,
            None => self.table.contains_key(&key) || is_first(&header),
        }
    }

    /// Counts the bytes of contexts, and of packets that follow one, that left over X2.
    const fn count_x2(&mut self, contexts: u64, packets: u64) {
        self.shop.statistics.x2_context_bytes += contexts;
        self.shop.statistics.x2_packet_bytes += packets;
    }

    /// Removes the state of some flows.
    fn pack(&mut self, cx: &mut Cx<'_>, is_of: impl Fn(FlowId) -> bool) -> Luggage {
        let slots: Vec<u32> =
            self.table.iter().filter(|(key, _)| is_of(key.flow())).map(|(_, slot)| *slot).collect();
        let mut luggage = Luggage::default();
        for slot in slots {
            if let Some(mut connection) = self.remove(slot) {
                connection.leave(cx, &mut self.shop);
                luggage.connections.push(connection);
            }
        }
        luggage.partings = self.farewells.take(|key| is_of(key.flow()));
        luggage.full_until = self.farewells.full_until();
        luggage
    }

    /// Adds the state of another proxy.
    fn unpack(&mut self, cx: &mut Cx<'_>, luggage: Luggage) {
        for mut connection in luggage.connections {
            if connection.join(cx, &mut self.shop) {
                self.put(connection);
            } else {
                self.part(cx.now, connection.key, Farewell::Reset);
            }
        }
        self.farewells.be_full_until(luggage.full_until);
        for parting in luggage.partings {
            self.shop.statistics.forgotten += self.farewells.put(parting);
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
        match self.shop.config.when_full {
            WhenFull::PassThrough => {
                self.shop.statistics.passed += 1;
                let until = cx.now.saturating_add(self.shop.config.connect_timeout);
                self.farewells.add_passing(until, key);
                Some(packet)
            }
            WhenFull::Refuse => {
                self.shop.statistics.refused += 1;
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
        if self.shop.config.cell.is_some() {
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
            let wanted = connection.next_timeout(&self.shop.config);
            if wanted < self.timers.due(slot) {
                self.timers.set(slot, wanted);
            }
        }
    }

    /// A connection is over.
    #[cold]
    fn end(&mut self, cx: &mut Cx<'_>, slot: u32, ending: Ending) {
        let Some(connection) = self.remove(slot) else { return };
        self.shop.statistics.end(ending);
        let key = connection.key;
        let ends = connection.dismantle(cx, &mut self.shop);
        let farewell = match ending {
            Ending::Closed => Farewell::closed(ends, cx.now),
            _ => Farewell::Reset,
        };
        self.part(cx.now, key, farewell);
    }

    /// Keeps for a time the answer to late segments.
    fn part(&mut self, now: Instant, key: Key, farewell: Farewell) {
        let until = now.saturating_add(self.shop.config.time_wait);
        self.shop.statistics.forgotten += self.farewells.add(until, key, farewell);
    }

    /// Handles a segment of a connection that has ended, or of one that passes.
    fn on_straggler(
        &mut self,
        cx: &mut Cx<'_>,
        (key, side): (Key, Side),
        header: &TcpHeader,
        packet: PacketRef,
    ) -> Option<PacketRef> {
        let payload = cx.pool.get(&packet).payload.len();
        let is_syn = is_first(header);
        match self.farewells.get(key) {
            Some(Farewell::Passes) => return Some(packet),
            Some(Farewell::Closed(ends)) => {
                let end = ends[side as usize];
                if is_syn && end.may_begin_anew(header) {
                    self.farewells.remove(key);
                    return self.on_syn(cx, (key, side), header, packet);
                }
                let answer = end.answer(cx.now, header, payload);
                self.answer(cx, (key, side), answer);
            }
            Some(Farewell::Reset) => {
                if is_syn {
                    self.farewells.remove(key);
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

impl Luggage {
    /// True if a packet belongs to a connection in it.
    fn concerns(&self, packet: &Packet) -> bool {
        let key = Key::of(packet);
        self.connections.iter().any(|connection| connection.key == key)
            || self.partings.iter().any(|parting| parting.key == key && parting.answers())
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
            self.farewells.forget_until(cx.now);
            return self.on_straggler(cx, (key, side), &header, packet);
        };
        let connection = self.slots[slot as usize].as_mut().expect("a slot of the table is taken");
        let ending = connection.handle_packet(cx, &mut self.shop, side, packet);
        self.follow_up(cx, slot, ending);
        None
    }

    fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        self.farewells.forget_until(cx.now);
        while let Some((at, slot)) = self.timers.first()
            && at <= cx.now
        {
            let connection = self.slots[slot as usize].as_mut().expect("a timer of a slot that is taken");
            let wanted = connection.next_timeout(&self.shop.config);
            if wanted > cx.now {
                self.timers.set(slot, wanted);
                continue;
            }
            let ending = connection.handle_timeout(cx, &mut self.shop);
            self.timers.set(slot, Instant::FAR_FUTURE);
            self.follow_up(cx, slot, ending);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let first = self.timers.first().map(|(at, _)| at);
        first.into_iter().chain(self.farewells.next_timeout()).min()
    }

    fn packets_held(&self) -> usize {
        0
    }
}
