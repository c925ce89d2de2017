//! The ends of the real network: the server and the UEs that take part, their addresses and names. A UE with several
//! accesses is several ends, each with an address of its own.
//!
//! Addresses are of the ranges for benchmarks (RFC 2544 appendix C.2.2, RFC 5180 §8). A router
//! between the server and the network is the source of ICMP errors.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::Range;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use airlane_scenario::RealEnd;
use airlane_wire::{Error, Ip};

/// The largest number of UEs that have addresses.
pub const UES_MAX: usize = 10_000;
/// The IPv4 address of the server.
pub const SERVER_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The IPv6 address of the server.
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
/// The IPv4 address of the router.
pub const ROUTER_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 255, 254);
/// The IPv6 address of the router.
pub const ROUTER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0xffff);
/// The IPv4 address before that of UE 0.
const BEFORE_UES_V4: u32 = u32::from_be_bytes([198, 19, 0, 0]);
/// The IPv6 address before that of UE 0.
const BEFORE_UES_V6: u128 = 0x2001_0002_0000_0001 << 64;
/// The longest label of a host name (RFC 1035 §2.3.4).
const LABEL_MAX: usize = 63;

/// An end of the real network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndId {
    /// The server.
    Server,
    /// The access of this number among those of the real UEs, or of the host of a wired network. A UE with one access
    /// is one end.
    Ue(u16),
}

impl EndId {
    /// The place of this end where all ends are in one list: the server, then the UEs.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Server => 0,
            Self::Ue(number) => 1 + number as usize,
        }
    }

    /// The end at a place of that list.
    #[must_use]
    pub const fn from_index(index: usize) -> Self {
        match index {
            0 => Self::Server,
            index => Self::Ue((index - 1) as u16),
        }
    }
}

/// The destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// To this end. A packet from a UE to another UE goes up in the flow of its sender to the router, and down in the
    /// flow of its receiver.
    To(EndId),
    /// Nowhere: it is dropped and counted.
    Unroutable(Unroutable),
}

/// Why a packet is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unroutable {
    /// The bytes are no IP packet.
    Garbage(Error),
    /// The destination is a multicast address.
    Multicast,
    /// The destination is the limited broadcast address.
    Broadcast,
    /// The source or the destination is a link-local, unspecified or loopback address, which no router forwards.
    LinkLocal,
    /// The source is not an address of the end that sent the packet.
    Martian,
    /// No end has the destination.
    UnknownDestination,
}

impl Unroutable {
    /// Number of reasons.
    pub const COUNT: usize = 6;
    /// Each reason with its name in results, in the order of [`Self::index`].
    pub const NAMES: [&'static str; Self::COUNT] =
        ["garbage", "multicast", "broadcast", "link_local", "martian", "unknown_destination"];

    /// The place of this reason in [`Self::NAMES`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Garbage(_) => 0,
            Self::Multicast => 1,
            Self::Broadcast => 2,
            Self::LinkLocal => 3,
            Self::Martian => 4,
            Self::UnknownDestination => 5,
        }
    }
}

/// The ends of one network.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The host name of each UE, or access.
    hosts: Vec<String>,
    /// The names of UEs with several accesses, each with the number of the first.
    of_several: Vec<(String, u16)>,
    /// Ends to which hosts with other addresses belong.
    open: BTreeSet<EndId>,
}

impl Ends {
    /// The server and UEs of these names.
    ///
    /// # Panics
    /// If there are more than [`UES_MAX`] names.
    #[must_use]
    pub fn new(names: &[String]) -> Self {
        assert!(names.len() <= UES_MAX, "{} UEs, at most {UES_MAX} have addresses", names.len());
        Self { hosts: host_names(names), of_several: vec![], open: BTreeSet::new() }
    }

    /// The server and the ends of a scenario's real UEs. Names of UEs come before those of their accesses.
    ///
    /// # Panics
    /// If there are more than [`UES_MAX`] ends.
    #[must_use]
    pub fn of(real: &[RealEnd]) -> Self {
        let groups = by_host(real);
        let several: Vec<_> = groups.iter().filter(|ends| ends.len() > 1).cloned().collect();
        let hosts = several.iter().map(|ends| real[ends.start].host.clone());
        let labels = real.iter().map(RealEnd::label);
        let mut names = host_names(&hosts.chain(labels).collect::<Vec<_>>());
        let hosts = names.split_off(several.len());
        assert!(hosts.len() <= UES_MAX, "{} accesses, at most {UES_MAX} have addresses", hosts.len());
        let of_several = names.into_iter().zip(several.iter().map(|ends| ends.start as u16)).collect();
        Self { hosts, of_several, open: BTreeSet::new() }
    }

