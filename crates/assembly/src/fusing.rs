//! Links in series that become one node in a run that goes to its end at once.
//!
//! [`wire`](crate::wiring::wire) builds every part of the path as a node. That is the network of a run which somebody
//! steps, looks at or changes. A run that goes from its beginning to its end ([`Built::run`](crate::Built::run), or
//! after [`Built::fuse`](crate::Built::fuse)) needs only what it does: where the internet link, the gateway and S1-U
//! follow on each other, they become one [`Tandem`]. In the downlink this becomes a part of the radio network, which
//! takes what has arrived when a slot begins. The tables are the same to the last bit
//! (`crates/assembly/tests/all/mirror.rs`); the numbers of events, timers and transfers are smaller.

use airlane_core::{CellId, NodeId, Port};
use airlane_engine::Simulation;
use airlane_net::{Gateway, Link, LinkPair, Tandem, Tunnel};
use airlane_ran::RadioNetwork;

use crate::wiring::{End, Places};

/// Fuses the links that can be, before anything has happened.
///
/// That needs a single cell, or one that is the primary cell of all UEs, whose links no handover changes; an internet link
/// that all servers share; one link of S1-U; and links that [`LinkPair::can_fuse`] accepts: drop-tail, and without
/// detours. Nothing else may be between them: no middlebox before the gateway.
pub(crate) fn fuse(simulation: &mut Simulation, places: &Places) {
    let (Some(mobile), Some((down, _)), Some(up)) =
        (places.mobile, places.internet_down, places.internet_link_up)
    else {
        return;
    };
    let gateway = mobile.gateway;
    let leads_to = |from: End| simulation.leads_to(from);
    let is_only = leads_to((gateway, Gateway::enb(1))).is_none();
    let radio = simulation.node::<RadioNetwork>(mobile.radio);
    if !mobile.is_lasting || !is_only && !radio.is_some_and(RadioNetwork::can_contain_backhaul) {
        return;
    }
    let to_cell = leads_to((gateway, Gateway::enb(0)));
    let downlink = to_cell.filter(|_| leads_to((down, Link::OUTPUT)) == Some((gateway, Gateway::INTERNET)));
    let is_direct = leads_to((gateway, Gateway::INTERNET)) == Some((up, Link::INPUT));
    let from_cell = mobile
        .s1u_up
        .filter(|(link, _)| is_direct && leads_to((*link, Link::OUTPUT)) == Some((gateway, Gateway::enb(0))));
    if let Some((second, Link::INPUT)) = downlink {
        fuse_downlink(simulation, mobile.radio, down, second);
    }
    if let Some(first) = from_cell {
        fuse_uplink(simulation, first, up);
    }
}

/// The internet link, the gateway and S1-U become a part of the radio network, or a node in the place of the internet
/// link.
fn fuse_downlink(simulation: &mut Simulation, radio: NodeId, down: NodeId, second: NodeId) {
    let end = simulation.leads_to((second, Link::OUTPUT));
    let Some(links) = link_pair(simulation, down, Tunnel::To(CellId(0)), second) else { return };
    let leads_there = end.is_some_and(|(node, _)| node == radio);
    if let Some(network) = simulation.node_mut::<RadioNetwork>(radio)
        && leads_there
        && network.can_contain_backhaul()
    {
        network.contain_backhaul(links);
        simulation.redirect((down, Link::INPUT), (radio, RadioNetwork::BACKHAUL));
        return;
    }
    simulation.fill(down, Box::new(Tandem::new(links)));
    reconnect(simulation, (down, Link::OUTPUT), end);
}

/// S1-U, the gateway and the internet link become a node in the place of the internet link.
fn fuse_uplink(simulation: &mut Simulation, first: End, up: NodeId) {
    let Some(links) = link_pair(simulation, first.0, Tunnel::End, up) else { return };
    simulation.fill(up, Box::new(Tandem::new(links)));
    simulation.redirect(first, (up, Link::INPUT));
}

fn reconnect(simulation: &mut Simulation, from: (NodeId, Port), to: Option<End>) {
    simulation.disconnect(from);
    if let Some(to) = to {
        simulation.connect(from, to);
    }
}

/// One pair instead of two links, which are removed; `None` if they have to stay.
fn link_pair(simulation: &mut Simulation, first: NodeId, tunnel: Tunnel, second: NodeId) -> Option<LinkPair> {
    let (one, other) = (simulation.node::<Link>(first)?, simulation.node::<Link>(second)?);
    if !LinkPair::can_fuse(one, other) {
        return None;
    }
    let [first, second] = [first, second].map(|link| simulation.remove_as::<Link>(link));
    Some(LinkPair::fuse(first?, tunnel, second?))
}
