//! The network between the real ends: a scenario with one external flow for each UE that takes part.
//!
//! [`Cell`] has no clock and no device. Its caller gives it packets with the virtual time at which they enter, advances
//! it to a virtual time, and removes what left. The same packets at the same times give the same departures, whatever
//! the steps of the caller are, so that a recorded run can be repeated without a clock.
//!
//! ```text
//!   server ── router ── network of the scenario ── UEs
//! ```
//!
//! The router decrements the hop limit of each packet that it forwards. A packet from a UE to another UE crosses the
//! network twice, up in the flow of its sender and down in that of its receiver. The router reports an expired packet
//! to a UE through the network. A packet that is too large or has no destination is reported where it enters, at once,
//! and does not load the network.

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use airlane_assembly::{Built, FlowEnd, RunOutput, build};
use airlane_core::{Direction, FlowId, Instant, Packet, PacketPool, SocketPair};
use airlane_scenario::{RealEnd, Resolved, ScenarioError};
use airlane_wire::outside::{self, Arrival};
use airlane_wire::segment::Segments;
use airlane_wire::{Ip, Ipv4, emit};

use crate::connections::Connections;
use crate::ends::{EndId, Ends, Route, Unroutable};
use crate::flight::Recorder;
use crate::icmp::{self, ErrorLimit, Report};
use crate::radio::{self, Every, Watch};
use crate::sockets::{self, Sockets};

/// A packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The end that receives it.
    pub end: EndId,
    /// Time at which the packet left.
    pub at: Instant,
    /// Time at which the packet entered the network. A packet between two UEs enters twice; this is the second time.
    pub sent_at: Instant,
    /// The way that it took through the network; none for an error that the router sent without it.
    pub leg: Option<Leg>,
}

/// A way through the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The UE whose bearer it is.
    pub ue: u16,
    /// The direction.
    pub direction: Direction,
}

/// Counts of packets, with nothing lost in silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets, after segmentation, that entered the network.
    pub entered: u64,
    /// Packets that left to an end.
    pub left: u64,
    /// Packets that were not forwarded, in the order of [`Unroutable::NAMES`].
    pub unroutable: [u64; Unroutable::COUNT],
    /// Packets larger than the MTU.
    pub too_big: u64,
    /// Bursts that a device should have cut into segments, but which cannot be cut.
    pub not_segmentable: u64,
    /// Packets whose hop limit became 0.
    pub expired: u64,
    /// Packets that came after the end of the run.
    pub after_the_end: u64,
    /// Messages between nodes of the network that reached an end.
    pub signalling: u64,
    /// ICMP errors that the router sent.
    pub errors: u64,
    /// ICMP errors that were not sent: their rate is bounded, or none is allowed about the packet.
    pub errors_withheld: u64,
}

/// The network with its ends.
pub struct Cell {
    built: Built,
    end: Instant,
    ends: Ends,
    /// The flow of each end but the server.
    flows: Vec<FlowId>,
    mtu: usize,
    sockets: Sockets,
    /// The bound on errors to each end.
    limits: Vec<ErrorLimit>,
    /// Buffers of packets.
    pool: PacketPool,
    /// Packets that left and were not removed yet, in the order of time.
    out: VecDeque<Leaving>,
    /// The count of transfers when the ends were emptied last.
    drained: u64,
    /// Whether some packets enter the network again when they leave it: packets between UEs, and packets that expired
    /// on the uplink. True from the first such packet on.
    reenters: bool,
    /// Memory of a segment, and of an ICMP error.
    scratch: [Vec<u8>; 2],
    counts: Counts,
    recorder: Option<Recorder>,
    connections: Option<Connections>,
    watch: Option<Watch>,
    /// Reports on the radio that were not removed yet.
    reports: VecDeque<radio::Report>,
}

struct Leaving {
    at: Instant,
    end: EndId,
    leg: Option<Leg>,
    packet: Packet,
}

impl Cell {
    /// The network of a scenario, with a flow for each access of a real UE. No packet is larger than `mtu`.
    ///
    /// # Errors
    /// If the scenario cannot be built, or a UE does not exist.
    pub fn new(scenario: &Resolved, seed: u64, real: &[RealEnd], mtu: u16) -> Result<Self, ScenarioError> {
        let mut built = build(scenario, seed)?;
        let flows = real.iter().map(|end| built.open_real(end)).collect::<Result<_, _>>()?;
        let ends = Ends::of(real);
        Ok(Self {
            end: built.end(),
            flows,
            mtu: usize::from(mtu),
            sockets: Sockets::default(),
            limits: vec![ErrorLimit::default(); 1 + ends.ues()],
            pool: PacketPool::default(),
            out: VecDeque::new(),
            drained: built.transfers(),
            reenters: false,
            scratch: Default::default(),
            counts: Counts::default(),
            recorder: None,
            connections: None,
            watch: None,
            reports: VecDeque::new(),
            built,
            ends,
        })
    }

