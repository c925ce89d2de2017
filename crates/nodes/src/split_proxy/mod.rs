//! A split-connection proxy on the TCP of the kernel.
//!
//! Rules of nftables hand each new connection to it (TPROXY). It has the address of the far end towards the
//! near end, and the address of the near end towards the far end, so neither end sees it. Each of its two
//! connections has the congestion control and the buffers of its side. Its simulated counterpart is
//! the middlebox `split-proxy`.
//!
//! Each worker is a thread with its own listening sockets ([`worker`]); a connection stays there. Data moves
//! from socket to socket without being copied ([`transfer`]).

mod bounds;
mod checks;
mod config;
mod forward;
mod growth;
mod legs;
mod memory;
mod metrics;
mod pipe;
mod progress;
mod relay;
mod transfer;
mod worker;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use airlane_settings::SettingsError;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::{mpsc, oneshot, watch};

use self::bounds::{Bounds, Place};
use self::config::{Config, LegConfig, Limits};
use self::legs::Leg;
use self::memory::{Budget, Reservation, Sizes};
use self::metrics::{Cause, Metrics};
use self::pipe::Pool;
use self::progress::StallRule;
use self::worker::Listening;
use crate::common;
use crate::{Common, Node, NodeError, Requirement, Running, Serving, Setup};

/// Shortest and longest time between two sweeps.
const TICK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// Reads a proxy from the text of its file.
///
/// # Errors
/// If the settings are wrong.
pub(crate) fn read(text: &str, file: &str) -> Result<Box<dyn Node>, SettingsError> {
    Ok(Box::new(SplitProxy { config: Config::read(text, file)? }))
}

/// A split-connection proxy with its settings.
#[derive(Debug)]
struct SplitProxy {
    config: Config,
}

/// The state that all workers share.
#[derive(Debug)]
struct Proxy {
    limits: Limits,
    ran: LegConfig,
    core: LegConfig,
    bounds: Arc<Bounds>,
    budget: Arc<Budget>,
    ran_sizes: Sizes,
    core_sizes: Sizes,
    /// Reservation of a connection at its begin.
    first_reservation: u64,
    stall_rule: StallRule,
    metrics: Metrics,
    /// Time between two sweeps, which find connections whose time is over.
    tick: Duration,
}

/// Place and memory of an admitted connection.
#[derive(Debug)]
struct Admission {
    place: Place,
    memory: Reservation,
}

impl Proxy {
    fn sizes(&self, leg: Leg) -> &Sizes {
        match leg {
            Leg::Ran => &self.ran_sizes,
            Leg::Core => &self.core_sizes,
        }
    }

    fn leg(&self, leg: Leg) -> &LegConfig {
        match leg {
            Leg::Ran => &self.ran,
            Leg::Core => &self.core,
        }
    }

    /// Admits a connection of a client.
    fn admit(&self, client: IpAddr) -> Result<Admission, Cause> {
        // The count cannot be negative but for a moment, while workers change it.
        if self.metrics.memory.get().max(0) as u64 >= self.limits.memory.0.get() {
            return Err(Cause::Memory);
        }
        let place = self.bounds.admit(client)?;
        let memory = self.budget.admit(self.first_reservation).ok_or(Cause::Memory)?;
        Ok(Admission { place, memory })
    }

    /// Whether this is an address at which the proxy itself listens.
    fn is_own(&self, address: SocketAddr) -> bool {
        address.ip().is_loopback() && [self.ran.port, self.core.port].contains(&address.port())
    }
}

impl Node for SplitProxy {
    fn common(&self) -> &Common {
        &self.config.node
    }

    fn requirements(&self) -> Vec<Requirement> {
        self.config.requirements()
    }

    fn setup(&self) -> Setup {
        self.config.setup()
    }

    fn runtime_threads(&self) -> u16 {
        1
    }

    fn serve(self: Box<Self>, running: Running) -> Serving {
        Box::pin(serve(self.config, running))
    }
}

