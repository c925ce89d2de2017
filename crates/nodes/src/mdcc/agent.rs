//! The agent: one UDP socket, and the maps of the program.

use std::io;
use std::time::Duration as HostDuration;

use airlane_core::Instant;
use nix::time::{ClockId, clock_gettime};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::net::UdpSocket;
use tokio::time::interval;

use super::kernel::Loaded;
use super::messages::{Messages, Refusal, Verdict};
use super::secret_of;
use super::settings::Settings;
use super::shared::{self, KEY};
use crate::{NodeError, Running, rights};

/// Longer than any message: a longer datagram is cut, and then malformed.
const DATAGRAM: usize = 256;
/// Time between two looks at the connections.
const LOOK: HostDuration = HostDuration::from_secs(1);
/// Maximum number of connections whose windows are among the metrics.
const SHOWN: usize = 64;
/// Datagrams that are taken before other work has its turn.
const BATCH: u32 = 256;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Domain {
    domain: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Window {
    connection: String,
    domain: &'static str,
}

/// Counts of the agent, and what the program shows.
#[derive(Debug, Default)]
struct Counts {
    messages: Counter,
    refused: Family<Reason, Counter>,
    connections: Gauge,
    heard: Gauge,
    distrusted: Gauge,
    reports: Gauge,
    reductions: Family<Domain, Gauge>,
    disbelieved: Gauge,
    windows: Family<Window, Gauge>,
}

impl Counts {
    fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("mdcc");
        registry.register("messages", "Messages that counted", self.messages.clone());
        registry.register("refused", "Messages that did not count", self.refused.clone());
        registry.register("connections", "Connections under MD-CC", self.connections.clone());
        registry.register("heard", "Connections whose PEP is heard", self.heard.clone());
        registry.register(
            "distrusted",
            "Connections whose PEP claimed what was not sent",
            self.distrusted.clone(),
        );
        registry.register(
            "reports",
            "Reports that took effect, of the connections that there are",
            self.reports.clone(),
        );
        registry.register(
            "reductions",
            "Reductions of each window, of the connections that there are",
            self.reductions.clone(),
        );
        registry.register(
            "disbelieved",
            "Losses behind the PEP without evidence, of the connections that there are",
            self.disbelieved.clone(),
        );
        registry.register("window_segments", "Windows of the first connections", self.windows.clone());
        for refusal in Refusal::ALL {
            drop(self.refused.get_or_create(&Reason { reason: refusal.name() }));
        }
    }

    /// Shows the state of all connections.
    fn show(&self, all: &[([u8; KEY], shared::Windows)]) {
        let count =
            |test: fn(&shared::Windows) -> bool| all.iter().filter(|(_, one)| test(one)).count() as i64;
        self.connections.set(all.len() as i64);
        self.heard.set(count(|one| one.heard));
        self.distrusted.set(count(|one| one.distrusted));
        self.reports.set(all.iter().map(|(_, one)| one.reports as i64).sum());
        let sum = |of: fn(&shared::Windows) -> u32| all.iter().map(|(_, one)| i64::from(of(one))).sum();
        self.reductions.get_or_create(&Domain { domain: "internet" }).set(sum(|one| one.internet_losses));
        self.reductions.get_or_create(&Domain { domain: "ran" }).set(sum(|one| one.ran_losses));
        self.disbelieved.set(sum(|one| one.disbelieved));
        self.windows.clear();
        for (key, one) in all.iter().take(SHOWN) {
            let Some((local, remote)) = shared::ends(key) else { continue };
            for (domain, segments) in [("internet", one.internet), ("ran", one.ran)] {
                let connection = format!("{local} {remote}");
                self.windows.get_or_create(&Window { connection, domain }).set(i64::from(segments));
            }
        }
    }
}

