//! The nodes of a flow and their places in a network, which is being built or is running.

use airlane_core::{FlowId, Node, NodeId, Port, Seeds, UeId};
use airlane_engine::Simulation;
use airlane_middlebox::EnbProxies;
use airlane_net::{Gateway, Link};
use airlane_ran::RadioNetwork;
use airlane_ran::bearers::DedicatedBearerConfig;
use airlane_ran::sdap::Qfi;
use airlane_scenario::ScenarioError;
use airlane_scenario::endpoints::{self, Setup};
use airlane_scenario::expand::{OneFlow, Route};
use airlane_scenario::format::Qos;
use airlane_scenario::transports::subflow_ports;
use airlane_traffic::{PORT, RelayLeg};

use super::{BUILT, End, Places, paths};
use crate::links;

/// The nodes of a flow, which are not in a network yet.
pub(crate) struct FlowNodes {
    server: Box<dyn Node>,
    host: Box<dyn Node>,
    /// The propagation delay between the server and the internet link, down and up.
    delays: Option<[Box<dyn Node>; 2]>,
    /// Downlink and uplink of its own, where servers do not share them.
    links: Option<[Box<dyn Node>; 2]>,
    ue: Option<UeId>,
    /// The other leg of a flow between two UEs.
    other_leg: Option<FlowId>,
    /// One of the two QoS flows of cells with a bearer for L4S, if the scenario names its class.
    qos_flow: Option<Qfi>,
    /// Its dedicated bearer.
    bearer: Option<DedicatedBearerConfig>,
    seeds: Seeds,
    routes: Vec<Route>,
    /// Its subflows over radios, if these are several: the port and the radio of each.
    subflows: Vec<(u16, UeId)>,
}

impl FlowNodes {
    /// The nodes of all flows from number `first` on.
    ///
    /// # Errors
    /// If a file that the scenario names cannot be read.
    pub(crate) fn of(setup: Setup<'_>, flows: &[OneFlow], first: usize) -> Result<Vec<Self>, ScenarioError> {
        let numbered = flows.iter().enumerate().skip(first);
        numbered.map(|(index, flow)| Self::new(setup, FlowId(index as u32), flow)).collect()
    }

    fn new(setup: Setup<'_>, id: FlowId, flow: &OneFlow) -> Result<Self, ScenarioError> {
        let section = &setup.scenario.flow[flow.section];
        let name = format!("internet/{}", id.0);
        let links = match setup.scenario.internet.shared {
            true => None,
            false => Some([links::internet_downlink(setup, &name)?, links::internet_uplink(setup, &name)?]),
        };
        Ok(Self {
            server: endpoints::server(setup, id, flow),
            host: endpoints::host(setup, id, flow),
            delays: links::to_server(section),
            links,
            ue: flow.ue.map(|ue| UeId(ue as u32)),
            other_leg: flow.other_leg(id),
            qos_flow: section.qos_flow(),
            bearer: section.qos.as_ref().map(Qos::config),
            seeds: setup.seeds,
            routes: flow.routes.clone(),
            subflows: paths::radios(&flow.routes, &subflow_ports(setup.scenario, id, flow)),
        })
    }

    /// Places for the delays of the server.
    pub(super) fn reserve_delays(&self, network: &mut Simulation) -> Option<[NodeId; 2]> {
        self.delays.as_ref().map(|_| [network.reserve(), network.reserve()])
    }

    /// A place for one of the two links of its own.
    pub(super) fn reserve_link(&self, network: &mut Simulation) -> Option<NodeId> {
        self.links.as_ref().map(|_| network.reserve())
    }
}

/// The bearer of a flow.
struct FlowBearer {
    qos_flow: Option<Qfi>,
    dedicated: Option<DedicatedBearerConfig>,
    seeds: Seeds,
}

/// The places of the nodes of a flow.
pub(crate) struct FlowPlaces {
    pub(super) server: NodeId,
    pub(super) host: NodeId,
    pub(super) delays: Option<[NodeId; 2]>,
    pub(super) links: Option<[NodeId; 2]>,
}

impl FlowPlaces {
    /// Places behind all nodes of a network.
    pub(crate) fn behind_all(network: &mut Simulation, nodes: &FlowNodes) -> Self {
        Self {
            server: network.reserve(),
            host: network.reserve(),
            delays: nodes.reserve_delays(network),
            links: nodes.reserve_link(network).map(|down| [down, network.reserve()]),
        }
    }
}

