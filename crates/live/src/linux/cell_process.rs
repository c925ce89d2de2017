//! The process that is the network: one loop that follows the host's clock.

use std::io;
use std::os::fd::AsFd;

use airlane_assembly::{CaptureError, Meta, RunOutput};
use airlane_core::{Duration, Instant};
use airlane_engine::Pace;
use airlane_record::Table;
use airlane_scenario::{RealEnd, Resolved};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::LiveError;
use crate::cell::{Cell, Counts};
use crate::ends::{EndId, Unroutable, end_of_host};
use crate::lateness::{Lateness, RealTime};
use crate::linux::address::Interfaces;
use crate::linux::clock::{self, Priority, now_ns};
use crate::linux::host::Device;
use crate::linux::process::LiveConfig;
use crate::linux::radio_socket::{self, RadioSocket};
use crate::linux::socket::{Messages, Received};
use crate::linux::storage::Storage;
use crate::linux::tun::Buffer;
use crate::radio::Facts;

/// Packets, or bursts, that are read from a device before departures are written.
const BATCH: u32 = 32;
/// The process wakes up this often, whether or not an event is due, and measures how late it is.
const TICK: Duration = Duration::from_millis(1);
/// Shortest time between two wake-ups for events, in nanoseconds: packets that leave a fast link one after the other
/// share one. Each costs as much as some packets.
const GAP_NS: u64 = 20_000;
/// A process that sleeps for at least this long wakes up early, and waits for the rest without sleeping. With
/// SCHED_FIFO it does so always.
const IDLE_NS: u64 = 300_000;
/// How much earlier. The kernel is late by about as much (measured with `airlane live`, see the lateness that it prints).
const EARLY_NS: u64 = 50_000;
/// How often the parent process receives the state.
const STATUS: Duration = Duration::from_millis(200);

/// Parameters of the cell process.
pub(crate) struct CellSetup<'a> {
    pub(crate) config: &'a LiveConfig,
    pub(crate) resolved: &'a Resolved,
    pub(crate) real: &'a [RealEnd],
    /// By number of the end: the server's side, then the UEs.
    pub(crate) devices: Vec<Device>,
    /// Interfaces of the TUN devices, by network namespace.
    pub(crate) interfaces: Vec<Interfaces>,
    pub(crate) priority: Priority,
}

/// The results of a live run.
pub struct LiveOutput {
    /// The tables of a simulation, and those of the real connections.
    pub tables: Vec<(&'static str, Table)>,
    /// Summary of the run.
    pub meta: Meta,
    /// Facts that only a live run has.
    pub live: LiveFacts,
}

/// Facts about a live run.
#[derive(Debug, Serialize)]
pub struct LiveFacts {
    /// Whether the run was in real time.
    pub real_time: RealTime,
    /// Seconds between its begin and its end.
    pub wall_s: f64,
    /// Processor time of the cell process between them, in seconds.
    pub cpu_s: f64,
    /// Packets and bytes that entered from the devices, and left to them.
    pub entered: Count,
    /// See `entered`.
    pub left: Count,
    /// Packets that a device did not take.
    pub refused: u64,
    /// Packets from applications that were not carried, by reason.
    pub not_carried: serde_json::Value,
    /// Packets of connections that have no row in the table of connections, because there were too many.
    pub connections_not_shown: u64,
    /// The size of the flight recorder's file in bytes; absent if nothing was recorded.
    pub flight: Option<u64>,
}

/// A number of packets.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Count {
    /// Packets after segmentation.
    pub packets: u64,
    /// Bytes of the packets, with IP headers.
    pub bytes: u64,
}

impl Count {
    const fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// Virtual time begins.
    Begin,
    /// End the process.
    Stop,
}