/// The clock of the program (`bpf_ktime_get_ns`).
fn now() -> Instant {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    Instant::from_nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// The program in the kernel, the socket, and the secret: what needs rights that the node then gives up.
pub(super) struct Opened {
    settings: Settings,
    kernel: Loaded,
    socket: std::net::UdpSocket,
    secret: Vec<u8>,
}

impl Opened {
    /// Opens all of it, and gives up the rights.
    pub(super) fn open(settings: &Settings) -> Result<Self, NodeError> {
        let secret = secret_of(&settings.secret).map_err(|e| NodeError::new(e, ""))?;
        let listen = settings.listen.0;
        let help = "name an address of this machine and a free port";
        let failed = |e: io::Error| NodeError::new(format!("listen = {listen}: {e}"), help);
        let socket = std::net::UdpSocket::bind(listen).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let kernel = Loaded::load(&shared::settings(
            settings.law.wired_queue.map(|time| time.0),
            settings.acks_per_increase(),
            settings.law.hystart,
        ))?;
        rights::give_up(settings.user.as_deref())?;
        Ok(Self { settings: settings.clone(), kernel, socket, secret })
    }
}

/// Serves until the node is to stop.
pub(super) async fn serve(opened: Opened, running: Running) -> Result<(), NodeError> {
    let Opened { settings, kernel, socket, secret } = opened;
    let failed = |e: io::Error| NodeError::new(format!("the socket failed: {e}"), "");
    let counts = Counts::default();
    running.register(|registry| counts.register(registry));
    let socket = UdpSocket::from_std(socket).map_err(failed)?;
    let messages = Messages::new(secret, settings.peps, settings.clients, settings.rate);
    let mut agent = Agent { counts, kernel, messages, number: 0, next_look: Instant::ZERO };
    let mut looks = interval(LOOK);
    running.ready();
    tracing::info!(listen = %settings.listen.0, congestion_control = "mdcc", "ready");
    let mut bytes = [0; DATAGRAM];
    loop {
        tokio::select! {
            () = running.stopping() => break,
            _ = looks.tick() => agent.look(),
            ready = socket.readable() => {
                ready.map_err(failed)?;
                for _ in 0..BATCH {
                    match socket.try_recv_from(&mut bytes) {
                        Ok((length, source)) => agent.take(source.ip(), &bytes[..length]),
                        Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                        Err(e) => tracing::debug!("receive: {e}"),
                    }
                }
            }
        }
    }
    tracing::info!("new connections have another congestion control; those with mdcc continue without a PEP");
    Ok(())
}

/// The agent at work.
struct Agent {
    counts: Counts,
    kernel: Loaded,
    messages: Messages,
    /// Counts reports of all connections, from 1.
    number: u32,
    /// When an unknown connection may cause the next look.
    next_look: Instant,
}

impl Agent {
    fn take(&mut self, source: std::net::IpAddr, datagram: &[u8]) {
        let now = now();
        let mut verdict = self.messages.judge(now, source, datagram);
        // Perhaps it has just begun.
        if verdict == Verdict::Refused(Refusal::Connection) && now >= self.next_look {
            self.look();
            verdict = self.messages.judge(now, source, datagram);
        }
        let refusal = match verdict {
            Verdict::Accepted(accepted) => {
                self.number = self.number.checked_add(1).unwrap_or(1);
                let arrived_at = now.saturating_since(Instant::ZERO);
                let value = shared::report(self.number, arrived_at, accepted.delay, &accepted.report);
                match self.kernel.report(&accepted.key, &value) {
                    true => None,
                    false => Some(Refusal::Connection),
                }
            }
            Verdict::Refused(refusal) => Some(refusal),
        };
        match refusal {
            None => self.counts.messages.inc(),
            Some(refusal) => {
                tracing::debug!(%source, reason = refusal.name(), "refused");
                self.counts.refused.get_or_create(&Reason { reason: refusal.name() }).inc()
            }
        };
    }

    /// Looks at the connections: takes new ones, and forgets those that have ended.
    fn look(&mut self) {
        let began = now();
        let all = self.kernel.connections();
        let open = all.iter().map(|(key, one)| (*key, one.began)).collect();
        self.messages.connections(&open);
        self.messages.forget(began);
        self.counts.show(&all);
        // Unknown connections may take a twentieth of the time.
        let ended = now();
        self.next_look = ended + ended.saturating_since(began) * 19;
    }
}
