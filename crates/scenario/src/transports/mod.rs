//! Transports of flows: their names, their services to applications, and their configurations.

mod congestion;
mod kernel;
mod mpquic;
mod mptcp;
mod quic;
mod tcp;

use airlane_core::{Ecn, Node};
use airlane_engine::Exit;
use airlane_quic::{MultipathConfig, QuicConfig};
use airlane_transport::TcpConfig;
use airlane_transport::mptcp::MptcpConnection;

use crate::endpoints::Endpoint;
use crate::format::{Congestion, Kernel, LossDiscriminator, Transport, UdpEcn};

pub use kernel::{KernelPath, kernel_paths};
pub(crate) use mptcp::{NOTICED_INTERVALS_MAX, SUBFLOWS_MAX};
pub use mptcp::{fresh_ports, path_names, subflow_ports};
pub use quic::quic_of;
pub use tcp::tcp_config;

/// Largest IP packet (RFC 791).
pub(crate) const IP_PACKET_MAX: u64 = 65_535;

/// A protocol that carries applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The simulated TCP.
    Tcp,
    /// UDP.
    Udp,
    /// QUIC.
    Quic,
    /// TCP of a Linux kernel.
    Kernel,
    /// Multipath TCP.
    Mptcp,
    /// QUIC over several paths.
    Mpquic,
    /// ICMP.
    Icmp,
    /// That of a program in which the simulation is embedded.
    External,
}

impl Protocol {
    /// Its name in a sentence.
    const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Quic => "QUIC",
            Self::Kernel => "TCP of a kernel",
            Self::Mptcp => "Multipath TCP",
            Self::Mpquic => "QUIC over several paths",
            Self::Icmp => "ICMP",
            Self::External => "IP",
        }
    }

    /// Its `kind` in scenario files.
    const fn kind(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Quic => "quic",
            Self::Kernel => "kernel",
            Self::Mptcp => "mptcp",
            Self::Mpquic => "mpquic",
            Self::Icmp => "icmp",
            Self::External => "external",
        }
    }
}

/// The keys of a transport over several paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathKeys<'a> {
    /// Its name in a sentence.
    pub(crate) what: &'static str,
    /// The names of the paths; all accesses without.
    pub(crate) paths: Option<&'a Vec<String>>,
    /// Those that are backups.
    pub(crate) backup: Option<&'a Vec<String>>,
    /// The number of subflows on each.
    pub(crate) subflows: u32,
}

/// The error for an application over a transport that does not carry it: the key of the flow, and the two texts.
pub(crate) struct Refusal {
    pub(crate) key: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Refusal {
    /// That of a transport for few applications, whatever the application.
    pub(crate) fn of(transport: Protocol) -> Option<Self> {
        let (key, message, help) = match transport {
            Protocol::Icmp => {
                ("transport", "ICMP carries echo messages only", "use transport = \"tcp\", or app = \"ping\"")
            }
            Protocol::Kernel => (
                "app",
                "a kernel's own applications are transfers only",
                "use app = \"bulk\", app = \"fixed\", or programs of your own with transport.exec",
            ),
            Protocol::Mptcp => (
                "app",
                "Multipath TCP carries transfers only",
                "use app = \"bulk\" or app = \"fixed\" with one object, or transport = \"tcp\"",
            ),
            Protocol::Mpquic => (
                "app",
                "QUIC over several paths carries transfers only",
                "use app = \"bulk\" or app = \"fixed\" with one object, or transport = \"quic\"",
            ),
            Protocol::Tcp | Protocol::Udp | Protocol::Quic | Protocol::External => return None,
        };
        Some(Self { key, message: message.to_owned(), help: help.to_owned() })
    }

    /// That of an application for some transports, over another one.
    pub(crate) fn needs(transports: &[Protocol], other: Protocol) -> Self {
        let names: Vec<_> = transports.iter().map(|one| one.name()).collect();
        let kinds: Vec<_> = transports.iter().map(|one| format!("{:?}", one.kind())).collect();
        let (needed, used) = (names.join(" or "), other.name());
        Self {
            key: "app",
            message: format!("this application needs {needed}, and the flow uses {used}"),
            help: format!("use transport = {}", kinds.join(" or ")),
        }
    }
}

/// The service of a transport to the application at an end of a flow.
pub(crate) enum Carrier {
    /// Connections of TCP.
    Tcp(TcpConfig),
    /// Connections of QUIC.
    Quic(QuicConfig),
    /// A connection of Multipath TCP.
    Mptcp(Box<MptcpConnection>),
    /// A connection of QUIC over several paths.
    Mpquic(Box<MultipathConfig>),
    /// Datagrams with this ECN field.
    Udp(Ecn),
    /// Echo messages.
    Icmp,
    /// Nothing: the end is outside of the simulation, and this is the node where its packets leave.
    Outside(Box<dyn Node>),
}

impl Carrier {
    /// For an application that this transport does not carry.
    pub(crate) fn mismatch(&self) -> ! {
        unreachable!("checked when the scenario was resolved")
    }
}

impl Transport {
    /// Whether a flow may use several accesses at a time.
    #[must_use]
    pub fn is_multipath(&self) -> bool {
        self.path_keys().is_some()
    }

