//! The legs that were written to a device.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::{Leg, LegId, Path, Protection, SrtpProfile, StreamKey, Update};
use wire::Ssrc;

/// The legs written to a device, and the SSRCs that tell those of one path apart.
#[derive(Debug, Default)]
pub struct LegTable {
    all: BTreeMap<LegId, Leg>,
    /// The streams, each with the SSRC of its retransmissions.
    streams: BTreeMap<StreamKey, Option<Ssrc>>,
    /// The SSRCs that are sent to each leg, or ever were.
    sent: BTreeMap<LegId, BTreeSet<Ssrc>>,
}

impl LegTable {
    /// Follows an update that the device took.
    pub fn apply(&mut self, update: &Update) {
        match update {
            Update::SetLeg(id, leg) => drop(self.all.insert(*id, leg.clone())),
            Update::RemoveLeg(id) => {
                self.all.remove(id);
                self.sent.remove(id);
                self.streams.retain(|key, _| key.leg != *id);
            }
            Update::SetStream(key, stream) => drop(self.streams.insert(*key, stream.rtx)),
            Update::RemoveStream(key) => drop(self.streams.remove(key)),
            Update::SetReplica(_, replica) => {
                let sent = self.sent.entry(replica.leg).or_default();
                sent.insert(replica.ssrc);
                sent.extend(replica.rtx.map(|(ssrc, _)| ssrc));
            }
            _ => {}
        }
    }

    /// The leg of an address pair, or one of several.
    pub fn at(&self, path: Path) -> Option<LegId> {
        self.all
            .iter()
            .find(|(_, leg)| leg.paths.contains(&path))
            .map(|(id, _)| *id)
    }

    /// The leg that a datagram arrives on.
    pub fn of_arrival(&self, path: Path, bytes: &[u8]) -> Option<LegId> {
        self.by_ssrc(path, bytes, |leg, ssrc| {
            let mut streams = self.streams.iter().filter(|(key, _)| key.leg == leg);
            streams.any(|(key, rtx)| key.ssrc == ssrc || *rtx == Some(ssrc))
        })
    }

    /// The leg that a datagram was sent to. The SSRC of RTCP is the same in both directions.
    pub fn of_departure(&self, path: Path, bytes: &[u8]) -> Option<LegId> {
        self.by_ssrc(path, bytes, |leg, ssrc| {
            self.sent.get(&leg).is_some_and(|sent| sent.contains(&ssrc))
        })
    }

    fn by_ssrc(&self, path: Path, bytes: &[u8], has: impl Fn(LegId, Ssrc) -> bool) -> Option<LegId> {
        let ssrc = wire::ssrc(bytes);
        let is_of = |(id, leg): &(&LegId, &Leg)| match leg.shared {
            None => true,
            Some(own) => ssrc.is_some_and(|ssrc| ssrc == own || has(**id, ssrc)),
        };
        let mut here = self.all.iter().filter(|(_, leg)| leg.paths.contains(&path));
        here.find(is_of).map(|(id, _)| *id)
    }

    /// Every leg with its entry, by id.
    pub fn iter(&self) -> impl Iterator<Item = (LegId, &Leg)> {
        self.all.iter().map(|(id, leg)| (*id, leg))
    }

    /// The leg's entry.
    pub fn entry(&self, id: LegId) -> Option<&Leg> {
        self.all.get(&id)
    }

    /// The leg's profile, when it has keys.
    pub fn profile(&self, id: LegId) -> Option<SrtpProfile> {
        match &self.all.get(&id)?.protection {
            Protection::Srtp { ingress, .. } => Some(ingress.profile()),
            Protection::Clear | Protection::Pending => None,
        }
    }
}