    /// All hosts behind an end belong to it, whatever their addresses are. Packets to unknown addresses go to the
    /// other side.
    ///
    /// # Errors
    /// If there is no such end, or another UE is open already: the other side of the server would be ambiguous.
    pub fn open_to(&mut self, end: EndId) -> Result<(), String> {
        if end.index() > self.ues() {
            return Err(format!("there is no end {}", end.index()));
        }
        if end != EndId::Server && self.beyond(EndId::Server).is_some_and(|other| other != end) {
            return Err("one UE only can be behind an interface of the host".to_owned());
        }
        self.open.insert(end);
        Ok(())
    }

    /// Whether hosts with other addresses belong to an end.
    #[must_use]
    pub fn is_open(&self, end: EndId) -> bool {
        self.open.contains(&end)
    }

    /// The end that an unknown address belongs to, for packets from another end.
    fn beyond(&self, from: EndId) -> Option<EndId> {
        self.open.iter().copied().find(|&end| (end == EndId::Server) != (from == EndId::Server))
    }

    /// Number of UEs.
    #[must_use]
    pub fn ues(&self) -> usize {
        self.hosts.len()
    }

    /// All ends: the server, then the UEs.
    pub fn iter(&self) -> impl Iterator<Item = EndId> + use<> {
        (0..=self.hosts.len()).map(EndId::from_index)
    }

    /// The host name of an end.
    ///
    /// # Panics
    /// If there is no such end.
    #[must_use]
    pub fn host_name(&self, end: EndId) -> &str {
        match end {
            EndId::Server => "server",
            EndId::Ue(number) => &self.hosts[usize::from(number)],
        }
    }

    /// The IPv4 address of an end.
    #[must_use]
    pub fn v4(end: EndId) -> Ipv4Addr {
        match end {
            EndId::Server => SERVER_V4,
            EndId::Ue(number) => Ipv4Addr::from(BEFORE_UES_V4 + 1 + u32::from(number)),
        }
    }

    /// The IPv6 address of an end.
    #[must_use]
    pub fn v6(end: EndId) -> Ipv6Addr {
        match end {
            EndId::Server => SERVER_V6,
            EndId::Ue(number) => Ipv6Addr::from(BEFORE_UES_V6 + 1 + u128::from(number)),
        }
    }

    /// The end that has an address.
    #[must_use]
    pub fn end_of(&self, address: IpAddr) -> Option<EndId> {
        let number = match address {
            IpAddr::V4(SERVER_V4) | IpAddr::V6(SERVER_V6) => return Some(EndId::Server),
            IpAddr::V4(address) => u128::from(u32::from(address).checked_sub(BEFORE_UES_V4 + 1)?),
            IpAddr::V6(address) => u128::from(address).checked_sub(BEFORE_UES_V6 + 1)?,
        };
        (number < self.hosts.len() as u128).then_some(EndId::Ue(number as u16))
    }

