//! The number of congestion marks that the peer reports, for controllers that need it. quinn reports only that there
//! was one.
//!
//! An ACK frame has the number of packets that arrived with ECT(0), ECT(1) and CE (RFC 9000 §19.3.2). The frames are
//! read where they are in plain text, when a packet is opened.
//!
//! quinn sends with ECT(0) and stops if ECT(1) is reported. For a controller that uses ECT(1), datagrams are sent with
//! it instead, and the two numbers are exchanged before quinn reads them.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::BytesMut;
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};

/// Marks that were reported for packets of the application's space.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    marked: AtomicU64,
    taken: AtomicU64,
}

impl Reports {
    fn on_report(&self, marked: u64) {
        self.marked.fetch_max(marked, Ordering::Relaxed);
    }

    /// The number of marks since the last call.
    pub(crate) fn take(&self) -> u64 {
        let marked = self.marked.load(Ordering::Relaxed);
        marked - self.taken.swap(marked, Ordering::Relaxed)
    }
}

/// Reads the packets of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) reports: Arc<Reports>,
    /// True if datagrams are sent with ECT(1).
    pub(crate) exchanges: bool,
}

/// Bytes of a variable-length integer, and its value (RFC 9000 §16).
fn varint(bytes: &[u8]) -> Option<(usize, u64)> {
    let len = 1 << (bytes.first()? >> 6);
    let value = bytes.get(..len)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    Some((len, value & (u64::MAX >> (66 - 8 * len))))
}

/// A position in the frames of a packet.
struct Cursor<'a> {
    payload: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn varint(&mut self) -> Option<u64> {
        let (len, value) = varint(self.payload.get(self.at..)?)?;
        self.at += len;
        Some(value)
    }

    fn varints(&mut self, count: u64) -> Option<()> {
        (0..count).try_for_each(|_| self.varint().map(drop))
    }

    fn bytes(&mut self, count: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(count).ok()?)?;
        (self.at <= self.payload.len()).then_some(())
    }

    fn counted(&mut self) -> Option<()> {
        let count = self.varint()?;
        self.bytes(count)
    }

    fn ranges(&mut self) -> Option<()> {
        self.varints(2)?; // largest acknowledged, delay
        let ranges = self.varint()?;
        self.varints(1 + 2 * ranges)
    }

    /// Goes to the next ACK frame with counts, and to their places: of ECT(0), of ECT(1) and of CE.
    fn counts(&mut self) -> Option<[usize; 3]> {
        loop {
            match self.varint()? {
                ACK_WITH_COUNTS => {
                    self.ranges()?;
                    let first = self.at;
                    self.varint()?;
                    let second = self.at;
                    self.varint()?;
                    let third = self.at;
                    self.varint()?;
                    return Some([first, second, third]);
                }
                other => self.skip(other)?,
            }
        }
    }

    /// The fields of another frame (RFC 9000 §19, RFC 9221 §4, draft-ietf-quic-ack-frequency); `None` for an unknown
    /// one, and for one that ends with the packet.
    fn skip(&mut self, kind: u64) -> Option<()> {
        match kind {
            0x00 | 0x01 | 0x1e | 0x1f => Some(()), // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK
            0x02 => self.ranges(),
            0x04 => self.varints(3),                                    // RESET_STREAM
            0x05 | 0x11 | 0x15 => self.varints(2), // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => self.varints(1), // limits, RETIRE_CONNECTION_ID
            0x06 => {
                self.varints(1)?; // CRYPTO
                self.counted()
            }
            0x07 | 0x31 => self.counted(), // NEW_TOKEN, DATAGRAM
            0x08..=0x0f => {
                self.varints(1 + (kind >> 2 & 1))?; // STREAM, with an offset or without
                if kind & 2 == 0 { None } else { self.counted() }
            }
            0x18 => {
                self.varints(2)?; // NEW_CONNECTION_ID
                self.counted()?;
                self.bytes(16)
            }
            0x1a | 0x1b => self.bytes(8), // PATH_CHALLENGE, PATH_RESPONSE
            0xaf => self.varints(4),      // ACK_FREQUENCY
            _ => None,
        }
    }
}

/// The type of an ACK frame with counts.
const ACK_WITH_COUNTS: u64 = 0x03;

impl Reader {
    /// Reads a packet. ACK frames can be behind others.
    fn read(&self, payload: &mut [u8], is_application: bool) {
        let mut at = 0;
        loop {
            let mut cursor = Cursor { payload, at };
            let Some([capable0, capable1, marked]) = cursor.counts() else { return };
            at = cursor.at;
            if let Some((_, number)) = varint(&payload[marked..]).filter(|_| is_application) {
                self.reports.on_report(number);
            }
            if self.exchanges {
                payload[capable0..marked].rotate_left(capable1 - capable0);
            }
        }
    }

    fn watch(&self, key: Box<dyn PacketKey>, is_application: bool) -> Box<dyn PacketKey> {
        Box::new(WatchedKey { key, reader: self.clone(), is_application })
    }

    pub(crate) fn client(self, config: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
        Arc::new(WatchedClient { config, reader: self })
    }

    pub(crate) fn server(self, config: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        Arc::new(WatchedServer { config, reader: self })
    }
}

