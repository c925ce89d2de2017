//! HTTP/3 over quinn: the endpoint, its connections and their requests.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use airlane_core::Seeds;
use airlane_quic::{Senders, Totals, transport};
use axum::http::{HeaderValue, Request, Response, header};
use bytes::Bytes;
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream};
use http_body_util::BodyExt;
use quinn::{Connection, Endpoint, Incoming, TransportConfig, VarInt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::amplification::{AddressUse, Addresses};
use super::answer::answer;
use super::files::Root;
use super::lines::{Line, Lines};
use super::metrics::Metrics;
use super::radio::{Following, Radio};
use super::reports::{Entry, Reported};
use super::settings::Settings;
use super::streams::{Bounded, Stream};
use crate::Running;
use crate::common::time;
use crate::places::{Place, Places};

type Resolver = RequestResolver<Bounded<h3_quinn::Connection>, Bytes>;
type Responder = RequestStream<Stream<h3_quinn::BidiStream<Bytes>>, Bytes>;

/// Bytes of a request's body that a client may send ahead; they are not read.
const CREDIT: u32 = 64 << 10;
/// Unidirectional streams of a client: control, and two of QPACK (RFC 9114 §6.2), and reserved ones.
const ONE_WAY: u32 = 8;
/// Datagrams of handshakes that have not been accepted yet, in bytes.
const WAITING_MAX: u64 = 4 << 20;
/// How long nothing may be in flight before a connection counts as served, when the node ends.
const QUIET: Duration = Duration::from_millis(500);
/// The interval at which metrics of connections are renewed.
const RENEWAL: Duration = Duration::from_secs(1);

/// The state that all connections share.
pub(super) struct Http3 {
    pub(super) settings: Settings,
    pub(super) root: Root,
    pub(super) metrics: Metrics,
    pub(super) lines: Arc<Lines>,
    pub(super) radio: Option<Arc<Radio>>,
    /// The connections that PEPs may report.
    pub(super) reported: Option<Arc<Reported>>,
    pub(super) running: Running,
    pub(super) tls: quinn::ServerConfig,
    pub(super) places: Arc<Places>,
    /// The addresses of clients, and whether they are validated.
    pub(super) addresses: Arc<Addresses>,
    /// Handshakes under way.
    pub(super) handshakes: Arc<AtomicU32>,
}

/// The path of a connection: the address of its client, which may change.
struct Path {
    address: SocketAddr,
    /// The connection at the PEPs, if they may report it.
    _entry: Option<Entry>,
    _in_use: AddressUse,
}

/// A handshake that counts until it is dropped.
struct Handshake(Arc<AtomicU32>);

impl Handshake {
    fn begin(all: &Arc<AtomicU32>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all.clone())
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The part of quinn's configuration that connections share.
pub(super) fn config(tls: tokio_rustls::rustls::ServerConfig) -> Result<quinn::ServerConfig, String> {
    let mut tls = tls;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.max_early_data_size = 0; // requests in it could be replayed
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(tls).map_err(|e| e.to_string())?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config.incoming_buffer_size_total(WAITING_MAX);
    Ok(config)
}

impl Http3 {
    /// Serves until the node stops, and then until the responses that have begun have arrived.
    pub(super) async fn serve(self: Arc<Self>, endpoint: Endpoint) {
        let mut connections = JoinSet::new();
        loop {
            let incoming = tokio::select! {
                incoming = endpoint.accept() => incoming,
                () = self.running.stopping() => break,
                Some(_) = connections.join_next() => continue,
            };
            let Some(incoming) = incoming else { break };
            if let Some((incoming, place, handshake)) = self.admit(incoming) {
                connections.spawn(self.clone().connection(incoming, place, handshake));
            }
        }
        endpoint.set_server_config(None);
        while connections.join_next().await.is_some() {}
        endpoint.wait_idle().await;
    }

    /// Takes a connection below all bounds. Under load, or where a connection of another client would have to end for
    /// it, a client must first show that it receives at its address, so that forged addresses take no place.
    fn admit(&self, incoming: Incoming) -> Option<(Incoming, Place, Handshake)> {
        let handshakes = self.handshakes.load(Ordering::Relaxed);
        let is_loaded = handshakes >= self.settings.limits.handshakes || self.places.is_full();
        if is_loaded && incoming.may_retry() && !incoming.remote_address_validated() {
            self.metrics.retries.inc();
            // A retry fails only for a validated address.
            let _ = incoming.retry();
            return None;
        }
        match self.places.take(incoming.remote_address().ip()) {
            Some(place) => Some((incoming, place, Handshake::begin(&self.handshakes))),
            None => {
                incoming.refuse();
                None
            }
        }
    }

    /// quinn's configuration of a connection.
    fn transport(&self, line: &Line, config: &airlane_quic::QuicConfig) -> TransportConfig {
        let limits = &self.settings.limits;
        let mut transport = transport(config, line.senders.clone());
        let idle = VarInt::from_u64(limits.idle.0.as_millis().max(1)).unwrap_or(VarInt::MAX);
        transport
            .max_idle_timeout(Some(idle.into()))
            .max_concurrent_bidi_streams(limits.streams.into())
            .max_concurrent_uni_streams(ONE_WAY.into())
            .stream_receive_window(CREDIT.into())
            .receive_window((CREDIT * 4).into())
            .send_window(limits.send_buffer.0.get());
        transport
    }

    async fn connection(self: Arc<Self>, incoming: Incoming, place: Place, handshake: Handshake) {
        let mut seed = [0; 8];
        // Without random numbers, controllers of two connections may draw the same numbers.
        let _ = getrandom::fill(&mut seed);
        let Ok(config) = self.settings.quic(Seeds::new(u64::from_le_bytes(seed))) else { return };
        let line = self.lines.open(config.clone(), self.settings.limits.send_buffer.0.get());
        let mut own = self.tls.clone();
        own.transport_config(Arc::new(self.transport(&line, &config)));
        let (local, address) = (incoming.local_ip(), incoming.remote_address());
        let entry = self.may_be_reported(&line, local, address);
        let mut in_use = self.addresses.begin(address, incoming.remote_address_validated());
        let accepted = match incoming.accept_with(Arc::new(own)) {
            Ok(connecting) => timeout(time(self.settings.limits.header_time), connecting).await,
            Err(error) => Ok(Err(error)),
        };
        drop(handshake);
        match accepted {
            Ok(Ok(connection)) => {
                in_use.establish();
                line.connected(connection.clone());
                let displaced = async {
                    place.displaced().await;
                    let code = VarInt::from_u32(Code::H3_EXCESSIVE_LOAD.value() as u32);
                    connection.close(code, b"another client needs the place");
                    // The end of the connection ends the other branch.
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    () = self.talk(&line, connection.clone(), Path { address, _entry: entry, _in_use: in_use }) => {}
                    () = displaced => {}
                }
            }
            Ok(Err(error)) => tracing::debug!(%error, "no QUIC connection"),
            Err(_) => tracing::debug!("no QUIC connection in time"),
        }
        self.lines.close(&line);
        drop(place);
    }

    /// Answers the requests of a connection until its end, and counts.
    async fn talk(self: &Arc<Self>, line: &Arc<Line>, connection: Connection, mut path: Path) {
        let mut address = path.address;
        let mut following = self.follow(line, address);
        let mut shown = Totals::default();
        let served = self.requests(line, connection.clone());
        tokio::pin!(served);
        let mut renewal = tokio::time::interval(RENEWAL);
        let ended = loop {
            tokio::select! {
                ended = served.as_mut() => break ended,
                _ = renewal.tick() => self.metrics.show(line, &mut shown),
            }
            let present = connection.remote_address();
            if present.ip() != address.ip() {
                // The client has moved, perhaps to another UE.
                following = self.follow(line, present);
            }
            if present != address {
                let entry = self.may_be_reported(line, connection.local_ip(), present);
                let in_use = self.addresses.begin(present, true);
                path = Path { address: present, _entry: entry, _in_use: in_use };
            }
            address = present;
        };
        drop((following, path));
        self.metrics.show(line, &mut shown);
        self.metrics.forget(line);
        let sent = connection.stats().path;
        tracing::debug!(
            connection = line.number, %address, ended, sent = sent.sent_packets, lost = sent.lost_packets,
            congestion = shown.congestion, random = shown.random, unreported = shown.unreported,
            timeouts = shown.timeouts, informed = shown.informed, rtt = ?sent.rtt, "connection ended"
        );
    }

    /// PEPs may report the connection by these addresses.
    fn may_be_reported(&self, line: &Arc<Line>, local: Option<IpAddr>, client: SocketAddr) -> Option<Entry> {
        Some(self.reported.as_ref()?.add(line, local, client))
    }

    /// Passes radio information about the UE at this address to the connection, if its discriminator uses it.
    fn follow(&self, line: &Arc<Line>, address: SocketAddr) -> Option<Following> {
        self.radio.as_ref()?.follow(address.ip(), line)
    }

    async fn requests(self: &Arc<Self>, line: &Line, connection: Connection) -> String {
        let most = self.settings.limits.header.0.get();
        let bounded = Bounded { inner: h3_quinn::Connection::new(connection.clone()), most: most * 4 };
        let mut builder = h3::server::builder();
        builder.max_field_section_size(most);
        let begun = timeout(time(self.settings.limits.header_time), builder.build(bounded)).await;
        let mut h3 = match begun {
            Ok(Ok(h3)) => h3,
            Ok(Err(error)) => return error.to_string(),
            Err(_) => return "no control stream in time".to_owned(),
        };
        let mut requests = JoinSet::new();
        let mut draining = false;
        loop {
            tokio::select! {
                resolver = h3.accept(), if !draining || !requests.is_empty() => match resolver {
                    Ok(Some(resolver)) => {
                        let senders = Arc::clone(&line.senders);
                        drop(requests.spawn(self.clone().request(resolver, senders)));
                    }
                    Ok(None) => break,
                    Err(error) => return error.to_string(),
                },
                Some(_) = requests.join_next() => {}
                () = self.running.stopping(), if !draining => {
                    draining = true;
                    // GOAWAY: no request after the next one is accepted.
                    if let Err(error) = h3.shutdown(1).await {
                        return error.to_string();
                    }
                }
                () = std::future::ready(()), if draining && requests.is_empty() => break,
            }
        }
        while requests.join_next().await.is_some() {}
        delivered(line, &connection).await;
        connection.close(VarInt::from_u32(Code::H3_NO_ERROR.value() as u32), b"");
        "no more requests".to_owned()
    }

    async fn request(self: Arc<Self>, resolver: Resolver, senders: Arc<Senders>) {
        let limits = &self.settings.limits;
        let (request, mut stream) = match timeout(time(limits.header_time), resolver.resolve_request()).await
        {
            Ok(Ok(both)) => both,
            Ok(Err(error)) => return tracing::debug!(%error, "no request"),
            Err(_) => return tracing::debug!("no request in time"),
        };
        if let Err(broken) = self.respond(&request, &mut stream, &senders).await {
            if broken == Broken::Stalled {
                self.metrics.stalled.inc();
            }
            stream.stop_stream(match broken {
                Broken::Gone | Broken::Stalled => Code::H3_REQUEST_CANCELLED,
                Broken::Failed => Code::H3_INTERNAL_ERROR,
            });
        }
        // A body of the request has no effect.
        stream.stop_sending(Code::H3_NO_ERROR);
    }

    async fn respond(
        &self,
        request: &Request<()>,
        stream: &mut Responder,
        senders: &Senders,
    ) -> Result<(), Broken> {
        let limits = &self.settings.limits;
        let answered = answer(&self.root, request.method(), request.uri(), request.headers(), limits.ranges);
        let (mut head, mut body) = answered.await.into_parts();
        let date = httpdate::fmt_http_date(SystemTime::now());
        head.headers.insert(header::DATE, HeaderValue::try_from(date).map_err(|_| Broken::Failed)?);
        self.metrics.answered("h3", head.status.as_u16());
        let stall = time(limits.stall);
        in_time(stall, stream.send_response(Response::from_parts(head, ()))).await?;
        while let Some(frame) = body.frame().await {
            let data = frame.ok().and_then(|frame| frame.into_data().ok()).ok_or(Broken::Failed)?;
            let size = data.len() as u64;
            let write = senders.begin_write();
            in_time(stall, stream.send_data(data)).await?;
            drop(write);
            self.metrics.body_bytes.inc_by(size);
        }
        in_time(stall, stream.finish()).await
    }
}

/// Why a response does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// The client has gone, or has stopped reading.
    Gone,
    /// The client does not read.
    Stalled,
    /// The file cannot be read.
    Failed,
}

/// A step of a response, whose client has to read in time.
async fn in_time<E>(most: Duration, step: impl Future<Output = Result<(), E>>) -> Result<(), Broken> {
    match timeout(most, step).await {
        Ok(done) => done.map_err(|_| Broken::Gone),
        Err(_) => Err(Broken::Stalled),
    }
}

/// Resolves when the client has closed the connection, or has acknowledged everything for some time. quinn would drop
/// the rest.
async fn delivered(line: &Line, connection: &Connection) {
    let quiet = async {
        let mut since = tokio::time::Instant::now();
        while since.elapsed() < QUIET {
            if line.senders.state().is_some_and(|state| state.in_flight.get() > 0) {
                since = tokio::time::Instant::now();
            }
            tokio::time::sleep(QUIET / 10).await;
        }
    };
    tokio::select! {
        () = quiet => {}
        _ = connection.closed() => {}
    }
}
