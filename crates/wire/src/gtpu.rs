//! The GTP-U header (TS 29.281 v17.4 §5) with its optional fields and extension headers.

use crate::error::take;
use crate::ip::{array, word};
use crate::{Error, Layer};

/// A GTP-U header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GtpU<'a> {
    /// The first byte: version, protocol type, a spare bit, and the flags E, S and PN.
    pub flags: u8,
    /// The message type.
    pub message_type: u8,
    /// Bytes behind the mandatory part of eight bytes.
    pub length: u16,
    /// The tunnel endpoint identifier of the receiver.
    pub identifier: u32,
    /// The optional fields, which are present if one of the flags is set (§5.1).
    pub optional: Option<Optional>,
    /// The extension headers, as found.
    pub extensions: &'a [u8],
}

/// The optional fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optional {
    /// The sequence number, meaningful if S is set.
    pub sequence: u16,
    /// The N-PDU number, meaningful if PN is set.
    pub n_pdu: u8,
    /// The type of the first extension header, meaningful if E is set.
    pub next_extension: u8,
}

impl<'a> GtpU<'a> {
    /// The UDP port of GTP-U (TS 29.281 v17.4 §4.4.2.3).
    pub const PORT: u16 = 2152;
    /// Bytes of the mandatory part.
    pub const LEN_MIN: usize = 8;
    /// Message type G-PDU, which carries a packet (TS 29.281 v17.4 §6.1).
    pub const G_PDU: u8 = 255;
    /// Version 1, protocol type GTP, no flag.
    pub const PLAIN: u8 = 0b0011_0000;
    /// Any of the flags E, S and PN.
    const ANY_FLAG: u8 = 0b0000_0111;
    /// The flag E.
    const EXTENSION: u8 = 0b0000_0100;

    /// The header of a G-PDU with `inner` bytes, without optional fields. The length is 0 for more than 65,535
    /// bytes.
    #[must_use]
    pub fn g_pdu(identifier: u32, inner: usize) -> Self {
        let length = u16::try_from(inner).unwrap_or(0);
        let (optional, extensions) = (None, &[][..]);
        Self { flags: Self::PLAIN, message_type: Self::G_PDU, length, identifier, optional, extensions }
    }

    /// Bytes of the header.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        Self::LEN_MIN + if self.optional.is_some() { 4 } else { 0 } + self.extensions.len()
    }

    /// Reads the header; the second value is the content. Bytes behind the stated length are ignored.
    ///
    /// # Errors
    /// If the version is not 1, the bytes end inside of the header, or the stated length is above the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let fixed = take(bytes, Self::LEN_MIN, Layer::GtpU)?;
        if fixed[0] >> 5 != 1 {
            return Err(Error::Version(Layer::GtpU, fixed[0] >> 5));
        }
        let length = word(fixed, 2);
        let Some(mut rest) = bytes.get(Self::LEN_MIN..Self::LEN_MIN + usize::from(length)) else {
            let (stated, found) = (usize::from(length), bytes.len() - Self::LEN_MIN);
            return Err(Error::Length { layer: Layer::GtpU, stated, found });
        };
        let mut header = Self {
            flags: fixed[0],
            message_type: fixed[1],
            length,
            identifier: u32::from_be_bytes(array(fixed, 4)),
            optional: None,
            extensions: &[],
        };
        if header.flags & Self::ANY_FLAG != 0 {
            let fields = take(rest, 4, Layer::GtpU)?;
            let next_extension = fields[3];
            header.optional = Some(Optional { sequence: word(fields, 0), n_pdu: fields[2], next_extension });
            rest = &rest[4..];
            if header.flags & Self::EXTENSION != 0 {
                header.extensions = extensions(rest, next_extension)?;
                rest = &rest[header.extensions.len()..];
            }
        }
        Ok((header, rest))
    }

    /// Appends the header as it is.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.flags, self.message_type]);
        out.extend_from_slice(&self.length.to_be_bytes());
        out.extend_from_slice(&self.identifier.to_be_bytes());
        if let Some(optional) = self.optional {
            out.extend_from_slice(&optional.sequence.to_be_bytes());
            out.extend_from_slice(&[optional.n_pdu, optional.next_extension]);
        }
        out.extend_from_slice(self.extensions);
    }
}

/// The extension headers at the front: each states its length in units of four bytes first, and the type of the
/// next one last; type 0 ends them (§5.2.1).
fn extensions(bytes: &[u8], mut next: u8) -> Result<&[u8], Error> {
    let mut end = 0;
    while next != 0 {
        let rest = &bytes[end..];
        let length = 4 * usize::from(*take(rest, 1, Layer::GtpU)?.first().expect("one byte"));
        if length == 0 {
            return Err(Error::HeaderLength(Layer::GtpU, 0));
        }
        next = take(rest, length, Layer::GtpU)?[length - 1];
        end += length;
    }
    Ok(&bytes[..end])
}
