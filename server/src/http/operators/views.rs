//! `/api/bearer`, `/api/rooms`, `/api/participants`, `/api/audit` and `/api/places`: what the
//! operator's page shows, as far as a token gives access to it.

use std::ops::Range;
use std::sync::Arc;

use access::{Claims, RoomNames};
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use bytes::Bytes;
use controller::Selection;
use operator::{Bearer, ParticipantPage, RoomOrder, RoomPage};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::actions;
use crate::http::receivers::{self, Denial, Scope};
use crate::http::state::Http;
use crate::http::timelines::answer;
use crate::http::{answer_elsewhere, authorization, elsewhere, page};
use crate::metrics::forwarded::Kind;

/// The entries of a page for a request that does not say.
const LIMIT: usize = 50;

/// The most entries of a page.
const LIMIT_MAX: usize = 200;

/// The last place at which a page may begin.
const OFFSET_MAX: usize = 10_000;

/// The longest text to search for. Shape: bytes.
const SEARCH_MAX: usize = 256;

/// The longest answer of another controller: as many entries as may be before the end of a page.
/// Shape: bytes.
const ANSWER_MAX: usize = 32 << 20;

const BAD_QUERY: &str = "limit: up to 200, offset: up to 10000, search: up to 256 bytes\n";

/// The page of a list.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PageQuery {
    /// In this room only.
    room: Option<String>,
    /// Of this identity only.
    identity: Option<String>,
    #[serde(default)]
    search: String,
    #[serde(default)]
    order: RoomOrder,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

/// Why there is no page.
pub(crate) enum Failure {
    Denied(Denial),
    BadQuery,
    /// Another controller has answered about its room.
    Elsewhere(Box<Response<Body>>),
    /// Another controller does not answer.
    Unavailable(String),
}

