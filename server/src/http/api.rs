//! The server API under `/twirp`: LiveKit's, in Twirp's form (docs/use/api.md).
//!
//! No byte of a body is read before the token was verified, and a large one only while it has a
//! place.

use std::net::{IpAddr, Ipv4Addr};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use controller::{AdminReply, AdminRequest};
use hyper::body::Body as _;
use livekit::api::{self, ApiError, Call, Code, Reply, RoomList, authorize};
use tokio::time::timeout;
use tracing::debug;

use super::bodies::{self, BodyKind, Unread};
use super::elsewhere::{self, RoomRequest};
use super::{Http, authorization};
use crate::cluster::forward::Outcome;
use crate::http::answers::ANSWER_MAX;
use crate::http::guest::Guest;
use crate::metrics::forwarded::Kind;
use crate::os::clock;

/// The largest body of a call. The largest message, 64 KiB of data and as much of everything else,
/// takes less in any form.
const BODY_MAX: usize = 1 << 20;

/// The largest body that is read without a place.
const SMALL_BODY: usize = super::BODY_MAX;

/// Why a call was not done.
enum Failure {
    /// The answer says why.
    Error(ApiError),
    /// The body is larger than [`BODY_MAX`].
    TooLarge,
}

/// A call that was done.
enum Called {
    /// The type and the body of the answer.
    Here(&'static str, Bytes),
    /// The answer of the controller that serves the room.
    Elsewhere(Response<Body>),
}

impl From<Unread> for Failure {
    fn from(why: Unread) -> Self {
        Failure::Error(match why {
            Unread::Busy => ApiError::new(Code::ResourceExhausted, "too many large requests at once"),
            Unread::TooLarge => return Failure::TooLarge,
            Unread::Broken => ApiError::new(Code::Malformed, "failed to read request body"),
        })
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Failure::Error(error)
    }
}

/// The answer to a request for a path of the API.
pub(super) async fn answer(http: &Http, request: Request) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    match call(http, &mut parts, body).await {
        Ok(Called::Here(content_type, body)) => respond(StatusCode::OK, content_type, body),
        Ok(Called::Elsewhere(answer)) => answer,
        Err(failure) => {
            let (status, error) = match failure {
                Failure::Error(error) => (error.code.status(), error),
                // LiveKit's status. Twirp has no code for it.
                Failure::TooLarge => (413, ApiError::new(Code::Malformed, "request body too large")),
            };
            debug!(path = parts.uri.path(), %error, "a call of the API failed");
            http.metrics.api_failed(error.code.name());
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            respond(status, "application/json", error.json().into())
        }
    }
}

async fn call(http: &Http, parts: &mut Parts, body: Body) -> Result<Called, Failure> {
    let query = parts.uri.query().unwrap_or_default();
    let settings = http.settings.get();
    let claims = authorize(authorization(&parts.headers), query, &settings.keys, clock::unix());
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // A wrong path is a wrong path for strangers, too.
    let call = Call::new(parts.method.as_str(), parts.uri.path(), kind)?;
    let claims = claims?;
    call.check(&claims)?;
    let address = parts.extensions.get::<Guest>().map(|guest| guest.client.address);
    let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let request = {
        let late = || ApiError::new(Code::DeadlineExceeded, "failed to read request: deadline exceeded");
        let body = timeout(http.api.time_limit, read(http, address, body))
            .await
            .map_err(|_| late())??;
        let request = call.read(&claims, &body)?;
        let late = || ApiError::new(Code::DeadlineExceeded, "the server did not answer in time");
        let passed = timeout(http.api.time_limit + request.takes(), pass(http, parts, &request, body));
        if let Some(answer) = passed.await.map_err(|_| late())?? {
            return Ok(Called::Elsewhere(answer));
        }
        request
    };
    let names = match &request {
        api::Request::Admin(AdminRequest::ListRooms { names }) => Some(names.clone()),
        _ => None,
    };
    let late = || ApiError::new(Code::DeadlineExceeded, "the server did not answer in time");
    let time_limit = http.api.time_limit + request.takes();
    let pending = match &request {
        api::Request::Admin(request) => http.audit.begin(&claims, request),
        api::Request::Dispatch(_) => None,
    };
    let reply = timeout(time_limit, ask(http, request)).await;
    if let Some(pending) = pending {
        pending.finish(reply.as_ref().ok().and_then(Option::as_ref));
    }
    let reply = reply.map_err(|_| late())?;
    let reply = reply.ok_or_else(|| ApiError::new(Code::Unavailable, "the server is shutting down"))?;
    let reply = match names {
        Some(names) => {
            let all = timeout(http.api.time_limit, with_others(http, parts, reply?, &names));
            all.await.map_err(|_| late())??
        }
        None => reply?,
    };
    let reply = reply.of_key(&claims.key_rooms);
    let body = timeout(http.api.time_limit, http.api.answers.write(call, reply, address));
    Ok(Called::Here(call.content_type(), body.await.map_err(|_| late())??))
}

