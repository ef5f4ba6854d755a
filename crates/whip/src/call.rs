//! From an HTTP request to a call: who asks for what, and may they.

use std::net::IpAddr;
use std::time::Duration;

use access::{ApiKeys, Claims, TokenError, VideoGrant, verify};
use controller::{CreateRoom, TrackSource};

use crate::answer::{Answer, FRAGMENT, SDP};
use crate::bearer::{Bearer, check_room};
use crate::choice::Wanted;
use crate::etag::IfMatch;
use crate::fragment::Fragment;
use crate::limits::{FRAGMENT_MAX, NAME_MAX, OFFER_MAX};
use crate::offer::Offer;
use crate::query::Query;
use crate::route::{Protocol, Route};
use crate::token::{Token, bearer, in_url};
use crate::watch::Watch;

/// Methods of endpoints and of sessions.
const OF_ENDPOINT: &str = "POST, OPTIONS";
const OF_SESSION: &str = "PATCH, DELETE, OPTIONS";

/// The parts of a request beside its body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a str,
    /// The path, as it came.
    pub path: &'a str,
    /// Behind the question mark, still encoded.
    pub query: &'a str,
    /// The `Authorization` header.
    pub authorization: Option<&'a str>,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The `Accept` header.
    pub accept: Option<&'a str>,
    /// The `If-Match` header.
    pub if_match: Option<&'a str>,
    /// The `User-Agent` header.
    pub user_agent: Option<&'a str>,
}

/// The rules of access.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Keys that sign good tokens.
    pub keys: &'a ApiKeys,
    /// Rooms that need no token to be watched.
    pub watch: &'a Watch,
    /// The time since 1970.
    pub unix: Duration,
    /// A random number, from which a viewer without a token gets its identity.
    pub random: u64,
}

/// A request that may be carried out, apart from its body.
#[derive(Clone, Debug)]
pub struct AllowedRequest {
    protocol: Protocol,
    is_browser: bool,
    /// The room that the path of a session names.
    room: Option<String>,
    asked: RequestHead,
}

/// The content of a request line and of the headers.
#[derive(Clone, Debug)]
enum RequestHead {
    Open {
        claims: Box<Claims>,
        token: Option<Token>,
        has_token_in_url: bool,
        source: TrackSource,
        wanted: Wanted,
    },
    Patch {
        session: String,
        bearer: Option<Bearer>,
        if_match: Option<IfMatch>,
    },
    Delete {
        session: String,
        bearer: Option<Bearer>,
    },
}

/// A request that is to be carried out.
#[derive(Clone, Debug)]
pub enum Call {
    /// Opens a session.
    Open(Box<Open>),
    /// Tells of candidates, or restarts ICE.
    Patch(Patch),
    /// Ends a session.
    Delete(Delete),
}

/// A session to open.
#[derive(Clone, Debug)]
pub struct Open {
    pub(crate) protocol: Protocol,
    /// The claims of its token, verified, or those of a viewer without one.
    pub(crate) claims: Claims,
    pub(crate) token: Option<Token>,
    /// Whether the token stood in the URL, so that the session's URL needs it, too.
    pub(crate) has_token_in_url: bool,
    pub(crate) offer: Offer,
    /// The source of a publisher's video.
    pub(crate) source: TrackSource,
    /// The tracks that a player asks for.
    pub(crate) wanted: Wanted,
    /// How the room is set up if joining creates it. The name is not used.
    pub room: CreateRoom,
    /// The address of the client, which has a share of the sessions; `None` for none.
    pub address: Option<IpAddr>,
    /// The region of the client, if it is known.
    pub region: Option<String>,
}

impl Open {
    /// The claims of the participant.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
}

/// Candidates for a session, or new ICE credentials.
#[derive(Clone, Debug)]
pub struct Patch {
    pub(crate) protocol: Protocol,
    pub(crate) session: String,
    pub(crate) bearer: Option<Bearer>,
    pub(crate) if_match: Option<IfMatch>,
    pub(crate) fragment: Fragment,
}

/// A session to end.
#[derive(Clone, Debug)]
pub struct Delete {
    pub(crate) protocol: Protocol,
    pub(crate) session: String,
    pub(crate) bearer: Option<Bearer>,
}

