//! From an HTTP request to an admission: who wants into which room, and may they.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use access::{ApiKeys, Claims};
use controller::{Controller, Description, JoinError, PeerMode};
use livekit_protocol::{AddTrackRequest, ClientInfo, ConnectionSettings, JoinRequest, SessionDescription, SyncState};

use crate::authenticate::authenticate;
use crate::limits::{ATTRIBUTES_MAX, IDENTITY_MAX, METADATA_MAX, NAME_MAX};
use crate::query::Query;
use crate::refusal::Refusal;
use crate::user_agent;
use crate::{api, bounds};

/// The parts of a request that admission depends on.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// The path, as it came.
    pub path: &'a str,
    /// Behind the question mark, still encoded.
    pub query: &'a str,
    /// The `Authorization` header.
    pub authorization: Option<&'a str>,
    /// The `User-Agent` header: clients in browsers do not name their browser otherwise.
    pub user_agent: Option<&'a str>,
}

/// A route of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// As the path says it; a `join_request` parameter always means [`PeerMode::Single`].
    pub mode: PeerMode,
    /// Only say whether joining would work.
    pub validate: bool,
}

impl Route {
    /// The route of a path, double slashes counted as one; `None` when it is not this protocol's.
    pub fn from_path(path: &str) -> Option<Self> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let (mode, validate) = match (parts.next()?, parts.next(), parts.next()) {
            ("rtc", None, None) => (PeerMode::Dual, false),
            ("rtc", Some("validate"), None) => (PeerMode::Dual, true),
            ("rtc", Some("v1"), None) => (PeerMode::Single, false),
            ("rtc", Some("v1"), Some("validate")) => (PeerMode::Single, true),
            _ => return None,
        };
        parts.next().is_none().then_some(Self { mode, validate })
    }
}

/// A participant that may join.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The claims of the token, verified.
    pub claims: Claims,
    /// How many peer connections.
    pub mode: PeerMode,
    /// Its software.
    pub client: ClientInfo,
    /// How it wants to be served.
    pub settings: ConnectionSettings,
    /// Attributes of the token, and over them those of the request where the token allows any.
    pub attributes: BTreeMap<String, String>,
    /// Metadata: of the request where the token allows any, or else of the token.
    pub metadata: String,
    /// It was here before and wants to go on.
    pub resume: Option<Resume>,
    /// Tracks announced along with joining.
    pub tracks: Vec<AddTrackRequest>,
    /// The first offer, when it came along with joining.
    pub offer: Option<Offer>,
    /// The client's view of the session, when it came along with resuming.
    pub sync_state: Option<SyncState>,
    /// The region of the client, for the program to say.
    pub region: Option<String>,
}

impl Admission {
    /// The room's name.
    pub fn room(&self) -> &str {
        &self.claims.video.room
    }

    /// Reads the offer, so that the controller need not: its length is the client's choice.
    pub fn read_offer(&mut self) {
        self.offer = self.offer.take().map(|offer| Offer::Read(offer.read()));
    }

    /// Whether it could join as the rooms are now. To be asked before the WebSocket is upgraded,
    /// and for the validating routes: browsers do not show a page the answer to a refused upgrade.
    ///
    /// Errors: any [`JoinError`], which the client is told as a [`Refusal`].
    pub fn check(&self, controller: &Controller, now: Instant) -> Result<(), JoinError> {
        controller.check_texts(now, &self.claims, &self.metadata, &self.attributes)
    }

    /// The identity that joins.
    pub fn identity(&self) -> &str {
        self.claims.identity()
    }
}

/// A session description that came along with joining.
#[derive(Clone, Debug)]
pub enum Offer {
    /// As it came.
    Text(SessionDescription),
    /// Read.
    Read(Description),
}

impl Offer {
    pub(crate) fn read(self) -> Description {
        match self {
            Self::Text(text) => Description::read(text.id, &text.sdp),
            Self::Read(description) => description,
        }
    }
}

/// The participant a client wants to be again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The participant's id.
    pub sid: String,
    /// The protocol's number for the reason.
    pub reason: i32,
}

/// Judges a request for any of the protocol's routes by its token and its parameters. `unix` is the
/// time since 1970.
///
/// Errors: 404 for other paths, 401 for a bad token or one that does not allow joining, 400 for
/// everything else.
pub fn admit(request: HttpRequest<'_>, keys: &ApiKeys, unix: Duration) -> Result<Admission, Refusal> {
    let route = Route::from_path(request.path).ok_or_else(|| Refusal::new(404, "not found"))?;
    let query = Query::parse(request.query);
    let claims = authenticate(request.authorization, &query, keys, unix)?;
    check_claims(&claims)?;
    let (mode, join) = match query.join_request() {
        Some(join) => (PeerMode::Single, join),
        None => (route.mode, query.join_parameters()),
    };
    let mut join = join.map_err(|why| Refusal::new(400, why))?;
    let client = join.client_info.get_or_insert_default();
    user_agent::augment(client, request.user_agent.unwrap_or_default());
    admission(claims, mode, join)
}

