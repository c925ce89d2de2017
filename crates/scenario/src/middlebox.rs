//! The middleboxes of a scenario: what other parts know of them.

use core::iter;

use airlane_core::{CellId, FlowId, SocketPair};
use airlane_net::pep;

use crate::format::{self, MiddleboxPlace, Resolved};

/// The PEP of a scenario, if it has one.
fn settings(scenario: &Resolved) -> Option<&format::Pep> {
    scenario.middlebox.iter().find_map(|one| match one {
        format::Middlebox::Pep(pep) => Some(pep),
        format::Middlebox::SplitProxy(_) => None,
    })
}

/// The places of the split proxies in the path of a TCP connection; empty without one.
pub fn split_places(scenario: &Resolved) -> String {
    let places = [(MiddleboxPlace::Gateway, "gateway"), (MiddleboxPlace::Enb, "enb")];
    let is_there = |place| {
        let mut all = scenario.middlebox.iter();
        all.any(|one| matches!(one, format::Middlebox::SplitProxy(proxy) if proxy.at == place))
    };
    let there = places.into_iter().filter(|(place, _)| is_there(*place)).map(|(_, name)| name);
    there.collect::<Vec<_>>().join(", ")
}

/// The name of a split proxy in results.
fn proxy_name(scenario: &Resolved, cell: Option<CellId>) -> String {
    cell.map_or_else(|| "gateway".to_owned(), |cell| scenario.cell[cell.index()].name.clone())
}

/// The names of all split proxies, by number.
pub fn proxy_names(scenario: &Resolved) -> Vec<String> {
    let cells = (0..scenario.cell.len()).map(|cell| Some(CellId(cell as u32)));
    iter::once(None).chain(cells).map(|cell| proxy_name(scenario, cell)).collect()
}

/// The keys with which the server of a flow authenticates messages about its connections.
pub fn keys(scenario: &Resolved, flow: FlowId) -> Option<pep::Keys> {
    Some(pep::Keys::new(settings(scenario)?.secret.as_bytes(), flow))
}

/// The same for the server of a flow with one connection.
pub fn receiver(scenario: &Resolved, flow: FlowId) -> Option<pep::Receiver> {
    Some(keys(scenario, flow)?.receiver(SocketPair::default()))
}