/// The answer to `OPTIONS`: the methods of a path, and the media types of their bodies (RFC 9725
/// section 4.2).
pub fn options(route: &Route) -> Answer {
    let answer = Answer::empty(204);
    match route.session {
        None => answer.with("allow", OF_ENDPOINT).with("accept-post", SDP),
        Some(_) => answer.with("allow", OF_SESSION).with("accept-patch", FRAGMENT),
    }
}

/// Judges a request for a path of these protocols by everything but its body.
///
/// Errors: the answer, where it does not depend on the body.
pub fn judge(request: Request<'_>, access: Access<'_>) -> Result<AllowedRequest, Answer> {
    let route = Route::from_path(request.path).ok_or_else(|| Answer::refusal(404, "not found"))?;
    if request.method == "OPTIONS" {
        return Err(options(&route));
    }
    let protocol = route.protocol;
    let asked = match (route.session, request.method) {
        (None, "POST") => open(protocol, request, access)?,
        (None, _) => return Err(Answer::other_method(OF_ENDPOINT)),
        (Some(session), "PATCH") => {
            check_type(request.content_type, FRAGMENT)?;
            RequestHead::Patch {
                session,
                bearer: bearer_of(protocol, request, access)?,
                if_match: request.if_match.map(IfMatch::parse),
            }
        }
        (Some(session), "DELETE") => RequestHead::Delete {
            session,
            bearer: bearer_of(protocol, request, access)?,
        },
        (Some(_), _) => return Err(Answer::other_method(OF_SESSION)),
    };
    let bearer = match &asked {
        RequestHead::Open { .. } => None,
        RequestHead::Patch { bearer, .. } | RequestHead::Delete { bearer, .. } => bearer.as_ref(),
    };
    if let Some(room) = &route.room {
        check_room(bearer, room, access.watch)?;
    }
    // All browsers say so, and no encoder does.
    let is_browser = request.user_agent.is_some_and(|agent| agent.starts_with("Mozilla/"));
    Ok(AllowedRequest {
        protocol,
        is_browser,
        room: route.room,
        asked,
    })
}

impl AllowedRequest {
    /// The longest body, in bytes. A longer one is answered with 413. With 0 a body has no meaning
    /// (RFC 9110 section 9.3.5) and is not read.
    pub fn body_max(&self) -> usize {
        match self.asked {
            RequestHead::Open { .. } => OFFER_MAX,
            RequestHead::Patch { .. } => FRAGMENT_MAX,
            RequestHead::Delete { .. } => 0,
        }
    }

    /// The room that it is about: for a session the one that its path names, or else its token. An
    /// older path of a viewer's session names none.
    pub fn room(&self) -> Option<&str> {
        let claims = match &self.asked {
            RequestHead::Open { claims, .. } => Some(&**claims),
            RequestHead::Patch { bearer, .. } | RequestHead::Delete { bearer, .. } => {
                bearer.as_ref().and_then(|bearer| bearer.claims.as_deref())
            }
        };
        let of_claims = claims.map(|claims| claims.video.room.as_str());
        self.room.as_deref().or(of_claims)
    }

    /// Whether it may create its room: publishing does, and watching finds nothing in a new one.
    pub fn may_create(&self) -> bool {
        self.protocol == Protocol::Whip && matches!(self.asked, RequestHead::Open { .. })
    }

    /// Whether one of our keys has signed its token. A viewer needs none.
    pub fn is_signed(&self) -> bool {
        match &self.asked {
            RequestHead::Open { token, .. } => token.is_some(),
            RequestHead::Patch { bearer, .. } | RequestHead::Delete { bearer, .. } => bearer.is_some(),
        }
    }

    /// Reads the body.
    ///
    /// Errors: the answer, for a body that cannot be used.
    pub fn read(self, body: &[u8]) -> Result<Call, Answer> {
        let protocol = self.protocol;
        let text = str::from_utf8(body).map_err(|_| Answer::refusal(400, "the body is not UTF-8"));
        Ok(match self.asked {
            RequestHead::Open {
                claims,
                token,
                has_token_in_url,
                source,
                wanted,
            } => Call::Open(Box::new(Open {
                protocol,
                claims: *claims,
                token,
                has_token_in_url,
                offer: Offer::read(protocol, text?, self.is_browser)?,
                source,
                wanted,
                room: CreateRoom::default(),
                address: None,
                region: None,
            })),
            RequestHead::Patch {
                session,
                bearer,
                if_match,
            } => {
                let fragment = Fragment::read(text?);
                Call::Patch(Patch {
                    protocol,
                    session,
                    bearer,
                    if_match,
                    fragment: fragment
                        .ok_or_else(|| Answer::refusal(400, "the body is no fragment of a description"))?,
                })
            }
            RequestHead::Delete { session, bearer } => Call::Delete(Delete {
                protocol,
                session,
                bearer,
            }),
        })
    }
}

