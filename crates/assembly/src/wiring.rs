//! From a scenario to a network: the data path as one list, top to bottom.
//!
//! Links in series may later become one node ([`fusing`](crate::fusing)), which changes nothing that a packet meets.

mod flow;
mod paths;

use airlane_core::{BitRate, Direction, FlowId, NodeId, Port, UeId};
use airlane_engine::{Network, Simulation};
use airlane_middlebox::{EnbProxies, Side};
use airlane_net::{FlowRouter, Gateway, Link};
use airlane_ran::RadioNetwork;
use airlane_ran::config::RanConfig;
use airlane_scenario::ScenarioError;
use airlane_scenario::endpoints::Setup;
use airlane_scenario::expand;
use airlane_scenario::format::Backhaul;
use airlane_scenario::rnis;

use crate::middlebox::InPath;
use crate::{backhaul, information, links, middlebox, radio};

pub(crate) use flow::{FlowNodes, FlowPlaces};
pub(crate) use paths::SideLink;

/// The nodes of a built network have the types that they were built with.
pub(crate) const BUILT: &str = "a node of the network that was built";

/// Initial capacity of the packet pool.
const POOL_CAPACITY: usize = 4096;

/// The result of the wiring.
pub(crate) struct Wired {
    pub(crate) simulation: Simulation,
    pub(crate) proxies: Proxies,
    pub(crate) places: Places,
}

/// The nodes that flows and UEs are connected to.
pub(crate) struct Places {
    /// The ends of each flow.
    pub(crate) servers: Vec<NodeId>,
    pub(crate) hosts: Vec<NodeId>,
    /// Where the downlink begins, if all servers share it.
    pub(crate) internet_down: Option<End>,
    /// Where the downlinks of single servers end.
    pub(crate) core: End,
    /// Where the uplink begins, of all hosts or of the core.
    pub(crate) internet_up: End,
    /// The uplink, if all servers share it.
    pub(crate) internet_link_up: Option<NodeId>,
    /// The router to the servers.
    pub(crate) server_router: NodeId,
    /// The router inside UEs or host.
    pub(crate) host_router: NodeId,
    /// The nodes of a mobile network.
    pub(crate) mobile: Option<MobilePlaces>,
    /// The links next to it.
    pub(crate) side_links: Vec<SideLink>,
}

/// The nodes of a mobile network that know flows and UEs.
#[derive(Clone, Copy)]
pub(crate) struct MobilePlaces {
    pub(crate) radio: NodeId,
    pub(crate) gateway: NodeId,
    pub(crate) enb_proxies: Option<NodeId>,
    /// Where S1-U of the first cell towards the core begins.
    pub(crate) s1u_up: Option<End>,
    /// No handover changes the way of packets.
    pub(crate) is_lasting: bool,
}

/// The nodes of the split proxies.
#[derive(Default)]
pub(crate) struct Proxies {
    /// The one before the gateway.
    pub(crate) gateway: Option<NodeId>,
    /// The node of those in the eNBs.
    pub(crate) enbs: Option<NodeId>,
}