struct WatchedKey {
    key: Box<dyn PacketKey>,
    reader: Reader,
    is_application: bool,
}

impl PacketKey for WatchedKey {
    fn encrypt(&self, packet: u64, buffer: &mut [u8], header_len: usize) {
        self.key.encrypt(packet, buffer, header_len);
    }
    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        self.key.decrypt(packet, header, payload)?;
        self.reader.read(payload, self.is_application);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }
    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }
    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}

/// A handshake whose packets are read.
struct WatchedSession {
    session: Box<dyn Session>,
    reader: Reader,
    /// True once the keys of the handshake are known: the next are those of the application.
    has_handshake_keys: bool,
}

impl WatchedSession {
    fn watch(&self, keys: Keys, is_application: bool) -> Keys {
        let KeyPair { local, remote } = keys.packet;
        Keys {
            header: keys.header,
            packet: KeyPair { local, remote: self.reader.watch(remote, is_application) },
        }
    }
}

impl Session for WatchedSession {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        self.watch(self.session.initial_keys(id, side), false)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.session.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.session.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.session.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.session.read_handshake(bytes)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.session.transport_parameters()
    }
    fn write_handshake(&mut self, to: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.session.write_handshake(to)?;
        let is_application = core::mem::replace(&mut self.has_handshake_keys, true);
        Some(self.watch(keys, is_application))
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let KeyPair { local, remote } = self.session.next_1rtt_keys()?;
        Some(KeyPair { local, remote: self.reader.watch(remote, true) })
    }
    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.session.is_valid_retry(id, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.session.export_keying_material(output, label, context)
    }
}

struct WatchedClient {
    config: Arc<dyn ClientConfig>,
    reader: Reader,
}

impl ClientConfig for WatchedClient {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = Arc::clone(&self.config).start_session(version, name, parameters)?;
        Ok(Box::new(WatchedSession { session, reader: self.reader.clone(), has_handshake_keys: false }))
    }
}

struct WatchedServer {
    config: Arc<dyn ServerConfig>,
    reader: Reader,
}

impl ServerConfig for WatchedServer {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.config.initial_keys(version, id)
    }
    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.config.retry_tag(version, id, packet)
    }
    fn start_session(self: Arc<Self>, version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        let session = Arc::clone(&self.config).start_session(version, parameters);
        Box::new(WatchedSession { session, reader: self.reader.clone(), has_handshake_keys: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 appendix A.1.
    #[test]
    fn variable_length_integers_are_those_of_the_rfc() {
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(varint(&eight), Some((8, 151_288_809_941_952_652)));
        assert_eq!(varint(&[0x9d, 0x7f, 0x3e, 0x7d]), Some((4, 494_878_333)));
        assert_eq!((varint(&[0x7b, 0xbd]), varint(&[0x25])), (Some((2, 15_293)), Some((1, 37))));
        assert_eq!((varint(&[]), varint(&[0x7b])), (None, None));
    }

    /// An ACK frame of two ranges with the counts 0, 15,293 and 37, behind frames of each form, and before a stream frame
    /// that has the same bytes and ends with the packet.
    #[test]
    fn the_counts_of_an_ack_frame_are_read_and_exchanged() {
        let frame = [0x03, 9, 0, 1, 2, 1, 3, 0x00, 0x7b, 0xbd, 0x25];
        let others: [&[u8]; 9] = [
            &[0x01, 0x00, 0x1e],                // PING, PADDING, HANDSHAKE_DONE
            &[0x11, 0, 0x80, 0x17, 0xdd, 0xf1], // MAX_STREAM_DATA
            &[0x02, 9, 0, 1, 2, 1, 3],          // ACK
            &[0x0e, 4, 5, 2, 3, 3],             // STREAM
            &[0x06, 0, 1, 3],                   // CRYPTO
            &[0x04, 3, 3, 3],                   // RESET_STREAM
            &[0x1a, 3, 3, 3, 3, 3, 3, 3, 3],    // PATH_CHALLENGE
            &[0x18, 1, 0, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3],
            &[0x40, 0xaf, 1, 2, 3, 4], // ACK_FREQUENCY, in two bytes
        ];
        for before in others {
            let packet = [before, &frame, &[0x08, 0], &frame].concat();
            for exchanges in [false, true] {
                let reader = Reader { reports: Arc::default(), exchanges };
                let mut read = packet.clone();
                reader.read(&mut read, false);
                assert_eq!(reader.reports.take(), 0, "of a handshake");
                let mut read = packet.clone();
                reader.read(&mut read, true);
                assert_eq!((reader.reports.take(), reader.reports.take()), (37, 0), "{before:x?}");
                let counts = if exchanges { [0x7b, 0xbd, 0x00] } else { [0x00, 0x7b, 0xbd] };
                let at = before.len() + 7;
                assert_eq!((&read[at..at + 3], &read[at + 3..]), (&counts[..], &packet[at + 3..]));
            }
        }
        // Cut anywhere, it is left as it is.
        for end in 0..frame.len() {
            let reader = Reader { reports: Arc::default(), exchanges: true };
            let mut cut = frame[..end].to_vec();
            reader.read(&mut cut, true);
            assert_eq!((&cut[..], reader.reports.take()), (&frame[..end], 0));
        }
    }
}
