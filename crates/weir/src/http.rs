//! Everything on the HTTP port: signalling, the page, health, metrics and how receivers do.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Json, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use controller::livekit::{Admission, ApiKeys, HttpRequest, Refusal, Route, admit};
use serde::Deserialize;
use tower_http::cors::{AllowHeaders, Any, CorsLayer};
use tracing::debug;

use crate::metrics::Metrics;
use crate::observe::Observer;
use crate::receivers::{self, Denial, ReceiverView, ReceiversView};
use crate::scrape::Scrape;
use crate::signal::Handle;
use crate::{clock, dev, page, socket, websocket};

/// The largest body of any other request.
const BODY_MAX: usize = 64 << 10;

/// What requests need.
pub struct Http {
    /// The controller.
    pub controller: Handle,
    /// Whose tokens are good.
    pub keys: ApiKeys,
    /// The key the page's tokens are signed with; only in development.
    pub dev_key: Option<String>,
    /// What is measured.
    pub metrics: Metrics,
    /// What of it is shown.
    pub scrape: Scrape,
    /// Who knows how receivers do.
    pub observer: Observer,
}

/// All routes.
pub fn router(http: Http) -> Router {
    let cors = CorsLayer::new()
        // The origin itself and not `*`, as LiveKit's server answers.
        .allow_origin(tower_http::cors::AllowOrigin::mirror_request())
        // "Any" would not include Authorization.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(Any)
        .allow_methods([
            Method::OPTIONS,
            Method::HEAD,
            Method::GET,
            Method::POST,
            Method::PATCH,
            Method::DELETE,
        ])
        .max_age(std::time::Duration::from_secs(86_400));
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics))
        .route("/api/entries", get(entries))
        .route("/api/dev-token", post(dev_token))
        .route("/api/receivers", get(all_receivers))
        .route("/api/receivers/me", get(own_receiver))
        // Signalling paths may have doubled slashes, so they are recognised rather than routed.
        .fallback(other)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(cors)
        .with_state(Arc::new(http))
}

async fn metrics(State(http): State<Arc<Http>>, headers: HeaderMap) -> Response<Body> {
    if !http.scrape.admits(authorization(&headers)) {
        return page::text(StatusCode::UNAUTHORIZED, "the token of `metrics:`, please\n");
    }
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], http.scrape.text(&http.controller).await).into_response()
}

/// Where the data plane's entries run. Addresses of parties are nobody's business but the operator's, so without a token nobody is told.
async fn entries(State(http): State<Arc<Http>>, headers: HeaderMap) -> Response<Body> {
    if !http.scrape.has_token() || !http.scrape.admits(authorization(&headers)) {
        return page::text(StatusCode::UNAUTHORIZED, "the token of `metrics:`, please\n");
    }
    match http.metrics.entries() {
        Some(list) => ([(header::CACHE_CONTROL, "no-store")], list).into_response(),
        None => page::text(
            StatusCode::NOT_FOUND,
            "there is no offload: every entry runs in one place\n",
        ),
    }
}

/// Which receivers.
#[derive(Deserialize)]
struct ReceiversQuery {
    /// Those in this room.
    room: Option<String>,
}

async fn all_receivers(
    State(http): State<Arc<Http>>,
    Query(query): Query<ReceiversQuery>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Denial> {
    let claims = receivers::bearer(authorization(&headers), &http.keys)?;
    let scope = receivers::scope(&claims, query.room.as_deref())?;
    let view: ReceiversView = receivers::all(scope, &http.controller, &http.observer).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(view)))
}

async fn own_receiver(State(http): State<Arc<Http>>, headers: HeaderMap) -> Result<impl IntoResponse, Denial> {
    let claims = receivers::bearer(authorization(&headers), &http.keys)?;
    let view: ReceiverView = receivers::own(&claims, &http.controller, &http.observer).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(view)))
}

impl IntoResponse for Denial {
    fn into_response(self) -> Response<Body> {
        let (status, text) = self.answer();
        page::text(status, text)
    }
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()
}

async fn dev_token(State(http): State<Arc<Http>>, Json(request): Json<dev::Request>) -> Response<Body> {
    let Some(key) = &http.dev_key else {
        return page::text(StatusCode::NOT_FOUND, "not in development mode\n");
    };
    match dev::token(request, &http.keys, key) {
        Ok(answer) => Json(answer).into_response(),
        Err(why) => page::text(StatusCode::BAD_REQUEST, why),
    }
}

async fn other(State(http): State<Arc<Http>>, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    match Route::from_path(parts.uri.path()) {
        Some(route) => signalling(&http, route, parts).await,
        None if matches!(parts.method, Method::GET | Method::HEAD) => page::file(&parts.uri),
        None => page::text(StatusCode::NOT_FOUND, "not found\n"),
    }
}

async fn signalling(http: &Http, route: Route, mut parts: Parts) -> Response<Body> {
    let admission = match judge(http, &parts).await {
        Ok(admission) => admission,
        Err(refusal) => return refuse(http, refusal),
    };
    if route.validate {
        return page::text(StatusCode::OK, "success");
    }
    let Some((upgrade, answer)) = websocket::upgrade(&mut parts) else {
        return page::text(StatusCode::NOT_FOUND, "this is a WebSocket\n");
    };
    tokio::spawn(socket::run(upgrade, Box::new(admission), http.controller.clone()));
    answer
}

async fn judge(http: &Http, parts: &Parts) -> Result<Admission, Refusal> {
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let request = HttpRequest {
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        authorization: header(header::AUTHORIZATION),
        user_agent: header(header::USER_AGENT),
    };
    let admission = admit(request, &http.keys, clock::unix())?;
    http.controller.vet(&admission).await?;
    Ok(admission)
}

fn refuse(http: &Http, refusal: Refusal) -> Response<Body> {
    debug!(%refusal, "refused");
    http.metrics.refused(refusal.status);
    page::text(
        StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST),
        refusal.text,
    )
}

#[cfg(test)]
mod tests;
