//! Packets given to the device, by tag.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::{LegId, Stream, StreamKey};
use wire::{RtpPacket, Ssrc, Unwrapper};

/// Bytes at the end of a payload by which a packet is known again.
pub const TAG_LEN: usize = 8;

/// The shortest end of a tag that still tells packets apart, when a changed header took the rest.
const TAG_MIN: usize = 5;

/// The tag of a payload; `None` for one that is too short.
pub fn tag_of(payload: &[u8]) -> Option<[u8; TAG_LEN]> {
    let end = &payload[payload.len().saturating_sub(TAG_LEN)..];
    let mut tag = [0; TAG_LEN];
    tag[TAG_LEN - end.len()..].copy_from_slice(end);
    (end.len() >= TAG_MIN).then_some(tag)
}

/// The least key of a stream.
const FIRST_STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(0),
};

/// Every stream in the table and its arrived packets.
#[derive(Default)]
pub(super) struct Sources {
    streams: BTreeMap<StreamKey, Source>,
    /// A retransmission has the tag of the original. Its SSRC may be a stream of its own in the
    /// table, and both streams have that tag then.
    by_tag: BTreeMap<([u8; TAG_LEN], StreamKey), u64>,
}

#[derive(Default)]
struct Source {
    rtx: Option<Ssrc>,
    unwrapper: Unwrapper,
    arrived: BTreeSet<u64>,
}

impl Sources {
    pub(crate) fn set(&mut self, key: StreamKey, stream: &Stream) {
        self.streams.entry(key).or_default().rtx = stream.rtx;
    }

    pub(crate) fn remove(&mut self, key: StreamKey) {
        self.streams.remove(&key);
        self.by_tag.retain(|(_, tagged), _| *tagged != key);
    }

    /// Removes every stream of a leg, and returns them.
    pub(crate) fn remove_leg(&mut self, leg: LegId) -> Vec<StreamKey> {
        let keys: Vec<StreamKey> = self.streams.keys().filter(|key| key.leg == leg).copied().collect();
        keys.iter().for_each(|key| self.remove(*key));
        keys
    }

    /// Follows an arrived datagram, unencrypted.
    pub(crate) fn arrived(&mut self, leg: LegId, bytes: &[u8]) {
        let Ok(packet) = RtpPacket::parse(bytes) else { return };
        let ssrc = packet.ssrc();
        let direct = StreamKey { leg, ssrc };
        let found = match self.streams.contains_key(&direct) {
            true => Some((direct, packet.sequence().0, packet.payload())),
            false => self.repaired(leg, ssrc, &packet),
        };
        let Some((key, sequence, payload)) = found else { return };
        let source = self.streams.get_mut(&key).expect("found");
        let number = source.unwrapper.extend(sequence);
        source.arrived.insert(number);
        if let Some(tag) = tag_of(payload) {
            // So late that it is taken for new, it has another number than before.
            self.by_tag.insert((tag, key), number);
        }
        // A payload that is sent without its header of RED may have a shorter tag.
        for shorter in (TAG_MIN..TAG_LEN.min(payload.len())).rev() {
            if let Some(tag) = tag_of(&payload[payload.len() - shorter..]) {
                self.by_tag.entry((tag, key)).or_insert(number);
            }
        }
    }

    fn repaired<'a>(&self, leg: LegId, ssrc: Ssrc, packet: &RtpPacket<'a>) -> Option<(StreamKey, u16, &'a [u8])> {
        let of_leg = |(key, source): &(&StreamKey, &Source)| key.leg == leg && source.rtx == Some(ssrc);
        let (key, _) = self.streams.iter().find(of_leg)?;
        let (original, payload) = wire::rtx::split(packet.payload())?;
        Some((*key, original.0, payload))
    }

    /// Which packet of which stream has this tag: of one of `expected`, or else of any stream.
    pub(crate) fn of_tag(&self, tag: [u8; TAG_LEN], expected: &BTreeSet<StreamKey>) -> Option<(StreamKey, u64)> {
        let number = |key: &StreamKey| Some((*key, *self.by_tag.get(&(tag, *key))?));
        let of_any = || {
            let (found, number) = self.by_tag.range((tag, FIRST_STREAM)..).next()?;
            (found.0 == tag).then_some((found.1, *number))
        };
        expected.iter().find_map(number).or_else(of_any)
    }

    /// How many of the numbers between these two never arrived.
    pub(crate) fn lost_between(&self, key: StreamKey, from: u64, to: u64) -> u64 {
        let arrived = self
            .streams
            .get(&key)
            .map_or(0, |source| source.arrived.range(from + 1..to).count());
        to - from - 1 - arrived as u64
    }
}
