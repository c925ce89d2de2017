//! Requirements of the proxy, and the rules and routes.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use nix::net::if_::if_nametoindex;
use nix::sys::resource::{Resource, getrlimit};

use super::config::{Config, LegConfig};
use super::forward;
use super::legs::{self, Leg};
use crate::requirement::Requirement;
use crate::setup::Setup;

/// Name of the table of nftables.
const TABLE: &str = "airlane_split_proxy";
/// Open files other than those of connections and pipes: standard streams, timers, listening sockets, metrics.
const FILES_BESIDE: u64 = 128;

impl Config {
    pub(super) fn leg(&self, leg: Leg) -> &LegConfig {
        match leg {
            Leg::Ran => &self.ran,
            Leg::Core => &self.core,
        }
    }

    /// IPv4, and IPv6 if it is wanted.
    pub(super) fn families(&self) -> &'static [bool] {
        if self.proxy.ipv6 { &[false, true] } else { &[false] }
    }

    /// Open files with all connections and pipes.
    pub(super) fn files(&self) -> u64 {
        u64::from(self.proxy.connections) * 2 + u64::from(self.proxy.pipes) * 2 + FILES_BESIDE
    }

    /// The rules, routes and parameters.
    pub(super) fn setup(&self) -> Setup {
        let (mark, table) = (self.proxy.mark, self.proxy.table);
        let mut setup = Setup {
            nftables: Some((self.nftables(), format!("nft delete table inet {TABLE}"))),
            ..Setup::default()
        };
        let mut sysctl = |key: &str, value: &str| setup.sysctl.push((key.to_owned(), value.to_owned()));
        // Other packets are forwarded.
        sysctl("net.ipv4.ip_forward", "1");
        if self.proxy.ipv6 {
            sysctl("net.ipv6.conf.all.forwarding", "1");
        }
        // A client may use its port again while the connection of the proxy is in TIME-WAIT (RFC 6191).
        sysctl("net.ipv4.tcp_tw_reuse", "1");
        sysctl("net.core.somaxconn", "4096");
        for (family, all) in [("", "0.0.0.0/0"), ("-6 ", "::/0")].iter().take(self.families().len()) {
            let rule = format!("fwmark {mark} lookup {table}");
            let route = format!("local {all} dev lo table {table}");
            setup.routes.push((format!("{family}rule add {rule}"), format!("{family}rule del {rule}")));
            setup.routes.push((format!("{family}route add {route}"), format!("{family}route del {route}")));
        }
        setup
    }

    /// The table of nftables.
    fn nftables(&self) -> String {
        let mark = self.proxy.mark;
        // An existing table is replaced, in one step.
        let mut text = format!("table inet {TABLE}\ndelete table inet {TABLE}\n");
        let _ = write!(text, "table inet {TABLE} {{\n  chain prerouting {{\n");
        text += "    type filter hook prerouting priority mangle; policy accept;\n";
        text += "    # Proxied connections pass the hooks prerouting, input and output, never forward: a rule for them\n";
        text += "    # belongs into a chain of prerouting with a priority below mangle, such as raw.\n";
        text += "    # Packets, and ICMP errors, of connections that the proxy has.\n";
        let _ = writeln!(
            text,
            "    meta l4proto {{ tcp, icmp, ipv6-icmp }} socket transparent 1 meta mark set {mark} accept"
        );
        text += "    # Addresses of this machine itself.\n    fib daddr type { local, broadcast, multicast } accept\n";
        text += "    # New connections. If the proxy does not run, they pass unchanged.\n";
        for leg in Leg::ALL {
            let LegConfig { interface, ports, port, .. } = self.leg(leg);
            let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
            let ports = if ports.is_empty() {
                String::new()
            } else {
                format!("tcp dport {{ {} }} ", ports.join(", "))
            };
            for &v6 in self.families() {
                let (family, word) = if v6 { ("ipv6", "ip6") } else { ("ipv4", "ip") };
                let address = legs::listening_address(*port, v6);
                let _ = writeln!(
                    text,
                    "    iifname \"{interface}\" meta nfproto {family} tcp flags & (fin | syn | rst | ack) == syn {ports}\\\n      \
                     tproxy {word} to {address} meta mark set {mark} accept"
                );
            }
        }
        text + "  }\n}"
    }

    /// Rights, functions of the kernel and set-up, each with its state.
    pub(super) fn requirements(&self) -> Vec<Requirement> {
        let mut found = vec![];
        let help = "start the node as root, or with CAP_NET_RAW: AmbientCapabilities=CAP_NET_RAW in its unit; a \
                    congestion control must be loaded (modprobe tcp_NAME), and in \
                    net.ipv4.tcp_allowed_congestion_control";
        for leg in Leg::ALL {
            for &v6 in self.families() {
                let name = format!(
                    "{}: transparent IPv{} socket with its options",
                    leg.name(),
                    if v6 { 6 } else { 4 }
                );
                found.push(Requirement::tried(name, legs::trial(self.leg(leg), v6), help));
            }
            let name = &self.leg(leg).interface;
            let tried = if_nametoindex(name.as_str()).map(|_| ());
            let help = format!("set {}.interface to one that `ip link` prints", leg.name());
            found.push(Requirement::tried(format!("{}: interface {name}", leg.name()), tried, &help));
        }
        found.push(self.files_allowed());
        found.push(self.rules_loaded());
        let ruleset = run("nft", &["list", "ruleset"], "").map_err(|e| e.to_string());
        found.push(forward::requirement(&self.proxy, ruleset));
        for &v6 in self.families() {
            found.push(self.routed(v6));
        }
        for (key, value) in &self.setup().sysctl {
            found.push(sysctl_set(key, value));
        }
        found
    }

    fn files_allowed(&self) -> Requirement {
        let need = self.files();
        let name = format!("{need} open files");
        match getrlimit(Resource::RLIMIT_NOFILE) {
            Ok((_, hard)) if hard >= need => Requirement::met(name),
            Ok((_, hard)) => {
                let why =
                    format!("the limit is {hard}; set LimitNOFILE={need} in the unit, or fewer connections");
                Requirement::missing(name, why)
            }
            Err(e) => Requirement::missing(name, e.to_string()),
        }
    }

    fn rules_loaded(&self) -> Requirement {
        let name = format!("nftables: table inet {TABLE}");
        if run("nft", &["list", "table", "inet", TABLE], "").is_ok() {
            return Requirement::met(name);
        }
        let help = "run the script of --print-setup";
        match run("nft", &["--check", "--file", "-"], &self.nftables()) {
            Ok(_) => Requirement::missing(name, format!("not loaded; {help}")),
            Err(e) => Requirement::missing(
                name,
                format!("{e}; the kernel needs NFT_TPROXY, NFT_SOCKET, NFT_FIB_INET"),
            ),
        }
    }

    fn routed(&self, v6: bool) -> Requirement {
        let family = if v6 { "-6" } else { "-4" };
        let (mark, table) = (self.proxy.mark.to_string(), self.proxy.table.to_string());
        let name = format!("ip {family}: marked packets are delivered locally");
        let rule = run("ip", &[family, "rule", "show", "fwmark", &mark, "table", &table], "");
        let route = run("ip", &[family, "route", "show", "table", &table, "type", "local"], "");
        match (rule, route) {
            (Ok(rule), Ok(route)) if !rule.trim().is_empty() && !route.trim().is_empty() => {
                Requirement::met(name)
            }
            (Err(e), _) if e.kind() == io::ErrorKind::NotFound => {
                Requirement::missing(name, "the program ip is missing: install iproute2")
            }
            _ => Requirement::missing(name, "no rule or route; run the script of --print-setup"),
        }
    }
}

/// A parameter of the kernel that has at least this value.
fn sysctl_set(key: &str, value: &str) -> Requirement {
    let name = format!("{key} = {value}");
    match std::fs::read_to_string(format!("/proc/sys/{}", key.replace('.', "/"))) {
        Ok(found) if found.trim().parse::<u64>().ok() >= value.parse().ok() => Requirement::met(name),
        Ok(found) => {
            Requirement::missing(name, format!("it is {}; run the script of --print-setup", found.trim()))
        }
        Err(e) => Requirement::missing(name, e.to_string()),
    }
}

/// The output of a program that succeeds.
fn run(program: &str, arguments: &[&str], input: &str) -> io::Result<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| io::Error::new(e.kind(), format!("{program}: {e}")))?;
    child.stdin.take().expect("piped").write_all(input.as_bytes())?;
    let done = child.wait_with_output()?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("{program}: {}", said.lines().next().unwrap_or("failed"))))
}
