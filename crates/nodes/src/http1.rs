//! HTTP/1.1 over TCP, with TLS or without: connections and their bounds.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::Running;

/// The largest header of a request, in bytes.
const HEADER_MAX: usize = 16 << 10;
/// The pause after an error of `accept`, such as a lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// The bounds of all connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) connections: u32,
    /// Connections of one address at a time.
    pub(crate) per_address: u32,
    /// The longest time until a TLS handshake or the header of a request is complete.
    pub(crate) header_time: Duration,
    /// How long a client may read nothing, if that is bounded.
    pub(crate) stall: Option<Duration>,
}

/// The counters of connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Open connections.
    pub(crate) open: Gauge,
    /// Connections above a bound.
    pub(crate) refused: Counter,
}

/// The open connections, in all and of each address.
#[derive(Debug, Default)]
pub(crate) struct Open {
    all: u32,
    of: BTreeMap<IpAddr, u32>,
}

/// The place of a connection; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    open: Arc<Mutex<Open>>,
    counters: Counters,
    address: IpAddr,
}

impl Place {
    /// A place for one more connection of an address; `None` above a bound.
    pub(crate) fn take(
        open: &Arc<Mutex<Open>>,
        counters: &Counters,
        bounds: &Bounds,
        address: IpAddr,
    ) -> Option<Self> {
        let mut state = open.lock().expect("no panic while it is locked");
        let own = state.of.get(&address).copied().unwrap_or(0);
        if state.all >= bounds.connections || own >= bounds.per_address {
            counters.refused.inc();
            return None;
        }
        state.all += 1;
        state.of.insert(address, own + 1);
        counters.open.set(i64::from(state.all));
        drop(state);
        Some(Self { open: open.clone(), counters: counters.clone(), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.open.lock().expect("no panic while it is locked");
        state.all -= 1;
        self.counters.open.set(i64::from(state.all));
        if let Some(own) = state.of.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                state.of.remove(&self.address);
            }
        }
    }
}

/// Accepts connections.
pub(crate) struct Server {
    pub(crate) router: Router,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) bounds: Bounds,
    pub(crate) counters: Counters,
}

impl Server {
    /// Serves until the node stops, and then until requests under way are answered.
    pub(crate) async fn serve(self, listener: TcpListener, running: Running) {
        let open = Arc::new(Mutex::new(Open::default()));
        let server = Arc::new(self);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = running.stopping() => break,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, address)) => {
                    // One above a bound is closed at once.
                    if let Some(place) = Place::take(&open, &server.counters, &server.bounds, address.ip()) {
                        connections.spawn(server.clone().connection(stream, address, place, running.clone()));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    async fn connection(
        self: Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        place: Place,
        running: Running,
    ) {
        let _ = stream.set_nodelay(true);
        // It also ends a connection whose window stays closed.
        let _ = socket2::SockRef::from(&stream).set_tcp_user_timeout(self.bounds.stall);
        match &self.tls {
            None => self.talk(stream, &running).await,
            Some(config) => {
                let handshake = TlsAcceptor::from(config.clone()).accept(stream);
                match timeout(self.bounds.header_time, handshake).await {
                    Ok(Ok(stream)) => self.talk(stream, &running).await,
                    Ok(Err(error)) => tracing::debug!(%address, %error, "no TLS"),
                    Err(_) => tracing::debug!(%address, "no TLS in time"),
                }
            }
        }
        drop(place);
    }

    async fn talk<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(&self, stream: S, running: &Running) {
        let service = TowerToHyperService::new(self.router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.bounds.header_time)
            .max_buf_size(HEADER_MAX)
            // Some clients compare names of headers as they are written, such as the Robot suite of ETSI.
            .title_case_headers(true)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        tokio::pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => {}
            () = running.stopping() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}
