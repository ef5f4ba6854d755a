//! How a replica begins to follow: with a key frame, or where another device stopped.

use std::collections::BTreeSet;

use super::{Last, ReplicaState, Segment, Vp8Ids};
use crate::model::select::Selection;
use crate::model::stream::MediaPacket;
use crate::model::{LegState, Model};
use crate::{Continuation, Counter, Protection, ReplicaId, StreamKey};

impl Model {
    /// Has a replica go on where another device stopped.
    pub(in crate::model) fn go_on(&mut self, id: ReplicaId, from: Continuation) {
        let Some(replica) = self.replicas.get_mut(&id) else {
            return;
        };
        let is_clear = |leg: &LegState| leg.entry.protection == Protection::Clear;
        if self.legs.get(&replica.entry.leg).is_some_and(is_clear) && replica.can_go_on(&from) {
            replica.continues = Some(from);
        }
    }
}

impl ReplicaState {
    pub(super) fn can_go_on(&self, from: &Continuation) -> bool {
        self.current.is_none() && !self.entry.paused && self.entry.source == Some(from.source)
    }

    /// Goes on where another device stopped, with `packet`, which lies so far behind the last one there.
    fn go_on(&mut self, from: Continuation, ahead: u64, packet: &MediaPacket) {
        let (timestamp, picture, tl0) = from.last;
        let first = packet.number - (ahead - 1);
        self.continues = None;
        self.current = Some(from.source);
        self.segment = Some(Segment {
            first,
            egress_first: (1 << 16) + u64::from(from.next),
            newest: first - 1,
            closed_up: BTreeSet::new(),
            timestamp_offset: from.timestamp_offset,
            vp8_offset: Vp8Ids {
                picture: from.picture_offset,
                tl0: from.tl0_offset,
            },
            frame_offset: 0,
            selection: Selection::resumed(self.wanted(), from.layer),
            last: Last {
                number: first - 1,
                at: packet.at,
                capture: packet.capture,
                timestamp,
                vp8: Vp8Ids { picture, tl0 },
                frame: None,
            },
        });
    }

    /// Begins to follow `key` with `packet`, if that is one to begin with.
    pub(super) fn begin(&mut self, key: StreamKey, packet: &MediaPacket) -> Result<(), Counter> {
        match self.continues.filter(|from| from.source == key) {
            Some(from) => {
                let ahead = from.ahead(packet.number as u16).ok_or(Counter::BeforeSwitch)?;
                self.go_on(from, ahead, packet);
            }
            None if !packet.newest || !packet.starts_key_frame() => return Err(Counter::AwaitingKeyFrame),
            None => self.follow(key, packet),
        }
        Ok(())
    }
}
