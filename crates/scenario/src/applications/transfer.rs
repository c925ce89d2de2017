//! The two ends of a transfer over a byte stream: over TCP or QUIC.

use airlane_core::{Instant, Node};
use airlane_quic::{QuicConfig, Role};
use airlane_traffic::{
    MpquicEnd, MptcpEnd, Pace, QuicClient, QuicServer, QuicTransfer, TcpSink, TcpSource, Transfer, Writes,
};
use airlane_transport::{CongestionKind, TcpConfig};

use crate::endpoints::Endpoint;
use crate::format::{self, FlowDirection, Transport};
use crate::transports::{Carrier, Protocol, Refusal};
use crate::{middlebox, rnis};

/// The transports of transfers.
pub(super) const TRANSPORTS: &[Protocol] =
    &[Protocol::Tcp, Protocol::Quic, Protocol::Kernel, Protocol::Mptcp, Protocol::Mpquic];

/// The error for any other transport.
pub(super) fn refusal(other: Protocol) -> Refusal {
    Refusal::of(other).unwrap_or_else(|| Refusal {
        key: "app",
        message: "UDP needs an application with a bit rate".to_owned(),
        help: "use app = { kind = \"cbr\", rate = \"10 Mbit/s\" }".to_owned(),
    })
}

/// An end of a transfer; over QUIC, of `objects` transfers one after another.
pub(super) fn node(end: &Endpoint<'_>, carrier: Carrier, transfer: Transfer, objects: u32) -> Box<dyn Node> {
    match carrier {
        Carrier::Tcp(tcp) if end.is_source() => {
            tcp_source(end, tcp, |tcp| TcpSource::new(tcp, end.path, transfer, end.start, end.stop))
        }
        Carrier::Tcp(tcp) => Box::new(TcpSink::new(tcp, end.path, end.start)),
        Carrier::Quic(quic) => {
            let to_host = end.flow.direction == FlowDirection::Downlink;
            let (start, stop) = (end.start, end.stop);
            quic_end(end, quic, QuicTransfer { transfer, objects, start, stop, to_host })
        }
        Carrier::Mptcp(connection) => {
            let (flow, is_initiator) = (end.path.flow, !end.is_server());
            let aborts = matches!(&end.flow.transport, Transport::Mptcp(mptcp) if mptcp.abort == Some(true));
            Box::new(match end.is_source() {
                true => {
                    let times = (end.start, end.stop);
                    MptcpEnd::source(*connection, flow, transfer, times, is_initiator).aborting(aborts)
                }
                false => MptcpEnd::sink(*connection, flow, end.start, is_initiator),
            })
        }
        Carrier::Mpquic(config) => {
            let role = if end.is_server() { Role::Server } else { Role::Client };
            let (what, times) = ((transfer, end.is_source()), (end.start, end.stop));
            Box::new(MpquicEnd::new(*config, end.path, role, what, times))
        }
        other => other.mismatch(),
    }
}

/// A sender over TCP, with the changes of its rate and the information that it gets from the network.
pub(super) fn tcp_source(
    end: &Endpoint<'_>,
    tcp: TcpConfig,
    source: impl FnOnce(TcpConfig) -> TcpSource,
) -> Box<dyn Node> {
    let (scenario, flow) = (end.setup.scenario, end.path.flow);
    let is_mdcc = tcp.congestion == CongestionKind::Mdcc;
    let mut source = source(tcp);
    if let Some(writes) = &end.flow.writes {
        source = source.with_writes(writes.iter().map(change_of_rate).collect());
    }
    if let Some(consumer) = rnis::consumer(scenario, flow, end.one) {
        source = source.with_information(consumer);
    }
    match middlebox::receiver(scenario, flow) {
        Some(receiver) if is_mdcc => Box::new(source.with_pep(receiver)),
        _ => Box::new(source),
    }
}

fn change_of_rate(change: &format::Writes) -> Writes {
    let pace = match change.rate {
        Some(rate) => Pace::Rate(rate.0),
        None if change.pause => Pace::Nothing,
        None => Pace::Everything,
    };
    Writes { at: Instant::ZERO + change.at.0, pace }
}

/// An end of transfers over QUIC: the client is in the UE.
fn quic_end(end: &Endpoint<'_>, quic: QuicConfig, transfer: QuicTransfer) -> Box<dyn Node> {
    if !end.is_server() {
        return Box::new(QuicClient::new(quic, end.path, transfer));
    }
    let (scenario, flow) = (end.setup.scenario, end.path.flow);
    let is_mdcc = quic.congestion == CongestionKind::Mdcc;
    let mut server = QuicServer::new(quic, end.path, transfer);
    if let Some(receiver) = middlebox::receiver(scenario, flow)
        && is_mdcc
    {
        server = server.with_pep(receiver);
    }
    match rnis::consumer(scenario, flow, end.one) {
        Some(consumer) => Box::new(server.with_information(consumer)),
        None => Box::new(server),
    }
}
