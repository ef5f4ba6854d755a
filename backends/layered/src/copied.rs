//! The streams of which an offload sends copies, as the base is told.
//!
//! An offload that passes packets on after it has copied them leaves the base with packets that no
//! replica there gets. The base counts them as copied by an offload, not as dropped.

use std::collections::BTreeMap;

use dataplane::{LegId, ReplicaId, StreamKey, Update};

/// The replicas that an offload sends, by their streams.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    sources: BTreeMap<ReplicaId, StreamKey>,
    streams: BTreeMap<StreamKey, usize>,
}

impl Copied {
    /// An offload sends a replica of this stream, or none. Returns the updates for the base.
    pub(crate) fn set(&mut self, id: ReplicaId, source: Option<StreamKey>) -> Vec<Update> {
        let before = match source {
            Some(source) => self.sources.insert(id, source),
            None => self.sources.remove(&id),
        };
        if before == source {
            return Vec::new();
        }
        let mut changes = Vec::new();
        if let Some(source) = source {
            let count = self.streams.entry(source).or_default();
            *count += 1;
            changes.extend((*count == 1).then_some(Update::SetCopied(source, true)));
        }
        if let Some(before) = before
            && let Some(count) = self.streams.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                self.streams.remove(&before);
                changes.push(Update::SetCopied(before, false));
            }
        }
        changes
    }

    /// A stream is gone, and with it what the base was told.
    pub(crate) fn forget_stream(&mut self, key: StreamKey) {
        self.streams.remove(&key);
        self.sources.retain(|_, source| *source != key);
    }

    /// A publisher's leg is gone with its streams.
    pub(crate) fn forget_leg(&mut self, leg: LegId) {
        self.streams.retain(|key, _| key.leg != leg);
        self.sources.retain(|_, source| source.leg != leg);
    }
}

#[cfg(test)]
mod tests {
    use wire::Ssrc;

    use super::*;

    fn key(ssrc: u32) -> StreamKey {
        StreamKey {
            leg: LegId(1),
            ssrc: Ssrc(ssrc),
        }
    }

    #[test]
    fn the_base_is_told_of_the_first_replica_of_a_stream_and_of_the_last() {
        let mut copied = Copied::default();
        let (first, second) = (ReplicaId(1), ReplicaId(2));
        assert_eq!(copied.set(first, Some(key(7))), [Update::SetCopied(key(7), true)]);
        assert_eq!(copied.set(first, Some(key(7))), []);
        assert_eq!(copied.set(second, Some(key(7))), []);
        let moved = [Update::SetCopied(key(8), true)];
        assert_eq!(copied.set(first, Some(key(8))), moved);
        let ended = [Update::SetCopied(key(7), false)];
        assert_eq!(copied.set(second, None), ended);
        copied.forget_stream(key(8));
        assert_eq!(copied.set(first, None), [], "the base has no such stream");
    }
}
