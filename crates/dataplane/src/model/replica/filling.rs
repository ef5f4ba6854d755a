//! Packets in place of media that has not arrived yet.

use std::time::Instant;

use wire::PayloadType;
use wire::codec::Layer;

use super::{ReplicaState, Segment};
use crate::ReplicaSnapshot;

/// Such a packet.
#[derive(Clone, Copy)]
pub(in crate::model) struct Fill<'a> {
    pub payload_type: PayloadType,
    pub clock_rate: u32,
    pub payload: &'a [u8],
}

impl ReplicaState {
    pub(in crate::model) fn is_to_begin(&self) -> bool {
        !self.followed && !self.entry.paused && !self.let_go && self.continues.is_none()
    }

    pub(in crate::model) fn next_fill(&self, now: Instant, clock_rate: u32) -> (u64, u32) {
        let Some(before) = &self.segment else {
            return ((1 << 16) + u64::from(self.entry.first_sequence), 0);
        };
        let elapsed = now.saturating_duration_since(before.last.at).as_nanos();
        let ticks = (elapsed * u128::from(clock_rate) / 1_000_000_000).max(1) as u32;
        (before.next(), before.last.timestamp.wrapping_add(ticks))
    }

    /// Numbers continue after this one, as after those of another device.
    pub(in crate::model) fn filled(&mut self, now: Instant, number: u64, timestamp: u32) {
        let stands = ReplicaSnapshot {
            source: None,
            awaits_key_frame: false,
            newest: 0,
            next: (number - (1 << 16) + 1) as u16,
            timestamp_offset: 0,
            picture_offset: 0,
            tl0_offset: 0,
            layer: Layer {
                spatial: 0,
                temporal: 0,
            },
            last: (timestamp, 0, 0),
            frame: None,
            frame_offset: 0,
            decided: None,
        };
        self.segment = Some(Segment::behind(&stands, now));
    }
}