/// The answer of the controller that serves the room; `None` if this one does.
async fn pass(
    http: &Http,
    parts: &mut Parts,
    request: &api::Request,
    body: Bytes,
) -> Result<Option<Response<Body>>, ApiError> {
    let Some(room) = request.room() else {
        return Ok(None);
    };
    let request = RoomRequest {
        is_new_allowed: request.may_create(),
        body,
        takes: request.takes(),
        ..RoomRequest::without_body(Kind::Api, room)
    };
    match elsewhere::pass(http, parts, request).await {
        Outcome::Here | Outcome::Nowhere => Ok(None),
        Outcome::Answered(answer) => Ok(Some(answer)),
        Outcome::Upgraded(..) => Err(ApiError::new(Code::Internal, "another controller does not answer")),
        Outcome::Unavailable(why) => Err(ApiError::new(Code::Unavailable, why)),
    }
}

/// The rooms of all controllers: this one's, which are in `reply`, and those of the others.
async fn with_others(http: &Http, parts: &Parts, reply: Reply, names: &[String]) -> Result<Reply, ApiError> {
    if http.forwarder.is_local() || elsewhere::is_forwarded(parts) {
        return Ok(reply);
    }
    let (Reply::Admin(own), Some(link)) = (&reply, elsewhere::link(parts)) else {
        return Ok(reply);
    };
    let AdminReply::Rooms(own) = own.as_ref() else {
        return Ok(reply);
    };
    let mut head = parts.clone();
    let kind = HeaderValue::from_static(RoomList::CONTENT_TYPE);
    head.headers.insert(header::CONTENT_TYPE, kind);
    let body = RoomList::request(names).into();
    let asked = http.forwarder.ask_others(&head, body, link, ANSWER_MAX);
    let unavailable = |why| ApiError::new(Code::Unavailable, why);
    let mut list = RoomList::new(own.clone());
    for answer in asked.await.map_err(unavailable)? {
        list.add(&answer)?;
    }
    Ok(Reply::Rooms(list))
}

/// The answer to a request; `None` if the server is shutting down.
async fn ask(http: &Http, request: api::Request) -> Option<Result<Reply, ApiError>> {
    match request {
        api::Request::Admin(request) => {
            let reply = http.front_ends.administration.administer(request).await?;
            Some(reply.map(Reply::from).map_err(ApiError::from))
        }
        api::Request::Dispatch(request) => {
            let reply = http.front_ends.agents.dispatch(request).await?;
            Some(reply.map(Reply::from).map_err(ApiError::from))
        }
    }
}

async fn read(http: &Http, from: IpAddr, body: Body) -> Result<Bytes, Unread> {
    let is_small = body.size_hint().upper().is_some_and(|len| len <= SMALL_BODY as u64);
    match is_small {
        true => bodies::read(body, SMALL_BODY).await,
        false => http.bodies.read(BodyKind::Large, from, body, BODY_MAX).await,
    }
}

fn respond(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