struct Loop<'a> {
    setup: CellSetup<'a>,
    parent: Messages,
    cell: Cell,
    flight: Option<Storage>,
    radio: Option<RadioSocket>,
    pace: Pace,
    buffer: Buffer,
    /// Host time of the last wake-up.
    woke_ns: u64,
    /// Whether the process woke up early and waits for what is due.
    early: bool,
    /// Which devices have packets, by number of the end.
    ready: Vec<bool>,
    /// The packet that leaves.
    packet: Vec<u8>,
    lateness: Lateness,
    /// The next time at which something is due.
    due: Instant,
    status_at: Instant,
    entered: Count,
    left: Count,
    refused: u64,
    /// Packets that the devices had dropped before the run.
    dropped_before: u64,
    /// Packets that interfaces of the host have dropped.
    dropped_at_hosts: u64,
    cpu_before: f64,
}

/// Runs the network until the parent asks for the end.
///
/// # Errors
/// If the network cannot be built, or a device was lost.
pub(crate) fn run(setup: CellSetup<'_>, mut parent: Messages) -> Result<LiveOutput, LiveError> {
    let mut cell = Cell::new(setup.resolved, setup.config.seed, setup.real, setup.config.mtu as u16)
        .map_err(|e| LiveError::new(e.to_string(), ""))?;
    for end in setup.config.hosts.keys().filter_map(|&number| end_of_host(setup.real, number)) {
        cell.open_to(end).map_err(|e| LiveError::new(format!("--host: {e}"), ""))?;
    }
    cell.observe();
    if let Some(prefix) = &setup.config.captures {
        cell.built_mut().capture_to(prefix).map_err(capture_error)?;
    }
    let mut flight = None;
    if let Some((path, limit)) = &setup.config.flight {
        cell.record(*limit);
        flight = Some(Storage::create(path)?); // before this thread gets its priority, which threads inherit
    }
    let mut radio = radio_socket(&setup, &mut cell)?;
    clock::be_punctual(setup.priority)?;
    let lost = |e: io::Error| LiveError::new(format!("the parent process was lost: {e}"), "");
    parent.send(&json!({"ready": {}})).map_err(lost)?;
    loop {
        wait(&mut [PollFd::new(parent.fd(), PollFlags::POLLIN)], None)?;
        match parent.receive().map_err(lost)? {
            Received::Message(Request::Begin, _) => break,
            Received::Message(Request::Stop, _) | Received::End => {
                return Err(LiveError::new("the run was stopped before it began", ""));
            }
            Received::Nothing => {}
        }
    }
    let bound = Duration::from_micros(setup.config.bound_us);
    let origin = now_ns();
    if let Some(radio) = &mut radio {
        radio.begin(clock::since_1970_ns());
    }
    parent.send(&json!({"began": {"monotonic_ns": origin}})).map_err(lost)?;
    let mut run = Loop {
        parent,
        cell,
        flight,
        radio,
        pace: Pace::new(origin, Instant::ZERO, bound),
        buffer: Buffer::default(),
        woke_ns: origin,
        early: false,
        ready: vec![true; setup.devices.len() + 1],
        packet: vec![],
        lateness: Lateness::new(bound),
        due: Instant::ZERO + TICK,
        status_at: Instant::ZERO,
        entered: Count::default(),
        left: Count::default(),
        refused: 0,
        dropped_before: 0,
        dropped_at_hosts: 0,
        cpu_before: clock::processor_s(),
        setup,
    };
    run.dropped_before = run.dropped()?;
    run.follow_the_clock()?;
    run.finish(origin)
}

