//! The paths of the service, and the WebSockets.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use http_body_util::BodyExt;
use tokio::time::{Instant, interval_at, timeout};

use super::problem::Problem;
use super::query;
use super::service::{Service, Subscription};
use super::subscription::{Request, type_of};
use crate::Running;
use crate::clients::Client;
use crate::common::time;
use crate::http1::BodyError;

/// The longest target of a request.
const TARGET_MAX: usize = 8 << 10;
/// The longest message that a client may send over a WebSocket. Messages of clients have no effect.
const MESSAGE_MAX: usize = 4 << 10;
/// Bytes of a WebSocket that wait for the socket: a notification, and the answer to a ping.
const NOTIFICATION_MAX: usize = 64 << 10;
/// How long a client may take to read a notification from its WebSocket.
const SEND_MAX: Duration = Duration::from_secs(10);

/// The state that handlers share.
#[derive(Clone)]
pub(super) struct App {
    pub(super) service: Arc<Service>,
    pub(super) running: Running,
}

type Answer = Result<Response, Problem>;

/// The paths, with and without `api_root` before them.
pub(super) fn router(app: App, api_root: &str) -> Router {
    let api = Router::new()
        .route("/queries/rab_info", get(rab_info))
        .route("/queries/plmn_info", get(plmn_info))
        .route("/queries/s1_bearer_info", get(s1_bearer_info))
        .route("/queries/layer2_meas", get(layer2_meas))
        .route("/subscriptions", get(list).post(subscribe))
        .route("/subscriptions/{id}", get(show).put(update).delete(cancel))
        .route("/websockets/{secret}", get(websocket));
    let mut router = Router::new().nest("/rni/v2", api.clone());
    if !api_root.is_empty() {
        router = router.nest(&format!("{api_root}/rni/v2"), api);
    }
    router
        .fallback(|| async { Problem::unknown("there is no such resource") })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "the resource does not have this method")
        })
        .layer(from_fn_with_state(app.clone(), admit))
        .with_state(app)
}

/// Checks what all requests share, and counts.
async fn admit(State(app): State<App>, request: HttpRequest, next: Next) -> Response {
    let accepts = |value: &HeaderValue| {
        let text = value.to_str().unwrap_or_default();
        let ranges = text.split(',').map(|range| range.split(';').next().unwrap_or_default().trim());
        let known = ["*/*", "application/*", "application/json", "application/problem+json", ""];
        ranges.into_iter().any(|range| known.iter().any(|one| range.eq_ignore_ascii_case(one)))
    };
    let mut accepted = request.headers().get_all(header::ACCEPT).iter().peekable();
    let response = if request.uri().to_string().len() > TARGET_MAX {
        Problem::new(StatusCode::URI_TOO_LONG, "the URI is longer than 8 KiB").into_response()
    } else if request.uri().path().contains("/rni/v2/queries/") && app.service.known().cell_count == 0 {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the source of radio information has not begun")
            .into_response()
    } else if accepted.peek().is_some() && !accepted.any(accepts) {
        Problem::new(StatusCode::NOT_ACCEPTABLE, "responses are application/json").into_response()
    } else {
        next.run(request).await
    };
    let status = [("status", response.status().as_u16().to_string())];
    app.service.metrics.requests.get_or_create(&status.to_vec()).inc();
    response
}

fn json_response(status: StatusCode, body: impl ToString) -> Response {
    let json = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, json)], body.to_string()).into_response()
}

