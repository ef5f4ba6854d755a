//! What is in the tables, as far as refusing an entry needs to know it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dataplane::limits::{PATHS_MAX, SSRCS_PER_LEG_MAX, STREAMS_PER_LEG_MAX};
use dataplane::{Leg, LegId, Path, Replica, ReplicaId, Stream, StreamKey, WriteError};
use wire::Ssrc;

use crate::shard::{Life, Source};

/// How many legs there may be.
pub(super) const LEGS_MAX: usize = 65_536;
/// How many streams there may be.
pub(super) const STREAMS_MAX: usize = 262_144;
/// How many replicas there may be.
pub(super) const REPLICAS_MAX: usize = 1_048_576;

/// The entries, without what only packets need.
#[derive(Debug, Default)]
pub(super) struct Book {
    legs: HashMap<LegId, LegPage>,
    paths: HashMap<Path, LegId>,
    replicas: HashMap<ReplicaId, Fixed>,
    streams: usize,
    /// The next stream's.
    life: u32,
}

#[derive(Debug)]
struct LegPage {
    owner: usize,
    paths: Vec<Path>,
    streams: BTreeMap<Ssrc, StreamLine>,
    replicas: BTreeSet<ReplicaId>,
    /// SSRCs its replicas use or ever used: their keystreams are spent.
    ssrcs_used: HashSet<Ssrc>,
}

#[derive(Debug)]
struct StreamLine {
    life: Life,
    rtx: Option<Ssrc>,
}

/// What is fixed for the life of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fixed {
    leg: LegId,
    ssrc: Ssrc,
    rtx: Option<(Ssrc, u16)>,
}

/// What a new value of a leg changes.
pub(super) struct LegChange {
    pub(super) owner: usize,
    pub(super) removed: Vec<Path>,
    pub(super) added: Vec<Path>,
}

/// What goes with a leg.
pub(super) struct RemovedLeg {
    pub(super) owner: usize,
    pub(super) paths: Vec<Path>,
    pub(super) streams: Vec<Life>,
}

impl Book {
    pub(super) fn owner_of_leg(&self, id: LegId) -> Option<usize> {
        self.legs.get(&id).map(|leg| leg.owner)
    }

    pub(super) fn owner_of_path(&self, path: &Path) -> Option<usize> {
        self.owner_of_leg(*self.paths.get(path)?)
    }

    /// The source ports of legs, each with the shard that owns the leg.
    pub(super) fn port_owners(&self) -> impl Iterator<Item = (u16, usize)> {
        let owner = |(path, leg): (&Path, &LegId)| Some((path.remote.port(), self.owner_of_leg(*leg)?));
        self.paths.iter().filter_map(owner)
    }

    pub(super) fn owner_of_replica(&self, id: ReplicaId) -> Option<usize> {
        self.owner_of_leg(self.replicas.get(&id)?.leg)
    }

    /// Enters a leg; a new one is given to the shard that `owner` names.
    pub(super) fn set_leg(
        &mut self,
        id: LegId,
        leg: &Leg,
        owner: impl FnOnce() -> usize,
    ) -> Result<LegChange, WriteError> {
        if leg.paths.len() > PATHS_MAX {
            return Err(WriteError::TableFull);
        }
        if leg
            .paths
            .iter()
            .any(|path| self.paths.get(path).is_some_and(|other| *other != id))
        {
            return Err(WriteError::PathTaken);
        }
        if !self.legs.contains_key(&id) && self.legs.len() >= LEGS_MAX {
            return Err(WriteError::TableFull);
        }
        let page = self.legs.entry(id).or_insert_with(|| LegPage {
            owner: owner(),
            paths: Vec::new(),
            streams: BTreeMap::new(),
            replicas: BTreeSet::new(),
            ssrcs_used: HashSet::new(),
        });
        let old = std::mem::replace(&mut page.paths, leg.paths.clone());
        let change = LegChange {
            owner: page.owner,
            removed: old.iter().filter(|path| !leg.paths.contains(path)).copied().collect(),
            added: leg.paths.iter().filter(|path| !old.contains(path)).copied().collect(),
        };
        for path in &change.removed {
            self.paths.remove(path);
        }
        self.paths.extend(change.added.iter().map(|path| (*path, id)));
        Ok(change)
    }

    pub(super) fn remove_leg(&mut self, id: LegId) -> Result<RemovedLeg, WriteError> {
        let page = self.legs.remove(&id).ok_or(WriteError::UnknownLeg)?;
        for path in &page.paths {
            self.paths.remove(path);
        }
        for replica in &page.replicas {
            self.replicas.remove(replica);
        }
        self.streams -= page.streams.len();
        Ok(RemovedLeg {
            owner: page.owner,
            paths: page.paths,
            streams: page.streams.into_values().map(|stream| stream.life).collect(),
        })
    }