/// Raises the soft limit of open files to the hard limit, and warns if that is too little for all connections.
fn allow_files(config: &Config) {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let need = config.files();
    if soft < need && setrlimit(Resource::RLIMIT_NOFILE, need.min(hard), hard).is_err() {
        tracing::warn!(limit = soft, "the limit of open files cannot be raised");
    }
    if hard < need {
        tracing::warn!(limit = hard, need, "too few open files for all connections; see LimitNOFILE");
    }
}

/// Opens the listening sockets of one worker.
fn listen(config: &Config) -> Result<Vec<Listening>, NodeError> {
    let mut found = vec![];
    for leg in Leg::ALL {
        for &v6 in config.families() {
            let address = legs::listening_address(config.leg(leg).port, v6);
            let socket = legs::listen(config.leg(leg), v6).map_err(|e| {
                let help = "`--check` says what is missing; without IPv6, set proxy.ipv6 = false";
                NodeError::new(format!("{}: cannot listen at {address}: {e}", leg.name()), help)
            })?;
            found.push(Listening { leg, socket: socket.into() });
        }
    }
    Ok(found)
}

async fn serve(config: Config, running: Running) -> Result<(), NodeError> {
    allow_files(&config);
    let limits = config.proxy.clone();
    let shortest = [limits.stall_timeout, limits.idle_timeout, limits.half_closed_timeout]
        .map(common::time)
        .into_iter()
        .min()
        .expect("three");
    let (ran_sizes, core_sizes) = (Sizes::of(&config.ran), Sizes::of(&config.core));
    let (memory, pipe) = (limits.memory.0.get(), limits.pipe.0.get());
    let pipes = memory::pipes_allowed(limits.pipes, pipe, memory);
    let mut metrics = None;
    running.register(|registry| metrics = Some(Metrics::register(registry)));
    let proxy = Arc::new(Proxy {
        bounds: Arc::new(Bounds::new(limits.connections, limits.per_client)),
        budget: Arc::new(Budget::new(memory - pipes * pipe)),
        first_reservation: memory::first_reservation(&ran_sizes, &core_sizes),
        ran_sizes,
        core_sizes,
        stall_rule: StallRule {
            timeout: common::time(limits.stall_timeout),
            bytes_per_second: limits.stall_rate.0.bits_per_second() as f64 / 8.0,
        },
        metrics: metrics.expect("registered"),
        tick: (shortest / 4).clamp(TICK.0, TICK.1),
        ran: config.ran.clone(),
        core: config.core.clone(),
        limits,
    });
    let threads = match config.node.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        some => some.into(),
    };
    let (stop, stopping) = watch::channel(false);
    let (listens, mut all_listen) = mpsc::channel(1);
    // Rounded down, so that all have no more than the share of the memory.
    let per_worker = pipes as usize / threads;
    let mut workers = vec![];
    // All sockets are open before the first connection is accepted, so the kernel spreads connections over all.
    let listening = (0..threads).map(|_| listen(&config)).collect::<Result<Vec<_>, _>>()?;
    for (number, listening) in listening.into_iter().enumerate() {
        let pool = Pool::new(per_worker, config.proxy.pipe.0.get() as usize, proxy.metrics.pipes.clone());
        let (proxy, stopping, (done, ended)) = (Arc::clone(&proxy), stopping.clone(), oneshot::channel());
        let listens = listens.clone();
        thread::Builder::new()
            .name(format!("split-proxy-{number}"))
            .spawn(move || done.send(worker::run(proxy, pool, listening, listens, stopping)))
            .map_err(|e| NodeError::new(format!("cannot start a thread: {e}"), ""))?;
        workers.push(ended);
    }
    tracing::info!(workers = threads, ran = %config.ran.interface, core = %config.core.interface, "proxying");
    running.ready();
    running.stopping().await;
    let _ = stop.send(true);
    drop(listens);
    // The channel ends when each worker has dropped its sender.
    let None = all_listen.recv().await;
    tracing::info!("new connections pass unchanged");
    for worker in workers {
        let failed = |why: String| {
            NodeError::new(format!("a worker has failed: {why}"), "this is a bug; please report it")
        };
        worker.await.map_err(|_| failed("panic".to_owned()))?.map_err(|e| failed(e.to_string()))?;
    }
    Ok(())
}
