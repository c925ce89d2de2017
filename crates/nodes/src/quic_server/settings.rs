//! The settings of the node.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use airlane_core::{Duration, Seeds};
use airlane_quic::QuicConfig;
use airlane_scenario::{Scenario, format, quic_of};
use airlane_settings::quantity::{Size, Time};
use airlane_settings::{SettingsError, Wrong, from_toml};
use airlane_transport::CongestionKind;
use axum::http::Uri;
use serde::{Deserialize, Serialize};

use crate::common::{self, Address, Common, Network, time};
use crate::http1::{Bounds, port_of};
use crate::places::Count;
use crate::reports::{self, Reception};
use crate::secrets::Tls;

const DEFAULTS: &str = r#"
[congestion]
sender = "quinn"
controller = "cubic"
loss_discriminator = "legacy"

# Krämer et al. 2019: a = 0.1.
[congestion."controller=mdcc".mdcc]
increase = 0.1
inflight_scope = "e2e"
slow_start = "client"

[meld]
resource_blocks = 25
cqi_to_mcs = "openairinterface"
pdu = "1440 B"
harq_processes = 8
threshold = "as-run"
stale_after = "100 ms"
timeouts = "judged"

[limits]
connections = 500
connections_per_address = 64
handshakes = 64
streams = 32
send_buffer = "2 MiB"
header = "16 KiB"
header_time = "10 s"
idle = "30 s"
stall = "30 s"
ranges = 16
"#;

/// The file of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Settings that all kinds of nodes have.
    pub(super) node: Common,
    /// The address of HTTP/3. It listens on no other UDP port.
    pub(super) listen: Address,
    /// The address of HTTP/1.1 over TLS, which announces HTTP/3. Without it, there is only HTTP/3.
    pub(super) https: Option<Address>,
    /// The folder whose files are served.
    pub(super) root: PathBuf,
    pub(super) tls: Tls,
    pub(super) congestion: Congestion,
    pub(super) meld: Meld,
    /// The service that informs discriminators about the radio.
    pub(super) rnis: Option<Rnis>,
    /// The PEPs whose messages `mdcc` receives.
    pub(super) pep: Option<Pep>,
    pub(super) limits: Limits,
}

/// The congestion control of all connections, as in a scenario's flow over QUIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Congestion {
    /// The implementation whose pacing, timeouts and CUBIC it has.
    pub(super) sender: Preset,
    /// A controller of scenarios for QUIC without ECN.
    pub(super) controller: format::Congestion,
    pub(super) loss_discriminator: Discriminator,
    /// Parameters of `mdcc`.
    pub(super) mdcc: Option<format::Mdcc>,
    /// Size of the largest IP packet; without it, the default of the implementation.
    pub(super) mtu: Option<Size>,
}

/// An implementation of QUIC: a preset of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Preset {
    /// quinn 0.11 with its defaults.
    #[serde(rename = "quinn")]
    Quinn,
    /// picoquic of 2020, which the authors of MELD used.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// The rule by which a loss is attributed to congestion or to the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Discriminator {
    Legacy,
    Veno,
    Ncpld,
    LdaEq,
    MeldDe,
    MeldMe,
}

/// Parameters of MELD, and the cell for which its threshold is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meld {
    pub(super) resource_blocks: u16,
    pub(super) cqi_to_mcs: CqiToMcs,
    pub(super) pdu: Size,
    pub(super) harq_processes: u8,
    pub(super) threshold: Threshold,
    /// The age from which on information is not used; zero for any age.
    pub(super) stale_after: Time,
    pub(super) timeouts: Timeouts,
}

/// The eNB's mapping from CQI to MCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CqiToMcs {
    OpenAirInterface,
    Efficiency,
}

/// The queue from which on MELD-ME attributes a loss to congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Threshold {
    AsRun,
    Derived,
    Present,
}

/// Whether timeouts are classified, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Timeouts {
    Judged,
    Congestion,
}

