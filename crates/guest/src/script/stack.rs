//! A guest as the TCP under a script.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{Ecn, Instant, Seeds};
use airlane_packetdrill::{Answer, Call, Device, EcnField, Numbering, Segment, Sent, Settings, Stack};

use super::answers;
use super::calls::{self, Prepared, Then};
use super::configure::Namespaces;
use super::names;
use super::outbox::{NIC, Outbox};
use super::packets::{self, LOCAL, PORT, Ports};
use crate::GuestError;
use crate::jobs::{EPOCH, FIXED};
use crate::kernels;
use crate::linux::guest::{Guest, Setup};
use crate::linux::scheduling::Scheduling;
use crate::protocol::call::{Outcome, Request};

/// The guest's time when a script begins, in nanoseconds: it starts, and the host is set up, before.
const BEGIN: u64 = 2_000_000_000;
/// Nanoseconds for which a guest runs on after an input, so that it finishes the work that follows immediately. Its
/// processors take no time, but each look at the clock takes 256 ns.
const SETTLING: u64 = 100_000;
/// The remote port of the first connection that the peer opens.
const FIRST_REMOTE: u16 = 40_000;
/// The seed of the guests' random numbers.
const SEED: u64 = 1;

/// A connection.
#[derive(Debug)]
struct Connection {
    ports: Ports,
    numbering: Numbering,
    /// The segment size that the peer offers.
    peer_mss: u16,
}

/// The connection of segments without an address: as in packetdrill, the one that was opened last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnderTest {
    Nothing,
    Listener,
    /// `connect` was called, and no SYN has been sent.
    Connecting,
    Connection(usize),
}

/// The guest under a script.
#[derive(Debug)]
pub(super) struct GuestStack {
    guest: Guest<'static>,
    outbox: Outbox,
    /// The time of the guest, and the time of the script's last event, which the guest's time may exceed by the work
    /// that followed.
    now: u64,
    script_now: u64,
    area: u64,
    device: Device,
    sent: VecDeque<Sent>,
    connections: Vec<Connection>,
    under_test: UnderTest,
    /// The guest's descriptors by those of the script.
    files: BTreeMap<i64, i64>,
    /// The descriptor of the script whose state code sees: of the last connection, once it was accepted.
    watched: Option<i64>,
    listens: bool,
    /// The call that waits.
    waiting: Option<Prepared>,
    pub(super) applied: Settings,
    pub(super) namespaces: Option<Namespaces>,
    pub(super) interface: Option<u32>,
    /// A socket of the guest that reports the state of connections.
    pub(super) diagnosis: i64,
    failure: Option<GuestError>,
    _scheduling: Scheduling,
}

impl GuestStack {
    /// Starts a guest with the host of a script.
    pub(super) fn start(kernel: &str, device: Device) -> Result<Self, GuestError> {
        let files = kernels::find(kernel)?;
        let mut jobs = format!("host nic={NIC} address={LOCAL} mtu={} gro=1 gso=1 role=calls\n", device.mtu);
        for (name, value) in FIXED {
            jobs += &format!("sysctl {name}={value}\n");
        }
        let scheduling = Scheduling::begin();
        let setup = Setup {
            kernel: &files.program,
            agent: &files.agent,
            jobs: &jobs,
            seed: Seeds::new(SEED).stream("guest/0").bits(),
            nics: NIC + 1,
            scattered: true,
            epoch: EPOCH - BEGIN,
            shares: files.shares_clock(),
        };
        let mut guest = Guest::start(&setup, None)?;
        let mut outbox = Outbox { limit: BEGIN, ..Outbox::default() };
        guest.begin(&mut outbox)?;
        while let Some(at) = guest.request().filter(|&at| at < BEGIN) {
            outbox.limit = BEGIN;
            guest.run(at, &mut outbox)?;
        }
        let (Some(area), Some(_)) = (outbox.area, &outbox.release) else {
            let what = "the guest kernel has started, but its first program takes no calls";
            let help = format!("airlane kernel build {kernel} compiles it again for this version");
            return Err(GuestError::missing(what, help));
        };
        outbox.packets.clear();
        let mut stack = Self {
            guest,
            outbox,
            now: BEGIN,
            script_now: BEGIN,
            area,
            device,
            sent: VecDeque::new(),
            connections: Vec::new(),
            under_test: UnderTest::Nothing,
            files: BTreeMap::new(),
            watched: None,
            listens: false,
            waiting: None,
            applied: Settings::default(),
            namespaces: None,
            interface: None,
            diagnosis: -1,
            failure: None,
            _scheduling: scheduling,
        };
        let observed = stack.observe();
        let failed = |what: String| GuestError::failed(format!("the guest refuses {what}"), "");
        observed.map_err(|what| stack.take_failure().unwrap_or_else(|| failed(what)))?;
        Ok(stack)
    }

