//! The turns of the simulation and its guests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use airlane_assembly::{Built, FlowEnd, KernelFlow};
use airlane_core::{
    Direction, Duration, Event, FlowId, Header, Instant, Packet, PacketPool, Port, Seeds, SocketPair,
    TcpFlags,
};
use airlane_scenario::format::App;
use airlane_wire::outside::{self, Arrival};
use airlane_wire::{Ends, emit};

use super::paths::Paths;
use super::{GuestCounts, GuestFacts};
use crate::GuestError;
use crate::jobs::{self, EPOCH, Host};
use crate::kernels;
use crate::linux::guest::{Guest, Outside, Setup};
use crate::linux::scheduling::Scheduling;
use crate::protocol::report::{Report, SubflowState, TcpState, What};

/// A guest's time at the begin of the run: it starts, and its hosts are set up, before.
const BOOT: Duration = Duration::from_secs(2);
/// Interfaces of the hosts of a guest: each is a word of the kernel's command line, and that is limited.
const INTERFACES_MAX: usize = 120;
/// Bytes of output of programs that are kept.
const OUTPUT_MAX: usize = 1 << 20;
/// Times of replies that are kept, for each flow.
const REPLIES_MAX: usize = 100_000;
/// Turns between two looks at the clock for the progress.
const PROGRESS_PERIOD: Duration = Duration::from_millis(100);

/// Guests and the flows between them.
struct Driver<'a> {
    built: &'a mut Built,
    flows: Vec<KernelFlow>,
    /// The paths of flows with several.
    paths: Vec<Option<Paths>>,
    /// Places of the ends of flows: guest and first interface.
    places: Vec<[(usize, u16); 2]>,
    pool: PacketPool,
    /// The count of transfers when the ends were emptied last.
    drained: u64,
    /// By flow and end: the end of what was sent, of each connection.
    sent: BTreeMap<(usize, SocketPair, bool), u32>,
    facts: GuestFacts,
    /// Bytes of output so far.
    output: usize,
    /// For each guest, whether its hosts are set up.
    ready: Vec<Option<String>>,
}

/// The outside of one guest.
struct Side<'a, 'b> {
    driver: &'a mut Driver<'b>,
    guest: usize,
    hosts: &'a [Host],
    /// The earliest request of another guest.
    others: u64,
}

pub(super) fn drive(
    built: &mut Built,
    seed: u64,
    cancel: &AtomicBool,
    progress: impl FnMut(f64),
) -> Result<GuestFacts, GuestError> {
    let flows = built.kernel_flows();
    let groups = groups(&flows);
    let hosts: Vec<Vec<Host>> = groups.iter().map(|(_, chosen)| jobs::hosts(&flows, chosen)).collect();
    let mut places = vec![[(0, 0); 2]; flows.len()];
    for (guest, hosts) in hosts.iter().enumerate() {
        for host in hosts {
            places[host.flow][side(host.end)] = (guest, host.nic);
        }
    }
    let every = built.series_bin();
    let drained = built.transfers();
    let mut driver = Driver {
        built,
        paths: flows.iter().map(Paths::of).collect(),
        places,
        pool: PacketPool::default(),
        drained,
        sent: BTreeMap::new(),
        facts: GuestFacts::default(),
        output: 0,
        ready: vec![None; groups.len()],
        flows,
    };
    let _scheduling = Scheduling::begin();
    let mut guests = Vec::with_capacity(groups.len());
    for (number, (kernel, _)) in groups.iter().enumerate() {
        let files = kernels::find(kernel)?;
        if hosts[number].iter().any(|host| driver.paths[host.flow].is_some()) {
            files.require_multipath(kernel)?;
        }
        let jobs = jobs::jobs(&driver.flows, &hosts[number], every);
        let setup = Setup {
            kernel: &files.program,
            agent: &files.agent,
            jobs: &jobs,
            seed: Seeds::new(seed).stream(&format!("guest/{number}")).bits(),
            nics: 1 + hosts[number].iter().map(|host| host.nics).sum::<u16>(),
            scattered: false,
            epoch: EPOCH - BOOT.as_nanos(),
            shares: files.shares_clock(),
        };
        let guest = driver.boot(number, &hosts[number], &setup, cancel)?;
        guests.push(guest);
    }
    driver.turns(&mut guests, &hosts, cancel, progress)?;
    for ((guest, (kernel, _)), release) in guests.iter().zip(&groups).zip(&driver.ready) {
        let counts = guest.counts();
        driver.facts.guests.push(GuestCounts {
            kernel: kernel.clone(),
            release: release.clone().unwrap_or_default(),
            turns: counts.turns,
            clock_messages: counts.times,
            kicks: counts.kicks,
            interrupts: counts.interrupts,
            sent: counts.sent,
            received: counts.received,
        });
    }
    Ok(driver.facts)
}