impl Loop<'_> {
    fn now(&self) -> Instant {
        self.pace.now(now_ns())
    }

    fn follow_the_clock(&mut self) -> Result<(), LiveError> {
        loop {
            let now = self.now();
            if now >= self.due {
                self.lateness.slot(now.saturating_since(self.due));
            }
            for end in 0..self.setup.devices.len() {
                if self.ready[end] {
                    self.read(end)?;
                }
            }
            let now = self.now();
            self.cell.advance(now);
            self.write();
            if let Some(radio) = &mut self.radio {
                radio.serve(&mut self.cell, now);
            }
            if now >= self.status_at {
                self.status_at = now + STATUS;
                if self.told_to_stop()? {
                    return Ok(());
                }
            }
            let tick = now + TICK;
            self.due = self.cell.next_event().map_or(tick, |event| event.min(tick));
            self.sleep()?;
        }
    }

    /// Takes the packets that applications sent at an end.
    fn read(&mut self, end: usize) -> Result<(), LiveError> {
        for _ in 0..BATCH {
            let read = self.setup.devices[end].read(&mut self.buffer);
            let gone = |e: io::Error| LiveError::new(format!("the device of end {end} was lost: {e}"), "");
            let Some(packet) = read.map_err(gone)? else { return Ok(()) };
            let now = self.pace.now(now_ns());
            let Self { cell, entered, .. } = self;
            cell.enter(EndId::from_index(end), packet.bytes, packet.segment_size, now);
            entered.add(packet.bytes.len());
        }
        Ok(())
    }

    /// Writes the packets that have left the network.
    fn write(&mut self) {
        while let Some(left) = self.cell.leave(&mut self.packet) {
            match self.setup.devices[left.end.index()].write(&self.packet) {
                Ok(()) => self.left.add(self.packet.len()),
                Err(_) => self.refused += 1,
            }
            let late = self.now().saturating_since(left.at);
            self.lateness.departure(late);
        }
    }

    /// Reports the state to the parent, and asks whether the run has to end: because of the parent, or because there is
    /// no space for more results.
    fn told_to_stop(&mut self) -> Result<bool, LiveError> {
        self.store();
        let status = json!({"status": {
            "t_s": self.cell.now().as_secs_f64(),
            "real_time": self.lateness.report(),
            "internet_queues": self.cell.built_mut().internet_queues().map(|queues| queues.map(|bytes| bytes.get())),
            "ues": self.states(),
        }});
        let lost = |e: io::Error| LiveError::new(format!("the parent process was lost: {e}"), "");
        self.parent.send(&status).map_err(lost)?;
        if self.cell.now() >= self.cell.end() {
            let s = self.cell.end().as_secs_f64();
            self.parent.send(&json!({"over": {"s": s}})).map_err(lost)?;
            return Ok(true);
        }
        match self.parent.receive().map_err(lost)? {
            Received::Message(Request::Stop, _) | Received::End => Ok(true),
            Received::Message(Request::Begin, _) | Received::Nothing => Ok(false),
        }
    }

    /// The state of each UE that takes part.
    fn states(&mut self) -> Vec<serde_json::Value> {
        let now = self.cell.now();
        let latest: Vec<_> = self.cell.connections().into_iter().flat_map(|all| all.latest(now)).collect();
        let cell = self.cell.built_mut();
        let state = |(number, end): (usize, &RealEnd)| {
            let look = end.ue.and_then(|ue| cell.look(ue));
            let radio = look.map(|look| {
                json!({
                    "cell": self.setup.resolved.cell[look.cell.index()].name,
                    "cqi": look.cqi,
                    "mcs": look.mcs_downlink,
                    "queues": [look.queue_downlink.get(), look.queue_uplink.get()],
                })
            });
            let traffic = latest.iter().find(|one| usize::from(one.ue) == number).map(|one| {
                json!({"goodput_mbps": one.goodput_mbps, "owd_ms": one.owd_ms, "owd_max_ms": one.owd_max_ms})
            });
            json!({"name": end.name, "radio": radio, "traffic": traffic})
        };
        self.setup.real.iter().enumerate().map(state).collect()
    }

    /// Passes the chunks of the flight record that are ready on to their file.
    fn store(&mut self) {
        if let Some((recorder, flight)) = self.cell.recorder_mut().zip(self.flight.as_ref()) {
            while let Some(chunk) = recorder.take_chunk() {
                flight.store(chunk);
            }
        }
    }

    /// Sleeps until something is due, or a packet or a message comes, and notes which devices have packets.
    fn sleep(&mut self) -> Result<(), LiveError> {
        let left = self.pace.host_ns(self.due).max(self.woke_ns + GAP_NS).saturating_sub(now_ns());
        let punctual = self.setup.config.fifo;
        let timeout = match left {
            _ if self.setup.config.busy_poll => 0,
            ..=EARLY_NS if self.early || punctual => 0,
            _ if left >= IDLE_NS || punctual => left - EARLY_NS,
            _ => left,
        };
        self.early = left >= IDLE_NS || (self.early && left <= EARLY_NS);
        let fds = self.setup.devices.iter().map(|tun| PollFd::new(tun.as_fd(), PollFlags::POLLIN));
        let mut fds: Vec<_> = fds.chain([PollFd::new(self.parent.fd(), PollFlags::POLLIN)]).collect();
        wait(&mut fds, Some(timeout))?;
        self.woke_ns = now_ns();
        self.ready.clear();
        self.ready.extend(fds.iter().map(|fd| fd.any().unwrap_or(true)));
        Ok(())
    }

    fn dropped(&mut self) -> Result<u64, LiveError> {
        self.dropped_at_hosts += self.setup.devices.iter().map(Device::dropped).sum::<u64>();
        let tuns: u64 = self.setup.interfaces.iter_mut().map(Interfaces::dropped).sum::<Result<_, _>>()?;
        Ok(tuns + self.dropped_at_hosts)
    }

    fn finish(mut self, origin: u64) -> Result<LiveOutput, LiveError> {
        let wall_s = now_ns().saturating_sub(origin) as f64 / 1e9;
        let cpu_s = clock::processor_s() - self.cpu_before;
        let tun_drops = self.dropped()? - self.dropped_before;
        self.lateness.set_tun_drops(tun_drops);
        self.store();
        let last = self.cell.end_record();
        let flight = self.flight.zip(last).map(|(flight, last)| {
            flight.store(last);
            flight.finish()
        });
        let not_carried = not_carried(&self.cell.counts());
        self.cell.built_mut().end_capture().map_err(capture_error)?;
        let connections_not_shown = self.cell.connections().map_or(0, |all| all.not_shown().packets);
        let mut observed = vec![("lateness", self.lateness.table())];
        if let Some(connections) = self.cell.connections() {
            observed.push(("connections", connections.table(self.cell.ends())));
            observed.push(("real_series", connections.series_table(self.cell.ends())));
        }
        let RunOutput { mut tables, meta } = self.cell.finish();
        tables.append(&mut observed);
        let live = LiveFacts {
            real_time: self.lateness.report(),
            wall_s,
            cpu_s,
            entered: self.entered,
            left: self.left,
            refused: self.refused,
            not_carried,
            connections_not_shown,
            flight: flight.transpose()?,
        };
        Ok(LiveOutput { tables, meta, live })
    }
}

