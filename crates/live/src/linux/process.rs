//! The processes of a live run, see the crate's page for a picture.

use core::ops::Range;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use airlane_scenario::{RealEnd, Resolved};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getppid};
use serde::Deserialize;

use crate::LiveError;
use crate::ends::{EndId, Ends, by_host};
use crate::linux::address::{Addresses, DeviceSettings, Interfaces};
use crate::linux::cell_process::{self, CellSetup, LiveOutput};
use crate::linux::clock::Priority;
use crate::linux::host::{self, HostDevice};
use crate::linux::launcher;
use crate::linux::mptcp;
use crate::linux::namespace::{self, NetworkNamespace};
use crate::linux::socket::Messages;
use crate::linux::tun::{self, Tun};

/// Smallest MTU: every host must take a packet of 68 bytes (RFC 791 §3.2).
const MTU_MIN: u32 = 68;
/// Smallest MTU with IPv6 (RFC 8200 §5).
const MTU_MIN_V6: u32 = 1280;
/// Largest MTU that a TUN device takes.
const MTU_MAX: u32 = 65535;

/// Signals that the processes of a run ignore. Ctrl-C reaches all processes of the terminal: applications decide
/// for themselves, and the parent ends the others.
pub(crate) const IGNORED: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGPIPE];

/// Parameters of a live run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveConfig {
    /// The resolved scenario, as JSON.
    pub scenario: String,
    /// The seed of its random streams.
    pub seed: u64,
    /// Names of the UEs that are real.
    pub real: Vec<String>,
    /// Simulated flows of real UEs that run nevertheless.
    pub keep: Vec<String>,
    /// Largest IP packet of the applications, in bytes.
    pub mtu: u32,
    /// Packets, or bursts, that the kernel keeps for a device until they are read.
    pub queue: u32,
    /// The congestion control of connections, of those that the kernel has; absent for its default.
    pub congestion: Option<String>,
    /// Parameters of the network namespaces, as sysctl(8).
    pub sysctl: BTreeMap<String, String>,
    /// Whether the cell process waits for packets without sleeping.
    pub busy_poll: bool,
    /// Whether the process uses SCHED_FIFO.
    pub fifo: bool,
    /// The core on which it runs.
    pub core: Option<usize>,
    /// The lateness, in microseconds, beyond which the run was not in real time.
    pub bound_us: u64,
    /// The file of the flight recorder, and its largest size in bytes.
    pub flight: Option<(String, u64)>,
    /// Interfaces of the host's network, by number: 0 for that of the server, then those of the UEs.
    pub hosts: BTreeMap<usize, String>,
    /// The machine forwards packets of these interfaces, and drops them by itself.
    pub forwarding_dropped: bool,
    /// The socket at which a service gets the radio information.
    #[serde(default)]
    pub rnis: Option<String>,
    /// The prefix of capture files.
    pub captures: Option<String>,
    /// Socket to the launcher.
    pub launcher: RawFd,
    /// Socket to the cell process.
    pub cell: RawFd,
    /// The process that asked for the run, with which it ends.
    pub parent: i32,
}

/// Devices of the host's network by the number of the server or UE that is behind each.
type Hosts = BTreeMap<usize, HostDevice>;

/// Makes a live run. The calling process, which must have one thread, becomes three: this function returns in
/// the one that was the cell, after its end. In the others it returns only an error of theirs.
///
/// # Errors
/// If the scenario or a setting is wrong, or the system forbids a step.
pub fn run(config: &LiveConfig) -> Result<LiveOutput, LiveError> {
    // The descriptors come from the parent process, which names each once.
    // SAFETY: these two descriptors have no other owner in this process.
    let [launcher, cell] =
        [config.launcher, config.cell].map(|fd| Messages::new(unsafe { OwnedFd::from_raw_fd(fd) }));
    let resolved = Resolved::from_json(&config.scenario).map_err(|e| LiveError::new(e.to_string(), ""))?;
    let prepared = resolved.for_real(&config.real, &config.keep);
    let (resolved, real) = prepared.map_err(|e| LiveError::new(e.to_string(), ""))?;
    check_mtu(config.mtu)?;
    check_congestion(config.congestion.as_deref())?;
    check_accesses(config.mtu, &real)?;
    check_hosts(config, &real)?;
    end_with(config.parent)?;
    let open =
        |(&end, name): (&usize, &String)| Ok((end, HostDevice::open(name, config.forwarding_dropped)?));
    let hosts: Hosts = config.hosts.iter().map(open).collect::<Result<_, LiveError>>()?;
    if hosts.len() > config.real.len() {
        drop(launcher);
        return between_hosts(config, &resolved, &real, hosts, cell);
    }
    namespace::isolate()?;
    // SAFETY: this process has one thread, so that the child finds no lock taken.
    match unsafe { fork() }.map_err(|e| LiveError::new(format!("cannot create a process: {e}"), ""))? {
        ForkResult::Parent { child } => {
            drop((launcher, cell, hosts));
            wait_for(child)
        }
        ForkResult::Child => first_process(config, &resolved, &real, hosts, [launcher, cell]),
    }
}

