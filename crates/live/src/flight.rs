//! The flight recorder: what entered a network between real ends, and what left it, in a file from which the run is
//! repeated in virtual time.
//!
//! A file is a header, records in the order of the run, and a trailer. Numbers are varints (LEB128) unless stated;
//! times are differences in nanoseconds to the last time of the same kind.
//!
//! | record | fields |
//! |---|---|
//! | header | 16 bytes of [`MAGIC`], number of ends, MTU |
//! | 1, a packet entered | time, end, payload of a segment or 0, length, bytes |
//! | 2, a packet of TCP entered | time, end, payload of a segment or 0, length of headers, length of payload, headers |
//! | 5, the same with a wrong checksum | as 2 |
//! | 3, a packet left | time, end, length, 8 bytes of its [`fingerprint`] |
//! | 4, trailer | 1 if the limit of the file ended the record or 0, virtual end, packets entered, packets left, 8 bytes of checksum |
//!
//! A packet of TCP is recorded without its payload, which is repeated as zeros. Its header bytes stay as they came,
//! except for the checksum, which is right for the zeros. A split proxy, which terminates connections, does not forward
//! a segment with a wrong checksum as its own. Only where there is one, wrong checksums are recorded, and stay wrong.
//! The checksum covers all bytes before it: the header is one piece of it, and so is each record.

use core::fmt;

use airlane_core::Instant;
use airlane_wire::{Icmp, Ip, Tcp, protocol};

use crate::ends::EndId;

mod reader;
mod replay;
mod writer;

pub use reader::Reader;
pub use replay::{Difference, Recorded, ReplayReport, replay};
pub use writer::Recorder;

/// The first bytes of a file. The last of them is the version.
pub const MAGIC: [u8; 16] = *b"airlane flight\n\x01";
/// The longest packet of a record, with room for IPv6 (40 + 65,535 bytes).
const PACKET_MAX: usize = 65_575;
/// The most bytes that a fingerprint covers, of a packet that is neither TCP nor an ICMP error.
const FINGERPRINT_BYTES: usize = 128;

/// The kinds of records.
mod tag {
    pub(super) const WHOLE: u8 = 1;
    pub(super) const TCP: u8 = 2;
    pub(super) const LEFT: u8 = 3;
    pub(super) const TRAILER: u8 = 4;
    pub(super) const DAMAGED: u8 = 5;
}

/// A record of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A packet, or a burst to be cut into segments, entered.
    Entered {
        /// Time of the entry.
        at: Instant,
        /// The end that sent it.
        end: EndId,
        /// The payload of a segment.
        gso: Option<u16>,
        /// The packet.
        bytes: &'a [u8],
    },
    /// A packet left.
    Left {
        /// The end that received it.
        end: EndId,
        /// The packet.
        print: Print,
    },
    /// The end of the record.
    Trailer(Trailer),
}

/// The recorded properties of a packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Print {
    /// Time at which the packet left.
    pub at: Instant,
    /// Length of the packet in bytes.
    pub length: u32,
    /// Fingerprint of the packet.
    pub fingerprint: u64,
}

impl Print {
    /// The print of a packet.
    #[must_use]
    pub fn of(at: Instant, bytes: &[u8]) -> Self {
        Self { at, length: bytes.len() as u32, fingerprint: fingerprint(bytes) }
    }
}

impl fmt::Display for Print {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes at {} ns with fingerprint {:016x}",
            self.length,
            self.at.as_nanos(),
            self.fingerprint
        )
    }
}

/// The end of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Whether the limit of the file ended the record before the run ended.
    pub limited: bool,
    /// The virtual time at which the record ends.
    pub end: Instant,
    /// Packets and bursts that entered.
    pub entered: u64,
    /// Packets that left.
    pub left: u64,
}

/// The reason for which a file is not a complete record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlightError {
    /// The offset in the file.
    pub offset: u64,
    /// The problem.
    pub problem: Problem,
}

