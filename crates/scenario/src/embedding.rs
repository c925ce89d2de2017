//! A scenario that another program drives: with its own clock, with packets of its own, and with flows and
//! UEs that come and go.
//!
//! The program advances the run to the time of its clock, injects packets at the ends of its *external*
//! flows, and takes those that arrive there. An external flow has a number and a name as every other flow;
//! its packets share links, cells and queues with the simulated flows, and are counted in the tables.

use core::net::Ipv4Addr;
use std::sync::Arc;

use airlane_core::{
    Cx, Direction, Duration, Event, FlowId, Header, Instant, Node, NodeId, Packet, Payload, Port, Seeds, UeId,
};
use airlane_engine::{Conservation, Exit, InUse};
use airlane_middlebox::EnbProxies;
use airlane_net::{Gateway, Link, pep};
use airlane_quic::QlogFiles;
use airlane_ran::RadioNetwork;
use airlane_ran::config::{RanConfig, UeConfig};
use airlane_traffic::PORT;
use airlane_wire::checksum::{self, Verdict};
use airlane_wire::{emit, protocol};

use crate::applications::{self, Contents};
use crate::endpoints::{self, Setup};
use crate::error::ScenarioError;
use crate::expand::{self, OneFlow, OneUe};
use crate::files::Files;
use crate::format::{App, Flow, Kernel, Resolved, Transport};
use crate::quantity::Time;
use crate::run::{Built, Own};
use crate::wiring::{MobilePlaces, data_direction};
use crate::{links, radio, real, rnis, sinks};

/// The nodes of a built network have the types that they were built with.
const BUILT: &str = "a node of the network that was built";

/// The parts of a run's construction that are needed again when it grows.
pub(crate) struct Growth {
    /// The scenario as its user gave it.
    pub(crate) given: Resolved,
    /// The same, with the flows that were opened.
    pub(crate) scenario: Resolved,
    pub(crate) seeds: Seeds,
    pub(crate) qlog: Option<Arc<QlogFiles>>,
    pub(crate) contents: Vec<Contents>,
    pub(crate) own: Own,
    pub(crate) files: Files,
    /// The UE of each flow, or none in a wired network; `None` for a flow that was removed.
    pub(crate) present: Vec<Option<Option<usize>>>,
    /// Number of UEs, removed ones included.
    pub(crate) ues: usize,
    /// UEs that were removed.
    pub(crate) removed_ues: Vec<usize>,
}

impl Growth {
    /// Whether flows or UEs were added or removed.
    pub(crate) fn has_grown(&self) -> bool {
        let [now, given] = [&self.scenario, &self.given].map(|one| (one.flow.len(), one.ue.len()));
        now != given || self.present.contains(&None) || !self.removed_ues.is_empty()
    }
}

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

