//! Multipath TCP: from the format to `airlane_transport`.

use airlane_core::{FlowId, SocketPair};
use airlane_transport::mptcp::{MptcpConnection, MptcpSettings, SubflowPath};

use super::tcp_config;
use crate::endpoints::Endpoint;
use crate::expand::{self, OneFlow};
use crate::format::{Mptcp, Resolved, Transport};

/// The port of servers.
const SERVER_PORT: u16 = 5203;
/// The ports of UEs begin here, with places for this many subflows of each flow; after this many flows they are used again.
const FIRST_PORT: u16 = 10_000;
const PLACES: u16 = 8;
const FLOWS: u32 = 5_000;

/// Most subflows of a connection.
pub(crate) const SUBFLOWS_MAX: usize = PLACES as usize;

/// The ports of a flow's subflows at the UE, in the order of its routes; none of a flow over another transport.
pub fn subflow_ports(scenario: &Resolved, flow: FlowId, one: &OneFlow) -> Vec<u16> {
    if !matches!(scenario.flow[one.section].transport, Transport::Mptcp(_)) {
        return vec![];
    }
    let first = FIRST_PORT + (flow.0 % FLOWS) as u16 * PLACES;
    (first..).take(one.routes.len()).collect()
}

/// An end of a connection.
pub(super) fn connection(mptcp: &Mptcp, end: &Endpoint<'_>) -> MptcpConnection {
    let (scenario, flow) = (end.setup.scenario, end.path.flow);
    let ports = subflow_ports(scenario, flow, end.one);
    let names = path_names(mptcp, scenario, end.one);
    let path = |(index, (ue_port, name)): (usize, (u16, String))| SubflowPath {
        sockets: SocketPair { server: 0, server_port: SERVER_PORT, ue_port },
        port: index as u16,
        address: index as u8,
        backup: mptcp.backup.iter().flatten().any(|backup| *backup == name),
    };
    let settings = MptcpSettings {
        tcp: tcp_config(&mptcp.tcp, end.setup),
        paths: ports.into_iter().zip(names).enumerate().map(path).collect(),
        scheduler: mptcp.scheduler_kind(),
        coupling: mptcp.coupling.law(),
    };
    let (initiator, role) = if end.is_server() { (false, "server") } else { (true, "host") };
    let draws = end.draws(&format!("mptcp/{role}"));
    MptcpConnection::new(settings, (flow, end.path.direction), initiator, draws)
}

/// The name of the access of each subflow.
#[must_use]
pub fn path_names(mptcp: &Mptcp, scenario: &Resolved, one: &OneFlow) -> Vec<String> {
    let all = expand::access_names(scenario, &scenario.flow[one.section]);
    let names = mptcp.paths.clone().unwrap_or(all);
    names.into_iter().flat_map(|name| (0..mptcp.subflows).map(move |_| name.clone())).collect()
}
