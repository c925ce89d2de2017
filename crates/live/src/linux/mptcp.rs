//! The kernel's path manager of Multipath TCP, in a network namespace (ip-mptcp(8)): which addresses open subflows, and
//! how many a connection has.
//!
//! Source: Linux, include/uapi/linux/{mptcp.h,mptcp_pm.h,genetlink.h}.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable, Nla, NlasIterator,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};

use crate::LiveError;
use crate::linux::address::Addresses;

/// The largest number of endpoints, and of subflows besides the first (`MPTCP_PM_ADDR_MAX` in net/mptcp/protocol.h).
pub(crate) const ADDRESSES_MAX: usize = 8;

/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME`.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `MPTCP_PM_NAME` with the zero at its end, and `MPTCP_PM_VER`.
const NAME: &[u8] = b"mptcp_pm\0";
const VERSION: u8 = 1;
/// `MPTCP_PM_CMD_ADD_ADDR` and `MPTCP_PM_CMD_SET_LIMITS`.
const ADD_ADDRESS: u8 = 1;
const SET_LIMITS: u8 = 5;
/// `MPTCP_PM_ATTR_ADDR` with `NLA_F_NESTED`, and `MPTCP_PM_ATTR_SUBFLOWS`.
const ADDRESS: u16 = 1 | 1 << 15;
const SUBFLOWS: u16 = 3;
/// The attributes `MPTCP_PM_ADDR_ATTR_` of an address.
const ADDRESS_FAMILY: u16 = 1;
const ADDRESS_V4: u16 = 3;
const ADDRESS_V6: u16 = 4;
const ADDRESS_FLAGS: u16 = 6;
const ADDRESS_INTERFACE: u16 = 7;
/// `MPTCP_PM_ADDR_FLAG_SUBFLOW`: the address opens subflows.
const FLAG_SUBFLOW: u32 = 1 << 1;

/// Lets connections of the network namespace of this thread have this number of subflows besides the first, and opens
/// them from these addresses, each through the device with its index. A kernel without Multipath TCP stays as it is.
///
/// # Errors
/// If there are more than [`ADDRESSES_MAX`] addresses or subflows, or if the kernel refuses one of them.
pub(crate) fn set_up(
    devices: impl Iterator<Item = (Addresses, u32)>,
    subflows: usize,
) -> Result<(), LiveError> {
    let failed = |e: io::Error| LiveError::new(format!("cannot set MPTCP up: {e}"), "");
    let Some(mut manager) = PathManager::open().map_err(failed)? else { return Ok(()) };
    manager.ask(SET_LIMITS, vec![u32_attribute(SUBFLOWS, subflows as u32)]).map_err(failed)?;
    for (address, index) in
        devices.flat_map(|(addresses, index)| addresses.iter().map(move |one| (one, index)))
    {
        let attributes = vec![DefaultNla::new(ADDRESS, endpoint(address, index))];
        manager.ask(ADD_ADDRESS, attributes).map_err(failed)?;
    }
    Ok(())
}

/// An endpoint, as attributes within an attribute.
fn endpoint(address: IpAddr, index: u32) -> Vec<u8> {
    let (family, address) = match address {
        IpAddr::V4(v4) => (nix::libc::AF_INET, DefaultNla::new(ADDRESS_V4, v4.octets().to_vec())),
        IpAddr::V6(v6) => (nix::libc::AF_INET6, DefaultNla::new(ADDRESS_V6, v6.octets().to_vec())),
    };
    let family = DefaultNla::new(ADDRESS_FAMILY, (family as u16).to_ne_bytes().to_vec());
    let flags = u32_attribute(ADDRESS_FLAGS, FLAG_SUBFLOW);
    bytes_of(&[family, address, flags, u32_attribute(ADDRESS_INTERFACE, index)])
}

fn u32_attribute(kind: u16, value: u32) -> DefaultNla {
    DefaultNla::new(kind, value.to_ne_bytes().to_vec())
}

fn bytes_of(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// A socket to the path manager of a network namespace.
struct PathManager {
    socket: Socket,
    /// The number of its family among those of generic netlink.
    family: u16,
    sequence: u32,
}

impl PathManager {
    /// Opens a socket in the network namespace of this thread; `None` without Multipath TCP.
    fn open() -> io::Result<Option<Self>> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let mut controller = Self { socket, family: CONTROLLER, sequence: 0 };
        let found = controller.ask(GET_FAMILY, vec![DefaultNla::new(FAMILY_NAME, NAME.to_vec())]);
        match found {
            Ok(family) => Ok(family.map(|family| Self { family, ..controller })),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Sends a command, and returns the number of a family, if the answer has one.
    fn ask(&mut self, command: u8, attributes: Vec<DefaultNla>) -> io::Result<Option<u16>> {
        self.sequence += 1;
        let asks = self.family == CONTROLLER;
        let message = Message { family: self.family, command, attributes };
        let mut request =
            NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::InnerMessage(message));
        request.header.flags = NLM_F_REQUEST | if asks { 0 } else { NLM_F_ACK };
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        match NetlinkMessage::<Message>::deserialize(&answer).map_err(io::Error::other)?.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            NetlinkPayload::InnerMessage(message) => Ok(message.family_id()),
            _ => Ok(None),
        }
    }
}

/// A message of generic netlink.
struct Message {
    family: u16,
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl Message {
    /// The length of `struct genlmsghdr`.
    const HEADER: usize = 4;

    fn family_id(&self) -> Option<u16> {
        let id = self.attributes.iter().find(|one| one.kind() == FAMILY_ID)?;
        let mut bytes = [0; 2];
        (id.value_len() == bytes.len()).then(|| id.emit_value(&mut bytes))?;
        Some(u16::from_ne_bytes(bytes))
    }
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        Self::HEADER + self.attributes.as_slice().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..Self::HEADER].copy_from_slice(&[self.command, VERSION, 0, 0]);
        self.attributes.as_slice().emit(&mut buffer[Self::HEADER..]);
    }
}

impl NetlinkDeserializable for Message {
    type Error = netlink_packet_core::DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Self::Error> {
        let (command, rest) = match payload {
            [command, _, _, _, rest @ ..] => (*command, rest),
            _ => return Err("a message of generic netlink without its header".into()),
        };
        let attribute = |nla: Result<_, _>| netlink_packet_core::Parseable::parse(&nla?);
        let attributes = NlasIterator::new(rest).map(attribute).collect::<Result<_, _>>()?;
        Ok(Self { family: header.message_type, command, attributes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `ip mptcp endpoint add 198.19.0.2 dev air1 subflow` sends them, with the identifier of the device.
    #[test]
    fn an_endpoint_has_family_address_flags_and_device() {
        let bytes = endpoint("198.19.0.2".parse().unwrap(), 3);
        let attributes: Vec<_> = NlasIterator::new(&bytes[..]).map(|nla| nla.unwrap()).collect();
        let found: Vec<_> = attributes.iter().map(|nla| (nla.kind(), nla.value())).collect();
        let word = |value: u32| value.to_ne_bytes();
        let expected: [(u16, &[u8]); 4] =
            [(1, &2_u16.to_ne_bytes()), (3, &[198, 19, 0, 2]), (6, &word(2)), (7, &word(3))];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_damaged_answer_has_no_family() {
        let of =
            |bytes: &[u8]| Message::deserialize(&NetlinkHeader::default(), bytes).map(|one| one.family_id());
        assert_eq!(of(&[3, 1, 0, 0, 6, 0, 1, 0, 28, 0, 0, 0]).unwrap(), Some(u16::from_ne_bytes([28, 0])));
        assert_eq!(of(&[3, 1, 0, 0, 5, 0, 1, 0, 28, 0, 0, 0]).unwrap(), None, "an attribute of one byte");
        for damaged in [&[3, 1, 0][..], &[3, 1, 0, 0, 9, 0, 1, 0], &[3, 1, 0, 0, 3, 0, 1, 0]] {
            assert!(of(damaged).is_err(), "{damaged:?}");
        }
    }
}
