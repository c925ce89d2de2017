//! A guest: its processes, its clock and its network interfaces.
//!
//! The guest stands still except between [`Guest::run`] and its return, and there while it is blocked in a message.
//! Every message is handled in the order in which the guest sent it, so that nothing depends on real time.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::GuestError;
use crate::linux::memory::Mapped;
use crate::linux::process::{Processes, Start};
use crate::linux::sockets::{self, Broken, Patience, Sources};
use crate::protocol::calendar::{self, Answer, Calendar, Message};
use crate::protocol::flood::{FRAMES_MAX, Flood};
use crate::protocol::frame::{self, Content};
use crate::protocol::initrd::{self, Entry};
use crate::protocol::memory::OutOfBounds;
use crate::protocol::nic::{Action, Nic};
use crate::protocol::queue::QueueError;
use crate::protocol::vhost::{self, Header};

/// Longest time for which a guest may do nothing, unless `AIRLANE_KERNEL_WATCHDOG` sets another.
const WATCHDOG: Duration = Duration::from_secs(60);
/// How often it is looked whether a kernel that has not connected still runs.
const START_PERIOD: Duration = Duration::from_millis(20);
/// Frames that wait for a buffer of the guest; a queue of its driver has 256.
const PENDING_MAX: usize = 4096;

/// The parts of a guest.
#[derive(Clone, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) kernel: &'a Path,
    pub(crate) agent: &'a Path,
    /// The jobs of the agent.
    pub(crate) jobs: &'a str,
    pub(crate) seed: u64,
    /// Number of network interfaces; the first one is for the agent's reports.
    pub(crate) nics: u16,
    /// Whether the interfaces take frames in several buffers and without checksums, and report the departure of each
    /// frame, on which the notifications of zero-copy sends depend.
    pub(crate) scattered: bool,
    /// The time of day when the guest starts, in nanoseconds since 1970.
    pub(crate) epoch: u64,
    /// Whether the guest shares its clock in memory.
    pub(crate) shares: bool,
}

/// Counts of what passed between a guest and us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Turns of the guest.
    pub(crate) turns: u64,
    /// Messages of its clock.
    pub(crate) times: u64,
    /// Notifications about frames that it had sent.
    pub(crate) kicks: u64,
    /// Interrupts that it got.
    pub(crate) interrupts: u64,
    /// Frames from it and to it.
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// The receiver of a guest's output.
pub(crate) trait Outside {
    /// An interface has sent an IP packet.
    fn sent(&mut self, at: u64, nic: u16, packet: &[u8]) -> Result<(), GuestError>;
    /// The agent reports.
    fn reported(&mut self, at: u64, report: &[u8]) -> Result<(), GuestError>;
    /// The time that the guest may not reach before it gets its next input.
    fn limit(&mut self) -> u64;
}

#[derive(Debug)]
struct Port {
    nic: Nic,
    listener: UnixListener,
    socket: Option<OwnedFd>,
    /// The socket for our requests.
    requests: Option<OwnedFd>,
    /// Frames for which the guest had no buffer.
    pending: VecDeque<Vec<u8>>,
    /// Whether the guest was interrupted, or will be before its turn, and has not run since.
    rings: bool,
}

/// A guest.
#[derive(Debug)]
pub(crate) struct Guest<'a> {
    processes: Processes,
    folder: Folder,
    clock: OwnedFd,
    /// The clock, and then the sockets of the interfaces.
    sources: Sources,
    calendar: Calendar<Mapped>,
    /// The descriptor of the calendar's memory.
    shared: Option<OwnedFd>,
    ports: Vec<Port>,
    memory: Option<Mapped>,
    /// Interfaces whose interrupts are sent with the next turn, and its time.
    rung: Vec<usize>,
    rung_at: Option<u64>,
    patience: Patience<'a>,
    flood: Flood,
    /// Scratch memory of a frame.
    frame: Vec<u8>,
    counts: Counts,
}

