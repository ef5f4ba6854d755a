//! How `ng` messages lie in datagrams, in byte streams and in HTTP bodies.

use super::value::Value;
use super::{bencode, json};
use crate::limits::{COOKIE_MAX, MESSAGE_MAX};

/// Why bytes are no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// They may be the beginning of one.
    Incomplete,
    /// They are not, whatever follows.
    Malformed,
}

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

    /// Reads one value from the front and says how many bytes it took.
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

/// Divides a message into its cookie and its payload; `None` when it has no cookie, or too long a one.
pub fn split(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = message.iter().take(COOKIE_MAX + 1).position(|byte| *byte == b' ')?;
    (space > 0).then(|| (&message[..space], &message[space + 1..]))
}

/// Finds messages in what a TCP connection brings.
///
/// A message ends where its value does; there is no other mark. So what cannot be read ends the connection.
#[derive(Debug, Default)]
pub struct Stream {
    bytes: Vec<u8>,
}

impl Stream {
    /// Takes what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, cookie and payload as in a datagram; `None` until there is one.
    ///
    /// Errors: [`Unreadable::Malformed`] when no message can follow, or none within [`MESSAGE_MAX`] bytes; close the connection.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, Unreadable> {
        let blank = self.bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.bytes.drain(..blank);
        match self.message_len() {
            Ok(len) => Ok(Some(self.bytes.drain(..len).collect())),
            Err(Unreadable::Incomplete) if self.bytes.len() <= MESSAGE_MAX => Ok(None),
            Err(_) => Err(Unreadable::Malformed),
        }
    }

    fn message_len(&self) -> Result<usize, Unreadable> {
        let Some((cookie, payload)) = split(&self.bytes) else {
            let hopeless = self.bytes.len() > COOKIE_MAX;
            return Err(if hopeless {
                Unreadable::Malformed
            } else {
                Unreadable::Incomplete
            });
        };
        if payload.is_empty() {
            return Err(Unreadable::Incomplete);
        }
        let encoding = Encoding::of(payload).ok_or(Unreadable::Malformed)?;
        let (_, used) = encoding.decode(payload)?;
        Ok(cookie.len() + 1 + used)
    }
}

/// What an HTTP request to the relay asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Whether anybody is there; the answer is `pong`.
    Ping,
    /// The body is a message with a cookie.
    Ng,
    /// The body is a payload alone.
    NgPlain,
    /// Nothing: answer with this status.
    Refused(u16),
}

/// The content type of messages with a cookie.
pub const CONTENT_TYPE: &str = "application/x-rtpengine-ng";

/// What an HTTP request asks for, by its method, path and content type.
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

/// What messages over a WebSocket are like, by the subprotocols that a client lists: the first that is known, and whether its messages have a cookie.
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
    fn messages_of_a_stream_are_found_wherever_it_is_cut() {
        let sent = b"1_1 d7:command4:pinge2_2 {\"command\":\"ping\"}\n3_3 d7:command4:pinge";
        for cut in 0..sent.len() {
            let mut stream = Stream::default();
            let mut found = Vec::new();
            for part in [&sent[..cut], &sent[cut..]] {
                stream.push(part);
                while let Some(message) = stream.next_message().expect("well-formed") {
                    found.push(message);
                }
            }
            let expected: [&[u8]; 3] = [
                b"1_1 d7:command4:pinge",
                b"2_2 {\"command\":\"ping\"}",
                b"3_3 d7:command4:pinge",
            ];
            assert_eq!(found, expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_stream_of_nonsense_ends() {
        for nonsense in [&b"1_1 x"[..], &[b'x'; COOKIE_MAX + 1], b"1_1 d1:ax"] {
            let mut stream = Stream::default();
            stream.push(nonsense);
            assert_eq!(stream.next_message(), Err(Unreadable::Malformed));
        }
        let mut endless = Stream::default();
        endless.push(b"1_1 d1:al");
        endless.push(&b"1:x".repeat(MESSAGE_MAX));
        assert_eq!(endless.next_message(), Err(Unreadable::Malformed));
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