fn check_claims(claims: &Claims) -> Result<(), Refusal> {
    if !claims.video.room_join {
        return Err(Refusal::new(
            401,
            "no permission: the token does not allow joining a room",
        ));
    }
    for (what, text) in [("identity", claims.identity()), ("room name", &claims.video.room)] {
        if text.is_empty() {
            return Err(Refusal::new(400, format!("the token has no {what}")));
        }
        if text.len() > IDENTITY_MAX {
            return Err(Refusal::new(
                400,
                format!("the {what} is longer than {IDENTITY_MAX} bytes"),
            ));
        }
    }
    Ok(())
}

fn admission(claims: Claims, mode: PeerMode, mut join: JoinRequest) -> Result<Admission, Refusal> {
    bounds::join(&mut join).map_err(|what| Refusal::new(400, format!("{} too long", what.0)))?;
    // Also where it would change nothing: what the application signed is its word, and not its
    // client's.
    let says_of_itself = !join.metadata.is_empty() || !join.participant_attributes.is_empty();
    if says_of_itself && claims.video.can_update_own_metadata != Some(true) {
        return Err(Refusal::new(
            401,
            "no permission: the token does not allow changing one's own metadata",
        ));
    }
    let mut attributes = claims.attributes.clone();
    // An empty value would remove what the application signed.
    attributes.extend(
        join.participant_attributes
            .into_iter()
            .filter(|(_, value)| !value.is_empty()),
    );
    let metadata = if join.metadata.is_empty() {
        claims.metadata.clone()
    } else {
        join.metadata
    };
    api::set_up(&claims).map_err(|why| Refusal::new(401, format!("invalid token: {why}")))?;
    let attributes_len: usize = attributes.iter().map(|(key, value)| key.len() + value.len()).sum();
    for (what, len, max) in [
        ("name", claims.name.len(), NAME_MAX),
        ("metadata", metadata.len(), METADATA_MAX),
        ("attributes", attributes_len, ATTRIBUTES_MAX),
    ] {
        if len > max {
            return Err(Refusal::new(400, format!("{what} of more than {max} bytes")));
        }
    }
    Ok(Admission {
        claims,
        mode,
        client: join.client_info.unwrap_or_default(),
        settings: join.connection_settings.unwrap_or_default(),
        attributes,
        metadata,
        resume: join.reconnect.then_some(Resume {
            sid: join.participant_sid,
            reason: join.reconnect_reason,
        }),
        tracks: join.add_track_requests,
        offer: join.publisher_offer.map(Offer::Text),
        sync_state: join.sync_state,
        region: None,
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE;
    use livekit_protocol::WrappedJoinRequest;
    use prost::Message;

    use super::*;
    use access::{VideoGrant, sign};

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn keys() -> ApiKeys {
        ApiKeys::default().with("devkey", "secret")
    }

    fn token(change: impl FnOnce(&mut Claims)) -> String {
        let mut claims = Claims {
            iss: "devkey".to_owned(),
            sub: "ada".to_owned(),
            exp: Some(NOW.as_secs() + 600),
            video: VideoGrant {
                room_join: true,
                room: "lobby".to_owned(),
                ..VideoGrant::default()
            },
            ..Claims::default()
        };
        change(&mut claims);
        sign(&claims, &keys()).unwrap()
    }

    fn status(path: &str, token: &str) -> u16 {
        asked(path, token, "").map_or_else(|refusal| refusal.status, |_| 200)
    }

    fn asked(path: &str, token: &str, parameters: &str) -> Result<Admission, Refusal> {
        let query = format!("access_token={token}&{parameters}");
        let request = HttpRequest {
            path,
            query: &query,
            authorization: None,
            user_agent: None,
        };
        admit(request, &keys(), NOW)
    }

    fn packed(join: JoinRequest) -> String {
        let wrapped = WrappedJoinRequest {
            join_request: join.encode_to_vec(),
            ..WrappedJoinRequest::default()
        };
        format!("join_request={}", URL_SAFE.encode(wrapped.encode_to_vec()))
    }

    /// The forms in which a client may describe itself while it joins, on both paths; the last
    /// changes nothing.
    fn sayings() -> Vec<(&'static str, String)> {
        let attributes = |json: &str| format!("attributes={}", URL_SAFE.encode(json));
        let packed_attributes = |value: &str| {
            packed(JoinRequest {
                participant_attributes: [("role".to_owned(), value.to_owned())].into(),
                ..JoinRequest::default()
            })
        };
        let metadata = packed(JoinRequest {
            metadata: "forged".to_owned(),
            ..JoinRequest::default()
        });
        vec![
            ("/rtc", attributes(r#"{"role":"host"}"#)),
            ("/rtc", attributes(r#"{"role":""}"#)),
            ("/rtc", metadata.clone()),
            ("/rtc/v1", metadata),
            ("/rtc/v1", packed_attributes("host")),
            ("/rtc/v1/validate", packed_attributes("")),
            ("/rtc/v1", packed_attributes("guest")),
        ]
    }

    #[test]
    fn a_signed_request_is_not_changed_without_permission() {
        let signed = |leave: Option<bool>| {
            token(|claims| {
                claims.metadata = "signed".to_owned();
                claims.attributes = [("role".to_owned(), "guest".to_owned())].into();
                claims.video.can_update_own_metadata = leave;
            })
        };
        for (path, parameters) in sayings() {
            for leave in [None, Some(false)] {
                let refused = asked(path, &signed(leave), &parameters).unwrap_err();
                assert_eq!(refused.status, 401, "{path} {parameters}");
            }
            let admitted = asked(path, &signed(Some(true)), &parameters).unwrap();
            assert_ne!(
                admitted.attributes["role"], "",
                "an empty value does not remove what was signed"
            );
        }
        let silent = asked("/rtc", &signed(None), "attributes=e30").unwrap();
        assert_eq!(
            (silent.metadata.as_str(), silent.attributes["role"].as_str()),
            ("signed", "guest")
        );
        let metadata = &sayings()[3];
        let admitted = asked(metadata.0, &signed(Some(true)), &metadata.1).unwrap();
        assert_eq!(admitted.metadata, "forged");
    }

    #[test]
    fn the_client_information_is_bounded() {
        let long = || "x".repeat(2000);
        let says = |client: ClientInfo| {
            packed(JoinRequest {
                client_info: Some(client),
                ..JoinRequest::default()
            })
        };
        for field in [
            "version",
            "os",
            "os_version",
            "device_model",
            "browser",
            "browser_version",
            "network",
            "sid",
        ] {
            let refused = asked("/rtc", &token(|_| ()), &format!("{field}={}", long())).unwrap_err();
            assert_eq!(refused.status, 400, "{field}");
        }
        let other_sdks = ClientInfo {
            other_sdks: long(),
            ..ClientInfo::default()
        };
        assert_eq!(
            asked("/rtc/v1", &token(|_| ()), &says(other_sdks)).unwrap_err().status,
            400
        );
        let capabilities = ClientInfo {
            capabilities: [1, 99, 1].repeat(1000),
            ..ClientInfo::default()
        };
        let admitted = asked("/rtc/v1", &token(|_| ()), &says(capabilities)).unwrap();
        assert_eq!(admitted.client.capabilities, [1]);
        let many = packed(JoinRequest {
            add_track_requests: vec![AddTrackRequest::default(); 100],
            ..JoinRequest::default()
        });
        assert_eq!(asked("/rtc/v1", &token(|_| ()), &many).unwrap_err().status, 400);
    }

    #[test]
    fn the_four_paths_are_known_with_any_number_of_slashes() {
        let route = |mode, validate| Some(Route { mode, validate });
        assert_eq!(Route::from_path("/rtc"), route(PeerMode::Dual, false));
        assert_eq!(Route::from_path("//rtc//validate"), route(PeerMode::Dual, true));
        assert_eq!(Route::from_path("/rtc/v1/"), route(PeerMode::Single, false));
        assert_eq!(Route::from_path("/rtc/v1/validate"), route(PeerMode::Single, true));
        for other in ["/", "/rtc/v2", "/rtc/v1/validate/x", "/x/rtc"] {
            assert_eq!(Route::from_path(other), None, "{other}");
        }
    }

    #[test]
    fn a_bearer_of_a_good_token_is_admitted() {
        let header = format!("bearer {}", token(|claims| claims.name = "Ada".to_owned()));
        let request = HttpRequest {
            path: "/rtc",
            query: "protocol=17",
            authorization: Some(&header),
            user_agent: None,
        };
        let admission = admit(request, &keys(), NOW).unwrap();
        assert_eq!(
            (admission.room(), admission.identity(), admission.mode),
            ("lobby", "ada", PeerMode::Dual)
        );
        assert_eq!(admission.client.protocol, 17);
    }

    #[test]
    fn everybody_else_is_refused_with_the_status_the_client_understands() {
        assert_eq!(status("/rtc", &token(|_| ())), 200);
        assert_eq!(status("/rtc/v1", "garbage"), 401);
        assert_eq!(status("/rtc", &token(|claims| claims.video.room_join = false)), 401);
        assert_eq!(status("/rtc", &token(|claims| claims.exp = Some(1))), 401);
        assert_eq!(status("/rtc", &token(|claims| claims.sub.clear())), 400);
        assert_eq!(status("/rtc", &token(|claims| claims.video.room.clear())), 400);
        assert_eq!(
            status("/rtc", &token(|claims| claims.metadata = "x".repeat(METADATA_MAX + 1))),
            400
        );
        assert_eq!(status("/twirp", &token(|_| ())), 404);
        let request = HttpRequest {
            path: "/rtc",
            query: "",
            authorization: None,
            user_agent: None,
        };
        assert_eq!(admit(request, &keys(), NOW).unwrap_err().status, 401);
    }
}