impl Places {
    /// Adds a flow to the network, the next by its number: puts its nodes into their places, and connects them.
    pub(crate) fn add_flow(&mut self, network: &mut Simulation, nodes: FlowNodes, at: &FlowPlaces) -> FlowId {
        let id = FlowId(self.servers.len() as u32);
        let port = Port::try_from(id.0).expect("at most 10,000 flows");
        network.fill(at.server, nodes.server);
        network.fill(at.host, nodes.host);
        self.servers.push(at.server);
        self.hosts.push(at.host);

        if let Some(other) = nodes.other_leg.filter(|other| other.index() < id.index()) {
            let (other, own) = (self.servers[other.index()], at.server);
            network.connect((other, RelayLeg::OTHER), (own, RelayLeg::OTHER));
            network.connect((own, RelayLeg::OTHER), (other, RelayLeg::OTHER));
        }

        let mut to_server = (at.server, PORT);
        if let Some((delays, [down, up])) = nodes.delays.zip(at.delays) {
            fill(network, [down, up], delays);
            network.connect((up, Link::OUTPUT), to_server);
            to_server = (up, Link::INPUT);
        }
        let mut internet_down = self.internet_down;
        if let Some((links, [down, up])) = nodes.links.zip(at.links) {
            fill(network, [down, up], links);
            network.connect((down, Link::OUTPUT), self.core);
            network.connect((up, Link::OUTPUT), to_server);
            (internet_down, to_server) = (Some((down, Link::INPUT)), (up, Link::INPUT));
        }
        network.connect((self.server_router, port), to_server);
        network.connect((self.host_router, port), (at.host, PORT));
        let bearer = FlowBearer { qos_flow: nodes.qos_flow, dedicated: nodes.bearer, seeds: nodes.seeds };
        if let Some(ue) = nodes.ue {
            self.add_to_ue(network, id, ue, &nodes.subflows, &bearer);
        }
        for (port, route) in (PORT..).zip(&nodes.routes) {
            let down = match *route {
                Route::Link(link) => self.side_links[link].down,
                Route::Ue(_) | Route::Internet => internet_down.expect("a shared link, or one of its own"),
            };
            let mut from_server = (at.server, port);
            if let Some([delay, _]) = at.delays {
                network.connect(from_server, (delay, Link::INPUT));
                from_server = (delay, Link::OUTPUT);
            }
            network.connect(from_server, down);
            let up = self.uplink(network, *route);
            network.connect((at.host, port), up);
        }
        id
    }

    /// Where the uplink of a route begins.
    fn uplink(&self, network: &mut Simulation, route: Route) -> End {
        match route {
            Route::Link(link) => self.side_links[link].up,
            Route::Internet => self.internet_up,
            Route::Ue(ue) => {
                let radio = self.mobile.expect("only a mobile network has UEs").radio;
                (radio, network.node_mut::<RadioNetwork>(radio).expect(BUILT).ue_port(ue))
            }
        }
    }

    /// Adds a flow to a UE of the mobile network, or its subflows to several.
    fn add_to_ue(
        &self,
        network: &mut Simulation,
        id: FlowId,
        ue: UeId,
        subflows: &[(u16, UeId)],
        bearer: &FlowBearer,
    ) {
        let now = network.now();
        let mobile = self.mobile.expect("only a mobile network has UEs");
        let radio = network.node_mut::<RadioNetwork>(mobile.radio).expect(BUILT);
        let added = if subflows.is_empty() { radio.add_flow(ue) } else { radio.add_flow_over(subflows) };
        assert_eq!(added, id, "the radio network counts flows as the scenario does");
        if let Some(qos_flow) = bearer.qos_flow {
            radio.map_flow(id, qos_flow);
        }
        if let Some(dedicated) = &bearer.dedicated {
            radio.set_up_bearer(id, dedicated, now, bearer.seeds);
        }
        let gateway = network.node_mut::<Gateway>(mobile.gateway).expect(BUILT);
        if subflows.is_empty() {
            gateway.add_flow(id, ue);
        }
        subflows.iter().for_each(|(port, ue)| gateway.add_path(id, *port, *ue));
        if let Some(node) = mobile.enb_proxies {
            network.node_mut::<EnbProxies>(node).expect(BUILT).add_flow(id, ue);
        }
    }
}

fn fill(network: &mut Simulation, places: [NodeId; 2], nodes: [Box<dyn Node>; 2]) {
    places.into_iter().zip(nodes).for_each(|(place, node)| network.fill(place, node));
}
