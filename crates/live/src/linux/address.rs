//! Addresses, routes and counters of the devices in a network namespace, over netlink (RFC 3549).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use crate::LiveError;
use crate::linux::tun;

/// A netlink socket of the network namespace in which it was opened.
pub(crate) struct Interfaces {
    socket: Socket,
    sequence: u32,
    /// Number of TUN devices.
    devices: usize,
}

/// The addresses of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) v4: Ipv4Addr,
    /// Absent where IPv6 is not possible.
    pub(crate) v6: Option<Ipv6Addr>,
}

impl Addresses {
    /// The address of each version.
    pub(crate) fn iter(self) -> impl Iterator<Item = IpAddr> {
        [Some(self.v4.into()), self.v6.map(IpAddr::V6)].into_iter().flatten()
    }
}

/// Settings of all devices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSettings<'a> {
    /// Largest IP packet, in bytes.
    pub(crate) mtu: u32,
    /// Packets, or bursts, that the kernel keeps until they are read.
    pub(crate) queue: u32,
    /// The congestion control of connections; absent for the kernel's default.
    pub(crate) congestion: Option<&'a str>,
}

impl Interfaces {
    /// Opens a socket in the network namespace of this thread.
    ///
    /// # Errors
    /// If the system forbids it.
    pub(crate) fn open() -> Result<Self, LiveError> {
        let open = || {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        let failed = |e: io::Error| LiveError::new(format!("cannot open a netlink socket: {e}"), "");
        Ok(Self { socket: open().map_err(failed)?, sequence: 0, devices: 0 })
    }

    /// Brings the loopback device and the TUN devices up, the latter with addresses and default routes. Returns the
    /// index of each TUN device.
    ///
    /// Packets with the address of a device leave through it. Programs that choose no address use the first device.
    ///
    /// # Errors
    /// If the kernel refuses one of the settings.
    pub(crate) fn configure(
        &mut self,
        devices: &[Addresses],
        settings: DeviceSettings<'_>,
    ) -> Result<Vec<u32>, LiveError> {
        self.set_up("lo", vec![])?;
        let mut indexes = vec![];
        for (number, addresses) in devices.iter().enumerate() {
            let name = tun::name(number);
            let attributes =
                vec![LinkAttribute::Mtu(settings.mtu), LinkAttribute::TxQueueLen(settings.queue)];
            self.set_up(&name, attributes)?;
            let index = self.look(&name)?.header.index;
            for address in addresses.iter() {
                self.add_address(index, address)?;
                let route = DefaultRoute { index, source: address, congestion: settings.congestion };
                if devices.len() == 1 {
                    self.add_default_route(&route, RouteHeader::RT_TABLE_MAIN, None)?;
                    continue;
                }
                let place = 1 + number as u8; // at most 8, and the kernel's own tables have numbers from 253 on
                self.add_default_route(&route, RouteHeader::RT_TABLE_MAIN, Some(place.into()))?;
                self.add_default_route(&route, place, None)?;
                self.add_rule(address, place)?;
            }
            indexes.push(index);
        }
        self.devices = devices.len();
        Ok(indexes)
    }

    /// Packets that the kernel dropped because the queue of a device was full, since the devices were created.
    ///
    /// # Errors
    /// If a device was lost.
    pub(crate) fn dropped(&mut self) -> Result<u64, LiveError> {
        (0..self.devices).map(|number| self.dropped_by(&tun::name(number))).sum()
    }

    fn dropped_by(&mut self, name: &str) -> Result<u64, LiveError> {
        let link = self.look(name)?;
        let statistics = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(statistics) => Some(statistics.tx_dropped),
            _ => None,
        });
        statistics.ok_or_else(|| LiveError::new("the kernel has no counters of the TUN device", ""))
    }

    fn look(&mut self, name: &str) -> Result<LinkMessage, LiveError> {
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName(name.to_owned()));
        let what = || format!("cannot look up the device {name}");
        match self.request(RouteNetlinkMessage::GetLink(link), 0, &what)? {
            Some(RouteNetlinkMessage::NewLink(link)) => Ok(link),
            _ => Err(LiveError::new(what(), "the kernel's answer is not one about a device")),
        }
    }

    fn set_up(&mut self, name: &str, mut attributes: Vec<LinkAttribute>) -> Result<(), LiveError> {
        let mut link = LinkMessage::default();
        (link.header.flags, link.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
        attributes.push(LinkAttribute::IfName(name.to_owned()));
        link.attributes = attributes;
        let what = || format!("cannot bring the device {name} up");
        self.request(RouteNetlinkMessage::SetLink(link), NLM_F_ACK, &what).map(drop)
    }

    fn add_address(&mut self, index: u32, address: IpAddr) -> Result<(), LiveError> {
        let mut message = AddressMessage::default();
        message.header.index = index;
        (message.header.family, message.header.prefix_len) = family(address);
        // Without this flag, the kernel first asks for duplicates, and takes no packets for an IPv6 address until then.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![AddressAttribute::Address(address), AddressAttribute::Local(address)];
        let what = || format!("cannot add the address {address}");
        let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        self.request(RouteNetlinkMessage::NewAddress(message), flags, &what).map(drop)
    }

    /// The default of a network namespace cannot be an algorithm that the host alone may choose; that of a route can
    /// (`RTAX_CC_ALGO`). A route with a lower `priority` comes first.
    fn add_default_route(
        &mut self,
        route: &DefaultRoute<'_>,
        table: u8,
        priority: Option<u32>,
    ) -> Result<(), LiveError> {
        let DefaultRoute { index, source, congestion } = *route;
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(source).0,
            table,
            protocol: RouteProtocol::Static,
            scope: RouteScope::Universe,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![RouteAttribute::Oif(index)];
        message.attributes.extend(priority.map(RouteAttribute::Priority));
        if let Some(name) = congestion {
            message.attributes.push(RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(name.to_owned())]));
        }
        let what = || match congestion {
            None => format!("cannot add a default route for {source}"),
            Some(name) => format!("--congestion {name}: the kernel refuses a route for {source} with it"),
        };
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_ACK | NLM_F_CREATE, &what).map(drop)
    }

    /// Packets from an address are routed by a table of its own.
    fn add_rule(&mut self, source: IpAddr, table: u8) -> Result<(), LiveError> {
        let mut message = RuleMessage::default();
        (message.header.family, message.header.src_len) = family(source);
        (message.header.table, message.header.action) = (table, RuleAction::ToTable);
        message.attributes = vec![RuleAttribute::Source(source)];
        let what =
            || format!("a UE has several accesses, but no rule can be added for packets from {source}");
        self.request(RouteNetlinkMessage::NewRule(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &what)
            .map(drop)
    }

    /// Sends a request, and returns the kernel's answer if it is more than a confirmation.
    fn request(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        what: &dyn Fn() -> String,
    ) -> Result<Option<RouteNetlinkMessage>, LiveError> {
        let failed = |e: String| LiveError::new(format!("{}: {e}", what()), "");
        self.sequence += 1;
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map_err(|e| failed(e.to_string()))?;
        let (answer, _) = self.socket.recv_from_full().map_err(|e| failed(e.to_string()))?;
        let answer =
            NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(|e| failed(e.to_string()))?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(failed(error.to_io().to_string())),
            NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
            _ => Ok(None),
        }
    }
}

/// A route to all addresses through a device, for packets from one of its own.
struct DefaultRoute<'a> {
    index: u32,
    source: IpAddr,
    /// The congestion control of connections.
    congestion: Option<&'a str>,
}

/// The family of an address, and the length of a prefix that is one address.
const fn family(address: IpAddr) -> (AddressFamily, u8) {
    match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    }
}