/// A folder that is removed.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A failure of a step of the protocol.
enum Fault {
    /// The guest has closed the connection.
    End,
    /// The guest was silent, while this was awaited.
    Silent(&'static str),
    /// The run was cancelled.
    Cancelled,
    /// The connection has failed.
    Connection(io::Error),
    Protocol(String),
    /// An error of the outside.
    Guest(GuestError),
}

impl From<Broken> for Fault {
    fn from(error: Broken) -> Self {
        awaiting("the rest of a message")(error)
    }
}

impl From<OutOfBounds> for Fault {
    fn from(error: OutOfBounds) -> Self {
        Self::Protocol(error.to_string())
    }
}

impl From<QueueError> for Fault {
    fn from(error: QueueError) -> Self {
        Self::Protocol(error.to_string())
    }
}

impl From<GuestError> for Fault {
    fn from(error: GuestError) -> Self {
        Self::Guest(error)
    }
}

impl<'a> Guest<'a> {
    /// Starts a guest, which then waits at its time zero. `cancel` ends each wait for it when it becomes true.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(setup: &Setup<'_>, cancel: Option<&'a AtomicBool>) -> Result<Self, GuestError> {
        let wrong = |error: io::Error| {
            let help = "TMPDIR names the folder for temporary files";
            GuestError::missing(format!("the files of a guest cannot be written: {error}"), help)
        };
        let folder = folder().map_err(wrong)?;
        write_initrd(&folder.0, setup)?;
        // The address of a socket has at most 108 bytes (unix(7)), and the path of the folder may be longer.
        let opened = fs::File::open(&folder.0).map_err(wrong)?;
        let base = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let listen = |name: &str| UnixListener::bind(base.join(name)).map_err(wrong);
        let clock = listen("time")?;
        let port = |number: u16| {
            let listener = listen(&format!("n{number}"))?;
            let nic = Nic::new(number);
            let nic = if setup.scattered { nic.with_scattered_frames() } else { nic };
            let pending = VecDeque::new();
            Ok(Port { nic, listener, socket: None, requests: None, pending, rings: false })
        };
        let ports = (0..setup.nics).map(port).collect::<Result<Vec<_>, GuestError>>()?;
        let create = || Mapped::create("airlane-clock", calendar::SHARED);
        let shared = setup.shares.then(create).transpose().map_err(wrong)?;
        let descriptor = shared.as_ref().map(|shared| shared.fd().try_clone_to_owned()).transpose();
        let shared_fd = descriptor.map_err(wrong)?;
        let calendar = Calendar::new(shared, setup.epoch);
        let calendar = calendar.map_err(|error| GuestError::failed(error.to_string(), ""))?;
        let start = Start {
            kernel: setup.kernel,
            folder: &folder.0,
            seed: setup.seed,
            nics: setup.nics,
            scattered: setup.scattered,
        };
        let processes = Processes::start(&start)?;
        let start =
            Patience { limit: watchdog(), cancel, process: Some(processes.kernel()), connected: false };
        let clock = accept(&processes, &clock, start)?;
        let patience = Patience { connected: true, ..start };
        sockets::limit(clock.as_fd(), patience).map_err(wrong)?;
        let sources = sources(&clock, &ports).map_err(wrong)?;
        Ok(Self {
            processes,
            folder,
            clock,
            sources,
            calendar,
            shared: shared_fd,
            ports,
            memory: None,
            rung: vec![],
            rung_at: None,
            patience,
            flood: Flood::default(),
            frame: Vec::with_capacity(2048),
            counts: Counts::default(),
        })
    }

    /// The guest runs from its start until it waits.
    ///
    /// # Errors
    /// If the guest fails.
    pub(crate) fn begin(&mut self, outside: &mut impl Outside) -> Result<(), GuestError> {
        let limit = outside.limit();
        let begun = self.calendar.limit(limit).map_err(Fault::from).map(drop);
        begun.and_then(|()| self.serve(outside)).map_err(|fault| self.explain(fault))
    }

    /// The time at which the guest has to run; `None` if it has nothing to do.
    pub(crate) fn request(&self) -> Option<u64> {
        match (self.rung_at, self.calendar.request()) {
            (Some(rung), Some(own)) => Some(rung.min(own)),
            (rung, own) => rung.or(own),
        }
    }

