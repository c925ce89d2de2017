//! Writes a record into memory, in chunks that another thread stores.

use airlane_core::Instant;
use airlane_wire::checksum::{Verdict, verify_transport};

use super::{Checksum, FINGERPRINT_BYTES, MAGIC, Print, tag, tcp_headers};
use crate::ends::EndId;

/// A chunk is ready when it has this many bytes.
const CHUNK: usize = 1 << 18;
/// The most bytes of a record's fields and of a trailer: nine varints.
const FIELDS_MAX: usize = 9 * 10;

/// Records a run.
#[derive(Debug)]
pub struct Recorder {
    chunk: Vec<u8>,
    /// Bytes that may still be written, the trailer not included.
    room: u64,
    limited: bool,
    checked: bool,
    checksum: Checksum,
    entered_at: Instant,
    left_at: Instant,
    entered: u64,
    left: u64,
}

impl Recorder {
    /// A record of a network with this many UEs and this MTU. It stops when the file would have more than `limit` bytes.
    /// Checksums of TCP segments are `checked` where the network depends on them.
    #[must_use]
    pub fn new(ues: usize, mtu: u16, checked: bool, limit: u64) -> Self {
        let mut recorder = Self {
            chunk: Vec::with_capacity(CHUNK + super::PACKET_MAX + FIELDS_MAX),
            room: limit.saturating_sub(FIELDS_MAX as u64),
            limited: false,
            checked,
            checksum: Checksum::default(),
            entered_at: Instant::ZERO,
            left_at: Instant::ZERO,
            entered: 0,
            left: 0,
        };
        recorder.chunk.extend_from_slice(&MAGIC);
        push(&mut recorder.chunk, 1 + ues as u64);
        push(&mut recorder.chunk, u64::from(mtu));
        recorder.end_record(0);
        recorder
    }

    /// A packet, or a burst with this payload of a segment, enters. Times must not decrease.
    pub fn entered(&mut self, at: Instant, end: EndId, gso: Option<u16>, bytes: &[u8]) {
        let headers = tcp_headers(bytes).map(|(_, headers)| headers);
        let stored = headers.unwrap_or(bytes.len());
        if bytes.len() > super::PACKET_MAX || !self.has_room(stored) {
            self.limited = true;
            return;
        }
        let begin = self.chunk.len();
        self.chunk.push(match headers {
            None => tag::WHOLE,
            // A burst has none yet.
            Some(_) if self.checked && gso.is_none() && verify_transport(bytes) == Verdict::Wrong => {
                tag::DAMAGED
            }
            Some(_) => tag::TCP,
        });
        push(&mut self.chunk, (at - self.entered_at).as_nanos());
        push(&mut self.chunk, end.index() as u64);
        push(&mut self.chunk, u64::from(gso.unwrap_or(0)));
        push(&mut self.chunk, stored as u64);
        if headers.is_some() {
            push(&mut self.chunk, (bytes.len() - stored) as u64);
        }
        self.chunk.extend_from_slice(&bytes[..stored]);
        (self.entered_at, self.entered) = (at, self.entered + 1);
        self.end_record(begin);
    }

    /// A packet left at this time. Times must not decrease.
    pub fn left(&mut self, at: Instant, end: EndId, bytes: &[u8]) {
        if !self.has_room(FINGERPRINT_BYTES) {
            self.limited = true;
            return;
        }
        let begin = self.chunk.len();
        let Print { length, fingerprint, .. } = Print::of(at, bytes);
        self.chunk.push(tag::LEFT);
        push(&mut self.chunk, (at - self.left_at).as_nanos());
        push(&mut self.chunk, end.index() as u64);
        push(&mut self.chunk, u64::from(length));
        self.chunk.extend_from_slice(&fingerprint.to_le_bytes());
        (self.left_at, self.left) = (at, self.left + 1);
        self.end_record(begin);
    }

    /// Whether the limit has ended the record.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.limited
    }

    /// The next chunk of the file, if one is ready.
    pub fn take_chunk(&mut self) -> Option<Vec<u8>> {
        (self.chunk.len() >= CHUNK).then(|| {
            let next = Vec::with_capacity(CHUNK + super::PACKET_MAX + FIELDS_MAX);
            core::mem::replace(&mut self.chunk, next)
        })
    }

    /// The last chunk of the file, for a run that ended at this time.
    #[must_use]
    pub fn finish(mut self, end: Instant) -> Vec<u8> {
        // In a limited record, departures behind the last packet are not complete.
        let end = if self.limited { self.entered_at.max(self.left_at) } else { end };
        let begin = self.chunk.len();
        self.chunk.push(tag::TRAILER);
        for number in [u64::from(self.limited), end.as_nanos(), self.entered, self.left] {
            push(&mut self.chunk, number);
        }
        self.end_record(begin);
        self.chunk.extend_from_slice(&self.checksum.0.to_le_bytes());
        self.chunk
    }

    /// Whether a record with this many bytes fits. No record fits after the first one that did not: a record has no
    /// gaps.
    const fn has_room(&self, bytes: usize) -> bool {
        !self.limited && (bytes + FIELDS_MAX) as u64 <= self.room
    }

    fn end_record(&mut self, begin: usize) {
        let written = &self.chunk[begin..];
        self.room = self.room.saturating_sub(written.len() as u64);
        self.checksum = self.checksum.with(written);
    }
}

/// Appends a varint: seven bits in each byte, the lowest first.
fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
