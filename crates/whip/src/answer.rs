//! Answers to HTTP requests.

use controller::limits::JOIN_RETRY_AFTER;
use controller::{IceServer, JoinError};

use crate::limits::RETRY_AFTER;

/// The media type of session descriptions.
pub(crate) const SDP: &str = "application/sdp";
/// The media type of fragments of descriptions (RFC 8840).
pub(crate) const FRAGMENT: &str = "application/trickle-ice-sdpfrag";

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers: names in small letters, and values.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// An answer without a body.
    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// An answer with a body of this media type.
    pub(crate) fn of(status: u16, kind: &'static str, body: String) -> Self {
        let mut answer = Self::empty(status).with("content-type", kind);
        answer.body = body;
        answer
    }

    /// A refusal: a sentence for people.
    pub fn refusal(status: u16, text: impl Into<String>) -> Self {
        let mut text = text.into();
        text.push('\n');
        Self::of(status, "text/plain; charset=utf-8", text)
    }

    /// There is no token, or it is no good.
    pub(crate) fn unauthorized(text: impl Into<String>) -> Self {
        Self::refusal(401, text).with("www-authenticate", "Bearer")
    }

    /// There is nothing to play yet.
    pub(crate) fn nothing_to_play() -> Self {
        Self::refusal(409, "nothing of this is published").with("retry-after", RETRY_AFTER.to_string())
    }

    /// There are as many viewers without a token as a room takes.
    pub(crate) fn full() -> Self {
        Self::busy(503, "the room has too many viewers")
    }

    /// Later there may be room.
    pub fn busy(status: u16, text: impl Into<String>) -> Self {
        Self::refusal(status, text).with("retry-after", JOIN_RETRY_AFTER.to_string())
    }

    /// There is no such session, or no more.
    pub(crate) fn no_session() -> Self {
        Self::refusal(404, "there is no such session")
    }

    /// Another method.
    pub(crate) fn other_method(allowed: &'static str) -> Self {
        Self::refusal(405, "another method is needed").with("allow", allowed)
    }

    /// The same with another header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with the STUN and TURN servers for the client (RFC 9725 section 4.6).
    pub(crate) fn with_ice_servers(mut self, servers: &[IceServer]) -> Self {
        for server in servers {
            let access = if server.username.is_empty() {
                String::new()
            } else {
                let (username, credential) = (quoted(&server.username), quoted(&server.credential));
                format!("; username={username}; credential={credential}; credential-type=\"password\"")
            };
            for url in &server.urls {
                self = self.with("link", format!("<{url}>; rel=\"ice-server\"{access}"));
            }
        }
        self
    }
}

impl From<JoinError> for Answer {
    fn from(error: JoinError) -> Self {
        let text = error.to_string();
        match error {
            JoinError::NoSuchRoom => Self::refusal(404, text),
            JoinError::IdentityTaken => Self::refusal(409, text),
            JoinError::TooManyRoomsOfKey
            | JoinError::TooManyParticipantsOfKey
            | JoinError::StoreFull
            | JoinError::TooOften => Self::refusal(429, text),
            JoinError::NoMediaNode(_) | JoinError::Draining | JoinError::TooManyRooms | JoinError::RoomFull => {
                Self::busy(503, text)
            }
        }
    }
}

/// A quoted string (RFC 9110 section 5.6.4).
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_of_an_ice_server_is_a_link() {
        let servers = [
            IceServer {
                urls: vec!["stun:stun.example.net".to_owned()],
                username: String::new(),
                credential: String::new(),
            },
            IceServer {
                urls: ["turn:turn.example.net?transport=udp", "turns:turn.example.net"]
                    .map(str::to_owned)
                    .into(),
                username: "ada".to_owned(),
                credential: "a\"b\\c".to_owned(),
            },
        ];
        let answer = Answer::empty(201).with_ice_servers(&servers);
        let access = r#"; username="ada"; credential="a\"b\\c"; credential-type="password""#;
        let links: Vec<_> = answer.headers.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(
            links,
            [
                r#"<stun:stun.example.net>; rel="ice-server""#.to_owned(),
                format!(r#"<turn:turn.example.net?transport=udp>; rel="ice-server"{access}"#),
                format!(r#"<turns:turn.example.net>; rel="ice-server"{access}"#),
            ]
        );
    }
}
