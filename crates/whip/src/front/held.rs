//! The slots of sessions: all sessions, and in each room the viewers without a token.

use std::net::IpAddr;
use std::time::Instant;

use controller::ConnectionId;
use slots::{Full, Limits};

use super::{Front, Output};
use crate::answer::Answer;
use crate::limits::{CONNECT_MIN, VIEWERS_MAX};
use crate::session::Session;
use crate::session_slots::{Held, SessionSlots};

impl Front {
    /// Takes slots for a session, and ends the sessions whose slots they were: clients that have
    /// not connected in time.
    ///
    /// Errors: the answer, where there is no slot.
    pub(super) fn enter(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        address: Option<IpAddr>,
        viewer_of: Option<&str>,
        out: &mut Vec<Output>,
    ) -> Result<Held, Answer> {
        let (session, mut evicted) = self.slots.enter(now, connection, address).map_err(too_many)?;
        let mut held = Held { session, viewer: None };
        if let Some(room) = viewer_of {
            let limits = Limits::shared(VIEWERS_MAX, CONNECT_MIN);
            let viewers = self.viewers.entry(room.to_owned());
            let viewers = viewers.or_insert_with(|| SessionSlots::new(limits));
            match viewers.enter(now, connection, address) {
                Ok((viewer, others)) => {
                    held.viewer = Some(viewer);
                    evicted.extend(others);
                }
                Err(full) => {
                    self.leave(room, held);
                    evicted.iter().for_each(|other| self.end(*other, out));
                    return Err(match full {
                        Full::Holder => too_many(full),
                        Full::All => Answer::full(),
                    });
                }
            }
        }
        for other in evicted {
            self.end(other, out);
        }
        Ok(held)
    }

    /// The client of a session is connected: it is not ended for others from now on.
    pub(super) fn settle(&mut self, sid: &str) {
        let connection = self.by_sid.get(sid);
        let Some(Session { room, held, .. }) = connection.and_then(|connection| self.sessions.get(connection)) else {
            return;
        };
        self.slots.settle(held.session);
        if let (Some(viewer), Some(viewers)) = (held.viewer, self.viewers.get_mut(room)) {
            viewers.settle(viewer);
        }
    }

    /// Gives the slots of a session in a room back.
    pub(super) fn leave(&mut self, room: &str, held: Held) {
        self.slots.leave(held.session);
        let Some(viewers) = self.viewers.get_mut(room) else {
            return;
        };
        if let Some(viewer) = held.viewer {
            viewers.leave(viewer);
        }
        if viewers.is_empty() {
            self.viewers.remove(room);
        }
    }
}

fn too_many(_: Full) -> Answer {
    Answer::busy(429, "too many sessions from this address")
}