/// A radio network information service (`airlane node rnis`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rnis {
    /// The part of the URL before `/rni/v2`. All connections lead to the host and port of this URL.
    pub(super) url: String,
    /// A file with the token of this application.
    pub(super) token: Option<PathBuf>,
    /// PEM: the certificate authorities of the service, instead of those of the machine.
    pub(super) authorities: Option<PathBuf>,
    /// The longest time of a request, and between two notifications.
    #[serde(default = "Rnis::default_timeout")]
    pub(super) timeout: Time,
    /// UEs with a subscription at a time.
    #[serde(default = "Rnis::default_ues")]
    pub(super) ues: u32,
}

impl Rnis {
    const fn default_timeout() -> Time {
        Time(Duration::from_secs(2))
    }

    const fn default_ues() -> u32 {
        256
    }

    fn check(&self) -> Result<(), Wrong> {
        let uri: Uri = self.url.parse().map_err(|e| {
            Wrong::new("rnis.url", format!("{e}"), "choose one such as http://127.0.0.1:8081")
        })?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.query().is_some() || self.url.contains(['@', '#']) {
            let what = "it is no URL of http or https without user, query and fragment";
            return Err(Wrong::new("rnis.url", what, "choose one such as http://127.0.0.1:8081"));
        }
        if let Some(wrong) = uri.authority().and_then(|authority| port_of(authority).err()) {
            return Err(Wrong::new("rnis.url", wrong, "choose one such as http://127.0.0.1:8081"));
        }
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let is_here = host.parse().map_or(host == "localhost", |address: IpAddr| address.is_loopback());
        if self.token.is_some() && uri.scheme_str() == Some("http") && !is_here {
            let help = "choose an https URL, or a service on this machine";
            return Err(Wrong::new("rnis.token", "it would cross the network in clear text", help));
        }
        if self.timeout.0 < Duration::from_millis(1) {
            return Err(Wrong::new("rnis.timeout", "it is too short", "choose 1 ms or more"));
        }
        if self.ues == 0 {
            return Err(Wrong::new("rnis.ues", "it is zero", "choose 1 or more"));
        }
        Ok(())
    }
}

/// The PEPs (`airlane node pep`) whose messages `mdcc` receives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pep {
    /// Address at which messages arrive.
    pub(super) listen: Address,
    /// File of the secret that they also have.
    pub(super) secret: PathBuf,
    /// Networks of the PEPs; empty for any.
    #[serde(default)]
    pub(super) peps: Vec<Network>,
    /// Networks of the clients whose connections they report; empty for any.
    #[serde(default)]
    pub(super) clients: Vec<Network>,
    /// Maximum number of messages a second from one address.
    #[serde(default = "Pep::default_rate")]
    pub(super) rate: u32,
}

impl Pep {
    const fn default_rate() -> u32 {
        reports::RATE
    }

    /// The address at which messages arrive, and the PEPs whose messages count.
    pub(super) fn reception(&self) -> Reception {
        let Self { listen, secret, peps, clients, rate } = self.clone();
        Reception { listen: listen.0, secret, peps, clients, rate }
    }
}

/// Bounds of what clients can take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// QUIC connections, and as many over TCP.
    pub(super) connections: u32,
    /// Connections of one client at a time: of an IPv4 address, or of an IPv6 /64.
    pub(super) connections_per_address: u32,
    /// Handshakes at a time from which on a client's address is validated first (RFC 9000 §8.1.2).
    pub(super) handshakes: u32,
    /// Requests of a connection at a time.
    pub(super) streams: u32,
    /// Bytes of a QUIC connection that are sent or about to be sent, and not acknowledged.
    pub(super) send_buffer: Size,
    /// The largest header of a request. Nothing of a request is read beyond four times that.
    pub(super) header: Size,
    /// The longest time until a handshake or the header of a request is complete.
    pub(super) header_time: Time,
    /// Idle time after which a connection is closed.
    pub(super) idle: Time,
    /// How long a client may read nothing of a response.
    pub(super) stall: Time,
    /// Ranges in a request; a request with more is answered with the whole file.
    pub(super) ranges: u16,
}

