//! Paths of the two protocols.
//!
//! The path of a session names its room, in letters that no proxy changes. So a server among others
//! knows which of them serves the session.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::limits::NAME_MAX;

/// Which of the two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// Publishing (RFC 9725).
    Whip,
    /// Playing.
    Whep,
}

impl Protocol {
    /// Its first part of paths.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whip => "whip",
            Self::Whep => "whep",
        }
    }
}

/// A path of the two protocols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The protocol.
    pub protocol: Protocol,
    /// The session, by the id of its participant; `None` for the endpoint, which opens sessions.
    pub session: Option<String>,
    /// The room of the session; `None` for the endpoint, and for a path that does not name it.
    pub room: Option<String>,
}

impl Route {
    /// The route of a path, double slashes counted as one; `None` when it is not of these
    /// protocols.
    pub fn from_path(path: &str) -> Option<Self> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let protocol = match parts.next()? {
            "whip" => Protocol::Whip,
            "whep" => Protocol::Whep,
            _ => return None,
        };
        if parts.next()? != "v1" {
            return None;
        }
        let (first, second) = (parts.next(), parts.next());
        if parts.next().is_some() {
            return None;
        }
        let (room, session) = match (first, second) {
            (Some(room), Some(session)) => (Some(named(room)?), Some(session)),
            (session, _) => (None, session),
        };
        let session = session.map(str::to_owned);
        Some(Self {
            protocol,
            session,
            room,
        })
    }

    /// The path of a session in a room.
    pub(crate) fn of_session(protocol: Protocol, room: &str, sid: &str) -> String {
        let room = BASE64_URL_SAFE_NO_PAD.encode(room);
        format!("/{}/v1/{room}/{sid}", protocol.name())
    }
}

/// The room that a part of a path names. Longer names are no rooms'.
fn named(part: &str) -> Option<String> {
    let bytes = (part.len() <= 2 * NAME_MAX).then(|| BASE64_URL_SAFE_NO_PAD.decode(part).ok())?;
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_endpoints_or_sessions() {
        let route = |protocol, room: Option<&str>, session: Option<&str>| {
            let (room, session) = (room.map(str::to_owned), session.map(str::to_owned));
            Some(Route {
                protocol,
                session,
                room,
            })
        };
        assert_eq!(Route::from_path("/whip/v1"), route(Protocol::Whip, None, None));
        assert_eq!(Route::from_path("//whep/v1/"), route(Protocol::Whep, None, None));
        assert_eq!(
            Route::from_path("/whip/v1/PA_1"),
            route(Protocol::Whip, None, Some("PA_1"))
        );
        for other in [
            "/",
            "/whip",
            "/whip/v2",
            "/whip/v1/a/b",
            "/whip/v1/bG9iYnk/b/c",
            "/rtc/v1",
        ] {
            assert_eq!(Route::from_path(other), None, "{other}");
        }
        for room in ["lobby", "a/b?c", "Küche", "."] {
            let path = Route::of_session(Protocol::Whep, room, "PA_1");
            assert_eq!(
                Route::from_path(&path),
                route(Protocol::Whep, Some(room), Some("PA_1")),
                "{path}"
            );
        }
        let long = Route::of_session(Protocol::Whep, &"x".repeat(2 * NAME_MAX), "PA_1");
        assert_eq!(Route::from_path(&long), None);
    }
}
