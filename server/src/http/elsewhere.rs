//! Requests for rooms that another controller serves.

use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use axum::http::request::Parts;
use bytes::Bytes;

use super::forwarded::Forwarded;
use super::guest::Guest;
use super::listen::Connection;
use super::page::unavailable;
use super::state::Http;
use crate::cluster::forward::{ClientLink, ForwardRequest, Outcome, mark_elsewhere};
use crate::config::Regions;
use crate::metrics::forwarded::Kind;

/// A request of which everything but its head is known.
#[derive(Debug)]
pub(super) struct RoomRequest<'a> {
    /// The kind that it is counted as.
    pub kind: Kind,
    /// The name of the room.
    pub room: &'a str,
    /// Whether this controller shall claim the room if there is none.
    pub is_new_allowed: bool,
    /// Its whole body, which was read.
    pub body: Bytes,
    /// How long it takes beyond what every request does.
    pub takes: Duration,
}

impl<'a> RoomRequest<'a> {
    /// A request without a body, which creates no room.
    pub(super) fn without_body(kind: Kind, room: &'a str) -> Self {
        Self {
            kind,
            room,
            is_new_allowed: false,
            body: Bytes::new(),
            takes: Duration::ZERO,
        }
    }
}

/// Whether another controller has passed a request on.
pub(super) fn is_forwarded(head: &Parts) -> bool {
    head.extensions.get::<Forwarded>().is_some()
}

/// The connection of a request's client.
pub(super) fn link(head: &Parts) -> Option<ClientLink> {
    let connection = head.extensions.get::<Connection>()?;
    Some(ClientLink {
        peer: connection.peer,
        local: connection.local,
        is_tls: connection.is_tls,
    })
}

/// The region of a request's client.
pub(super) fn region(http: &Http, head: &Parts) -> Option<String> {
    let address = head.extensions.get::<Guest>().map(|guest| guest.client.address);
    region_of(&http.settings.get().regions, address, head.extensions.get())
}

/// The region of a client: that of its network, or else that of the controller that it has reached.
pub(super) fn region_of(regions: &Regions, address: Option<IpAddr>, forwarded: Option<&Forwarded>) -> Option<String> {
    let reached = match forwarded {
        Some(forwarded) => forwarded.region.as_deref(),
        None => regions.own(),
    };
    let region = address.and_then(|address| regions.of(address)).or(reached);
    region.map(str::to_owned)
}

/// Has a request answered by the controller of its room, if that is another one.
///
/// One that another controller has passed on is not passed on again: where the room is not here,
/// the answer tells that controller to ask for the location once more.
pub(super) async fn pass(http: &Http, head: &mut Parts, request: RoomRequest<'_>) -> Outcome {
    if http.forwarder.is_local() {
        return Outcome::Here;
    }
    if is_forwarded(head) {
        return match http.forwarder.is_here(request.room).await {
            true => Outcome::Here,
            false => Outcome::Answered(not_here()),
        };
    }
    let Some(link) = link(head) else {
        return Outcome::Here;
    };
    let request = ForwardRequest {
        kind: request.kind,
        room: request.room,
        is_new_allowed: request.is_new_allowed,
        region: region(http, head),
        head,
        body: request.body,
        link,
        takes: request.takes,
    };
    http.forwarder.pass(request).await
}

fn not_here() -> Response<Body> {
    let mut answer = unavailable("another controller serves the room\n".to_owned());
    mark_elsewhere(&mut answer);
    answer
}