    /// The text of a hosts file in which all ends have their names.
    #[must_use]
    pub fn hosts_file(&self) -> String {
        let mut text = String::from("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
        for end in self.iter() {
            let name = self.host_name(end);
            let written = write!(text, "{} {name}\n{} {name}\n", Self::v4(end), Self::v6(end));
            written.expect("a string takes all text");
        }
        for (name, first) in &self.of_several {
            let end = EndId::Ue(*first);
            let written = write!(text, "{} {name}\n{} {name}\n", Self::v4(end), Self::v6(end));
            written.expect("a string takes all text");
        }
        text
    }

    /// The destination of a packet that an end has sent.
    #[must_use]
    pub fn route(&self, bytes: &[u8], from: EndId) -> Route {
        match Ip::parse(bytes) {
            Ok((ip, _)) => self.route_ip(&ip, from),
            Err(error) => Route::Unroutable(Unroutable::Garbage(error)),
        }
    }

    /// The destination of a packet whose header was read.
    #[must_use]
    pub fn route_ip(&self, ip: &Ip<'_>, from: EndId) -> Route {
        let (source, destination) = ip.addresses();
        if let Some(why) = never_forwarded(destination) {
            return Route::Unroutable(why);
        }
        let own = match source {
            IpAddr::V4(source) => source == Self::v4(from),
            IpAddr::V6(source) => source == Self::v6(from),
        };
        let foreign = self.is_open(from) && never_forwarded(source).is_none();
        if !(own || foreign && self.end_of(source).is_none()) {
            let why = match never_forwarded(source) {
                Some(Unroutable::LinkLocal) => Unroutable::LinkLocal,
                _ => Unroutable::Martian,
            };
            return Route::Unroutable(why);
        }
        match self.end_of(destination).or_else(|| self.beyond(from)) {
            Some(to) if to != from => Route::To(to),
            // An end that sends to itself does not need the network.
            _ => Route::Unroutable(Unroutable::UnknownDestination),
        }
    }
}

/// The ends of each UE, in the order of the UEs, as places in `real`.
#[must_use]
pub fn by_host(real: &[RealEnd]) -> Vec<Range<usize>> {
    let mut first = 0;
    let places = |ends: &[RealEnd]| {
        let places = first..first + ends.len();
        first = places.end;
        places
    };
    real.chunk_by(|a, b| a.host == b.host).map(places).collect()
}

/// The end of a host: the server has number 0, the real UEs follow. Of one with several accesses, the first end.
#[must_use]
pub fn end_of_host(real: &[RealEnd], number: usize) -> Option<EndId> {
    match number.checked_sub(1) {
        None => Some(EndId::Server),
        Some(ue) => by_host(real).get(ue).map(|ends| EndId::Ue(ends.start as u16)),
    }
}

/// Addresses with which a router forwards no packet (RFC 1812 §5.3.5.1 and §5.3.7, RFC 3927 §7, RFC 4291 §2.5), and
/// those of multicast, which is not modelled.
const fn never_forwarded(address: IpAddr) -> Option<Unroutable> {
    match address {
        IpAddr::V4(Ipv4Addr::BROADCAST) => Some(Unroutable::Broadcast),
        _ if address.is_multicast() => Some(Unroutable::Multicast),
        _ if address.is_unspecified() || address.is_loopback() => Some(Unroutable::LinkLocal),
        IpAddr::V4(v4) if v4.is_link_local() => Some(Unroutable::LinkLocal),
        IpAddr::V6(v6) if v6.is_unicast_link_local() => Some(Unroutable::LinkLocal),
        _ => None,
    }
}

/// A host name for each UE. A name that is a valid host name stays; of equal names, without regard to case, the first
/// one does.
fn host_names(names: &[String]) -> Vec<String> {
    let mut taken: BTreeSet<String> = ["localhost", "server"].map(str::to_owned).into();
    let mut hosts: Vec<Option<String>> = names
        .iter()
        .map(|name| (is_host_name(name) && taken.insert(name.to_ascii_lowercase())).then(|| name.clone()))
        .collect();
    for (host, name) in hosts.iter_mut().zip(names) {
        if host.is_none() {
            let base = valid_form(name);
            let mut candidate = base.clone();
            let mut count = 1;
            while !taken.insert(candidate.to_ascii_lowercase()) {
                count += 1;
                candidate = format!("{base}-{count}");
            }
            *host = Some(candidate);
        }
    }
    hosts.into_iter().flatten().collect()
}

/// Letters, digits and hyphens in labels of 1 to 63 bytes that do not begin or end with a hyphen (RFC 1123 §2.1), at
/// most 253 bytes.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_MAX).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// A label with a hyphen in place of each run of other characters. It leaves room for a number.
fn valid_form(name: &str) -> String {
    let mut label = String::new();
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            label.push(character);
        } else if !label.is_empty() && !label.ends_with('-') {
            label.push('-');
        }
    }
    label.truncate(LABEL_MAX - 6);
    let label = label.trim_end_matches('-');
    if label.is_empty() { "ue".to_owned() } else { label.to_owned() }
}

#[cfg(test)]
mod tests;