/// Builds all nodes on the path of a packet from server to UE and back, in that order. Without
/// cells, the internet link leads directly to the hosts and back.
///
/// Nodes that are due at one instant are called in this order. Those of the flows have places in it, and are put there as
/// those of a flow that is added later.
pub(crate) fn wire(setup: Setup<'_>) -> Result<Wired, ScenarioError> {
    let mut simulation = Simulation::new(Network::new(), POOL_CAPACITY);
    let network = &mut simulation;
    let nodes = FlowNodes::of(setup, &expand::flows(setup.scenario), 0)?;

    // 1. The server: an endpoint for each flow. They share ...
    let servers: Vec<_> = nodes.iter().map(|_| network.reserve()).collect();
    let delays: Vec<_> = nodes.iter().map(|flow| flow.reserve_delays(network)).collect();

    // 2. ... the internet link, or each has its own.
    let internet_down = shared_link(network, setup, Direction::Downlink)?;
    let downlinks: Vec<_> = nodes.iter().map(|flow| flow.reserve_link(network)).collect();

    let mobile = Mobile::of(network, setup)?;

    // 6. Inside the UEs, or the host, a router leads to ...
    let host_router = network.add(Box::new(FlowRouter));
    let core = mobile.as_ref().map_or((host_router, 0), |mobile| mobile.internet_side);
    if let Some(link) = internet_down {
        network.connect((link, Link::OUTPUT), core);
    }
    for ue in mobile.iter().flat_map(|mobile| &mobile.ues) {
        network.connect(*ue, (host_router, 0));
    }

    // 7. ... the other endpoint of each flow. Its packets go back up,
    let hosts: Vec<_> = nodes.iter().map(|_| network.reserve()).collect();

    // 8. through radio, S1-U and gateway, over the internet link and a router to the server's endpoints;
    //    if each endpoint has its own link, the router is before the links.
    let internet_link_up = shared_link(network, setup, Direction::Uplink)?;
    let server_router = network.add(Box::new(FlowRouter));
    let uplinks: Vec<_> = nodes.iter().map(|flow| flow.reserve_link(network)).collect();
    let mut internet_up = (server_router, 0);
    if let Some(link) = internet_link_up {
        network.connect((link, Link::OUTPUT), internet_up);
        internet_up = (link, Link::INPUT);
    }
    if let Some(mobile) = &mobile {
        network.connect(mobile.internet_side, internet_up);
    }

    // Links next to the mobile network, from the servers to the router in the UEs and back.
    let side_links = paths::wire(network, setup, [host_router, server_router])?;

    let mut places = Places {
        servers: Vec::new(),
        hosts: Vec::new(),
        internet_down: internet_down.map(|link| (link, Link::INPUT)),
        core,
        internet_up,
        internet_link_up,
        server_router,
        host_router,
        mobile: mobile.as_ref().map(|mobile| mobile.places),
        side_links,
    };
    for (index, nodes) in nodes.into_iter().enumerate() {
        let (server, host, delays) = (servers[index], hosts[index], delays[index]);
        let links = downlinks[index].zip(uplinks[index]).map(<[NodeId; 2]>::from);
        places.add_flow(network, nodes, &FlowPlaces { server, host, delays, links });
    }

    // 9. Outside the path, the service that informs servers about the radio of their UEs.
    if let Some(mobile) = &mobile {
        information_service(network, setup, mobile.information, &places.servers);
    }
    let proxies = mobile.map_or_else(Proxies::default, |mobile| mobile.proxies);
    Ok(Wired { simulation, proxies, places })
}

/// One direction of the internet link, if all servers share it.
fn shared_link(
    network: &mut Simulation,
    setup: Setup<'_>,
    direction: Direction,
) -> Result<Option<NodeId>, ScenarioError> {
    if !setup.scenario.internet.shared {
        return Ok(None);
    }
    let link = match direction {
        Direction::Downlink => links::internet_downlink(setup, "internet")?,
        Direction::Uplink => links::internet_uplink(setup, "internet")?,
    };
    Ok(Some(network.add(link)))
}

/// The service that informs servers about the radio of their UEs, if the scenario has one.
fn information_service(network: &mut Simulation, setup: Setup<'_>, enbs: End, servers: &[NodeId]) {
    let Setup { scenario, seeds, .. } = setup;
    let Some(service) = &scenario.rnis else { return };
    let flows = expand::flows(scenario);
    let flows = (0..).map(FlowId).zip(&flows).zip(servers.iter().copied());
    let listeners = flows.filter(|((id, flow), _)| rnis::consumer(scenario, *id, flow).is_some());
    let listeners: Vec<_> = listeners.map(|((id, _), server)| (id, server)).collect();
    information::wire(network, service, enbs, &listeners, seeds);
}

/// The ends of a mobile network: towards the internet, and for each UE.
struct Mobile {
    internet_side: End,
    ues: Vec<End>,
    proxies: Proxies,
    /// The port at which eNBs publish radio information.
    information: End,
    places: MobilePlaces,
}

/// A port of a node.
pub(crate) type End = (NodeId, Port);

impl Mobile {
    /// The mobile network of a scenario, if it has one.
    fn of(network: &mut Simulation, setup: Setup<'_>) -> Result<Option<Self>, ScenarioError> {
        let scenario = setup.scenario;
        let Some((channel, backhaul)) = scenario.channel.as_ref().zip(scenario.backhaul.as_ref()) else {
            return Ok(None);
        };
        let config = radio::configuration(setup, channel, &expand::ues(scenario))?;
        Ok(Some(Self::wire(network, setup, &config, backhaul)))
    }

