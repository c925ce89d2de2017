//! Multipath TCP, version 1 (RFC 8684): one connection over several subflows, each a TCP connection with its own path.
//!
//! - [`MptcpConnection`] is one end. Its initiator opens the first subflow with MP_CAPABLE and, when the peer has confirmed
//!   it, the others with MP_JOIN.
//! - A [`Scheduler`] gives each segment of the data to a subflow. Data of a subflow whose retransmission timer expires is
//!   sent again on other subflows.
//! - The subflows have congestion windows of their own, which a [`Coupling`] may couple. They share a receive window.
//! - Every segment carries its option ([`airlane_core::MptcpOption`]): a mapping takes 28 bytes of each data segment, and an
//!   acknowledgment has room for timestamps and one SACK block.
//! - A host may announce addresses, lose an access and find it again, make a subflow a backup, and end the connection at
//!   once. Where a middlebox removes the options of the first subflow, the connection continues as TCP.
//!
//! Not included: checksums, and MP_FAIL, which only they need; MP_TCPRST; one identifier for all subflows of an address, which
//! a REMOVE_ADDR would remove together (RFC 8684 §3.4.2): each subflow has its own; and the retransmission of data that a
//! subflow has acknowledged, which a receiver of this implementation never discards.

mod arrive;
mod connection;
mod control;
mod coupling;
mod dress;
mod fallback;
mod incoming;
mod keys;
mod outgoing;
mod push;
mod scheduler;
mod subflow;
#[cfg(test)]
mod tests;

pub use connection::{MptcpConnection, MptcpSettings};
pub use control::{PathNews, PathNotice};
pub use coupling::Coupling;
pub use scheduler::{MakeScheduler, Scheduler, SchedulerData, SchedulerKind, SchedulerPath, Shares};
pub use subflow::SubflowPath;
