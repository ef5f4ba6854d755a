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

use super::readiness::Readiness;
use crate::clients::connection_slots::ConnectionSlots;
use crate::config::Config;
use crate::http::guest::Guest;
use crate::http::listen::{self, Connection, Front};
use crate::http::{OPERATORS, health_answer, metrics_answer, page};
use crate::media::ReceiverQuery;
use crate::metrics::{Metrics, Summary, process};
use crate::roles::http_ports::{self, KeptPorts};
use crate::roles::media::Media;
use crate::settings::{Current, Settings};

/// The HTTP of a node that is served.
pub(super) struct Http {
    /// The tasks of its ports.
    pub servers: JoinSet<()>,
    /// The settings of requests.
    pub settings: Current,
    /// The places of connections.
    pub slots: ConnectionSlots,
}

struct Answers {
    readiness: Readiness,
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
    readiness: Readiness,
    metrics: &Metrics,
    kept: &mut KeptPorts,
) -> Result<Http, Box<dyn Error>> {
    let ports = http_ports::open(&config.bind, config.port, None, kept)?;
    let request_timeout = config.limits.request_timeout.0;
    let settings = Current::new(Settings::of(config));
    let answers = Answers {
        readiness,
        metrics: metrics.clone(),
        receivers: media.query.clone(),
        settings: settings.clone(),
        node_ips: config.rtc.node_ips.clone(),
    };
    let router = Router::new()
        .route("/healthz", get(healthz))
        .route("/livez", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(text))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            request_timeout,
        ))
        .with_state(Arc::new(answers));
    let slots = ConnectionSlots::new((&config.limits).into());
    let front = Front {
        router,
        slots: slots.clone(),
        settings: settings.clone(),
        metrics: metrics.clone(),
        request_timeout,
        turn: None,
    };
    Ok(Http {
        servers: listen::serve(ports, &front),
        settings,
        slots,
    })
}

async fn healthz(State(answers): State<Arc<Answers>>) -> Response<Body> {
    health_answer(&answers.readiness.health).await
}

async fn readyz(State(answers): State<Arc<Answers>>) -> Response<Body> {
    match answers.readiness.check().await {
        Ok(()) => page::text(StatusCode::OK, "ok\n"),
        Err(unready) => page::unavailable(format!("{unready}\n")),
    }
}

async fn text(
    State(answers): State<Arc<Answers>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
) -> Response<Body> {
    let settings = answers.settings.get();
    let access = &settings.metrics;
    let guest = Guest::of(connection, &headers, &settings.trusted_proxies);
    if !access.open && !guest.may_operate(access, &headers, &answers.node_ips) {
        return page::text(StatusCode::UNAUTHORIZED, OPERATORS);
    }
    let mut text = answers.metrics.encode();
    process::write(&mut text);
    let mut summary = Summary::default();
    if answers
        .receivers
        .everybody(|receiver| summary.add(receiver))
        .await
        .is_ok()
    {
        summary.write(&mut text);
    }
    metrics_answer(&headers, text.finish())
}
