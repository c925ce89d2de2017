//! The HTTP client for callbacks. It connects to addresses of the given networks only, whatever a name resolves to,
//! and it follows no redirects.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, Uri, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpStream, lookup_host};
use tower_service::Service;

use super::settings::Callbacks;
use crate::common::{Network, time};
use crate::http1::port_of;
use crate::secrets::trust;

/// The longest response that is read. A connection with a longer one is not used again.
const RESPONSE_MAX: usize = 64 << 10;
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(30);

/// Why a notification was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Another attempt may succeed.
    ForNow,
    /// The receiver refused it.
    ForGood,
}

/// Connects to allowed addresses.
#[derive(Clone, Debug)]
struct Guarded {
    networks: Arc<[Network]>,
}

fn is_allowed(networks: &[Network], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

impl Guarded {
    async fn connect(self, uri: Uri) -> io::Result<TokioIo<TcpStream>> {
        let (host, port) = host_and_port(&uri).map_err(io::Error::other)?;
        let all: Vec<SocketAddr> = match host.parse() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => lookup_host((host, port)).await?.collect(),
        };
        let mut failed = io::Error::other("no address of the callback is in callbacks.networks");
        for address in all.into_iter().filter(|one| is_allowed(&self.networks, one.ip())) {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(TokioIo::new(stream));
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

impl Service<Uri> for Guarded {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// The host without the brackets of an IPv6 address, and the port.
fn host_and_port(uri: &Uri) -> Result<(&str, u16), String> {
    let authority =
        uri.authority().filter(|authority| !authority.host().is_empty()).ok_or("it has no host")?;
    let port = port_of(authority)?.unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    Ok((authority.host().trim_start_matches('[').trim_end_matches(']'), port))
}

/// Sends notifications.
#[derive(Clone)]
pub(super) struct Sender {
    client: Client<HttpsConnector<Guarded>, Full<Bytes>>,
    networks: Arc<[Network]>,
    timeout: Duration,
}

impl Sender {
    /// A client with these settings.
    pub(super) fn new(settings: &Callbacks) -> Result<Self, String> {
        let networks: Arc<[Network]> = settings.networks.as_slice().into();
        let tls = HttpsConnectorBuilder::new().with_tls_config(trust(settings.authorities.as_deref())?);
        let connector =
            tls.https_or_http().enable_http1().wrap_connector(Guarded { networks: networks.clone() });
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(settings.concurrent.into())
            .build(connector);
        Ok(Self { client, networks, timeout: time(settings.timeout) })
    }

    /// Reads a callback URI, and refuses those to which nothing would be sent.
    pub(super) fn callback(&self, text: &str) -> Result<Uri, String> {
        let uri: Uri = text.parse().map_err(|_| "callbackReference is not an absolute URI".to_owned())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("callbackReference is not an http or https URI".to_owned());
        }
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err("callbackReference has no host, or it has a user".to_owned());
        }
        let (host, _) = host_and_port(&uri).map_err(|why| format!("callbackReference: {why}"))?;
        let literal = host.parse::<IpAddr>();
        if literal.is_ok_and(|address| !is_allowed(&self.networks, address)) {
            return Err("callbackReference is outside of the networks that the operator allows".to_owned());
        }
        Ok(uri)
    }

    /// Sends a notification, and waits for the response.
    pub(super) async fn send(&self, uri: &Uri, body: Bytes) -> Result<(), Failure> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body));
        let Ok(request) = request else { return Err(Failure::ForGood) };
        let exchange = async {
            let response = self.client.request(request).await.map_err(|error| {
                tracing::debug!(%uri, %error, "a callback failed");
                Failure::ForNow
            })?;
            let status = response.status();
            // To the end, so that the connection can be used again.
            let _ = Limited::new(response.into_body(), RESPONSE_MAX).collect().await;
            match status.as_u16() {
                200..300 => Ok(()),
                408 | 425 | 429 | 500.. => Err(Failure::ForNow),
                _ => Err(Failure::ForGood),
            }
        };
        tokio::time::timeout(self.timeout, exchange).await.unwrap_or(Err(Failure::ForNow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_outside_of_the_networks_are_refused_in_any_form() {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|one| Network(one.parse().unwrap()));
        for (address, allowed) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("fd00::1", true),
            ("127.0.0.1", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("169.254.169.254", false),
        ] {
            assert_eq!(is_allowed(&networks, address.parse().unwrap()), allowed, "{address}");
        }
    }
}
