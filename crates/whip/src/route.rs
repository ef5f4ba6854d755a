//! Paths of the two protocols.

/// Which of the two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
        let session = parts.next().map(str::to_owned);
        parts.next().is_none().then_some(Self { protocol, session })
    }

    /// The path of a session.
    pub(crate) fn of_session(protocol: Protocol, sid: &str) -> String {
        format!("/{}/v1/{sid}", protocol.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_endpoints_or_sessions() {
        let route = |protocol, session: Option<&str>| {
            let session = session.map(str::to_owned);
            Some(Route { protocol, session })
        };
        assert_eq!(Route::from_path("/whip/v1"), route(Protocol::Whip, None));
        assert_eq!(Route::from_path("//whep/v1/"), route(Protocol::Whep, None));
        assert_eq!(Route::from_path("/whip/v1/PA_1"), route(Protocol::Whip, Some("PA_1")));
        for other in ["/", "/whip", "/whip/v2", "/whip/v1/a/b", "/rtc/v1"] {
            assert_eq!(Route::from_path(other), None, "{other}");
        }
        let path = Route::of_session(Protocol::Whep, "PA_1");
        assert_eq!(Route::from_path(&path), route(Protocol::Whep, Some("PA_1")));
    }
}
