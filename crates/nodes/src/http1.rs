//! The listeners of all nodes: HTTP/1.1 over TCP, with TLS or without, and its bounds.
//!
//! | of | bound |
//! |---|---|
//! | connections | in all and of a client ([`Places`]); a WebSocket is one until it ends |
//! | bytes | of a header, of a body, and of responses that clients have not read ([`Budget`]) |
//! | time | of a TLS handshake, of a header with the idle time before it, of a body, and without a client's reading ([`Guarded`]) |

mod body;
mod host;

use std::convert::Infallible;
use std::future::{Future, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower_service::Service as _;

use crate::clients::Client;
use crate::guarded::Guarded;
use crate::places::{Count, Counters, Places};
use crate::{NodeError, Requirement, Running};
pub(crate) use body::BodyError;
use body::{Bounded, Budget, Charged, PIECE};
pub(crate) use host::port_of;

/// The largest header of a request, in bytes.
const HEADER_MAX: usize = 16 << 10;
/// The pause after an error of `accept`, such as a lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
const HELP: &str = "choose a free address of this machine";

/// The bounds of a listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) count: Count,
    /// The longest time until a TLS handshake or the header of the next request is complete.
    pub(crate) header_time: Duration,
    /// The longest body of a request, in bytes.
    pub(crate) body: u64,
    /// The longest time until the body of a request is complete.
    pub(crate) body_time: Duration,
    /// How long a client may read nothing.
    pub(crate) stall: Duration,
    /// Bytes of responses in memory that clients have not read; `None` if responses are read from files, piece by piece.
    pub(crate) responses: Option<u64>,
}

/// Opens the address of a listener, which the settings call `key`.
///
/// # Errors
/// If the address is taken or not one of this machine.
pub(crate) async fn listen(key: &str, address: SocketAddr) -> Result<TcpListener, NodeError> {
    TcpListener::bind(address)
        .await
        .map_err(|e| NodeError::new(format!("{key} = \"{address}\": cannot listen: {e}"), HELP))
}

/// Whether the address of a listener can be opened.
pub(crate) fn requirement(key: &str, address: SocketAddr) -> Requirement {
    let bound = std::net::TcpListener::bind(address).map(drop);
    Requirement::tried(format!("{key} = {address}"), bound, HELP)
}

/// Accepts connections.
pub(crate) struct Server {
    pub(crate) router: Router,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) bounds: Bounds,
    pub(crate) counters: Counters,
}

/// The state that the connections of a server share.
struct Shared {
    router: Router,
    tls: Option<TlsAcceptor>,
    bounds: Bounds,
    budget: Option<Arc<Budget>>,
}

impl Server {
    /// Serves until the node stops, and then until requests under way are answered; without a node, until it is dropped.
    pub(crate) async fn serve(self, listener: TcpListener, running: Option<Running>) {
        let Self { router, tls, bounds, counters } = self;
        let places = Places::new(bounds.count, counters);
        let budget = bounds.responses.map(Budget::new);
        let shared = Arc::new(Shared { router, tls: tls.map(TlsAcceptor::from), bounds, budget });
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopping(running.as_ref()) => break,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, address)) => {
                    // A connection above a bound is closed at once.
                    if let Some(place) = places.take(address.ip()) {
                        let client = place.client();
                        let guarded = Guarded::new(stream, place, bounds.stall);
                        connections.spawn(shared.clone().connection(guarded, client, running.clone()));
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
}

impl Shared {
    async fn connection(self: Arc<Self>, stream: Guarded, client: Client, running: Option<Running>) {
        let running = running.as_ref();
        let Some(tls) = &self.tls else { return self.talk(stream, client, running).await };
        match timeout(self.bounds.header_time, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.talk(stream, client, running).await,
            Ok(Err(error)) => tracing::debug!(%client, %error, "no TLS"),
            Err(_) => tracing::debug!(%client, "no TLS in time"),
        }
    }

    async fn talk<S>(self: &Arc<Self>, stream: S, client: Client, running: Option<&Running>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.bounds.header_time)
            .max_buf_size(HEADER_MAX)
            // Some clients compare names of headers as they are written, such as the Robot suite of ETSI.
            .title_case_headers(true)
            .serve_connection(TokioIo::new(stream), Exchange { shared: self.clone(), client })
            .with_upgrades();
        tokio::pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => {}
            () = stopping(running) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// Resolves when the node stops.
async fn stopping(running: Option<&Running>) {
    match running {
        Some(running) => running.stopping().await,
        None => std::future::pending().await,
    }
}

/// The requests of a connection.
struct Exchange {
    shared: Arc<Shared>,
    client: Client,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl hyper::service::Service<Request<Incoming>> for Exchange {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        if !host::is_right(&request) {
            let detail = "an HTTP/1.1 request has one header Host with a host and a port of 1 to 65535";
            return Box::pin(ready(Ok(problem(StatusCode::BAD_REQUEST, detail))));
        }
        let bounds = &self.shared.bounds;
        let mut request = request.map(|body| Body::new(Bounded::new(body, bounds.body, bounds.body_time)));
        request.extensions_mut().insert(self.client);
        let (mut router, budget) = (self.shared.router.clone(), self.shared.budget.clone());
        let client = self.client;
        Box::pin(async move {
            let response = match router.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            Ok(match budget {
                Some(budget) => charged(response, &budget, client),
                None => response,
            })
        })
    }
}

/// The response with a body that is paid for while its client reads it. One for which there is no memory is refused.
fn charged(response: Response<Body>, budget: &Arc<Budget>, client: Client) -> Response<Body> {
    // A body without a length is a stream, which is not in memory.
    let size = response.body().size_hint().exact().unwrap_or(0);
    if size <= PIECE as u64 {
        return response;
    }
    match budget.charge(client, size) {
        Some(charge) => response.map(|body| Body::new(Charged::new(body, charge))),
        None => {
            let detail = "clients read earlier responses too slowly";
            let mut refused = problem(StatusCode::SERVICE_UNAVAILABLE, detail);
            refused.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            // Requests behind this one would only cost time.
            refused.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            refused
        }
    }
}

/// An error of a listener, as problem details (RFC 9457).
fn problem(status: StatusCode, detail: &str) -> Response<Body> {
    let body = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": detail,
    });
    let kind = HeaderValue::from_static("application/problem+json");
    (status, [(header::CONTENT_TYPE, kind)], body.to_string()).into_response()
}
