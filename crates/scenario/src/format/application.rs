//! Applications of flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dash, Video, tagged};
use crate::quantity::{Rate, Size, Time};

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum App {
    /// Sends as much as the transport accepts.
    Bulk,
    /// Sends a given number of bytes.
    Fixed(Fixed),
    /// Sends at a constant rate.
    Cbr(Cbr),
    /// Sends overlapping bursts: a Poisson Pareto Burst Process.
    Ppbp(Ppbp),
    /// Sends at a constant rate in periods, with pauses between them, as ns-3's OnOffApplication. Over UDP or TCP.
    OnOff(OnOff),
    /// Plays a video by progressive download.
    Video(Video),
    /// Loads web pages with a browser at the UE, over several connections.
    Web(Web),
    /// Plays a video in segments (DASH).
    Dash(Dash),
    /// Measures round-trip times with ICMP echo messages, as ping(8) does. The flow's direction is that of the requests:
    /// with `uplink`, the UE asks and the server answers.
    Ping(Ping),
}
tagged!(App by "kind" {
    "bulk" => Bulk,
    "fixed" => Fixed(Fixed),
    "cbr" => Cbr(Cbr),
    "ppbp" => Ppbp(Ppbp),
    "on-off" => OnOff(OnOff),
    "video" => Video(Video),
    "web" => Web(Web),
    "dash" => Dash(Dash),
    "ping" => Ping(Ping),
});

impl App {
    /// Its `kind` in scenario files.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Fixed(_) => "fixed",
            Self::Cbr(_) => "cbr",
            Self::Ppbp(_) => "ppbp",
            Self::OnOff(_) => "on-off",
            Self::Video(_) => "video",
            Self::Web(_) => "web",
            Self::Dash(_) => "dash",
            Self::Ping(_) => "ping",
        }
    }
}

/// A web browser and the servers of the pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// The pages: `2011` for twenty synthetic pages that follow measurements of popular pages in 2011, or a page set
    /// (`.csv`), or a recording of a browser (`.har`, HTTP Archive 1.2). Paths are relative to the scenario file.
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

/// A transfer of a given number of bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Application bytes.
    pub size: Size,
    /// Number of such transfers, one after another, over one connection. More than one needs QUIC: the host requests each
    /// of them.
    pub objects: u32,
}

/// A constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Application bits per second.
    pub rate: Rate,
    /// Application bytes per packet.
    pub payload: Size,
}

/// A constant rate in periods, with pauses between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Application bits per second in the periods.
    pub rate: Rate,
    /// Application bytes per packet; over TCP, per write.
    pub payload: Size,
    /// Duration of the periods.
    pub on: Period,
    /// Duration of the pauses. The application begins with one.
    pub off: Period,
    /// Total application bytes, rounded up to whole packets. By default, there is no limit.
    pub size: Option<Size>,
}

/// Distribution of a duration.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Period {
    /// All are equal.
    Constant(ConstantPeriod),
    /// Uniform between two bounds.
    Uniform(UniformPeriod),
    /// Exponential.
    Exponential(ExponentialPeriod),
    /// Pareto: P(X > x) = (s/x)^shape for x above s, the mean times (shape - 1)/shape.
    Pareto(ParetoPeriod),
}
tagged!(Period by "kind" {
    "constant" => Constant(ConstantPeriod),
    "uniform" => Uniform(UniformPeriod),
    "exponential" => Exponential(ExponentialPeriod),
    "pareto" => Pareto(ParetoPeriod),
});

/// Equal durations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantPeriod {
    /// The duration.
    pub length: Time,
}

/// Durations with a uniform distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UniformPeriod {
    /// Minimum.
    pub min: Time,
    /// Maximum.
    pub max: Time,
}

/// Durations with an exponential distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExponentialPeriod {
    /// Mean.
    pub mean: Time,
}

/// Durations with a Pareto distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParetoPeriod {
    /// Mean.
    pub mean: Time,
    /// Shape: above 1. Up to 2, the variance is infinite.
    pub shape: f64,
}

/// Echo messages at a constant interval. The other end answers each at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Time from one request to the next.
    pub interval: Time,
    /// Bytes after the ICMP header. The IP packet is 28 B longer.
    pub payload: Size,
    /// Number of requests. By default, requests continue to the end of the flow.
    pub count: Option<u32>,
}

/// Bursts that arrive as a Poisson process and whose length follows a Pareto distribution (Zukerman, Neame and Addie,
/// INFOCOM 2003).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ppbp {
    /// Bit rate of each active burst; see `spacing`.
    pub rate: Rate,
    /// Mean length of a burst, as `reading` defines it.
    pub length: Time,
    /// Mean number of active bursts, as `reading` defines it.
    pub active: f64,
    /// Hurst parameter: above 0.5 and below 1.
    pub hurst: f64,
    /// Meaning of `length` and `active`.
    pub reading: PpbpReading,
    /// Application bytes per packet.
    pub payload: Size,
    /// Bytes per packet in the computation of the rate.
    pub spacing: Size,
}

/// Meaning of the length and the number of bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PpbpReading {
    /// As in the module for ns-3 (Ammar, Begin and Guérin-Lassous, SIMUTools 2011): `active` is the number of bursts that
    /// start per second, at most 3 s apart, and `length` is the minimum length of a burst.
    Module,
    /// `active` is the mean number of active bursts, and `length` is their mean length.
    Literal,
}
