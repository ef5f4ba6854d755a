//! From a request to a WebSocket.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use sha1::{Digest, Sha1};

/// The value that is hashed with the client's key (section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A connection that becomes a WebSocket once the answer is sent.
pub(crate) struct Upgrade(OnUpgrade);

impl Upgrade {
    /// The connection; `None` if the client went away.
    pub(crate) async fn stream(self) -> Option<TokioIo<Upgraded>> {
        self.0.await.ok().map(TokioIo::new)
    }
}

/// The response to a request for a WebSocket; `None` if it is another request.
pub(crate) fn upgrade(parts: &mut Parts) -> Option<(Upgrade, Response<Body>)> {
    let key = parts
        .headers
        .get(header::SEC_WEBSOCKET_KEY)
        .filter(|_| is_asked(parts))?;
    let answer = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept(key.as_bytes()))
        .body(Body::empty())
        .ok()?;
    let upgrade = parts.extensions.remove::<OnUpgrade>()?;
    Some((Upgrade(upgrade), answer))
}

/// Whether a request is for a WebSocket.
pub(crate) fn is_asked(parts: &Parts) -> bool {
    let headers = &parts.headers;
    parts.method == Method::GET
        && names(headers, header::CONNECTION, "upgrade")
        && names(headers, header::UPGRADE, "websocket")
        && names(headers, header::SEC_WEBSOCKET_VERSION, "13")
        && headers.contains_key(header::SEC_WEBSOCKET_KEY)
}

/// The names in a header that lists some.
pub(crate) fn listed(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

/// Whether one of them is this one.
fn names(headers: &HeaderMap, name: header::HeaderName, wanted: &str) -> bool {
    listed(headers, name).any(|name| name.eq_ignore_ascii_case(wanted))
}

/// Proves that the answer is to this request (section 4.2.2).
pub(super) fn accept(key: &[u8]) -> String {
    BASE64_STANDARD.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}