/// The flows of each guest: flows of one kernel, as many as it can hold.
fn groups(all: &[KernelFlow]) -> Vec<(String, Vec<usize>)> {
    let mut by_kernel: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, flow) in all.iter().enumerate() {
        by_kernel.entry(&flow.kernel.kernel).or_default().push(index);
    }
    let guests = by_kernel.into_iter().flat_map(|(kernel, flows)| {
        parts(all, &flows).into_iter().map(move |part| (kernel.to_owned(), part))
    });
    guests.collect()
}

/// Parts of these flows whose interfaces fit into a guest. Each flow counts as one with two ends in guests.
fn parts(all: &[KernelFlow], chosen: &[usize]) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = vec![];
    let mut used = INTERFACES_MAX;
    for &flow in chosen {
        let needed: usize =
            [FlowEnd::Server, FlowEnd::Host].map(|end| jobs::interfaces(&all[flow], end)).iter().sum();
        if used + needed > INTERFACES_MAX {
            parts.push(vec![]);
            used = 0;
        }
        used += needed;
        parts.last_mut().expect("one was added").push(flow);
    }
    parts
}

const fn side(end: FlowEnd) -> usize {
    match end {
        FlowEnd::Server => 0,
        FlowEnd::Host => 1,
    }
}

const fn name(end: FlowEnd) -> &'static str {
    match end {
        FlowEnd::Server => "server",
        FlowEnd::Host => "ue",
    }
}

/// The guest's time at a time of the run.
fn guest_time(at: Instant) -> u64 {
    at.as_nanos().saturating_add(BOOT.as_nanos())
}

/// The time of the run at a guest's time; `None` before its begin.
fn run_time(at: u64) -> Option<Instant> {
    at.checked_sub(BOOT.as_nanos()).map(Instant::from_nanos)
}

