//! The paths of a kernel's Multipath TCP.

use core::net::Ipv4Addr;

use airlane_core::FlowId;

use super::mptcp::{host_address, path_names, subflow_ports};
use crate::expand::{OneFlow, Route};
use crate::format::{Resolved, Transport};

/// A path of a flow over the Multipath TCP of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPath {
    /// The name of its access.
    pub name: String,
    /// The port at the UE by which the network knows its packets; the kernel chooses ports of its own.
    pub port: u16,
    /// The address of the UE, or of the host of a wired network.
    pub host: Ipv4Addr,
    /// The address of the server that it announces.
    pub announced: Option<Ipv4Addr>,
    /// Whether it is a backup.
    pub backup: bool,
}

/// The paths of a flow; none without Multipath TCP of a kernel.
#[must_use]
pub fn kernel_paths(scenario: &Resolved, flow: FlowId, one: &OneFlow) -> Vec<KernelPath> {
    let Transport::Kernel(kernel) = &scenario.flow[one.section].transport else { return vec![] };
    let Some(mptcp) = &kernel.mptcp else { return vec![] };
    let announced = mptcp.announced.as_ref().and_then(|one| one.server.as_ref());
    let named = |list: Option<&Vec<String>>, name: &String| list.is_some_and(|list| list.contains(name));
    let ports = subflow_ports(scenario, flow, one);
    let all = path_names(scenario, one).into_iter().zip(ports).zip(&one.routes).enumerate();
    let path = |(index, ((name, port), route)): (usize, ((String, u16), &Route))| KernelPath {
        port,
        host: host_address(*route, one.ue.unwrap_or(0)).into(),
        announced: named(announced, &name).then(|| Ipv4Addr::new(10, 0, 0, 1 + index as u8)),
        backup: named(mptcp.backup.as_ref(), &name),
        name,
    };
    all.map(path).collect()
}
