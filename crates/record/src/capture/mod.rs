//! Packet captures: one pcapng file per capture point, written during the run.
//!
//! Time stamps are those of the virtual clock, counted from 1970-01-01 00:00 UTC, so that the epoch
//! time of a packet is the simulated time. Each host stamps what it sends when its transport emits
//! it, and what it receives before its transport sees it.
//!
//! Addresses: the server is 10.0.0.1, further servers of an application follow from 10.0.0.2 on; the n-th UE
//! 10.1.0.0 + n, the host of a wired network 10.1.0.1; on S1-U the gateway is 10.2.0.1 and the n-th cell
//! 10.3.0.0 + n, and the n-th UE's tunnels have the identifier n in both directions. The data of a flow is
//! sent from port 50000 + the flow's number to port 5203; a connection that is one of many has the ports
//! chosen by its application. On the n-th link next to the mobile network, UEs have the addresses 10.(4 + n).0.0 on.
//!
//! Where packets are encrypted, the secrets of their connection precede them, so that an analyser can decrypt
//! them.

mod pcapng;
#[cfg(test)]
mod tests;
mod wire;

use core::fmt;
use core::net::Ipv4Addr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use airlane_core::{
    CellId, Direction, Event, FlowId, Header, Instant, Packet, Probe, SocketPair, Topic, TopicSet,
};

use airlane_wire::Ends;
use pcapng::PcapNg;
use wire::{Tunnel, Wire};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);
const PEP: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 1);
/// The port of PEP messages, at the PEP and at the server.
const PEP_PORT: u16 = 5204;
/// The port to which data is sent; it is not assigned to a protocol that an analyser knows.
const SINK_PORT: u16 = 5203;
/// Flow n sends its data from this port plus n; there are at most 10,000 flows, and analysers know none of
/// the first 4000 ports.
const FIRST_SOURCE_PORT: u16 = 50_000;

/// The second byte of the addresses of the first link next to the mobile network.
const FIRST_LINK: u32 = 5;

/// Where packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapturePoint {
    /// The server's interface.
    Server,
    /// The interface of each UE, or of the host.
    Ue,
    /// The interface of each eNB towards the core, with the tunnel's headers.
    S1u,
}

/// The data about a flow that a capture needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureFlow {
    /// The UE at its far end; 0 in a network without UEs.
    pub ue: u32,
    /// The direction of its data.
    pub direction: Direction,
    /// True for a TCP flow: datagrams in it are messages of a PEP.
    pub tcp: bool,
}

/// The parameters of captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureParameters {
    /// The capture points.
    pub points: Vec<CapturePoint>,
    /// Number of bytes of a packet that are stored.
    pub snaplen: u32,
    /// Every flow, by index.
    pub flows: Vec<CaptureFlow>,
    /// The name of each UE (or of the host), by index.
    pub ues: Vec<String>,
    /// The name of each cell, by index.
    pub cells: Vec<String>,
    /// The subflows of flows over Multipath TCP.
    pub subflows: Vec<CaptureSubflow>,
}

/// A subflow, which has an address and an interface of its own at the UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureSubflow {
    /// The flow.
    pub flow: FlowId,
    /// Its port at the UE.
    pub ue_port: u16,
    /// The UE of its radio, or that of the interface if it has none.
    pub ue: u32,
    /// The number of its link next to the mobile network, if it has one.
    pub link: Option<u32>,
}

/// A capture file that cannot be written.
#[derive(Debug)]
pub struct CaptureError {
    /// The file.
    pub path: PathBuf,
    /// The error of the operating system.
    pub error: io::Error,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.error)
    }
}

impl core::error::Error for CaptureError {}

struct Output<W> {
    path: PathBuf,
    file: PcapNg<W>,
}

/// Where a capture is written.
pub enum To {
    /// To the disk.
    File(BufWriter<File>),
    /// To memory, where there is no disk, as in a browser.
    Memory(Vec<u8>),
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Memory(memory) => memory.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// Observes packets and writes them.
pub struct Capture<W = To> {
    flows: Vec<CaptureFlow>,
    subflows: Vec<CaptureSubflow>,
    /// Number of UEs that have an interface.
    ues: usize,
    snaplen: u32,
    wire: Wire,
    server: Option<Output<W>>,
    ue: Option<Output<W>>,
    s1u: Option<Output<W>>,
    failed: Option<CaptureError>,
}

impl Capture {
    /// Creates a file for each point: `prefix` and the point's name, such as `out/server.pcapng` for
    /// a prefix of `out/`.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn create(prefix: &str, parameters: &CaptureParameters) -> Result<Self, CaptureError> {
        Self::with(parameters, |name| {
            let path = PathBuf::from(format!("{prefix}{name}.pcapng"));
            match File::create(&path) {
                Ok(file) => Ok((path, To::File(BufWriter::with_capacity(1 << 18, file)))),
                Err(error) => Err(CaptureError { path, error }),
            }
        })
    }

