//! Multipath TCP: from the format to `airlane_transport`.

use airlane_core::{Duration, FlowId, Instant, SocketPair};
use airlane_transport::mptcp::{MptcpConnection, MptcpSettings, PathNews, PathNotice, SubflowPath};

use super::tcp_config;
use crate::endpoints::Endpoint;
use crate::expand::{self, OneFlow, Route};
use crate::format::{AccessLink, Interval, Mptcp, Resolved, Transport};

/// The port of servers.
const SERVER_PORT: u16 = 5203;
/// The ports of UEs begin here, with places for this many subflows of each flow; after this many flows they are used again.
const FIRST_PORT: u16 = 10_000;
const PLACES: u16 = 8;
const FLOWS: u32 = 5_000;
/// The ports of subflows that are opened again begin behind these, with places for all subflows of each flow in this many
/// intervals of coverage. After this many ports they are used again.
const FRESH_PORT: u16 = FIRST_PORT + PLACES * FLOWS as u16;
const FRESH_INTERVALS: u16 = 8;
const FRESH_PORTS: u32 = 15_000;

/// Most subflows of a connection.
pub(crate) const SUBFLOWS_MAX: usize = PLACES as usize;
/// Most intervals of coverage of a link that notifies hosts.
pub(crate) const NOTICED_INTERVALS_MAX: usize = FRESH_INTERVALS as usize;

/// The ports of a flow's subflows or paths at the UE, in the order of its routes; none of a flow over one path.
pub fn subflow_ports(scenario: &Resolved, flow: FlowId, one: &OneFlow) -> Vec<u16> {
    if !scenario.flow[one.section].transport.is_multipath() {
        return vec![];
    }
    let first = FIRST_PORT + (flow.0 % FLOWS) as u16 * PLACES;
    (first..).take(one.routes.len()).collect()
}

/// The ports of a flow's subflows at the UE that are opened again, each with its route: one at the beginning of each interval
/// of coverage behind the first, of links that notify hosts.
pub fn fresh_ports(scenario: &Resolved, flow: FlowId, one: &OneFlow) -> Vec<(u16, Route)> {
    if !matches!(scenario.flow[one.section].transport, Transport::Mptcp(_)) {
        return vec![];
    }
    let of_subflow = |(subflow, route): (usize, &Route)| {
        let link = noticed_link(scenario, *route);
        let intervals = link.map_or(0, |(_, coverage, _)| coverage.len());
        let route = *route;
        (0..intervals).map(move |interval| (fresh_port(flow, subflow, interval), route)).collect::<Vec<_>>()
    };
    one.routes.iter().enumerate().flat_map(of_subflow).collect()
}

fn fresh_port(flow: FlowId, subflow: usize, interval: usize) -> u16 {
    let place =
        flow.0 * u32::from(FRESH_INTERVALS * PLACES) + interval as u32 * u32::from(PLACES) + subflow as u32;
    FRESH_PORT + (place % FRESH_PORTS) as u16
}

/// The link of a route, its intervals and when hosts are notified of them, if they are.
fn noticed_link(scenario: &Resolved, route: Route) -> Option<(&AccessLink, &[Interval], Duration)> {
    let Route::Link(link) = route else { return None };
    let link = &scenario.link[link];
    Some((link, link.coverage.as_deref()?, link.notice?.0))
}

