//! S1-U: the links between the mobile core and the cells, in series.

use airlane_core::{NodeId, Seeds};
use airlane_engine::Simulation;
use airlane_net::{Gateway, Link, TunnelRouter};
use airlane_scenario::format::{Backhaul, Hop};

use crate::links;
use crate::wiring::End;

/// Adds these links. Returns, for each cell, the end that leads to it and the end that leads away
/// from it.
///
/// The links that all cells share are first. A router at the end of the last of them reads the tunnels and
/// leads to the links of each cell, or directly to the cells.
pub(crate) fn wire(
    network: &mut Simulation,
    gateway: NodeId,
    backhaul: &Backhaul,
    cells: u16,
    seeds: Seeds,
) -> Vec<[End; 2]> {
    let hops: Vec<(usize, Hop)> = (1..).zip(backhaul.hops()).collect();
    let (shared, own) = hops.split_at(hops.partition_point(|(_, hop)| hop.shared));
    let trunk = trunk(network, gateway, shared, seeds);
    let ends = |cell: u16| {
        let port = (gateway, Gateway::enb(cell));
        let [mut down_from, mut up_to] = match trunk {
            None => [port, port],
            Some(Trunk { first, router, up }) => {
                network.connect(port, (first, Link::INPUT));
                [(router, TunnelRouter::cell(cell)), (up, Link::INPUT)]
            }
        };
        for hop in own {
            let [down, up] = add(network, hop, &format!("cell/{cell}/s1u"), seeds);
            network.connect(down_from, (down, Link::INPUT));
            network.connect((up, Link::OUTPUT), up_to);
            [down_from, up_to] = [(down, Link::OUTPUT), (up, Link::INPUT)];
        }
        [down_from, up_to]
    };
    (0..cells).map(ends).collect()
}

/// The links that all cells share.
struct Trunk {
    /// The downlink that begins at the gateway.
    first: NodeId,
    /// The router to the cells.
    router: NodeId,
    /// The uplink that begins there.
    up: NodeId,
}

fn trunk(network: &mut Simulation, gateway: NodeId, shared: &[(usize, Hop)], seeds: Seeds) -> Option<Trunk> {
    let links: Vec<_> = shared.iter().map(|hop| add(network, hop, "s1u", seeds)).collect();
    for pair in links.windows(2) {
        let [[near_down, near_up], [far_down, far_up]] = [pair[0], pair[1]];
        network.connect((near_down, Link::OUTPUT), (far_down, Link::INPUT));
        network.connect((far_up, Link::OUTPUT), (near_up, Link::INPUT));
    }
    let ([first, last_up], [down, up]) = (*links.first()?, *links.last()?);
    let router = network.add(Box::new(TunnelRouter));
    network.connect((down, Link::OUTPUT), (router, TunnelRouter::INPUT));
    network.connect((last_up, Link::OUTPUT), (gateway, Gateway::enb(0)));
    Some(Trunk { first, router, up })
}

/// Adds both directions of a link. The names of its random streams contain its number in the series.
fn add(network: &mut Simulation, (number, hop): &(usize, Hop), name: &str, seeds: Seeds) -> [NodeId; 2] {
    let name = if *number == 1 { name.to_owned() } else { format!("{name}/{number}") };
    ["downlink", "uplink"]
        .map(|direction| network.add(links::hop(hop, seeds, &format!("{name}/{direction}"))))
}
