//! The settings of the node.

use std::path::{Path, PathBuf};

use airlane_core::Duration;
use airlane_settings::SettingsError;
use airlane_settings::quantity::{Size, Time};
use airlane_settings::{Wrong, from_toml};
use serde::{Deserialize, Serialize};

use crate::common::{self, Address, Common, Network, time};
use crate::http1::Bounds;
use crate::places::Count;
use crate::secrets::Tls;

const DEFAULTS: &str = r#"
api_root = ""
access = { applications = [] }

[source]
seed = 1
period = "100 ms"
measure = "1 s"
stall = "1 s"

[callbacks]
networks = []
timeout = "2 s"
attempts = 3
backoff = "500 ms"
backoff_max = "30 s"
concurrent = 8
hosts = 1000
queue = 16

[limits]
connections = 1000
connections_per_address = 64
body = "16 KiB"
header_time = "10 s"
stall = "30 s"
responses = "64 MiB"
subscriptions = 20000
lifetime = "24 h"
notice = "60 s"
"#;

/// The file of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Settings that all kinds of nodes have.
    pub(super) node: Common,
    /// The address of the service. It listens on no other.
    pub(super) listen: Address,
    /// A path before `/rni/v2`. The service has the paths without it, too.
    pub(super) api_root: String,
    /// The origin in links, such as `https://rnis.example:8443`, if clients reach the service by another address.
    pub(super) origin: Option<String>,
    pub(super) source: Source,
    pub(super) access: Access,
    pub(super) tls: Option<Tls>,
    pub(super) callbacks: Callbacks,
    pub(super) limits: Limits,
}

/// The source of the radio information: one of the first three.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    /// A scenario with a mobile network, which runs at real speed.
    pub(super) scenario: Option<PathBuf>,
    /// The socket of a live run, which may begin and end while the node runs.
    pub(super) live: Option<PathBuf>,
    /// The result folder of a live run with its record, which is played once.
    pub(super) replay: Option<PathBuf>,
    /// Seed of the scenario.
    pub(super) seed: u64,
    /// Interval between the records of a UE.
    pub(super) period: Time,
    /// Period of layer 2 measurements.
    pub(super) measure: Time,
    /// The longest time without a report, beyond `period`, until the node is not ready.
    pub(super) stall: Time,
    /// QoS class of the default bearers. Without it, bearers have no QoS parameters.
    pub(super) qci: Option<u8>,
}

/// Who may use the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Access {
    /// A file of lines `TOKEN APPLICATION`. Without it, everyone may use the service.
    pub(super) tokens: Option<PathBuf>,
    /// Without tokens: the application instances that exist; the first is a caller that names none. Empty for any.
    pub(super) applications: Vec<String>,
}

/// How notifications are sent to callback URIs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Callbacks {
    /// The networks to which notifications may be sent.
    pub(super) networks: Vec<Network>,
    /// PEM: the certificate authorities of `https` callbacks, instead of those of the machine.
    pub(super) authorities: Option<PathBuf>,
    /// The longest time of one attempt, with connecting.
    pub(super) timeout: Time,
    pub(super) attempts: u8,
    /// The pause after the first failure of a host; it doubles with each further one.
    pub(super) backoff: Time,
    pub(super) backoff_max: Time,
    /// Notifications under way to a host at a time.
    pub(super) concurrent: u16,
    /// Hosts at a time.
    pub(super) hosts: u32,
    /// Notifications that wait for one subscription; the oldest is dropped for a newer one.
    pub(super) queue: u16,
}

/// Bounds of what a client can take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub(super) connections: u32,
    /// Connections of one client at a time: of an IPv4 address, or of an IPv6 /64.
    pub(super) connections_per_address: u32,
    /// The longest body of a request.
    pub(super) body: Size,
    /// The longest time until a TLS handshake, the next request's header or its body is complete.
    pub(super) header_time: Time,
    /// How long a client may read nothing of a response or of a WebSocket, and half of the time after which a
    /// WebSocket is closed whose client does not answer.
    pub(super) stall: Time,
    /// Memory of responses that clients have not read.
    pub(super) responses: Size,
    pub(super) subscriptions: u32,
    /// Subscriptions of one application with a token, or of one client without tokens. Without the key, it is an equal
    /// part for each application, or half of `subscriptions`.
    pub(super) subscriptions_per_client: Option<u32>,
    /// The longest time of a subscription. It gets this deadline if its own is later or missing.
    pub(super) lifetime: Time,
    /// How long before its deadline a subscriber gets a notice.
    pub(super) notice: Time,
}

