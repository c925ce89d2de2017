//! Addresses, routes and counters of the device in a network namespace, over netlink (RFC 3549).

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
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use crate::LiveError;
use crate::linux::tun;

/// A netlink socket of the network namespace in which it was opened.
pub(crate) struct Interfaces {
    socket: Socket,
    sequence: u32,
}

/// Settings of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSettings<'a> {
    pub(crate) v4: Ipv4Addr,
    /// Absent where IPv6 is not possible.
    pub(crate) v6: Option<Ipv6Addr>,
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
        Ok(Self { socket: open().map_err(failed)?, sequence: 0 })
    }

    /// Brings the loopback device and the TUN device up, the latter with addresses and default routes.
    ///
    /// # Errors
    /// If the kernel refuses one of the settings.
    pub(crate) fn configure(&mut self, settings: DeviceSettings<'_>) -> Result<(), LiveError> {
        let DeviceSettings { v4, v6, mtu, queue, congestion } = settings;
        self.set_up("lo", vec![])?;
        self.set_up(tun::NAME, vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(queue)])?;
        let index = self.look(tun::NAME)?.header.index;
        self.add_address(index, v4.into())?;
        self.add_default_route(index, v4.into(), congestion)?;
        if let Some(v6) = v6 {
            self.add_address(index, v6.into())?;
            self.add_default_route(index, v6.into(), congestion)?;
        }
        Ok(())
    }

    /// Packets that the kernel dropped because the device's queue was full, since the device was created.
    ///
    /// # Errors
    /// If the device was lost.
    pub(crate) fn dropped(&mut self) -> Result<u64, LiveError> {
        let link = self.look(tun::NAME)?;
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
    /// (`RTAX_CC_ALGO`).
    fn add_default_route(
        &mut self,
        index: u32,
        source: IpAddr,
        congestion: Option<&str>,
    ) -> Result<(), LiveError> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(source).0,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: RouteScope::Universe,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![RouteAttribute::Oif(index)];
        if let Some(name) = congestion {
            message.attributes.push(RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(name.to_owned())]));
        }
        let what = || match congestion {
            None => format!("cannot add a default route for {source}"),
            Some(name) => format!("--congestion {name}: the kernel refuses a route for {source} with it"),
        };
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_ACK | NLM_F_CREATE, &what).map(drop)
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

/// The family of an address, and the length of a prefix that is one address.
const fn family(address: IpAddr) -> (AddressFamily, u8) {
    match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    }
}
