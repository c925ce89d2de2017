//! DRWA on a real receiver: an agent that sets the largest window of chosen sockets.
//!
//! H. Jiang, Y. Wang, K. Lee and I. Rhee, "Tackling bufferbloat in 3G/4G networks", IMC 2012. Nothing but
//! `TCP_WINDOW_CLAMP` of the sockets is changed. Autotuning continues within it, and raises the clamp when it
//! enlarges the buffer (`tcp_rcv_space_adjust` in Linux); the agent then sets it again at the next sample.

mod rule;
mod settings;
mod sockets;

use std::collections::BTreeMap;
use std::io;
use std::time::Instant as HostInstant;

use airlane_core::{Bytes, Duration, Instant};
use airlane_live::tcp_info::Dump;
use airlane_settings::{SettingsError, from_toml};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::time::{MissedTickBehavior, interval};

use self::rule::{Rule, Sample};
use self::settings::Settings;
use self::sockets::{Found, Owner};
use crate::{Common, Node, NodeError, Requirement, Running, Serving, Setup};

/// The segment size until the kernel has received one.
const SEGMENT: u32 = 536;
/// Clamp of a connection that is no longer the agent's: the largest window of TCP (RFC 7323 section 2.2).
const NO_CLAMP: u32 = (1 << 30) - 1;
/// Numbers in `linux/capability.h`.
const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_DAC_READ_SEARCH: u32 = 2;
const CAP_SYS_PTRACE: u32 = 19;

/// A DRWA agent.
#[derive(Debug)]
struct Drwa {
    settings: Settings,
}

/// Reads the settings of an agent.
pub(crate) fn read(text: &str, file: &str) -> Result<Box<dyn Node>, SettingsError> {
    let settings = from_toml(text, file, &settings::defaults(), Settings::check)?;
    Ok(Box::new(Drwa { settings }))
}

impl Node for Drwa {
    fn common(&self) -> &Common {
        &self.settings.node
    }

    fn requirements(&self) -> Vec<Requirement> {
        let dump = Dump::open().and_then(|mut dump| sockets::connections(&mut dump)).map(drop);
        vec![
            Requirement::tried(
                "state of TCP sockets (NETLINK_SOCK_DIAG)",
                dump,
                "the kernel needs CONFIG_INET_DIAG",
            ),
            reach_into_others(),
        ]
    }

    fn setup(&self) -> Setup {
        Setup::default()
    }

    fn serve(self: Box<Self>, running: Running) -> Serving {
        Box::pin(serve(self.settings, running))
    }
}

/// The right to change sockets of other processes (`PTRACE_MODE_ATTACH_REALCREDS` in ptrace(2)), and to find them in
/// `/proc/PID/fd`, which only their user may read otherwise.
fn reach_into_others() -> Requirement {
    const NAME: &str = "sockets of other processes (pidfd_getfd)";
    let capability = Requirement::capability("CAP_SYS_PTRACE", CAP_SYS_PTRACE);
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let lists = Requirement::capability("CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH).missing.is_none()
        || Requirement::capability("CAP_DAC_OVERRIDE", CAP_DAC_OVERRIDE).missing.is_none();
    match (&capability.missing, scope.as_deref().map(str::trim)) {
        (None, _) if lists => Requirement::met(format!("{NAME}: of all users")),
        (None, _) => {
            Requirement::met(format!("{NAME}: of this user; those of others need CAP_DAC_READ_SEARCH"))
        }
        (Some(_), Err(_) | Ok("0")) => Requirement::met(format!("{NAME}: of this user")),
        (Some(why), Ok(scope)) => Requirement::missing(
            NAME,
            format!("kernel.yama.ptrace_scope is {scope}, and CAP_SYS_PTRACE: {why}"),
        ),
    }
}

/// Counts of an agent.
#[derive(Debug, Default)]
struct Counts {
    connections: Gauge,
    seen: Counter,
    denied: Counter,
    surplus: Counter,
    clamps: Counter,
}

impl Counts {
    fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("drwa");
        registry.register("connections", "Connections under the rule", self.connections.clone());
        registry.register("seen", "Connections that came under the rule", self.seen.clone());
        registry.register("denied", "Connections of processes that may not be reached", self.denied.clone());
        registry.register("surplus", "Connections above the maximum", self.surplus.clone());
        registry.register("clamps", "Changes of a window clamp", self.clamps.clone());
    }
}

