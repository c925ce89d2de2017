//! The hosts of a guest, and the jobs of its agent.

use core::fmt::Write;
use core::net::Ipv4Addr;

use airlane_assembly::{FlowEnd, KernelFlow};
use airlane_core::{Direction, Duration, Instant};
use airlane_scenario::format::{App, Kernel, Requests};

/// Addresses of hosts, as in captures: the server, and the base of the UEs, of which the first has number 1.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const UES: u32 = u32::from_be_bytes([10, 1, 0, 0]);
/// Ports, also as in captures: data is sent from this one plus the number of the flow ...
const FIRST_SOURCE_PORT: u16 = 50_000;
/// ... to this one.
const SINK_PORT: u16 = 5203;
/// The states of connections are read this long before the end of each bin, so that they belong to it.
const BEFORE_BIN_END: Duration = Duration::from_micros(50);
/// The server's program of `exec` starts this long before the UE's.
const SERVER_FIRST: Duration = Duration::from_millis(100);
/// The time of day at the begin of a run, in nanoseconds since 1970: 2023-11-14 22:13:20 UTC. It must be the same in
/// every run, and is arbitrary otherwise.
pub(crate) const EPOCH: u64 = 1_700_000_000_000_000_000;

/// Parameters that would otherwise depend on the memory of a guest at its start. The values are those of a host with
/// several gigabytes: `tcp_rmem` and `tcp_wmem` are the largest defaults (tcp_init of Linux 6.12).
pub(crate) const FIXED: [(&str, &str); 3] = [
    ("net.ipv4.tcp_mem", "190000 253000 380000"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
];

/// Flags of an endpoint of the path manager (`MPTCP_PM_ADDR_FLAG_` in include/uapi/linux/mptcp.h).
const FLAG_SIGNAL: u32 = 1 << 0;
const FLAG_SUBFLOW: u32 = 1 << 1;
const FLAG_BACKUP: u32 = 1 << 2;

/// A host of a guest: an end of a flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Host {
    /// Which flow, by its place in the list of the run.
    pub(crate) flow: usize,
    pub(crate) end: FlowEnd,
    /// Its first interface in the guest; the first of all is that of reports.
    pub(crate) nic: u16,
    /// The number of its interfaces: one, or one for each path of the UE.
    pub(crate) nics: u16,
}

impl Host {
    /// The path of an interface.
    pub(crate) fn path(&self, nic: u16) -> Option<usize> {
        nic.checked_sub(self.nic).filter(|path| *path < self.nics).map(usize::from)
    }
}

/// The address of an end: with several paths, that of the first.
pub(crate) fn address(flow: &KernelFlow, end: FlowEnd) -> Ipv4Addr {
    match end {
        FlowEnd::Server => SERVER,
        FlowEnd::Host => flow.paths.first().map_or(Ipv4Addr::from_bits(UES + flow.ue + 1), |path| path.host),
    }
}

/// The ports of a flow with one connection, at the server and at the UE.
pub(crate) fn ports(flow: &KernelFlow) -> (u16, u16) {
    let own = FIRST_SOURCE_PORT + flow.flow.0 as u16;
    match flow.direction {
        Direction::Downlink => (own, SINK_PORT),
        Direction::Uplink => (SINK_PORT, own),
    }
}

/// The number of interfaces of an end.
pub(crate) fn interfaces(flow: &KernelFlow, end: FlowEnd) -> usize {
    match end {
        FlowEnd::Server => 1,
        FlowEnd::Host => flow.paths.len().max(1),
    }
}

/// The ends of the flows that are the kernel's, with their network interfaces.
pub(crate) fn hosts(flows: &[KernelFlow], chosen: &[usize]) -> Vec<Host> {
    let ends = |&flow: &usize| {
        assert!(flow < flows.len(), "it was chosen from these flows");
        let of_kernel = [FlowEnd::Server, FlowEnd::Host].into_iter().filter(move |&end| flows[flow].has(end));
        of_kernel.map(move |end| (flow, end, interfaces(&flows[flow], end) as u16))
    };
    let mut nic = 1;
    let placed = |(flow, end, nics)| {
        nic += nics;
        Host { flow, end, nic: nic - nics, nics }
    };
    chosen.iter().flat_map(ends).map(placed).collect()
}

/// The jobs of all hosts. `every` is the time between two reports of the state of a connection.
pub(crate) fn jobs(flows: &[KernelFlow], hosts: &[Host], every: Duration) -> String {
    let mut text = String::new();
    for host in hosts {
        let flow = &flows[host.flow];
        write_host(&mut text, host, flow, every).expect("a string takes everything");
        let own = flow.kernel.sysctl.iter().map(|(name, value)| (parameter(name), value.0.as_str()));
        let fixed = FIXED.iter().map(|&(name, value)| (name.to_owned(), value));
        for (name, value) in fixed.chain(own) {
            writeln!(text, "sysctl {name}={value}").expect("a string takes everything");
        }
        write_paths(&mut text, host, flow).expect("a string takes everything");
        if let Some(exec) = &flow.kernel.exec {
            let command = if host.end == FlowEnd::Server { &exec.server } else { &exec.ue };
            writeln!(text, "run {command}").expect("a string takes everything");
        }
    }
    text
}

