//! An end that is not a namespace of ours, but all that is behind an interface of the host's network.
//!
//! Packets from outside are read from a packet socket (packet(7)). Those that leave are sent by raw sockets (raw(7)),
//! so that the kernel looks up the neighbour. The sockets are opened before the process leaves the host's network.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use airlane_wire::Ip;
use nix::libc;
use nix::sys::socket::{MsgFlags, SockaddrIn, SockaddrIn6, sendto};

use crate::LiveError;
use crate::linux::tun::{Buffer, FromKernel, Tun};

/// Bytes that wait in the kernel until they are read.
const RECEIVE_BUFFER: libc::c_int = 8 << 20;
/// Packets of other protocols, or for the host itself, that one read passes over.
const PASSED_OVER_MAX: u32 = 64;
/// The length of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
/// The type of an Ethernet interface (`ARPHRD_ETHER`).
const TYPE_ETHERNET: &str = "1";

/// A device at an end.
#[derive(Debug)]
pub(crate) enum Device {
    /// In a network namespace of the run.
    Tun(Tun),
    /// In the host's network.
    Host(HostDevice),
}

impl Device {
    /// The next packet from the end; `None` if there is none now.
    ///
    /// # Errors
    /// If the device was lost.
    pub(crate) fn read<'a>(&mut self, buffer: &'a mut Buffer) -> io::Result<Option<FromKernel<'a>>> {
        match self {
            Self::Tun(tun) => tun.read(buffer),
            Self::Host(host) => host.read(buffer),
        }
    }

    /// Passes an IP packet on to the end.
    ///
    /// # Errors
    /// If the kernel refuses it, or the device was lost.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<()> {
        match self {
            Self::Tun(tun) => tun.write(packet),
            Self::Host(host) => host.write(packet),
        }
    }

    /// Packets that the kernel dropped because they were not read in time, since the last call. A TUN device has
    /// counters elsewhere.
    pub(crate) fn dropped(&self) -> u64 {
        match self {
            Self::Tun(_) => 0,
            Self::Host(host) => host.dropped(),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Host(host) => host.packets.as_fd(),
        }
    }
}

/// An interface of the host's network.
#[derive(Debug)]
pub(crate) struct HostDevice {
    packets: OwnedFd,
    v4: OwnedFd,
    /// Absent if the host has no IPv6.
    v6: Option<OwnedFd>,
    /// The host's own addresses; its kernel answers packets for them.
    own: Vec<IpAddr>,
}

impl HostDevice {
    /// Opens the interface, in the network namespace of this process.
    ///
    /// # Errors
    /// If there is no such Ethernet interface, the user may not use it, or the host forwards its packets itself and
    /// does not drop them (`forwarding_dropped`).
    pub(crate) fn open(name: &str, forwarding_dropped: bool) -> Result<Self, LiveError> {
        let index = nix::net::if_::if_nametoindex(name)
            .map_err(|e| LiveError::new(format!("--host: no interface {name:?}: {e}"), "see ip link"))?;
        check(name, forwarding_dropped)?;
        let failed = |e: io::Error| {
            let help = match e.kind() {
                io::ErrorKind::PermissionDenied => "it needs root",
                _ => "",
            };
            LiveError::new(format!("--host: cannot open the interface {name}: {e}"), help)
        };
        let raw = |family| -> io::Result<OwnedFd> {
            let fd = socket(family, libc::IPPROTO_RAW)?;
            let name: Vec<u8> = name.bytes().chain([0]).collect();
            set(&fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, &name)?;
            Ok(fd)
        };
        let v4 = raw(libc::AF_INET).map_err(failed)?;
        let v6 = match raw(libc::AF_INET6) {
            Err(e) if e.raw_os_error() == Some(libc::EAFNOSUPPORT) => None,
            opened => Some(opened.map_err(failed)?),
        };
        let own = nix::ifaddrs::getifaddrs().map_err(|e| failed(e.into()))?;
        let own = own.filter_map(|one| {
            let address = one.address?;
            let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
        });
        Ok(Self { packets: packet_socket(index).map_err(failed)?, v4, v6, own: own.collect() })
    }