/// Reads the settings.
pub(super) fn read(text: &str, file: &str) -> Result<Settings, SettingsError> {
    let defaults = format!("{DEFAULTS}\n{}", common::DEFAULTS);
    let mut settings: Settings = from_toml(text, file, &defaults, check)?;
    // Files are named as seen from the file of settings.
    let folder = std::path::Path::new(file).parent().map(PathBuf::from).unwrap_or_default();
    let tls = settings.tls.iter_mut().flat_map(|tls| [&mut tls.certificate, &mut tls.key]);
    let Source { scenario, live, replay, .. } = &mut settings.source;
    let files = scenario.iter_mut().chain(live).chain(replay).chain(tls);
    let files = files.chain(&mut settings.access.tokens).chain(&mut settings.callbacks.authorities);
    files.for_each(|path| *path = folder.join(&*path));
    Ok(settings)
}

fn check(settings: &Settings) -> Result<(), Wrong> {
    let Settings { source, callbacks, limits, api_root, origin, .. } = settings;
    let least = |key: &str, time: Time, least: Duration| {
        let help = format!("choose {least} or more");
        if time.0 < least { Err(Wrong::new(key, "it is too short", help)) } else { Ok(()) }
    };
    let Source { scenario, live, replay, .. } = source;
    if [scenario, live, replay].into_iter().flatten().count() != 1 {
        let help = "give one of: scenario, a file; live, the socket of airlane live --rnis; replay, a result \
                    folder of airlane live";
        return Err(Wrong::new("source", "it needs one origin", help));
    }
    least("source.stall", source.stall, Duration::from_millis(1))?;
    least("source.period", source.period, Duration::from_millis(1))?;
    least("source.measure", source.measure, Duration::from_millis(10))?;
    least("callbacks.timeout", callbacks.timeout, Duration::from_millis(1))?;
    least("callbacks.backoff", callbacks.backoff, Duration::from_millis(1))?;
    least("callbacks.backoff_max", callbacks.backoff_max, callbacks.backoff.0)?;
    least("limits.header_time", limits.header_time, Duration::from_millis(1))?;
    least("limits.stall", limits.stall, Duration::from_millis(1))?;
    let numbers = [
        ("callbacks.attempts", u64::from(callbacks.attempts)),
        ("callbacks.concurrent", callbacks.concurrent.into()),
        ("callbacks.hosts", callbacks.hosts.into()),
        ("callbacks.queue", callbacks.queue.into()),
        ("limits.connections", limits.connections.into()),
        ("limits.connections_per_address", limits.connections_per_address.into()),
        ("limits.subscriptions", limits.subscriptions.into()),
        ("limits.subscriptions_per_client", limits.subscriptions_per_client.unwrap_or(1).into()),
        ("limits.body", limits.body.0.get()),
        ("limits.responses", limits.responses.0.get()),
    ];
    if let Some((key, _)) = numbers.into_iter().find(|(_, number)| *number == 0) {
        return Err(Wrong::new(key, "it is zero", "choose 1 or more"));
    }
    let is_path = api_root.is_empty() || api_root.starts_with('/') && !api_root.ends_with('/');
    if !is_path || api_root.contains(['?', '#', '{', '}', '*', ':']) {
        return Err(Wrong::new("api_root", "it is no path", "write \"\" or a path such as \"/mec\""));
    }
    let is_origin = |text: &str| {
        let parsed = text.parse::<hyper::Uri>().ok().filter(|uri| uri.path() == "/" && !text.ends_with('/'));
        parsed.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")))
    };
    if let Some(origin) = origin.as_ref().filter(|text| !is_origin(text)) {
        let help = "write scheme, host and port, such as \"https://rnis.example:8443\"";
        return Err(Wrong::new("origin", format!("\"{origin}\" is no origin"), help));
    }
    Ok(())
}

impl Limits {
    /// The bounds of connections.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            count: Count { connections: self.connections, per_client: self.connections_per_address },
            header_time: time(self.header_time),
            body: self.body.0.get(),
            body_time: time(self.header_time),
            stall: time(self.stall),
            responses: Some(self.responses.0.get()),
        }
    }
}

/// The origin of the radio information.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'a> {
    Scenario(&'a Path),
    Live(&'a Path),
    Replay(&'a Path),
}

impl Source {
    /// The origin that is given.
    pub(super) fn origin(&self) -> Origin<'_> {
        let Self { scenario, live, replay, .. } = self;
        match (scenario, live, replay) {
            (Some(path), ..) => Origin::Scenario(path),
            (_, Some(path), _) => Origin::Live(path),
            (.., Some(path)) => Origin::Replay(path),
            (None, None, None) => unreachable!("the settings were checked"),
        }
    }

    /// The path of the source.
    pub(super) fn path(&self) -> &Path {
        let (Origin::Scenario(path) | Origin::Live(path) | Origin::Replay(path)) = self.origin();
        path
    }
}

impl Settings {
    /// The origin and the path before `/rni/v2` in links.
    pub(super) fn base(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let own = || format!("{scheme}://{}", self.listen.0);
        format!("{}{}", self.origin.clone().unwrap_or_else(own), self.api_root)
    }
}
