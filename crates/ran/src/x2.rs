//! X2 between eNBs (TS 36.300 v17.0 §20): the data that a handover sends over it, and the order in
//! which a target accepts data from X2 and from S1.
//!
//! A source forwards downlink SDUs through a tunnel until the end marker of its S1 path has
//! arrived, and forwards the end marker. Fresh packets that reach the target over its own S1 path
//! wait for it (TS 36.300 v17.0 §10.1.2.2). If the UE is handed over again before, this makes a
//! chain of such hops, each with these rules.
//!
//! Not included: X2AP messages other than SN STATUS TRANSFER, which are part of the procedure that
//! exchanges them ([`crate::rrc::handover`]); a rate of the link; the loss of end markers, which are
//! repeated.

use std::collections::VecDeque;

use airlane_core::{Bytes, CellId, Cx, DropCause, Duration, Instant, PacketRef, Stream};
use airlane_net::gtp;

use crate::bearer::Departure;
use crate::pdcp::NumberedSdu;

/// SN STATUS TRANSFER (TS 36.423 v17.0 §9.1.1.4) of one E-RAB: the state of PDCP's COUNTs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnStatusTransfer {
    /// E-RAB ID.
    pub e_rab: u8,
    /// UL COUNT: the first missing uplink SDU.
    pub uplink_count: u32,
    /// DL COUNT: the COUNT of the next downlink SDU without one.
    pub downlink_count: u32,
    /// Receive Status Of UL PDCP SDUs: COUNTs above the first missing one that the target need not
    /// request, in ascending order.
    pub uplink_received: Vec<u32>,
}

impl SnStatusTransfer {
    /// A compact form of it, in network byte order: E-RAB ID (1 octet), UL COUNT (4), DL COUNT (4),
    /// length of the bitmap in octets (2), and the bitmap, whose first bit is UL COUNT + 1. The
    /// message on a real X2 has the same content in ASN.1 PER.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let bits = self.uplink_received.last().map_or(0, |last| last - self.uplink_count) as usize;
        let mut bitmap = vec![0_u8; bits.div_ceil(8)];
        for count in &self.uplink_received {
            let bit = (count - self.uplink_count - 1) as usize;
            bitmap[bit / 8] |= 0x80 >> (bit % 8);
        }
        let mut message = vec![self.e_rab];
        message.extend(self.uplink_count.to_be_bytes());
        message.extend(self.downlink_count.to_be_bytes());
        let octets = u16::try_from(bitmap.len()).expect("at most 4096 bits");
        message.extend(octets.to_be_bytes());
        message.extend(bitmap);
        message
    }

    /// Decodes the compact form; `None` if the message is cut short or too long.
    #[must_use]
    pub fn decode(message: &[u8]) -> Option<Self> {
        let (&e_rab, rest) = message.split_first()?;
        let (uplink_count, rest) =
            rest.split_first_chunk().map(|(n, rest)| (u32::from_be_bytes(*n), rest))?;
        let (downlink_count, rest) =
            rest.split_first_chunk().map(|(n, rest)| (u32::from_be_bytes(*n), rest))?;
        let (octets, bitmap) = rest.split_first_chunk().map(|(n, rest)| (u16::from_be_bytes(*n), rest))?;
        if bitmap.len() != usize::from(octets) {
            return None;
        }
        let is_set = |bit: u32| bitmap[bit as usize / 8] & (0x80 >> (bit % 8)) != 0;
        let bits = 8 * bitmap.len() as u32;
        let uplink_received =
            (0..bits).filter(|&bit| is_set(bit)).map(|bit| uplink_count + 1 + bit).collect();
        Some(Self { e_rab, uplink_count, downlink_count, uplink_received })
    }
}