async fn rab_info(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Answer {
    let caller = app.service.callers.admit(&headers)?;
    Ok(json_response(StatusCode::OK, app.service.rab_info(&caller, uri.query())?))
}

async fn plmn_info(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Answer {
    let caller = app.service.callers.admit(&headers)?;
    Ok(json_response(StatusCode::OK, app.service.plmn_info(&caller, uri.query())?))
}

async fn s1_bearer_info(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Answer {
    app.service.callers.admit(&headers)?;
    Ok(json_response(StatusCode::OK, app.service.s1_bearer_info(uri.query())?))
}

async fn layer2_meas(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Answer {
    let caller = app.service.callers.admit(&headers)?;
    Ok(json_response(StatusCode::OK, app.service.layer2_meas(&caller, uri.query())?))
}

async fn list(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Answer {
    let caller = app.service.callers.admit(&headers)?;
    let kind = query::subscription_type(uri.query())?;
    let kind = kind.as_deref().map(type_of).transpose()?;
    Ok(json_response(StatusCode::OK, app.service.list(&caller, kind)))
}

async fn subscribe(
    State(app): State<App>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Answer {
    let caller = app.service.callers.admit(&headers)?;
    query::nothing(uri.query())?;
    let request = read(&headers, body, StatusCode::UNSUPPORTED_MEDIA_TYPE).await?;
    let one = app.service.subscribe(caller, client, request)?;
    let mut response = json_response(StatusCode::CREATED, app.service.describe(&one));
    if let Ok(location) = HeaderValue::from_str(&app.service.href(one.id)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// Reads the body of a subscription, within the bounds of length and time. `other` is the status for a body of another
/// type.
async fn read(headers: &HeaderMap, body: Body, other: StatusCode) -> Result<Request, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Problem::new(other, "the body is not application/json"));
    }
    // The listener bounds its length and its time.
    let bytes = body.collect().await.map_err(|error| match error.into_inner().downcast_ref() {
        Some(error @ BodyError::Long(_)) => Problem::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
        Some(error @ BodyError::Late) => Problem::new(StatusCode::REQUEST_TIMEOUT, error.to_string()),
        None => Problem::malformed("the body is not complete"),
    })?;
    Request::read(&bytes.to_bytes())
}

/// The number of a subscription, in the form that the service gave it.
fn number(text: &str) -> Result<u32, Problem> {
    let number = text.parse::<u32>().ok().filter(|number| number.to_string() == text);
    number.ok_or_else(|| Problem::unknown("there is no such subscription"))
}

async fn show(State(app): State<App>, Path(id): Path<String>, headers: HeaderMap, uri: Uri) -> Answer {
    let caller = app.service.callers.admit(&headers)?;
    query::nothing(uri.query())?;
    let one = app.service.find(&caller, number(&id)?)?;
    Ok(json_response(StatusCode::OK, app.service.describe(&one)))
}

async fn update(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Answer {
    let caller = app.service.callers.admit(&headers)?;
    query::nothing(uri.query())?;
    // The OpenAPI has no 415 here.
    let request = read(&headers, body, StatusCode::BAD_REQUEST).await?;
    let one = app.service.update(&caller, number(&id)?, request)?;
    Ok(json_response(StatusCode::OK, app.service.describe(&one)))
}

async fn cancel(State(app): State<App>, Path(id): Path<String>, headers: HeaderMap, uri: Uri) -> Answer {
    let caller = app.service.callers.admit(&headers)?;
    query::nothing(uri.query())?;
    app.service.cancel(&caller, number(&id)?)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Opens the WebSocket of a subscription. The secret in its path shows the right to it.
async fn websocket(State(app): State<App>, Path(secret): Path<String>, upgrade: WebSocketUpgrade) -> Answer {
    let unknown = || Problem::unknown("there is no such WebSocket");
    let one = app.service.by_socket(&secret).ok_or_else(unknown)?;
    if one.outbox.is_open.swap(true, Ordering::AcqRel) {
        return Err(Problem::new(StatusCode::CONFLICT, "the WebSocket of this subscription is open"));
    }
    let upgrade = upgrade
        .max_message_size(MESSAGE_MAX)
        .max_frame_size(MESSAGE_MAX)
        .read_buffer_size(MESSAGE_MAX)
        // A notification is written immediately; unread data waits in the queue of the subscription.
        .write_buffer_size(0)
        .max_write_buffer_size(NOTIFICATION_MAX);
    let failed = one.clone();
    Ok(upgrade.on_failed_upgrade(move |_| failed.outbox.is_open.store(false, Ordering::Release)).on_upgrade(
        move |socket| async move {
            follow(&app, &one, socket).await;
            one.outbox.is_open.store(false, Ordering::Release);
        },
    ))
}

/// Sends notifications until the client, the subscription or the node ends. A client that does not answer pings (RFC
/// 6455 §5.5.2) has lost its connection, even without a packet that ends it.
async fn follow(app: &App, one: &Subscription, mut socket: WebSocket) {
    let stall = time(app.service.limits.stall);
    let mut pings = interval_at(Instant::now() + stall, stall);
    let mut is_heard = true;
    loop {
        while let Some(waiting) = one.outbox.take() {
            let text = String::from_utf8_lossy(&waiting.body).into_owned();
            let Ok(Ok(())) = timeout(SEND_MAX, socket.send(Message::Text(text.into()))).await else {
                app.service.metrics.failed.inc();
                return;
            };
            app.service.metrics.sent.inc();
            app.service.metrics.delay.observe(waiting.since.elapsed().as_secs_f64());
        }
        if one.outbox.has_ended() {
            break;
        }
        tokio::select! {
            () = one.outbox.changed.notified() => {}
            () = app.running.stopping() => break,
            message = socket.recv() => match message {
                None | Some(Err(_) | Ok(Message::Close(_))) => return,
                Some(Ok(_)) => is_heard = true,
            },
            _ = pings.tick() => {
                let ping = socket.send(Message::Ping(Bytes::new()));
                if !std::mem::take(&mut is_heard) || !matches!(timeout(SEND_MAX, ping).await, Ok(Ok(()))) {
                    return;
                }
            }
        }
    }
    let _ = timeout(SEND_MAX, socket.send(Message::Close(None))).await;
}