    /// Puts a packet for an interface at time `at`; `append` adds the packet to the frame. The guest is interrupted at
    /// this time, unless its driver polls and has switched interrupts off.
    ///
    /// # Errors
    /// If the guest fails.
    pub(crate) fn put(
        &mut self,
        at: u64,
        nic: u16,
        append: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), GuestError> {
        let mut bytes = core::mem::take(&mut self.frame);
        let port = &mut self.ports[usize::from(nic)];
        frame::to_interface(port.nic.mac(), &mut bytes, append);
        let put = self.put_frame(at, nic, &bytes);
        self.frame = bytes;
        put.map_err(|fault| self.explain(fault))
    }

    /// Sends a request to the agent at time `at`, which wakes the agent up; `meanwhile` is true while another request
    /// waits.
    ///
    /// # Errors
    /// If the guest fails.
    pub(crate) fn ask(&mut self, at: u64, meanwhile: bool, request: &[u8]) -> Result<(), GuestError> {
        let mut bytes = core::mem::take(&mut self.frame);
        frame::to_agent(self.ports[0].nic.mac(), meanwhile, &mut bytes, request);
        let put = self.put_frame(at, 0, &bytes);
        self.frame = bytes;
        put.map_err(|fault| self.explain(fault))
    }

    /// The time of the guest while it waits.
    pub(crate) fn time(&self) -> u64 {
        self.calendar.time()
    }

    fn put_frame(&mut self, at: u64, nic: u16, bytes: &[u8]) -> Result<(), Fault> {
        let port = &mut self.ports[usize::from(nic)];
        let memory = self.memory.as_ref().ok_or_else(|| no_memory(nic))?;
        self.counts.received += 1;
        self.calendar.set_time(at)?;
        if port.pending.is_empty() && port.nic.put(memory, bytes)? {
            return self.ring(usize::from(nic));
        }
        if port.pending.len() == PENDING_MAX {
            return Err(Fault::Protocol(format!("the guest does not read its interface {nic}")));
        }
        port.pending.push_back(bytes.to_vec());
        Ok(())
    }

    /// Interrupts the guest about frames of an interface, once before its next turn.
    fn ring(&mut self, nic: usize) -> Result<(), Fault> {
        let port = &mut self.ports[nic];
        let memory = self.memory.as_ref().ok_or_else(|| no_memory(nic as u16))?;
        if port.rings || !port.nic.wants_interrupt(memory)? {
            return Ok(());
        }
        port.rings = true;
        if !self.calendar.is_idle() {
            return self.interrupt(nic, Nic::interrupt(true));
        }
        // The guest learns of the interrupt with its turn, which saves two changes between the guest and us.
        self.rung.push(nic);
        self.rung_at.get_or_insert(self.calendar.time());
        Ok(())
    }

    /// Sends the interrupts that wait for a turn. The signal about them precedes the message of the turn, and the guest
    /// handles signals first.
    fn send_rung(&mut self) -> Result<(), Fault> {
        self.rung_at = None;
        let mut rung = core::mem::take(&mut self.rung);
        for nic in rung.drain(..) {
            self.counts.interrupts += 1;
            sockets::send_bytes(self.requests(nic)?, &Nic::interrupt(false))?;
        }
        self.rung = rung;
        Ok(())
    }

