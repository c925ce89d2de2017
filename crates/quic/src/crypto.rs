//! A handshake without cryptography: it exchanges transport parameters in the order of TLS 1.3 over QUIC
//! (RFC 9001 §4), one message for each of its flights, and protects nothing.
//!
//! Packets have the same length as with AES-GCM (RFC 9001 §5.3): a tag of 16 bytes, and room for a
//! header protection sample. The tag contains the generation of the key, so that a packet with an old
//! key cannot be opened, as key updates require.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};

/// The tag of AES-GCM (RFC 9001 §5.3), and the sample of header protection (§5.4.2).
const TAG: usize = 16;
const SAMPLE: usize = 16;
/// Messages by their TLS 1.3 types (RFC 8446 §4); each has a length of three bytes.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const FINISHED: u8 = 20;
const MESSAGE_HEADER: usize = 4;

/// Generations of keys: Initial, Handshake, and the first of 1-RTT.
const INITIAL: u64 = 0;
const HANDSHAKE: u64 = 1;
const FIRST_DATA: u64 = 2;

struct NullKey {
    generation: u64,
}

impl PacketKey for NullKey {
    fn encrypt(&self, _: u64, packet: &mut [u8], _: usize) {
        let tag = packet.len() - TAG;
        packet[tag..].fill(0);
        packet[tag..tag + 8].copy_from_slice(&self.generation.to_be_bytes());
    }
    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let text = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        if payload[text..text + 8] != self.generation.to_be_bytes() {
            return Err(CryptoError);
        }
        payload.truncate(text);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    // RFC 9001 §6.6, AES-GCM.
    fn confidentiality_limit(&self) -> u64 {
        1 << 23
    }
    fn integrity_limit(&self) -> u64 {
        1 << 52
    }
}

struct NullHeaderKey;

impl HeaderKey for NullHeaderKey {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        SAMPLE
    }
}

fn packet_keys(generation: u64) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(NullKey { generation }), remote: Box::new(NullKey { generation }) }
}

fn keys(generation: u64) -> Keys {
    let header = KeyPair {
        local: Box::new(NullHeaderKey) as Box<dyn HeaderKey>,
        remote: Box::new(NullHeaderKey) as Box<dyn HeaderKey>,
    };
    Keys { header, packet: packet_keys(generation) }
}

/// The part of one end in the handshake.
pub(crate) struct NullSession {
    side: Side,
    own_parameters: Vec<u8>,
    peer_parameters: Option<TransportParameters>,
    /// Handshake bytes of an incomplete message.
    received: Vec<u8>,
    /// The next message.
    next: Step,
    finished: bool,
    /// The generation of the next 1-RTT keys.
    generation: u64,
}

/// The next message of an end. It is sent when requested, except for [`Step::Listen`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    ClientHello,
    /// The keys of the handshake, for which the client sends no message.
    ClientHandshakeKeys,
    ClientFinished,
    ServerHello,
    ServerParameters,
    Listen,
}

impl NullSession {
    fn new(side: Side, parameters: &TransportParameters) -> Self {
        let mut own_parameters = Vec::new();
        parameters.write(&mut own_parameters);
        let next = if side.is_client() { Step::ClientHello } else { Step::Listen };
        let generation = FIRST_DATA + 1;
        Self {
            side,
            own_parameters,
            peer_parameters: None,
            received: vec![],
            next,
            finished: false,
            generation,
        }
    }

    fn say(&self, to: &mut Vec<u8>, kind: u8, body: &[u8]) {
        let length = u32::try_from(body.len()).expect("a handshake message is short").to_be_bytes();
        to.push(kind);
        to.extend_from_slice(&length[1..]);
        to.extend_from_slice(body);
    }

    fn on_message(&mut self, kind: u8, body: &[u8]) -> Result<(), TransportError> {
        match (self.side, kind) {
            (Side::Server, CLIENT_HELLO) => {
                self.peer_parameters = Some(TransportParameters::read(self.side, &mut &*body)?);
                self.next = Step::ServerHello;
            }
            (Side::Server, FINISHED) => self.finished = true,
            (Side::Client, SERVER_HELLO) => self.next = Step::ClientHandshakeKeys,
            (Side::Client, ENCRYPTED_EXTENSIONS) => {
                self.peer_parameters = Some(TransportParameters::read(self.side, &mut &*body)?);
            }
            (Side::Client, FINISHED) => {
                self.finished = true;
                self.next = Step::ClientFinished;
            }
            _ => return Err(TransportErrorCode::PROTOCOL_VIOLATION.into()), // a message out of place
        }
        Ok(())
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys(INITIAL)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }
    fn is_handshaking(&self) -> bool {
        !self.finished
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let known = self.peer_parameters.is_some();
        self.received.extend_from_slice(bytes);
        while let [kind, a, b, c, ..] = *self.received.as_slice() {
            let whole = MESSAGE_HEADER + u32::from_be_bytes([0, a, b, c]) as usize;
            if self.received.len() < whole {
                break;
            }
            let body = self.received[MESSAGE_HEADER..whole].to_vec();
            self.received.drain(..whole);
            self.on_message(kind, &body)?;
        }
        Ok(!known && self.peer_parameters.is_some())
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer_parameters)
    }

    fn write_handshake(&mut self, to: &mut Vec<u8>) -> Option<Keys> {
        let (next, generation) = match self.next {
            Step::ClientHello => {
                self.say(to, CLIENT_HELLO, &self.own_parameters);
                (Step::Listen, None)
            }
            Step::ServerHello => {
                self.say(to, SERVER_HELLO, &[]);
                (Step::ServerParameters, Some(HANDSHAKE))
            }
            Step::ServerParameters => {
                self.say(to, ENCRYPTED_EXTENSIONS, &self.own_parameters);
                self.say(to, FINISHED, &[]);
                (Step::Listen, Some(FIRST_DATA))
            }
            Step::ClientHandshakeKeys => (Step::Listen, Some(HANDSHAKE)),
            Step::ClientFinished => {
                self.say(to, FINISHED, &[]);
                (Step::Listen, Some(FIRST_DATA))
            }
            Step::Listen => (Step::Listen, None),
        };
        self.next = next;
        generation.map(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.generation += 1;
        Some(packet_keys(self.generation - 1))
    }
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false // no server here sends one
    }
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// The handshake data for both ends.
pub(crate) struct NullCrypto;

impl ClientConfig for NullCrypto {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new(Side::Client, parameters)))
    }
}

impl ServerConfig for NullCrypto {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(INITIAL))
    }
    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }
    fn start_session(self: Arc<Self>, _: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        Box::new(NullSession::new(Side::Server, parameters))
    }
}

/// Tokens and stateless reset tokens: functions of their input and a seed.
pub(crate) struct NullTokenKey(pub(crate) u64);

impl HmacKey for NullTokenKey {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        let mut hash = self.0 ^ 0xcbf2_9ce4_8422_2325; // FNV-1a, 64 bits
        for out in signature {
            for byte in data {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            *out = (hash >> 32) as u8;
        }
    }
    fn signature_len(&self) -> usize {
        32 // HMAC-SHA256, quinn's default
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = [0; 32];
        self.sign(data, &mut own);
        if signature == own { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for NullTokenKey {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NullAead)
    }
}

struct NullAead;

impl AeadKey for NullAead {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; TAG]);
        Ok(())
    }
    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let text = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&mut data[..text])
    }
}
