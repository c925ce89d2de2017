//! Sockets: connections, TLS, and their bounds.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::access::secret;
use super::metrics::Metrics;
use super::settings::{Limits, Tls, time};
use crate::Running;

/// The largest header of a request, in bytes.
const HEADER_MAX: usize = 16 << 10;
/// The pause after an error of `accept`, such as a lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Reads certificate and key.
pub(super) fn tls(settings: &Tls) -> Result<Arc<ServerConfig>, String> {
    let name = settings.certificate.display();
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&settings.certificate).map_err(|e| format!("{name}: {e}"))?.collect();
    let chain = chain.map_err(|e| format!("{name}: {e}"))?;
    if chain.is_empty() {
        return Err(format!("{name}: it has no certificate; expected PEM"));
    }
    let key = settings.key.display();
    let pem = secret(&settings.key)?;
    let own = PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|e| format!("{key}: {e}; expected a private key in PEM"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, own) // refuses a key of another certificate
        .map_err(|e| format!("{name} and {key}: {e}"))?;
    Ok(Arc::new(config))
}

/// The open connections, in all and of each address.
#[derive(Default)]
struct Open {
    all: u32,
    of: BTreeMap<IpAddr, u32>,
}

/// The place of a connection; given back when it is dropped.
struct Place {
    open: Arc<Mutex<Open>>,
    metrics: Metrics,
    address: IpAddr,
}

impl Place {
    fn take(open: &Arc<Mutex<Open>>, metrics: &Metrics, limits: &Limits, address: IpAddr) -> Option<Self> {
        let mut state = open.lock().expect("no panic while it is locked");
        let own = state.of.get(&address).copied().unwrap_or(0);
        if state.all >= limits.connections || own >= limits.connections_per_address {
            metrics.refused.inc();
            return None;
        }
        state.all += 1;
        state.of.insert(address, own + 1);
        metrics.connections.set(i64::from(state.all));
        drop(state);
        Some(Self { open: open.clone(), metrics: metrics.clone(), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.open.lock().expect("no panic while it is locked");
        state.all -= 1;
        self.metrics.connections.set(i64::from(state.all));
        if let Some(own) = state.of.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                state.of.remove(&self.address);
            }
        }
    }
}

/// Accepts connections.
pub(super) struct Server {
    pub(super) router: Router,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
}

impl Server {
    /// Serves until the node stops, and then until requests under way are answered.
    pub(super) async fn serve(self, listener: TcpListener, running: Running) {
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
                    if let Some(place) = Place::take(&open, &server.metrics, &server.limits, address.ip()) {
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
        match &self.tls {
            None => self.talk(stream, &running).await,
            Some(config) => {
                let handshake = TlsAcceptor::from(config.clone()).accept(stream);
                match timeout(time(self.limits.header_time), handshake).await {
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
            .header_read_timeout(time(self.limits.header_time))
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
