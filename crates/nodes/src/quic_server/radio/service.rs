//! The client of a radio network information service: requests over HTTP/1.1, notifications over a WebSocket. All
//! connections lead to the address in the settings: of the links in an answer, only the path is used.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::uri::{Authority, Uri};
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config, tungstenite};

use super::super::settings::Rnis;
use crate::common::time;
use crate::http1::port_of;
use crate::secrets;

/// The longest answer to a request, and the longest notification.
const ANSWER_MAX: usize = 16 << 10;
/// The deadline of a subscription, from now on. A service forgets subscriptions of nodes that were killed, and a node
/// that runs subscribes again.
const LIFETIME: Duration = Duration::from_secs(3600);

/// A connection.
trait Link: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Link for T {}

/// The service.
pub(super) struct Service {
    authority: Authority,
    port: u16,
    /// The part of the URL before `/rni/v2`.
    root: String,
    tls: Option<TlsConnector>,
    token: Option<HeaderValue>,
    timeout: Duration,
}

/// A subscription.
pub(super) struct Subscription {
    socket: WebSocketStream<Box<dyn Link>>,
    /// The path at which it can be ended.
    path: String,
}

/// A message of the service.
pub(super) enum Message {
    Notification(String),
    /// The subscription ends soon.
    Expiry,
}

impl Subscription {
    /// The next message; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            match self.socket.next().await? {
                Ok(tungstenite::Message::Text(text)) if is_expiry(&text) => return Some(Message::Expiry),
                Ok(tungstenite::Message::Text(text)) => {
                    return Some(Message::Notification(text.as_str().to_owned()));
                }
                Ok(tungstenite::Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

/// Whether a notification is that of a deadline (GS MEC 012 V2.2.1, `ExpiryNotification`).
fn is_expiry(text: &str) -> bool {
    // A notification of a record, which is the usual one, is not parsed twice.
    text.contains("ExpiryNotification")
        && serde_json::from_str(text)
            .is_ok_and(|body: Value| body["notificationType"] == "ExpiryNotification")
}

impl Service {
    /// The client. It does not connect yet.
    pub(super) fn new(settings: &Rnis) -> Result<Self, String> {
        let uri: Uri = settings.url.parse().map_err(|e| format!("rnis.url = \"{}\": {e}", settings.url))?;
        let authority = uri.authority().ok_or("rnis.url: it has no host")?.clone();
        let tls = match uri.scheme_str() {
            Some("https") => {
                let mut config = secrets::trust(settings.authorities.as_deref())?;
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                Some(TlsConnector::from(Arc::new(config)))
            }
            _ => None,
        };
        let port = port_of(&authority).map_err(|e| format!("rnis.url = \"{}\": {e}", settings.url))?;
        let port = port.unwrap_or(if tls.is_some() { 443 } else { 80 });
        let root = uri.path().trim_end_matches('/').to_owned();
        let token = settings.token.as_deref().map(token).transpose()?;
        Ok(Self { authority, port, root, tls, token, timeout: time(settings.timeout) })
    }

    async fn connect(&self) -> Result<Box<dyn Link>, String> {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        let port = self.port;
        let stream = TcpStream::connect((host, port)).await.map_err(|e| format!("{host}:{port}: {e}"))?;
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(host.to_owned()).map_err(|e| e.to_string())?;
        Ok(Box::new(tls.connect(name, stream).await.map_err(|e| format!("{host}:{port}: {e}"))?))
    }

    /// Sends a request, and returns status and body of the answer.
    async fn ask(&self, method: Method, path: &str, body: Vec<u8>) -> Result<(StatusCode, Bytes), String> {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(self.connect().await?)).await.map_err(|e| e.to_string())?;
        let connection = tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header(HOST, self.authority.as_str());
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|e| e.to_string())?;
        let answer = async {
            let answer = sender.send_request(request).await.map_err(|e| e.to_string())?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
            Ok((status, body.map_err(|e| e.to_string())?.to_bytes()))
        }
        .await;
        connection.abort();
        answer
    }

    /// Subscribes to the records of a UE.
    pub(super) async fn subscribe(&self, ue: Ipv4Addr) -> Result<Subscription, String> {
        let late = |_| "no answer in time".to_owned();
        timeout(self.timeout, self.subscribe_now(ue)).await.map_err(late)?
    }