/// A connection under the rule.
#[derive(Debug)]
struct Held {
    owner: Owner,
    rule: Rule,
}

/// The agent at work.
struct Agent {
    settings: Settings,
    counts: Counts,
    dump: Dump,
    begun: HostInstant,
    held: BTreeMap<u64, Held>,
    /// Established connections that are not under the rule.
    passed_over: Vec<u64>,
}

async fn serve(settings: Settings, running: Running) -> Result<(), NodeError> {
    let failed = |e: io::Error| NodeError::new(format!("the kernel does not report its sockets: {e}"), "");
    let counts = Counts::default();
    running.register(|registry| counts.register(registry));
    let period = |time: airlane_settings::quantity::Time| {
        let mut ticks = interval(std::time::Duration::from_nanos(time.0.as_nanos()));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    };
    let (mut samples, mut searches) = (period(settings.interval), period(settings.search));
    let dump = Dump::open().map_err(failed)?;
    let mut agent = Agent {
        settings,
        counts,
        dump,
        begun: HostInstant::now(),
        held: BTreeMap::new(),
        passed_over: vec![],
    };
    running.ready();
    tracing::info!("ready");
    loop {
        tokio::select! {
            () = running.stopping() => break,
            _ = searches.tick() => agent.search().map_err(failed)?,
            _ = samples.tick(), if !agent.held.is_empty() => agent.sample(),
        }
    }
    agent.release();
    Ok(())
}

impl Agent {
    fn now(&self) -> Instant {
        let nanos = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Instant::ZERO + Duration::from_nanos(nanos)
    }

    /// Takes new connections under the rule, and forgets those that have ended.
    fn search(&mut self) -> io::Result<()> {
        let open = sockets::connections(&mut self.dump)?;
        let is_open = |cookie: &u64| open.iter().any(|one| one.cookie == *cookie);
        self.held.retain(|cookie, _| is_open(cookie));
        self.passed_over.retain(is_open);
        for one in open {
            if self.held.contains_key(&one.cookie) || self.passed_over.contains(&one.cookie) {
                continue;
            }
            let found = match self.settings.select.takes(&one) {
                true => sockets::owner(&one, &self.settings.select.programs),
                false => Found::Nowhere,
            };
            match found {
                Found::Owner(_) if self.held.len() >= self.settings.connections as usize => {
                    self.counts.surplus.inc();
                    self.passed_over.push(one.cookie);
                }
                Found::Owner(owner) => self.hold(one.cookie, owner),
                Found::Denied(program) => {
                    tracing::warn!(%program, remote = %one.remote, "this process may not be reached");
                    self.counts.denied.inc();
                    self.passed_over.push(one.cookie);
                }
                Found::Nowhere => self.passed_over.push(one.cookie),
            }
        }
        self.counts.connections.set(self.held.len() as i64);
        Ok(())
    }

    fn hold(&mut self, cookie: u64, owner: Owner) {
        let Ok((bytes, _, segment)) = owner.state() else { return };
        let segment = Bytes(u64::from(segment.unwrap_or(SEGMENT)));
        let rule = Rule::new(self.settings.factors(), segment, self.now(), bytes);
        self.held.insert(cookie, Held { owner, rule });
        self.counts.seen.inc();
    }

    /// Samples each connection and sets its clamp. A connection that cannot be reached is forgotten.
    fn sample(&mut self) {
        let now = self.now();
        self.held.retain(|cookie, held| {
            let Ok((bytes, rtt, _)) = held.owner.state() else { return false };
            let rtt = Duration::from_micros(u64::from(rtt.unwrap_or(0)));
            let Some(clamp) = held.rule.sample(now, Sample { bytes, rtt }) else { return true };
            tracing::debug!(cookie, clamp, %rtt, "clamp");
            self.counts.clamps.inc();
            held.owner.clamp(clamp).is_ok()
        });
        self.counts.connections.set(self.held.len() as i64);
    }

    /// Leaves all connections to autotuning.
    fn release(&mut self) {
        for held in self.held.values().filter(|held| held.rule.clamp().is_some()) {
            let _ = held.owner.clamp(NO_CLAMP);
        }
    }
}
