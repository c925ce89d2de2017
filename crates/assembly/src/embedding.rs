//! A scenario that another program drives: with its own clock and with packets of its own. The program may also add and
//! remove flows and UEs ([`membership`](crate::membership)).
//!
//! The program advances the run to the time of its clock, injects packets at the ends of its *external*
//! flows, and takes those that arrive there. An external flow has a number and a name as every other flow;
//! its packets share links, cells and queues with the simulated flows, and are counted in the tables.

use core::net::Ipv4Addr;

use airlane_core::{
    Direction, Duration, Event, FlowId, Header, Instant, Node, NodeId, Packet, Payload, Port,
};
use airlane_engine::{Conservation, Exit};
use airlane_net::pep;
use airlane_scenario::expand;
use airlane_scenario::format::{App, Kernel, Transport};
use airlane_scenario::transports::{KernelPath, kernel_paths};
use airlane_traffic::PORT;
use airlane_wire::checksum::{self, Verdict};
use airlane_wire::{emit, protocol};

use crate::run::Built;

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The server, where downlink packets begin.
    Server,
    /// The UE, or the host of a wired network, where uplink packets begin.
    Host,
}

/// A flow with ends that are sockets of a Linux kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFlow {
    /// Its number.
    pub flow: FlowId,
    /// Its name in results.
    pub name: String,
    /// The number of its UE; 0 for the host of a wired network.
    pub ue: u32,
    /// The direction of its data.
    pub direction: Direction,
    /// Its transport.
    pub kernel: Kernel,
    /// Its paths, with Multipath TCP; none with one path.
    pub paths: Vec<KernelPath>,
    /// Its application.
    pub app: App,
    /// When the application starts.
    pub start: Instant,
    /// When it ends, if that is before the end of the run.
    pub stop: Option<Instant>,
}

impl KernelFlow {
    /// Whether this end is a socket of the kernel.
    #[must_use]
    pub fn has(&self, end: FlowEnd) -> bool {
        self.kernel.simulated(end == FlowEnd::Server).is_none()
    }
}

