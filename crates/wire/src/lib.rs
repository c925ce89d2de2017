//! Packets as bytes: IPv4, IPv6, TCP, UDP, ICMP and GTP-U, read and written without losing a bit.
//!
//! Whatever [`IpPacket::parse`] accepts, [`IpPacket::emit`] writes again byte for byte: reserved bits, options
//! of unknown kinds, their padding, extension headers, and checksums, right or wrong. Bytes from outside are
//! hostile until proven otherwise: no bytes cause a panic, and an [`Error`] names what is wrong. Reading
//! allocates nothing.
//!
//! ```
//! use airlane_wire::{IpPacket, Transport};
//!
//! let bytes = [0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0x66, 0xcf, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9, 0, 8, 0, 0];
//! let packet = IpPacket::parse(&bytes).unwrap();
//! assert!(matches!(packet.transport, Transport::Udp(udp) if udp.destination_port == 9));
//! let mut again = Vec::new();
//! packet.emit(&mut again).unwrap();
//! assert_eq!(again, bytes);
//! ```
//!
//! Not included: link layers, reassembly of fragments, ESP, and the content of IPv6 extension headers other
//! than the fragment header.

#![forbid(unsafe_code)]

pub mod checksum;
mod classify;
mod emit;
mod error;
mod flows;
mod gtpu;
mod ip;
pub mod mptcp;
pub mod outside;
mod packet;
pub mod segment;
mod tcp;
mod transport;

pub use airlane_core::HeaderBytes;
pub use airlane_core::ip_bytes;
pub use classify::{Class, FiveTuple, FragmentId, classify};
pub use emit::{Ends, TIME_TO_LIVE, emit, length_field};
pub use error::{Error, Layer};
pub use flows::{FlowLimits, FlowTable, Found};
pub use gtpu::{GtpU, Optional};
pub use ip::{Extension, Ip, Ipv4, Ipv6, protocol};
pub use packet::IpPacket;
pub use tcp::{Tcp, TcpOption, TcpOptions};
pub use transport::{Echo, Icmp, Transport, Udp};