    /// Opens a socket that receives all packets, as packetdrill does: its copies decide how zero-copy sends are
    /// reported. Opens another socket, which reports the state of connections.
    fn observe(&mut self) -> Result<(), String> {
        let raw = i64::from(libc::SOCK_RAW);
        let all = i64::from((libc::ETH_P_ALL as u16).to_be());
        self.must(libc::SYS_socket, [i64::from(libc::AF_PACKET), raw, all, 0, 0, 0], &[])?;
        let diagnosis = [i64::from(libc::AF_NETLINK), raw, i64::from(libc::NETLINK_SOCK_DIAG), 0, 0, 0];
        self.diagnosis = self.must(libc::SYS_socket, diagnosis, &[])?.result;
        Ok(())
    }

    /// Why the guest has failed, if it has.
    pub(super) fn take_failure(&mut self) -> Option<GuestError> {
        self.failure.take()
    }

    /// The address of the area, as an argument.
    pub(super) const fn area(&self) -> i64 {
        self.area.cast_signed()
    }

    /// Runs the guest from the time of its request on, until it waits or reports something, but not up to `limit`, in
    /// nanoseconds.
    fn run(&mut self, limit: u64) {
        let Some(at) = self.request() else { return };
        let at = at.max(self.now);
        self.outbox.limit = limit;
        if let Err(error) = self.guest.run(at, &mut self.outbox) {
            self.failure = Some(error);
            return;
        }
        self.now = at.max(self.guest.time());
        while let Some((at, packet)) = self.outbox.packets.pop_front() {
            self.take(at, &packet);
        }
    }

    /// Runs the guest at the time of its request; it waits before its clock continues. In a longer run the guest's time
    /// may differ from the last time that it reported, and an input must not come before it.
    fn run_once(&mut self) {
        if let Some(at) = self.request() {
            self.run(at.max(self.now) + 1);
        }
    }

    /// The time at which the guest asks to run.
    fn request(&self) -> Option<u64> {
        if self.failure.is_some() { None } else { self.guest.request() }
    }

    /// Lets the guest do the work that follows from an input immediately.
    fn settle(&mut self) {
        let end = self.now + SETTLING;
        while self.request().is_some_and(|at| at < end) {
            self.run_once();
        }
    }

    /// The time of an input: now, or as soon as the guest has finished earlier work. It is a whole microsecond, as the
    /// times of scripts and of the guest's TCP.
    fn input_time(&mut self) -> u64 {
        self.settle(); // after a step, the guest may be within one of its own
        self.now = self.now.next_multiple_of(1_000);
        self.script_now = self.script_now.max(self.now);
        self.script_now
    }

    /// Makes a call; `None` if it waits.
    fn make(&mut self, request: &Request) -> Option<Outcome> {
        self.outbox.returned = None;
        let at = self.input_time();
        if self.failure.is_none()
            && let Err(error) = self.guest.ask(at, false, &request.encode())
        {
            self.failure = Some(error);
        }
        self.settle();
        self.outbox.returned.take()
    }

    /// Makes a call that does not wait, also while another call waits.
    pub(super) fn made_meanwhile(&mut self, request: &Request) -> Result<Outcome, String> {
        self.outbox.returned_meanwhile = None;
        let at = self.input_time();
        if self.failure.is_none()
            && let Err(error) = self.guest.ask(at, true, &request.encode())
        {
            self.failure = Some(error);
        }
        self.settle();
        self.outbox.returned_meanwhile.take().ok_or_else(|| "the state of a socket".to_owned())
    }

    /// Makes a call that does not wait.
    pub(super) fn made(&mut self, number: i64, arguments: [i64; 6], data: &[u8]) -> Result<Outcome, String> {
        let request = Request { number, arguments, data: data.to_vec() };
        self.make(&request).ok_or_else(|| format!("the system call {number}, which waits"))
    }

    /// Makes a call that must not fail.
    pub(super) fn must(&mut self, number: i64, arguments: [i64; 6], data: &[u8]) -> Result<Outcome, String> {
        let outcome = self.made(number, arguments, data)?;
        let error = names::error(outcome.error);
        if outcome.result < 0 { Err(format!("the system call {number}: {error}")) } else { Ok(outcome) }
    }

    /// Takes a packet that the guest has sent.
    fn take(&mut self, at: u64, packet: &[u8]) {
        let Some(found) = packets::read(packet) else { return };
        let known = self.connections.iter().position(|connection| connection.ports == found.ports);
        let connection = known.unwrap_or_else(|| self.open(found.ports));
        self.connections[connection].numbering.on_sent(&found.header);
        let (at, header, payload, ecn) = (Instant::from_nanos(at), found.header, found.payload, found.ecn);
        self.sent.push_back(Sent { at, connection, header, payload, ecn, option: None });
    }

    fn open(&mut self, ports: Ports) -> usize {
        self.connections.push(Connection { ports, numbering: Numbering::new(None), peer_mss: 536 });
        let index = self.connections.len() - 1;
        self.under_test = UnderTest::Connection(index);
        index
    }

