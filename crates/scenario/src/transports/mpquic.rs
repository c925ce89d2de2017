//! QUIC over several paths: from the format to `airlane_quic`.

use airlane_core::SocketPair;
use airlane_quic::{MultipathConfig, PathSetup};

use super::mptcp::{is_present, notices, path_names, subflow_ports};
use super::quic::quic_config;
use crate::endpoints::Endpoint;
use crate::format::Mpquic;

/// The port of servers, that of HTTP/3.
const SERVER_PORT: u16 = 443;

/// The configuration of an end.
pub(super) fn config(mpquic: &Mpquic, end: &Endpoint<'_>) -> MultipathConfig {
    let (scenario, flow) = (end.setup.scenario, end.path.flow);
    let ports = subflow_ports(scenario, flow, end.one);
    let path = |(index, (ue_port, name)): (usize, (u16, String))| PathSetup {
        sockets: SocketPair { server: 0, server_port: SERVER_PORT, ue_port },
        port: index as u16,
        present: is_present(scenario, end.one.routes[index]),
        backup: mpquic.backup.as_ref().is_some_and(|backup| backup.contains(&name)),
    };
    MultipathConfig {
        quic: quic_config(&mpquic.quic, end.setup, &end.one.name),
        paths: ports.into_iter().zip(path_names(scenario, end.one)).enumerate().map(path).collect(),
        scheduler: mpquic.scheduler(),
        path_idle_timeout: Some(mpquic.path_idle_timeout.0).filter(|span| !span.is_zero()),
        notices: if end.is_server() { vec![] } else { notices(scenario, flow, end.one) },
    }
}
