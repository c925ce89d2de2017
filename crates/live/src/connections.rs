//! The connections of real applications, as far as they can be seen from outside: packets as they enter the network and
//! as they leave it.
//!
//! A connection has a row: delays of its packets, goodput, losses, marks; of TCP retransmissions, handshake and
//! round-trip times; of QUIC round-trip times by the spin bit; of RTP the packets of RTCP and of congestion control. A UE has a series of 100 ms bins. The number of rows and
//! bins is bounded, and the packets that have none are counted.

use std::collections::BTreeMap;

use airlane_core::{Direction, Header, Instant, Packet, SocketPair};
use airlane_record::Table;
use airlane_wire::protocol;

use crate::ends::Ends;
use crate::sockets;

mod delays;
mod row;
mod rtp;
mod series;
mod table;

use row::Row;
use series::Series;
pub use series::{BIN, Latest};

/// Maximum number of rows.
pub const ROWS_MAX: usize = 10_000;
/// The number of places of the cache before the search for a row, as a logarithm to base 2: more places than rows.
const CACHE_BITS: u32 = 14;

/// The identity of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The UE whose bearer it uses.
    ue: u16,
    protocol: u8,
    v6: bool,
    sockets: SocketPair,
}

impl Key {
    fn of(ue: u16, packet: &Packet) -> Self {
        let v6 = packet.outside().map_or_else(
            || sockets::peer(packet.sockets).1, // of a packet that a proxy made
            |headers| headers.as_slice()[0] >> 4 == 6,
        );
        let protocol = match packet.header {
            Header::Tcp(_) => protocol::TCP,
            Header::Udp(_) => protocol::UDP,
            Header::Icmp(_) if v6 => protocol::ICMPV6,
            Header::Icmp(_) | Header::Signalling => protocol::ICMP,
            Header::Other { protocol } => protocol,
        };
        Self { ue, protocol, v6, sockets: packet.sockets }
    }

    /// The place of the key in the cache.
    const fn place(&self) -> usize {
        let ports = self.sockets.server_port as u64 | (self.sockets.ue_port as u64) << 16;
        let rest = (self.ue as u64) << 32 | (self.protocol as u64) << 48 | (self.v6 as u64) << 56;
        // Fibonacci hashing: the upper bits of a product with 2^64 divided by the golden ratio.
        ((ports ^ rest).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CACHE_BITS)) as usize
    }
}

/// Packets without a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotShown {
    /// Packets that entered.
    pub packets: u64,
    /// Bytes of the packets.
    pub bytes: u64,
}

/// Observes a run. Times must not decrease.
#[derive(Debug)]
pub struct Connections {
    rows: Vec<Row>,
    places: BTreeMap<Key, u32>,
    /// The row that was found last for each place of a key.
    cache: Vec<Option<(Key, u32)>>,
    not_shown: NotShown,
    series: Series,
    /// Whether split proxies end the TCP connections, so that none of their packets travels from end to end.
    split: bool,
}

impl Connections {
    /// No observation yet, for this many UEs. `split` states that split proxies end TCP connections, whose packets then
    /// have no one-way delay.
    #[must_use]
    pub fn new(ues: usize, split: bool) -> Self {
        Self {
            split,
            rows: Vec::new(),
            places: BTreeMap::new(),
            cache: vec![None; 1 << CACHE_BITS],
            not_shown: NotShown::default(),
            series: Series::new(ues),
        }
    }

    /// A packet enters the network of this UE.
    pub fn entered(&mut self, at: Instant, ue: u16, direction: Direction, packet: &Packet) {
        self.series.entered(at, ue, direction);
        if let Some(row) = self.row(at, ue, packet) {
            row.entered(at, direction, packet);
        } else {
            self.not_shown.packets += 1;
            self.not_shown.bytes += packet.size.0;
        }
    }

    /// A packet left the network of this UE.
    pub fn left(&mut self, at: Instant, ue: u16, direction: Direction, packet: &Packet) {
        let travelled = !(self.split && matches!(packet.header, Header::Tcp(_)));
        self.series.left(at, ue, direction, packet, travelled);
        let key = Key::of(ue, packet);
        if let Some(place) = self.find(&key) {
            self.rows[place as usize].left(at, direction, packet, travelled);
        }
    }

    /// The row of a packet that enters. A SYN after the end of a connection begins a new row.
    fn row(&mut self, at: Instant, ue: u16, packet: &Packet) -> Option<&mut Row> {
        let key = Key::of(ue, packet);
        let known = self.find(&key).filter(|&place| !self.rows[place as usize].is_followed_by(packet));
        let place = match known {
            Some(place) => place,
            None if self.rows.len() >= ROWS_MAX => return None,
            None => {
                let place = self.rows.len() as u32;
                self.rows.push(Row::new(key, at, packet));
                self.places.insert(key, place);
                self.cache[key.place()] = Some((key, place));
                place
            }
        };
        Some(&mut self.rows[place as usize])
    }

    #[inline]
    fn find(&mut self, key: &Key) -> Option<u32> {
        let cached = &mut self.cache[key.place()];
        if let Some((known, place)) = cached
            && known == key
        {
            return Some(*place);
        }
        let place = *self.places.get(key)?;
        *cached = Some((*key, place));
        Some(place)
    }

    /// Number of rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The packets that have no row, because there are too many connections.
    #[must_use]
    pub const fn not_shown(&self) -> NotShown {
        self.not_shown
    }

    /// The last complete bin of each UE before `now`.
    pub fn latest(&self, now: Instant) -> impl Iterator<Item = Latest> + use<'_> {
        self.series.latest(now)
    }

    /// The table `connections`, in the order of their first packets.
    #[must_use]
    pub fn table(&self, ends: &Ends) -> Table {
        table::connections(&self.rows, ends)
    }

    /// The table `real_series`.
    #[must_use]
    pub fn series_table(&self, ends: &Ends) -> Table {
        self.series.table(ends)
    }
}

#[cfg(test)]
mod tests;