/// The numbers of what was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// UEs.
    pub ues: Vec<UeId>,
    /// Flows.
    pub flows: Vec<FlowId>,
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
        simulation.send_from((node, PORT), packet, at, retransmission, probe);
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
        if packet.outside.is_none() {
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
            && packet.outside.is_none()
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
        self.growth.scenario.run.series_bin.0
    }

    /// The flows whose ends are sockets of a kernel, which the caller drives.
    #[must_use]
    pub fn kernel_flows(&self) -> Vec<KernelFlow> {
        let scenario = &self.growth.scenario;
        let flows = (0..).map(FlowId).zip(expand::flows(scenario));
        let kernels = flows.filter_map(|(flow, one)| {
            let section = &scenario.flow[one.section];
            let Transport::Kernel(kernel) = &section.transport else { return None };
            let stop = section.stop.map(|stop| Instant::ZERO + stop.0);
            Some(KernelFlow {
                flow,
                ue: one.ue.map_or(0, |ue| ue as u32),
                direction: data_direction(section.direction),
                kernel: kernel.clone(),
                app: section.app.clone(),
                start: one.start(scenario),
                stop: stop.filter(|&stop| stop < self.end()),
                name: one.name,
            })
        });
        kernels.collect()
    }

    fn node(&self, flow: FlowId, end: FlowEnd) -> NodeId {
        match end {
            FlowEnd::Server => self.places.servers[flow.index()],
            FlowEnd::Host => self.places.hosts[flow.index()],
        }
    }

    /// Adds an external flow: both of its ends are outside. In a mobile network it belongs to a UE.
    ///
    /// # Errors
    /// If a mobile network has no such UE, or no longer, or if a wired network is given one.
    pub fn open(&mut self, name: &str, ue: Option<UeId>) -> Result<FlowId, ScenarioError> {
        let ues = expand::ues(&self.growth.scenario);
        let to = match (ue, self.places.mobile.is_some()) {
            (Some(ue), true) => Some(ues.get(ue.index()).map(|ue| ue.name.clone()).ok_or_else(|| {
                let help = format!("there are {} UEs, numbered from 0", ues.len());
                ScenarioError::new("flow.to", format!("no UE has the number {}", ue.0), help)
            })?),
            (None, false) => None,
            (None, true) => {
                return Err(ScenarioError::new("flow.to", "it is missing", "name the UE of the flow"));
            }
            (Some(_), false) => {
                let what = "a wired network has one host and no UE";
                return Err(ScenarioError::new("flow.to", what, "leave it out"));
            }
        };
        let start = Time(self.now().saturating_since(Instant::ZERO));
        let flow = Flow { start, ..real::external(name, to) };
        self.growth.scenario.flow.push(flow);
        match self.grow() {
            Ok(added) => Ok(added.flows[0]),
            Err(error) => {
                self.growth.scenario.flow.pop();
                Err(error)
            }
        }
    }

    /// Adds the UEs and flows that `scenario` has and the run's scenario does not: sections behind the others.
    /// Flows begin at their `start`, and movements now.
    ///
    /// # Errors
    /// If anything else differs, if a flow would have begun already or leads to a UE that was removed, or if a
    /// file cannot be read. The run is then unchanged.
    pub fn extend(&mut self, scenario: &Resolved) -> Result<Added, ScenarioError> {
        let given = &self.growth.given;
        if let Some(key) = other_difference(given, scenario) {
            let what = "only `[[ue]]` and `[[flow]]` can be added to a running network, behind all others";
            return Err(ScenarioError::new(key, what, "leave everything else as it is"));
        }
        for (index, flow) in scenario.flow.iter().enumerate().skip(given.flow.len()) {
            let key = |key: &str| format!("flow.{index}.{key}");
            let now = self.now().saturating_since(Instant::ZERO);
            if flow.start.0 < now {
                let mut error =
                    ScenarioError::new(key("start"), "it has passed", format!("the run is at {now}"));
                error.value = format!("{}", flow.start.0).into();
                return Err(error);
            }
        }
        let one_of = |flow: &OneFlow| flow.section >= given.flow.len() && rnis::subscribes(scenario, flow);
        if let Some(flow) = expand::flows(scenario).into_iter().find(one_of) {
            let what = "a flow with radio information cannot be added to a running network";
            let key = format!("flow.{}.transport", flow.section);
            return Err(ScenarioError::new(key, what, "give it from the start"));
        }
        let mut next = self.growth.scenario.clone();
        next.ue.extend_from_slice(&scenario.ue[given.ue.len()..]);
        next.flow.extend_from_slice(&scenario.flow[given.flow.len()..]);
        let before = core::mem::replace(&mut self.growth.scenario, next);
        match self.grow() {
            Ok(added) => {
                self.growth.given = scenario.clone();
                Ok(added)
            }
            Err(error) => {
                self.growth.scenario = before;
                Err(error)
            }
        }
    }

    /// Removes a flow. Packets that are still on their way to one of its ends are dropped there.
    ///
    /// # Errors
    /// If one of its ends holds packets.
    ///
    /// # Panics
    /// If the flow does not exist, or was removed.
    pub fn remove_flow(&mut self, flow: FlowId) -> Result<(), InUse> {
        assert!(self.growth.present[flow.index()].is_some(), "this flow was removed");
        for end in [FlowEnd::Server, FlowEnd::Host] {
            while self.take(flow, end).is_some() {}
            let _ = self.simulation.remove(self.node(flow, end))?;
        }
        self.growth.present[flow.index()] = None;
        if let Some(mobile) = self.places.mobile {
            self.simulation.node_mut::<RadioNetwork>(mobile.radio).expect(BUILT).remove_flow(flow);
            self.simulation.node_mut::<Gateway>(mobile.gateway).expect(BUILT).remove_flow(flow);
        }
        Ok(())
    }

    /// Removes a UE and its flows. The packets of its bearer are dropped.
    ///
    /// # Errors
    /// As [`Self::remove_flow`].
    ///
    /// # Panics
    /// If the UE does not exist, or was removed.
    pub fn remove_ue(&mut self, ue: UeId) -> Result<(), InUse> {
        let present = self.growth.present.iter().enumerate();
        let own = present.filter(|(_, of)| **of == Some(Some(ue.index())));
        let own: Vec<_> = own.map(|(flow, _)| FlowId(flow as u32)).collect();
        own.into_iter().try_for_each(|flow| self.remove_flow(flow))?;
        let mobile = self.places.mobile.expect("only a mobile network has UEs");
        let (simulation, probe) = self.observed();
        let removed =
            simulation.visit::<RadioNetwork, _>(mobile.radio, probe, |radio, cx| radio.remove_ue(cx, ue));
        removed.expect(BUILT);
        self.growth.removed_ues.push(ue.index());
        Ok(())
    }

    /// Adds the UEs and flows of the scenario that the network does not have. Files are read first: after an
    /// error nothing has changed.
    fn grow(&mut self) -> Result<Added, ScenarioError> {
        let growth = &mut self.growth;
        let (ues, flows) = (expand::ues(&growth.scenario), expand::flows(&growth.scenario));
        let known = growth.present.len();
        let removed = |flow: &&OneFlow| flow.ue.is_some_and(|ue| growth.removed_ues.contains(&ue));
        if let Some(flow) = flows[known..].iter().find(removed) {
            let key = format!("flow.{}.to", flow.section);
            return Err(ScenarioError::new(key, "this UE was removed", "name a UE that is there"));
        }
        growth.contents.extend(applications::contents(&growth.scenario, &flows[known..], &growth.files)?);
        let prepared = growth.prepare(&ues, &flows).inspect_err(|_| self.growth.contents.truncate(known));
        let Prepared { config, ends } = prepared?;
        let mut added = Added::default();
        if let Some((mobile, config)) = self.places.mobile.zip(config) {
            added.ues = config.ues[self.growth.ues..].iter().map(|ue| self.add_ue(mobile, ue)).collect();
        }
        self.growth.ues = ues.len();
        for (flow, ends) in flows[known..].iter().zip(ends) {
            let id = self.add_flow(flow.ue, ends);
            let qos = radio::qos_flow(&self.growth.scenario.flow[flow.section]);
            if let Some((mobile, qos)) = self.places.mobile.zip(qos) {
                self.simulation.node_mut::<RadioNetwork>(mobile.radio).expect(BUILT).map_flow(id, qos);
            }
            added.flows.push(id);
        }
        let setup = self.growth.setup();
        self.capture = sinks::capture_parameters(setup.scenario, &ues, &flows);
        sinks::extend(&mut self.sinks, setup, &ues, &flows);
        Ok(added)
    }

    fn add_ue(&mut self, mobile: MobilePlaces, config: &UeConfig) -> UeId {
        let (seeds, router) = (self.growth.seeds, self.places.host_router);
        let (simulation, probe) = self.observed();
        let attach = |radio: &mut RadioNetwork, cx: &mut Cx<'_>| {
            let id = radio.add_ue(config, cx.now, seeds);
            (id, radio.ue_port(id.index()), radio.serving_cell(id))
        };
        let (id, port, cell) = simulation.visit(mobile.radio, probe, attach).expect(BUILT);
        simulation.connect((mobile.radio, port), (router, 0));
        let enb = u16::try_from(cell.0).expect("fewer than 65536 cells");
        simulation.node_mut::<Gateway>(mobile.gateway).expect(BUILT).attach(id, enb);
        if let Some(node) = mobile.enb_proxies {
            simulation.node_mut::<EnbProxies>(node).expect(BUILT).attach(id, cell.index());
        }
        id
    }

    fn add_flow(&mut self, ue: Option<usize>, ends: Ends) -> FlowId {
        let Self { simulation, places, growth, .. } = self;
        let id = FlowId(growth.present.len() as u32);
        growth.present.push(Some(ue));
        let port = Port::try_from(id.0).expect("at most 10,000 flows");
        let (server, host) = (simulation.add(ends.server), simulation.add(ends.host));
        places.servers.push(server);
        places.hosts.push(host);
        let (mut from_server, mut to_server) = ((server, PORT), (server, PORT));
        if let Some(distance) = ends.distance {
            let [down, up] = distance.map(|link| simulation.add(link));
            simulation.connect(from_server, (down, Link::INPUT));
            simulation.connect((up, Link::OUTPUT), to_server);
            (from_server, to_server) = ((down, Link::OUTPUT), (up, Link::INPUT));
        }
        match (places.internet_down, ends.links) {
            (None, Some(links)) => {
                let [down, up] = links.map(|link| simulation.add(link));
                simulation.connect(from_server, (down, Link::INPUT));
                simulation.connect((down, Link::OUTPUT), places.core);
                simulation.connect((up, Link::OUTPUT), to_server);
                to_server = (up, Link::INPUT);
            }
            (down, _) => simulation.connect(from_server, down.expect("a shared link, or one of its own")),
        }
        simulation.connect((places.server_router, port), to_server);
        simulation.connect((places.host_router, port), (host, PORT));
        let mut up = places.internet_up;
        if let Some((mobile, ue)) = places.mobile.zip(ue) {
            let radio = simulation.node_mut::<RadioNetwork>(mobile.radio).expect(BUILT);
            up = (mobile.radio, radio.ue_port(ue));
            let ue = UeId(ue as u32);
            assert_eq!(radio.add_flow(ue), id, "the radio network counts flows as the scenario does");
            simulation.node_mut::<Gateway>(mobile.gateway).expect(BUILT).add_flow(id, ue);
            if let Some(node) = mobile.enb_proxies {
                simulation.node_mut::<EnbProxies>(node).expect(BUILT).add_flow(id, ue);
            }
        }
        simulation.connect((host, PORT), up);
        id
    }
}