impl Limits {
    /// The bounds of connections over TCP.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            count: self.count(),
            header_time: time(self.header_time),
            // The body of a request has no effect.
            body: 0,
            body_time: time(self.header_time),
            stall: time(self.stall),
            responses: None,
        }
    }

    /// The places of QUIC connections, and as many of those over TCP.
    pub(super) const fn count(&self) -> Count {
        Count { connections: self.connections, per_client: self.connections_per_address }
    }
}

/// Reads the settings.
pub(super) fn read(text: &str, file: &str) -> Result<Settings, SettingsError> {
    let defaults = format!("{DEFAULTS}\n{}", common::DEFAULTS);
    let mut settings: Settings = from_toml(text, file, &defaults, check)?;
    // Files are named as seen from the file of settings.
    let folder = Path::new(file).parent().map(PathBuf::from).unwrap_or_default();
    let rnis = settings.rnis.iter_mut().flat_map(|rnis| rnis.token.iter_mut().chain(&mut rnis.authorities));
    let pep = settings.pep.iter_mut().map(|pep| &mut pep.secret);
    let own = [&mut settings.root, &mut settings.tls.certificate, &mut settings.tls.key];
    for path in own.into_iter().chain(rnis).chain(pep) {
        *path = folder.join(&*path);
    }
    Ok(settings)
}

fn check(settings: &Settings) -> Result<(), Wrong> {
    let Settings { limits, meld, .. } = settings;
    for (key, time) in [
        ("limits.header_time", limits.header_time),
        ("limits.idle", limits.idle),
        ("limits.stall", limits.stall),
    ] {
        if time.0 < Duration::from_millis(1) {
            return Err(Wrong::new(key, "it is too short", "choose 1 ms or more"));
        }
    }
    for (key, number) in [
        ("limits.connections", limits.connections),
        ("limits.connections_per_address", limits.connections_per_address),
        ("limits.handshakes", limits.handshakes),
        ("limits.streams", limits.streams),
        ("limits.ranges", limits.ranges.into()),
        ("meld.harq_processes", meld.harq_processes.into()),
    ] {
        if number == 0 {
            return Err(Wrong::new(key, "it is zero", "choose 1 or more"));
        }
    }
    for (key, size, least) in [
        ("limits.send_buffer", limits.send_buffer, 16 << 10),
        ("limits.header", limits.header, 1 << 10),
        ("meld.pdu", meld.pdu, 1),
    ] {
        if size.0.get() < least {
            return Err(Wrong::new(key, "it is too small", format!("choose {least} B or more")));
        }
    }
    if ![6, 15, 25, 50, 75, 100].contains(&meld.resource_blocks) {
        let help = "choose 6, 15, 25, 50, 75 or 100";
        return Err(Wrong::new("meld.resource_blocks", "no LTE carrier has this number", help));
    }
    match (&settings.rnis, settings.uses_radio()) {
        (Some(rnis), true) => rnis.check()?,
        (None, false) => {}
        (Some(_), false) => {
            let help = "choose \"meld-de\" or \"meld-me\", or leave out [rnis]";
            return Err(Wrong::new("congestion.loss_discriminator", "it uses no radio information", help));
        }
        (None, true) => {
            let help = "add [rnis] with its url, or choose another discriminator";
            return Err(Wrong::new("congestion.loss_discriminator", "it needs radio information", help));
        }
    }
    controller(settings.congestion.controller)?;
    multi_domain(settings)?;
    // All other keys are right in any scenario.
    settings
        .quic(Seeds::new(0))
        .map(drop)
        .map_err(|e| Wrong::new("congestion.mtu", e, "choose 1228 B to 1500 B"))
}

/// DCTCP, Prague and ABC need ECN with the number of marks, which this server does not read; a user's own controller comes with a simulation.
fn controller(controller: format::Congestion) -> Result<(), Wrong> {
    let is_missing = |kind| {
        matches!(
            kind,
            CongestionKind::Abc | CongestionKind::Dctcp | CongestionKind::Prague | CongestionKind::Own
        )
    };
    if !is_missing(controller.kind()) {
        return Ok(());
    }
    let known = CongestionKind::ALL.into_iter().filter(|kind| !is_missing(*kind));
    let names: Vec<_> = known.map(|kind| format!("{:?}", kind.name())).collect();
    let help = format!("use one of {}", names.join(", "));
    Err(Wrong::new("congestion.controller", "this server does not have it", help))
}