    /// Its keys about paths, if it may have several.
    pub(crate) fn path_keys(&self) -> Option<PathKeys<'_>> {
        let (what, paths, backup, subflows) = match self {
            Self::Mptcp(mptcp) => ("Multipath TCP", &mptcp.paths, &mptcp.backup, mptcp.subflows),
            Self::Mpquic(mpquic) => ("QUIC over several paths", &mpquic.paths, &mpquic.backup, 1),
            Self::Kernel(Kernel { mptcp: Some(mptcp), .. }) => {
                ("Multipath TCP", &mptcp.paths, &mptcp.backup, 1)
            }
            Self::Kernel(_) | Self::Tcp(_) | Self::Udp(_) | Self::Quic(_) | Self::Icmp | Self::External => {
                return None;
            }
        };
        Some(PathKeys { what, paths: paths.as_ref(), backup: backup.as_ref(), subflows })
    }

    pub(crate) const fn protocol(&self) -> Protocol {
        match self {
            Self::Tcp(_) => Protocol::Tcp,
            Self::Udp(_) => Protocol::Udp,
            Self::Quic(_) => Protocol::Quic,
            Self::Kernel(_) => Protocol::Kernel,
            Self::Mptcp(_) => Protocol::Mptcp,
            Self::Mpquic(_) => Protocol::Mpquic,
            Self::Icmp => Protocol::Icmp,
            Self::External => Protocol::External,
        }
    }

    /// Its service to the application at this end.
    pub(crate) fn carrier(&self, end: &Endpoint<'_>) -> Carrier {
        match self {
            Self::Tcp(tcp) => Carrier::Tcp(tcp_config(tcp, end.setup)),
            Self::Quic(quic) => Carrier::Quic(quic::quic_config(quic, end.setup, &end.one.name)),
            Self::Udp(udp) => Carrier::Udp(match udp.ecn {
                UdpEcn::NotEct => Ecn::NotCapable,
                UdpEcn::Ect0 => Ecn::Capable0,
                UdpEcn::Ect1 => Ecn::Capable1,
            }),
            Self::Mptcp(mptcp) => Carrier::Mptcp(Box::new(mptcp::connection(mptcp, end))),
            Self::Mpquic(mpquic) => Carrier::Mpquic(Box::new(mpquic::config(mpquic, end))),
            Self::Icmp => Carrier::Icmp,
            Self::External => Carrier::Outside(Box::new(Exit::new())),
            Self::Kernel(kernel) => match kernel.simulated(end.is_server()) {
                None if kernel.mptcp.is_some() => {
                    let ports = subflow_ports(end.setup.scenario, end.path.flow, end.one);
                    Carrier::Outside(Box::new(Exit::of_paths(ports)))
                }
                None => Carrier::Outside(Box::new(Exit::of_streams())),
                Some(tcp) => Carrier::Tcp(tcp_config(tcp, end.setup)),
            },
        }
    }

    /// Whether its controller needs the use of the cell, in radio information.
    pub fn needs_cell_use(&self) -> bool {
        let congestion = match self {
            Self::Tcp(tcp) => tcp.congestion,
            Self::Quic(quic) => quic.congestion,
            Self::Udp(_)
            | Self::Kernel(_)
            | Self::Mptcp(_)
            | Self::Mpquic(_)
            | Self::Icmp
            | Self::External => return false,
        };
        congestion == Congestion::Pbe
    }

    /// Its loss discriminator, if it has one.
    pub const fn loss_discriminator(&self) -> Option<&LossDiscriminator> {
        match self {
            Self::Tcp(tcp) => Some(&tcp.loss_discriminator),
            Self::Quic(quic) => Some(&quic.loss_discriminator),
            Self::Udp(_)
            | Self::Kernel(_)
            | Self::Mptcp(_)
            | Self::Mpquic(_)
            | Self::Icmp
            | Self::External => None,
        }
    }
}
