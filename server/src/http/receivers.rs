//! `/api/receivers`: the state of each receiver's downlink, for operators, and for each receiver
//! about itself.
//!
//! The agent has the state of transports and the controller has their owners; this module combines
//! them. The result is limited by the token: a participant sees its own downlink, and an
//! administrator of a room all those in it.

mod view;

use access::{ApiKeys, Claims, RoomNames, verify};
use axum::http::StatusCode;
use controller::Downlink;
use operator::{Receiver, Receivers};
use southbound::TransportId;

use crate::controller_task::Handle;
use crate::media::receiver_query::{ReceiverQuery, Unavailable};
use crate::os::clock;

/// The most receivers in one answer.
pub(crate) const RECEIVERS_MAX: usize = 1000;

/// The reason why there is no answer, and who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// The client must bring a token, or a better one.
    NoToken,
    /// The token does not grant this.
    NotAllowed,
    /// The client must join first.
    NotHere,
    /// The server is busy or on its way out; the client may ask again.
    Busy,
}

impl Denial {
    /// The HTTP status, and the sentence for the body.
    pub(crate) fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Denial::NoToken => (StatusCode::UNAUTHORIZED, "the request needs a valid access token\n"),
            Denial::NotAllowed => (StatusCode::FORBIDDEN, "this token does not allow it\n"),
            Denial::NotHere => (StatusCode::NOT_FOUND, "nobody of this identity is in the room\n"),
            Denial::Busy => (StatusCode::SERVICE_UNAVAILABLE, "no answer now\n"),
        }
    }
}

impl From<Unavailable> for Denial {
    fn from(_: Unavailable) -> Self {
        Denial::Busy
    }
}

/// The downlinks that a token gives access to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those in one room.
    Room(String),
    /// All of an API key.
    Everywhere(RoomNames),
}