impl Driver<'_> {
    /// Starts a guest and sets up its hosts, in the time before the run.
    fn boot<'g>(
        &mut self,
        number: usize,
        hosts: &[Host],
        setup: &Setup<'_>,
        cancel: &'g AtomicBool,
    ) -> Result<Guest<'g>, GuestError> {
        let mut guest = Guest::start(setup, Some(cancel))?;
        let begin = BOOT.as_nanos();
        let mut side = Side { driver: self, guest: number, hosts, others: begin };
        guest.begin(&mut side)?;
        while let Some(at) = guest.request().filter(|&at| at < begin) {
            guest.run(at, &mut side)?;
        }
        if self.ready[number].is_none() {
            let what = "the guest kernel has started, but its first program has not set up its hosts in 2 s";
            return Err(GuestError::failed(
                what,
                "airlane kernel build --force builds kernel and agent again",
            ));
        }
        Ok(guest)
    }

    fn turns(
        &mut self,
        guests: &mut [Guest<'_>],
        hosts: &[Vec<Host>],
        cancel: &AtomicBool,
        mut progress: impl FnMut(f64),
    ) -> Result<(), GuestError> {
        let end = self.built.end();
        let mut shown = Instant::ZERO;
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Err(GuestError::cancelled());
            }
            if self.built.now() >= shown {
                progress(self.built.now().as_secs_f64() / end.as_secs_f64());
                shown = self.built.now() + PROGRESS_PERIOD;
            }
            let own = self.built.next_event().filter(|&at| at <= end);
            let requests = guests.iter().map(|guest| guest.request().and_then(run_time_or_begin));
            let next = requests.clone().enumerate().filter_map(|(guest, at)| Some((at?, guest))).min();
            match (own, next) {
                (Some(own), next) if next.is_none_or(|(at, _)| own <= at) => {
                    self.built.advance(own);
                    self.pass_on(guests)?;
                }
                (_, Some((at, guest))) if at <= end => {
                    let others = requests.enumerate().filter(|&(other, _)| other != guest);
                    let others = others.filter_map(|(_, at)| at).min().map_or(u64::MAX, guest_time);
                    let mut side = Side { driver: self, guest, hosts: &hosts[guest], others };
                    guests[guest].run(guest_time(at), &mut side)?;
                    self.pass_on(guests)?;
                }
                _ => break,
            }
        }
        self.built.advance(end);
        progress(1.0);
        Ok(())
    }

    /// Passes the packets that have arrived at the ends of flows to their guests.
    fn pass_on(&mut self, guests: &mut [Guest<'_>]) -> Result<(), GuestError> {
        while self.drained != self.built.transfers() {
            self.drained = self.built.transfers();
            for flow in 0..self.flows.len() {
                for end in self.ends(flow) {
                    self.pass_on_from(flow, end, guests)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a packet waits at an end.
    fn has_arrived(&self) -> bool {
        let waits = |flow: &KernelFlow, end| self.built.has_arrived(flow.flow, end);
        self.built.transfers() != self.drained
            && (0..self.flows.len()).any(|flow| self.ends(flow).any(|end| waits(&self.flows[flow], end)))
    }

    /// The ends of a flow that are in guests.
    fn ends(&self, flow: usize) -> impl Iterator<Item = FlowEnd> + use<> {
        let ends = [FlowEnd::Server, FlowEnd::Host].map(|end| (end, self.flows[flow].has(end)));
        ends.into_iter().filter_map(|(end, has)| has.then_some(end))
    }

    fn pass_on_from(
        &mut self,
        flow: usize,
        end: FlowEnd,
        guests: &mut [Guest<'_>],
    ) -> Result<(), GuestError> {
        let id = self.flows[flow].flow;
        while let Some((at, packet)) = self.built.take(id, end) {
            let (guest, mut nic) = self.places[flow][side(end)];
            if let Some(paths) = &mut self.paths[flow] {
                paths.arrives(at, &packet);
                if end == FlowEnd::Host {
                    nic += paths.path(&packet).unwrap_or(0) as u16;
                }
            }
            let ends = ends(&self.flows[flow], &packet);
            let put = guests[guest].put(guest_time(at), nic, |into| {
                // A message between nodes of the network has no bytes, and is not for hosts.
                let _ = emit(&packet, &ends, usize::MAX, into);
            });
            self.pool.recycle(packet);
            put?;
        }
        Ok(())
    }

    /// An end of a flow sends a packet.
    fn inject(&mut self, at: Instant, flow: usize, end: FlowEnd, bytes: &[u8]) {
        let direction = match end {
            FlowEnd::Server => Direction::Downlink,
            FlowEnd::Host => Direction::Uplink,
        };
        let id = self.flows[flow].flow;
        let arrival = Arrival { flow: id, direction, now: at };
        let Ok(mut packet) = outside::packet(&mut self.pool, bytes, arrival) else { return };
        if self.paths[flow].is_some() {
            return self.inject_over(at, (flow, end), packet, bytes);
        }
        packet.sockets = sockets(&self.flows[flow], direction, &packet);
        let again = self.was_sent(flow, &packet);
        self.built.inject_again(id, end, packet, at, again);
    }

    /// The same over the path of its addresses. A packet to another address goes nowhere, as without a route.
    fn inject_over(&mut self, at: Instant, (flow, end): (usize, FlowEnd), mut packet: Packet, bytes: &[u8]) {
        let Some(path) = self.paths[flow].as_ref().and_then(|paths| paths.leaves_over(end, bytes)) else {
            return self.pool.recycle(packet);
        };
        let paths = self.paths[flow].as_ref().expect("it has several");
        let server_port = jobs::ports(&self.flows[flow]).0;
        packet.sockets = SocketPair { server: 0, server_port, ue_port: paths.port(path) };
        let again = self.was_sent(flow, &packet);
        let paths = self.paths[flow].as_mut().expect("it has several");
        let step = paths.leaves(at, path, (&mut packet, bytes), again);
        if let Some(step) = step {
            let event = Paths::event(&self.flows[flow], path, step);
            self.built.report(at, &event);
        }
        self.built.inject_over((self.flows[flow].flow, end, path as Port), packet, at, again);
    }

    /// Whether the payload of this packet has been sent before.
    fn was_sent(&mut self, flow: usize, packet: &Packet) -> bool {
        let Header::Tcp(header) = packet.header else { return false };
        if packet.payload.is_empty() && !header.flags.has(TcpFlags::SYN) {
            return false;
        }
        let end = header.sequence.wrapping_add(packet.payload.len());
        let key = (flow, packet.sockets, packet.direction == Direction::Downlink);
        let last = *self.sent.get(&key).unwrap_or(&end.wrapping_sub(1));
        // A SYN begins another stream.
        let further = end.wrapping_sub(last) as i32 > 0 || header.flags.has(TcpFlags::SYN);
        if further {
            self.sent.insert(key, end);
        }
        !further
    }

    fn report(&mut self, guest: usize, hosts: &[Host], at: u64, report: Report) -> Result<(), GuestError> {
        let now = run_time(at);
        let host = hosts.get(usize::from(report.host));
        let named = || {
            host.map_or_else(
                || "the guest".to_owned(),
                |host| format!("the {} of flow {:?}", name(host.end), self.flows[host.flow].name),
            )
        };
        match (report.what, host, now) {
            (What::Ready(release), ..) => self.ready[guest] = Some(release),
            (What::Failed(text), ..) => {
                let help =
                    "the kernel may lack what was asked for: airlane kernel list --json shows what it has";
                return Err(GuestError::missing(format!("{} could not be set up: {text}", named()), help));
            }
            (What::Output(bytes), Some(host), _) => self.keep_output(host, &bytes),
            (What::Replied(took), Some(host), _) => self.keep_reply(host, took),
            (What::Exited(code), Some(host), _) => {
                self.facts.exits.push((self.flows[host.flow].name.clone(), name(host.end), code));
            }
            (What::Subflow(state), Some(host), Some(now)) if now <= self.built.end() => {
                self.observe_subflow(now, host, &state);
            }
            (what, Some(host), Some(now)) if now <= self.built.end() => self.observe(now, host.flow, &what),
            _ => {}
        }
        Ok(())
    }

    fn keep_output(&mut self, host: &Host, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        self.output += text.len();
        if self.output > OUTPUT_MAX {
            return;
        }
        let (flow, end) = (&self.flows[host.flow].name, name(host.end));
        let output = &mut self.facts.output;
        match output.iter_mut().find(|(of, at, _)| of == flow && *at == end) {
            Some((.., kept)) => kept.push_str(&text),
            None => output.push((flow.clone(), end, text.into_owned())),
        }
    }

    fn keep_reply(&mut self, host: &Host, took: Duration) {
        let flow = &self.flows[host.flow].name;
        let replies = &mut self.facts.replies_ms;
        let ms = took.as_secs_f64() * 1e3;
        match replies.iter_mut().find(|(of, _)| of == flow) {
            Some((_, kept)) if kept.len() < REPLIES_MAX => kept.push(ms),
            Some(_) => {}
            None => replies.push((flow.clone(), vec![ms])),
        }
    }

    /// Passes a report on to the observers of the run.
    fn observe(&mut self, now: Instant, flow: usize, what: &What) {
        let (id, started_at) = (self.flows[flow].flow, self.flows[flow].start);
        let finite = matches!(self.flows[flow].app, App::Fixed(_));
        match what {
            What::State(state) => self.observe_state(now, id, state),
            What::Acknowledged if finite => {
                self.built.report(now, &Event::FlowAcknowledged { flow: id, started_at });
            }
            What::Completed if finite => {
                self.built.report(now, &Event::FlowCompleted { flow: id, started_at });
            }
            What::GaveUp(_) => self.built.report(now, &Event::FlowGaveUp { flow: id }),
            _ => {}
        }
    }

    /// The state of a subflow, and with the last one that of all together.
    fn observe_subflow(&mut self, now: Instant, host: &Host, state: &SubflowState) {
        let Some(paths) = &mut self.paths[host.flow] else { return };
        let flow = &self.flows[host.flow];
        let (step, all) = paths.told(host.end, state);
        if let Some((path, step)) = step {
            self.built.report(now, &Paths::event(flow, path, step));
        }
        if let Some(srtt) = state.tcp.srtt {
            let event = Event::RttSample { flow: flow.flow, rtt: srtt, srtt, rto: state.tcp.rto };
            self.built.report(now, &event);
        }
        if let Some(all) = all {
            self.observe_state(now, flow.flow, &TcpState { srtt: None, ..all });
        }
    }

    fn observe_state(&mut self, now: Instant, flow: FlowId, state: &TcpState) {
        if let Some(srtt) = state.srtt {
            let event = Event::RttSample { flow, rtt: srtt, srtt, rto: state.rto };
            self.built.report(now, &event);
        }
        let event = Event::FlowState {
            flow,
            congestion_window: state.congestion_window,
            ssthresh: state.ssthresh,
            in_flight: state.in_flight,
            offered_window: state.offered_window,
            cubic: None,
        };
        self.built.report(now, &event);
        let (pacing, delivery) = (state.pacing_rate, state.delivery_rate);
        self.built.report(now, &Event::SenderRates { flow, pacing, delivery });
    }
}

/// The time of the run at a guest's request: its begin, if that is in the past.
fn run_time_or_begin(at: u64) -> Option<Instant> {
    Some(run_time(at).unwrap_or(Instant::ZERO))
}

/// The ends of a packet that a node of the network made, such as a proxy. Such a packet has no bytes.
fn ends(flow: &KernelFlow, packet: &Packet) -> Ends {
    let (mut server_port, mut ue_port) = jobs::ports(flow);
    if packet.sockets != SocketPair::default() {
        (server_port, ue_port) = (packet.sockets.server_port, packet.sockets.ue_port);
    }
    let down = Ends {
        source: jobs::address(flow, FlowEnd::Server).into(),
        source_port: server_port,
        destination: jobs::address(flow, FlowEnd::Host).into(),
        destination_port: ue_port,
    };
    match packet.direction {
        Direction::Downlink => down,
        Direction::Uplink => down.reversed(),
    }
}

/// The connection of a packet: that of the flow, if the packet has the ports of the flow.
fn sockets(flow: &KernelFlow, direction: Direction, packet: &Packet) -> SocketPair {
    let Some(headers) = packet.outside() else { return SocketPair::default() };
    let bytes = headers.as_slice();
    if !matches!(packet.header, Header::Tcp(_) | Header::Udp(_)) {
        return SocketPair::default();
    }
    let transport = usize::from(bytes[0] & 0x0f) * 4;
    let port = |at: usize| u16::from_be_bytes([bytes[transport + at], bytes[transport + at + 1]]);
    let (server_port, ue_port) = match direction {
        Direction::Downlink => (port(0), port(2)),
        Direction::Uplink => (port(2), port(0)),
    };
    if (server_port, ue_port) == jobs::ports(flow) {
        return SocketPair::default();
    }
    SocketPair { server: 0, server_port, ue_port }
}

impl Outside for Side<'_, '_> {
    fn sent(&mut self, at: u64, nic: u16, packet: &[u8]) -> Result<(), GuestError> {
        let host = self.hosts.iter().find(|host| host.path(nic).is_some());
        // Before the run, and on the interface of reports, nothing is there to receive it.
        if let (Some(host), Some(now)) = (host, run_time(at))
            && now <= self.driver.built.end()
        {
            self.driver.inject(now, host.flow, host.end, packet);
        }
        Ok(())
    }

    fn reported(&mut self, at: u64, report: &[u8]) -> Result<(), GuestError> {
        match Report::decode(report) {
            Some(report) => self.driver.report(self.guest, self.hosts, at, report),
            None => Ok(()),
        }
    }

    fn limit(&mut self) -> u64 {
        let end = guest_time(self.driver.built.end()) + 1;
        let own = self.driver.built.next_event().map_or(u64::MAX, guest_time);
        // A packet that has arrived at an end already is passed on when the guest waits.
        let now = if self.driver.has_arrived() { guest_time(self.driver.built.now()) } else { u64::MAX };
        own.min(self.others).min(end).min(now)
    }
}
