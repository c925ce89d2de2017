//! The HTTP server for metrics and health.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::error::NodeError;
use crate::running::Running;

/// The type of Prometheus' text format.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Opens the address of the server.
///
/// # Errors
/// If the address is taken or not one of this machine.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, NodeError> {
    TcpListener::bind(address).await.map_err(|e| {
        NodeError::new(
            format!("admin = \"{address}\": cannot listen: {e}"),
            "choose a free address of this machine",
        )
    })
}

/// Answers `/metrics`, `/healthz` (the node runs) and `/readyz` (it takes new work) until the node ends.
pub(crate) async fn serve(listener: TcpListener, metrics: Arc<Registry>, running: Running) {
    let ready = running.clone();
    let app = Router::new()
        .route("/metrics", get(text))
        .with_state(metrics)
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || readiness(ready)));
    // An error of `accept` is handled by axum; the future itself does not end.
    let _ = axum::serve(listener, app).await;
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