/// The claims of a valid token.
///
/// Errors: [`Denial::NoToken`] for one that is missing, invalid or expired.
pub(crate) fn bearer(authorization: Option<&str>, keys: &ApiKeys) -> Result<Claims, Denial> {
    let token = authorization
        .and_then(|header| header.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or(Denial::NoToken)?;
    verify(token, keys, clock::unix()).map_err(|_| Denial::NoToken)
}

/// The scope of a token for the requested room. The grants are LiveKit's: `roomAdmin` is for the
/// token's room, and with `roomList` for every room.
///
/// Errors: [`Denial::NotAllowed`].
pub(crate) fn scope(claims: &Claims, room: Option<&str>) -> Result<Scope, Denial> {
    let grants = &claims.video;
    let (admin, list) = (grants.room_admin, grants.room_list);
    let own = (!grants.room.is_empty()).then_some(grants.room.as_str());
    match room {
        _ if !admin => Err(Denial::NotAllowed),
        Some(room) if list && claims.key_rooms.admits(room) || own == Some(room) => Ok(Scope::Room(room.to_owned())),
        Some(_) => Err(Denial::NotAllowed),
        None if list => Ok(Scope::Everywhere(claims.key_rooms.clone())),
        None => own.map(|room| Scope::Room(room.to_owned())).ok_or(Denial::NotAllowed),
    }
}

/// How the bearer's own downlink does.
pub(crate) async fn own(
    claims: &Claims,
    controller: &Handle,
    receiver_query: &ReceiverQuery,
) -> Result<Receiver, Denial> {
    if !claims.video.room_join || claims.video.room.is_empty() || claims.identity().is_empty() {
        return Err(Denial::NotAllowed);
    }
    let (room, identity) = (claims.video.room.clone(), claims.identity().to_owned());
    one(room, identity, controller, receiver_query).await
}

/// How the downlink of one participant does.
pub(crate) async fn one(
    room: String,
    identity: String,
    controller: &Handle,
    receiver_query: &ReceiverQuery,
) -> Result<Receiver, Denial> {
    let downlink = controller.downlink(room, identity).await.ok_or(Denial::NotHere)?;
    let mut found = receiver_query.these(&[downlink.transport]).await?;
    let receiver = found.remove(&downlink.transport);
    Ok(view::receiver(downlink, receiver))
}

/// How all the downlinks in a scope do.
pub(crate) async fn all(
    scope: Scope,
    controller: &Handle,
    receiver_query: &ReceiverQuery,
) -> Result<Receivers, Denial> {
    let (room, rooms) = match scope {
        Scope::Room(room) => (Some(room), RoomNames::default()),
        Scope::Everywhere(rooms) => (None, rooms),
    };
    let mut downlinks = controller.downlinks(room, rooms, RECEIVERS_MAX + 1).await;
    let truncated = downlinks.len() > RECEIVERS_MAX;
    downlinks.truncate(RECEIVERS_MAX);
    let receivers = joined(downlinks, receiver_query).await?;
    Ok(Receivers { receivers, truncated })
}

async fn joined(downlinks: Vec<Downlink>, receiver_query: &ReceiverQuery) -> Result<Vec<Receiver>, Unavailable> {
    let transports: Vec<TransportId> = downlinks.iter().map(|downlink| downlink.transport).collect();
    let mut found = receiver_query.these(&transports).await?;
    let view = |downlink: Downlink| {
        let receiver = found.remove(&downlink.transport);
        view::receiver(downlink, receiver)
    };
    Ok(downlinks.into_iter().map(view).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use access::sign;

    use super::*;
    use crate::http::dev::claims;

    fn keys() -> ApiKeys {
        ApiKeys::default().with("devkey", "secret")
    }

    fn with(grants: &[&str]) -> Claims {
        let mut claims = claims("devkey", "lobby", "ada", Duration::from_secs(60));
        for grant in grants {
            match *grant {
                "roomAdmin" => claims.video.room_admin = true,
                "roomList" => claims.video.room_list = true,
                other => panic!("no grant {other}"),
            }
        }
        claims
    }

    #[test]
    fn a_token_must_be_there_and_good() {
        let token = sign(&with(&[]), &keys()).unwrap();
        assert_eq!(bearer(None, &keys()).unwrap_err(), Denial::NoToken);
        for header in ["", "Bearer", "Bearer nonsense", &format!("Basic {token}")] {
            assert_eq!(bearer(Some(header), &keys()).unwrap_err(), Denial::NoToken, "{header}");
        }
        let others = ApiKeys::default().with("devkey", "another secret");
        let header = format!("bearer {token}");
        assert_eq!(bearer(Some(&header), &others).unwrap_err(), Denial::NoToken);
        assert_eq!(bearer(Some(&header), &keys()).unwrap().identity(), "ada");
    }

    #[test]
    fn a_token_without_roomadmin_gives_no_access() {
        for room in [None, Some("lobby"), Some("attic")] {
            assert_eq!(scope(&with(&[]), room), Err(Denial::NotAllowed));
            assert_eq!(scope(&with(&["roomList"]), room), Err(Denial::NotAllowed));
        }
    }

    #[test]
    fn an_administrator_sees_their_room_and_with_the_list_every_room() {
        let lobby = || Ok(Scope::Room("lobby".to_owned()));
        assert_eq!(scope(&with(&["roomAdmin"]), None), lobby());
        assert_eq!(scope(&with(&["roomAdmin"]), Some("lobby")), lobby());
        assert_eq!(scope(&with(&["roomAdmin"]), Some("attic")), Err(Denial::NotAllowed));
        let everywhere = with(&["roomAdmin", "roomList"]);
        assert_eq!(scope(&everywhere, None), Ok(Scope::Everywhere(RoomNames::default())));
        assert_eq!(scope(&everywhere, Some("attic")), Ok(Scope::Room("attic".to_owned())));
        let mut shop = with(&["roomAdmin", "roomList"]);
        shop.key_rooms = RoomNames::new(vec!["lobby".to_owned()]);
        assert_eq!(scope(&shop, Some("attic")), Err(Denial::NotAllowed));
        assert_eq!(scope(&shop, None), Ok(Scope::Everywhere(shop.key_rooms.clone())));
        let mut nowhere = with(&["roomAdmin"]);
        nowhere.video.room.clear();
        assert_eq!(scope(&nowhere, None), Err(Denial::NotAllowed));
    }
}
