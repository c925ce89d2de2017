//! Links next to the network, and the routes of flows over them and over several radios.

use airlane_core::{Direction, Instant, NodeId, UeId};
use airlane_engine::Simulation;
use airlane_net::{Coverage, Link, OptionFilter};
use airlane_scenario::ScenarioError;
use airlane_scenario::endpoints::Setup;
use airlane_scenario::expand::Route;
use airlane_scenario::format::AccessLink;

use super::End;
use crate::links;

/// A link next to the network: where its downlink begins, at servers, and its uplink, at hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideLink {
    pub(crate) down: End,
    pub(crate) up: End,
}

/// Adds the links of a scenario, from servers to the router in hosts and back.
pub(super) fn wire(
    network: &mut Simulation,
    setup: Setup<'_>,
    [host_router, server_router]: [NodeId; 2],
) -> Result<Vec<SideLink>, ScenarioError> {
    let mut all = Vec::new();
    for link in &setup.scenario.link {
        let [down, up] = [Direction::Downlink, Direction::Uplink]
            .map(|direction| links::side_link(setup, link, direction).map(|node| network.add(node)));
        let (down, up) = (down?, up?);
        // Packets are lost on the air: behind the downlink, and before the uplink.
        let mut to_host = (host_router, 0);
        let mut from_host = (up, Link::INPUT);
        if let Some(intervals) = coverage(link) {
            let [behind, before] = [(); 2].map(|()| network.add(Box::new(Coverage::new(intervals.clone()))));
            network.connect((behind, Coverage::PORT), to_host);
            network.connect((before, Coverage::PORT), from_host);
            (to_host, from_host) = ((behind, Coverage::PORT), (before, Coverage::PORT));
        }
        if let Some(strip) = link.strip {
            let filters = [(); 2].map(|()| network.add(Box::new(OptionFilter::new(strip.stripped()))));
            for (filter, next) in filters.into_iter().zip([&mut to_host, &mut from_host]) {
                network.connect((filter, OptionFilter::PORT), *next);
                *next = (filter, OptionFilter::PORT);
            }
        }
        network.connect((down, Link::OUTPUT), to_host);
        network.connect((up, Link::OUTPUT), (server_router, 0));
        all.push(SideLink { down: (down, Link::INPUT), up: from_host });
    }
    Ok(all)
}

fn coverage(link: &AccessLink) -> Option<Vec<[Instant; 2]>> {
    let until = |interval: &airlane_scenario::format::Interval| {
        interval.until.map_or(Instant::FAR_FUTURE, |until| Instant::ZERO + until.0)
    };
    let intervals = link.coverage.as_ref()?.iter();
    Some(intervals.map(|one| [Instant::ZERO + one.from.0, until(one)]).collect())
}

/// The radios of the subflows of a flow, by their ports at the UE, if it has several.
pub(super) fn radios(routes: &[Route], ports: &[u16]) -> Vec<(u16, UeId)> {
    let ue = |(route, port): (&Route, &u16)| match route {
        Route::Ue(ue) => Some((*port, UeId(*ue as u32))),
        Route::Internet | Route::Link(_) => None,
    };
    let all: Vec<_> = routes.iter().zip(ports).filter_map(ue).collect();
    let first = all.first().map(|(_, ue)| *ue);
    if all.iter().all(|(_, ue)| Some(*ue) == first) { vec![] } else { all }
}
