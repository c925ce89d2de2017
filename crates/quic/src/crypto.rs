//! The clear-text handshake ([`crate::handshake`]) in quinn's interface.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};

use crate::handshake::{
    CONFIDENTIALITY_LIMIT, Handshake, INITIAL, INTEGRITY_LIMIT, OutOfPlace, SAMPLE, SIGNATURE, TAG, open,
    seal, sign,
};

struct NullKey {
    generation: u64,
}

impl PacketKey for NullKey {
    fn encrypt(&self, _: u64, packet: &mut [u8], _: usize) {
        seal(self.generation, packet);
    }
    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        payload.truncate(open(self.generation, payload).ok_or(CryptoError)?);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        CONFIDENTIALITY_LIMIT
    }
    fn integrity_limit(&self) -> u64 {
        INTEGRITY_LIMIT
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
    handshake: Handshake,
    peer_parameters: Option<TransportParameters>,
}

impl NullSession {
    fn new(side: Side, parameters: &TransportParameters) -> Self {
        let mut own_parameters = Vec::new();
        parameters.write(&mut own_parameters);
        let handshake = Handshake::new(side.is_client(), own_parameters);
        Self { side, handshake, peer_parameters: None }
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
        !self.handshake.is_finished()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let known = self.peer_parameters.is_some();
        let read = self.handshake.read(bytes);
        if let Some(body) = read.map_err(|OutOfPlace| TransportErrorCode::PROTOCOL_VIOLATION)? {
            self.peer_parameters = Some(TransportParameters::read(self.side, &mut &*body)?);
        }
        Ok(!known && self.peer_parameters.is_some())
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer_parameters)
    }

    fn write_handshake(&mut self, to: &mut Vec<u8>) -> Option<Keys> {
        self.handshake.write(to).map(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys(self.handshake.next_generation()))
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
        sign(self.0, data, signature);
    }
    fn signature_len(&self) -> usize {
        SIGNATURE
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = [0; SIGNATURE];
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
