//! From a scenario to a network: the data path as one list, top to bottom.
//!
//! Links in series may later become one node ([`fusing`](crate::fusing)), which changes nothing that a packet meets.

use airlane_core::{BitRate, Direction, FlowId, NodeId, Port, UeId};
use airlane_engine::{Network, Simulation};
use airlane_middlebox::{EnbProxies, Side};
use airlane_net::{FlowRouter, Gateway, Link};
use airlane_ran::RadioNetwork;
use airlane_ran::config::RanConfig;
use airlane_traffic::PORT;

use crate::endpoints::Setup;
use crate::error::ScenarioError;
use crate::expand::{self, OneFlow};
use crate::format::{Backhaul, FlowDirection, Resolved};
use crate::middlebox::InPath;
use crate::{backhaul, endpoints, links, middlebox, radio, rnis};

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
}

/// The nodes of a mobile network that know flows and UEs.
#[derive(Clone, Copy)]
pub(crate) struct MobilePlaces {
    pub(crate) radio: NodeId,
    pub(crate) gateway: NodeId,
    pub(crate) enb_proxies: Option<NodeId>,
    /// Where S1-U towards the core begins, if one cell has a link of its own.
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
pub(crate) fn wire(setup: Setup<'_>) -> Result<Wired, ScenarioError> {
    let scenario = setup.scenario;
    let (ues, flows) = (expand::ues(scenario), expand::flows(scenario));
    let flow_ids = || (0..).map(FlowId).zip(&flows);
    let mut network = Network::new();

    // 1. The server: an endpoint for each flow. They share ...
    let servers: Vec<NodeId> =
        flow_ids().map(|(id, flow)| network.add(endpoints::server(setup, id, flow))).collect();

    // 2. ... the internet link, or each has its own.
    let sides = server_sides(&mut network, &servers, scenario, &flows);
    let internet_down = internet_downlinks(&mut network, &sides, setup)?;

    let mobile = match (&scenario.channel, &scenario.backhaul) {
        (Some(channel), Some(backhaul)) => {
            let config = radio::configuration(setup, channel, &ues, &flows)?;
            let mobile = Mobile::wire(&mut network, setup, &config, backhaul);
            internet_down.iter().for_each(|link| network.connect(*link, mobile.internet_side));
            Some(mobile)
        }
        _ => None,
    };

    // 6. Inside the UEs, or the host, a router leads to ...
    let host_router = network.add(Box::new(FlowRouter));
    match &mobile {
        Some(mobile) => mobile.ues.iter().for_each(|ue| network.connect(*ue, (host_router, 0))),
        None => internet_down.iter().for_each(|link| network.connect(*link, (host_router, 0))),
    }

    // 7. ... the other endpoint of each flow. Its packets go back up,
    let hosts: Vec<NodeId> =
        flow_ids().map(|(id, flow)| network.add(endpoints::host(setup, id, flow))).collect();

    // 8. through radio, S1-U and gateway, over the internet link and a router to the server's endpoints;
    //    if each endpoint has its own link, the router is before the links.
    let (internet_up, server_router) = internet_uplinks(&mut network, &sides, setup)?;
    for (port, (&host, flow)) in (0..).zip(hosts.iter().zip(&flows)) {
        network.connect((host_router, port), (host, PORT));
        let up = match (&mobile, flow.ue) {
            (Some(mobile), Some(ue)) => mobile.ues[ue],
            _ => internet_up,
        };
        network.connect((host, PORT), up);
    }
    if let Some(mobile) = &mobile {
        network.connect(mobile.internet_side, internet_up);
    }

    // 9. Outside the path, the service that informs servers about the radio of their UEs.
    if let Some(mobile) = &mobile {
        information_service(&mut network, setup, mobile.information, &servers);
    }

    let places = Places {
        servers,
        hosts,
        internet_down: scenario.internet.shared.then(|| (internet_down[0].0, Link::INPUT)),
        core: mobile.as_ref().map_or((host_router, 0), |mobile| mobile.internet_side),
        internet_up,
        internet_link_up: scenario.internet.shared.then_some(internet_up.0),
        server_router,
        host_router,
        mobile: mobile.as_ref().map(|mobile| mobile.places),
    };
    let proxies = mobile.map_or_else(Proxies::default, |mobile| mobile.proxies);
    Ok(Wired { simulation: Simulation::new(network, POOL_CAPACITY), proxies, places })
}

/// The service that informs servers about the radio of their UEs, if the scenario has one.
fn information_service(network: &mut Network, setup: Setup<'_>, enbs: End, servers: &[NodeId]) {
    let Setup { scenario, seeds, .. } = setup;
    let Some(service) = &scenario.rnis else { return };
    let flows = expand::flows(scenario);
    let flows = (0..).map(FlowId).zip(&flows).zip(servers.iter().copied());
    let listeners = flows.filter(|((id, flow), _)| rnis::consumer(scenario, *id, flow).is_some());
    let listeners: Vec<_> = listeners.map(|((id, _), server)| (id, server)).collect();
    rnis::wire(network, service, enbs, &listeners, seeds);
}

/// Where the packets of a server leave it, and where those to it enter.
#[derive(Clone, Copy)]
struct ServerSide {
    out: End,
    into: End,
}

/// The servers, some of them behind a propagation delay of their own.
fn server_sides(
    network: &mut Network,
    servers: &[NodeId],
    scenario: &Resolved,
    flows: &[OneFlow],
) -> Vec<ServerSide> {
    let side = |(server, flow): (&NodeId, &OneFlow)| {
        let end = (*server, PORT);
        let Some([down, up]) = links::to_server(&scenario.flow[flow.section]) else {
            return ServerSide { out: end, into: end };
        };
        let (down, up) = (network.add(down), network.add(up));
        network.connect(end, (down, Link::INPUT));
        network.connect((up, Link::OUTPUT), end);
        ServerSide { out: (down, Link::OUTPUT), into: (up, Link::INPUT) }
    };
    servers.iter().zip(flows).map(side).collect()
}

/// The link or links from the servers: their far ends.
fn internet_downlinks(
    network: &mut Network,
    servers: &[ServerSide],
    setup: Setup<'_>,
) -> Result<Vec<End>, ScenarioError> {
    if setup.scenario.internet.shared {
        let down = network.add(links::internet_downlink(setup, "internet")?);
        servers.iter().for_each(|server| network.connect(server.out, (down, Link::INPUT)));
        return Ok(vec![(down, Link::OUTPUT)]);
    }
    let down = |(flow, server): (usize, &ServerSide)| {
        let link = links::internet_downlink(setup, &format!("internet/{flow}"))?;
        let link = network.add(link);
        network.connect(server.out, (link, Link::INPUT));
        Ok((link, Link::OUTPUT))
    };
    servers.iter().enumerate().map(down).collect()
}

/// The link or links to the servers: the end that leads to all of them, and the router among them.
fn internet_uplinks(
    network: &mut Network,
    servers: &[ServerSide],
    setup: Setup<'_>,
) -> Result<(End, NodeId), ScenarioError> {
    let mut shared = None;
    if setup.scenario.internet.shared {
        shared = Some(network.add(links::internet_uplink(setup, "internet")?));
    }
    let router = network.add(Box::new(FlowRouter));
    for (port, &server) in (0..).zip(servers) {
        let to = if shared.is_some() {
            server.into
        } else {
            let link = network.add(links::internet_uplink(setup, &format!("internet/{port}"))?);
            network.connect((link, Link::OUTPUT), server.into);
            (link, Link::INPUT)
        };
        network.connect((router, port), to);
    }
    let Some(up) = shared else { return Ok(((router, 0), router)) };
    network.connect((up, Link::OUTPUT), (router, 0));
    Ok(((up, Link::INPUT), router))
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
    fn wire(network: &mut Network, setup: Setup<'_>, config: &RanConfig, backhaul: &Backhaul) -> Self {
        let Setup { scenario, seeds, .. } = setup;
        let cells = 0..config.cells.len();
        let mut radio_network = RadioNetwork::new(config, seeds);
        for (id, flow) in (0..).zip(&expand::flows(scenario)) {
            if let Some(qos) = radio::qos_flow(&scenario.flow[flow.section]) {
                radio_network.map_flow(FlowId(id), qos);
            }
        }
        if scenario.run.ue_series {
            radio_network.report_positions(scenario.run.series_bin.0);
        }

        if let Some(rnis) = &scenario.rnis {
            radio_network.publish_information(rnis.period.0);
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
        let s1u_up = if let [[_, up]] = s1u[..] { Some(up) } else { None };
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
fn behind(network: &mut Network, middlebox: Option<InPath>, end: End) -> End {
    let Some(InPath { node, rate, .. }) = middlebox else { return end };
    let node = network.add(node);
    let towards = interface(network, rate, end);
    network.connect((node, Side::Ran.port()), towards);
    network.connect(end, (node, Side::Ran.port()));
    (node, Side::Core.port())
}

/// The end to send to in order to reach `end` over an interface of this rate, if it is limited.
fn interface(network: &mut Network, rate: Option<BitRate>, end: End) -> End {
    rate.map_or(end, |rate| {
        let interface = network.add(links::interface(rate));
        network.connect((interface, Link::OUTPUT), end);
        (interface, Link::INPUT)
    })
}

/// Split proxies in the eNBs, with the cell of each UE and the UE of each flow, if the scenario has them.
fn enb_proxies(setup: Setup<'_>, config: &RanConfig, radio_network: &RadioNetwork) -> Option<EnbProxies> {
    let mut proxies = middlebox::enb_proxies(setup)?;
    for ue in (0..config.ues.len() as u32).map(UeId) {
        proxies.attach(ue, radio_network.serving_cell(ue).index());
    }
    for (index, ue) in (0..).zip(&config.flows) {
        proxies.add_flow(FlowId(index), *ue);
    }
    Some(proxies)
}

/// A gateway with the cell of each UE and the UE of each flow.
fn gateway(config: &RanConfig, radio_network: &RadioNetwork) -> Gateway {
    let mut gateway = Gateway::new();
    for ue in (0..config.ues.len() as u32).map(UeId) {
        let cell = radio_network.serving_cell(ue);
        gateway.attach(ue, u16::try_from(cell.0).expect("fewer than 65536 cells"));
    }
    for (index, ue) in (0..).zip(&config.flows) {
        gateway.add_flow(FlowId(index), *ue);
    }
    gateway
}

/// The direction of a flow's data.
pub(crate) const fn data_direction(direction: FlowDirection) -> Direction {
    match direction {
        FlowDirection::Downlink => Direction::Downlink,
        FlowDirection::Uplink => Direction::Uplink,
    }
}
