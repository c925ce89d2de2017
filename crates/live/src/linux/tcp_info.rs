//! The state of the applications' TCP sockets, as the kernel tells it: a dump over NETLINK_SOCK_DIAG (sock_diag(7)).
//!
//! Source: Linux, include/uapi/linux/{inet_diag.h,tcp.h}. `struct tcp_info` grows at its end from version to version;
//! what a kernel does not have is absent.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId};
pub use netlink_packet_sock_diag::inet::{InetResponse, StateFlags};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use serde::Serialize;

/// Names of the states of a connection, from 1 (include/net/tcp_states.h).
const STATES: [&str; 11] = [
    "established",
    "syn_sent",
    "syn_received",
    "fin_wait_1",
    "fin_wait_2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
];
/// Names of the states of congestion avoidance, from 0 (`enum tcp_ca_state`).
const PHASES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];
/// The slow-start threshold of a connection without one (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;
/// The message of a netlink dump begins at a multiple of this (`NLMSG_ALIGNTO`).
const ALIGNMENT: usize = 4;

/// A connection at one moment. Names are those of the columns of the table `tcp_info`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    local_port: u16,
    remote_address: IpAddr,
    remote_port: u16,
    state: &'static str,
    /// The algorithm of congestion control.
    congestion: Option<String>,
    phase: Option<&'static str>,
    mss_bytes: Option<u32>,
    cwnd_bytes: Option<u64>,
    ssthresh_bytes: Option<u64>,
    in_flight_segments: Option<u32>,
    srtt_ms: Option<f64>,
    rttvar_ms: Option<f64>,
    min_rtt_ms: Option<f64>,
    rto_ms: Option<f64>,
    pacing_mbps: Option<f64>,
    delivery_rate_mbps: Option<f64>,
    app_limited: Option<bool>,
    retransmissions: Option<u32>,
    bytes_acked: Option<u64>,
    bytes_received: Option<u64>,
    not_sent_bytes: Option<u32>,
    peer_window_bytes: Option<u32>,
    busy_s: Option<f64>,
    window_limited_s: Option<f64>,
    buffer_limited_s: Option<f64>,
    delivered: Option<u32>,
    delivered_ce: Option<u32>,
}

/// A socket for dumps of one network namespace.
#[derive(Debug)]
pub struct Dump {
    socket: Socket,
    sequence: u32,
}

impl Dump {
    /// Opens a socket in the network namespace of this thread.
    ///
    /// # Errors
    /// If the kernel has no such sockets.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// All TCP connections that cross a device, except those that only wait for late segments.
    ///
    /// # Errors
    /// If the kernel cannot tell them.
    pub fn connections(&mut self) -> io::Result<Vec<Row>> {
        let mut rows = vec![];
        let states = StateFlags::all() - StateFlags::LISTEN - StateFlags::TIME_WAIT - StateFlags::CLOSE;
        self.each(states, &mut |socket| rows.extend(row(socket)))?;
        Ok(rows)
    }

    /// Passes on each TCP socket in one of these states.
    ///
    /// # Errors
    /// If the kernel cannot tell them.
    pub fn each(&mut self, states: StateFlags, take: &mut dyn FnMut(&InetResponse)) -> io::Result<()> {
        for family in [AF_INET, AF_INET6] {
            self.ask(family, states.clone())?;
            while !self.take(take)? {}
        }
        Ok(())
    }

    fn ask(&mut self, family: u8, states: StateFlags) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        header.sequence_number = self.sequence;
        let request = InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::INFO | ExtensionFlags::CONG,
            states,
            socket_id: if family == AF_INET { SocketId::new_v4() } else { SocketId::new_v6() },
        };
        let payload = NetlinkPayload::from(SockDiagMessage::InetRequest(request));
        let mut message = NetlinkMessage::new(header, payload);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(drop)
    }

    /// Takes one datagram of the answer. Returns whether it was the last one.
    fn take(&self, take: &mut dyn FnMut(&InetResponse)) -> io::Result<bool> {
        let (datagram, _) = self.socket.recv_from_full()?;
        let mut rest = datagram.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(io::Error::other)?;
            let length = (message.header.length as usize).next_multiple_of(ALIGNMENT).max(ALIGNMENT);
            rest = rest.get(length..).unwrap_or_default();
            if message.header.sequence_number != self.sequence {
                continue; // of a dump that was given up
            }
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(socket)) => {
                    take(&socket);
                }
                _ => {}
            }
        }
        Ok(false)
    }
}

