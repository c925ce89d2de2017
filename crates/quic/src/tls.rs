//! The real handshake and packet protection: TLS 1.3 over QUIC (RFC 9001) by rustls, with ring's ciphers.
//!
//! All random numbers of both ends (randoms, key shares, the order of extensions) come from a named stream.
//! rustls uses the random source of its provider. ring's key exchange has no such parameter, so X25519 is
//! that of curve25519-dalek. Signatures are Ed25519, which is deterministic. A run therefore has the same
//! bytes each time.
//!
//! The server sends a self-signed certificate made for this purpose, and the client has a copy of it. It
//! checks nothing else, in particular not the period of validity, because runs have their own time.

use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use airlane_core::Stream;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup, ring,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, KeyLog, NamedGroup, PeerMisbehaved, SignatureScheme,
};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

/// The certificate of all servers here, and its key, which protects nothing: `openssl genpkey
/// -algorithm ed25519` and `openssl req -x509 -subj /CN=server`.
const CERTIFICATE: &[u8] = include_bytes!("tls/certificate.der");
const KEY: &[u8] = include_bytes!("tls/key.der");

thread_local! {
    /// The random source of rustls: the stream of the session that is being called; `None` outside of a
    /// call.
    static DRAWS: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// Calls into rustls with a random stream.
fn drawing<R>(draws: &mut Stream, call: impl FnOnce() -> R) -> R {
    DRAWS.set(Some(draws.clone()));
    let result = call();
    *draws = DRAWS.take().expect("put there before");
    result
}

fn draw(bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
    DRAWS.with_borrow_mut(|draws| {
        // A draw outside of a session would not be repeatable.
        let draws = draws.as_mut().ok_or(GetRandomFailed)?;
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&draws.bits().to_be_bytes()[..part.len()]);
        }
        Ok(())
    })
}

/// The random source in rustls's interface.
#[derive(Debug)]
struct Draws;

impl SecureRandom for Draws {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        draw(bytes)
    }
}

/// X25519 (RFC 7748 §6.1) with keys from the same random source.
#[derive(Debug)]
struct X25519;

struct KeyShare {
    own: [u8; 32],
    public: [u8; 32],
}

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut own = [0; 32];
        draw(&mut own)?;
        Ok(Box::new(KeyShare { own, public: x25519(own, X25519_BASEPOINT_BYTES) }))
    }
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
    fn ffdhe_group(&self) -> Option<rustls::ffdhe_groups::FfdheGroup<'static>> {
        None
    }
}

impl ActiveKeyExchange for KeyShare {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let invalid = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        let shared = x25519(self.own, peer.try_into().map_err(|_| invalid.clone())?);
        if shared == [0; 32] {
            return Err(invalid); // RFC 8446 §7.4.2
        }
        Ok(SharedSecret::from(&shared[..]))
    }
    fn pub_key(&self) -> &[u8] {
        &self.public
    }
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// Every run has the same calendar time.
#[derive(Debug)]
struct Epoch;

impl TimeProvider for Epoch {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::ZERO))
    }
}

fn provider() -> Arc<CryptoProvider> {
    let ring = ring::default_provider();
    Arc::new(CryptoProvider { kx_groups: vec![&X25519], secure_random: &Draws, ..ring })
}

/// Accepts only the one certificate.
#[derive(Debug)]
struct Verifier(Arc<CryptoProvider>);

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if certificate.as_ref() == CERTIFICATE {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into()) // QUIC uses TLS 1.3
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The secrets of a connection as lines of a key log in NSS's format, until they are taken.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Mutex<String>);

impl Secrets {
    /// The lines added since the last call.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line);
    }
}

/// The client side, for a connection that begins now.
pub(crate) fn client(application: &str, draws: Stream) -> Arc<dyn ClientConfig> {
    let provider = provider();
    let verifier = Arc::new(Verifier(Arc::clone(&provider)));
    let mut config = rustls::ClientConfig::builder_with_details(provider, Arc::new(Epoch))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has the ciphers of TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![application.into()];
    let inner = QuicClientConfig::try_from(config).expect("ring has the cipher of Initial packets");
    Arc::new(Client { inner: Arc::new(inner), draws })
}

/// The server side, which records the secrets of its handshakes.
pub(crate) fn server(application: &str, draws: Stream, secrets: Arc<Secrets>) -> Arc<dyn ServerConfig> {
    let key = PrivatePkcs8KeyDer::from(KEY);
    let mut config = rustls::ServerConfig::builder_with_details(provider(), Arc::new(Epoch))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has the ciphers of TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![CERTIFICATE.into()], key.into())
        .expect("the key is that of the certificate");
    config.send_tls13_tickets = 0; // no client returns with a ticket
    config.alpn_protocols = vec![application.into()];
    config.key_log = secrets;
    let inner = QuicServerConfig::try_from(config).expect("ring has the cipher of Initial packets");
    Arc::new(Server { inner: Arc::new(inner), draws })
}

struct Client {
    inner: Arc<QuicClientConfig>,
    draws: Stream,
}

impl ClientConfig for Client {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let mut draws = self.draws.clone();
        let inner = drawing(&mut draws, || Arc::clone(&self.inner).start_session(version, name, parameters))?;
        Ok(Box::new(Drawing { inner, draws }))
    }
}

struct Server {
    inner: Arc<QuicServerConfig>,
    draws: Stream,
}

impl ServerConfig for Server {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, id)
    }
    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, id, packet)
    }
    fn start_session(self: Arc<Self>, version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        let mut draws = self.draws.clone();
        let inner = drawing(&mut draws, || Arc::clone(&self.inner).start_session(version, parameters));
        Box::new(Drawing { inner, draws })
    }
}

/// A session with its own random stream.
struct Drawing {
    inner: Box<dyn Session>,
    draws: Stream,
}

impl Session for Drawing {
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        drawing(&mut self.draws, || self.inner.read_handshake(bytes))
    }
    fn write_handshake(&mut self, to: &mut Vec<u8>) -> Option<Keys> {
        drawing(&mut self.draws, || self.inner.write_handshake(to))
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(id, side)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }
    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
