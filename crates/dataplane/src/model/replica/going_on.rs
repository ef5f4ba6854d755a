//! How a replica begins to follow: with a key frame, or where another device stopped.

use std::collections::BTreeSet;
use std::time::Instant;

use wire::codec::Layer;

use super::{Last, ReplicaState, Segment, Vp8Ids, Waiting};
use crate::model::select::{Selection, Wanted};
use crate::model::stream::MediaPacket;
use crate::model::{LegState, Model};
use crate::{Counter, Event, Protection, ReplicaId, ReplicaSnapshot, StreamKey};

impl Model {
    /// Continues a replica where another device stopped.
    pub(in crate::model) fn go_on(&mut self, now: Instant, id: ReplicaId, from: ReplicaSnapshot) {
        let Some(replica) = self.replicas.get_mut(&id) else {
            return;
        };
        replica.let_go = false;
        if self.legs.get(&replica.entry.leg).is_some_and(is_clear) && replica.current.is_none() {
            replica.segment = Some(Segment::behind(&from, now));
            replica.continues = Some(from);
            replica.waiting = Waiting::default();
        }
    }

    /// Stops sending a replica, and reports its state.
    pub(in crate::model) fn let_go(&mut self, id: ReplicaId, at_key_frame: bool) {
        let Some(replica) = self.replicas.get_mut(&id) else {
            return;
        };
        let leg = self.legs.get(&replica.entry.leg).expect("a replica's leg is there");
        let stands = match at_key_frame {
            true => replica.stands_before_key_frame(),
            false => replica.stands(),
        };
        let from = stands.filter(|_| is_clear(leg));
        if from.is_some() {
            replica.let_go = true;
            replica.current = None;
            replica.continues = None;
            replica.early.clear();
        }
        self.events.push_back(Event::Released {
            replica: id,
            from,
            transport_sequence: leg.transport_sequence,
        });
    }
}

fn is_clear(leg: &LegState) -> bool {
    leg.entry.protection == Protection::Clear
}

impl Segment {
    /// The segment of another device, of which only the end is known.
    pub(super) fn behind(from: &ReplicaSnapshot, now: Instant) -> Self {
        let (timestamp, picture, tl0) = from.last;
        let first = 1 << 16;
        Segment {
            first,
            egress_first: (1 << 16) + u64::from(from.next),
            newest: first - 1,
            closed_up: BTreeSet::new(),
            by_frames: None,
            timestamp_offset: from.timestamp_offset,
            vp8_offset: Vp8Ids::default(),
            frame_offset: 0,
            selection: Selection::new(Wanted {
                layer: from.layer,
                fallback_spatial: None,
            }),
            last: Last {
                number: first - 1,
                at: now,
                capture: None,
                timestamp,
                vp8: Vp8Ids { picture, tl0 },
                frame: from.frame,
            },
        }
    }
}

impl ReplicaState {
    pub(super) fn can_go_on(&self, from: &ReplicaSnapshot) -> bool {
        self.current.is_none() && !self.entry.paused && self.entry.source == from.source
    }

    /// The state from which another device would continue.
    fn stands(&self) -> Option<ReplicaSnapshot> {
        let follows = self.current.filter(|current| Some(*current) == self.entry.source);
        let (Some(source), Some(segment)) = (follows, &self.segment) else {
            let continues = self.continues.filter(|from| !from.awaits_key_frame);
            return continues.filter(|from| from.source.is_some() && self.can_go_on(from));
        };
        let (temporal, held_back, decided) = segment.selection.stands()?;
        let offset = segment.vp8_offset.minus_pictures(held_back);
        let is_named = segment.last.frame.is_some() || segment.by_frames.is_some();
        (!is_named).then(|| ReplicaSnapshot {
            source: Some(source),
            awaits_key_frame: false,
            newest: segment.newest as u16,
            next: segment.next() as u16,
            timestamp_offset: segment.timestamp_offset,
            picture_offset: offset.picture,
            tl0_offset: offset.tl0,
            layer: Layer { spatial: 0, temporal },
            last: (segment.last.timestamp, segment.last.vp8.picture, segment.last.vp8.tl0),
            frame: None,
            frame_offset: 0,
            decided,
        })
    }

