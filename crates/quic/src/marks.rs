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

/// The places of the three numbers of an ACK frame whose fields begin here, and its end.
fn counts(payload: &[u8], mut at: usize) -> Option<[usize; 4]> {
    let mut next = || {
        let (len, value) = varint(payload.get(at..)?)?;
        at += len;
        Some((at - len, value))
    };
    let _largest_and_delay = (next()?, next()?);
    let (_, ranges) = next()?;
    for _ in 0..=2 * ranges {
        next()?;
    }
    Some([next()?.0, next()?.0, next()?.0, at])
}

impl Reader {
    /// Reads a packet. quinn writes ACK frames before all that has a length (`populate_packet`).
    fn read(&self, payload: &mut [u8], is_application: bool) {
        const PADDING: u64 = 0x00;
        const PING: u64 = 0x01;
        const ACK_WITH_COUNTS: u64 = 0x03;
        const HANDSHAKE_DONE: u64 = 0x1e;
        const IMMEDIATE_ACK: u64 = 0x1f;
        let mut at = 0;
        while let Some((len, kind)) = payload.get(at..).and_then(varint) {
            at += len;
            match kind {
                PADDING | PING | HANDSHAKE_DONE | IMMEDIATE_ACK => {}
                ACK_WITH_COUNTS => {
                    let Some([capable0, capable1, marked, end]) = counts(payload, at) else { return };
                    if let Some((_, number)) = varint(&payload[marked..]).filter(|_| is_application) {
                        self.reports.on_report(number);
                    }
                    if self.exchanges {
                        payload[capable0..marked].rotate_left(capable1 - capable0);
                    }
                    at = end;
                }
                _ => return,
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

    /// PING, an ACK frame of two ranges with the counts 0, 15,293 and 37, and a stream frame that has the same bytes.
    #[test]
    fn the_counts_of_an_ack_frame_are_read_and_exchanged() {
        let frame = [0x03, 9, 0, 1, 2, 1, 3, 0x00, 0x7b, 0xbd, 0x25];
        let packet = [&[0x01][..], &frame, &[0x08, 0], &frame].concat();
        for exchanges in [false, true] {
            let reader = Reader { reports: Arc::default(), exchanges };
            let mut read = packet.clone();
            reader.read(&mut read, false);
            assert_eq!(reader.reports.take(), 0, "of a handshake");
            let mut read = packet.clone();
            reader.read(&mut read, true);
            assert_eq!((reader.reports.take(), reader.reports.take()), (37, 0));
            let counts = if exchanges { [0x7b, 0xbd, 0x00] } else { [0x00, 0x7b, 0xbd] };
            assert_eq!((&read[8..11], &read[11..]), (&counts[..], &packet[11..]));
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
