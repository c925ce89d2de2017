//! The sockets of the two sides.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use airlane_live::options::set_window_clamp;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use super::config::LegConfig;

/// Connections that wait to be accepted, for each listening socket. Linux cuts it at `net.core.somaxconn`.
pub(super) const BACKLOG: i32 = 4096;

/// A side of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Leg {
    /// Towards the UEs.
    Ran,
    /// Towards the internet.
    Core,
}

impl Leg {
    pub(super) const ALL: [Self; 2] = [Self::Ran, Self::Core];

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Ran => Self::Core,
            Self::Core => Self::Ran,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Core => "core",
        }
    }
}

/// The address at which the kernel hands connections from a side to the proxy. It is a loopback address: other
/// machines cannot reach it, except through the rule of TPROXY.
pub(super) fn listening_address(port: u16, v6: bool) -> SocketAddr {
    if v6 { (Ipv6Addr::LOCALHOST, port).into() } else { (Ipv4Addr::LOCALHOST, port).into() }
}

/// A socket that may use addresses of others. It has the options of a side. If it is closed before both
/// directions have ended, its other end gets a RST, even if the process was killed.
fn socket(address: SocketAddr, leg: &LegConfig) -> io::Result<Socket> {
    let (domain, v6) = if address.is_ipv6() { (Domain::IPV6, true) } else { (Domain::IPV4, false) };
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(domain, kind, Some(Protocol::TCP))?;
    if v6 {
        socket.set_only_v6(true)?;
        socket.set_ip_transparent_v6(true)?;
    } else {
        socket.set_ip_transparent_v4(true)?;
    }
    socket.set_linger(Some(Duration::ZERO))?;
    // An urgent byte is part of the stream (RFC 9293 section 3.8.5). Without this, `recv` drops it.
    socket.set_out_of_band_inline(true)?;
    // Data is already in segments when it arrives. Nagle's algorithm would only delay the last one.
    socket.set_tcp_nodelay(true)?;
    set_options(&socket, leg)?;
    Ok(socket)
}

fn set_options(socket: &Socket, leg: &LegConfig) -> io::Result<()> {
    let named = |key: &str, e: io::Error| io::Error::new(e.kind(), format!("{key}: {e}"));
    if let Some(name) = &leg.congestion {
        socket.set_tcp_congestion(name.as_bytes()).map_err(|e| named("congestion", e))?;
    }
    // `Config::check` has bounded the sizes.
    if let Some(size) = leg.send_buffer {
        socket.set_send_buffer_size(size.0.get() as usize).map_err(|e| named("send_buffer", e))?;
    }
    if let Some(size) = leg.receive_buffer {
        socket.set_recv_buffer_size(size.0.get() as usize).map_err(|e| named("receive_buffer", e))?;
    }
    if let Some(size) = leg.window_clamp {
        set_window_clamp(socket.as_fd(), size.0.get() as u32).map_err(|e| named("window_clamp", e))?;
    }
    if let Some(size) = leg.notsent_lowat {
        socket.set_tcp_notsent_lowat(size.0.get() as u32).map_err(|e| named("notsent_lowat", e))?;
    }
    if let Some(time) = leg.user_timeout {
        let time = Duration::from_nanos(time.0.as_nanos());
        socket.set_tcp_user_timeout(Some(time)).map_err(|e| named("user_timeout", e))?;
    }
    if let Some(keepalive) = leg.keepalive {
        let probes = TcpKeepalive::new()
            .with_time(Duration::from_nanos(keepalive.idle.0.as_nanos()))
            .with_interval(Duration::from_nanos(keepalive.interval.0.as_nanos()))
            .with_retries(keepalive.probes.into());
        socket.set_tcp_keepalive(&probes).map_err(|e| named("keepalive", e))?;
    }
    Ok(())
}

/// A listening socket for connections from a side. Accepted sockets inherit its options.
pub(super) fn listen(leg: &LegConfig, v6: bool) -> io::Result<Socket> {
    let address = listening_address(leg.port, v6);
    let socket = socket(address, leg)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// A socket towards the far end, with the address and port of the near end. Its handshake has begun.
pub(super) fn connect(leg: &LegConfig, near: SocketAddr, far: SocketAddr) -> io::Result<std::net::TcpStream> {
    let socket = socket(far, leg)?;
    // The near end may use one port for connections to several far ends.
    socket.set_reuse_address(true)?;
    socket.bind(&near.into())?;
    match socket.connect(&far.into()) {
        Err(e) if e.raw_os_error() != Some(nix::libc::EINPROGRESS) => return Err(e),
        _ => {}
    }
    Ok(socket.into())
}

/// Lets the kernel deliver what is left after the socket is closed, instead of a RST.
pub(super) fn close_in_order(socket: &tokio::net::TcpStream) {
    // The call fails for a socket that has ended, which needs nothing more.
    let _ = SockRef::from(socket).set_linger(None);
}

/// Tries whether a socket with the options of a side can be had.
pub(super) fn trial(leg: &LegConfig, v6: bool) -> io::Result<()> {
    socket(listening_address(leg.port, v6), leg).map(|_| ())
}