/// What takes the data that leaves X2: a bearer, or all of a UE.
pub trait ForwardingTarget {
    /// The SDU of a packet that has just arrived from the gateway.
    fn fresh(&mut self, cx: &Cx<'_>, packet: PacketRef) -> NumberedSdu;

    /// An SDU has arrived over X2.
    fn accept_forwarded(&mut self, cx: &mut Cx<'_>, sdu: NumberedSdu);

    /// SN STATUS TRANSFER has arrived over X2.
    fn accept_sn_status(&mut self, cx: &mut Cx<'_>, status: &SnStatusTransfer);
}

/// The link between two eNBs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct X2Config {
    /// One-way delay.
    pub delay: Duration,
    /// Maximum additional delay of a forwarded SDU, uniformly distributed: SDUs may overtake each other.
    pub jitter: Duration,
    /// Share of forwarded SDUs that are lost.
    pub loss: f64,
    /// Bytes of fresh packets that may wait for an end marker.
    pub fresh: Bytes,
}

/// Bytes of fresh packets of a UE that an eNB keeps until the end marker; choice: the queue of a typical bearer.
pub const FRESH_LIMIT: Bytes = Bytes(512 * 1024);

/// An arrival at an eNB for a UE, over X2 or S1.
#[derive(Debug)]
enum Arrival {
    Sdu(NumberedSdu),
    SnStatus(Vec<u8>),
    EndMarker,
}

/// One X2 hop, from one eNB to the next.
#[derive(Debug)]
struct Hop {
    source: CellId,
    /// The end marker of the source's S1 path has not arrived yet.
    s1_open: bool,
    /// On X2, in the order of arrival.
    transit: VecDeque<(Instant, Arrival)>,
    /// The end marker has left X2.
    marker_out: bool,
    /// At the target: packets from its S1 path that wait for the end marker.
    fresh: VecDeque<Arrival>,
    fresh_bytes: u64,
}

/// Counters of forwarding. Bytes are those of SDUs with PDCP headers, without tunnels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct X2Statistics {
    /// SDUs that entered an X2 link, once for each hop.
    pub entered: u64,
    /// See `entered`.
    pub entered_bytes: u64,
    /// Bytes including the tunnel's headers.
    pub tunnel_bytes: u64,
    /// SDUs that left an X2 link.
    pub left: u64,
    /// See `left`.
    pub left_bytes: u64,
    /// SDUs lost on an X2 link.
    pub lost: u64,
    /// See `lost`.
    pub lost_bytes: u64,
    /// Fresh packets dropped because too many waited for an end marker.
    pub overflows: u64,
}

/// The forwarding of one UE's downlink, over all hops that are not complete.
#[derive(Debug)]
pub struct Forwarding {
    config: X2Config,
    stream: Stream,
    hops: VecDeque<Hop>,
    statistics: X2Statistics,
}

impl Forwarding {
    /// Without hops.
    #[must_use]
    pub fn new(config: X2Config, stream: Stream) -> Self {
        Self { config, stream, hops: VecDeque::new(), statistics: X2Statistics::default() }
    }

    /// True if packets go directly to the bearer.
    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.hops.is_empty()
    }

    /// The UE has left `source`; takes the data that its bearer outputs for forwarding.
    pub fn begin(&mut self, cx: &mut Cx<'_>, source: CellId, departure: &mut Departure) {
        self.hops.push_back(Hop {
            source,
            s1_open: true,
            transit: VecDeque::new(),
            marker_out: false,
            fresh: VecDeque::new(),
            fresh_bytes: 0,
        });
        let last = self.hops.len() - 1;
        for status in departure.sn_status.drain(..) {
            self.send(cx, last, Arrival::SnStatus(status.encode()));
        }
        for sdu in departure.forwarded.drain(..) {
            self.send(cx, last, Arrival::Sdu(sdu));
        }
    }

