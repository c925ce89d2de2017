//! The settings of the proxy.

use airlane_settings::SettingsError;
use airlane_settings::quantity::{Rate, Size, Time};
use airlane_settings::{Wrong, from_toml};
use serde::{Deserialize, Serialize};

use crate::common::{self, Common};

/// Settings that a file may leave out.
const DEFAULTS: &str = r#"
[proxy]
connect = "after-handshake"
connections = 10000
per_client = 1000
when_full = "refuse"
memory = "3 GiB"
pipe = "256 KiB"
pipes = 1024
connect_timeout = "60 s"
stall_timeout = "300 s"
stall_rate = "4 kbit/s"
idle_timeout = "7440 s"
half_closed_timeout = "240 s"
forward_checked = false
ipv6 = true
mark = 1
table = 100

[ran]
port = 15001
ports = []

[core]
port = 15002
ports = []
"#;

/// Less than the buffers of a single connection would be too little.
const MEMORY_MIN: u64 = 1 << 20;
/// Smallest capacity of a pipe: one page.
const PIPE_MIN: u64 = 4096;
/// Largest capacity of a pipe: what Linux allows without CAP_SYS_RESOURCE (`fs.pipe-max-size`, pipe(7)).
const PIPE_MAX: u64 = 1 << 20;
/// Limit of `connections`. Each has two sockets, and Linux allows 1,048,576 open files (`fs.nr_open`, proc(5)).
const CONNECTIONS_MAX: u32 = 500_000;
/// Limit of a size that a socket option has as a signed number of 32 bits.
const OPTION_MAX: u64 = i32::MAX as u64;

/// All settings of the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// Settings that all kinds of nodes share.
    pub node: Common,
    /// Bounds, timeouts, and the numbers of the rules and routes.
    pub proxy: Limits,
    /// The side of the UEs.
    pub ran: LegConfig,
    /// The side of the internet.
    pub core: LegConfig,
}

/// Bounds, timeouts, and the numbers of the rules and routes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// When the proxy connects to the far end.
    pub connect: ConnectOrder,
    /// Maximum number of simultaneous connections.
    pub connections: u32,
    /// Maximum number of simultaneous connections of one client: an IPv4 address, or an IPv6 prefix of 64 bits.
    pub per_client: u32,
    /// The treatment of further connections.
    pub when_full: WhenFull,
    /// Maximum memory of the buffers and pipes of all connections.
    pub memory: Size,
    /// Capacity of a pipe between two sockets.
    pub pipe: Size,
    /// Maximum number of pipes. Only a direction with waiting data has one.
    pub pipes: u32,
    /// Time without an answer of the far end to the SYN.
    pub connect_timeout: Time,
    /// Time for which data waits in a direction without progress.
    pub stall_timeout: Time,
    /// Rate at which a receiver must take data that waits for longer than `stall_timeout`.
    pub stall_rate: Rate,
    /// Time without data in either direction.
    pub idle_timeout: Time,
    /// Idle timeout once one end has closed its direction.
    pub half_closed_timeout: Time,
    /// Whether rules for proxied connections stand where they apply, so that `--check` accepts rules of the forward hook.
    pub forward_checked: bool,
    /// Whether IPv6 is proxied, too.
    pub ipv6: bool,
    /// Mark of the packets that the kernel delivers to the proxy.
    pub mark: u32,
    /// Number of the routing table for these packets.
    pub table: u32,
}

/// A side of the proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LegConfig {
    /// The network interface.
    pub interface: String,
    /// Port of the proxy for connections that come from this side.
    pub port: u16,
    /// Destination ports that are proxied. All if the list is empty.
    pub ports: Vec<u16>,
    /// Congestion control; the default of the kernel if absent.
    pub congestion: Option<String>,
    /// Maximum receive window (`TCP_WINDOW_CLAMP`).
    pub window_clamp: Option<Size>,
    /// Maximum number of bytes that wait unsent in the kernel (`TCP_NOTSENT_LOWAT`).
    pub notsent_lowat: Option<Size>,
    /// Probes of connections without data.
    pub keepalive: Option<KeepAlive>,
    /// Time after which a connection without acknowledgments ends (`TCP_USER_TIMEOUT`).
    pub user_timeout: Option<Time>,
    /// Send buffer; the kernel adapts its size if absent.
    pub send_buffer: Option<Size>,
    /// Receive buffer; the kernel adapts its size if absent.
    pub receive_buffer: Option<Size>,
}

/// Probes of connections without data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeepAlive {
    /// Time without data until the first probe.
    pub idle: Time,
    /// Time between probes.
    pub interval: Time,
    /// Number of unanswered probes that end the connection.
    pub probes: u8,
}

/// The time of the connection to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ConnectOrder {
    /// At the arrival of the SYN, which is answered immediately.
    AtOnce,
    /// After the handshake with the near end.
    AfterHandshake,
    /// On the SYN, which is answered after the far end has answered.
    FarEndFirst,
}

/// The treatment of connections above the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WhenFull {
    /// Connections are answered with a RST.
    Refuse,
    /// Above `connections`, they wait in the queue of the kernel. Above `per_client`, they get a RST.
    Wait,
    /// Connections pass unchanged. The simulator has this rule; sockets have not.
    PassThrough,
}

impl Config {
    /// Reads the settings.
    pub(super) fn read(text: &str, file: &str) -> Result<Self, SettingsError> {
        let defaults = format!("{}{DEFAULTS}", common::DEFAULTS);
        from_toml(text, file, &defaults, Self::check)
    }

