//! HTTP: the servers that browsers and viewers share.

use airlane_core::{Duration, Node};
use airlane_net::pep;
use airlane_traffic::dns::Resolver;
use airlane_traffic::http::{self, HttpServer, QuicHttpServer};
use airlane_transport::CongestionKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::endpoints::Endpoint;
use crate::middlebox;
use crate::transports::Carrier;

/// The ports of web servers, without and with TLS (RFC 9110 §4.2).
pub(super) const HTTP_PORT: u16 = 80;
pub(super) const HTTPS_PORT: u16 = 443;

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112): several connections to each server, with one response at a time on each.
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2 (RFC 9113): one connection to each server, which sends the response of the highest priority first.
    #[serde(rename = "2")]
    Two,
    /// HTTP/3 (RFC 9114) over QUIC: as HTTP/2, with a stream for each response. A lost packet delays no other stream.
    #[serde(rename = "3")]
    Three,
}

/// The version of HTTP of a server, and its name resolution.
#[derive(Clone, Copy)]
pub(super) struct Speaks {
    /// The version of HTTP over TCP.
    pub(super) version: http::HttpVersion,
    pub(super) tls: bool,
    /// Time that its resolver needs for a name.
    pub(super) lookup: Duration,
}

/// The servers of a flow. They use a PEP if there is one and their congestion control does.
pub(super) fn servers(end: &Endpoint<'_>, carrier: Carrier, speaks: Speaks) -> Box<dyn Node> {
    let resolver = Resolver::new(end.path, speaks.lookup);
    match carrier {
        Carrier::Tcp(tcp) => {
            let keys = keys(end, tcp.congestion);
            let server = HttpServer::new(tcp, end.path, end.contents().dialogue.clone(), resolver);
            let server = server.speaking(speaks.version, speaks.tls);
            Box::new(match keys {
                Some(keys) => server.with_pep(keys),
                None => server,
            })
        }
        Carrier::Quic(quic) => {
            let keys = keys(end, quic.congestion);
            let server = QuicHttpServer::new(quic, end.path, resolver);
            Box::new(match keys {
                Some(keys) => server.with_pep(keys),
                None => server,
            })
        }
        other => other.mismatch(),
    }
}

/// The keys with which a server authenticates messages of a PEP.
fn keys(end: &Endpoint<'_>, congestion: CongestionKind) -> Option<pep::Keys> {
    middlebox::keys(end.setup.scenario, end.path.flow).filter(|_| congestion == CongestionKind::Mdcc)
}
