//! How `ng` messages lie in datagrams, in byte streams and in HTTP bodies.

mod stream;

pub use stream::Stream;

use super::value::{Unreadable, Value};
use super::{bencode, json};

/// Which of the two encodings a message has; its reply has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bencode.
    Bencode,
    /// JSON.
    Json,
}

impl Encoding {
    /// The encoding of a payload, by its first byte.
    pub fn of(payload: &[u8]) -> Option<Self> {
        match payload.first()? {
            b'd' => Some(Self::Bencode),
            b'{' => Some(Self::Json),
            _ => None,
        }
    }

    /// Reads one value from the front, and returns its length too.
    pub fn decode(self, payload: &[u8]) -> Result<(Value, usize), Unreadable> {
        match self {
            Self::Bencode => bencode::decode(payload),
            Self::Json => json::decode(payload),
        }
    }

    /// Appends a value.
    pub fn encode(self, value: &Value, out: &mut Vec<u8>) {
        match self {
            Self::Bencode => bencode::encode(value, out),
            Self::Json => json::encode(value, out),
        }
    }
}

/// The kind of an HTTP request to the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Whether anybody is there; the answer is `pong`.
    Ping,
    /// The body is a message with a cookie.
    Ng,
    /// The body is a payload alone.
    NgPlain,
    /// None: answer with this status.
    Refused(u16),
}

/// The content type of messages with a cookie.
pub const CONTENT_TYPE: &str = "application/x-rtpengine-ng";

/// The kind of an HTTP request, by its method, path and content type.
///
/// Source: rtpengine's documents, `http_websocket_support.md`.
pub fn route(method: &str, path: &str, content_type: &str) -> Route {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let is_ng = media_type.eq_ignore_ascii_case(CONTENT_TYPE);
    let is_json = media_type.eq_ignore_ascii_case("application/json");
    match (path, method) {
        ("/ping", "GET") => Route::Ping,
        ("/ng", "POST") if is_ng => Route::Ng,
        ("/ng-plain", "POST") if is_ng || is_json => Route::NgPlain,
        ("/ng" | "/ng-plain", "POST") => Route::Refused(415),
        ("/ping" | "/ng" | "/ng-plain", _) => Route::Refused(405),
        _ => Route::Refused(404),
    }
}

/// The form of messages over a WebSocket, by the subprotocols that a client lists: the first known
/// one, and whether its messages have a cookie.
///
/// Source: as above.
pub fn subprotocol<'a>(listed: impl IntoIterator<Item = &'a str>) -> Option<(&'static str, Route)> {
    const KNOWN: [(&str, Route); 2] = [
        ("ng.rtpengine.com", Route::Ng),
        ("ng-plain.rtpengine.com", Route::NgPlain),
    ];
    let known = |name: &str| KNOWN.into_iter().find(|(known, _)| *known == name);
    listed.into_iter().find_map(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_subprotocol_is_spoken() {
        let chosen = |listed: &[&'static str]| subprotocol(listed.iter().copied()).map(|(name, _)| name);
        assert_eq!(
            chosen(&["janus-protocol", "ng-plain.rtpengine.com", "ng.rtpengine.com"]),
            Some("ng-plain.rtpengine.com")
        );
        assert_eq!((chosen(&["NG.rtpengine.com"]), chosen(&[])), (None, None));
    }

    #[test]
    fn paths_are_told_apart() {
        assert_eq!(route("GET", "/ping", ""), Route::Ping);
        assert_eq!(
            route("POST", "/ng", "application/x-rtpengine-ng; charset=utf-8"),
            Route::Ng
        );
        assert_eq!(route("POST", "/ng-plain", "application/json"), Route::NgPlain);
        assert_eq!(route("POST", "/ng", "text/plain"), Route::Refused(415));
        assert_eq!(route("GET", "/ng", ""), Route::Refused(405));
        assert_eq!(route("GET", "/", ""), Route::Refused(404));
    }
}
