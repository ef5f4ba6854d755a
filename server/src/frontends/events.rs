//! The controller's events as lines of the log.

use controller::Event;
use tracing::{debug, info, warn};

/// Writes an event into the log.
pub(crate) fn log(event: &Event) {
    match event {
        Event::RoomStarted { room } => info!(room, "room started"),
        Event::RoomFinished { room } => info!(room, "room finished"),
        Event::RoomReleased { room } => info!(room, "another controller goes on with the room"),
        Event::Joined {
            room,
            identity,
            connection,
        } => info!(room, identity, %connection, "joined"),
        Event::Resumed {
            room,
            identity,
            connection,
        } => info!(room, identity, %connection, "resumed"),
        Event::Left { room, identity, reason } => info!(room, identity, reason, "left"),
        Event::DataTooSlow { room, identity } => {
            warn!(
                room,
                identity, "its data channels are closed: it did not take reliable data in time"
            );
        }
        Event::Misbehaved { connection, what } => debug!(%connection, what, "misbehaved"),
        Event::Refused { why } => warn!(why, "refused by the media node"),
    }
}
