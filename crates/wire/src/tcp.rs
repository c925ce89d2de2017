//! The TCP header (RFC 9293 §3.1) and its options. Options that are not known are kept, in their place.

use airlane_core::SackBlock;

use crate::error::take;
use crate::ip::{array, word};
use crate::{Error, Layer};

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
    /// The sequence number.
    pub sequence: u32,
    /// The acknowledgment number.
    pub acknowledgment: u32,
    /// The twelve bits behind the data offset: four reserved ones, of which the last is AE (RFC 9768 §3.1), and
    /// the control bits.
    pub flags: u16,
    /// The window.
    pub window: u16,
    /// The checksum, as found.
    pub checksum: u16,
    /// The urgent pointer.
    pub urgent: u16,
    /// The options with their padding: 0 to 40 bytes, a multiple of four.
    pub options: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// The header without options.
    pub const LEN_MIN: usize = 20;
    /// The most bytes of options.
    pub const OPTIONS_MAX: usize = 40;

    /// Bytes of the header.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        Self::LEN_MIN + self.options.len()
    }

    /// Reads the header; the second value is the payload.
    ///
    /// # Errors
    /// If the bytes end inside of the header, or it states a length below 20 bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let fixed = take(bytes, Self::LEN_MIN, Layer::Tcp)?;
        let header_len = usize::from(fixed[12] >> 4) * 4;
        if header_len < Self::LEN_MIN {
            return Err(Error::HeaderLength(Layer::Tcp, header_len));
        }
        let options = &take(bytes, header_len, Layer::Tcp)?[Self::LEN_MIN..];
        let header = Self {
            source_port: word(fixed, 0),
            destination_port: word(fixed, 2),
            sequence: u32::from_be_bytes(array(fixed, 4)),
            acknowledgment: u32::from_be_bytes(array(fixed, 8)),
            flags: word(fixed, 12) & 0x0fff,
            window: word(fixed, 14),
            checksum: word(fixed, 16),
            urgent: word(fixed, 18),
            options,
        };
        Ok((header, &bytes[header_len..]))
    }

    /// The options in their order. The last item is an error if the options contradict themselves.
    #[must_use]
    pub const fn options(&self) -> TcpOptions<'a> {
        TcpOptions { rest: self.options }
    }

    /// Appends the header as it is.
    ///
    /// # Errors
    /// If the options have more than 40 bytes, or not a multiple of four.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let options = self.options.len();
        if options > Self::OPTIONS_MAX || !options.is_multiple_of(4) {
            return Err(Error::TooLong(Layer::TcpOptions, options));
        }
        let mut fixed = [0; Self::LEN_MIN];
        fixed[..2].copy_from_slice(&self.source_port.to_be_bytes());
        fixed[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        fixed[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        fixed[8..12].copy_from_slice(&self.acknowledgment.to_be_bytes());
        let offset = ((self.header_len() / 4) as u16) << 12;
        fixed[12..14].copy_from_slice(&(offset | self.flags & 0x0fff).to_be_bytes());
        fixed[14..16].copy_from_slice(&self.window.to_be_bytes());
        fixed[16..18].copy_from_slice(&self.checksum.to_be_bytes());
        fixed[18..20].copy_from_slice(&self.urgent.to_be_bytes());
        out.extend_from_slice(&fixed);
        out.extend_from_slice(self.options);
        Ok(())
    }
}

