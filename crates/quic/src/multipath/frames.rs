//! The STREAM frames of a datagram in clear text (RFC 9000 §12.4, §19; draft-ietf-quic-multipath-21 §4): which data it
//! carries, that a library does not report.

use crate::handshake::TAG;
use crate::identity::ID_LENGTH;

/// Data of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamData {
    pub(super) stream: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Passes on the data of each STREAM frame in the 1-RTT packet of a datagram. Returns whether the datagram is the probe of a
/// timeout: it asks for an immediate acknowledgment (draft-ietf-quic-ack-frequency), and is no probe of the path MTU, which has a
/// PING, nor part of a path validation. `None` if the datagram cannot be read to its end.
pub(super) fn stream_data(datagram: &[u8], mut each: impl FnMut(StreamData)) -> Option<bool> {
    let mut rest = Reader(datagram);
    while rest.0.first().is_some_and(|first| first & 0x80 != 0) {
        rest.skip_long()?;
    }
    let Some(first) = rest.0.first() else { return Some(false) };
    rest.skip(1 + ID_LENGTH + usize::from(first & 3) + 1)?; // RFC 9000 §17.3.1
    let text = rest.0.len().checked_sub(TAG)?;
    let mut frames = Reader(&rest.0[..text]);
    let (mut other, mut asks) = (false, false);
    while let Some(first) = frames.0.first() {
        other |= [PING, PATH_CHALLENGE, PATH_RESPONSE].contains(first);
        asks |= *first == IMMEDIATE_ACK;
        frames.frame(&mut each)?;
    }
    Some(asks && !other)
}

const PING: u8 = 0x01;
const PATH_CHALLENGE: u8 = 0x1A;
const PATH_RESPONSE: u8 = 0x1B;
const IMMEDIATE_ACK: u8 = 0x1F;

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.0.first()?;
        self.skip(1)?;
        Some(byte)
    }

    /// RFC 9000 §16.
    fn varint(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let mut value = u64::from(first & 0x3F);
        for _ in 1..1_u32 << (first >> 6) {
            value = value << 8 | u64::from(self.byte()?);
        }
        Some(value)
    }

    fn varints(&mut self, number: u64) -> Option<()> {
        (0..number).try_for_each(|_| self.varint().map(drop))
    }

    /// A length and as many bytes.
    fn counted(&mut self) -> Option<()> {
        let length = self.varint()?;
        self.skip(usize::try_from(length).ok()?)
    }

    /// An Initial or a Handshake packet (RFC 9000 §17.2).
    fn skip_long(&mut self) -> Option<()> {
        let is_initial = self.byte()? & 0x30 == 0;
        self.skip(4)?;
        for _ in 0..2 {
            let length = self.byte()?;
            self.skip(usize::from(length))?;
        }
        if is_initial {
            self.counted()?; // the token
        }
        self.counted()
    }

    /// ACK and PATH_ACK from the largest acknowledged packet on.
    fn skip_ack(&mut self, has_marks: bool) -> Option<()> {
        self.varints(2)?;
        let ranges = self.varint()?;
        self.varints(1 + 2 * ranges + if has_marks { 3 } else { 0 })
    }

    fn frame(&mut self, each: &mut impl FnMut(StreamData)) -> Option<()> {
        let kind = self.varint()?;
        match kind {
            0x00 | 0x01 | 0x1E | 0x1F => Some(()), // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK
            0x02 | 0x03 => self.skip_ack(kind == 0x03),
            0x3E | 0x3F => {
                self.varint()?;
                self.skip_ack(kind == 0x3F)
            }
            0x06 => {
                self.varint()?; // CRYPTO
                self.counted()
            }
            0x07 => self.counted(), // NEW_TOKEN
            0x08..=0x0F => {
                let stream = self.varint()?;
                let offset = if kind & 4 == 0 { 0 } else { self.varint()? };
                let length = if kind & 2 == 0 { self.0.len() as u64 } else { self.varint()? };
                self.skip(usize::try_from(length).ok()?)?;
                each(StreamData { stream, offset, length });
                Some(())
            }
            0x18 => self.skip_id(2),     // NEW_CONNECTION_ID
            0x3E78 => self.skip_id(3),   // PATH_NEW_CONNECTION_ID
            0x1A | 0x1B => self.skip(8), // PATH_CHALLENGE, PATH_RESPONSE
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 | 0x3E7A | 0x3E7B => self.varints(1),
            0x05 | 0x11 | 0x15 | 0x3E75..=0x3E77 | 0x3E79 | 0x3E7C => self.varints(2),
            0x04 => self.varints(3), // RESET_STREAM
            0xAF => self.varints(4), // ACK_FREQUENCY
            0x1C => {
                self.varints(2)?; // CONNECTION_CLOSE
                self.counted()
            }
            0x1D => {
                self.varint()?;
                self.counted()
            }
            _ => None,
        }
    }

    /// A connection id and its reset token, behind as many numbers (RFC 9000 §19.15).
    fn skip_id(&mut self, numbers: u64) -> Option<()> {
        self.varints(numbers)?;
        let length = self.byte()?;
        self.skip(usize::from(length) + 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(frames: &[u8]) -> Option<Vec<StreamData>> {
        let mut datagram = vec![0x41]; // a packet number of two bytes
        datagram.extend([7; ID_LENGTH]);
        datagram.extend([0, 9]);
        datagram.extend(frames);
        datagram.extend([0; TAG]);
        let mut all = vec![];
        stream_data(&datagram, |data| all.push(data))?;
        Some(all)
    }

    #[test]
    fn stream_frames_are_found_behind_others() {
        // PATH_ACK of path 1 with one more range, PATH_CIDS_BLOCKED, and STREAM frames with and without a length.
        let frames =
            [0x3E, 1, 9, 0, 1, 2, 3, 4, 0x7E, 0x7C, 2, 0, 0x0E, 0, 0x44, 0xB0, 2, 5, 5, 0x08, 4, 1, 2, 3];
        let first = StreamData { stream: 0, offset: 0x4B0, length: 2 };
        assert_eq!(read(&frames), Some(vec![first, StreamData { stream: 4, offset: 0, length: 3 }]));
    }

    #[test]
    fn what_is_unknown_or_cut_is_not_read() {
        assert_eq!(read(&[0x21]), None);
        assert_eq!(read(&[0x0A, 0, 9, 1]), None);
        assert_eq!(read(&[0, 0, PING]), Some(vec![]));
    }
}
