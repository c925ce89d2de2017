//! Frames of HTTP/3 (RFC 9114 §7) and their variable-length integers (RFC 9000 §16).

/// Types of frames (RFC 9114 §7.2).
const DATA: u64 = 0x00;
const HEADERS: u64 = 0x01;
const SETTINGS: u64 = 0x04;
/// Types of unidirectional streams (RFC 9114 §6.2.1, RFC 9204 §4.2).
const CONTROL_STREAM: u64 = 0x00;
const QPACK_ENCODER_STREAM: u64 = 0x02;
const QPACK_DECODER_STREAM: u64 = 0x03;
/// Settings (RFC 9204 §5, RFC 9114 §7.2.4.1).
const QPACK_MAX_TABLE_CAPACITY: u64 = 0x01;
const MAX_FIELD_SECTION_SIZE: u64 = 0x06;
const QPACK_BLOCKED_STREAMS: u64 = 0x07;
/// The maximum size of a header: choice, above anything in a page set.
const FIELD_SECTION_MAX: u64 = 1 << 32;

/// Appends an integer in the smallest number of bytes.
fn put(to: &mut Vec<u8>, value: u64) {
    let bytes = value.to_be_bytes();
    match value {
        0..0x40 => to.push(bytes[7]),
        0x40..0x4000 => to.extend([bytes[6] | 0x40, bytes[7]]),
        0x4000..0x4000_0000 => to.extend([bytes[4] | 0x80, bytes[5], bytes[6], bytes[7]]),
        _ => {
            assert!(value < 1 << 62, "integers of QUIC have 62 bits");
            to.push(bytes[0] | 0xC0);
            to.extend(&bytes[1..]);
        }
    }
}

/// Appends a HEADERS frame.
pub(super) fn headers(to: &mut Vec<u8>, section: &[u8]) {
    put(to, HEADERS);
    put(to, section.len() as u64);
    to.extend_from_slice(section);
}

/// Appends the header of a DATA frame with this many bytes.
pub(super) fn data_header(to: &mut Vec<u8>, bytes: u64) {
    put(to, DATA);
    put(to, bytes);
}

/// The first data of each end, each on its own stream: its settings, and the two streams of QPACK, which stay
/// empty because the dynamic table has no capacity (RFC 9204 §3.2.3).
pub(super) fn opening() -> [Vec<u8>; 3] {
    let mut settings = Vec::new();
    for (setting, value) in [
        (QPACK_MAX_TABLE_CAPACITY, 0),
        (MAX_FIELD_SECTION_SIZE, FIELD_SECTION_MAX),
        (QPACK_BLOCKED_STREAMS, 0),
    ] {
        put(&mut settings, setting);
        put(&mut settings, value);
    }
    let mut control = Vec::new();
    put(&mut control, CONTROL_STREAM);
    put(&mut control, SETTINGS);
    put(&mut control, settings.len() as u64);
    control.extend(settings);
    [control, vec![QPACK_ENCODER_STREAM as u8], vec![QPACK_DECODER_STREAM as u8]]
}

/// Parses the frames of a request stream as its bytes arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameReader {
    /// The received part of an integer.
    begun: u64,
    /// Missing bytes of the integer.
    missing: u8,
    expects: Expects,
    /// The field section, once it is complete.
    section: Vec<u8>,
    /// Bytes of data so far.
    data: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum Expects {
    #[default]
    Type,
    Length {
        kind: u64,
    },
    Payload {
        kind: u64,
        left: u64,
    },
}

impl FrameReader {
    /// The field section, once all of it has arrived.
    pub(super) fn section(&self) -> Option<&[u8]> {
        let whole = !matches!(self.expects, Expects::Payload { kind: HEADERS, .. });
        (whole && !self.section.is_empty()).then_some(self.section.as_slice())
    }

    /// Bytes of data received.
    pub(super) const fn data(&self) -> u64 {
        self.data
    }

    /// Parses further bytes.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while let Some(&first) = bytes.first() {
            let Expects::Payload { kind, left } = self.expects else {
                bytes = &bytes[1..];
                if let Some(value) = self.integer(first) {
                    self.on_integer(value);
                }
                continue;
            };
            let taken = left.min(bytes.len() as u64);
            let (now, rest) = bytes.split_at(taken as usize);
            match kind {
                HEADERS => self.section.extend_from_slice(now),
                DATA => self.data += taken,
                _ => {} // ignored (RFC 9114 §9)
            }
            bytes = rest;
            self.expect_payload(kind, left - taken);
        }
    }

    /// Adds a byte of an integer; returns its value after the last.
    fn integer(&mut self, byte: u8) -> Option<u64> {
        if self.missing == 0 {
            self.missing = 1 << (byte >> 6);
            self.begun = u64::from(byte & 0x3F);
        } else {
            self.begun = self.begun << 8 | u64::from(byte);
        }
        self.missing -= 1;
        (self.missing == 0).then_some(self.begun)
    }

    fn on_integer(&mut self, value: u64) {
        match self.expects {
            Expects::Type => self.expects = Expects::Length { kind: value },
            Expects::Length { kind } => self.expect_payload(kind, value),
            Expects::Payload { .. } => unreachable!("a payload has no integers to read"),
        }
    }

    const fn expect_payload(&mut self, kind: u64, left: u64) {
        self.expects = if left == 0 { Expects::Type } else { Expects::Payload { kind, left } };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 9000 appendix A.1.
    #[test]
    fn integers_are_those_of_quic() {
        let cases: [(u64, &[u8]); 4] = [
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (15_293, &[0x7b, 0xbd]),
            (37, &[0x25]),
        ];
        for (value, bytes) in cases {
            let mut written = Vec::new();
            put(&mut written, value);
            assert_eq!(written, bytes);
            let mut reader = FrameReader::default();
            let read: Vec<_> = bytes.iter().filter_map(|byte| reader.integer(*byte)).collect();
            assert_eq!(read, [value]);
        }
        // RFC 9000 §16: an integer need not use the minimum number of bytes.
        let mut reader = FrameReader::default();
        assert_eq!((reader.integer(0x40), reader.integer(0x25)), (None, Some(37)));
    }

    #[test]
    fn frames_are_read_however_they_come() {
        let mut stream = Vec::new();
        headers(&mut stream, &[7; 300]);
        data_header(&mut stream, 20_000);
        stream.extend([0; 20_000]);
        put(&mut stream, 0x21); // reserved, to be ignored (RFC 9114 §7.2.8)
        put(&mut stream, 3);
        stream.extend([1, 2, 3]);
        data_header(&mut stream, 0);
        data_header(&mut stream, 5);
        stream.extend([0; 5]);
        for part in [1, 2, 3, 7, 299, 1_200, stream.len()] {
            let mut reader = FrameReader::default();
            for bytes in stream.chunks(part) {
                let before = reader.section().is_some();
                reader.take(bytes);
                assert!(!before || reader.section().is_some(), "a section that was whole");
            }
            assert_eq!(reader.section(), Some([7; 300].as_slice()), "{part}");
            assert_eq!(reader.data(), 20_005);
        }
        let mut reader = FrameReader::default();
        reader.take(&stream[..302]);
        assert_eq!(reader.section(), None);
    }
}
