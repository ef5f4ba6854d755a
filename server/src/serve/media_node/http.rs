//! The HTTP of a media node: health and metrics.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;
use tokio::task::JoinSet;
use tower_http::timeout::TimeoutLayer;

use crate::clients::connection_slots::ConnectionSlots;
use crate::clients::guest::Guest;
use crate::config::Config;
use crate::http::health::Health;
use crate::http::listen::{self, Connection, Front};
use crate::http::{OPERATORS, health_answer, metrics_answer, page};
use crate::media::ReceiverQuery;
use crate::metrics::{Metrics, Summary, process};
use crate::roles::http_ports::{self, KeptPorts};
use crate::roles::media::Media;
use crate::settings::{Current, Settings};

struct Http {
    health: Health,
    metrics: Metrics,
    receivers: ReceiverQuery,
    settings: Current,
    node_ips: Vec<IpAddr>,
}

/// Serves health and metrics at the ports of HTTP until the tasks are dropped.
///
/// Errors: a port cannot be had.
pub(super) fn serve(
    config: &Config,
    media: &Media,
    metrics: &Metrics,
    kept: &mut KeptPorts,
) -> Result<JoinSet<()>, Box<dyn Error>> {
    let ports = http_ports::open(&config.bind, config.port, None, kept)?;
    let request_timeout = config.limits.request_timeout.0;
    let settings = Current::new(Settings::of(config));
    let http = Http {
        health: Health::of_node(media.query.clone()),
        metrics: metrics.clone(),
        receivers: media.query.clone(),
        settings: settings.clone(),
        node_ips: config.rtc.node_ips.clone(),
    };
    let router = Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(healthz))
        .route("/metrics", get(text))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            request_timeout,
        ))
        .with_state(Arc::new(http));
    let front = Front {
        router,
        slots: ConnectionSlots::new((&config.limits).into()),
        settings,
        metrics: metrics.clone(),
        request_timeout,
        turn: None,
    };
    Ok(listen::serve(ports, &front))
}

async fn healthz(State(http): State<Arc<Http>>) -> Response<Body> {
    health_answer(&http.health).await
}

async fn text(
    State(http): State<Arc<Http>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
) -> Response<Body> {
    let settings = http.settings.get();
    let access = &settings.metrics;
    let guest = Guest::of(connection, &headers, &settings.trusted_proxies);
    if !access.open && !guest.may_operate(access, &headers, &http.node_ips) {
        return page::text(StatusCode::UNAUTHORIZED, OPERATORS);
    }
    let mut text = http.metrics.encode();
    process::write(&mut text);
    let mut summary = Summary::default();
    if http.receivers.everybody(|receiver| summary.add(receiver)).await.is_ok() {
        summary.write(&mut text);
    }
    metrics_answer(&headers, text.finish())
}