    /// The rules that types cannot express.
    fn check(&self) -> Result<(), Wrong> {
        self.proxy.check()?;
        self.ran.check("ran")?;
        self.core.check("core")?;
        if self.ran.port == self.core.port {
            let help =
                "each side has a port of its own: by it, the proxy knows where a connection comes from";
            return Err(Wrong::new("core.port", "the same port as ran.port", help));
        }
        if self.ran.interface == self.core.interface {
            let help = "the sides need different interfaces, such as \"ran0\" and \"core0\"";
            return Err(Wrong::new("core.interface", "the same interface as ran.interface", help));
        }
        Ok(())
    }
}

impl Limits {
    fn check(&self) -> Result<(), Wrong> {
        let wrong =
            |key: &str, message: &str, help: &str| Err(Wrong::new(format!("proxy.{key}"), message, help));
        match self.connect {
            ConnectOrder::AfterHandshake => {}
            ConnectOrder::AtOnce | ConnectOrder::FarEndFirst => {
                let message = "not possible with sockets: the kernel shows a connection to a program after its \
                               handshake";
                let help = "use \"after-handshake\"; the simulator has the other orders";
                return wrong("connect", message, help);
            }
        }
        if self.when_full == WhenFull::PassThrough {
            let message =
                "not possible with sockets: the kernel has answered the SYN before the proxy knows of it";
            return wrong("when_full", message, "use \"refuse\" or \"wait\"");
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) {
            return wrong("connections", "out of range", "it must be between 1 and 500000");
        }
        if self.per_client == 0 {
            return wrong("per_client", "out of range", "it must be at least 1");
        }
        if self.memory.0.get() < MEMORY_MIN {
            return wrong("memory", "out of range", "it must be at least 1 MiB");
        }
        if !(PIPE_MIN..=PIPE_MAX).contains(&self.pipe.0.get()) {
            return wrong("pipe", "out of range", "it must be between 4 KiB and 1 MiB");
        }
        if self.mark == 0 {
            return wrong("mark", "unmarked packets have the mark 0", "use another number, such as 1");
        }
        // 253 to 255 are `default`, `main` and `local`, and 0 is `unspec` (rtnetlink(7)).
        if self.table == 0 || (253..=255).contains(&self.table) {
            let help = "use a number of its own, such as 100; 0 and 253 to 255 have a meaning for the kernel";
            return wrong("table", "not a table of its own", help);
        }
        for (key, time) in [
            ("connect_timeout", self.connect_timeout),
            ("stall_timeout", self.stall_timeout),
            ("idle_timeout", self.idle_timeout),
            ("half_closed_timeout", self.half_closed_timeout),
        ] {
            if time.0.as_nanos() < 10_000_000 {
                return wrong(key, "too short", "it must be at least 10 ms");
            }
        }
        Ok(())
    }
}

impl LegConfig {
    fn check(&self, leg: &str) -> Result<(), Wrong> {
        let wrong =
            |key: &str, message: &str, help: &str| Err(Wrong::new(format!("{leg}.{key}"), message, help));
        // IFNAMSIZ is 16 with the final zero (netdevice(7)). The name is written into a rule of nftables and a
        // path, so it must not contain characters with a meaning there.
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:@".contains(c);
        let name = &self.interface;
        if name.is_empty() || name.len() > 15 || name.starts_with('.') || !name.chars().all(allowed) {
            let help =
                "write the name as `ip link` prints it; at most 15 of the characters a-z, A-Z, 0-9, -_.:@";
            return wrong("interface", "not the name of an interface", help);
        }
        if self.port == 0 {
            return wrong("port", "not a port", "it must be between 1 and 65535");
        }
        if self.ports.contains(&0) {
            return wrong("ports", "0 is not a port", "list ports between 1 and 65535, or none for all");
        }
        // TCP_CA_NAME_MAX is 16 with the final zero (linux/tcp.h).
        if let Some(name) = &self.congestion
            && (name.is_empty()
                || name.len() > 15
                || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        {
            let help = "choose one of net.ipv4.tcp_available_congestion_control, such as \"cubic\"";
            return wrong("congestion", "not the name of a congestion control", help);
        }
        for (key, size) in [
            ("window_clamp", self.window_clamp),
            ("notsent_lowat", self.notsent_lowat),
            ("send_buffer", self.send_buffer),
            ("receive_buffer", self.receive_buffer),
        ] {
            if size.is_some_and(|size| size.0.get() == 0 || size.0.get() > OPTION_MAX) {
                return wrong(key, "out of range", "it must be between 1 B and 2 GiB - 1 B");
            }
        }
        self.check_times(leg)
    }

    fn check_times(&self, leg: &str) -> Result<(), Wrong> {
        let wrong =
            |key: &str, message: &str, help: &str| Err(Wrong::new(format!("{leg}.{key}"), message, help));
        if self.user_timeout.is_some_and(|time| time.0.as_nanos() < 1_000_000) {
            return wrong("user_timeout", "too short", "it must be at least 1 ms");
        }
        let Some(keepalive) = self.keepalive else { return Ok(()) };
        // MAX_TCP_KEEPIDLE, MAX_TCP_KEEPINTVL, MAX_TCP_KEEPCNT (linux/tcp.h).
        for (key, time) in [("keepalive.idle", keepalive.idle), ("keepalive.interval", keepalive.interval)] {
            let nanos = time.0.as_nanos();
            if nanos % 1_000_000_000 != 0 || !(1..=32767).contains(&(nanos / 1_000_000_000)) {
                return wrong(key, "out of range", "it must be whole seconds between 1 s and 32767 s");
            }
        }
        if !(1..=127).contains(&keepalive.probes) {
            return wrong("keepalive.probes", "out of range", "it must be between 1 and 127");
        }
        Ok(())
    }
}
