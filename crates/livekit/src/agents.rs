//! Agents: programs of the application that join rooms, run by workers.
//!
//! A worker keeps a WebSocket at [`PATH`] open and registers under a name. A [`Dispatch`] asks for
//! agents of one name in one room. [`Workers`] matches the two: it offers each job of a dispatch to
//! one worker after another, and assigns it to the first that accepts, together with a token to
//! join. A job whose agent is lost is offered again.
//!
//! [`Workers`] learns of rooms and of those in them by the controller's
//! [`RoomEvent`](controller::RoomEvent)s. Like the rest of this crate it has no clock, no socket
//! and no thread.
//!
//! Source: LiveKit's protocol, `livekit_agent.proto` and `livekit_agent_dispatch.proto`, and the
//! packages `agent` and `service` of its server, version 1.13.4.

mod assigning;
mod dispatch;
mod ending;
mod inbox;
mod job;
mod jobs;
mod names;
mod output;
mod parts;
mod registering;
mod relayed;
mod room;
mod rooms;
mod saved;
mod shares;
mod timers;
mod token;
mod worker;
mod workers;

use std::time::Duration;

use access::{ApiKeys, Claims};

pub use dispatch::{Dispatch, DispatchError, DispatchReply, DispatchRequest};
pub(crate) use dispatch::{agent_request, agent_requests};
pub use inbox::{Inbox, Received};
pub use output::{Counter, Counters, Event, Output};
pub use parts::is_part;
pub use relayed::RelayedWorker;
pub use saved::{SavedPart, Takeover};
pub use workers::Workers;

use crate::authenticate::authenticate;
use crate::query::Query;
use crate::refusal::Refusal;

/// The longest message of a worker, in bytes.
pub const MESSAGE_MAX: usize = crate::limits::WORKER_MESSAGE_MAX;

/// Whether a path is that of workers. Double slashes count as one.
pub fn is_path(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    (parts.next(), parts.next()) == (Some("agent"), None)
}

/// Judges a request for [`PATH`] by the token in its `Authorization` header or its query. `unix` is
/// the time since 1970.
///
/// A token for a room is a participant's, as that of an agent's job, which has the grant as well:
/// it makes nobody a worker, which joins any room.
///
/// Errors: 401 for a bad token, or one without the grant `agent`.
pub fn admit(authorization: Option<&str>, query: &str, keys: &ApiKeys, unix: Duration) -> Result<Claims, Refusal> {
    let claims = authenticate(authorization, &Query::parse(query), keys, unix)?;
    let grant = &claims.video;
    if !grant.agent {
        return Err(Refusal::new(
            401,
            "no permission: the token does not allow registering a worker",
        ));
    }
    if grant.room_join || !grant.room.is_empty() {
        return Err(Refusal::new(
            401,
            "no permission: the token is for a room, and does not allow registering a worker",
        ));
    }
    Ok(claims)
}

#[cfg(test)]
mod tests;