    async fn subscribe_now(&self, ue: Ipv4Addr) -> Result<Subscription, String> {
        let deadline = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + LIFETIME;
        let body = json!({
            "subscriptionType": "UeMacSubscription",
            "websockNotifConfig": {"requestWebsocketUri": true},
            "filterCriteriaAssoc": {"associateId": [{"type": 1, "value": ue.to_string()}]},
            "expiryDeadline": {"seconds": deadline.as_secs(), "nanoSeconds": 0},
        });
        let path = format!("{}/rni/v2/subscriptions", self.root);
        let (status, answer) = self.ask(Method::POST, &path, body.to_string().into_bytes()).await?;
        if status != StatusCode::CREATED {
            return Err(format!("the answer to a subscription is {status}"));
        }
        let (own, socket) = links(&answer).ok_or("the answer to a subscription has not its links")?;
        // A failure from here on leaves a subscription, if it cannot be ended either.
        match self.open(&socket).await {
            Ok(socket) => Ok(Subscription { socket, path: own }),
            Err(error) => {
                let _ = self.ask(Method::DELETE, &own, vec![]).await;
                Err(error)
            }
        }
    }

    async fn open(&self, path: &str) -> Result<WebSocketStream<Box<dyn Link>>, String> {
        let link = self.connect().await?;
        let scheme = if self.tls.is_some() { "wss" } else { "ws" };
        let config = WebSocketConfig::default()
            .max_message_size(Some(ANSWER_MAX))
            .max_frame_size(Some(ANSWER_MAX))
            .max_write_buffer_size(ANSWER_MAX * 2)
            .write_buffer_size(0);
        let uri = format!("{scheme}://{}{path}", self.authority);
        let opened = client_async_with_config(uri, link, Some(config)).await;
        opened.map(|(socket, _)| socket).map_err(|e| format!("no WebSocket: {e}"))
    }

    /// Ends a subscription.
    pub(super) async fn cancel(&self, subscription: Subscription) {
        let Subscription { socket, path } = subscription;
        drop(socket);
        match timeout(self.timeout, self.ask(Method::DELETE, &path, vec![])).await {
            // 404: it has ended at the service.
            Ok(Ok((status, _))) if status.is_success() || status == StatusCode::NOT_FOUND => {}
            Ok(Ok((status, _))) => tracing::debug!(%status, "a subscription was not ended"),
            Ok(Err(error)) => tracing::debug!(%error, "a subscription was not ended"),
            Err(_) => tracing::debug!("a subscription was not ended in time"),
        }
    }
}

/// The token in a file, as the header of requests.
fn token(path: &std::path::Path) -> Result<HeaderValue, String> {
    let text = secrets::secret(path)?;
    let wrong = || format!("{}: expected one token, on one line", path.display());
    let mut words = text.split_whitespace();
    let (Some(token), None) = (words.next(), words.next()) else { return Err(wrong()) };
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| wrong())?;
    value.set_sensitive(true);
    Ok(value)
}

/// The paths of a subscription and of its WebSocket, from the answer.
fn links(answer: &[u8]) -> Option<(String, String)> {
    let body: Value = serde_json::from_slice(answer).ok()?;
    let own = path_of(body["_links"]["self"]["href"].as_str()?)?;
    let socket = path_of(body["websockNotifConfig"]["websocketUri"].as_str()?)?;
    Some((own, socket))
}

/// The path of a link, which begins with one slash.
fn path_of(link: &str) -> Option<String> {
    let uri: Uri = link.parse().ok()?;
    let path = uri.path_and_query()?.as_str();
    (path.starts_with('/') && !path.starts_with("//")).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_of_a_link_is_used() {
        for (link, path) in [
            ("/rni/v2/subscriptions/1", Some("/rni/v2/subscriptions/1")),
            ("http://other.example:1/a?b", Some("/a?b")),
            ("wss://user@other.example/a", Some("/a")),
            ("http://other.example", Some("/")),
            ("http://other.example//a", None),
            ("a", None),
            ("", None),
            ("http://a b/", None),
            ("/a\r\nX: y", None),
        ] {
            assert_eq!(path_of(link).as_deref(), path, "{link}");
        }
    }

    /// Bytes of an answer, at random and as changes of a right one: no answer breaks the reader.
    #[test]
    fn answers_that_were_damaged_are_survived() {
        let right =
            br#"{"_links":{"self":{"href":"http://a/1"}},"websockNotifConfig":{"websocketUri":"ws://a/2"}}"#;
        assert_eq!(links(right), Some(("/1".to_owned(), "/2".to_owned())));
        let mut draws = airlane_core::Seeds::new(1).stream("answers");
        for _ in 0..20_000 {
            let mut damaged = right.to_vec();
            for _ in 0..=draws.bits() % 4 {
                let at = (draws.bits() % damaged.len() as u64) as usize;
                damaged[at] = draws.bits() as u8;
            }
            damaged.truncate((draws.bits() % (2 * right.len() as u64)) as usize);
            for path in links(&damaged).into_iter().flat_map(|(own, socket)| [own, socket]) {
                assert!(path.starts_with('/') && !path.starts_with("//"), "{path}");
                assert!(path.bytes().all(|byte| byte.is_ascii_graphic()) || !path.is_ascii(), "{path:?}");
            }
            let _ = is_expiry(&String::from_utf8_lossy(&damaged));
        }
    }
}
