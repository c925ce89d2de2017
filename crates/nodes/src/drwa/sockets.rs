//! Sockets of other processes: their list, their owners, and access to a socket for a moment.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd, RawFd};

use airlane_live::options::{ReceiverInfo, set_window_clamp};
use airlane_live::tcp_info::{Dump, StateFlags, TcpInfo};
use nix::sys::socket::getsockopt;
use nix::sys::stat::fstat;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// A connection of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// Identifies the socket among all that there have been.
    pub(crate) cookie: u64,
    pub(crate) local_port: u16,
    pub(crate) remote: IpAddr,
    pub(crate) remote_port: u16,
    inode: u32,
}

/// All established connections of this network namespace, except those within the host.
pub(crate) fn connections(dump: &mut Dump) -> io::Result<Vec<Connection>> {
    let mut found = vec![];
    dump.each(StateFlags::ESTABLISHED, &mut |socket| {
        let id = &socket.header.socket_id;
        let (local, remote) = (id.source_address.to_canonical(), id.destination_address.to_canonical());
        if socket.header.inode != 0 && !remote.is_loopback() && local != remote {
            let cookie = u64::from_ne_bytes(id.cookie);
            let (local_port, remote_port) = (id.source_port, id.destination_port);
            found.push(Connection { cookie, local_port, remote, remote_port, inode: socket.header.inode });
        }
    })?;
    Ok(found)
}

/// A descriptor of a socket in another process.
#[derive(Debug)]
pub(crate) struct Owner {
    process: OwnedFd,
    number: RawFd,
    inode: u32,
}

/// Result of the search for the owner of a socket.
#[derive(Debug)]
pub(crate) enum Found {
    /// A process that this one may reach into.
    Owner(Owner),
    /// A process with this name, which this one may not reach into.
    Denied(String),
    /// No process: the socket has been closed, or its process is not visible.
    Nowhere,
}

/// Finds the process that has a socket open, by the links in `/proc`.
pub(crate) fn owner(connection: &Connection, programs: &[String]) -> Found {
    let link = format!("socket:[{}]", connection.inode);
    let mut denied = Found::Nowhere;
    for process in numbers("/proc") {
        let folder = format!("/proc/{process}");
        let name = fs::read_to_string(format!("{folder}/comm")).unwrap_or_default();
        let name = name.trim_end();
        if !programs.is_empty() && !programs.iter().any(|one| one == name) {
            continue;
        }
        for number in numbers(&format!("{folder}/fd")) {
            let target = fs::read_link(format!("{folder}/fd/{number}"));
            if target.is_ok_and(|target| target.as_os_str() == link.as_str()) {
                match reach(process, number, connection.inode) {
                    Ok(owner) => return Found::Owner(owner),
                    Err(_) => denied = Found::Denied(name.to_owned()),
                }
            }
        }
    }
    denied
}

fn reach(process: i32, number: RawFd, inode: u32) -> io::Result<Owner> {
    let pid = Pid::from_raw(process).ok_or(io::ErrorKind::InvalidInput)?;
    let owner = Owner { process: pidfd_open(pid, PidfdFlags::empty())?, number, inode };
    owner.with(|_| Ok(()))?;
    Ok(owner)
}

/// The names in a folder that are numbers. None if it cannot be read.
fn numbers(folder: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

impl Owner {
    /// Calls `act` with the socket. The descriptor is closed at once: while it is open, a `close` of the
    /// application would send no FIN.
    fn with<T>(&self, act: impl FnOnce(&OwnedFd) -> io::Result<T>) -> io::Result<T> {
        let socket = pidfd_getfd(self.process.as_fd(), self.number, PidfdGetfdFlags::empty())?;
        // The application may have closed the socket, and opened something else with this number.
        if fstat(&socket)?.st_ino != u64::from(self.inode) {
            return Err(io::ErrorKind::NotFound.into());
        }
        act(&socket)
    }

    /// Bytes received in order, round trip in microseconds, and largest segment.
    pub(crate) fn state(&self) -> io::Result<(u64, Option<u32>, Option<u32>)> {
        let bytes = self.with(|socket| Ok(getsockopt(socket, ReceiverInfo)?))?;
        let info = TcpInfo::new(&bytes);
        Ok((info.bytes_received().unwrap_or(0), info.receive_rtt_us(), info.receive_mss()))
    }

    /// Sets the largest window that the socket offers.
    pub(crate) fn clamp(&self, bytes: u32) -> io::Result<()> {
        self.with(|socket| set_window_clamp(socket.as_fd(), bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use nix::unistd::dup2;

    use super::*;

    #[test]
    fn another_socket_with_the_same_number_is_left_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || OwnedFd::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let (mut first, second) = (connect(), connect());
        let inode = u32::try_from(fstat(&first).unwrap().st_ino).unwrap();
        let this = i32::try_from(std::process::id()).unwrap();
        let owner = reach(this, first.as_raw_fd(), inode).unwrap();
        owner.clamp(5_000).unwrap();
        dup2(&second, &mut first).unwrap();
        assert!(owner.clamp(6_000).is_err());
        assert!(owner.state().is_err());
    }
}