/// The row of a connection, unless it stays within its host or has no state yet.
fn row(socket: &InetResponse) -> Option<Row> {
    let remote = socket.header.socket_id.destination_address.to_canonical();
    if remote.is_loopback() || remote == socket.header.socket_id.source_address.to_canonical() {
        return None;
    }
    let info = TcpInfo::of(socket)?;
    let congestion = socket.nlas.iter().find_map(|nla| match nla {
        Nla::Congestion(name) => Some(name.clone()),
        _ => None,
    });
    let mss = info.u32(16);
    let bytes = |segments: u32| mss.map(|mss| u64::from(segments) * u64::from(mss));
    Some(Row {
        local_port: socket.header.socket_id.source_port,
        remote_address: remote,
        remote_port: socket.header.socket_id.destination_port,
        state: STATES.get(usize::from(socket.header.state).checked_sub(1)?)?,
        congestion,
        phase: info.u8(1).and_then(|phase| PHASES.get(usize::from(phase)).copied()),
        mss_bytes: mss,
        cwnd_bytes: info.u32(80).and_then(bytes),
        ssthresh_bytes: info.u32(76).filter(|&segments| segments < NO_THRESHOLD).and_then(bytes),
        in_flight_segments: info.u32(24),
        srtt_ms: info.ms(68),
        // With a sample, zero is a variation: round trips that were equal to the millisecond of their timestamps.
        rttvar_ms: info.ms(68).and_then(|_| info.u32(72)).map(|us| f64::from(us) / 1e3),
        min_rtt_ms: info.ms(148),
        rto_ms: info.ms(8),
        pacing_mbps: info.mbps(104),
        delivery_rate_mbps: info.mbps(160),
        app_limited: info.u8(7).map(|flags| flags & 1 == 1),
        retransmissions: info.u32(100),
        bytes_acked: info.u64(120),
        bytes_received: info.u64(128),
        not_sent_bytes: info.u32(144),
        peer_window_bytes: info.u32(228),
        busy_s: info.seconds(168),
        window_limited_s: info.seconds(176),
        buffer_limited_s: info.seconds(184),
        delivered: info.u32(192),
        delivered_ce: info.u32(196),
    })
}

/// The bytes of `struct tcp_info`, read by the offsets of its members.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo<'a>(&'a [u8]);

impl<'a> TcpInfo<'a> {
    /// The `tcp_info` of a socket, if the answer of the kernel has it.
    #[must_use]
    pub fn of(socket: &'a InetResponse) -> Option<Self> {
        socket.nlas.iter().find_map(|nla| match nla {
            Nla::TcpInfo(bytes) => Some(Self(bytes)),
            _ => None,
        })
    }

    /// The bytes of a `struct tcp_info`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Largest segment received, in bytes (`tcpi_rcv_mss`).
    #[must_use]
    pub fn receive_mss(&self) -> Option<u32> {
        self.u32(20).filter(|&bytes| bytes != 0)
    }

    /// Round trip as the receiver measures it, in microseconds (`tcpi_rcv_rtt`).
    #[must_use]
    pub fn receive_rtt_us(&self) -> Option<u32> {
        self.u32(92).filter(|&us| us != 0)
    }

    /// Bytes sent that the peer has acknowledged, since the beginning (`tcpi_bytes_acked`).
    #[must_use]
    pub fn bytes_acknowledged(&self) -> Option<u64> {
        self.u64(120)
    }

    /// Bytes received in order since the beginning (`tcpi_bytes_received`).
    #[must_use]
    pub fn bytes_received(&self) -> Option<u64> {
        self.u64(128)
    }

