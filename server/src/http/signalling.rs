//! The WebSockets of LiveKit's protocol: those of clients, and of workers of agents.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Response, StatusCode, header};
use controller::JoinError;
use livekit::{Admission, HttpRequest, Refusal, Route, admit, agents};
use tracing::debug;

use super::elsewhere::{self, RoomRequest};
use super::guest::Guest;
use super::state::Http;
use super::worker_relay::WorkerRelay;
use super::{authorization, page};
use crate::clients::client_session;
use crate::cluster::forward::{Outcome, Splice};
use crate::metrics::forwarded::Kind;
use crate::os::clock;
use crate::websocket;

/// The connection of a client, or the answer whether it could join.
pub(super) async fn answer(http: &Http, route: Route, guest: Guest, mut parts: Parts) -> Response<Body> {
    let mut admission = match judge(http, &parts) {
        Ok(admission) => admission,
        Err(refusal) => return refuse(http, refusal),
    };
    admission.region = elsewhere::region(http, &parts);
    // A room that does not exist is claimed only for a client that may create it.
    let mut is_new_allowed = false;
    loop {
        let request = RoomRequest {
            is_new_allowed,
            ..RoomRequest::without_body(Kind::Signalling, admission.room())
        };
        let is_nowhere = match elsewhere::pass(http, &mut parts, request).await {
            Outcome::Here => false,
            Outcome::Nowhere => true,
            Outcome::Answered(answer) => return answer,
            Outcome::Upgraded(answer, splice) => return join(guest, answer, splice),
            Outcome::Unavailable(why) => return refuse(http, unavailable(why)),
        };
        if let Err(refusal) = http.front_ends.livekit.check_admission(&admission).await {
            return refuse(http, refusal);
        }
        if !is_nowhere || route.validate || !websocket::is_asked(&parts) {
            break;
        }
        if is_new_allowed {
            return refuse(http, unavailable("no controller has claimed the room".to_owned()));
        }
        is_new_allowed = true;
    }
    if route.validate {
        return page::text(StatusCode::OK, "success");
    }
    let Some((upgrade, answer)) = websocket::upgrade(&mut parts) else {
        return page::text(StatusCode::NOT_FOUND, "this is a WebSocket\n");
    };
    let Some(places) = guest.join() else {
        return page::text(StatusCode::SERVICE_UNAVAILABLE, "too many connections\n");
    };
    let livekit = http.front_ends.livekit.clone();
    let upgrade = (upgrade, http.reading.clone());
    tokio::spawn(client_session::run(upgrade, Box::new(admission), livekit, places));
    answer
}

/// The connection of a worker of agents.
pub(super) fn worker(http: &Http, guest: Guest, mut parts: Parts) -> Response<Body> {
    let query = parts.uri.query().unwrap_or_default();
    let settings = http.settings.get();
    let claims = match agents::admit(authorization(&parts.headers), query, &settings.keys, clock::unix()) {
        Ok(claims) => claims,
        Err(refusal) => return refuse(http, refusal),
    };
    if http.controller.is_draining() {
        return refuse(http, JoinError::Draining.into());
    }
    let relay = WorkerRelay::of(http, &parts, &claims)
        .map(|relay| -> client_session::Relay { Box::new(|connection| relay.start(connection)) });
    let Some((upgrade, answer)) = websocket::upgrade(&mut parts) else {
        return page::text(StatusCode::NOT_FOUND, "this is a WebSocket\n");
    };
    let address = guest.client.address;
    let Some(places) = guest.join() else {
        return page::text(StatusCode::SERVICE_UNAVAILABLE, "too many connections\n");
    };
    let agents = http.front_ends.agents.clone();
    tokio::spawn(client_session::run_worker(
        (upgrade, http.reading.clone()),
        (Box::new(claims), address),
        agents,
        relay,
        places,
    ));
    answer
}

/// Joins a client's connection to that of another controller, which has answered so.
fn join(guest: Guest, answer: Response<Body>, splice: Splice) -> Response<Body> {
    let Some(places) = guest.join() else {
        return page::text(StatusCode::SERVICE_UNAVAILABLE, "too many connections\n");
    };
    tokio::spawn(async move {
        splice.run().await;
        drop(places);
    });
    answer
}

fn judge(http: &Http, parts: &Parts) -> Result<Admission, Refusal> {
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let request = HttpRequest {
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        authorization: header(header::AUTHORIZATION),
        user_agent: header(header::USER_AGENT),
    };
    admit(request, &http.settings.get().keys, clock::unix())
}

fn unavailable(text: String) -> Refusal {
    let status = StatusCode::SERVICE_UNAVAILABLE.as_u16();
    Refusal { status, text }
}

fn refuse(http: &Http, refusal: Refusal) -> Response<Body> {
    debug!(%refusal, "refused");
    http.metrics.refused(refusal.status);
    if refusal.status == StatusCode::SERVICE_UNAVAILABLE {
        return page::unavailable(refusal.text);
    }
    page::text(
        StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST),
        refusal.text,
    )
}
