//! Transport protocols without I/O: TCP as in a Linux host, UDP, and over it Sprout ([`sprout`]).
//!
//! A [`TcpEndpoint`] is one end of a connection. It reads no clock and opens no socket: segments
//! and timeouts arrive with a [`airlane_core::Cx`], through which it also sends segments. It has
//! four separate parts:
//!
//! - the send half: a scoreboard (ring of sent segments), loss detection by RACK-TLP (RFC 8985)
//!   or RFC 6675, proportional rate reduction (RFC 6937), F-RTO (RFC 5682) and Eifel undo
//!   (RFC 4015), and the retransmission timer (RFC 6298 with Linux's variance filter);
//! - the congestion controllers ([`congestion`]): NewReno, CUBIC with HyStart, Scalable, Vegas,
//!   Westwood+, Veno, DCTCP, Prague, BBR of versions 1 and 3, with the delivery rate and pacing they need,
//!   and multi-domain congestion control, which uses the reports of a PEP ([`PepReport`]);
//! - the receive half: reassembly, SACK and D-SACK blocks (RFC 2018, RFC 2883), delayed ACKs;
//! - the receive windows ([`window`]): fixed or autotuned, and two that keep the path's queue short, DRWA
//!   and ARWA.
//!
//! Internally, sequence numbers are 64-bit stream positions (the SYN is 0, the first byte 1); they
//! wrap to 32 bits only in the header.
//!
//! ECN, classic (RFC 3168) or accurate (RFC 9768), and pacing are optional. With accurate ECN, pure ACKs and
//! retransmissions are ECN-capable too, as in Linux (RFC 8311 §4.3 allows it).
//!
//! So is Nagle's algorithm: a simulated application writes complete messages (an endless one has writes only
//! if their size is given), but a relay of other applications' writes should use it.
//!
//! Payloads of a [`TcpEndpoint`] are lengths. A [`TcpStream`] adds the bytes that an application writes and reads,
//! and [`InitialSequence`] initial sequence numbers that a peer cannot guess (RFC 6528).
//!
//! Not included: TSO, urgent data, simultaneous open, path MTU discovery, TIME-WAIT except
//! for [`ClosedEnd`], and the rounding of Linux's timer wheel (timers are exact to the nanosecond, their
//! spans rounded up to a millisecond).

mod accurate;
mod config;
pub mod congestion;
pub mod content;
mod delivery;
mod ecn;
mod endpoint;
mod header;
pub mod info;
mod initial;
pub mod model;
pub mod mptcp;
mod path;
mod pep;
mod rack;
mod receiver;
mod recovery;
mod rtt;
mod sack;
mod scoreboard;
mod sender;
mod sequence;
pub mod sprout;
mod stats;
mod stream;
mod timer;
mod udp;
pub mod window;

pub use accurate::EcnBytes;
pub use config::{
    LossDetection, RateReductionKind, ReceiveBuffer, ReceiveWindowKind, RttSampling, TcpConfig, WindowGrowth,
};
pub use congestion::{CongestionController, CongestionKind};
pub use ecn::{EcnConfig, EcnFeedback};
pub use endpoint::{ClosedEnd, ConnectionState, ResetIn, SubflowState, TcpEndpoint, refusal};
pub use info::TcpInfo;
pub use initial::InitialSequence;
pub use path::Path;
pub use pep::PepReport;
pub use rtt::RttEstimator;
pub use stats::TcpStats;
pub use stream::TcpStream;
pub use udp::{UdpReceiver, UdpReceiverStats, UdpSender};