    /// The connection to which a segment of the script belongs.
    fn destination(&mut self) -> Result<usize, String> {
        match self.under_test {
            UnderTest::Connection(index) => Ok(index),
            UnderTest::Listener => {
                let remote = FIRST_REMOTE + self.connections.len() as u16;
                self.watched = None;
                Ok(self.open(Ports { local: PORT, remote }))
            }
            UnderTest::Nothing | UnderTest::Connecting => Err("a segment without a connection".to_owned()),
        }
    }

    /// The result of a call, and its effect on descriptors.
    fn finish(&mut self, prepared: &Prepared, outcome: &Outcome) -> Answer {
        let done = outcome.result >= 0;
        match prepared.then {
            Then::Opens(fd) if done => {
                self.files.insert(fd, outcome.result);
                if prepared.request.number == libc::SYS_accept4 {
                    self.watched = Some(fd);
                }
            }
            Then::Closes(fd) if done => {
                self.files.remove(&fd);
                self.watched = self.watched.filter(|&watched| watched != fd);
            }
            Then::Listens(fd) if done => {
                self.under_test = UnderTest::Listener;
                self.watched = Some(fd);
                self.listens = true;
            }
            _ => {}
        }
        answers::answer(&prepared.then, outcome)
    }
}

impl Stack for GuestStack {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.script_now)
    }

    fn next_timeout(&self) -> Instant {
        self.request().map_or(Instant::FAR_FUTURE, |at| Instant::from_nanos(at.max(self.script_now)))
    }

    fn step(&mut self, _latest: Instant) {
        self.run_once();
        self.script_now = self.script_now.max(self.now);
    }

    fn advance(&mut self, to: Instant) {
        let to = to.as_nanos();
        while self.request().is_some_and(|at| at < to) {
            self.run(to);
        }
        self.now = self.now.max(to);
        self.script_now = self.script_now.max(to);
    }

    fn sent(&mut self) -> &mut VecDeque<Sent> {
        &mut self.sent
    }

    fn numbering(&mut self, connection: usize) -> &mut Numbering {
        &mut self.connections[connection].numbering
    }

    fn full_segment(&self, sent: &Sent) -> u32 {
        let mss = self.connections[sent.connection].peer_mss.min(self.device.mss());
        u32::from(mss) - if sent.header.timestamps.is_some() { 12 } else { 0 }
    }

    fn receive(&mut self, segment: &Segment) -> Result<(), String> {
        if segment.is_signed() {
            return Err("signed segments (MD5), which guest kernels do not have".to_owned());
        }
        let index = self.destination()?;
        let connection = &mut self.connections[index];
        let header = connection.numbering.header(segment)?;
        connection.peer_mss = header.syn.mss.map_or(connection.peer_mss, |mss| mss.0);
        if header.wire_len() > 60 {
            return Err("more than 40 bytes of options".to_owned());
        }
        let ecn = segment.ecn.map_or(Ecn::NotCapable, EcnField::sent);
        let ports = connection.ports;
        let at = self.input_time();
        for bytes in packets::packets(&header, ecn, segment.payload, ports, self.device.arriving) {
            if self.failure.is_some() {
                break;
            }
            let put = self.guest.put(at, NIC, |into| into.extend_from_slice(&bytes));
            self.failure = put.err();
        }
        self.settle();
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Answer {
        let files = &self.files;
        // A descriptor that is not open must fail with EBADF.
        let prepared = calls::prepare(call, self.area, &|fd| files.get(&fd).copied().unwrap_or(-1));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(reason) => return Answer::Foreign(reason),
        };
        if let Then::Connects(fd) = prepared.then
            && self.watched != Some(fd)
        {
            self.watched = Some(fd);
            self.under_test = UnderTest::Connecting;
        }
        match self.make(&prepared.request) {
            Some(outcome) => self.finish(&prepared, &outcome),
            None => {
                self.waiting = Some(prepared);
                Answer::Blocks
            }
        }
    }

    fn resume(&mut self, _call: &Call) -> Answer {
        let Some(outcome) = self.outbox.returned.take() else { return Answer::Blocks };
        match self.waiting.take() {
            Some(prepared) => self.finish(&prepared, &outcome),
            None => Answer::Foreign("a result without a call".to_owned()),
        }
    }

    fn apply(&mut self, settings: &Settings) -> Result<(), String> {
        if self.waiting.is_some() {
            return Err("a setting while a call waits".to_owned());
        }
        self.configure(settings)
    }

    fn listens(&self) -> bool {
        self.listens
    }

    fn info(&mut self) -> Result<Vec<(&'static str, i64)>, String> {
        match (self.watched.and_then(|fd| self.files.get(&fd)).copied(), self.under_test) {
            (Some(fd), _) => self.socket_state(fd),
            (None, UnderTest::Connection(index)) => self.connection_state(self.connections[index].ports),
            (None, _) => Err("the state of a connection that does not exist".to_owned()),
        }
    }
}
