//! Sessions that the controller before this one opened, and what the next one needs of those here.

use std::collections::BTreeSet;
use std::time::Instant;

use controller::{ConnectionId, Controller, Input};

use super::{Front, Output};
use crate::route::Protocol;
use crate::saved::SavedSession;

/// Sessions whose saved form is another one than before.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    changed: BTreeSet<ConnectionId>,
    /// Those that are over, by room and participant.
    over: Vec<(String, String)>,
}

impl Unsaved {
    pub(super) fn changed(&mut self, connection: ConnectionId) {
        self.changed.insert(connection);
    }

    pub(super) fn over(&mut self, connection: ConnectionId, room: String, sid: String) {
        self.changed.remove(&connection);
        self.over.push((room, sid));
    }
}

impl Front {
    /// Goes on with a session of a room that another controller served: `saved` is what
    /// [`Output::Keep`] said of it. Its participant has been restored.
    pub fn restore(
        &mut self,
        rooms: &Controller,
        now: Instant,
        connection: ConnectionId,
        room: &str,
        saved: &[u8],
        out: &mut Vec<Output>,
    ) {
        let Some(saved) = SavedSession::read(saved) else {
            return;
        };
        let (sid, viewer_of) = (saved.sid.clone(), saved.is_guest().then_some(room));
        // Without a slot its participant is gone after the time in which clients come back.
        let held = self.enter(now, connection, saved.address, viewer_of, out);
        let Ok(held) = held else {
            return self.unsaved.over(connection, room.to_owned(), sid);
        };
        let Some(mut session) = saved.restore(room, held) else {
            self.leave(room, held);
            return self.unsaved.over(connection, room.to_owned(), sid);
        };
        out.push(Output::Input(Input::Attach {
            connection,
            room: room.to_owned(),
            sid: sid.clone(),
        }));
        if session.protocol == Protocol::Whep {
            let present = rooms.participants(room);
            let inputs = session.choose_again(connection, &present);
            out.extend(inputs.into_iter().map(Output::Input));
        }
        self.remember(connection, session);
        self.settle(&sid);
    }

    /// Says what is to be kept of sessions that changed.
    pub(super) fn save(&mut self, out: &mut Vec<Output>) {
        let Unsaved { changed, over } = std::mem::take(&mut self.unsaved);
        let content = None;
        out.extend(over.into_iter().map(|(room, sid)| Output::Keep {
            room,
            sid,
            content: content.clone(),
        }));
        let sessions = changed.iter().filter_map(|connection| self.sessions.get(connection));
        out.extend(sessions.map(|session| Output::Keep {
            room: session.room.clone(),
            sid: session.sid.clone(),
            content: Some(session.save()),
        }));
    }
}