impl From<Denial> for Failure {
    fn from(denial: Denial) -> Self {
        Failure::Denied(denial)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response<Body> {
        match self {
            Failure::Denied(denial) => denial.into_response(),
            Failure::BadQuery => page::text(StatusCode::BAD_REQUEST, BAD_QUERY),
            Failure::Elsewhere(answer) => *answer,
            Failure::Unavailable(why) => page::unavailable(format!("{why}\n")),
        }
    }
}

/// The rights of a token's bearer.
pub(crate) async fn bearer(State(http): State<Arc<Http>>, request: Request) -> Result<Response<Body>, Denial> {
    let (parts, _) = request.into_parts();
    let claims = receivers::bearer(authorization(&parts.headers), &http.settings.get().keys)?;
    let room = match receivers::scope(&claims, None)? {
        Scope::Room(room) => Some(room),
        Scope::Everywhere(_) => None,
    };
    Ok(answer(&Bearer {
        identity: claims.identity().to_owned(),
        api_key: claims.iss.clone(),
        may_close: claims.video.room_create,
        may_moderate: room.is_some() || actions::may_moderate_everywhere(&claims),
        room,
    }))
}

/// A page of rooms.
pub(crate) async fn rooms(
    State(http): State<Arc<Http>>,
    Query(query): Query<PageQuery>,
    request: Request,
) -> Result<Response<Body>, Failure> {
    let mut page_request = PageRequest::new(&http, &query, request)?;
    if let Some(answer) = page_request.pass(&http).await {
        return Err(Failure::Elsewhere(Box::new(answer)));
    }
    let order = query.order;
    let own = http.controller.room_page(page_request.selection(), order).await;
    let mut pages: Vec<RoomPage> = page_request.others(&http).await?;
    pages.push(own.ok_or(Denial::Busy)?);
    Ok(answer(&RoomPage::merge(pages, order, page_request.range)))
}

/// A page of participants.
pub(crate) async fn participants(
    State(http): State<Arc<Http>>,
    Query(query): Query<PageQuery>,
    request: Request,
) -> Result<Response<Body>, Failure> {
    let mut page_request = PageRequest::new(&http, &query, request)?;
    if let Some(answer) = page_request.pass(&http).await {
        return Err(Failure::Elsewhere(Box::new(answer)));
    }
    let own = http.controller.participant_page(page_request.selection()).await;
    let mut pages: Vec<ParticipantPage> = page_request.others(&http).await?;
    pages.push(own.ok_or(Denial::Busy)?);
    Ok(answer(&ParticipantPage::merge(pages, page_request.range)))
}

/// The newest actions of administrators on this controller.
pub(crate) async fn audit(State(http): State<Arc<Http>>, request: Request) -> Result<Response<Body>, Denial> {
    let (parts, _) = request.into_parts();
    let claims = receivers::bearer(authorization(&parts.headers), &http.settings.get().keys)?;
    let log = match receivers::scope(&claims, None)? {
        Scope::Room(own) => http.audit.log(|room| room == own),
        Scope::Everywhere(rooms) => http.audit.log(|room| rooms.admits(room)),
    };
    Ok(answer(&log))
}

/// The places of the entries of this server's data plane, in numbers. They are about all rooms, so
/// a token of a key that has only some is refused.
pub(crate) async fn places(State(http): State<Arc<Http>>, request: Request) -> Result<Response<Body>, Denial> {
    let (parts, _) = request.into_parts();
    let claims = receivers::bearer(authorization(&parts.headers), &http.settings.get().keys)?;
    match receivers::scope(&claims, None)? {
        Scope::Everywhere(rooms) if rooms == RoomNames::default() => Ok(answer(&http.metrics.places().overview())),
        Scope::Everywhere(_) | Scope::Room(_) => Err(Denial::NotAllowed),
    }
}

/// An allowed request for a page.
struct PageRequest {
    head: Parts,
    room: Option<String>,
    key_rooms: RoomNames,
    identity: Option<String>,
    search: String,
    range: Range<usize>,
}

impl PageRequest {
    fn new(http: &Http, query: &PageQuery, request: Request) -> Result<Self, Failure> {
        let (head, _) = request.into_parts();
        let claims: Claims = receivers::bearer(authorization(&head.headers), &http.settings.get().keys)?;
        let scope = receivers::scope(&claims, query.room.as_deref())?;
        let limit = query.limit.unwrap_or(LIMIT);
        if limit > LIMIT_MAX || query.offset > OFFSET_MAX || query.search.len() > SEARCH_MAX {
            return Err(Failure::BadQuery);
        }
        let (room, key_rooms) = match scope {
            Scope::Room(room) => (Some(room), RoomNames::default()),
            Scope::Everywhere(rooms) => (None, rooms),
        };
        Ok(Self {
            head,
            room,
            key_rooms,
            identity: query.identity.clone(),
            search: query.search.clone(),
            range: query.offset..query.offset + limit,
        })
    }

    /// The entries to ask each controller for: those of all pages up to this one, because the
    /// others' entries may come before any of them.
    fn selection(&self) -> Selection {
        Selection {
            room: self.room.clone(),
            key_rooms: self.key_rooms.clone(),
            identity: self.identity.clone(),
            search: self.search.clone(),
            range: 0..self.range.end,
        }
    }

    /// The answer of the controller that serves the only room, if it is another one.
    async fn pass(&mut self, http: &Http) -> Option<Response<Body>> {
        let room = self.room.clone()?;
        answer_elsewhere(http, &mut self.head, Kind::Receivers, &room).await
    }

    /// The pages of the other controllers. One that another controller asks gives all its entries
    /// up to the end of the page.
    async fn others<T: DeserializeOwned>(&mut self, http: &Http) -> Result<Vec<T>, Failure> {
        if self.room.is_some() || http.forwarder.is_local() {
            return Ok(Vec::new());
        }
        if elsewhere::is_forwarded(&self.head) {
            self.range.start = 0;
            return Ok(Vec::new());
        }
        let Some(link) = elsewhere::link(&self.head) else {
            return Ok(Vec::new());
        };
        let answers = http.forwarder.ask_others(&self.head, Bytes::new(), link, ANSWER_MAX);
        let answers = answers.await.map_err(Failure::Unavailable)?;
        let unreadable = |_| Failure::Unavailable("another controller is of another version".to_owned());
        let pages = answers.iter().map(|answer| serde_json::from_slice(answer));
        pages.collect::<Result<_, _>>().map_err(unreadable)
    }
}