    /// All hosts behind an end belong to it, whatever their addresses are.
    ///
    /// # Errors
    /// If the network cannot have such an end.
    pub fn open_to(&mut self, end: EndId) -> Result<(), String> {
        if self.built.has_split_proxy() {
            return Err(
                "a split proxy keeps no addresses of other hosts; remove the [[middlebox]]".to_owned()
            );
        }
        self.ends.open_to(end)
    }

    /// The ends.
    #[must_use]
    pub const fn ends(&self) -> &Ends {
        &self.ends
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.built.now()
    }

    /// The end of the run. Nothing happens then or later.
    #[must_use]
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// The counts so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Records what enters and leaves from now on, in a file of at most `limit` bytes. For a repetition of the run,
    /// recording begins before the first packet.
    pub fn record(&mut self, limit: u64) {
        self.recorder =
            Some(Recorder::new(self.ends.ues(), self.mtu as u16, self.built.has_split_proxy(), limit));
    }

    /// Observes connections from now on.
    pub fn observe(&mut self) {
        self.connections = Some(Connections::new(self.ends.ues(), self.built.has_split_proxy()));
    }

    /// Starts reports on the radio. The caller removes the reports. `real` are the UEs of [`Self::new`], which have the
    /// addresses of their ends.
    pub fn inform(&mut self, scenario: &Resolved, real: &[RealEnd], every: Every) {
        let address = |(number, end): (usize, &RealEnd)| {
            end.ue.map(|ue| (ue.0, Ends::v4(EndId::Ue(number as u16)).octets()))
        };
        let addresses: BTreeMap<_, _> = real.iter().enumerate().filter_map(address).collect();
        self.watch = Some(Watch::begin(&mut self.built, scenario, addresses, every));
    }

    /// Changes the intervals of reports.
    pub fn inform_every(&mut self, every: Every) {
        let now = self.now();
        if let Some(watch) = &mut self.watch {
            watch.set_every(now, every);
        }
    }

    /// The time of the next look at the radio.
    #[must_use]
    pub fn report_due(&self) -> Option<Instant> {
        self.watch.as_ref().map(Watch::due).filter(|&due| due <= self.end)
    }

    /// Removes the oldest report on the radio.
    pub fn take_report(&mut self) -> Option<radio::Report> {
        self.reports.pop_front()
    }

    /// The connections, if they are observed.
    #[must_use]
    pub const fn connections(&self) -> Option<&Connections> {
        self.connections.as_ref()
    }

    /// The recorder, for its chunks.
    pub const fn recorder_mut(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_mut()
    }

    /// Ends the record, and returns its last chunk.
    pub fn end_record(&mut self) -> Option<Vec<u8>> {
        let now = self.now();
        self.recorder.take().map(|recorder| recorder.finish(now))
    }

    /// The run, for captures and views.
    pub const fn built_mut(&mut self) -> &mut Built {
        &mut self.built
    }

    /// The time before which nothing happens unless a packet enters; `None` if nothing is due at all.
    #[must_use]
    pub fn next_event(&mut self) -> Option<Instant> {
        let event = self.built.next_event().filter(|&next| next <= self.end);
        event.into_iter().chain(self.report_due()).min()
    }

    /// Everything that is due at `to` or before happens, each at its own time.
    ///
    /// # Panics
    /// If `to` is before [`Self::now`].
    pub fn advance(&mut self, to: Instant) {
        let to = to.min(self.end);
        while let Some(due) = self.report_due()
            && due <= to
        {
            self.advance_network(due);
            let report = self.watch.as_mut().and_then(|watch| watch.look(&mut self.built));
            self.reports.extend(report);
        }
        self.advance_network(to);
    }

    fn advance_network(&mut self, to: Instant) {
        if !self.reenters {
            let from = self.out.len();
            self.built.advance(to);
            self.drain();
            // The ends were emptied one after the other.
            self.out.make_contiguous()[from..].sort_by_key(|leaving| leaving.at);
            return;
        }
        // Packets between UEs, and errors, enter again at the time at which they left: so the steps are independent of
        // the caller.
        while let Some(next) = self.built.next_event()
            && next <= to
        {
            self.built.advance(next);
            self.drain();
        }
        self.built.advance(to);
    }