/// The rules of `mdcc` and of its PEPs.
fn multi_domain(settings: &Settings) -> Result<(), Wrong> {
    let Settings { congestion, pep, .. } = settings;
    let is_mdcc = congestion.controller == format::Congestion::Mdcc;
    match (pep, is_mdcc) {
        (Some(pep), true) => pep.reception().check("pep.")?,
        (None, false) => {}
        (Some(_), false) => {
            let help = "choose \"mdcc\", or leave out [pep]";
            return Err(Wrong::new("congestion.controller", "it receives no messages of PEPs", help));
        }
        (None, true) => {
            let help = "add [pep] with listen and secret, or choose another controller";
            return Err(Wrong::new("congestion.controller", "it needs the messages of a PEP", help));
        }
    }
    if is_mdcc && congestion.loss_discriminator != Discriminator::Legacy {
        let help = "choose \"legacy\": with mdcc, the PEP's messages classify losses";
        return Err(Wrong::new("congestion.loss_discriminator", "it has no effect on mdcc", help));
    }
    match &congestion.mdcc {
        Some(_) if !is_mdcc => {
            let help = "choose controller = \"mdcc\", or leave out mdcc";
            Err(Wrong::new("congestion.mdcc", "it has no effect", help))
        }
        Some(mdcc) => mdcc.out_of_range().map_or(Ok(()), |(key, help)| {
            Err(Wrong::new(format!("congestion.mdcc.{key}"), "out of range", help))
        }),
        None => Ok(()),
    }
}

/// A value as it is written in TOML.
fn word<T: Serialize>(value: T) -> String {
    serde_json::to_string(&value).expect("words have no other form")
}

impl Settings {
    /// The sender of a connection: the sender of a scenario with these settings.
    pub(super) fn quic(&self, seeds: Seeds) -> Result<QuicConfig, String> {
        let Self { congestion, meld, .. } = self;
        let mut discriminator = format!("kind = {}", word(congestion.loss_discriminator));
        if self.uses_radio() {
            discriminator += &format!(
                ", pdu = \"{}\", harq_processes = {}, stale_after = \"{}\", timeouts = {}",
                meld.pdu,
                meld.harq_processes,
                meld.stale_after,
                word(meld.timeouts)
            );
        }
        if congestion.loss_discriminator == Discriminator::MeldMe {
            discriminator += &format!(", threshold = {}", word(meld.threshold));
        }
        let rnis = if self.uses_radio() { "[rnis]\n" } else { "" };
        let mdcc = congestion.mdcc.as_ref().map(|mdcc| {
            let queue =
                mdcc.wired_queue.map(|time| format!(", wired_queue = \"{time}\"")).unwrap_or_default();
            let (scope, clock) = (word(mdcc.inflight_scope), word(mdcc.slow_start));
            let increase = mdcc.increase;
            format!(
                ", mdcc = {{ increase = {increase}, inflight_scope = {scope}, slow_start = {clock}{queue} }}"
            )
        });
        let mdcc = mdcc.unwrap_or_default();
        let mtu = congestion.mtu.map(|size| format!(", mtu = \"{size}\"")).unwrap_or_default();
        let text = format!(
            "network = \"typical\"\n{rnis}[[cell]]\nname = \"cell\"\nresource_blocks = {}\n\
             mac = {{ cqi_to_mcs = {} }}\n[[ue]]\nname = \"ue\"\nposition = [\"100 m\", \"0 m\"]\n[[flow]]\nto = \"ue\"\ntransport = {{ kind = \"quic\", preset = {}, \
             congestion = {}, loss_discriminator = {{ {discriminator} }}{mdcc}{mtu} }}\n",
            meld.resource_blocks,
            word(meld.cqi_to_mcs),
            word(congestion.sender),
            word(congestion.controller),
        );
        let scenario = Scenario::parse(&text, "congestion").and_then(|one| one.resolve());
        let scenario = scenario.map_err(|e| e.to_string())?;
        Ok(quic_of(&scenario, 0, seeds).expect("the flow is over QUIC"))
    }