/// The problems of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file does not begin as a record does.
    NotARecord,
    /// The file is of another version.
    Version(u8),
    /// The file ends before its trailer.
    Truncated,
    /// No record has this kind.
    Kind(u8),
    /// A number has more than 64 bits.
    Number,
    /// A time is beyond the largest one.
    Time,
    /// A length is beyond its limit.
    Length(u64),
    /// The file has no end of this number.
    End(u64),
    /// The checksum or a count of the trailer does not match.
    Trailer,
    /// There are bytes behind the trailer.
    Behind,
    /// The file cannot be read.
    Io(String),
}

impl fmt::Display for FlightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::NotARecord => {
                f.write_str("not a record of a run: it does not begin with \"airlane flight\"")
            }
            Problem::Version(version) => {
                write!(f, "a record of version {version}; this program reads version 1")
            }
            Problem::Truncated => f.write_str("the record ends without its trailer"),
            Problem::Kind(kind) => write!(f, "no record has the kind {kind}"),
            Problem::Number => f.write_str("a number has more than 64 bits"),
            Problem::Time => f.write_str("a time is too large"),
            Problem::Length(length) => write!(f, "a length of {length} is too large"),
            Problem::End(end) => write!(f, "there is no end {end}"),
            Problem::Trailer => f.write_str("the checksum or the counts of the trailer do not match"),
            Problem::Behind => f.write_str("there are bytes behind the trailer"),
            Problem::Io(error) => f.write_str(error),
        }?;
        write!(f, " (at byte {})", self.offset)
    }
}

impl core::error::Error for FlightError {}

/// The lengths of the IP header, and of all headers, of a whole segment of TCP.
fn tcp_headers(bytes: &[u8]) -> Option<(usize, usize)> {
    let (ip, behind) = Ip::parse(bytes).ok()?;
    if ip.is_fragment() || ip.protocol() != protocol::TCP || ip.header_len() + behind.len() != bytes.len() {
        return None;
    }
    Tcp::parse(behind).ok().map(|(tcp, _)| (ip.header_len(), ip.header_len() + tcp.header_len()))
}

/// A number that depends on the beginning of a packet: of TCP on its headers without the checksum, because a segment of
/// a burst has a checksum over payload that is not recorded; of an ICMP error on its headers without the checksum, and
/// on the IP header and eight bytes of its quotation, for the same reason; of others on at most 128 bytes.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> u64 {
    if let Some((ip, headers)) = tcp_headers(bytes) {
        let checksum = ip + 16;
        return Checksum::default().with(&bytes[..checksum]).with(&bytes[checksum + 2..headers]).0;
    }
    if let Some((icmp, quoted)) = icmp_error(bytes) {
        return Checksum::default().with(&bytes[..icmp + 2]).with(&bytes[icmp + 4..quoted]).0;
    }
    Checksum::default().with(&bytes[..bytes.len().min(FINGERPRINT_BYTES)]).0
}

/// The offset of the message of an ICMP error, and that of its quotation, if eight bytes follow the quoted IP header.
fn icmp_error(bytes: &[u8]) -> Option<(usize, usize)> {
    let (ip, behind) = Ip::parse(bytes).ok()?;
    let v6 = matches!(ip, Ip::V6(_));
    if ip.is_fragment() || ip.protocol() != if v6 { protocol::ICMPV6 } else { protocol::ICMP } {
        return None;
    }
    let (_, quotation) = Icmp::parse(behind).ok().filter(|(icmp, _)| icmp.is_error(v6))?;
    let (quoted, rest) = Ip::parse_quoted(quotation).ok()?;
    let start = ip.header_len();
    Some((start, start + Icmp::LEN + quoted.header_len() + rest.len().min(8)))
}

/// FNV-1a (draft-eastlake-fnv-21) with words of eight bytes in place of bytes, a rotation, and the number of bytes behind each
/// piece. A change of one word always changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checksum(u64);

impl Checksum {
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    fn with(self, piece: &[u8]) -> Self {
        let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(Self::PRIME).rotate_left(23);
        let mut words = piece.chunks_exact(8);
        let mut sum = self.0;
        for word in &mut words {
            sum = mix(sum, u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
        let mut last = [0; 8];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        Self(mix(mix(sum, u64::from_le_bytes(last)), piece.len() as u64))
    }
}

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

#[cfg(test)]
mod tests;