    /// An end sends a packet at time `at`, or, with the payload size of a segment in `gso`, a burst that is cut into
    /// segments here. Checksums that were left to the device are complete, except those of a burst.
    ///
    /// # Panics
    /// If `at` is before [`Self::now`], or if there is no such end.
    pub fn enter(&mut self, end: EndId, bytes: &[u8], gso: Option<u16>, at: Instant) {
        if let Some(recorder) = &mut self.recorder {
            recorder.entered(at, end, gso, bytes);
        }
        if at >= self.end {
            self.counts.after_the_end += 1;
            return;
        }
        self.advance(at);
        let to = match self.ends.route(bytes, end) {
            Route::To(to) => to,
            Route::Unroutable(why) => {
                self.counts.unroutable[why.index()] += 1;
                if why == Unroutable::UnknownDestination {
                    self.report_at_once(Report::NoRoute, bytes, end, at);
                }
                return;
            }
        };
        let Some(size) = gso else { return self.enter_one(end, to, bytes, at) };
        let Ok(mut segments) = Segments::new(bytes, size) else {
            self.counts.not_segmentable += 1;
            return;
        };
        let mut segment = core::mem::take(&mut self.scratch[0]);
        segment.clear();
        while segments.next_into(&mut segment) {
            self.enter_one(end, to, &segment, at);
            segment.clear();
        }
        self.scratch[0] = segment;
    }

    fn enter_one(&mut self, from: EndId, to: EndId, bytes: &[u8], at: Instant) {
        if bytes.len() > self.mtu {
            self.counts.too_big += 1;
            let forbidden = !matches!(Ip::parse(bytes), Ok((Ip::V4(header), _)) if header.fragment & Ipv4::DONT_FRAGMENT == 0);
            if forbidden {
                self.report_at_once(Report::TooBig { mtu: self.mtu as u16 }, bytes, from, at);
            }
            return;
        }
        let (ue, direction, peer) = match (from, to) {
            (EndId::Server, EndId::Ue(ue)) => (ue, Direction::Downlink, EndId::Server),
            (EndId::Ue(ue), to) => (ue, Direction::Uplink, to),
            (EndId::Server, EndId::Server) => unreachable!("no end has a route to itself"),
        };
        let flow = self.flows[usize::from(ue)];
        let arrival = Arrival { flow, direction, now: at };
        let mut packet = outside::packet(&mut self.pool, bytes, arrival).expect("its header was read before");
        let server = sockets::peer_number(peer, bytes[0] >> 4 == 6);
        packet.sockets = SocketPair { server, ..self.sockets.of_packet(&packet, bytes, direction, at) };
        self.reenters |= direction == Direction::Uplink && (peer != EndId::Server || hop_limit(bytes) <= 1);
        if from == EndId::Server && !packet.decrement_hop_limit() {
            self.counts.expired += 1;
            self.pool.recycle(packet);
            return self.report_at_once(Report::TimeExceeded, bytes, from, at);
        }
        self.counts.entered += 1;
        self.inject(ue, direction, packet, at);
    }

    /// Sends a packet through the network, and takes the packets that leave at the same time.
    fn inject(&mut self, ue: u16, direction: Direction, packet: Packet, at: Instant) {
        let end = match direction {
            Direction::Downlink => FlowEnd::Server,
            Direction::Uplink => FlowEnd::Host,
        };
        if let Some(connections) = &mut self.connections {
            connections.entered(at, ue, direction, &packet);
        }
        self.built.inject(self.flows[usize::from(ue)], end, packet, at);
        self.drain();
    }

    /// Takes what has left the network.
    fn drain(&mut self) {
        while self.drained != self.built.transfers() {
            self.drained = self.built.transfers();
            for ue in 0..self.flows.len() as u16 {
                self.drain_ue(ue);
            }
        }
    }

    fn drain_ue(&mut self, ue: u16) {
        let flow = self.flows[usize::from(ue)];
        while let Some((at, packet)) = self.built.take(flow, FlowEnd::Host) {
            if let Some(connections) = &mut self.connections {
                connections.left(at, ue, Direction::Downlink, &packet);
            }
            let leg = Some(Leg { ue, direction: Direction::Downlink });
            self.out.push_back(Leaving { at, end: EndId::Ue(ue), leg, packet });
        }
        while let Some((at, mut packet)) = self.built.take(flow, FlowEnd::Server) {
            if let Some(connections) = &mut self.connections {
                connections.left(at, ue, Direction::Uplink, &packet);
            }
            if !packet.decrement_hop_limit() {
                self.expire(ue, packet, at);
                continue;
            }
            let (peer, v6) = sockets::peer(packet.sockets);
            match peer {
                EndId::Server => {
                    let leg = Some(Leg { ue, direction: Direction::Uplink });
                    self.out.push_back(Leaving { at, end: EndId::Server, leg, packet });
                }
                EndId::Ue(other) => {
                    packet.sockets.server = sockets::peer_number(EndId::Ue(ue), v6);
                    // The ports are those seen from the UE of the flow.
                    let SocketPair { server_port, ue_port, .. } = packet.sockets;
                    (packet.sockets.server_port, packet.sockets.ue_port) = (ue_port, server_port);
                    self.send_down(other, packet, at);
                }
            }
        }
    }