    /// The state from which another device would continue with a key frame.
    fn stands_before_key_frame(&self) -> Option<ReplicaSnapshot> {
        let source = self.entry.source.filter(|_| !self.entry.paused && !self.let_go)?;
        let Some(segment) = &self.segment else {
            return Some(ReplicaSnapshot {
                next: self.entry.first_sequence,
                ..ReplicaSnapshot::default()
            });
        };
        if self.current != Some(source) {
            let continues = self.continues.filter(|from| self.can_go_on(from));
            return continues.map(|from| ReplicaSnapshot {
                source: None,
                awaits_key_frame: false,
                decided: None,
                ..from
            });
        }
        let offset = segment.vp8_offset.minus_pictures(segment.selection.held_back());
        Some(ReplicaSnapshot {
            source: None,
            awaits_key_frame: false,
            // With numbers by frames only sent packets are accounted for.
            newest: segment.newest.max(segment.last.number) as u16,
            next: segment.next() as u16,
            timestamp_offset: segment.timestamp_offset,
            picture_offset: offset.picture,
            tl0_offset: offset.tl0,
            layer: segment.selection.layer(),
            last: (segment.last.timestamp, segment.last.vp8.picture, segment.last.vp8.tl0),
            frame: segment.last.frame,
            frame_offset: segment.frame_offset,
            decided: None,
        })
    }

    /// Continues where another device stopped, with `packet`, which is `ahead` packets after the
    /// last one there.
    fn go_on(&mut self, from: ReplicaSnapshot, ahead: u64, packet: &MediaPacket) {
        let (timestamp, picture, tl0) = from.last;
        let first = packet.number - (ahead - 1);
        self.continues = None;
        self.current = from.source;
        self.followed = true;
        self.segment = Some(Segment {
            first,
            egress_first: (1 << 16) + u64::from(from.next),
            newest: first - 1,
            closed_up: BTreeSet::new(),
            by_frames: None,
            timestamp_offset: from.timestamp_offset,
            vp8_offset: Vp8Ids {
                picture: from.picture_offset,
                tl0: from.tl0_offset,
            },
            frame_offset: 0,
            selection: Selection::resumed(self.wanted(), from.layer, from.decided),
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

    /// Whether a packet comes before the key frame with which it continues. It is taken account
    /// of.
    pub(in crate::model) fn waits(&mut self, key: StreamKey, packet: &MediaPacket, is_sendable: bool) -> bool {
        let from = self.continues.filter(|from| !self.let_go && from.source == Some(key));
        let Some(from) = from.filter(|from| from.awaits_key_frame) else {
            return false;
        };
        let ends = is_sendable && packet.newest && packet.starts_key_frame();
        if !ends {
            self.waiting.passed(&from, packet.number);
        }
        !ends
    }

    /// Whether a packet comes after those that another device has accounted for.
    pub(in crate::model) fn continues_with(&self, key: StreamKey, packet: &MediaPacket) -> bool {
        let from = self.continues.filter(|from| !self.let_go && from.source == Some(key));
        from.is_some_and(|from| !from.awaits_key_frame && from.ahead(packet.number as u16).is_some())
    }

    /// Begins to follow `key` with `packet`, if that is one to begin with.
    pub(in crate::model) fn begin(&mut self, key: StreamKey, packet: &MediaPacket) -> Result<(), Counter> {
        if self.let_go {
            return Err(Counter::Paused);
        }
        match self.continues.filter(|from| from.source == Some(key)) {
            Some(from) if from.awaits_key_frame => {
                let lost = self.waiting.lost_before(&from, packet.number);
                self.continues = None;
                self.follow(key, packet, lost);
            }
            Some(from) => {
                let ahead = from.ahead(packet.number as u16).ok_or(Counter::BeforeSwitch)?;
                self.go_on(from, ahead, packet);
            }
            None if !packet.newest || !packet.starts_key_frame() => return Err(Counter::AwaitingKeyFrame),
            None => self.follow(key, packet, 0),
        }
        Ok(())
    }
}