    pub(super) fn set_stream(&mut self, key: StreamKey, stream: &Stream) -> Result<Source, WriteError> {
        let page = self.legs.get_mut(&key.leg).ok_or(WriteError::UnknownLeg)?;
        let mut others = page.streams.iter().filter(|(ssrc, _)| **ssrc != key.ssrc);
        let taken = |ssrc: Ssrc| ssrc == key.ssrc || stream.rtx == Some(ssrc);
        if stream.rtx == Some(key.ssrc) || others.any(|(ssrc, other)| taken(*ssrc) || other.rtx.is_some_and(taken)) {
            return Err(WriteError::SsrcTaken);
        }
        let is_new = !page.streams.contains_key(&key.ssrc);
        if is_new && (page.streams.len() >= STREAMS_PER_LEG_MAX || self.streams >= STREAMS_MAX) {
            return Err(WriteError::TableFull);
        }
        let line = page.streams.entry(key.ssrc).or_insert_with(|| {
            self.streams += 1;
            self.life = self.life.wrapping_add(1);
            StreamLine {
                life: Life(self.life),
                rtx: None,
            }
        });
        line.rtx = stream.rtx;
        Ok(Source {
            key,
            life: line.life,
            shard: page.owner,
        })
    }

    pub(super) fn remove_stream(&mut self, key: StreamKey) -> Result<Source, WriteError> {
        let source = self.source(key).ok_or(WriteError::UnknownStream)?;
        self.legs
            .get_mut(&key.leg)
            .and_then(|page| page.streams.remove(&key.ssrc));
        self.streams -= 1;
        Ok(source)
    }

    fn source(&self, key: StreamKey) -> Option<Source> {
        let page = self.legs.get(&key.leg)?;
        let line = page.streams.get(&key.ssrc)?;
        Some(Source {
            key,
            life: line.life,
            shard: page.owner,
        })
    }

    /// Enters a replica; returns the shard that owns it, and where it comes from.
    pub(super) fn set_replica(
        &mut self,
        id: ReplicaId,
        replica: &Replica,
    ) -> Result<(usize, Option<Source>), WriteError> {
        let owner = self.owner_of_leg(replica.leg).ok_or(WriteError::UnknownLeg)?;
        let source = match replica.source {
            Some(key) => Some(self.source(key).ok_or(WriteError::UnknownStream)?),
            None => None,
        };
        let fixed = Fixed {
            leg: replica.leg,
            ssrc: replica.ssrc,
            rtx: replica.rtx,
        };
        let replicas = self.replicas.len();
        match self.replicas.entry(id) {
            Entry::Occupied(old) if *old.get() != fixed => return Err(WriteError::Fixed),
            _ if replica.first_sequence >= 1 << 15 => return Err(WriteError::FirstSequence),
            Entry::Occupied(_) => {}
            Entry::Vacant(new) => {
                let page = self.legs.get_mut(&replica.leg).expect("its owner was found");
                page.reserve(&fixed, replicas)?;
                page.replicas.insert(id);
                new.insert(fixed);
            }
        }
        Ok((owner, source))
    }

    pub(super) fn remove_replica(&mut self, id: ReplicaId) -> Result<usize, WriteError> {
        let fixed = self.replicas.remove(&id).ok_or(WriteError::UnknownReplica)?;
        let page = self.legs.get_mut(&fixed.leg).expect("a replica goes with its leg");
        page.replicas.remove(&id);
        Ok(page.owner)
    }
}

impl LegPage {
    /// Takes the SSRCs of a new replica for good, or says why not.
    fn reserve(&mut self, replica: &Fixed, replicas: usize) -> Result<(), WriteError> {
        if replica.rtx.is_some_and(|(_, first)| first >= 1 << 15) {
            return Err(WriteError::FirstSequence);
        }
        let rtx = replica.rtx.map(|(ssrc, _)| ssrc);
        let used = |ssrc: &Ssrc| self.ssrcs_used.contains(ssrc);
        if used(&replica.ssrc) || rtx.as_ref().is_some_and(used) || rtx == Some(replica.ssrc) {
            return Err(WriteError::SsrcUsed);
        }
        if self.ssrcs_used.len() + 2 > SSRCS_PER_LEG_MAX || replicas >= REPLICAS_MAX {
            return Err(WriteError::TableFull);
        }
        self.ssrcs_used.insert(replica.ssrc);
        self.ssrcs_used.extend(rtx);
        Ok(())
    }
}