/// Kinds of options (IANA "TCP Option Kind Numbers").
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const EXPERIMENTS: [u8; 2] = [253, 254];
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// The end of the list, and the bytes behind it, which should be zero (RFC 9293 §3.2).
    End(&'a [u8]),
    /// No operation.
    Nop,
    /// Maximum segment size (RFC 9293 §3.7.1).
    Mss(u16),
    /// Window scale (RFC 7323 §2.2).
    WindowScale(u8),
    /// SACK permitted (RFC 2018 §2).
    SackPermitted,
    /// The blocks of a SACK option (RFC 2018 §3), eight bytes each.
    Sack(&'a [u8]),
    /// Timestamps (RFC 7323 §3.2): TSval and TSecr.
    Timestamps(u32, u32),
    /// An experiment (RFC 6994 §3): the kind, 253 or 254, the first 16 bits of its identifier, and the rest.
    Experiment(u8, u16, &'a [u8]),
    /// Another kind, or a known one of another length: the kind and its data. AccECN (RFC 9768 §3.2.3) is here
    /// with the kinds 172 and 174.
    Other(u8, &'a [u8]),
}

impl<'a> TcpOption<'a> {
    /// The blocks of a SACK option.
    pub fn sack_blocks(&self) -> impl Iterator<Item = SackBlock> + use<'a> {
        let bytes: &'a [u8] = if let Self::Sack(bytes) = self { bytes } else { &[] };
        bytes.chunks_exact(8).map(|block| SackBlock {
            left: u32::from_be_bytes(array(block, 0)),
            right: u32::from_be_bytes(array(block, 4)),
        })
    }

    /// Appends the option.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut long = |kind: u8, parts: [&[u8]; 2]| {
            // The option came from a header or is checked with it: at most 40 bytes.
            out.extend_from_slice(&[kind, (2 + parts[0].len() + parts[1].len()) as u8]);
            out.extend_from_slice(parts[0]);
            out.extend_from_slice(parts[1]);
        };
        match *self {
            Self::End(padding) => {
                out.push(kind::END);
                out.extend_from_slice(padding);
            }
            Self::Nop => out.push(kind::NOP),
            Self::Mss(mss) => long(kind::MSS, [&mss.to_be_bytes(), &[]]),
            Self::WindowScale(shift) => long(kind::WINDOW_SCALE, [&[shift], &[]]),
            Self::SackPermitted => long(kind::SACK_PERMITTED, [&[], &[]]),
            Self::Sack(blocks) => long(kind::SACK, [blocks, &[]]),
            Self::Timestamps(value, echo) => {
                long(kind::TIMESTAMPS, [&value.to_be_bytes(), &echo.to_be_bytes()]);
            }
            Self::Experiment(kind, identifier, data) => long(kind, [&identifier.to_be_bytes(), data]),
            Self::Other(kind, data) => long(kind, [data, &[]]),
        }
    }

    fn typed(kind: u8, data: &'a [u8]) -> Self {
        match (kind, data) {
            (kind::MSS, &[a, b]) => Self::Mss(u16::from_be_bytes([a, b])),
            (kind::WINDOW_SCALE, &[shift]) => Self::WindowScale(shift),
            (kind::SACK_PERMITTED, []) => Self::SackPermitted,
            (kind::SACK, [_, ..]) if data.len().is_multiple_of(8) => Self::Sack(data),
            (kind::TIMESTAMPS, data) if data.len() == 8 => {
                Self::Timestamps(u32::from_be_bytes(array(data, 0)), u32::from_be_bytes(array(data, 4)))
            }
            (kind, [a, b, rest @ ..]) if kind::EXPERIMENTS.contains(&kind) => {
                Self::Experiment(kind, u16::from_be_bytes([*a, *b]), rest)
            }
            _ => Self::Other(kind, data),
        }
    }
}

/// The options of a header.
#[derive(Clone, Copy, Debug)]
pub struct TcpOptions<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = Result<TcpOption<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&kind, behind) = self.rest.split_first()?;
        self.rest = behind;
        match kind {
            kind::END => {
                self.rest = &[];
                return Some(Ok(TcpOption::End(behind)));
            }
            kind::NOP => return Some(Ok(TcpOption::Nop)),
            _ => {}
        }
        let length = behind.first().copied().unwrap_or(0);
        let data = usize::from(length).checked_sub(1).and_then(|end| behind.get(1..end));
        let Some(data) = data else {
            self.rest = &[];
            return Some(Err(Error::OptionLength { kind, length }));
        };
        self.rest = &behind[1 + data.len()..];
        Some(Ok(TcpOption::typed(kind, data)))
    }
}
