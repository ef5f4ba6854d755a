//! Everything on the HTTP port: signalling, the server API, the page, health, metrics and how
//! receivers do.

mod answers;
mod api;
mod bodies;
pub(crate) mod dev;
mod elsewhere;
pub(crate) mod forwarded;
mod frame_limit;
pub(crate) mod framing;
pub(crate) mod guest;
pub(crate) mod health;
mod https;
pub(crate) mod listen;
pub(crate) mod metrics_endpoint;
mod operators;
pub(crate) mod page;
pub(crate) mod receivers;
mod signalling;
pub(crate) mod state;
mod timelines;
mod welcome;
mod whip_session;
mod worker_relay;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Extension, FromRequest, Json, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{any, delete, get, post};
use axum::{Router, middleware};
use livekit::api::Call;
use livekit::{Route, agents};
use operator::{Receiver, Receivers};
use serde::Deserialize;
use tower_http::cors::{AllowHeaders, Any, CorsLayer};
use tower_http::timeout::TimeoutLayer;

use crate::cluster::forward::Outcome;
use crate::metrics::exposition;
use crate::metrics::forwarded::Kind;
pub(crate) use answers::Api;
pub(crate) use bodies::Bodies;
use elsewhere::RoomRequest;
use guest::Guest;
use receivers::{Denial, Scope};
pub(crate) use state::{Http, Https};
use welcome::welcome;

/// The largest body of a request, apart from those of the server API.
const BODY_MAX: usize = 4 << 10;

/// All routes. A request that is not answered within `request_timeout` is given up.
pub(crate) fn router(http: Http, request_timeout: Duration) -> Router {
    let http = Arc::new(http);
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
        .max_age(Duration::from_secs(86_400));
    Router::new()
        .route("/healthz", get(healthz))
        .route("/livez", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/api/entries", get(operators::entries))
        .route("/api/cluster", get(operators::cluster))
        .route("/api/audit", get(operators::views::audit))
        .route("/api/bearer", get(operators::views::bearer))
        .route("/api/participants", get(operators::views::participants))
        .route("/api/places", get(operators::views::places))
        .route("/api/rooms", get(operators::views::rooms))
        .route("/api/rooms/{room}", delete(operators::actions::close))
        .route(
            "/api/rooms/{room}/participants/{identity}",
            delete(operators::actions::remove),
        )
        .route(
            "/api/rooms/{room}/participants/{identity}/tracks/{track}/mute",
            post(operators::actions::mute),
        )
        .route("/api/dev-token", post(dev_token))
        .route("/api/receivers", get(all_receivers))
        .route("/api/receivers/me", get(own_receiver))
        .route(
            "/api/rooms/{room}/participants/{identity}/timeline",
            get(timelines::timeline),
        )
        .route(
            "/api/rooms/{room}/participants/{identity}/verdict",
            get(timelines::verdict),
        )
        .route("/.well-known/acme-challenge/{token}", get(https::challenge))
        // Signalling paths may have doubled slashes, so they are recognised rather than routed.
        .fallback(other)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            request_timeout,
        ))
        // Outside of the time limit: its calls have their own, and say so in their own form.
        .route("/twirp/{*call}", any(api))
        .layer(cors)
        .layer(middleware::from_fn(whip_session::describe))
        .layer(middleware::from_fn_with_state(http.clone(), https::guard))
        .layer(middleware::from_fn_with_state(http.clone(), welcome))
        .with_state(http)
}

async fn healthz(State(http): State<Arc<Http>>) -> Response<Body> {
    health_answer(&http.health).await
}

/// Says whether every part answers, or which one does not.
pub(crate) async fn health_answer(health: &health::Health) -> Response<Body> {
    match health.check().await {
        Ok(()) => page::text(StatusCode::OK, "ok\n"),
        Err(unwell) => page::text(StatusCode::SERVICE_UNAVAILABLE, format!("{unwell}\n")),
    }
}

async fn readyz(State(http): State<Arc<Http>>) -> Response<Body> {
    match http.health.check_readiness().await {
        Ok(()) => page::text(StatusCode::OK, "ok\n"),
        Err(unready) => page::unavailable(format!("{unready}\n")),
    }
}

pub(crate) const OPERATORS: &str =
    "for operators: the token of `metrics:` as a bearer token, or a request from this machine where there is none\n";

async fn metrics(
    State(http): State<Arc<Http>>,
    Extension(guest): Extension<Guest>,
    headers: HeaderMap,
) -> Response<Body> {
    let access = &http.settings.get().metrics;
    if !access.open && !guest.may_operate(access, &headers, &http.node_ips) {
        return page::text(StatusCode::UNAUTHORIZED, OPERATORS);
    }
    metrics_answer(&headers, http.endpoint.text(&http.controller, access.names).await)
}

