//! The thread that reads the ring and sends messages.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as HostDuration, Instant as HostInstant, SystemTime, UNIX_EPOCH};

use airlane_core::{Duration, Instant};
use airlane_live::packet_ring::PacketRing;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use super::metrics::Metrics;
use super::settings::Settings;
use super::watch::{Messages, Watch};
use crate::{NodeError, Running};

/// Time between two updates of metrics, searches for idle connections and looks at the interface.
const ROUND: Duration = Duration::from_millis(200);
/// Packets are not older: a greater age is a step of the clock.
const AGE_MAX: Duration = Duration::from_secs(1);
/// Added to a sleep: the clock of the instance may be slower than the clock of the sleep.
const MARGIN: HostDuration = HostDuration::from_millis(5);
/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;
/// Blocks that are read before messages that are due are sent.
const BLOCKS_MAX: u32 = 16;

/// State of the thread.
pub(super) struct Worker {
    settings: Settings,
    ring: PacketRing,
    watch: Watch,
    messenger: Messenger,
    metrics: Metrics,
    instance: u32,
    /// When the instance began.
    begun: Instant,
    bound: bool,
}

/// The clock of the protocol: it has no steps.
#[derive(Clone, Copy, Debug)]
struct Clock {
    begun: HostInstant,
}

impl Clock {
    fn now(self) -> Instant {
        // From a second on, so that the age of a packet can be subtracted.
        let nanos = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX / 2);
        Instant::from_nanos(nanos) + AGE_MAX
    }
}

/// The time by which packets are stamped, in nanoseconds.
fn realtime_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// The sockets of messages, one per rule.
struct Messenger {
    clock: Clock,
    sockets: Vec<MessageSocket>,
    errors: u64,
}

/// A socket that accepts datagrams only from the receiver of its messages.
struct MessageSocket {
    to: SocketAddr,
    socket: Option<UdpSocket>,
    /// Time from which the socket may be opened again.
    again: HostInstant,
}

impl MessageSocket {
    fn open(&self) -> io::Result<UdpSocket> {
        let any = match self.to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = UdpSocket::bind((any, 0))?;
        socket.set_nonblocking(true)?;
        socket.connect(self.to)?;
        Ok(socket)
    }
}

impl Messages for Messenger {
    fn leaves_at(&self, now: Instant) -> Instant {
        self.clock.now().max(now)
    }

    fn send(&mut self, rule: usize, message: &[u8]) {
        let to_receiver = &mut self.sockets[rule];
        if to_receiver.socket.is_none() && HostInstant::now() >= to_receiver.again {
            to_receiver.socket = to_receiver.open().ok();
            to_receiver.again = HostInstant::now() + HostDuration::from_secs(1);
        }
        let sent = to_receiver.socket.as_ref().map(|socket| socket.send(message));
        match sent {
            Some(Ok(_)) => return,
            // No process listens there now, or the queue of the interface is full: the next message repeats the content.
            Some(Err(e))
                if matches!(e.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock) => {}
            // The address or the route was lost.
            Some(Err(_)) | None => to_receiver.socket = None,
        }
        self.errors += 1;
    }
}

impl Worker {
    pub(super) fn new(settings: Settings, ring: PacketRing, secrets: &[Vec<u8>]) -> Self {
        let begun = HostInstant::now();
        let socket = |to| MessageSocket { to, socket: None, again: begun };
        let sockets = settings.rule.iter().map(|rule| socket(rule.report_to.0)).collect();
        let messenger = Messenger { clock: Clock { begun }, sockets, errors: 0 };
        let watch = Watch::new(&settings, secrets);
        let metrics = Metrics::default();
        Self { settings, ring, watch, messenger, metrics, instance: 0, begun: Instant::ZERO, bound: true }
    }

    /// Watches until the node stops.
    pub(super) async fn serve(mut self, running: Running) -> Result<(), NodeError> {
        let failed = |e: io::Error| NodeError::new(format!("cannot watch: {e}"), "");
        running.register(|registry| self.metrics.register(registry));
        let stop = Arc::new((AtomicBool::new(false), event().map_err(failed)?));
        let until = stop.clone();
        // An instance that ended in this second may have used its number. It waited for the next second too, so it has
        // not used the number of that one.
        let part = realtime_ns() % SECOND_NS;
        tokio::time::sleep(HostDuration::from_nanos(SECOND_NS - part) + MARGIN).await;
        self.begin();
        let interface = self.settings.interface.clone();
        let work = tokio::task::spawn_blocking(move || self.work(&until));
        running.ready();
        tracing::info!(%interface, "watching");
        let stopper = async {
            running.stopping().await;
            stop.0.store(true, Ordering::Release);
            let _ = stop.1.write(1);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = stopper => Ok(()),
            ended = work => ended.map_err(|e| failed(io::Error::other(e)))?.map_err(failed),
        }
    }