    fn read<'a>(&self, buffer: &'a mut Buffer) -> io::Result<Option<FromKernel<'a>>> {
        for _ in 0..PASSED_OVER_MAX {
            let Some((length, from)) = self.receive(buffer)? else { return Ok(None) };
            if self.is_for_the_network(buffer.packet(ETHERNET, length), &from) {
                return Ok(Some(without_padding(buffer.taken(ETHERNET, length))));
            }
        }
        Ok(None)
    }

    /// Whether a host outside sent this packet to us, so that we forward it.
    fn is_for_the_network(&self, packet: &[u8], from: &libc::sockaddr_ll) -> bool {
        let ip = [libc::ETH_P_IP, libc::ETH_P_IPV6].contains(&i32::from(u16::from_be(from.sll_protocol)));
        let to_us = from.sll_pkttype == libc::PACKET_HOST;
        ip && to_us && Ip::parse(packet).is_ok_and(|(ip, _)| !self.own.contains(&ip.addresses().1))
    }

    fn receive(&self, buffer: &mut Buffer) -> io::Result<Option<(usize, libc::sockaddr_ll)>> {
        let bytes = buffer.whole();
        // SAFETY: all-zero bytes are a valid `sockaddr_ll`.
        let mut from: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
        let mut from_length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the kernel writes no more than the lengths say, during the call only.
        let read = unsafe {
            libc::recvfrom(
                self.packets.as_raw_fd(),
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT,
                (&raw mut from).cast(),
                &raw mut from_length,
            )
        };
        match usize::try_from(read) {
            Ok(length) => Ok(Some((length, from))),
            Err(_) => match io::Error::last_os_error() {
                // The interface may come up again.
                e if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EINTR | libc::ENETDOWN)) => {
                    Ok(None)
                }
                e => Err(e),
            },
        }
    }

    fn write(&self, packet: &[u8]) -> io::Result<()> {
        let (ip, _) = Ip::parse(packet).map_err(|e| io::Error::other(format!("{e:?}")))?;
        let destination = ip.addresses().1;
        if self.own.contains(&destination) {
            return Err(io::Error::other("the host itself is no part of the network"));
        }
        let flags = MsgFlags::MSG_DONTWAIT;
        let sent = match (destination, &self.v6) {
            (IpAddr::V4(to), _) => sendto(self.v4.as_raw_fd(), packet, &in4(to), flags),
            (IpAddr::V6(to), Some(v6)) => sendto(v6.as_raw_fd(), packet, &in6(to), flags),
            (IpAddr::V6(_), None) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(sent.map(drop)?)
    }

    fn dropped(&self) -> u64 {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of_val(&counts) as libc::socklen_t;
        let fd = self.packets.as_raw_fd();
        // SAFETY: the kernel writes no more than the length says, during the call only.
        let got = unsafe {
            libc::getsockopt(
                fd,
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut length,
            )
        };
        if got == 0 { counts.tp_drops.into() } else { 0 }
    }
}

fn in4(address: Ipv4Addr) -> SockaddrIn {
    let [a, b, c, d] = address.octets();
    SockaddrIn::new(a, b, c, d, 0)
}

fn in6(address: Ipv6Addr) -> SockaddrIn6 {
    std::net::SocketAddrV6::new(address, 0, 0, 0).into()
}

/// The interface is Ethernet, and the host does not forward its packets: they would pass the network by.
fn check(name: &str, forwarding_dropped: bool) -> Result<(), LiveError> {
    let read = |file: &str| fs::read_to_string(file).map(|text| text.trim().to_owned()).unwrap_or_default();
    if read(&format!("/sys/class/net/{name}/type")) != TYPE_ETHERNET {
        return Err(LiveError::new(format!("--host: {name} is no Ethernet interface"), ""));
    }
    for version in ["ipv4", "ipv6"] {
        if !forwarding_dropped && read(&format!("/proc/sys/net/{version}/conf/{name}/forwarding")) == "1" {
            let what = format!("--host: the host forwards packets of {name} itself, past the network");
            return Err(LiveError::new(what, format!("sysctl net.{version}.conf.{name}.forwarding=0")));
        }
    }
    Ok(())
}

fn socket(family: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: creates a descriptor, or fails.
    let fd = unsafe { libc::socket(family, kind, protocol) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn set(fd: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the kernel reads as many bytes as the length says, during the call only.
    let set = unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, value.as_ptr().cast(), length) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// An Ethernet frame has a minimum length; the bytes behind the packet are padding.
fn without_padding(mut packet: FromKernel<'_>) -> FromKernel<'_> {
    let word = |at: usize| {
        packet.bytes.get(at..at + 2).map_or(0, |two| usize::from(two[0]) << 8 | usize::from(two[1]))
    };
    let length = if packet.bytes[0] >> 4 == 4 { word(2) } else { 40 + word(4) };
    if packet.segment_size.is_none() && length < packet.bytes.len() {
        packet.bytes = &mut packet.bytes[..length];
    }
    packet
}

/// A socket that receives the frames from outside, with the header that TUN devices have too.
fn packet_socket(index: u32) -> io::Result<OwnedFd> {
    let fd = socket(libc::AF_PACKET, 0)?; // no protocol: it receives nothing yet
    set(&fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32.to_ne_bytes())?;
    set(&fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32.to_ne_bytes())?;
    set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER.to_ne_bytes())?;
    // SAFETY: all-zero bytes are a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as i32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads the address during the call only.
    let bound = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
    if bound == 0 { Ok(fd) } else { Err(io::Error::last_os_error()) }
}
