//! The actions of the operator's page: close a room, remove a participant, mute a track.
//!
//! The grants are those of the server API. A token for all rooms may act on participants of any of
//! them if it may also close rooms (`roomCreate`), so `roomAdmin` and `roomList` alone only read.

use std::sync::Arc;

use access::Claims;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{Response, StatusCode};
use controller::AdminRequest;
use livekit::api::{ApiError, Reply};
use serde::Deserialize;

use crate::http::receivers::{self, Denial};
use crate::http::state::Http;
use crate::http::{answer_elsewhere, authorization, page};
use crate::metrics::forwarded::Kind;

/// The object of an action.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    room: String,
    identity: Option<String>,
    track: Option<String>,
}

/// Closes a room, with the grant `roomCreate`.
pub(crate) async fn close(
    State(http): State<Arc<Http>>,
    Path(Target { room, .. }): Path<Target>,
    request: Request,
) -> Result<Response<Body>, Denial> {
    administer(&http, request, AdminRequest::DeleteRoom { room }).await
}

/// Removes a participant, whose token stays valid.
pub(crate) async fn remove(
    State(http): State<Arc<Http>>,
    Path(target): Path<Target>,
    request: Request,
) -> Result<Response<Body>, Denial> {
    let admin_request = AdminRequest::RemoveParticipant {
        room: target.room,
        identity: target.identity.unwrap_or_default(),
    };
    administer(&http, request, admin_request).await
}

/// Mutes a track, which its publisher may unmute.
pub(crate) async fn mute(
    State(http): State<Arc<Http>>,
    Path(target): Path<Target>,
    request: Request,
) -> Result<Response<Body>, Denial> {
    let admin_request = AdminRequest::MuteTrack {
        room: target.room,
        identity: target.identity.unwrap_or_default(),
        track_sid: target.track.unwrap_or_default(),
        muted: true,
    };
    administer(&http, request, admin_request).await
}

/// Whether a token may act on participants of all rooms of its API key.
pub(super) fn may_moderate_everywhere(claims: &Claims) -> bool {
    let grants = &claims.video;
    grants.room_admin && grants.room_list && grants.room_create
}

fn may(claims: &Claims, request: &AdminRequest) -> bool {
    let Some(room) = request.room() else { return false };
    if !claims.key_rooms.admits(room) {
        return false;
    }
    match request {
        AdminRequest::DeleteRoom { .. } => claims.video.room_create,
        _ => claims.video.room_admin && claims.video.room == room || may_moderate_everywhere(claims),
    }
}

async fn administer(http: &Http, request: Request, admin_request: AdminRequest) -> Result<Response<Body>, Denial> {
    let (mut parts, _) = request.into_parts();
    let claims = receivers::bearer(authorization(&parts.headers), &http.settings.get().keys)?;
    if !may(&claims, &admin_request) {
        return Err(Denial::NotAllowed);
    }
    let room = admin_request.room().unwrap_or_default().to_owned();
    if let Some(answer) = answer_elsewhere(http, &mut parts, Kind::Api, &room).await {
        return Ok(answer);
    }
    let pending = http.audit.begin(&claims, &admin_request);
    let reply = http.front_ends.administration.administer(admin_request).await;
    let result = reply.map(|reply| reply.map(Reply::from).map_err(ApiError::from));
    if let Some(pending) = pending {
        pending.finish(result.as_ref());
    }
    match result.ok_or(Denial::Busy)? {
        Ok(_) => Ok(page::text(StatusCode::OK, "done\n")),
        Err(error) => {
            let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Ok(page::text(status, format!("{error}\n")))
        }
    }
}