    /// Captures into memory instead of files.
    #[must_use]
    pub fn in_memory(parameters: &CaptureParameters) -> Self {
        let memory = |name: &str| Ok((PathBuf::from(format!("{name}.pcapng")), To::Memory(Vec::new())));
        Self::with(parameters, memory).expect("memory takes what is written")
    }

    /// The file names and contents of the captures in memory.
    #[must_use]
    pub fn into_memory(self) -> Vec<(String, Vec<u8>)> {
        let outputs = [self.server, self.ue, self.s1u].into_iter().flatten();
        let kept = outputs.filter_map(|output| match output.file.into_inner() {
            To::Memory(bytes) => Some((output.path.display().to_string(), bytes)),
            To::File(_) => None,
        });
        kept.collect()
    }
}

impl<W: Write> Capture<W> {
    fn with(
        parameters: &CaptureParameters,
        open: impl Fn(&str) -> Result<(PathBuf, W), CaptureError>,
    ) -> Result<Self, CaptureError> {
        let snaplen = parameters.snaplen;
        let output = |point, name: &str, interfaces: &[String]| {
            if !parameters.points.contains(&point) {
                return Ok(None);
            }
            let (path, out) = open(name)?;
            match PcapNg::new(out, interfaces.iter().map(String::as_str), snaplen) {
                Ok(file) => Ok(Some(Output { path, file })),
                Err(error) => Err(CaptureError { path, error }),
            }
        };
        Ok(Self {
            flows: parameters.flows.clone(),
            subflows: parameters.subflows.clone(),
            ues: parameters.ues.len(),
            snaplen,
            wire: Wire::new(),
            server: output(CapturePoint::Server, "server", &["server".to_owned()])?,
            ue: output(CapturePoint::Ue, "ue", &parameters.ues)?,
            s1u: output(CapturePoint::S1u, "s1-u", &parameters.cells)?,
            failed: None,
        })
    }

    /// Captures flows and UEs that were added behind all others.
    pub fn extend(&mut self, parameters: &CaptureParameters) {
        self.flows.clone_from(&parameters.flows);
        self.subflows.clone_from(&parameters.subflows);
        let fresh = parameters.ues.iter().skip(self.ues);
        self.ues = parameters.ues.len();
        let Some(output) = self.ue.as_mut().filter(|_| self.failed.is_none()) else { return };
        for name in fresh {
            if let Err(error) = output.file.interface(name, self.snaplen) {
                self.failed = Some(CaptureError { path: output.path.clone(), error });
                return;
            }
        }
    }

    /// True once a file could not be written; later packets are lost.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes the buffered data.
    ///
    /// # Errors
    /// If anything could not be written, now or before.
    pub fn finish(mut self) -> Result<(), CaptureError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        for output in [&mut self.server, &mut self.ue, &mut self.s1u].into_iter().flatten() {
            output.file.flush().map_err(|error| CaptureError { path: output.path.clone(), error })?;
        }
        Ok(())
    }

    /// Writes the secrets for the following packets into every file.
    fn write_secrets(&mut self, lines: &str) {
        if self.failed.is_some() {
            return;
        }
        for output in [&mut self.server, &mut self.ue, &mut self.s1u].into_iter().flatten() {
            if let Err(error) = output.file.secrets(lines) {
                self.failed = Some(CaptureError { path: output.path.clone(), error });
                return;
            }
        }
    }

    fn write(&mut self, now: Instant, point: CapturePoint, cell: Option<CellId>, packet: &Packet) {
        let Some(&(mut flow)) = self.flows.get(packet.flow.index()) else { return };
        let is_own = |one: &&CaptureSubflow| one.flow == packet.flow && one.ue_port == packet.sockets.ue_port;
        let subflow = self.subflows.iter().find(is_own);
        flow.ue = subflow.map_or(flow.ue, |one| one.ue);
        let (output, interface) = match point {
            CapturePoint::Server => (&mut self.server, 0),
            CapturePoint::Ue => (&mut self.ue, flow.ue),
            CapturePoint::S1u => (&mut self.s1u, cell.map_or(0, |cell| cell.0)),
        };
        let Some(output) = output else { return };
        if self.failed.is_some() {
            return;
        }
        let ends = match subflow.and_then(|one| one.link) {
            Some(link) => beside(packet, flow.ue, link),
            None => ends(packet, flow),
        };
        let tunnel = cell.map(|cell| tunnel(packet.direction, cell, flow.ue));
        let (kept, whole) = self.wire.packet(packet, ends, tunnel, self.snaplen as usize);
        if let Err(error) = output.file.packet(interface, now.as_nanos(), kept, whole) {
            self.failed = Some(CaptureError { path: output.path.clone(), error });
        }
    }
}

