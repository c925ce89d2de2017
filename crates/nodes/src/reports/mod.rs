//! Messages of PEPs ([`airlane_net::pep`]) at a server: the socket at which they arrive, and those that count.
//!
//! [`messages`] judges each message. Its content reaches the [`Host`], the server's side of the connection.

mod messages;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration as HostDuration;

use airlane_core::{Duration, Instant};
use airlane_net::pep::Body;
use airlane_settings::Wrong;
use nix::time::{ClockId, clock_gettime};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::net::UdpSocket;
use tokio::time::interval;

pub(crate) use self::messages::Connection;
use self::messages::{Messages, Refusal};
use crate::common::Network;
use crate::{NodeError, Requirement, secrets};

/// Messages a second from one address, unless set.
pub(crate) const RATE: u32 = 20_000;
/// Longer than any message: a longer datagram is cut, and then malformed.
const DATAGRAM: usize = 256;
/// Time between two looks at the connections.
const LOOK: HostDuration = HostDuration::from_secs(1);
/// Datagrams that are taken before other work has its turn.
const BATCH: u32 = 256;

/// The address at which messages arrive, and the PEPs whose messages count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reception {
    pub(crate) listen: SocketAddr,
    /// File of the secret that the PEPs also have.
    pub(crate) secret: PathBuf,
    /// Networks of the PEPs; empty for any.
    pub(crate) peps: Vec<Network>,
    /// Networks of the clients whose connections the PEPs report; empty for any.
    pub(crate) clients: Vec<Network>,
    /// Maximum number of messages a second from one address.
    pub(crate) rate: u32,
}

impl Reception {
    /// The rules of the settings, whose keys begin with `at`.
    pub(crate) fn check(&self, at: &str) -> Result<(), Wrong> {
        let key = |name: &str| format!("{at}{name}");
        if self.listen.port() == 0 {
            return Err(Wrong::new(key("listen"), "out of range", "name the port to which the PEPs send"));
        }
        if self.rate == 0 {
            let help = "it must be at least one message a second";
            return Err(Wrong::new(key("rate"), "out of range", help));
        }
        Ok(())
    }

    /// The requirement of the socket.
    pub(crate) fn requirement(&self) -> Requirement {
        let name = format!("secret {}", self.secret.display());
        Requirement::tried(name, secrets::shared(&self.secret).map(drop), "the PEP has the same file")
    }

    /// Opens the socket and reads the secret. The settings call the address `name`.
    pub(crate) fn open(self, name: &str) -> Result<Opened, NodeError> {
        let secret = secrets::shared(&self.secret).map_err(|e| NodeError::new(e, ""))?;
        let help = "name an address of this machine and a free port";
        let failed = |e: io::Error| NodeError::new(format!("{name} = {}: {e}", self.listen), help);
        let socket = std::net::UdpSocket::bind(self.listen).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(Opened { settings: self, socket, secret })
    }
}

/// The server's connections.
pub(crate) trait Host {
    /// The host's name of a connection.
    type Connection: Connection;

    /// The open connections, each with a number that no other connection with its addresses has.
    fn connections(&mut self) -> BTreeMap<Self::Connection, u64>;

    /// Passes on the content of a message that was made `delay` after its newest packet. False if the connection has
    /// ended.
    fn report(
        &mut self,
        arrived_at: Instant,
        connection: &Self::Connection,
        delay: Duration,
        body: &Body,
    ) -> bool;
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// Counts of messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    messages: Counter,
    refused: Family<Reason, Counter>,
}

impl Counts {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("messages", "Messages that counted", self.messages.clone());
        registry.register("refused", "Messages that did not count", self.refused.clone());
        for refusal in Refusal::ALL {
            drop(self.refused.get_or_create(&Reason { reason: refusal.name() }));
        }
    }
}

/// The time of the machine since its start, which programs in the kernel also read (`bpf_ktime_get_ns`).
pub(crate) fn now() -> Instant {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    Instant::from_nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// The socket and the secret, which need rights that a node may then give up.
pub(crate) struct Opened {
    settings: Reception,
    socket: std::net::UdpSocket,
    secret: Vec<u8>,
}

impl Opened {
    /// The secret of the PEPs.
    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Takes messages until it is dropped.
    ///
    /// # Errors
    /// If the socket fails.
    pub(crate) async fn serve(self, host: impl Host, counts: Counts) -> Result<(), NodeError> {
        let failed = |e: io::Error| NodeError::new(format!("the socket of messages failed: {e}"), "");
        let socket = UdpSocket::from_std(self.socket).map_err(failed)?;
        let Reception { peps, clients, rate, .. } = self.settings;
        let messages = Messages::new(self.secret, peps, clients, rate);
        let mut receiver = Receiver { host, counts, messages, next_look: Instant::ZERO };
        let mut looks = interval(LOOK);
        let mut bytes = [0; DATAGRAM];
        loop {
            tokio::select! {
                _ = looks.tick() => receiver.look(),
                ready = socket.readable() => {
                    ready.map_err(failed)?;
                    for _ in 0..BATCH {
                        match socket.try_recv_from(&mut bytes) {
                            Ok((length, source)) => receiver.take(source.ip(), &bytes[..length]),
                            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                            Err(e) => tracing::debug!("receive: {e}"),
                        }
                    }
                }
            }
        }
    }
}

/// The receiver at work.
struct Receiver<H: Host> {
    host: H,
    counts: Counts,
    messages: Messages<H::Connection>,
    /// Time from which an unknown connection may cause the next look.
    next_look: Instant,
}

impl<H: Host> Receiver<H> {
    fn take(&mut self, source: IpAddr, datagram: &[u8]) {
        let now = now();
        let mut verdict = self.messages.judge(now, source, datagram);
        // Perhaps it has just begun.
        if verdict.is_err_and(|refusal| refusal == Refusal::Connection) && now >= self.next_look {
            self.look();
            verdict = self.messages.judge(now, source, datagram);
        }
        let passed_on = verdict.and_then(|accepted| {
            let is_open = self.host.report(now, &accepted.connection, accepted.delay, &accepted.body);
            if is_open { Ok(()) } else { Err(Refusal::Connection) }
        });
        match passed_on {
            Ok(()) => self.counts.messages.inc(),
            Err(refusal) => {
                tracing::debug!(%source, reason = refusal.name(), "refused");
                self.counts.refused.get_or_create(&Reason { reason: refusal.name() }).inc()
            }
        };
    }

    /// Looks at the connections: takes new ones, and forgets those that have ended.
    fn look(&mut self) {
        let began = now();
        self.messages.connections(&self.host.connections());
        self.messages.forget(began);
        // Unknown connections may take a twentieth of the time.
        let ended = now();
        self.next_look = ended + ended.saturating_since(began) * 19;
    }
}
