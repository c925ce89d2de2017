//! Reads a record. The file may be anything: it causes an error with its offset, never a panic, and no more memory than
//! a packet needs.

use std::io::{ErrorKind, Read};

use airlane_core::{Duration, Instant};
use airlane_wire::checksum::{Verdict, complete, leave_undone};

use super::{Checksum, FlightError, MAGIC, PACKET_MAX, Print, Problem, Record, Trailer, tag};
use crate::ends::{EndId, UES_MAX};

/// The size of a virtual time beyond which additions would overflow: 292 years.
const TIME_MAX: u64 = i64::MAX as u64;

/// Reads a record from a file.
#[derive(Debug)]
pub struct Reader<R> {
    file: R,
    offset: u64,
    checksum: Checksum,
    /// The bytes of the current record.
    raw: Vec<u8>,
    /// The packet of the current record.
    packet: Vec<u8>,
    ends: u64,
    mtu: u16,
    entered_at: Instant,
    left_at: Instant,
    entered: u64,
    left: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If the file does not begin with one.
    pub fn new(file: R) -> Result<Self, FlightError> {
        let mut reader = Self {
            file,
            offset: 0,
            checksum: Checksum::default(),
            raw: Vec::new(),
            packet: Vec::new(),
            ends: 0,
            mtu: 0,
            entered_at: Instant::ZERO,
            left_at: Instant::ZERO,
            entered: 0,
            left: 0,
        };
        let not_a_record = |_| FlightError { offset: 0, problem: Problem::NotARecord };
        let magic: [u8; MAGIC.len()] =
            reader.bytes(MAGIC.len()).map_err(not_a_record)?.try_into().expect("as many bytes");
        let version = magic[15];
        if magic[..15] != MAGIC[..15] {
            return Err(FlightError { offset: 0, problem: Problem::NotARecord });
        }
        if version != MAGIC[15] {
            return Err(FlightError { offset: 15, problem: Problem::Version(version) });
        }
        reader.ends = reader.number(1 + UES_MAX as u64)?;
        reader.mtu = reader.number(u64::from(u16::MAX))? as u16;
        reader.checksum = reader.checksum.with(&reader.raw);
        Ok(reader)
    }

    /// Number of UEs.
    #[must_use]
    pub const fn ues(&self) -> usize {
        self.ends.saturating_sub(1) as usize
    }

    /// The MTU.
    #[must_use]
    pub const fn mtu(&self) -> u16 {
        self.mtu
    }

    /// The next record. Nothing follows the trailer.
    ///
    /// # Errors
    /// If the bytes are no record.
    pub fn next_record(&mut self) -> Result<Record<'_>, FlightError> {
        self.raw.clear();
        let begin = self.offset;
        match self.bytes(1)?[0] {
            tag::WHOLE => self.packet(None),
            tag::TCP => self.packet(Some(Verdict::Correct)),
            tag::DAMAGED => self.packet(Some(Verdict::Wrong)),
            tag::LEFT => self.departure(),
            tag::TRAILER => self.trailer(),
            kind => Err(FlightError { offset: begin, problem: Problem::Kind(kind) }),
        }
    }

    /// A packet; of TCP with its checksum.
    fn packet(&mut self, tcp: Option<Verdict>) -> Result<Record<'_>, FlightError> {
        self.entered_at = self.time(self.entered_at)?;
        let end = self.end()?;
        let gso = self.number(u64::from(u16::MAX))? as u16;
        let stored = self.number(PACKET_MAX as u64)? as usize;
        let payload = if tcp.is_some() { self.number((PACKET_MAX - stored) as u64)? as usize } else { 0 };
        let from = self.raw.len();
        self.bytes(stored)?;
        self.packet.clear();
        self.packet.extend_from_slice(&self.raw[from..]);
        self.packet.resize(stored + payload, 0);
        if let Some(verdict) = tcp {
            set_checksum(&mut self.packet, verdict);
        }
        self.checksum = self.checksum.with(&self.raw);
        self.entered += 1;
        let gso = (gso > 0).then_some(gso);
        Ok(Record::Entered { at: self.entered_at, end, gso, bytes: &self.packet })
    }

    fn departure(&mut self) -> Result<Record<'_>, FlightError> {
        self.left_at = self.time(self.left_at)?;
        let end = self.end()?;
        let length = self.number(PACKET_MAX as u64)? as u32;
        let fingerprint = self.fixed()?;
        self.checksum = self.checksum.with(&self.raw);
        self.left += 1;
        Ok(Record::Left { end, print: Print { at: self.left_at, length, fingerprint } })
    }

    fn trailer(&mut self) -> Result<Record<'_>, FlightError> {
        let begin = self.offset;
        let limited = self.number(1)? == 1;
        let end = Instant::from_nanos(self.number(TIME_MAX)?);
        let (entered, left) = (self.number(u64::MAX)?, self.number(u64::MAX)?);
        let checksum = self.checksum.with(&self.raw).0;
        let trailer = Trailer { limited, end, entered, left };
        if self.fixed()? != checksum
            || (entered, left) != (self.entered, self.left)
            || end < self.entered_at.max(self.left_at)
        {
            return Err(FlightError { offset: begin, problem: Problem::Trailer });
        }
        let offset = self.offset;
        match self.bytes(1) {
            Err(FlightError { problem: Problem::Truncated, .. }) => Ok(Record::Trailer(trailer)),
            Ok(_) => Err(FlightError { offset, problem: Problem::Behind }),
            Err(error) => Err(error),
        }
    }

    fn time(&mut self, last: Instant) -> Result<Instant, FlightError> {
        let offset = self.offset;
        let by = self.number(u64::MAX)?;
        let sum = last.as_nanos().checked_add(by).filter(|&sum| sum <= TIME_MAX);
        sum.map(|_| last + Duration::from_nanos(by)).ok_or(FlightError { offset, problem: Problem::Time })
    }

    fn end(&mut self) -> Result<EndId, FlightError> {
        let offset = self.offset;
        let end = self.number(u64::MAX)?;
        if end < self.ends {
            Ok(EndId::from_index(end as usize))
        } else {
            Err(FlightError { offset, problem: Problem::End(end) })
        }
    }

    /// A varint up to a limit.
    fn number(&mut self, limit: u64) -> Result<u64, FlightError> {
        let offset = self.offset;
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.bytes(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                let within = number <= limit;
                return within
                    .then_some(number)
                    .ok_or(FlightError { offset, problem: Problem::Length(number) });
            }
        }
        Err(FlightError { offset, problem: Problem::Number })
    }

    fn fixed(&mut self) -> Result<u64, FlightError> {
        let bytes = self.bytes(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// The next bytes, which become the end of `raw`. Their number is bounded by the caller.
    fn bytes(&mut self, count: usize) -> Result<&[u8], FlightError> {
        let from = self.raw.len();
        self.raw.resize(from + count, 0);
        self.file.read_exact(&mut self.raw[from..]).map_err(|error| FlightError {
            offset: self.offset,
            problem: match error.kind() {
                ErrorKind::UnexpectedEof => Problem::Truncated,
                _ => Problem::Io(error.to_string()),
            },
        })?;
        self.offset += count as u64;
        Ok(&self.raw[from..])
    }
}

/// Makes the checksum of a packet of TCP right or wrong for its payload of zeros. Other bytes stay as they are.
fn set_checksum(packet: &mut [u8], verdict: Verdict) {
    let Some((start, offset)) = leave_undone(packet) else { return };
    if complete(packet, start, offset).is_ok() && verdict == Verdict::Wrong {
        packet[start + offset] ^= 1;
    }
}
