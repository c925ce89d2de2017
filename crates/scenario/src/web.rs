//! Browsers and their servers.

use std::collections::BTreeMap;

use airlane_core::{Direction, FlowId, Instant, Node};
use airlane_net::pep;
use airlane_quic::QuicConfig;
use airlane_traffic::dialogue::Dialogue;
use airlane_traffic::dns::{Names, Resolver};
use airlane_traffic::http::{
    HttpOverQuic, HttpOverTcp, HttpServer, HttpSettings, HttpVersion, Message, QuicHttpServer,
};
use airlane_traffic::{Browser, Browsing, Visits};
use airlane_transport::{CongestionKind, Path, TcpConfig};

use crate::endpoints::Setup;
use crate::error::ScenarioError;
use crate::expand::OneFlow;
use crate::files::Files;
use crate::format::{self, App, Resolved};
use crate::middlebox;
use crate::pages::{self, PageSet};

/// The ports of web servers, without and with TLS (RFC 9110 §4.2).
pub(crate) const HTTP_PORT: u16 = 80;
pub(crate) const HTTPS_PORT: u16 = 443;
/// Maximum number of concurrent streams of an HTTP/2 or HTTP/3 server: the recommended minimum of RFC 9113
/// §6.5.2 and RFC 9114 §6.1.
const STREAMS: usize = 100;

/// The data that the two ends of a browser's flow share.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    pub(crate) set: PageSet,
    dialogue: Dialogue<Message>,
}

/// The pages of each flow with a browser; each file is parsed once.
///
/// # Errors
/// If a file cannot be read or is invalid.
pub(crate) fn webs(
    scenario: &Resolved,
    flows: &[OneFlow],
    files: &Files,
) -> Result<Vec<Option<Web>>, ScenarioError> {
    let mut sets: BTreeMap<&str, PageSet> = BTreeMap::new();
    let mut web = |flow: &OneFlow| {
        let App::Web(app) = &scenario.flow[flow.section].app else { return Ok(None) };
        if !sets.contains_key(app.pages.as_str()) {
            sets.insert(&app.pages, pages::load(&app.pages, files)?);
        }
        Ok(Some(Web { set: sets[app.pages.as_str()].clone(), dialogue: Dialogue::default() }))
    };
    flows.iter().map(&mut web).collect()
}

/// The names of the pages of each flow; empty if no flow has a browser.
pub(crate) fn page_names(webs: &[Option<Web>]) -> Vec<Vec<String>> {
    let names = |web: &Option<Web>| {
        let pages = web.iter().flat_map(|web| web.set.pages.iter());
        pages.map(|page| page.name().to_owned()).collect()
    };
    if webs.iter().all(Option::is_none) { vec![] } else { webs.iter().map(names).collect() }
}

/// The transport of HTTP connections.
pub(crate) enum Carrier {
    /// TCP, for HTTP/1.1 and HTTP/2.
    Tcp(TcpConfig),
    /// QUIC, for HTTP/3.
    Quic(QuicConfig),
}

impl Carrier {
    /// The keys with which the server of a flow authenticates messages of a PEP, if there is one
    /// and the server uses it.
    pub(crate) fn keys(&self, scenario: &Resolved, flow: FlowId) -> Option<pep::Keys> {
        let congestion = match self {
            Self::Tcp(tcp) => tcp.congestion,
            Self::Quic(quic) => quic.congestion,
        };
        middlebox::keys(scenario, flow).filter(|_| congestion == CongestionKind::Mdcc)
    }
}

/// A server of HTTP/1.1 or 2, which uses a PEP if it has keys.
pub(crate) fn listening(server: HttpServer, keys: Option<pep::Keys>) -> HttpServer {
    match keys {
        Some(keys) => server.with_pep(keys),
        None => server,
    }
}

/// A server of HTTP/3, which uses a PEP if it has keys.
pub(crate) fn listening_over_quic(server: QuicHttpServer, keys: Option<pep::Keys>) -> QuicHttpServer {
    match keys {
        Some(keys) => server.with_pep(keys),
        None => server,
    }
}

/// The end that sends along `path`: the browser in the UE, or its servers.
pub(crate) fn end(
    setup: Setup<'_>,
    one: &OneFlow,
    path: Path,
    (app, carrier): (&format::Web, Carrier),
) -> Box<dyn Node> {
    let Path { flow, direction, .. } = path;
    let web = setup.webs[flow.index()].as_ref().expect("made for each flow with a browser");
    if direction == Direction::Downlink {
        let resolver = Resolver::new(path, app.dns_lookup.0);
        let keys = carrier.keys(setup.scenario, flow);
        return match carrier {
            Carrier::Quic(quic) => {
                Box::new(listening_over_quic(QuicHttpServer::new(quic, path, resolver), keys))
            }
            Carrier::Tcp(tcp) => {
                let server = HttpServer::new(tcp, path, web.dialogue.clone(), resolver);
                Box::new(listening(server.speaking(version(app), app.tls), keys))
            }
        };
    }
    let names = app.dns.then(|| Names::new(path, app.dns_ttl.0, web.set.hosts));
    let draws = setup.seeds.stream(&format!("flow/{}/browsing", one.name));
    let browsing = browsing(setup, one, app, web);
    let settings = settings(app);
    match carrier {
        Carrier::Quic(quic) => {
            Box::new(Browser::new(HttpOverQuic::new(settings, quic, path), names, flow, browsing, draws))
        }
        Carrier::Tcp(tcp) => {
            let http = HttpOverTcp::new(settings, tcp, path, web.dialogue.clone());
            Box::new(Browser::new(http.speaking(version(app), app.tls), names, flow, browsing, draws))
        }
    }
}

fn browsing(setup: Setup<'_>, one: &OneFlow, app: &format::Web, web: &Web) -> Browsing {
    let section = &setup.scenario.flow[one.section];
    Browsing {
        pages: web.set.pages.clone(),
        visits: match app.visits {
            format::Visits::Random => Visits::Random,
            format::Visits::InOrder => Visits::InOrder,
        },
        count: app.count,
        think_time: app.think_time.0,
        start: one.start(setup.scenario),
        stop: section.stop.map(|stop| Instant::ZERO + stop.0),
    }
}

fn settings(app: &format::Web) -> HttpSettings {
    let (per_server, pipeline) = match app.http {
        format::HttpVersion::One => (app.connections_per_server as usize, app.pipelining as usize),
        format::HttpVersion::Two | format::HttpVersion::Three => (1, STREAMS),
    };
    HttpSettings {
        per_server,
        in_all: app.connections as usize,
        pipeline,
        keep_alive: app.keep_alive.0,
        port: if app.tls { HTTPS_PORT } else { HTTP_PORT },
    }
}

/// The version of HTTP over TCP.
fn version(app: &format::Web) -> HttpVersion {
    match app.http {
        format::HttpVersion::One => HttpVersion::One,
        format::HttpVersion::Two => HttpVersion::Two,
        format::HttpVersion::Three => unreachable!("checked when the scenario was resolved"),
    }
}