impl Built {
    /// The current time of the run.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.simulation.now()
    }

    /// The time before which nothing happens unless a packet is injected.
    #[must_use]
    pub fn next_event(&mut self) -> Option<Instant> {
        self.simulation.next_event()
    }

    /// The number of times that a packet was passed from node to node, so far. While it stays the same, nothing
    /// new can be taken at any end.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.simulation.counters().packets
    }

    /// Whether a split proxy is in the path. [`Self::inject`] then looks at the checksums of TCP segments.
    #[must_use]
    pub const fn has_split_proxy(&self) -> bool {
        self.has_split
    }

    /// The number of packets in each state.
    ///
    /// # Errors
    /// The same numbers, if they do not add up.
    pub fn check_conservation(&self) -> Result<Conservation, Conservation> {
        self.simulation.check_conservation()
    }

    /// Sends a packet from an end of an external flow at time `at`. Its flow, its direction and the time when it
    /// was sent are set here. Everything that is due at `at` or before happens first. A split proxy terminates the
    /// connections of TCP segments with correct checksums; others pass.
    ///
    /// # Panics
    /// If `at` is before [`Self::now`], or if the flow does not exist.
    pub fn inject(&mut self, flow: FlowId, end: FlowEnd, packet: Packet, at: Instant) {
        self.inject_again(flow, end, packet, at, false);
    }

    /// The same, of a packet whose payload may have been sent before, which only its sender knows.
    ///
    /// # Panics
    /// As [`Self::inject`].
    pub fn inject_again(
        &mut self,
        flow: FlowId,
        end: FlowEnd,
        packet: Packet,
        at: Instant,
        retransmission: bool,
    ) {
        self.inject_over((flow, end, PORT), packet, at, retransmission);
    }

    /// The same over one of the paths of a flow, by its number. Its packets are those of the path's port at the UE
    /// ([`KernelPath::port`]).
    ///
    /// # Panics
    /// As [`Self::inject`].
    pub fn inject_over(
        &mut self,
        (flow, end, path): (FlowId, FlowEnd, Port),
        mut packet: Packet,
        at: Instant,
        retransmission: bool,
    ) {
        (packet.flow, packet.sent_at) = (flow, at);
        packet.direction = match end {
            FlowEnd::Server => Direction::Downlink,
            FlowEnd::Host => Direction::Uplink,
        };
        if self.has_split && matches!(packet.header, Header::Tcp(_)) && self.is_damaged(&packet) {
            packet.header = Header::Other { protocol: protocol::TCP };
        }
        let node = self.node(flow, end);
        let (simulation, probe) = self.observed();
        simulation.send_from((node, path), packet, at, retransmission, probe);
    }

    /// Removes the oldest packet that has arrived at an end of an external flow, with the time of its arrival.
    /// Messages of a PEP to its server are left out: no server outside expects them.
    ///
    /// # Panics
    /// If the flow does not exist.
    pub fn take(&mut self, flow: FlowId, end: FlowEnd) -> Option<(Instant, Packet)> {
        let node = self.node(flow, end);
        loop {
            let departure = self.simulation.take(node)?;
            if !self.is_pep_message(&departure.packet) {
                return Some((departure.at, departure.packet));
            }
        }
    }

    /// Whether a packet has arrived at an end of an external flow, and was not taken.
    ///
    /// # Panics
    /// If the flow does not exist.
    #[must_use]
    pub fn has_arrived(&self, flow: FlowId, end: FlowEnd) -> bool {
        let exit = self.simulation.node::<Exit>(self.node(flow, end));
        exit.is_some_and(|exit| exit.packets_held() > 0)
    }

    /// True if its bytes have a wrong checksum. A proxy would send what it carries with a correct one.
    fn is_damaged(&mut self, packet: &Packet) -> bool {
        if packet.outside().is_none() {
            return false;
        }
        let nowhere = Ipv4Addr::UNSPECIFIED.into();
        let ends =
            airlane_wire::Ends { source: nowhere, source_port: 0, destination: nowhere, destination_port: 0 };
        self.scratch.clear();
        emit(packet, &ends, usize::MAX, &mut self.scratch).expect("it has its own bytes");
        checksum::verify_transport(&self.scratch) == Verdict::Wrong
    }

    fn is_pep_message(&self, packet: &Packet) -> bool {
        self.has_pep
            && packet.outside().is_none()
            && matches!((&packet.header, &packet.payload), (Header::Udp(_), Payload::Bytes(datagram)) if pep::is_message(datagram))
    }

    /// Reports an event of an end outside to the observers of the run, at time `at`. Everything that is due then or
    /// before happens first.
    ///
    /// # Panics
    /// If `at` is before [`Self::now`].
    pub fn report(&mut self, at: Instant, event: &Event<'_>) {
        self.advance(at);
        let (_, probe) = self.observed();
        if probe.topics().wants(event.topic()) {
            probe.observe(at, event);
        }
    }

    /// The width of the bins of time series.
    #[must_use]
    pub fn series_bin(&self) -> Duration {
        self.construction.scenario.run.series_bin.0
    }

    /// The flows whose ends are sockets of a kernel, which the caller drives.
    #[must_use]
    pub fn kernel_flows(&self) -> Vec<KernelFlow> {
        let scenario = &self.construction.scenario;
        let flows = (0..).map(FlowId).zip(expand::flows(scenario));
        let kernels = flows.filter_map(|(flow, one)| {
            let section = &scenario.flow[one.section];
            let Transport::Kernel(kernel) = &section.transport else { return None };
            let stop = section.stop.map(|stop| Instant::ZERO + stop.0);
            Some(KernelFlow {
                flow,
                ue: one.ue.map_or(0, |ue| ue as u32),
                direction: section.direction.data(),
                kernel: kernel.clone(),
                paths: kernel_paths(scenario, flow, &one),
                app: section.app.clone(),
                start: one.start(scenario),
                stop: stop.filter(|&stop| stop < self.end()),
                name: one.name,
            })
        });
        kernels.collect()
    }

    pub(crate) fn node(&self, flow: FlowId, end: FlowEnd) -> NodeId {
        match end {
            FlowEnd::Server => self.places.servers[flow.index()],
            FlowEnd::Host => self.places.hosts[flow.index()],
        }
    }
}
