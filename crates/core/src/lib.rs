//! What every room of airlane speaks: time, quantities, identifiers, named random streams,
//! packets and their pool, and the contract between a protocol and whatever drives it.
//!
//! Nothing here knows a protocol, a clock or a socket. Time is passed in (`Cx::now`), packets
//! move as handles into a pool, and everything observable leaves through a [`Probe`].
//!
//! Left out on purpose: wire formats (made at a boundary, never in between) and any algorithm.

mod contract;
mod event;
mod id;
mod packet;
pub mod ring;
mod seed;
mod time;
mod units;

pub use contract::{Cx, Node, Outbox, Port, Probe, Silence};
pub use event::{
    CubicCurve, Event, HandoverStep, InformationFate, LossVerdict, PathModel, PepFate, PlaybackStep, Topic,
    TopicSet,
};
pub use id::{CellId, FlowId, Lcid, NodeId, Rnti, UeId};
pub use packet::{
    Direction, DropCause, Ecn, Header, Packet, PacketPool, PacketRef, Payload, SackBlock, SackList,
    SocketPair, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps, UdpHeader,
};
pub use seed::{Seeds, Stream};
pub use time::{Duration, Instant};
pub use units::{BitRate, Bytes, Dbm, Decibel};