    /// The router sends a packet to a UE.
    fn send_down(&mut self, ue: u16, packet: Packet, at: Instant) {
        if let Some(connections) = &mut self.connections {
            connections.entered(at, ue, Direction::Downlink, &packet);
        }
        self.built.inject(self.flows[usize::from(ue)], FlowEnd::Server, packet, at);
    }

    /// The hop limit of a UE's packet became 0 at the router: the error goes back through the network.
    fn expire(&mut self, ue: u16, packet: Packet, at: Instant) {
        self.counts.expired += 1;
        let [bytes, mut error] = core::mem::take(&mut self.scratch);
        let mut offending = bytes;
        offending.clear();
        let ends = self.typed_ends(ue, &packet);
        let written = emit(&packet, &ends, usize::MAX, &mut offending).is_ok();
        let allowed = written
            && icmp::error(Report::TimeExceeded, &offending, &mut error)
            && self.limits[EndId::Ue(ue).index()].allows(at);
        self.pool.recycle(packet);
        if allowed {
            let flow = self.flows[usize::from(ue)];
            let arrival = Arrival { flow, direction: Direction::Downlink, now: at };
            let mut packet = outside::packet(&mut self.pool, &error, arrival).expect("a packet of our own");
            let server = sockets::peer_number(EndId::Server, error[0] >> 4 == 6);
            packet.sockets = SocketPair { server, ..self.sockets.of(&error, Direction::Downlink, at) };
            self.counts.errors += 1;
            self.counts.entered += 1;
            self.send_down(ue, packet, at);
        } else {
            self.counts.errors_withheld += 1;
        }
        self.scratch = [offending, error];
    }

    /// Sends an error to the end where its packet entered, without the network.
    fn report_at_once(&mut self, report: Report, bytes: &[u8], to: EndId, at: Instant) {
        let mut error = core::mem::take(&mut self.scratch[1]);
        if icmp::error(report, bytes, &mut error) && self.limits[to.index()].allows(at) {
            let arrival = Arrival { flow: FlowId(u32::MAX), direction: Direction::Downlink, now: at };
            let packet = outside::packet(&mut self.pool, &error, arrival).expect("a packet of our own");
            self.counts.errors += 1;
            self.out.push_back(Leaving { at, end: to, leg: None, packet });
        } else {
            self.counts.errors_withheld += 1;
        }
        self.scratch[1] = error;
    }

    /// Removes the packet that left first of those that were not removed, and replaces `buffer` by its bytes.
    pub fn leave(&mut self, buffer: &mut Vec<u8>) -> Option<Left> {
        loop {
            let Leaving { at, end, leg, packet } = self.out.pop_front()?;
            buffer.clear();
            let ends = self.typed_ends(leg.map_or(0, |leg| leg.ue), &packet);
            let written = emit(&packet, &ends, usize::MAX, buffer).is_ok();
            let sent_at = packet.sent_at;
            self.pool.recycle(packet);
            if written {
                self.counts.left += 1;
                if let Some(recorder) = &mut self.recorder {
                    recorder.left(at, end, buffer);
                }
                return Some(Left { end, at, sent_at, leg });
            }
            self.counts.signalling += 1;
        }
    }

    /// The ends of a packet that a node of the network made, such as a proxy. Such a packet has no bytes.
    fn typed_ends(&self, ue: u16, packet: &Packet) -> airlane_wire::Ends {
        let SocketPair { server_port, ue_port, .. } = packet.sockets;
        let (peer, v6) = sockets::peer(packet.sockets);
        let address = |end| if v6 { IpAddr::V6(Ends::v6(end)) } else { IpAddr::V4(Ends::v4(end)) };
        let down = airlane_wire::Ends {
            source: address(peer),
            source_port: server_port,
            destination: address(EndId::Ue(ue)),
            destination_port: ue_port,
        };
        match packet.direction {
            Direction::Downlink => down,
            Direction::Uplink => down.reversed(),
        }
    }

    /// The tables of the run.
    ///
    /// # Panics
    /// If packets are not conserved.
    #[must_use]
    pub fn finish(self) -> RunOutput {
        if let Err(conservation) = self.built.check_conservation() {
            panic!("packets are not conserved: {conservation}");
        }
        self.built.finish()
    }
}

/// The time to live or hop limit of a packet that was read.
fn hop_limit(bytes: &[u8]) -> u8 {
    if bytes[0] >> 4 == 4 { bytes[8] } else { bytes[7] }
}

#[cfg(test)]
mod tests;
