//! One transport: addresses, keys, and the indexes that were used.

use std::mem::offset_of;
use std::ops::Range;

use dataplane::limits::SSRCS_PER_LEG_MAX;
use dataplane::{Leg, LegId, MasterKey, Path, Protection, ReplicaId};
use wire::Ssrc;

use crate::channel::UnknownStream;
use crate::prefetch;
use crate::shard::pace::Pace;
use crate::shard::runs::RunKey;
use crate::sorted::insert_sorted;
use crate::srtp::{Opener, Sealer, StreamIndexes};

/// A leg, in the shard that owns it.
pub(crate) struct LegState {
    pub(crate) id: LegId,
    pub(crate) entry: Leg,
    pub(crate) keys: Option<Keys>,
    /// RTP indexes that were used, by SSRC, under whatever keys: new keys change nothing about it.
    pub(crate) indexes: StreamIndexes,
    /// By SSRC, sorted: the slot of its stream.
    ssrcs: Vec<(Ssrc, usize)>,
    /// Sorted by SSRC.
    pub(crate) streams: Vec<(Ssrc, usize)>,
    /// Sorted by id.
    pub(crate) replicas: Vec<(ReplicaId, usize)>,
    pub(crate) unknown: Vec<UnknownStream>,
    /// Datagrams that were punted since it had keys.
    pub(crate) protected_punts: usize,
    pub(crate) transport_sequence: u16,
    /// The egress run of the current batch.
    pub(crate) run: RunKey,
    /// The leg's pacer, if it has a pace.
    pub(crate) pace: Option<Box<Pace>>,
}

/// The SRTP contexts of a leg. They outlive an entry without keys, so that the same keys never
/// start over.
pub(crate) struct Keys {
    ingress: MasterKey,
    egress: MasterKey,
    pub(crate) opener: Opener,
    pub(crate) sealer: Sealer,
}

impl LegState {
    /// An SSRC that leaves the table is unknown anew: the agent is told of it again.
    pub(crate) fn forget_descriptions(&mut self, ssrc: Option<Ssrc>) {
        self.unknown.retain(|(known, ..)| Some(*known) != ssrc);
    }

    /// Which of its bytes are all but the keys, the largest field, which is put first.
    const WITHOUT_KEYS: Range<usize> = size_of::<Option<Keys>>()..size_of::<Self>();

    pub(crate) fn new(id: LegId, entry: Leg) -> Self {
        let keys = keys_of(&entry.protection).map(|(ingress, egress)| Keys::new(ingress, egress));
        LegState {
            id,
            entry,
            keys,
            indexes: StreamIndexes::with_limit(SSRCS_PER_LEG_MAX),
            ssrcs: Vec::new(),
            streams: Vec::new(),
            replicas: Vec::new(),
            unknown: Vec::new(),
            protected_punts: 0,
            transport_sequence: 0,
            run: RunKey::default(),
            pace: None,
        }
    }

    /// Replaces the entry. New contexts are made only for keys that have changed.
    pub(crate) fn replace(&mut self, entry: Leg) {
        if let Some((ingress, egress)) = keys_of(&entry.protection) {
            match &mut self.keys {
                Some(keys) => keys.change(ingress, egress),
                None => self.keys = Some(Keys::new(ingress, egress)),
            }
        }
        if entry.protection != Protection::Pending {
            self.protected_punts = 0;
        }
        self.entry = entry;
    }

    /// The path to send on, once packets may be sent.
    pub(crate) fn ready(&self) -> Option<Path> {
        match self.entry.protection {
            Protection::Pending => None,
            Protection::Clear | Protection::Srtp { .. } => self.entry.paths.first().copied(),
        }
    }

    /// Whether packets may be sent.
    pub(crate) fn is_ready(&self) -> bool {
        self.entry.protection != Protection::Pending && !self.entry.paths.is_empty()
    }

    /// The keys, if the entry says to use them.
    pub(crate) fn keys_in_use(&mut self) -> Option<&mut Keys> {
        match self.entry.protection {
            Protection::Srtp { .. } => self.keys.as_mut(),
            Protection::Pending | Protection::Clear => None,
        }
    }

    /// Prefetches the data for sending a packet. To test whether there is a leg, or keys, would
    /// mean to wait for memory: they are assumed to be at the beginning of their options, and if
    /// not, nothing is gained.
    pub(crate) fn prefetch(slot: &Option<Self>) {
        prefetch::part(slot, 0, Self::WITHOUT_KEYS);
        prefetch::part(slot, offset_of!(Self, keys) + offset_of!(Keys, sealer), Sealer::RTP);
    }

    /// Asks for what it refers to, once it is there itself.
    pub(crate) fn prefetch_behind(&self) {
        prefetch::first(&self.entry.paths);
        self.indexes.prefetch();
        if let Some(pace) = &self.pace {
            prefetch::value(&**pace);
        }
    }

    /// The stream an SSRC belongs to, as media or as retransmissions.
    pub(crate) fn stream_of(&self, ssrc: Ssrc) -> Option<usize> {
        let found = self.ssrcs.binary_search_by_key(&ssrc, |entry| entry.0).ok()?;
        Some(self.ssrcs[found].1)
    }

    pub(crate) fn add_ssrcs(&mut self, ssrcs: impl Iterator<Item = Ssrc>, stream: usize) {
        for ssrc in ssrcs {
            insert_sorted(&mut self.ssrcs, ssrc, stream);
        }
    }

    pub(crate) fn remove_ssrcs_of(&mut self, stream: usize) {
        self.ssrcs.retain(|(_, slot)| *slot != stream);
    }
}

impl Keys {
    fn new(ingress: &MasterKey, egress: &MasterKey) -> Self {
        Keys {
            opener: Opener::new(ingress),
            sealer: Sealer::new(egress),
            ingress: ingress.clone(),
            egress: egress.clone(),
        }
    }

    fn change(&mut self, ingress: &MasterKey, egress: &MasterKey) {
        if self.ingress != *ingress {
            self.opener = Opener::new(ingress);
            self.ingress = ingress.clone();
        }
        if self.egress != *egress {
            // The SRTCP index continues, so that even keys that are used again do not repeat one.
            self.sealer = Sealer::resume(egress, self.sealer.next_rtcp_index());
            self.egress = egress.clone();
        }
    }

    /// The profile packets are sealed with.
    pub(crate) fn egress_profile(&self) -> dataplane::SrtpProfile {
        self.egress.profile()
    }
}

fn keys_of(protection: &Protection) -> Option<(&MasterKey, &MasterKey)> {
    match protection {
        Protection::Srtp { ingress, egress } => Some((ingress, egress)),
        Protection::Pending | Protection::Clear => None,
    }
}
