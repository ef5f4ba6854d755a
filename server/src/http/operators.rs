//! `/api/entries` and `/api/cluster`: views of a running server for its operator, as lines for a
//! terminal or as JSON. They show addresses of machines and of parties.

pub(super) mod actions;
pub(super) mod views;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Json, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;

use super::guest::Guest;
use super::state::Http;
use super::{OPERATORS, page};

/// The most rooms in one answer.
const ROOMS_MAX: usize = 1000;

const NO_CLUSTER: &str = "this server is no controller of a cluster: ask a `weir controller`\n";

/// The place where each entry of the data plane runs.
pub(super) async fn entries(
    State(http): State<Arc<Http>>,
    Extension(guest): Extension<Guest>,
    headers: HeaderMap,
) -> Response<Body> {
    if !may_see(&http, &guest, &headers) {
        return page::text(StatusCode::UNAUTHORIZED, OPERATORS);
    }
    let places = http.metrics.places();
    answer(&headers, &places, || places.text())
}

/// The cluster as the controller of this server knows it. No other one is asked.
pub(super) async fn cluster(
    State(http): State<Arc<Http>>,
    Extension(guest): Extension<Guest>,
    headers: HeaderMap,
) -> Response<Body> {
    if !may_see(&http, &guest, &headers) {
        return page::text(StatusCode::UNAUTHORIZED, OPERATORS);
    }
    match http.controller.cluster(ROOMS_MAX).await {
        Some(cluster) => answer(&headers, &cluster, || cluster.text()),
        None => page::text(StatusCode::NOT_FOUND, NO_CLUSTER),
    }
}

fn may_see(http: &Http, guest: &Guest, headers: &HeaderMap) -> bool {
    guest.may_operate(&http.settings.get().metrics, headers, &http.node_ips)
}

fn answer(headers: &HeaderMap, view: &impl Serialize, text: impl FnOnce() -> String) -> Response<Body> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let no_store = [(header::CACHE_CONTROL, "no-store"), (header::VARY, "accept")];
    match accept.is_some_and(|accept| accept.contains("application/json")) {
        true => (no_store, Json(view)).into_response(),
        false => (no_store, text()).into_response(),
    }
}