    /// The socket for our requests about an interface.
    fn requests(&self, nic: usize) -> Result<BorrowedFd<'_>, Fault> {
        let requests = self.ports[nic].requests.as_ref();
        let missing = || Fault::Protocol(format!("interface {nic} cannot be interrupted"));
        Ok(requests.ok_or_else(missing)?.as_fd())
    }

    /// Runs the guest at time `at`, the time of its request, until it waits.
    ///
    /// # Errors
    /// If the guest fails.
    pub(crate) fn run(&mut self, at: u64, outside: &mut impl Outside) -> Result<(), GuestError> {
        self.turn(at, outside).map_err(|fault| self.explain(fault))
    }

    fn turn(&mut self, at: u64, outside: &mut impl Outside) -> Result<(), Fault> {
        self.calendar.set_time(at)?;
        self.ports.iter_mut().for_each(|port| port.rings = false);
        self.counts.turns += 1;
        let messages = self.calendar.run(at, outside.limit())?;
        self.send_rung()?;
        for message in messages {
            self.send_time(message)?;
        }
        self.serve(outside)?;
        (0..self.ports.len()).try_for_each(|nic| self.refill(nic))
    }

    /// Frames for which the guest had no buffer get the buffers that it has provided.
    fn refill(&mut self, nic: usize) -> Result<(), Fault> {
        let (Some(memory), port) = (&self.memory, &mut self.ports[nic]) else { return Ok(()) };
        let mut some = false;
        while let Some(frame) = port.pending.front() {
            if !port.nic.put(memory, frame)? {
                break;
            }
            some = true;
            port.pending.pop_front();
        }
        if some { self.ring(nic) } else { Ok(()) }
    }

    /// Handles messages until the guest waits.
    fn serve(&mut self, outside: &mut impl Outside) -> Result<(), Fault> {
        while !self.calendar.waits() {
            match self.next()? {
                Source::Clock => self.serve_clock()?,
                Source::Connection(nic) => {
                    self.connect(nic).map_err(Broken::Error)?;
                }
                Source::Device(nic) => self.serve_device(nic, outside)?,
            }
        }
        Ok(self.calendar.take_turn()?)
    }

    /// The guest has found an interface.
    fn connect(&mut self, nic: usize) -> io::Result<()> {
        let port = &mut self.ports[nic];
        let (socket, _) = port.listener.accept()?;
        self.sources.remove(port.listener.as_fd())?;
        self.sources.add(socket.as_fd(), nic + 1)?;
        sockets::limit(socket.as_fd(), self.patience)?;
        port.socket = Some(socket.into());
        Ok(())
    }

    /// Waits for the next message.
    fn next(&self) -> Result<Source, Fault> {
        let ready = self.sources.wait(self.patience).map_err(awaiting("its next message"))?;
        Ok(match ready.checked_sub(1) {
            None => Source::Clock,
            Some(nic) if self.ports[nic].socket.is_none() => Source::Connection(nic),
            Some(nic) => Source::Device(nic),
        })
    }

    fn serve_clock(&mut self) -> Result<(), Fault> {
        let mut bytes = [0; calendar::MESSAGE];
        sockets::read_some(self.clock.as_fd(), &mut bytes, calendar::MESSAGE)?;
        let message = Message::decode(&bytes)
            .ok_or_else(|| Fault::Protocol("the guest sent an unknown message of its clock".to_owned()))?;
        let answer = self.calendar.receive(message).map_err(|unexpected| {
            Fault::Protocol(format!("the guest sent an unexpected message of its clock, {:?}", unexpected.0))
        })?;
        self.counts.times += 1;
        match answer {
            Answer::Send(message) | Answer::SendWaits(message) => self.send_time(message),
            Answer::SendShared(message) => {
                let shared = self.shared.as_ref().expect("a calendar that shares has memory");
                // The second is for a log, which guests close.
                let both = [shared.as_fd(), shared.as_fd()];
                Ok(sockets::send(self.clock.as_fd(), &message.encode(), &both)?)
            }
            Answer::Waits | Answer::Nothing => Ok(()),
        }
    }

    fn send_time(&mut self, message: Message) -> Result<(), Fault> {
        self.counts.times += 1;
        Ok(sockets::send_bytes(self.clock.as_fd(), &message.encode())?)
    }

    fn serve_device(&mut self, nic: usize, outside: &mut impl Outside) -> Result<(), Fault> {
        let socket = self.ports[nic].socket.as_ref().expect("it was ready to read").as_fd();
        let mut bytes = [0; vhost::HEADER + vhost::PAYLOAD_MAX];
        // A notification is read at once. Requests for the setup may follow each other, and may have descriptors.
        let (got, mut descriptors) = match self.ports[nic].nic.is_up() {
            true => (sockets::read_some(socket, &mut bytes[..vhost::NOTIFICATION], vhost::HEADER)?, vec![]),
            false => (vhost::HEADER, sockets::read(socket, &mut bytes[..vhost::HEADER])?),
        };
        let (head, payload) = bytes.split_at_mut(vhost::HEADER);
        let header = Header::decode(head.first_chunk().expect("it was split there"));
        let (length, begun) = (header.size as usize, got - vhost::HEADER);
        if length > vhost::PAYLOAD_MAX || length < begun {
            return Err(Fault::Protocol(format!("interface {nic} got a request of {length} bytes")));
        }
        if begun < length {
            descriptors.extend(sockets::read(socket, &mut payload[begun..length])?);
        }
        let action = self.ports[nic].nic.handle(header, &payload[..length]);
        let action = action.map_err(|unknown| Fault::Protocol(unknown.to_string()))?;
        let descriptor = || Fault::Protocol(format!("interface {nic} got no descriptor"));
        let answer = match action {
            Action::Reply(bytes) => bytes,
            Action::Map(region, bytes) => {
                let file = descriptors.into_iter().next().ok_or_else(descriptor)?;
                // All interfaces of a guest share its memory.
                if self.memory.is_none() {
                    self.memory = Some(Mapped::of_guest(file, region).map_err(Broken::Error)?);
                }
                bytes
            }
            Action::KeepSocket(bytes) => {
                let requests = descriptors.into_iter().next().ok_or_else(descriptor)?;
                sockets::limit(requests.as_fd(), self.patience).map_err(Broken::Error)?;
                self.ports[nic].requests = Some(requests);
                bytes
            }
            Action::Sent => {
                self.take_sent(nic, outside)?;
                vhost::acknowledgment(header.request).to_vec()
            }
        };
        let socket = self.ports[nic].socket.as_ref().expect("it was read").as_fd();
        Ok(sockets::send_bytes(socket, &answer)?)
    }

    /// The guest has sent frames, and is blocked until they were taken.
    fn take_sent(&mut self, nic: usize, outside: &mut impl Outside) -> Result<(), Fault> {
        self.counts.kicks += 1;
        let at = self.calendar.time();
        let memory = self.memory.as_ref().ok_or_else(|| no_memory(nic as u16))?;
        let mut frame = core::mem::take(&mut self.frame);
        let mut some = false;
        while self.ports[nic].nic.take(memory, &mut frame)? {
            self.counts.sent += 1;
            some = true;
            if self.flood.count(at) {
                return Err(floods(at).into());
            }
            match frame::content(&frame) {
                Content::Packet(packet) => outside.sent(at, nic as u16, packet)?,
                Content::Report(report) => outside.reported(at, report)?,
                Content::Other => {}
            }
        }
        self.frame = frame;
        if some && self.ports[nic].nic.wants_completion(memory)? {
            self.interrupt(nic, Nic::completion())?;
        }
        if let Some(message) = self.calendar.limit(outside.limit())? {
            self.send_time(message)?;
            // The guest would read the answer to its notification first.
            while !self.calendar.is_settled() {
                let confirmed = sockets::wait(&[self.clock.as_fd()], self.patience);
                confirmed.map_err(awaiting("its confirmation of the limit of its turn"))?;
                self.serve_clock()?;
            }
        }
        Ok(())
    }

    /// Interrupts the guest, and returns when it knows it.
    fn interrupt(&mut self, nic: usize, call: [u8; vhost::NOTIFICATION]) -> Result<(), Fault> {
        self.counts.interrupts += 1;
        sockets::send_bytes(self.requests(nic)?, &call)?;
        loop {
            // Without a shared memory, the guest asks for the time first.
            let confirmed = sockets::wait(&[self.clock.as_fd(), self.requests(nic)?], self.patience);
            if confirmed.map_err(awaiting("its confirmation of an interrupt"))? == 0 {
                self.serve_clock()?;
                continue;
            }
            let mut answer = [0; vhost::NOTIFICATION];
            sockets::read_some(self.requests(nic)?, &mut answer, vhost::NOTIFICATION)?;
            if !vhost::is_call_confirmed(&answer) {
                return Err(Fault::Protocol(format!("interface {nic} refused an interrupt")));
            }
            return Ok(());
        }
    }

    /// Counts so far.
    pub(crate) const fn counts(&self) -> Counts {
        self.counts
    }

    fn explain(&mut self, fault: Fault) -> GuestError {
        let virtual_s = self.calendar.time() as f64 / 1e9;
        let at = format!("at {virtual_s:.3} s of its time");
        match fault {
            Fault::Guest(error) => error,
            Fault::Cancelled => GuestError::cancelled(),
            Fault::End => self.processes.diagnose(&at, None),
            Fault::Silent(what) => self.processes.diagnose(&at, Some((self.patience.limit, what))),
            Fault::Connection(error) => {
                GuestError::failed(format!("the connection to the guest failed {at}: {error}"), "")
            }
            Fault::Protocol(what) => {
                let help = format!(
                    "its files were in {}; is it a kernel of airlane kernel build?",
                    self.folder.0.display()
                );
                GuestError::failed(format!("{what} ({at})"), help)
            }
        }
    }
}