/// The socket for a radio network information service, if the run has one.
fn radio_socket(setup: &CellSetup<'_>, cell: &mut Cell) -> Result<Option<RadioSocket>, LiveError> {
    let Some(path) = &setup.config.rnis else { return Ok(None) };
    if setup.resolved.cell.is_empty() {
        let what = format!("--rnis {path}: a wired network has no radio information");
        return Err(LiveError::new(what, "choose a scenario with a cell"));
    }
    cell.inform(setup.resolved, setup.real, radio_socket::ALONE);
    RadioSocket::open(path, Facts::new(setup.resolved, 0)).map(Some)
}

/// The numbers of packets that did not leave although the network did not lose them, by reason.
fn not_carried(counts: &Counts) -> serde_json::Value {
    let mut reasons = serde_json::Map::new();
    for (name, count) in Unroutable::NAMES.iter().zip(counts.unroutable) {
        reasons.insert((*name).to_owned(), count.into());
    }
    for (name, count) in [
        ("too_big", counts.too_big),
        ("not_segmentable", counts.not_segmentable),
        ("hop_limit_expired", counts.expired),
        ("after_the_end", counts.after_the_end),
    ] {
        reasons.insert(name.to_owned(), count.into());
    }
    reasons.into()
}

fn capture_error(error: CaptureError) -> LiveError {
    LiveError::new(format!("cannot write {}: {}", error.path.display(), error.error), "")
}

/// Waits until one of these is ready, at most this many nanoseconds.
fn wait(fds: &mut [PollFd<'_>], nanoseconds: Option<u64>) -> Result<(), LiveError> {
    let timeout = nanoseconds.map(|ns| TimeSpec::nanoseconds(ns as i64));
    match ppoll(fds, timeout, None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(e) => Err(LiveError::new(format!("cannot wait for packets: {e}"), "")),
    }
}