    /// A packet has arrived from the gateway at this cell.
    pub fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        cell: CellId,
        packet: PacketRef,
        bearer: &mut impl ForwardingTarget,
    ) {
        let node = self.node_of(cell);
        let sdu = bearer.fresh(cx, packet);
        self.enter(cx, node, Arrival::Sdu(sdu), bearer);
    }

    /// True if the UE has left this cell and its S1 path there has not ended.
    #[must_use]
    pub fn expects_end_marker(&self, cell: CellId) -> bool {
        self.hops.iter().any(|hop| hop.source == cell && hop.s1_open)
    }

    /// An end marker has arrived from the gateway at this cell: no more packets arrive on this path.
    ///
    /// # Panics
    /// If the UE has not left this cell.
    pub fn receive_end_marker(&mut self, cx: &mut Cx<'_>, cell: CellId, bearer: &mut impl ForwardingTarget) {
        let node = self.node_of(cell);
        let hop = self.hops.get_mut(node).expect("an end marker for a path that is in use");
        hop.s1_open = false;
        self.enter(cx, node, Arrival::EndMarker, bearer);
    }

    /// The UE has not reached the target of its latest hop and returns to the source, which has kept what
    /// it forwarded: all of it returns to the bearer, as if it had come out of X2 in this order.
    pub fn cancel(&mut self, cx: &mut Cx<'_>, bearer: &mut impl ForwardingTarget) {
        let Some(hop) = self.hops.pop_back() else { return };
        let arrivals = hop.transit.into_iter().map(|(_, arrival)| arrival).chain(hop.fresh);
        let end = self.hops.len();
        for arrival in arrivals {
            match arrival {
                Arrival::Sdu(sdu) => {
                    self.statistics.left += 1;
                    self.statistics.left_bytes += u64::from(sdu.size);
                    self.pass(cx, end, Arrival::Sdu(sdu), bearer);
                }
                Arrival::SnStatus(message) => {
                    let status = SnStatusTransfer::decode(&message).expect("as it was encoded");
                    bearer.accept_sn_status(cx, &status);
                }
                Arrival::EndMarker => unreachable!("the path was not switched"),
            }
        }
    }

    /// Discards all packets and forgets all hops: the UE was removed.
    pub fn discard(&mut self, cx: &mut Cx<'_>, cause: DropCause) {
        for hop in self.hops.drain(..) {
            let arrivals = hop.transit.into_iter().map(|(_, arrival)| arrival).chain(hop.fresh);
            for arrival in arrivals {
                if let Arrival::Sdu(NumberedSdu { packet: Some(packet), .. }) = arrival {
                    cx.discard(packet, cause);
                }
            }
        }
    }

    /// When the next arrival at the end of X2 is due.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.hops.iter().filter_map(|hop| hop.transit.front().map(|(at, _)| *at)).min()
    }

    /// Delivers what has arrived at the end of X2.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>, bearer: &mut impl ForwardingTarget) {
        let mut hop = 0;
        while hop < self.hops.len() {
            while self.hops[hop].transit.front().is_some_and(|(at, _)| *at <= cx.now) {
                let (_, arrival) = self.hops[hop].transit.pop_front().expect("just seen");
                self.leave_x2(cx, hop, arrival, bearer);
            }
            hop += 1;
        }
        while self.hops.front().is_some_and(|hop| hop.marker_out && hop.transit.is_empty()) {
            self.hops.pop_front();
        }
    }

    /// Packets held.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        let is_packet = |arrival: &Arrival| matches!(arrival, Arrival::Sdu(sdu) if sdu.packet.is_some());
        let held = |hop: &Hop| {
            let transit = hop.transit.iter().filter(|(_, arrival)| is_packet(arrival)).count();
            transit + hop.fresh.iter().filter(|arrival| is_packet(arrival)).count()
        };
        self.hops.iter().map(held).sum()
    }

    /// Bytes of SDUs on X2.
    #[must_use]
    pub fn bytes_on_x2(&self) -> Bytes {
        let bytes = |(_, arrival): &(Instant, Arrival)| match arrival {
            Arrival::Sdu(sdu) => u64::from(sdu.size),
            Arrival::SnStatus(_) | Arrival::EndMarker => 0,
        };
        Bytes(self.hops.iter().flat_map(|hop| &hop.transit).map(bytes).sum())
    }

    /// Counters so far.
    #[must_use]
    pub fn statistics(&self) -> X2Statistics {
        self.statistics
    }

    /// The eNB in the chain to which the cell's S1 path leads: the first visit of this cell whose
    /// end marker has not arrived, or the present one.
    fn node_of(&self, cell: CellId) -> usize {
        let is_open = |hop: &Hop| hop.source == cell && hop.s1_open;
        self.hops.iter().position(is_open).unwrap_or(self.hops.len())
    }

    /// An arrival at an eNB over S1.
    fn enter(&mut self, cx: &mut Cx<'_>, node: usize, arrival: Arrival, bearer: &mut impl ForwardingTarget) {
        let Some(hop) =
            node.checked_sub(1).map(|before| &mut self.hops[before]).filter(|hop| !hop.marker_out)
        else {
            return self.pass(cx, node, arrival, bearer);
        };
        if let Arrival::Sdu(NumberedSdu { size, packet: Some(packet), e_rab, count }) = arrival {
            if hop.fresh_bytes + u64::from(size) > self.config.fresh.get() {
                self.statistics.overflows += 1;
                return cx.discard(packet, DropCause::QueueFull);
            }
            hop.fresh_bytes += u64::from(size);
            hop.fresh.push_back(Arrival::Sdu(NumberedSdu { size, packet: Some(packet), e_rab, count }));
        } else {
            hop.fresh.push_back(arrival);
        }
    }

    /// An eNB handles an arrival in its turn: it sends it to the UE, or forwards it.
    fn pass(&mut self, cx: &mut Cx<'_>, node: usize, arrival: Arrival, bearer: &mut impl ForwardingTarget) {
        if node < self.hops.len() {
            return self.send(cx, node, arrival);
        }
        match arrival {
            Arrival::Sdu(sdu) => bearer.accept_forwarded(cx, sdu),
            Arrival::SnStatus(_) | Arrival::EndMarker => unreachable!("they end where X2 ends"),
        }
    }

    /// Sends over X2.
    fn send(&mut self, cx: &mut Cx<'_>, hop: usize, arrival: Arrival) {
        let X2Config { delay, jitter, loss, .. } = self.config;
        let at = cx.now.saturating_add(delay);
        let at = match arrival {
            Arrival::SnStatus(_) => at,
            // Sent so late that it cannot have been overtaken.
            Arrival::EndMarker => at.saturating_add(jitter),
            Arrival::Sdu(sdu) => {
                let size = u64::from(sdu.size);
                self.statistics.entered += 1;
                self.statistics.entered_bytes += size;
                self.statistics.tunnel_bytes += size + gtp::OVERHEAD.get();
                if loss > 0.0 && self.stream.chance(loss) {
                    self.statistics.lost += 1;
                    self.statistics.lost_bytes += size;
                    if let Some(packet) = sdu.packet {
                        cx.discard(packet, DropCause::RandomLoss);
                    }
                    return;
                }
                let more = match jitter.as_nanos() {
                    0 => 0,
                    most => self.stream.below(most + 1),
                };
                let at = at.saturating_add(Duration::from_nanos(more));
                return insert(&mut self.hops[hop].transit, at, Arrival::Sdu(sdu));
            }
        };
        insert(&mut self.hops[hop].transit, at, arrival);
    }

    /// An arrival at the target of a hop, out of X2.
    fn leave_x2(
        &mut self,
        cx: &mut Cx<'_>,
        hop: usize,
        arrival: Arrival,
        bearer: &mut impl ForwardingTarget,
    ) {
        match arrival {
            Arrival::Sdu(sdu) => {
                self.statistics.left += 1;
                self.statistics.left_bytes += u64::from(sdu.size);
                self.pass(cx, hop + 1, Arrival::Sdu(sdu), bearer);
            }
            // Not used at a target that the UE has left.
            Arrival::SnStatus(message) => {
                if hop + 1 == self.hops.len() {
                    let status = SnStatusTransfer::decode(&message).expect("as it was encoded");
                    bearer.accept_sn_status(cx, &status);
                }
            }
            Arrival::EndMarker => {
                self.hops[hop].marker_out = true;
                self.hops[hop].fresh_bytes = 0;
                for arrival in core::mem::take(&mut self.hops[hop].fresh) {
                    self.pass(cx, hop + 1, arrival, bearer);
                }
            }
        }
    }
}

/// Inserts in the order of arrival, and in the order of sending among equal arrival times.
fn insert(transit: &mut VecDeque<(Instant, Arrival)>, at: Instant, arrival: Arrival) {
    let index = transit.partition_point(|(other, _)| *other <= at);
    transit.insert(index, (at, arrival));
}

#[cfg(test)]
mod tests;
