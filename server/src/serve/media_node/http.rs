//! The HTTP of a media node: health and metrics.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_http::timeout::TimeoutLayer;

use crate::clients::connection_slots::ConnectionSlots;
use crate::clients::guest::Guest;
use crate::config::Config;
use crate::http::listen::{self, Connection, Front};
use crate::http::page;
use crate::media::ReceiverQuery;
use crate::metrics::exposition;
use crate::metrics::{Metrics, Summary, process};
use crate::roles::http_ports::{self, KeptPorts};
use crate::roles::media::Media;
use crate::settings::{Current, Settings};

/// How long a part may take to answer. A healthy one answers within milliseconds.
const ANSWER_MAX: Duration = Duration::from_secs(2);

struct Http {
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
    let unwell = |part: &str| page::text(StatusCode::SERVICE_UNAVAILABLE, format!("no answer from: {part}\n"));
    if timeout(ANSWER_MAX, http.receivers.agent_is_alive()).await != Ok(true) {
        return unwell("agent");
    }
    if timeout(ANSWER_MAX, http.receivers.plane_is_alive()).await != Ok(true) {
        return unwell("data plane");
    }
    page::text(StatusCode::OK, "ok\n")
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
        return page::text(StatusCode::UNAUTHORIZED, crate::http::OPERATORS);
    }
    let mut text = http.metrics.encode();
    process::write(&mut text);
    let mut summary = Summary::default();
    if http.receivers.everybody(|receiver| summary.add(receiver)).await.is_ok() {
        summary.write(&mut text);
    }
    let accept = headers.get_all(header::ACCEPT).into_iter();
    let (kind, text) = match exposition::is_open_metrics(accept.filter_map(|value| value.to_str().ok())) {
        true => (exposition::OPEN_METRICS, text.finish()),
        false => (exposition::PLAIN, exposition::plain(&text.finish())),
    };
    ([(header::CONTENT_TYPE, kind), (header::VARY, "accept")], text).into_response()
}
