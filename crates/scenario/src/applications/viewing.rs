//! The viewer of a video and its server, of videos in a file and in segments.

use airlane_core::{Bytes, Duration, Node};
use airlane_record::Satisfaction;
use airlane_traffic::dns::Names;
use airlane_traffic::http::{self, HttpOverQuic, HttpOverTcp, HttpSettings};
use airlane_traffic::{self as traffic, Media, Viewer, Viewing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http::{HTTP_PORT, HTTPS_PORT, Speaks, servers};
use super::web::{check_connections, check_pages};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, FlowDirection};
use crate::quantity::{Size, Time};
use crate::transports::Carrier;

/// The maximum length of a video: a day.
const LENGTH_MAX: Duration = Duration::from_secs(86_400);
/// The highest bitrate: 1 Gbit/s.
const BITRATE_MAX: u64 = 1_000_000_000;
/// Maximum number of views of one viewer.
const VIEWS_MAX: u32 = 100_000;

/// Number of views, and the HTTP requests of the player over one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watching {
    /// Number of views, one after another.
    pub views: u32,
    /// Mean of the exponentially distributed pause between views.
    pub pause: Time,
    /// Size of an HTTP request: request line and header fields.
    pub request: Size,
    /// Size of status line and header fields of a response.
    pub response_head: Size,
    /// How long an idle connection is kept open.
    pub keep_alive: Time,
}

/// A web page that a viewer opens before a video, over HTTP/1.1 in the clear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageBefore {
    /// The pages: `2011`, a page set (`.csv`) or a recording (`.har`), as in the application `web`.
    pub pages: String,
    /// Maximum number of connections to a server.
    pub connections_per_server: u32,
    /// Maximum number of connections to all servers.
    pub connections: u32,
    /// Maximum number of outstanding requests on a connection. 1 means no pipelining.
    pub pipelining: u32,
    /// Whether host names, also that of the video's server, are resolved over UDP before connections are opened.
    pub dns: bool,
    /// Time that the resolver needs for a name.
    pub dns_lookup: Time,
    /// Lifetime (TTL) of an answer.
    pub dns_ttl: Time,
}

/// Criteria of a satisfied viewer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Satisfied {
    /// Maximum start-up delay.
    pub startup: Time,
    /// Maximum number of stalls.
    pub stalls: u32,
    /// Maximum total duration of stalls.
    pub stalled: Time,
}

impl Satisfied {
    /// The same for the recorder.
    pub(super) const fn criteria(&self) -> Satisfaction {
        Satisfaction { startup: self.startup.0, stalls: self.stalls, stalled: self.stalled.0 }
    }
}

/// The viewer in the UE, or the server.
pub(super) fn node(
    end: &Endpoint<'_>,
    carrier: Carrier,
    media: impl FnOnce() -> Media,
    watching: &Watching,
    page: Option<&PageBefore>,
) -> Box<dyn Node> {
    if end.is_server() {
        let lookup = page.map_or(Duration::ZERO, |page| page.dns_lookup.0);
        return servers(end, carrier, Speaks { version: http::HttpVersion::One, tls: false, lookup });
    }
    let set = page.and(end.contents().pages.as_ref());
    let video_server = set.map_or(0, |set| u16::try_from(set.hosts).expect("a set has at most 10,000 hosts"));
    let viewing = Viewing {
        media: media(),
        page: set.map(|set| traffic::PageBefore { pages: set.pages.clone(), video_server }),
        views: watching.views,
        pause: watching.pause.0,
        start: end.start,
        request: watching.request.0,
        head: watching.response_head.0,
    };
    let (path, draws) = (end.path, end.draws("views"));
    let names = page.filter(|page| page.dns);
    let names = names.map(|page| Names::new(path, page.dns_ttl.0, usize::from(video_server) + 1));
    let settings = |port| http_settings(page, watching, port);
    match carrier {
        Carrier::Tcp(tcp) => {
            let dialogue = end.contents().dialogue.clone();
            let http = HttpOverTcp::new(settings(HTTP_PORT), tcp, path, dialogue);
            Box::new(Viewer::new(http, names, path.flow, viewing, draws))
        }
        Carrier::Quic(quic) => {
            let http = HttpOverQuic::new(settings(HTTPS_PORT), quic, path);
            Box::new(Viewer::new(http, names, path.flow, viewing, draws))
        }
        other => other.mismatch(),
    }
}

/// One connection for videos alone; those of a browser with pages.
fn http_settings(page: Option<&PageBefore>, watching: &Watching, port: u16) -> HttpSettings {
    let keep_alive = watching.keep_alive.0;
    match page {
        None => HttpSettings { per_server: 1, in_all: 1, pipeline: 1, keep_alive, port },
        Some(page) => HttpSettings {
            per_server: page.connections_per_server as usize,
            in_all: page.connections as usize,
            pipeline: page.pipelining as usize,
            keep_alive,
            port,
        },
    }
}

impl PageBefore {
    pub(super) fn check(&self, at: &Place<'_>) -> Checked {
        check_pages(&self.pages, at)?;
        check_connections(self.connections_per_server, self.connections, self.pipelining, at)?;
        at.positive(self.dns_ttl, "dns_ttl")
    }
}

impl Watching {
    pub(super) fn check(&self, flow: &Flow, at: &Place<'_>) -> Checked {
        let down = flow.direction == FlowDirection::Downlink;
        at.require(down, "direction", "a video is a download", "leave it out, or write \"downlink\"")?;
        let help = "leave it out: a video ends when it has played";
        at.require(flow.stop.is_none(), "stop", "it cannot be combined with a video", help)?;
        let at = at.under("app.watching");
        at.require(
            (1..=VIEWS_MAX).contains(&self.views),
            "views",
            "out of range",
            "it must be from 1 to 100000",
        )?;
        at.at_least(self.request, Size(Bytes(1)), "request", "out of range")?;
        at.at_least(self.response_head, Size(Bytes(1)), "response_head", "out of range")?;
        at.positive(self.keep_alive, "keep_alive")
    }
}

pub(super) fn check_length(length: Time, at: &Place<'_>) -> Checked {
    at.positive(length, "app.length")?;
    at.require(length.0 <= LENGTH_MAX, "app.length", "longer than a day", "it must be at most 86400 s")
}

pub(super) fn check_bitrate(bits_per_second: u64, key: &str, at: &Place<'_>) -> Checked {
    let known = (1_000..=BITRATE_MAX).contains(&bits_per_second);
    at.require(known, key, "out of range", "it must be from 1 kbit/s to 1 Gbit/s")
}