    /// Whether the discriminator needs radio information.
    pub(super) fn uses_radio(&self) -> bool {
        matches!(self.congestion.loss_discriminator, Discriminator::MeldDe | Discriminator::MeldMe)
    }
}

#[cfg(test)]
mod tests {
    use airlane_quic::QuicTimeouts;
    use airlane_transport::congestion::{
        InflightScope, LossDiscrimination, MdccConfig, MeldConfig, MeldVariant, QueueThreshold,
        SlowStartClock,
    };

    use super::*;

    fn with(text: &str) -> QuicConfig {
        let rnis = if text.contains("'meld-") { "rnis = { url = 'http://127.0.0.1:1' }\n" } else { "" };
        let pep =
            if text.contains("'mdcc'") { "pep = { listen = '127.0.0.1:2', secret = 's' }\n" } else { "" };
        let needed = format!(
            "listen = '127.0.0.1:1'\nroot = '.'\ntls = {{ certificate = 'c', key = 'k' }}\n{rnis}{pep}"
        );
        read(&format!("{needed}{text}"), "node.toml").unwrap().quic(Seeds::new(1)).unwrap()
    }

    #[test]
    fn every_sender_has_every_controller_and_discriminator() {
        for sender in ["quinn", "picoquic-2020"] {
            for controller in ["newreno", "cubic", "scalable", "vegas", "westwood", "veno", "bbr", "bbr3"] {
                for discriminator in ["legacy", "veno", "ncpld", "lda-eq", "meld-de", "meld-me"] {
                    let config = with(&format!(
                        "[congestion]\nsender = '{sender}'\ncontroller = '{controller}'\n\
                         loss_discriminator = '{discriminator}'\n"
                    ));
                    assert_eq!(config.congestion.name(), controller);
                    assert_eq!(config.loss_discriminator.name(), discriminator);
                    let collapses = matches!(config.timeouts, QuicTimeouts::Collapse { .. });
                    assert_eq!(collapses, sender == "picoquic-2020");
                }
            }
        }
    }

    #[test]
    fn mdcc_has_the_parameters_of_the_simulator() {
        let paper = with("congestion = { controller = 'mdcc' }");
        assert_eq!((paper.congestion, paper.laws.mdcc), (CongestionKind::Mdcc, MdccConfig::PAPER));
        let other = with(
            "[congestion]\ncontroller = 'mdcc'\n\
             mdcc = { increase = 0.25, inflight_scope = 'per-domain', slow_start = 'pep', wired_queue = '4 ms' }\n",
        );
        let expected = MdccConfig {
            acks_per_increase: 4,
            inflight_scope: InflightScope::PerDomain,
            slow_start: SlowStartClock::Pep,
            wired_queue: Some(Duration::from_millis(4)),
        };
        assert_eq!(other.laws.mdcc, expected);
    }

    /// The threshold of the paper's cell is that of the authors' code (`docs/papers/meld.md`).
    #[test]
    fn meld_has_the_parameters_of_the_simulator() {
        let of =
            |rest: &str| match with(&format!("congestion = {{ loss_discriminator = 'meld-me' }}\n{rest}"))
                .loss_discriminator
            {
                LossDiscrimination::Meld(meld) => meld,
                other => panic!("{other:?}"),
            };
        let as_run = MeldConfig::as_run(MeldVariant::Me, airlane_core::Bytes(2292));
        assert_eq!(of(""), MeldConfig { age_max: Some(Duration::from_millis(100)), ..as_run });
        assert_eq!(of("[meld]\nstale_after = '0 s'\n"), as_run);
        let other = of("[meld]\nthreshold = 'derived'\npdu = '1 kB'\ntimeouts = 'congestion'\n");
        let derived = QueueThreshold::Constant(airlane_core::Bytes(18_336));
        assert_eq!((other.queue_threshold, other.pdu.get(), other.judges_timeouts), (derived, 1000, false));
    }
}