    fn wire(network: &mut Simulation, setup: Setup<'_>, config: &RanConfig, backhaul: &Backhaul) -> Self {
        let Setup { scenario, seeds, .. } = setup;
        let cells = 0..config.cells.len();
        let mut radio_network = RadioNetwork::new(config, seeds);
        if scenario.run.ue_series {
            radio_network.report_positions(scenario.run.series_bin.0);
        }

        if let Some(rnis) = &scenario.rnis {
            radio_network.publish_information(rnis.period.0);
            if scenario.flow.iter().any(|flow| flow.transport.needs_cell_use()) {
                radio_network.publish_cell_use();
            }
        }

        // 3. The gateway of the mobile core, where tunnels begin, and a middlebox before it.
        let gateway = network.add(Box::new(gateway(config, &radio_network)));
        let mut proxies = Proxies::default();
        let middlebox = middlebox::at_gateway(setup);
        let splits = middlebox.as_ref().is_some_and(|middlebox| middlebox.splits);
        let internet_side = behind(network, middlebox, (gateway, Gateway::INTERNET));
        proxies.gateway = splits.then_some(internet_side.0);

        // 4. S1-U, from the core to each cell and back, over links of all cells, a router and links of each.
        let s1u = backhaul::wire(network, gateway, backhaul, cells.len() as u16, seeds);

        // 5. The cells, the radio, the UEs, and a middlebox in each cell.
        let s1u_ports: Vec<_> = cells.map(|cell| radio_network.s1u_port(cell)).collect();
        let ue_ports: Vec<_> = (0..config.ues.len()).map(|ue| radio_network.ue_port(ue)).collect();
        let information_port = radio_network.information_port();
        let s1u_up = s1u.first().map(|[_, up]| *up);
        let enb_proxies = enb_proxies(setup, config, &radio_network);
        let radio_network = network.add(Box::new(radio_network));
        proxies.enbs = enb_proxies.map(|proxies| network.add(Box::new(proxies)));
        for (enb, ([down, up], port)) in s1u.into_iter().zip(s1u_ports).enumerate() {
            let middlebox = middlebox::at_enb(setup, enb);
            let mut core_side = behind(network, middlebox, (radio_network, port));
            if let Some(node) = proxies.enbs {
                let [core, ran] = [Side::Core, Side::Ran].map(|side| EnbProxies::port(enb as u16, side));
                let towards = interface(network, middlebox::enb_interface_rate(scenario), core_side);
                network.connect((node, ran), towards);
                network.connect(core_side, (node, ran));
                core_side = (node, core);
            }
            network.connect(down, core_side);
            network.connect(core_side, up);
        }
        let ues = ue_ports.into_iter().map(|port| (radio_network, port)).collect();
        let places = MobilePlaces {
            radio: radio_network,
            gateway,
            enb_proxies: proxies.enbs,
            s1u_up,
            is_lasting: config.handover.is_none(),
        };
        Self { internet_side, ues, proxies, information: (radio_network, information_port), places }
    }
}

/// The end that leads to `end` through the middlebox, if there is one.
fn behind(network: &mut Simulation, middlebox: Option<InPath>, end: End) -> End {
    let Some(InPath { node, rate, .. }) = middlebox else { return end };
    let node = network.add(node);
    let towards = interface(network, rate, end);
    network.connect((node, Side::Ran.port()), towards);
    network.connect(end, (node, Side::Ran.port()));
    (node, Side::Core.port())
}

/// The end to send to in order to reach `end` over an interface of this rate, if it is limited.
fn interface(network: &mut Simulation, rate: Option<BitRate>, end: End) -> End {
    rate.map_or(end, |rate| {
        let interface = network.add(links::interface(rate));
        network.connect((interface, Link::OUTPUT), end);
        (interface, Link::INPUT)
    })
}

/// Split proxies in the eNBs, with the cell of each UE, if the scenario has them.
fn enb_proxies(setup: Setup<'_>, config: &RanConfig, radio_network: &RadioNetwork) -> Option<EnbProxies> {
    let mut proxies = middlebox::enb_proxies(setup)?;
    for ue in (0..config.ues.len() as u32).map(UeId) {
        proxies.attach(ue, radio_network.serving_cell(ue).index());
    }
    Some(proxies)
}

/// A gateway with the cell of each UE.
fn gateway(config: &RanConfig, radio_network: &RadioNetwork) -> Gateway {
    let mut gateway = Gateway::new();
    for ue in (0..config.ues.len() as u32).map(UeId) {
        let cell = radio_network.serving_cell(ue);
        gateway.attach(ue, u16::try_from(cell.0).expect("fewer than 65536 cells"));
    }
    gateway
}
