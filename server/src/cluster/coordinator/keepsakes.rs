//! Parts of front ends that the nodes of a room keep, for those of the next controller.

use std::sync::Arc;
use std::time::Instant;

use cluster::Input;

use super::Coordinator;
use crate::frontends::{Keepsake, Restored};

/// News for front ends about what nodes keep.
#[derive(Debug)]
pub(crate) enum KeepsakeNews {
    /// This controller goes on with a room of which nodes have kept this.
    Restored(Restored),
    /// The nodes of a room were sent everything that is to be kept of it.
    Saved(Arc<str>),
}

impl Coordinator {
    /// Has the nodes of a room keep something of a front end.
    pub(crate) fn keep(&mut self, now: Instant, keepsake: Keepsake) {
        let Keepsake { room, part, content } = keepsake;
        let room: Arc<str> = room.into();
        if !self.cluster.owns(&room) {
            // Nothing can be kept, so nobody waits for it.
            return self.told.push(KeepsakeNews::Saved(room));
        }
        self.snapshots.keep(now, &room, &part, content);
        if !self.snapshots.has_keepsakes(&room) && self.ending.remove(&room) {
            self.end(now, &room);
        }
    }

    /// News for front ends, in their order.
    pub(crate) fn take_kept(&mut self) -> Vec<KeepsakeNews> {
        std::mem::take(&mut self.told)
    }

    /// Hands on what nodes have kept of a room. One that is not served any more ends with it.
    pub(super) fn restore_keepsakes(&mut self, room: &Arc<str>, kept: &[(Arc<str>, Arc<[u8]>)], is_served: bool) {
        if !is_served {
            self.ending.insert(room.clone());
        }
        self.told.extend(kept.iter().map(|(part, content)| {
            KeepsakeNews::Restored(Restored {
                room: (**room).to_owned(),
                part: (**part).to_owned(),
                content: content.to_vec(),
            })
        }));
    }

    /// A room is over, and nothing is kept of it.
    pub(super) fn end(&mut self, now: Instant, room: &Arc<str>) {
        self.snapshots.forget(room);
        let mut outputs = Vec::new();
        self.cluster
            .handle(now, Input::End { room: room.clone() }, &mut outputs);
        self.send(outputs);
    }
}