fn open(protocol: Protocol, request: Request<'_>, access: Access<'_>) -> Result<RequestHead, Answer> {
    let query = Query::parse(request.query)?;
    let of_header = bearer(request.authorization);
    let of_url = in_url(request.query);
    let token = of_header.or(of_url.as_ref().map(|token| token.as_str()));
    let claims = match (token, &query.room) {
        (Some(token), _) => {
            let claims = verify(token, access.keys, access.unix);
            claims.map_err(|error| Answer::unauthorized(error.to_string()))?
        }
        (None, Some(room)) if protocol == Protocol::Whep && access.watch.admits(room) => {
            viewer(room.clone(), access.random)
        }
        (None, _) => return Err(Answer::unauthorized("there is no access token")),
    };
    check_claims(protocol, &claims, query.room.as_deref())?;
    check_type(request.content_type, SDP)?;
    if !request.accept.is_none_or(accepts_sdp) {
        return Err(Answer::refusal(406, "the answer is application/sdp"));
    }
    Ok(RequestHead::Open {
        claims: Box::new(claims),
        token: token.map(Token::new),
        has_token_in_url: of_header.is_none() && of_url.is_some(),
        source: query.source,
        wanted: query.wanted,
    })
}

/// A viewer without a token: nobody sees it, and it sends nothing.
fn viewer(room: String, random: u64) -> Claims {
    Claims {
        sub: format!("viewer-{random:016x}"),
        video: VideoGrant {
            room_join: true,
            room,
            can_publish: Some(false),
            can_publish_data: Some(false),
            hidden: true,
            ..VideoGrant::default()
        },
        ..Claims::default()
    }
}

fn check_claims(protocol: Protocol, claims: &Claims, room: Option<&str>) -> Result<(), Answer> {
    let grant = &claims.video;
    let may = match protocol {
        Protocol::Whip => grant.can_publish,
        Protocol::Whep => grant.can_subscribe,
    };
    if !grant.room_join || !may.unwrap_or(true) {
        return Err(Answer::refusal(403, "the token does not allow this"));
    }
    if room.is_some_and(|room| room != grant.room) {
        return Err(Answer::refusal(403, "the token is for another room"));
    }
    for (what, text) in [("identity", claims.identity()), ("room name", &grant.room)] {
        if text.is_empty() || text.len() > NAME_MAX {
            return Err(Answer::refusal(400, format!("the token has no usable {what}")));
        }
    }
    Ok(())
}

fn check_type(said: Option<&str>, needed: &'static str) -> Result<(), Answer> {
    let kind = said.unwrap_or_default().split(';').next().unwrap_or_default();
    match kind.trim().eq_ignore_ascii_case(needed) {
        true => Ok(()),
        false => Err(Answer::refusal(415, format!("the body has to be {needed}"))),
    }
}

/// Whether an `Accept` header admits descriptions. Weights are not looked at.
fn accepts_sdp(value: &str) -> bool {
    let mut kinds = value.split(',').filter_map(|kind| kind.split(';').next());
    kinds.any(|kind| matches!(kind.trim().to_ascii_lowercase().as_str(), SDP | "application/*" | "*/*"))
}

/// The token of a request about a session. Only sessions of viewers need none.
///
/// Errors: none of our keys has signed it, or it is needed and not there.
fn bearer_of(protocol: Protocol, request: Request<'_>, access: Access<'_>) -> Result<Option<Bearer>, Answer> {
    let of_url = in_url(request.query);
    let Some(token) = bearer(request.authorization).or(of_url.as_ref().map(|token| token.as_str())) else {
        return match protocol {
            Protocol::Whip => Err(Answer::unauthorized("there is no access token")),
            Protocol::Whep => Ok(None),
        };
    };
    let claims = match verify(token, access.keys, access.unix) {
        Ok(claims) => Some(Box::new(claims)),
        Err(TokenError::Expired | TokenError::NotYetValid) => None,
        Err(error) => return Err(Answer::unauthorized(error.to_string())),
    };
    let token = Token::new(token);
    Ok(Some(Bearer { token, claims }))
}
