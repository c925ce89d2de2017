//! The blocks of a pcapng file that a capture needs (draft-ietf-opsawg-pcapng-03): a section
//! header, interfaces, packets, and secrets for decryption, little-endian.

use std::io::{self, Write};

/// Packets begin with their IP header (LINKTYPE_RAW, <https://www.tcpdump.org/linktypes.html>).
const LINKTYPE_RAW: u16 = 101;
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 0xA;
/// Secrets in the form of lines of a TLS key log: "TLSK".
const TLS_KEY_LOG: u32 = 0x544C_534B;
/// Options: end of options, a section's application, an interface's name and its clock's resolution.
const END_OF_OPTIONS: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
/// Nanoseconds: 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// Writes the blocks of one file.
#[derive(Debug)]
pub(crate) struct PcapNg<W> {
    out: W,
    block: Vec<u8>,
}

impl<W: Write> PcapNg<W> {
    /// Begins a section with these interfaces, which packets name by their index.
    pub(crate) fn new<'a>(
        out: W,
        interfaces: impl IntoIterator<Item = &'a str>,
        snaplen: u32,
    ) -> io::Result<Self> {
        let mut file = Self { out, block: Vec::with_capacity(256) };
        file.begin(SECTION_HEADER);
        file.u32(BYTE_ORDER);
        file.u16(1); // version 1.0
        file.u16(0);
        file.block.extend_from_slice(&u64::MAX.to_le_bytes()); // the length of the section is not specified
        file.option(SHB_USERAPPL, concat!("airlane ", env!("CARGO_PKG_VERSION")).as_bytes());
        file.option(END_OF_OPTIONS, &[]);
        file.end()?;
        for name in interfaces {
            file.interface(name, snaplen)?;
        }
        Ok(file)
    }

    /// Adds an interface, whose index is the number of those before it.
    pub(crate) fn interface(&mut self, name: &str, snaplen: u32) -> io::Result<()> {
        self.begin(INTERFACE_DESCRIPTION);
        self.u16(LINKTYPE_RAW);
        self.u16(0);
        self.u32(snaplen);
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_TSRESOL, &[NANOSECONDS]);
        self.option(END_OF_OPTIONS, &[]);
        self.end()
    }

    /// Adds a packet of `whole` bytes, of which `kept` are stored.
    pub(crate) fn packet(&mut self, interface: u32, at_ns: u64, kept: &[u8], whole: u32) -> io::Result<()> {
        self.begin(ENHANCED_PACKET);
        self.u32(interface);
        self.u32((at_ns >> 32) as u32);
        self.u32(at_ns as u32);
        self.u32(u32::try_from(kept.len()).expect("no longer than the packet"));
        self.u32(whole);
        self.block.extend_from_slice(kept);
        self.pad();
        self.end()
    }

    /// Adds lines of a key log, which apply to the following packets.
    pub(crate) fn secrets(&mut self, lines: &str) -> io::Result<()> {
        self.begin(DECRYPTION_SECRETS);
        self.u32(TLS_KEY_LOG);
        self.u32(u32::try_from(lines.len()).expect("some lines"));
        self.block.extend_from_slice(lines.as_bytes());
        self.pad();
        self.end()
    }

    /// Where it was written.
    pub(crate) fn into_inner(self) -> W {
        self.out
    }

    /// Passes all written data to the operating system.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        self.u32(0); // the length, set when it is known
    }

    fn end(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 4).expect("a block holds one packet, or some lines");
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.u32(length);
        self.out.write_all(&self.block)
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(u16::try_from(value.len()).expect("names are short"));
        self.block.extend_from_slice(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }
}
