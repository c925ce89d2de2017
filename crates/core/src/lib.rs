//! The types that all crates of airlane share: time, quantities, identifiers, named random streams,
//! packets and their pool, and the interface between a protocol and its driver.
//!
//! This crate contains no protocol, clock or socket. Time is an argument (`Cx::now`), packets move
//! as handles into a pool, and everything observable is reported to a [`Probe`].
//!
//! Not included: wire formats (packets are read and written at a boundary, by `airlane-wire`) and algorithms.

mod cell_use;
mod contract;
mod event;
mod frame;
mod id;
pub mod ip_bytes;
mod media_step;
mod mptcp;
pub mod order;
mod packet;
mod pool;
pub mod ring;
mod seed;
mod time;
mod topic;
mod units;

pub use cell_use::CellUse;
pub use contract::{Cx, Node, Outbox, Port, Probe, Role, Silence};
pub use event::{
    CarrierStep, ConnectionCause, ConnectionStep, CubicCurve, Event, HandoverStep, InformationFate,
    LossVerdict, PathModel, PepFate, PlaybackStep, RrcState, ScgStep, SubflowStep,
};
pub use frame::{FrameStream, SentFrame};
pub use id::{CellId, FlowId, Lcid, NodeId, Rnti, UeId};
pub use media_step::MediaStep;
pub use mptcp::{DataMapping, MptcpOption};
pub use packet::{
    AccEcnOption, Direction, DropCause, Ecn, Header, HeaderBytes, IcmpEcho, Mss, Packet, Payload, SackBlock,
    SackList, SocketPair, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps, UdpHeader,
};
pub use pool::{PacketPool, PacketRef};
pub use seed::{Seeds, Stream};
pub use time::{Duration, Instant};
pub use topic::{Topic, TopicSet};
pub use units::{BitRate, Bytes, Dbm, Decibel};