/// The fault of a wait for this.
fn awaiting(what: &'static str) -> impl Fn(Broken) -> Fault {
    move |error| match error {
        Broken::End => Fault::End,
        Broken::Silent => Fault::Silent(what),
        Broken::Cancelled => Fault::Cancelled,
        Broken::Error(error) => Fault::Connection(error),
    }
}

/// The source of the next message.
enum Source {
    Clock,
    Connection(usize),
    Device(usize),
}

fn sources(clock: &OwnedFd, ports: &[Port]) -> io::Result<Sources> {
    let sources = Sources::new()?;
    sources.add(clock.as_fd(), 0)?;
    for (number, port) in (1..).zip(ports) {
        sources.add(port.listener.as_fd(), number)?;
    }
    Ok(sources)
}

fn no_memory(nic: u16) -> Fault {
    Fault::Protocol(format!("interface {nic} was used before the guest had shared its memory"))
}

fn floods(at: u64) -> GuestError {
    let seconds = at as f64 / 1e9;
    GuestError::failed(
        format!(
            "the guest kernel floods at {seconds:.3} s of its time: more than {FRAMES_MAX} frames in 100 ms"
        ),
        "one of its programs sends without end",
    )
}

fn watchdog() -> Duration {
    let given = std::env::var("AIRLANE_KERNEL_WATCHDOG").ok().and_then(|text| text.parse::<f64>().ok());
    given.filter(|&seconds| seconds > 0.0 && seconds < 1e6).map_or(WATCHDOG, Duration::from_secs_f64)
}

