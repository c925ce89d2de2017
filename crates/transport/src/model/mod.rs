//! The parts of a sender that TCP and QUIC share besides the congestion controller: samples of the delivery
//! rate, pacing, and the two domains of a path with a PEP.
//!
//! The senders differ in what they count and when they know it. TCP counts segments of a byte stream, which it
//! sends again under the same number (RFC 9293), and takes a sample when an ACK has been processed. QUIC
//! counts packets and never sends one twice (RFC 9002 §2), and takes a sample before it sends, because quinn
//! reports losses after the acknowledgment that shows them. These differences are arguments here.

mod delivery;
mod domains;
mod evidence;
mod pacer;

pub use delivery::{DeliveredPacket, DeliveryRate, SendNote, SenderState};
pub use domains::{DomainCounts, Domains};
pub use evidence::Evidence;
pub use pacer::Pacer;
pub(crate) use pacer::window_rate;