    /// Begins an instance: it grows even if the clock has gone back while the node runs.
    fn begin(&mut self) {
        let seconds = u32::try_from(realtime_ns() / SECOND_NS).unwrap_or(u32::MAX);
        self.instance = seconds.max(self.instance.saturating_add(1));
        self.watch.begin(self.instance);
        self.begun = self.messenger.clock.now();
        self.metrics.instance.set(self.instance.into());
        self.metrics.interface.set(1);
    }

    fn work(&mut self, stop: &(AtomicBool, EventFd)) -> io::Result<()> {
        let clock = self.messenger.clock;
        let mut round = clock.now();
        while !stop.0.load(Ordering::Acquire) {
            let more = self.read();
            let now = clock.now();
            self.watch.timeouts(now, &mut self.messenger);
            if now >= round {
                self.round(now)?;
                round = now + ROUND;
            }
            if !more {
                self.wait(round, &stop.1)?;
            }
        }
        self.round(clock.now())
    }

    /// Reads complete blocks. Returns whether there may be more.
    fn read(&mut self) -> bool {
        for _ in 0..BLOCKS_MAX {
            let (now, realtime) = (self.messenger.clock.now(), realtime_ns());
            let Self { ring, watch, messenger, .. } = self;
            let read = ring.read(|packet| {
                let age = Duration::from_nanos(realtime.saturating_sub(packet.realtime_ns));
                let age = if age > AGE_MAX { Duration::ZERO } else { age };
                let at = Instant::from_nanos(now.as_nanos() - age.as_nanos());
                watch.packet(at, packet.ether_type, packet.bytes, messenger);
            });
            if !read {
                return false;
            }
        }
        true
    }

    /// Waits for packets, for the next message that is due, or for the next round.
    fn wait(&mut self, round: Instant, stop: &EventFd) -> io::Result<()> {
        let until = self.watch.next_timeout().map_or(round, |at| at.min(round));
        let span = until.saturating_since(self.messenger.clock.now());
        let mut waits = [
            PollFd::new(self.ring.as_fd(), PollFlags::POLLIN | PollFlags::POLLERR),
            PollFd::new(stop.as_fd(), PollFlags::POLLIN),
        ];
        let span = TimeSpec::from_duration(HostDuration::from_nanos(span.as_nanos()));
        match ppoll(&mut waits, Some(span), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        let failed = waits[0].revents().is_some_and(|found| found.contains(PollFlags::POLLERR));
        if failed && let Err(error) = self.ring.error() {
            tracing::warn!(interface = %self.settings.interface, %error, "the interface is down or was lost");
            self.metrics.losses.inc();
        }
        Ok(())
    }

    /// The work of every [`ROUND`].
    fn round(&mut self, now: Instant) -> io::Result<()> {
        self.watch.expire(now);
        if self.watch.is_exhausted() {
            self.begin();
        }
        let interface = &self.settings.interface;
        let bound = self.ring.is_bound(interface);
        if bound != self.bound {
            tracing::warn!(%interface, "the interface was lost");
            self.metrics.interface.set(0);
        }
        self.bound = bound;
        // An instance per second at most, so that their numbers do not run ahead of the clock.
        let may_begin = now.saturating_since(self.begun) >= Duration::from_secs(1);
        if !bound && may_begin && self.ring.bind(interface).is_ok() {
            tracing::info!(%interface, "watching the new interface");
            self.bound = true;
            self.begin();
        }
        let ring = self.ring.counts()?;
        self.metrics.connections.set(self.watch.connections() as i64);
        self.metrics.update(self.watch.counts(), self.watch.statistics(), ring);
        self.metrics.errors.inc_by(self.messenger.errors.saturating_sub(self.metrics.errors.get()));
        Ok(())
    }
}

fn event() -> io::Result<EventFd> {
    Ok(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?)
}