/// A new folder for the files of a guest.
fn folder() -> io::Result<Folder> {
    let (base, own) = (std::env::temp_dir(), std::process::id());
    for number in 0..10_000 {
        let path = base.join(format!("airlane-guest-{own}-{number}"));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(Folder(path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn write_initrd(folder: &Path, setup: &Setup<'_>) -> Result<(), GuestError> {
    let agent = fs::read(setup.agent).map_err(|error| {
        let help = "airlane kernel build builds the kernel and its agent again";
        GuestError::missing(format!("{}: {error}", setup.agent.display()), help)
    })?;
    let entries = [
        Entry::folder("dev"),
        Entry::device("dev/console", 5, 1),
        Entry::device("dev/null", 1, 3),
        Entry::folder("proc"),
        Entry::program("init", &agent),
        Entry::file("jobs", setup.jobs.as_bytes()),
    ];
    let written = fs::File::create(folder.join("initrd"))
        .and_then(|mut file| file.write_all(&initrd::archive(&entries)));
    written.map_err(|error| {
        GuestError::missing(
            format!("the first file system of the guest: {error}"),
            "free some space in TMPDIR",
        )
    })
}

/// The connection of a kernel that was just started.
fn accept(
    processes: &Processes,
    listener: &UnixListener,
    patience: Patience<'_>,
) -> Result<OwnedFd, GuestError> {
    let mut waited = Duration::ZERO;
    let period = Patience { limit: START_PERIOD, ..patience };
    loop {
        match sockets::wait(&[listener.as_fd() as BorrowedFd<'_>], period) {
            Ok(_) => match listener.accept() {
                Ok((socket, _)) => return Ok(socket.into()),
                Err(error) => return Err(GuestError::failed(format!("the guest's clock: {error}"), "")),
            },
            Err(Broken::Cancelled) => return Err(GuestError::cancelled()),
            Err(Broken::End) => return Err(processes.diagnose_start(None)),
            Err(Broken::Silent) if waited < patience.limit => waited += START_PERIOD,
            Err(_) => return Err(processes.diagnose_start(Some((waited, "its connection")))),
        }
    }
}