/// The network in this process, which runs no application: all ends are outside. It needs no namespaces, which
/// a container may forbid.
fn between_hosts(
    config: &LiveConfig,
    resolved: &Resolved,
    real: &[RealEnd],
    hosts: Hosts,
    cell: Messages,
) -> Result<LiveOutput, LiveError> {
    let devices = hosts.into_values().map(host::Device::Host).collect();
    let priority = Priority { fifo: config.fifo, core: config.core };
    cell_process::run(CellSetup { config, resolved, real, devices, interfaces: vec![], priority }, cell)
}

/// The process is killed when its parent ends, even if that is killed.
fn end_with(parent: i32) -> Result<(), LiveError> {
    let set = prctl::set_pdeathsig(Signal::SIGKILL);
    set.map_err(|e| LiveError::new(format!("cannot end together with the parent process: {e}"), ""))?;
    if getppid().as_raw() != parent && parent != 0 {
        return Err(LiveError::new("the parent process has ended", ""));
    }
    for ignored in IGNORED {
        // SAFETY: ignoring a signal installs no handler.
        let _ = unsafe { signal(ignored, SigHandler::SigIgn) };
    }
    Ok(())
}

/// Waits for the first process of the PID namespace, and ends as it did.
fn wait_for(child: Pid) -> ! {
    let code = loop {
        match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, code)) => break code,
            Ok(WaitStatus::Signaled(_, signal, _)) => break 128 + signal as i32,
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => break 1,
        }
    };
    // SAFETY: ends the process without the interpreter's clean-up, which belongs to the process before the fork.
    unsafe { nix::libc::_exit(code) }
}

fn first_process(
    config: &LiveConfig,
    resolved: &Resolved,
    real: &[RealEnd],
    mut hosts: Hosts,
    [launcher, cell]: [Messages; 2],
) -> Result<LiveOutput, LiveError> {
    // The parent is in another PID namespace, where its number is 0.
    end_with(0)?;
    let ends = Ends::of(real);
    namespace::mount_proc();
    let own = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let own = own.map_or_else(String::new, |name| format!("127.0.1.1 {name}\n"));
    namespace::mount_hosts(&(ends.hosts_file() + &own))?;
    let (mut networks, mut at_ends, mut interfaces) = (vec![], vec![], vec![]);
    for (number, ends) in ends_of_hosts(real).into_iter().enumerate() {
        let Host { network, tuns, interface } = Host::create(config, &ends, subflows(real))?;
        networks.push(network);
        if let Some(host) = hosts.remove(&number) {
            at_ends.push(host::Device::Host(host));
        } else {
            at_ends.extend(tuns.into_iter().map(host::Device::Tun));
            interfaces.push(interface);
        }
    }
    // SAFETY: as before, this process has one thread.
    match unsafe { fork() }.map_err(|e| LiveError::new(format!("cannot create a process: {e}"), ""))? {
        ForkResult::Parent { child } => {
            drop((cell, at_ends, interfaces));
            let code = launcher::serve(launcher, &networks, child);
            // SAFETY: as above.
            unsafe { nix::libc::_exit(code) }
        }
        ForkResult::Child => {
            drop((launcher, networks));
            let priority = Priority { fifo: config.fifo, core: config.core };
            cell_process::run(
                CellSetup { config, resolved, real, devices: at_ends, interfaces, priority },
                cell,
            )
        }
    }
}

/// The ends of the server, and those of each UE.
fn ends_of_hosts(real: &[RealEnd]) -> Vec<Vec<EndId>> {
    let ues = by_host(real).into_iter().map(|places| places.map(|end| EndId::Ue(end as u16)).collect());
    core::iter::once(vec![EndId::Server]).chain(ues).collect()
}