impl Growth {
    pub(crate) fn setup(&self) -> Setup<'_> {
        Setup {
            scenario: &self.scenario,
            seeds: self.seeds,
            qlog: self.qlog.as_ref(),
            contents: &self.contents,
            own: &self.own,
            files: &self.files,
        }
    }

    /// Builds the nodes and settings of what the network does not have.
    fn prepare(&self, ues: &[OneUe], flows: &[OneFlow]) -> Result<Prepared, ScenarioError> {
        let setup = self.setup();
        let channel = self.scenario.channel.as_ref();
        let config = channel.map(|channel| radio::configuration(setup, channel, ues, flows)).transpose()?;
        let ends = flows.iter().enumerate().skip(self.present.len()).map(|(index, flow)| {
            let id = FlowId(index as u32);
            let name = format!("internet/{index}");
            let links = match self.scenario.internet.shared {
                true => None,
                false => {
                    Some([links::internet_downlink(setup, &name)?, links::internet_uplink(setup, &name)?])
                }
            };
            let (server, host) = (endpoints::server(setup, id, flow), endpoints::host(setup, id, flow));
            let distance = links::to_server(&self.scenario.flow[flow.section]);
            Ok(Ends { server, host, distance, links })
        });
        Ok(Prepared { config, ends: ends.collect::<Result<_, _>>()? })
    }
}

/// The parts that are added to a network.
struct Prepared {
    config: Option<RanConfig>,
    ends: Vec<Ends>,
}

/// The nodes of a flow.
struct Ends {
    server: Box<dyn Node>,
    host: Box<dyn Node>,
    /// The propagation delay between the server and the internet link, down and up.
    distance: Option<[Box<dyn Node>; 2]>,
    /// Downlink and uplink of its own, where servers do not share them.
    links: Option<[Box<dyn Node>; 2]>,
}

/// The first key in which two scenarios differ, apart from sections that the second has behind those of the
/// first.
fn other_difference(given: &Resolved, next: &Resolved) -> Option<String> {
    let mut same = next.clone();
    same.ue.truncate(given.ue.len());
    same.flow.truncate(given.flow.len());
    if same == *given {
        return None;
    }
    let [old, new] = [given, &same].map(|one| serde_json::to_value(one).unwrap_or_default());
    let keys = old.as_object().into_iter().flatten();
    let differing = keys.filter(|(key, value)| new.get(key) != Some(*value)).map(|(key, _)| key.clone());
    Some(differing.into_iter().next().unwrap_or_default())
}