/// The notices that a host gets of its accesses.
pub(super) fn notices(scenario: &Resolved, flow: FlowId, one: &OneFlow) -> Vec<PathNotice> {
    let mut all = Vec::new();
    for (subflow, route) in one.routes.iter().enumerate() {
        let Some((link, coverage, delay)) = noticed_link(scenario, *route) else { continue };
        // The host does not notice a gap that is shorter than the time of a notice.
        let is_noticed = |interval: usize| {
            let begins = coverage.get(interval).map(|one| one.from.0);
            let ended = interval.checked_sub(1).and_then(|before| coverage.get(before)?.until);
            ended.zip(begins).is_none_or(|(ended, begins)| begins.saturating_sub(ended.0) >= delay)
        };
        for (interval, Interval { from, until }) in coverage.iter().enumerate() {
            let mut add = |at: Duration, news| all.push(PathNotice { at: Instant::ZERO + at, subflow, news });
            if from.0 > Duration::ZERO && is_noticed(interval) {
                add(from.0 + delay, PathNews::Began { port: fresh_port(flow, subflow, interval) });
            }
            let Some(until) = until.filter(|_| is_noticed(interval + 1)) else { continue };
            if let Some(warning) = link.warning {
                add(until.0.saturating_sub(warning.0).max(from.0 + delay), PathNews::Ending);
            }
            add(until.0 + delay, PathNews::Ended);
        }
    }
    all.sort_by_key(|notice| notice.at);
    all
}

/// Whether a host has an access at the beginning, as far as it is notified.
pub(super) fn is_present(scenario: &Resolved, route: Route) -> bool {
    noticed_link(scenario, route)
        .is_none_or(|(_, coverage, _)| coverage.first().is_some_and(|first| first.from.0 == Duration::ZERO))
}

/// The address of a host on a route, as captures have it.
pub(super) fn host_address(route: Route, own: usize) -> [u8; 4] {
    let (network, host) = match route {
        Route::Ue(ue) => (1, ue),
        Route::Internet => (1, own),
        Route::Link(link) => (u8::try_from(5 + link).unwrap_or(u8::MAX), own),
    };
    let [high, low] = u16::try_from(host + 1).unwrap_or(u16::MAX).to_be_bytes();
    [10, network, high, low]
}

/// An end of a connection.
pub(super) fn connection(mptcp: &Mptcp, end: &Endpoint<'_>) -> MptcpConnection {
    let (scenario, flow) = (end.setup.scenario, end.path.flow);
    let ports = subflow_ports(scenario, flow, end.one);
    let names = path_names(scenario, end.one);
    let path = |(index, (ue_port, name)): (usize, (u16, String))| {
        let has = |list: Option<&Vec<String>>| list.is_some_and(|list| list.contains(&name));
        let announced = mptcp.announced.as_ref();
        let by_server = has(announced.and_then(|one| one.server.as_ref()));
        let by_host = has(announced.and_then(|one| one.host.as_ref()));
        let (route, own) = (end.one.routes[index], end.one.ue.unwrap_or(0));
        let server = if by_server { index as u8 } else { 0 };
        let address = if by_server { [10, 0, 0, 1 + server] } else { host_address(route, own) };
        SubflowPath {
            sockets: SocketPair { server: server.into(), server_port: SERVER_PORT, ue_port },
            port: index as u16,
            address: index as u8,
            announced: (by_server || by_host).then_some((by_host, address)),
            present: is_present(scenario, route),
            backup: has(mptcp.backup.as_ref()),
        }
    };
    let notices = if end.is_server() { vec![] } else { notices(scenario, flow, end.one) };
    let settings = MptcpSettings {
        tcp: tcp_config(&mptcp.tcp, end.setup),
        paths: ports.into_iter().zip(names).enumerate().map(path).collect(),
        scheduler: mptcp.scheduler_kind(&end.setup.extensions.path_schedulers),
        coupling: mptcp.coupling.law(),
        notices,
    };
    let (initiator, role) = if end.is_server() { (false, "server") } else { (true, "host") };
    let draws = end.draws(&format!("mptcp/{role}"));
    MptcpConnection::new(settings, (flow, end.path.direction), initiator, draws)
}

/// The name of the access of each subflow or path; none of a flow over one path.
#[must_use]
pub fn path_names(scenario: &Resolved, one: &OneFlow) -> Vec<String> {
    let flow = &scenario.flow[one.section];
    let Some(keys) = flow.transport.path_keys() else { return vec![] };
    let names = keys.paths.cloned().unwrap_or_else(|| expand::access_names(scenario, flow));
    names.into_iter().flat_map(|name| (0..keys.subflows).map(move |_| name.clone())).collect()
}