/// Measurements in the format that the client prefers. `text` is OpenMetrics.
pub(crate) fn metrics_answer(headers: &HeaderMap, text: String) -> Response<Body> {
    let accept = headers.get_all(header::ACCEPT).into_iter();
    let (kind, text) = match exposition::is_open_metrics(accept.filter_map(|value| value.to_str().ok())) {
        true => (exposition::OPEN_METRICS, text),
        false => (exposition::PLAIN, exposition::plain(&text)),
    };
    ([(header::CONTENT_TYPE, kind), (header::VARY, "accept")], text).into_response()
}

/// Which receivers.
#[derive(Deserialize)]
struct ReceiversQuery {
    /// Those in this room.
    room: Option<String>,
    /// Only the one of this identity.
    identity: Option<String>,
}

async fn all_receivers(
    State(http): State<Arc<Http>>,
    Query(query): Query<ReceiversQuery>,
    request: Request,
) -> Result<Response<Body>, Denial> {
    let (mut parts, _) = request.into_parts();
    let claims = receivers::bearer(authorization(&parts.headers), &http.settings.get().keys)?;
    let scope = receivers::scope(&claims, query.room.as_deref())?;
    if let Scope::Room(room) = &scope
        && let Some(answer) = answer_elsewhere(&http, &mut parts, Kind::Receivers, room).await
    {
        return Ok(answer);
    }
    let view: Receivers = match (scope, query.identity) {
        (Scope::Room(room), Some(identity)) => Receivers {
            receivers: vec![receivers::one(room, identity, &http.controller, &http.receivers).await?],
            truncated: false,
        },
        (scope, _) => receivers::all(scope, &http.controller, &http.receivers).await?,
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(view)).into_response())
}

async fn own_receiver(State(http): State<Arc<Http>>, request: Request) -> Result<Response<Body>, Denial> {
    let (mut parts, _) = request.into_parts();
    let claims = receivers::bearer(authorization(&parts.headers), &http.settings.get().keys)?;
    if let Some(answer) = answer_elsewhere(&http, &mut parts, Kind::Receivers, &claims.video.room).await {
        return Ok(answer);
    }
    let view: Receiver = receivers::own(&claims, &http.controller, &http.receivers).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(view)).into_response())
}

/// The answer about participants of a room that another controller serves.
async fn answer_elsewhere(http: &Http, head: &mut Parts, kind: Kind, room: &str) -> Option<Response<Body>> {
    if room.is_empty() {
        return None;
    }
    let request = RoomRequest::without_body(kind, room);
    match elsewhere::pass(http, head, request).await {
        Outcome::Here | Outcome::Nowhere => None,
        Outcome::Answered(answer) => Some(answer),
        Outcome::Upgraded(..) => Some(page::text(StatusCode::BAD_GATEWAY, "no answer now\n")),
        Outcome::Unavailable(why) => Some(page::unavailable(format!("{why}\n"))),
    }
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

/// A token for the page, in development. Its bearer may join, so only pages of this server get one.
async fn dev_token(
    State(http): State<Arc<Http>>,
    Extension(guest): Extension<Guest>,
    request: Request,
) -> Response<Body> {
    let settings = http.settings.get();
    let Some(key) = &settings.dev_key else {
        return page::text(
            StatusCode::NOT_FOUND,
            "tokens are only given out in development, with its own key\n",
        );
    };
    if !guest.is_of_ours(request.headers(), &http.node_ips) {
        return page::text(StatusCode::FORBIDDEN, "only for pages of this server\n");
    }
    let asked = match Json::<dev::Request>::from_request(request, &()).await {
        Ok(Json(asked)) => asked,
        Err(rejection) => return rejection.into_response(),
    };
    match dev::token(asked, &settings.keys, key) {
        Ok(answer) => Json(answer).into_response(),
        Err(why) => page::text(StatusCode::BAD_REQUEST, why),
    }
}

async fn api(State(http): State<Arc<Http>>, request: Request) -> Response<Body> {
    api::answer(&http, request).await
}

async fn other(State(http): State<Arc<Http>>, Extension(guest): Extension<Guest>, request: Request) -> Response<Body> {
    if Call::is_path(request.uri().path()) {
        return api::answer(&http, request).await;
    }
    if let Some(route) = whip::Route::from_path(request.uri().path()) {
        return whip_session::answer(&http, route, guest, request).await;
    }
    let (parts, _) = request.into_parts();
    if agents::is_path(parts.uri.path()) {
        return signalling::worker(&http, guest, parts);
    }
    match Route::from_path(parts.uri.path()) {
        Some(route) => signalling::answer(&http, route, guest, parts).await,
        None if matches!(parts.method, Method::GET | Method::HEAD) => page::file(&parts.uri),
        None => page::text(StatusCode::NOT_FOUND, "not found\n"),
    }
}

#[cfg(test)]
mod tests;
