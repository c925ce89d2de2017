//! The HTTP server for metrics and health.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::http1::{Bounds, Server};
use crate::places::{Count, Counters};
use crate::running::Running;

/// The type of Prometheus' text format.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Connections at a time: a monitoring system needs one or two.
pub(crate) const CONNECTIONS: u32 = 32;

/// The bounds of the server. Its clients are few, and it must not take what the node needs for its own work.
const BOUNDS: Bounds = Bounds {
    count: Count { connections: CONNECTIONS, per_client: 8 },
    header_time: Duration::from_secs(5),
    // No request has a body.
    body: 1 << 10,
    body_time: Duration::from_secs(5),
    stall: Duration::from_secs(10),
    responses: Some(8 << 20),
};

/// Answers `/metrics`, `/healthz` (the node runs) and `/readyz` (it takes new work) until the node ends.
pub(crate) async fn serve(listener: TcpListener, metrics: Arc<Registry>, running: Running) {
    let app = Router::new()
        .route("/metrics", get(text))
        .with_state(metrics)
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || readiness(running)));
    let server = Server { router: app, tls: None, bounds: BOUNDS, counters: Counters::default() };
    // The server also answers while the node stops.
    server.serve(listener, None).await;
}

async fn text(State(metrics): State<Arc<Registry>>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &metrics) {
        Ok(()) => ([(header::CONTENT_TYPE, TEXT)], text).into_response(),
        Err(e) => (StatusCode::INTERNAL_SERVER_ERROR, e.to_string()).into_response(),
    }
}

async fn readiness(running: Running) -> Response {
    match running.unready() {
        None => "ready\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response(),
    }
}