/// The largest number of subflows of a connection besides the first; 0 if each UE has one access.
fn subflows(real: &[RealEnd]) -> usize {
    by_host(real).iter().map(|ends| ends.len() - 1).max().unwrap_or(0)
}

/// A network namespace with a TUN device for each of its ends.
struct Host {
    network: NetworkNamespace,
    tuns: Vec<Tun>,
    interface: Interfaces,
}

impl Host {
    fn create(config: &LiveConfig, ends: &[EndId], subflows: usize) -> Result<Self, LiveError> {
        let network = NetworkNamespace::create()?;
        let names: Vec<_> = (0..ends.len()).map(tun::name).collect();
        let tuns = names.iter().map(|name| Tun::create(name)).collect::<Result<_, _>>()?;
        let mut interface = Interfaces::open()?;
        // A device has one address of each version, and no neighbours to ask.
        for (name, key) in names.iter().flat_map(|name| ["addr_gen_mode", "accept_ra"].map(|key| (name, key)))
        {
            let quiet = if key == "accept_ra" { "0" } else { "1" };
            // A kernel without IPv6 has no such parameters.
            let _ = namespace::set_parameter(&format!("net.ipv6.conf.{name}.{key}"), quiet);
        }
        for (key, value) in &config.sysctl {
            namespace::set_parameter(key, value)?;
        }
        let has_v6 = config.mtu >= MTU_MIN_V6;
        let of = |&end| Addresses { v4: Ends::v4(end), v6: has_v6.then(|| Ends::v6(end)) };
        let addresses: Vec<_> = ends.iter().map(of).collect();
        let congestion = config.congestion.as_deref();
        let settings = DeviceSettings { mtu: config.mtu, queue: config.queue, congestion };
        let indexes = interface.configure(&addresses, settings)?;
        if subflows > 0 {
            let several = if ends.len() > 1 { &addresses[..] } else { &[] };
            mptcp::set_up(several.iter().copied().zip(indexes), subflows)?;
        }
        Ok(Self { network, tuns, interface })
    }
}

/// The kernel has an address of each version for each access.
fn check_accesses(mtu: u32, real: &[RealEnd]) -> Result<(), LiveError> {
    let versions = if mtu >= MTU_MIN_V6 { 2 } else { 1 };
    let groups = by_host(real);
    let many = |ends: &&Range<usize>| ends.len() > 1 && ends.len() * versions > mptcp::ADDRESSES_MAX;
    let Some(ends) = groups.iter().find(many) else { return Ok(()) };
    let (name, count, most) = (&real[ends.start].host, ends.len(), mptcp::ADDRESSES_MAX);
    let addresses = count * versions;
    let what =
        format!("{name} has {count} accesses with {addresses} addresses, and MPTCP of Linux takes {most}");
    let help = format!("name at most {} accesses, or {most} with --mtu below {MTU_MIN_V6}", most / 2);
    Err(LiveError::new(what, help))
}

/// An interface of the host's network is one access.
fn check_hosts(config: &LiveConfig, real: &[RealEnd]) -> Result<(), LiveError> {
    let groups = by_host(real);
    let several = |number: &&usize| {
        number.checked_sub(1).and_then(|ue| groups.get(ue)).is_some_and(|ends| ends.len() > 1)
    };
    let Some(number) = config.hosts.keys().find(several) else { return Ok(()) };
    let (name, interface) = (&real[groups[number - 1].start].host, &config.hosts[number]);
    let what = format!("--host {name}={interface}: {name} has several accesses, and an interface is one");
    Err(LiveError::new(what, format!("name one access in `access` of {name}, or leave out --host")))
}

/// The kernel ignores a name that it does not know.
fn check_congestion(name: Option<&str>) -> Result<(), LiveError> {
    const KNOWN: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let known = fs::read_to_string(KNOWN).unwrap_or_default();
    match name {
        Some(name) if !known.split_whitespace().any(|one| one == name) => {
            let help =
                format!("it has: {}; others must be loaded by root (modprobe tcp_{name})", known.trim());
            Err(LiveError::new(format!("--congestion {name}: the kernel does not have it"), help))
        }
        _ => Ok(()),
    }
}

fn check_mtu(mtu: u32) -> Result<(), LiveError> {
    if (MTU_MIN..=MTU_MAX).contains(&mtu) {
        return Ok(());
    }
    let help = format!("choose {MTU_MIN} to {MTU_MAX} bytes; IPv6 needs {MTU_MIN_V6}");
    Err(LiveError::new(format!("--mtu {mtu}: no network has it"), help))
}
