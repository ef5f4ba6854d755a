//! WHIP and WHEP at `/whip/v1` and `/whep/v1` (docs/use/whip.md).
//!
//! No byte of a body is read before the token was verified, and only so many bodies at once are.
//! Viewers have no token; their bodies are counted apart, so that they do not keep others waiting.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::Next;
use tracing::debug;
use whip::{Access, AllowedRequest, Answer, Route, judge};

use super::Http;
use super::bodies::{BodyKind, Unread};
use super::elsewhere::{self, RoomRequest};
use crate::cluster::forward::Outcome;
use crate::frontends::whip::Origin;
use crate::http::guest::Guest;
use crate::metrics::forwarded::Kind;
use crate::os::clock;

/// The answer to a request for a path of these protocols.
pub(super) async fn answer(http: &Http, route: Route, guest: Guest, request: Request) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let answer = match read(http, &guest, &parts, body).await {
        Ok((allowed, body)) => match pass(http, &mut parts, &allowed, &body).await {
            Ok(Some(answered)) => return answered,
            Ok(None) => {
                let origin = Origin {
                    address: guest.client.address,
                    region: elsewhere::region(http, &parts),
                };
                carry_out(http, origin, allowed, &body).await
            }
            Err(refusal) => refusal,
        },
        Err(refusal) => refusal,
    };
    if answer.status >= 400 {
        debug!(
            status = answer.status,
            protocol = route.protocol.name(),
            text = answer.body.trim_end(),
            "refused"
        );
        if route.session.is_none() {
            http.metrics.refused(answer.status);
        }
    }
    respond(answer)
}

/// Adds the methods and media types of these protocols to answers to `OPTIONS`, which CORS gives.
pub(super) async fn describe(request: Request, next: Next) -> Response<Body> {
    let is_options = request.method() == Method::OPTIONS;
    let route = is_options.then(|| Route::from_path(request.uri().path())).flatten();
    let mut response = next.run(request).await;
    if let Some(route) = route {
        append(response.headers_mut(), whip::options(&route).headers);
    }
    response
}

/// The request that is allowed, with its body.
async fn read(http: &Http, guest: &Guest, parts: &Parts, body: Body) -> Result<(AllowedRequest, Bytes), Answer> {
    let header = |name| {
        parts
            .headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let settings = http.settings.get();
    let allowed = judge(
        whip::Request {
            method: parts.method.as_str(),
            path: parts.uri.path(),
            query: parts.uri.query().unwrap_or_default(),
            authorization: header(header::AUTHORIZATION),
            content_type: header(header::CONTENT_TYPE),
            accept: header(header::ACCEPT),
            if_match: header(header::IF_MATCH),
            user_agent: header(header::USER_AGENT),
        },
        Access {
            keys: &settings.keys,
            watch: &settings.watch,
            unix: clock::unix(),
            random: random()?,
        },
    )?;
    let body = match allowed.body_max() {
        0 => Bytes::new(),
        max => {
            let kind = match allowed.is_signed() {
                true => BodyKind::Signed,
                false => BodyKind::OfViewer,
            };
            http.bodies.read(kind, guest.client.address, body, max).await?
        }
    };
    Ok((allowed, body))
}

/// The answer of the controller that serves the room; `None` if this one does.
///
/// Errors: no controller answers.
async fn pass(
    http: &Http,
    parts: &mut Parts,
    allowed: &AllowedRequest,
    body: &Bytes,
) -> Result<Option<Response<Body>>, Answer> {
    let Some(room) = allowed.room() else {
        return Ok(None);
    };
    let request = RoomRequest {
        is_new_allowed: allowed.may_create(),
        body: body.clone(),
        ..RoomRequest::without_body(Kind::Whip, room)
    };
    match elsewhere::pass(http, parts, request).await {
        Outcome::Here | Outcome::Nowhere => Ok(None),
        Outcome::Answered(answered) => Ok(Some(answered)),
        Outcome::Upgraded(..) => Err(Answer::refusal(502, "the answer of another controller is none")),
        Outcome::Unavailable(why) => Err(Answer::busy(503, why)),
    }
}

async fn carry_out(http: &Http, origin: Origin, allowed: AllowedRequest, body: &[u8]) -> Answer {
    let answer = http.front_ends.whip.call(allowed, body, origin).await;
    answer.unwrap_or_else(|| Answer::refusal(503, "the server is shutting down"))
}

impl From<Unread> for Answer {
    fn from(why: Unread) -> Self {
        match why {
            Unread::Busy => Answer::busy(503, "too many requests at once"),
            Unread::TooLarge => Answer::refusal(413, "the body is too large"),
            Unread::Broken => Answer::refusal(400, "the body cannot be read"),
        }
    }
}

fn random() -> Result<u64, Answer> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| Answer::refusal(503, "the operating system gives no randomness"))?;
    Ok(u64::from_ne_bytes(bytes))
}

fn respond(answer: Answer) -> Response<Body> {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    append(headers, answer.headers);
    response
}

fn append(headers: &mut HeaderMap, more: Vec<(&'static str, String)>) {
    for (name, value) in more {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.append(HeaderName::from_static(name), value);
        }
    }
}