    fn u8(&self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    fn u64(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    /// A time in microseconds. Zero and the largest number mean that there was no sample.
    fn ms(&self, at: usize) -> Option<f64> {
        self.u32(at).filter(|&us| us != 0 && us != u32::MAX).map(|us| f64::from(us) / 1e3)
    }

    fn seconds(&self, at: usize) -> Option<f64> {
        self.u64(at).map(|us| us as f64 / 1e6)
    }

    /// A rate in bytes per second. Zero means that there was no sample, the largest number that there is no bound.
    fn mbps(&self, at: usize) -> Option<f64> {
        self.u64(at).filter(|&rate| rate != 0 && rate != u64::MAX).map(|rate| rate as f64 * 8.0 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use netlink_packet_core::Parseable;

    use super::*;

    /// An answer of the kernel about a connection from port 1000 of 198.18.0.1 to port 2000 of 198.19.0.1.
    fn answer(info: &[u8]) -> Vec<u8> {
        let mut bytes = vec![AF_INET, 1, 0, 0];
        bytes.extend(1000u16.to_be_bytes().into_iter().chain(2000u16.to_be_bytes()));
        for address in [[198, 18, 0, 1], [198, 19, 0, 1]] {
            bytes.extend(address.into_iter().chain([0; 12]));
        }
        bytes.extend([0; 12 + 20]);
        bytes.extend((4 + info.len() as u16).to_ne_bytes().into_iter().chain(2u16.to_ne_bytes()));
        bytes.extend(info);
        bytes
    }

    /// A `struct tcp_info` in which each 32-bit word has its own offset.
    fn info(length: u32) -> Vec<u8> {
        (0..length / 4).flat_map(|word| (word * 4).to_ne_bytes()).collect()
    }

    fn parsed(info: &[u8]) -> Row {
        row(&InetResponse::parse(answer(info).as_slice()).unwrap()).unwrap()
    }

    #[test]
    fn members_that_an_old_kernel_does_not_have_are_absent() {
        let (old, new) = (parsed(&info(104)), parsed(&info(232)));
        assert_eq!((old.retransmissions, old.bytes_acked, old.delivered), (Some(100), None, None));
        assert_eq!(
            (new.retransmissions, new.delivered, new.peer_window_bytes),
            (Some(100), Some(192), Some(228))
        );
        assert_eq!((new.local_port, new.remote_port, new.state), (1000, 2000, "established"));
        assert_eq!(new.cwnd_bytes, Some(16 * 80));
    }

    #[test]
    fn numbers_without_a_sample_are_absent() {
        let mut bytes = info(232);
        bytes[76..80].copy_from_slice(&NO_THRESHOLD.to_ne_bytes());
        bytes[104..112].fill(0xff);
        bytes[148..152].fill(0xff);
        bytes[160..168].fill(0);
        let row = parsed(&bytes);
        let absent = (row.ssthresh_bytes, row.pacing_mbps, row.min_rtt_ms, row.delivery_rate_mbps);
        assert_eq!(absent, (None, None, None, None));
    }

    #[test]
    fn a_variation_of_zero_is_one_if_there_was_a_round_trip() {
        let mut words = info(232);
        words[72..76].fill(0);
        assert_eq!((parsed(&words).srtt_ms, parsed(&words).rttvar_ms), (Some(0.068), Some(0.0)));
        words[68..72].fill(0);
        assert_eq!((parsed(&words).srtt_ms, parsed(&words).rttvar_ms), (None, None));
    }

    #[test]
    fn no_length_of_an_answer_is_a_panic() {
        let whole = answer(&info(232));
        for length in 0..whole.len() {
            let mut cut = whole[..length].to_vec();
            let _ = InetResponse::parse(cut.as_slice()).map(|socket| row(&socket));
            if let Some(last) = cut.last_mut() {
                *last = 0xff;
                let _ = InetResponse::parse(cut.as_slice()).map(|socket| row(&socket));
            }
        }
    }

    #[test]
    fn connections_within_the_host_have_no_row() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"x").unwrap();
        server.read_exact(&mut [0]).unwrap();
        let port = client.local_addr().unwrap().port();
        let Ok(rows) = Dump::open().and_then(|mut dump| dump.connections()) else {
            return; // a sandbox without such sockets
        };
        assert!(rows.iter().all(|row| row.local_port != port));
    }
}
