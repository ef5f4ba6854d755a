//! The server API under `/twirp`: LiveKit's, in Twirp's form (docs/use/api.md).
//!
//! No byte of a body is read before the token was verified, and a large one only while it has a
//! place.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use hyper::body::Body as _;
use livekit::api::{self, ApiError, Call, Code, Reply, authorize};
use tokio::time::timeout;
use tracing::debug;

use super::bodies::{self, BodyKind, Unread};
use super::{Http, authorization};
use crate::clients::guest::Guest;
use crate::http::answers::Answers;
use crate::os::clock;

/// The largest body of a call. The largest message, 64 KiB of data and as much of everything else,
/// takes less in any form.
const BODY_MAX: usize = 1 << 20;

/// The largest body that is read without a place.
const SMALL_BODY: usize = super::BODY_MAX;

/// Limits of the API.
pub(crate) struct Api {
    answers: Answers,
    /// How long a client may take for a body, and the controller for an answer.
    time_limit: Duration,
}

impl Api {
    pub(crate) fn new(time_limit: Duration) -> Self {
        Api {
            answers: Answers::new(),
            time_limit,
        }
    }
}

/// Why a call was not done.
enum Failure {
    /// The answer says why.
    Error(ApiError),
    /// The body is larger than [`BODY_MAX`].
    TooLarge,
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
    let (parts, body) = request.into_parts();
    match call(http, &parts, body).await {
        Ok((content_type, body)) => respond(StatusCode::OK, content_type, body),
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

async fn call(http: &Http, parts: &Parts, body: Body) -> Result<(&'static str, Bytes), Failure> {
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
        call.read(&claims, &body)?
    };
    let late = || ApiError::new(Code::DeadlineExceeded, "the server did not answer in time");
    let time_limit = http.api.time_limit + request.takes();
    let reply = timeout(time_limit, ask(http, request)).await.map_err(|_| late())?;
    let reply = reply.ok_or_else(|| ApiError::new(Code::Unavailable, "the server is shutting down"))?;
    let reply = reply?.of_key(&claims.key_rooms);
    let body = timeout(http.api.time_limit, http.api.answers.write(call, reply, address));
    Ok((call.content_type(), body.await.map_err(|_| late())??))
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
