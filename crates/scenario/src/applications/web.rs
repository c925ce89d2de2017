//! Web pages: a browser and its servers.

use airlane_core::Node;
use airlane_traffic::dns::Names;
use airlane_traffic::http::{self, HttpOverQuic, HttpOverTcp, HttpSettings};
use airlane_traffic::{self as traffic, Browser, Browsing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Application;
use super::http::{HTTP_PORT, HTTPS_PORT, HttpVersion, Speaks, servers};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, FlowDirection, Resolved};
use crate::pages::{self, PageSet};
use crate::quantity::Time;
use crate::transports::{Carrier, Protocol, Refusal};

/// Maximum number of visits.
const VISITS_MAX: u32 = 1_000_000;
/// Maximum number of concurrent streams of an HTTP/2 or HTTP/3 server: the recommended minimum of RFC 9113
/// §6.5.2 and RFC 9114 §6.1.
const STREAMS: usize = 100;

/// A web browser and the servers of the pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// The pages: `2011` or `2025` for twenty synthetic pages that follow measurements of popular pages in 2011, or of
    /// mobile pages in 2025, or a page set (`.csv`), or a recording of a browser (`.har`, HTTP Archive 1.2). Paths are
    /// relative to the scenario file.
    pub pages: String,
    /// Order of the visits.
    pub visits: Visits,
    /// Number of visits. By default, visits continue to the end of the flow.
    pub count: Option<u32>,
    /// Mean of the exponentially distributed reading time after a page.
    pub think_time: Time,
    /// The version of HTTP.
    pub http: HttpVersion,
    /// Whether TCP connections use TLS 1.3 (RFC 8446): its handshake and its records. QUIC connections always include the
    /// TLS handshake.
    pub tls: bool,
    /// Maximum number of connections to a server with HTTP/1.1.
    pub connections_per_server: u32,
    /// Maximum number of connections to all servers.
    pub connections: u32,
    /// Maximum number of outstanding requests on a connection with HTTP/1.1. 1 means no pipelining.
    pub pipelining: u32,
    /// How long an idle connection is kept open.
    pub keep_alive: Time,
    /// Whether host names are resolved over UDP before connections are opened.
    pub dns: bool,
    /// Time that the resolver needs for a name.
    pub dns_lookup: Time,
    /// Lifetime (TTL) of an answer.
    pub dns_ttl: Time,
}

/// Order of the visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Visits {
    /// Each visit is drawn from all pages with equal probability.
    Random,
    /// In the order of the file, then again from the first page.
    InOrder,
}

impl Application for Web {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Tcp, Protocol::Quic]
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        Refusal::of(other).unwrap_or_else(|| Refusal {
            key: "transport",
            message: "web pages need TCP or QUIC".to_owned(),
            help: "use transport = \"tcp\", or \"quic\" with http = \"3\"".to_owned(),
        })
    }

    fn check(&self, flow: &Flow, _: &Resolved, at: &Place<'_>) -> Checked {
        if flow.transport.protocol() == Protocol::Quic {
            let help = "use http = \"3\", or transport = \"tcp\"";
            at.require(self.http == HttpVersion::Three, "app.http", "QUIC carries HTTP/3 only", help)?;
            at.require(self.tls, "app.tls", "QUIC always includes the TLS handshake", "leave it out")?;
        } else {
            let help = "use transport = \"quic\", or http = \"2\"";
            at.require(self.http != HttpVersion::Three, "app.http", "HTTP/3 needs QUIC", help)?;
        }
        let downlink = flow.direction == FlowDirection::Downlink;
        at.require(downlink, "direction", "web pages are downloads", "leave it out")?;
        let at = at.under("app");
        check_pages(&self.pages, &at)?;
        let count = self.count.is_none_or(|count| (1..=VISITS_MAX).contains(&count));
        at.require(
            count,
            "count",
            "out of range",
            "it must be from 1 to 1000000; leave it out for no limit",
        )?;
        check_connections(self.connections_per_server, self.connections, self.pipelining, &at)?;
        at.positive(self.keep_alive, "keep_alive")?;
        at.positive(self.dns_ttl, "dns_ttl")
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        let version = match self.http {
            HttpVersion::One => http::HttpVersion::One,
            HttpVersion::Two | HttpVersion::Three => http::HttpVersion::Two, // HTTP/3 is not over TCP
        };
        if end.is_server() {
            return servers(end, carrier, Speaks { version, tls: self.tls, lookup: self.dns_lookup.0 });
        }
        let set = end.contents().pages.as_ref().expect("read for each flow with a browser");
        let (path, settings) = (end.path, self.http_settings());
        let names = self.dns.then(|| Names::new(path, self.dns_ttl.0, set.hosts));
        let (browsing, draws) = (self.browsing(end, set), end.draws("browsing"));
        match carrier {
            Carrier::Quic(quic) => {
                let http = HttpOverQuic::new(settings, quic, path);
                Box::new(Browser::new(http, names, path.flow, browsing, draws))
            }
            Carrier::Tcp(tcp) => {
                let http = HttpOverTcp::new(settings, tcp, path, end.contents().dialogue.clone());
                let http = http.speaking(version, self.tls);
                Box::new(Browser::new(http, names, path.flow, browsing, draws))
            }
            other => other.mismatch(),
        }
    }

    fn has_one_connection(&self) -> bool {
        false
    }

    fn pages(&self) -> Option<&str> {
        Some(&self.pages)
    }

    fn pages_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.pages)
    }
}

pub(super) fn check_pages(name: &str, at: &Place<'_>) -> Checked {
    let known = pages::is_built_in(name) || pages::is_file(name);
    let help =
        "use \"2011\" or \"2025\", or a file that ends in .csv (a page set) or .har (HTTP Archive 1.2)";
    at.require(known, "pages", "not a page set", help)
}

pub(super) fn check_connections(per_server: u32, in_all: u32, pipelining: u32, at: &Place<'_>) -> Checked {
    let known = (1..=64).contains(&per_server);
    at.require(known, "connections_per_server", "out of range", "it must be from 1 to 64")?;
    at.require((1..=256).contains(&in_all), "connections", "out of range", "it must be from 1 to 256")?;
    let known = (1..=64).contains(&pipelining);
    at.require(known, "pipelining", "out of range", "it must be from 1 (no pipelining) to 64")
}

impl Web {
    fn browsing(&self, end: &Endpoint<'_>, set: &PageSet) -> Browsing {
        Browsing {
            pages: set.pages.clone(),
            visits: match self.visits {
                Visits::Random => traffic::Visits::Random,
                Visits::InOrder => traffic::Visits::InOrder,
            },
            count: self.count,
            think_time: self.think_time.0,
            start: end.start,
            stop: end.stop,
        }
    }

    fn http_settings(&self) -> HttpSettings {
        let (per_server, pipeline) = match self.http {
            HttpVersion::One => (self.connections_per_server as usize, self.pipelining as usize),
            HttpVersion::Two | HttpVersion::Three => (1, STREAMS),
        };
        HttpSettings {
            per_server,
            in_all: self.connections as usize,
            pipeline,
            keep_alive: self.keep_alive.0,
            port: if self.tls { HTTPS_PORT } else { HTTP_PORT },
        }
    }
}
