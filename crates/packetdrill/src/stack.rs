//! The TCP under test, as the interpreter sees it.

use std::collections::VecDeque;

use airlane_core::{Ecn, Instant, MptcpOption, TcpHeader};

use crate::numbering::Numbering;
use crate::script::{Call, Segment};
use crate::shell::Settings;

/// The properties of the network device under a script, from its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// MTU of the device in bytes.
    pub mtu: u16,
    /// The payload of the segments, in bytes, of which larger ones that arrive were joined (`--mss`).
    pub arriving: Option<u32>,
}

impl Device {
    /// The segment size in bytes, without options: 40 bytes of headers less than the MTU, or 60 with IPv6.
    #[must_use]
    pub fn mss(&self) -> u16 {
        self.mtu.saturating_sub(if self.ipv6 { 60 } else { 40 }).clamp(88, 65_495)
    }
}

/// A segment that the host sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Send time.
    pub at: Instant,
    /// The number of its connection, by which [`Stack::numbering`] knows it.
    pub connection: usize,
    /// Header of the segment.
    pub header: TcpHeader,
    /// Bytes of payload.
    pub payload: u32,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Its option of Multipath TCP.
    pub option: Option<MptcpOption>,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The call returns this number.
    Returns(i64),
    /// -1 with this error, such as `EAGAIN`.
    Fails(&'static str),
    /// The call waits.
    Blocks,
    /// The call returns as stated, but with this content instead.
    Differs(String),
    /// The call needs this feature, which is not modelled.
    Foreign(String),
}

/// A host with sockets, a network device and a clock, which stands still between two calls of these functions.
pub trait Stack {
    /// The time.
    fn now(&self) -> Instant;
    /// The earliest time at which the host may act without a call.
    fn next_timeout(&self) -> Instant;
    /// Processes the events at that time, or from then on until one becomes visible, but not after `latest`.
    fn step(&mut self, latest: Instant);
    /// Advances the time. Events of the host at `to` come after the events of the script at `to`.
    fn advance(&mut self, to: Instant);
    /// The segments that were sent and not taken, in their order.
    fn sent(&mut self) -> &mut VecDeque<Sent>;
    /// The numbers of a connection that has sent a segment.
    fn numbering(&mut self, connection: usize) -> &mut Numbering;
    /// Bytes of payload of a full segment of the connection, when this one was sent.
    fn full_segment(&self, sent: &Sent) -> u32;
    /// A segment arrives.
    ///
    /// # Errors
    /// If it needs something that is not modelled, which the error names.
    fn receive(&mut self, segment: &Segment) -> Result<(), String>;
    /// Makes a call.
    fn call(&mut self, call: &Call) -> Answer;
    /// The answer of a call that has waited; it may wait longer.
    fn resume(&mut self, call: &Call) -> Answer;
    /// The configuration has changed.
    ///
    /// # Errors
    /// If it needs something that is not modelled, which the error names.
    fn apply(&mut self, settings: &Settings) -> Result<(), String>;
    /// Whether a socket listens.
    fn listens(&self) -> bool;
    /// The fields of `tcp_info` of the connection that was opened last.
    ///
    /// # Errors
    /// If they cannot be read; the error says why.
    fn info(&mut self) -> Result<Vec<(&'static str, i64)>, String>;
}