/// Sender and receiver of a packet.
fn ends(packet: &Packet, flow: CaptureFlow) -> Ends {
    if packet.sockets != SocketPair::default() {
        return sockets(packet, flow);
    }
    if flow.tcp && matches!(packet.header, Header::Udp(_)) {
        return between((PEP, PEP_PORT), (SERVER, PEP_PORT));
    }
    let own_port = FIRST_SOURCE_PORT + u16::try_from(packet.flow.0).expect("at most 10,000 flows");
    let (server_port, ue_port) = match flow.direction {
        Direction::Downlink => (own_port, SINK_PORT),
        Direction::Uplink => (SINK_PORT, own_port),
    };
    let ends = directed(packet, (SERVER, server_port), (numbered([10, 1], flow.ue), ue_port));
    match packet.header {
        // The identifier is the number of the flow, from 1 on.
        Header::Icmp(_) => Ends { source_port: own_port - FIRST_SOURCE_PORT + 1, ..ends },
        _ => ends,
    }
}

fn between(source: (Ipv4Addr, u16), destination: (Ipv4Addr, u16)) -> Ends {
    Ends {
        source: source.0.into(),
        source_port: source.1,
        destination: destination.0.into(),
        destination_port: destination.1,
    }
}

/// The ends of a packet between server and UE.
fn directed(packet: &Packet, server: (Ipv4Addr, u16), ue: (Ipv4Addr, u16)) -> Ends {
    match packet.direction {
        Direction::Downlink => between(server, ue),
        Direction::Uplink => between(ue, server),
    }
}

/// The same for a connection that is one of many.
fn sockets(packet: &Packet, flow: CaptureFlow) -> Ends {
    let SocketPair { server, server_port, ue_port } = packet.sockets;
    let server = (numbered([10, 0], u32::from(server)), server_port);
    directed(packet, server, (numbered([10, 1], flow.ue), ue_port))
}

/// The same for a subflow over a link next to the mobile network, where each UE has an address.
fn beside(packet: &Packet, ue: u32, link: u32) -> Ends {
    let SocketPair { server, server_port, ue_port } = packet.sockets;
    let network = u8::try_from(FIRST_LINK + link).unwrap_or(u8::MAX);
    let server = (numbered([10, 0], u32::from(server)), server_port);
    directed(packet, server, (numbered([10, network], ue), ue_port))
}

fn tunnel(direction: Direction, cell: CellId, ue: u32) -> Tunnel {
    let (gateway, enb) = (GATEWAY, numbered([10, 3], cell.0));
    let (source, destination) = match direction {
        Direction::Downlink => (gateway, enb),
        Direction::Uplink => (enb, gateway),
    };
    Tunnel { source, destination, identifier: ue + 1 }
}

/// The address of the host with this index in a network of 16 bits.
fn numbered([a, b]: [u8; 2], index: u32) -> Ipv4Addr {
    let [high, low] = u16::try_from(index + 1).expect("at most 10,000 UEs and servers").to_be_bytes();
    Ipv4Addr::new(a, b, high, low)
}

impl<W: Write> Probe for Capture<W> {
    fn topics(&self) -> TopicSet {
        let mut topics = TopicSet::NONE.with(Topic::Secrets);
        if self.server.is_some() || self.ue.is_some() {
            topics = topics.with(Topic::Sent).with(Topic::Received);
        }
        if self.s1u.is_some() { topics.with(Topic::Tunnelled) } else { topics }
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::Sent { packet, .. } => {
                let point = match packet.direction {
                    Direction::Downlink => CapturePoint::Server,
                    Direction::Uplink => CapturePoint::Ue,
                };
                self.write(now, point, None, packet);
            }
            Event::Received { packet } => {
                let point = match packet.direction {
                    Direction::Downlink => CapturePoint::Ue,
                    Direction::Uplink => CapturePoint::Server,
                };
                self.write(now, point, None, packet);
            }
            Event::Secrets { lines, .. } => self.write_secrets(lines),
            Event::Tunnelled { cell, packet } => self.write(now, CapturePoint::S1u, Some(cell), packet),
            _ => {}
        }
    }
}
