//! Rooms on their way between controllers, and what their nodes keep for that.

use std::sync::Arc;
use std::time::Instant;

use cluster::{Input, Part};
use controller::Controller;
use southbound::{NodeId, RoomContent};
use tracing::{info, warn};

use super::{Coordinator, KeepsakeNews};
use crate::os::clock;

impl Coordinator {
    /// Leaves all rooms to other controllers: their nodes have all that is needed to go on.
    pub(crate) async fn leave(&mut self, now: Instant, rooms: &mut Controller, out: &mut Vec<controller::Output>) {
        self.is_draining = true;
        self.save_changes(rooms, true);
        for room in rooms.takeover().rooms() {
            rooms.takeover().release(now, &room, out);
            let mut outputs = Vec::new();
            self.cluster.handle(now, Input::Release { room }, &mut outputs);
            self.send(outputs);
        }
        self.flush().await;
        self.store.revoke().await;
    }

    /// Saves rooms that changed: all of them, or as many as there is time for.
    pub(super) fn save_changes(&mut self, rooms: &mut Controller, is_last: bool) {
        let spare: Vec<_> = self.nodes.connected().collect();
        let messages = self.snapshots.save_changes(rooms, &spare, is_last, clock::now);
        for (room, node, content) in messages {
            self.tell_room(&room, node, content);
        }
        self.log_flaws();
        let saved = self.snapshots.take_saved();
        self.told.extend(saved.into_iter().map(KeepsakeNews::Saved));
    }

    /// This controller owns a room: it goes on with what its nodes have kept of it. Returns whether
    /// that is all of the room.
    pub(super) fn opened(
        &mut self,
        now: Instant,
        room: &Arc<str>,
        parts: &[(NodeId, Part)],
        nodes: &[NodeId],
        rooms: &mut Controller,
        out: &mut Vec<controller::Output>,
    ) -> bool {
        let (mut own, mut is_whole) = (Vec::new(), false);
        let mut opened = self.snapshots.open(room, parts);
        self.log_flaws();
        let people = opened.participants.len();
        if let Some(saved) = opened.room.take() {
            let participants = std::mem::take(&mut opened.participants);
            let restored = rooms.takeover().restore(now, room, saved, participants, &mut own);
            is_whole = restored.is_ok();
            match restored {
                Ok(()) => info!(room = &**room, people, "the room goes on with this controller"),
                Err(error) => {
                    warn!(room = &**room, %error, "a room begins anew, since its snapshot cannot be used");
                }
            }
        }
        let is_served = rooms.takeover().room(room).is_some();
        if is_served || !opened.keepsakes.is_empty() {
            self.restore_keepsakes(room, &opened.keepsakes, is_served);
            self.snapshots.adopt(room, opened);
        } else {
            self.unused.insert(room.clone(), now);
        }
        for node in nodes {
            rooms.takeover().repeat(now, room, *node, &mut own);
            self.pass_on(&mut own, out);
            for (_, Part { name, .. }) in parts {
                if !self.snapshots.has(room, *node, name) {
                    self.tell_room(room, *node, RoomContent::Forget { part: name.clone() });
                }
            }
            self.tell_room(room, *node, RoomContent::Complete);
        }
        self.pass_on(&mut own, out);
        is_whole
    }

    /// Tells a node everything of a room again.
    pub(super) fn resync(
        &mut self,
        now: Instant,
        room: &Arc<str>,
        node: NodeId,
        rooms: &mut Controller,
        out: &mut Vec<controller::Output>,
    ) {
        let mut own = Vec::new();
        rooms.takeover().repeat(now, room, node, &mut own);
        self.pass_on(&mut own, out);
        self.snapshots.forget_node(room, node);
        self.save(rooms, room);
        self.tell_room(room, node, RoomContent::Complete);
    }

    /// Brings the parts of a room at its nodes to what it is now.
    fn save(&mut self, rooms: &mut Controller, room: &Arc<str>) {
        let spare: Vec<_> = self.nodes.connected().collect();
        for (room, node, content) in self.snapshots.save(rooms, room, &spare) {
            self.tell_room(&room, node, content);
        }
    }

    fn log_flaws(&mut self) {
        for flaw in self.snapshots.take_flaws() {
            let ::handover::Flaw { room, part, what, why } = flaw;
            warn!(room, part, why, "a part of a room {what}");
        }
    }

    /// Commands go to their nodes now, in their order with what else is said of the room.
    fn pass_on(&mut self, own: &mut Vec<controller::Output>, out: &mut Vec<controller::Output>) {
        for output in own.drain(..) {
            match output {
                controller::Output::Command { node, room, command } => self.command(node, room, command),
                other => out.push(other),
            }
        }
    }
}
