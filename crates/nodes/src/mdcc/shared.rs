//! The memory that the program in the kernel and the agent share: `struct key`, `report`, `windows` and `settings` of
//! `bpf/connection.h`, as bytes.

use std::net::{Ipv6Addr, SocketAddr};

use airlane_core::{Duration, SackBlock};
use airlane_net::pep::{Addresses, LIST_MAX, TcpReport};
use airlane_wire::protocol;

use crate::reports::Connection;

/// Length of a key.
pub(super) const KEY: usize = 36;
/// Length of the value of a report: the lock, and the message.
const REPORT: usize = 8 + 48 + 2 * 8 * LIST_MAX;
/// Length of the value of a connection's windows.
const WINDOWS: usize = 64;

/// The key of a connection, as the program makes it. IPv4 addresses are mapped into IPv6 (RFC 4291 section 2.5.5.2).
#[cfg(test)]
pub(super) fn key(local: SocketAddr, remote: SocketAddr) -> [u8; KEY] {
    let mapped = |end: SocketAddr| match end.ip() {
        std::net::IpAddr::V4(address) => address.to_ipv6_mapped(),
        std::net::IpAddr::V6(address) => address,
    };
    let mut key = [0; KEY];
    key[..16].copy_from_slice(&mapped(local).octets());
    key[16..32].copy_from_slice(&mapped(remote).octets());
    key[32..34].copy_from_slice(&local.port().to_ne_bytes());
    key[34..].copy_from_slice(&remote.port().to_ne_bytes());
    key
}

/// The two ends of a key, this one first.
pub(super) fn ends(key: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let address = |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(key.get(at..at + 16)?).ok()?));
    let port = |at: usize| Some(u16::from_ne_bytes(key.get(at..at + 2)?.try_into().ok()?));
    let end = |ip: usize, at: usize| Some(SocketAddr::new(address(ip)?.to_canonical(), port(at)?));
    Some((end(0, 32)?, end(16, 34)?))
}

impl Connection for [u8; KEY] {
    fn addresses(&self) -> Option<Addresses> {
        let (server, client) = ends(self)?;
        Some(Addresses { protocol: protocol::TCP, server, client })
    }
}

/// The value for the map of reports. `number` differs from that of the report before.
pub(super) fn report(number: u32, arrived_at: Duration, delay: Duration, report: &TcpReport) -> Vec<u8> {
    let mut value = Vec::with_capacity(REPORT);
    value.extend([0; 8]); // the lock, which belongs to the kernel
    value.extend(arrived_at.as_nanos().to_ne_bytes());
    value.extend(delay.as_nanos().to_ne_bytes());
    let (ranges, holes) = (report.ranges.as_slice(), report.holes.as_slice());
    let counts = [report.first, report.cumulative, ranges.len() as u32, holes.len() as u32];
    let words = [number, 0, report.newest.left, report.newest.right];
    words.iter().chain(&counts).for_each(|word| value.extend(word.to_ne_bytes()));
    for list in [ranges, holes] {
        let blocks = list.iter().copied().chain(std::iter::repeat(SackBlock::default())).take(LIST_MAX);
        for block in blocks {
            value.extend(block.left.to_ne_bytes());
            value.extend(block.right.to_ne_bytes());
        }
    }
    value
}

/// The state of a connection that the program shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Windows {
    /// The window of the internet in segments.
    pub(super) internet: u32,
    /// The window of the radio network.
    pub(super) ran: u32,
    /// Reports that took effect.
    pub(super) reports: u64,
    /// Reductions of each window.
    pub(super) internet_losses: u32,
    pub(super) ran_losses: u32,
    /// True if the PEP clocks the internet window.
    pub(super) heard: bool,
    /// True if the PEP has claimed to have seen what was not sent.
    pub(super) distrusted: bool,
    /// Losses behind the PEP that the delays do not show.
    pub(super) disbelieved: u32,
    /// When the connection began to be under this congestion control.
    pub(super) began: u64,
}

impl Windows {
    /// Reads the value of a map.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        if value.len() != WINDOWS {
            return None;
        }
        let word = |at: usize| Some(u32::from_ne_bytes(value.get(at..at + 4)?.try_into().ok()?));
        Some(Self {
            internet: word(0)?,
            ran: word(8)?,
            reports: u64::from_ne_bytes(value.get(24..32)?.try_into().ok()?),
            internet_losses: word(32)?,
            ran_losses: word(36)?,
            heard: word(40)? != 0,
            distrusted: word(44)? != 0,
            disbelieved: word(56)?,
            began: u64::from_ne_bytes(value.get(48..56)?.try_into().ok()?),
        })
    }
}

/// The value for the map of settings.
pub(super) fn settings(wired_queue: Option<Duration>, acks_per_increase: u32, hystart: bool) -> Vec<u8> {
    // `NEVER` in `bpf/law.h`: each report is believed.
    let mut value = wired_queue.map_or(u64::MAX, Duration::as_nanos).to_ne_bytes().to_vec();
    value.extend(acks_per_increase.to_ne_bytes());
    value.extend(u32::from(hystart).to_ne_bytes());
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_both_ends() {
        for (local, remote) in [("10.0.0.1:80", "10.0.0.2:5000"), ("[2001:db8::1]:443", "[2001:db8::2]:6000")]
        {
            let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
            assert_eq!(ends(&key(local, remote)), Some((local, remote)));
        }
        assert_eq!(ends(&[0; KEY - 1]), None);
    }

    #[test]
    fn values_have_the_lengths_of_the_program() {
        let value = report(1, Duration::ZERO, Duration::ZERO, &TcpReport::default());
        assert_eq!(value.len(), REPORT);
        assert_eq!(settings(None, 10, true).len(), 16);
        assert_eq!(Windows::read(&[0; WINDOWS]), Some(Windows::default()));
        assert_eq!(Windows::read(&[0; WINDOWS - 1]), None);
    }
}
