//! A subflow: a TCP connection, and where its bytes are in the data of the connection.
//!
//! Offsets count the bytes of the subflow from zero; positions those of the data.

use std::collections::VecDeque;

use airlane_core::{DataMapping, Port, SocketPair};

use super::outgoing::Reinjection;
use super::scheduler::SchedulerPath;
use crate::{ConnectionState, TcpEndpoint};

/// Where a subflow goes, as both ends know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowPath {
    /// The sockets of its TCP connection.
    pub sockets: SocketPair,
    /// The port of the node that leads to its path.
    pub port: Port,
    /// Identifier of its address (RFC 8684 §3.2).
    pub address: u8,
    /// The address is announced, and the peer opens the subflow: whether the initiator of the connection announces it, and
    /// the address.
    pub announced: Option<(bool, [u8; 4])>,
    /// Whether the initiator's access is there at the beginning.
    pub present: bool,
    /// It is used only if no other subflow is.
    pub backup: bool,
}

/// Consecutive bytes of the subflow that are consecutive in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapped {
    offset: u64,
    position: u64,
    len: u64,
    /// It is in the queue for other subflows, or has been.
    reinjected: bool,
}

/// A subflow.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) endpoint: TcpEndpoint,
    /// Data that was given to it and that its peer has not acknowledged, by offset.
    sent: VecDeque<Mapped>,
    /// Number of bytes that were given to it.
    given_to: u64,
    /// Offset up to which it has sent.
    sent_to: u64,
    /// A SYN was sent.
    syn_sent: bool,
    /// Announced data that was not read, by offset.
    received: VecDeque<Mapped>,
    /// Offset up to which the connection has read.
    read_to: u64,
    /// The peer has confirmed the handshake: a segment other than a SYN has arrived at the initiator, or the third segment at
    /// the listener.
    pub(super) confirmed: bool,
    /// A timeout suggests that the path has failed, until the peer acknowledges data of it.
    pub(super) failed: bool,
    /// It has ended, and what it had not delivered has been reinjected.
    pub(super) ended: bool,
    /// Number of expirations of its retransmission timer that have been handled.
    timeouts: u64,
    /// Offset up to which the peer has acknowledged.
    acknowledged_to: u64,
    /// Next position for the redundant scheduler.
    pub(super) repeats_from: u64,
    /// It was opened with MP_JOIN.
    pub(super) joins: bool,
    /// The answer to its SYN had no MP_JOIN: it ends.
    pub(super) refused: bool,
    /// Random numbers of a join: this end's and the peer's.
    pub(super) nonces: [u32; 2],
}

impl Subflow {
    pub(super) fn new(endpoint: TcpEndpoint, nonce: u32) -> Self {
        Self {
            endpoint,
            sent: VecDeque::new(),
            given_to: 0,
            sent_to: 0,
            syn_sent: false,
            received: VecDeque::new(),
            read_to: 0,
            confirmed: false,
            failed: false,
            ended: false,
            timeouts: 0,
            acknowledged_to: 0,
            repeats_from: 0,
            joins: false,
            refused: false,
            nonces: [nonce, 0],
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.endpoint.state() == ConnectionState::Established && !self.ended
    }

    /// Whether an acknowledgment of it may carry an option other than those of its handshake.
    pub(super) fn can_signal(&self) -> bool {
        self.is_open() && self.confirmed
    }

    /// Its state for a scheduler.
    pub(super) fn view(&self, backup: bool) -> SchedulerPath {
        let sender = self.endpoint.subflow_state().unwrap_or_default();
        SchedulerPath { sender, usable: self.can_signal() && !self.failed, backup }
    }

    /// Writes a segment of the data.
    pub(super) fn give(&mut self, position: u64, len: u64, push: bool) {
        self.sent.push_back(Mapped { offset: self.given_to, position, len, reinjected: false });
        self.given_to += len;
        self.endpoint.supply_segment(len, push);
    }

    /// The position of the segment that begins at this offset, and its whole length.
    pub(super) fn position_of(&self, offset: u64) -> Option<(u64, u64, u64)> {
        let index = self.sent.partition_point(|one| one.offset + one.len <= offset);
        self.sent.get(index).filter(|one| one.offset <= offset).map(|one| (one.offset, one.position, one.len))
    }

    /// A segment with this part of the stream is sent. Returns true if it was sent before.
    pub(super) fn note_sent(&mut self, end: u64, is_syn: bool) -> bool {
        if is_syn {
            return core::mem::replace(&mut self.syn_sent, true);
        }
        let again = end > 0 && end <= self.sent_to;
        self.sent_to = self.sent_to.max(end);
        again
    }

    /// Forgets what the peer has acknowledged. Returns true if it acknowledged anything.
    pub(super) fn forget_acknowledged(&mut self) -> bool {
        let to = self.endpoint.acknowledged_to();
        let advanced = to > self.acknowledged_to;
        self.acknowledged_to = self.acknowledged_to.max(to);
        while self.sent.front().is_some_and(|one| one.offset + one.len <= to) {
            self.sent.pop_front();
        }
        advanced
    }

    /// Whether a retransmission timer has expired since the last call.
    pub(super) fn has_timed_out(&mut self) -> bool {
        let timeouts = self.endpoint.timeouts();
        core::mem::replace(&mut self.timeouts, timeouts) != timeouts
    }

    /// The data that it has not delivered, for other subflows; each part once.
    pub(super) fn undelivered(&mut self, from: usize) -> Vec<Reinjection> {
        let fresh = self.sent.iter_mut().filter(|one| !one.reinjected);
        let take = |one: &mut Mapped| {
            one.reinjected = true;
            Reinjection { start: one.position, end: one.position + one.len, from: Some(from) }
        };
        fresh.map(take).collect()
    }

    /// The oldest data that it has not delivered: it may block the peer's window.
    pub(super) fn carries(&self, position: u64) -> bool {
        self.sent.iter().any(|one| one.position <= position && position < one.position + one.len)
    }

    /// The peer has announced where data is. `position` is that of the first byte.
    pub(super) fn announce(&mut self, offset: u64, position: u64, len: u64) {
        let index = self.received.partition_point(|one| one.offset < offset);
        let known = self.received.get(index).is_some_and(|one| one.offset == offset);
        if !known && offset + len > self.read_to {
            self.received.insert(index, Mapped { offset, position, len, reinjected: false });
        }
    }

    /// The offset of a mapping whose sequence number is relative to the initial one and has 32 bits.
    pub(super) fn offset_of(&self, mapping: DataMapping) -> u64 {
        let near = self.read_to;
        let ahead = mapping.subflow_sequence.wrapping_sub(1).wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(i64::from(ahead))
    }

    /// Reads the next bytes of the subflow that are consecutive in the data: their position and number. `plain`: the
    /// connection continues on it as TCP, and positions are offsets.
    pub(super) fn read(&mut self, now: airlane_core::Instant, plain: bool) -> Option<(u64, u64)> {
        let readable = self.endpoint.readable();
        if readable == 0 {
            return None;
        }
        if plain {
            let position = self.read_to;
            self.endpoint.read(now, readable);
            self.read_to += readable;
            return Some((position, readable));
        }
        while self.received.front().is_some_and(|one| one.offset + one.len <= self.read_to) {
            self.received.pop_front();
        }
        let first = self.received.front().filter(|one| one.offset <= self.read_to)?;
        let skipped = self.read_to - first.offset;
        let (position, len) = (first.position + skipped, (first.len - skipped).min(readable));
        self.endpoint.read(now, len);
        self.read_to += len;
        Some((position, len))
    }
}
