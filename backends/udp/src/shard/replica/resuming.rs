//! Replicas that another device continues, or has begun.

use std::time::Instant;

use dataplane::ReplicaSnapshot;
use wire::codec::Layer;

use super::ReplicaState;
use super::segment::{Last, Offsets, Segment};
use super::waiting::Waiting;
use crate::channel::Source;
use crate::shard::packet::PacketInfo;
use crate::shard::packet::vp8::Vp8Ids;
use crate::shard::select::Wanted;

impl ReplicaState {
    pub(super) fn can_resume(&self, from: &ReplicaSnapshot) -> bool {
        let is_source = self.source.map(|source| source.key) == from.source;
        self.current.is_none() && !self.entry.paused && is_source
    }

    /// Prepares to continue where another device stopped.
    pub(crate) fn prepare_resume(&mut self, now: Instant, from: ReplicaSnapshot) {
        self.released = false;
        if self.current.is_none() {
            self.segment = Some(Segment::behind(&from, now));
            self.continues = Some(Box::new(from));
            self.waiting = Waiting::default();
        }
    }

    /// The snapshot from which another device would continue.
    pub(crate) fn snapshot(&self) -> Option<ReplicaSnapshot> {
        let generation = self.source.map(|source| source.generation);
        let current = self.current.filter(|current| generation == Some(current.generation));
        let (Some(current), Some(segment)) = (current, &self.segment) else {
            let continues = self.continues.as_deref().copied();
            let continues = continues.filter(|from| !from.awaits_key_frame);
            return continues.filter(|from| from.source.is_some() && self.can_resume(from));
        };
        let (temporal, held_back, decided) = self.selection.snapshot()?;
        let (last, offsets) = (&segment.last, &segment.offsets);
        let is_named = last.frame.is_some() || segment.frame_numbering.is_some();
        (!is_named).then(|| ReplicaSnapshot {
            source: Some(current.key),
            awaits_key_frame: false,
            newest: segment.newest() as u16,
            next: segment.next() as u16,
            timestamp_offset: offsets.timestamp,
            picture_offset: offsets.vp8.minus_pictures(held_back).picture,
            tl0_offset: offsets.vp8.tl0,
            layer: Layer { spatial: 0, temporal },
            last: (last.timestamp, last.vp8.picture, last.vp8.tl0),
            frame: None,
            frame_offset: 0,
            decided,
        })
    }

    /// The snapshot from which another device would continue with a key frame.
    pub(crate) fn snapshot_at_key_frame(&self) -> Option<ReplicaSnapshot> {
        let source = self.source.filter(|_| !self.entry.paused && !self.released)?;
        let Some(segment) = &self.segment else {
            return Some(ReplicaSnapshot {
                next: self.entry.first_sequence,
                ..ReplicaSnapshot::default()
            });
        };
        if self.current.map(|current| current.generation) != Some(source.generation) {
            let continues = self.continues.as_deref().filter(|from| self.can_resume(from));
            return continues.map(|from| ReplicaSnapshot {
                source: None,
                awaits_key_frame: false,
                decided: None,
                ..*from
            });
        }
        let (last, offsets) = (&segment.last, &segment.offsets);
        let vp8 = offsets.vp8.minus_pictures(self.selection.held_back());
        let (layer, _) = self.selection.report();
        Some(ReplicaSnapshot {
            source: None,
            awaits_key_frame: false,
            // With numbers by frames only sent packets are accounted for.
            newest: segment.newest().max(last.number) as u16,
            next: segment.next() as u16,
            timestamp_offset: offsets.timestamp,
            picture_offset: vp8.picture,
            tl0_offset: vp8.tl0,
            layer,
            last: (last.timestamp, last.vp8.picture, last.vp8.tl0),
            frame: last.frame,
            frame_offset: offsets.frame,
            decided: None,
        })
    }

    /// Whether a packet comes before the key frame with which it continues. It is taken account
    /// of.
    pub(crate) fn waits(&mut self, info: &PacketInfo, is_sendable: bool) -> bool {
        let from = self.continues.as_deref().filter(|from| from.awaits_key_frame);
        let Some(from) = from.filter(|from| !self.released && self.can_resume(from)) else {
            return false;
        };
        let ends = is_sendable && info.newest && info.starts;
        if !ends {
            self.waiting.passed(from, info.number);
        }
        !ends
    }

    /// Whether a packet comes after those that another device has accounted for.
    pub(crate) fn continues_with(&self, info: &PacketInfo) -> bool {
        let is_ahead = |from: &ReplicaSnapshot| self.can_resume(from) && from.ahead(info.number as u16).is_some();
        let from = self.continues.as_deref().filter(|from| !from.awaits_key_frame);
        !self.released && from.is_some_and(is_ahead)
    }

    /// Continues where another device stopped, with a packet `ahead` of the last one there.
    pub(super) fn resume(&mut self, ahead: u64, info: &PacketInfo) -> Option<Source> {
        let from = self.continues.take()?;
        let (timestamp, picture, tl0) = from.last;
        let first = info.number - (ahead - 1);
        let offsets = Offsets {
            timestamp: from.timestamp_offset,
            vp8: Vp8Ids {
                picture: from.picture_offset,
                tl0: from.tl0_offset,
            },
            frame: 0,
        };
        let last = Last {
            number: first - 1,
            at: info.at,
            capture: info.capture,
            timestamp,
            vp8: Vp8Ids { picture, tl0 },
            frame: None,
        };
        self.segment = Some(Segment::start(first, (1 << 16) + u64::from(from.next), offsets, last));
        self.selection.resume(Wanted::of(&self.entry), from.layer, from.decided);
        self.segments = self.segments.wrapping_add(1);
        std::mem::replace(&mut self.current, self.source)
    }
}