/// The full name of a parameter.
fn parameter(name: &str) -> String {
    if name.contains(['.', '/']) { name.replace('/', ".") } else { format!("net.ipv4.{name}") }
}

fn write_host(
    text: &mut String,
    &Host { end, nic, nics, .. }: &Host,
    flow: &KernelFlow,
    every: Duration,
) -> core::fmt::Result {
    let Kernel { congestion, mtu, gro, gso, write_size, exec, requests, .. } = &flow.kernel;
    let peer = if end == FlowEnd::Server { FlowEnd::Host } else { FlowEnd::Server };
    let (server_port, ue_port) = ports(flow);
    let (own_port, peer_port) =
        if end == FlowEnd::Server { (server_port, ue_port) } else { (ue_port, server_port) };
    let sends = (end == FlowEnd::Server) == (flow.direction == Direction::Downlink);
    let role = match (exec, requests, sends) {
        (Some(_), ..) => "run",
        (None, Some(_), true) => "answer",
        (None, Some(_), false) => "ask",
        (None, None, true) => "send",
        (None, None, false) => "sink",
    };
    // Only the end that sends the data of a flow reports the state of the flow.
    let every =
        if role == "ask" || (role == "sink" && !flow.paths.is_empty()) { Duration::ZERO } else { every };
    let first = if exec.is_some() && end == FlowEnd::Server { SERVER_FIRST } else { Duration::ZERO };
    let start = time_of_day(flow.start).saturating_sub(first.as_nanos());
    let stop = flow.stop.map_or(0, time_of_day);
    let bytes = match (&flow.app, requests) {
        (_, Some(requests)) => requests.reply.0.get(),
        (App::Fixed(fixed), None) => fixed.size.0.get(),
        _ => 0,
    };
    let sample_from = EPOCH + every.as_nanos().saturating_sub(BEFORE_BIN_END.as_nanos());
    write!(
        text,
        "host nic={nic} address={} mtu={} gro={} gso={} role={role} to={} from_port={own_port} \
         to_port={peer_port} start={start} stop={stop} bytes={bytes} write={} congestion={congestion} every={} \
         sample_from={sample_from}",
        address(flow, end),
        mtu.0.get(),
        u8::from(*gro),
        u8::from(*gso),
        address(flow, peer),
        write_size.0.get(),
        every.as_nanos(),
    )?;
    if let Some(Requests { request, count, interval, .. }) = requests {
        let (size, count) = (request.0.get(), count.unwrap_or(0));
        let interval = interval.map_or(0, |time| time.0.as_nanos());
        write!(text, " request={size} count={count} interval={interval}")?;
    }
    if !flow.paths.is_empty() {
        // The UE opens connections over several paths, as those of the simulated Multipath TCP.
        write!(text, " mptcp=1 nics={nics} opens={}", u8::from(end == FlowEnd::Host))?;
    }
    writeln!(text)
}

/// The interfaces, addresses and path manager of a host with several paths.
fn write_paths(text: &mut String, host: &Host, flow: &KernelFlow) -> core::fmt::Result {
    if flow.paths.is_empty() {
        return Ok(());
    }
    let others = (1..).zip(&flow.paths[1..]);
    let announced = flow.paths.iter().filter(|path| path.announced.is_some()).count();
    let accepted = if host.end == FlowEnd::Host { announced } else { 0 };
    writeln!(text, "limits {} {accepted}", flow.paths.len() - 1)?;
    for (index, path) in others {
        let backup = if path.backup { FLAG_BACKUP } else { 0 };
        match (host.end, path.announced) {
            (FlowEnd::Server, None) => {}
            (FlowEnd::Server, Some(own)) => {
                writeln!(text, "address {} {own}", host.nic)?;
                writeln!(text, "endpoint {} {own} {}", host.nic, FLAG_SIGNAL | backup)?;
            }
            (FlowEnd::Host, announced) => {
                let nic = host.nic + index;
                writeln!(text, "interface {nic} {}", path.host)?;
                match announced {
                    None => writeln!(text, "endpoint {nic} {} {}", path.host, FLAG_SUBFLOW | backup)?,
                    Some(server) => writeln!(text, "route {nic} {server}")?,
                }
            }
        }
    }
    Ok(())
}

fn time_of_day(at: Instant) -> u64 {
    EPOCH + at.as_nanos()
}

#[cfg(test)]
mod tests;
