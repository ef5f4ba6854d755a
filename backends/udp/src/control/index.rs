//! An index of all tables: what validating an entry needs.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dataplane::limits::{PATHS_MAX, SSRCS_PER_LEG_MAX, STREAMS_PER_LEG_MAX, STREAMS_PER_SHARED_LEG_MAX};
use dataplane::{Leg, LegId, Path, Replica, ReplicaId, Stream, StreamKey, WriteError};
use wire::Ssrc;

use super::shared_paths::SharedPaths;
use crate::channel::{Generation, Source};

/// How many legs there may be.
pub(super) const LEGS_MAX: usize = 65_536;
/// How many streams there may be.
pub(super) const STREAMS_MAX: usize = 262_144;
/// How many replicas there may be.
pub(super) const REPLICAS_MAX: usize = 1_048_576;

/// All entries, without what only the packet path needs.
#[derive(Debug, Default)]
pub(super) struct TableIndex {
    legs: HashMap<LegId, LegIndex>,
    /// The paths that one leg has.
    paths: HashMap<Path, LegId>,
    /// The paths that legs share.
    shared: SharedPaths,
    replicas: HashMap<ReplicaId, ReplicaIdentity>,
    streams: usize,
    /// The newest stream's.
    generation: u32,
}

#[derive(Debug)]
struct LegIndex {
    owner: usize,
    paths: Vec<Path>,
    /// That of RTCP, where it shares its path.
    shared: Option<Ssrc>,
    streams: BTreeMap<Ssrc, StreamIndex>,
    replicas: BTreeSet<ReplicaId>,
    /// SSRCs its replicas use or ever used: their keystreams are spent.
    ssrcs_used: HashSet<Ssrc>,
}

#[derive(Debug)]
struct StreamIndex {
    generation: Generation,
    rtx: Option<Ssrc>,
}

/// The fields of a replica that must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReplicaIdentity {
    leg: LegId,
    ssrc: Ssrc,
    rtx: Option<(Ssrc, u16)>,
}

/// The changes that a new value of a leg makes.
pub(super) struct LegChange {
    pub(super) owner: usize,
    pub(super) removed: Vec<Path>,
    pub(super) added: Vec<Path>,
}

/// Everything that is removed with a leg.
pub(super) struct RemovedLeg {
    pub(super) owner: usize,
    pub(super) paths: Vec<Path>,
    pub(super) streams: Vec<Generation>,
}

impl TableIndex {
    pub(super) fn owner_of_leg(&self, id: LegId) -> Option<usize> {
        self.legs.get(&id).map(|leg| leg.owner)
    }

    pub(super) fn owner_of_path(&self, path: &Path) -> Option<usize> {
        let leg = self.paths.get(path).copied().or_else(|| self.shared.a_leg_at(path));
        self.owner_of_leg(leg?)
    }

    /// The source ports of legs, each with the shard that owns the leg.
    pub(super) fn port_owners(&self) -> impl Iterator<Item = (u16, usize)> {
        let of_one = self.paths.iter().map(|(path, leg)| (path, *leg));
        let owner = |(path, leg): (&Path, LegId)| Some((path.remote.port(), self.owner_of_leg(leg)?));
        of_one.chain(self.shared.all()).filter_map(owner)
    }

    pub(super) fn owner_of_replica(&self, id: ReplicaId) -> Option<usize> {
        self.owner_of_leg(self.replicas.get(&id)?.leg)
    }

    pub(super) fn owner_of_stream(&self, key: StreamKey) -> Option<usize> {
        self.source(key).map(|source| source.shard)
    }

    /// Enters a leg; a new one is given to the shard that `owner` names, or to that of the legs
    /// beside it.
    pub(super) fn set_leg(
        &mut self,
        id: LegId,
        leg: &Leg,
        owner: impl FnOnce() -> usize,
    ) -> Result<LegChange, WriteError> {
        if leg.paths.len() > PATHS_MAX {
            return Err(WriteError::TableFull);
        }
        self.check_paths(id, leg)?;
        if !self.legs.contains_key(&id) && self.legs.len() >= LEGS_MAX {
            return Err(WriteError::TableFull);
        }
        let beside = leg.paths.first().filter(|_| leg.shared.is_some());
        let beside = beside.and_then(|path| self.owner_of_path(path));
        let leg_index = self.legs.entry(id).or_insert_with(|| LegIndex {
            owner: beside.unwrap_or_else(owner),
            paths: Vec::new(),
            shared: leg.shared,
            streams: BTreeMap::new(),
            replicas: BTreeSet::new(),
            ssrcs_used: HashSet::new(),
        });
        let old = std::mem::replace(&mut leg_index.paths, leg.paths.clone());
        let mut change = LegChange {
            owner: leg_index.owner,
            removed: old.iter().filter(|path| !leg.paths.contains(path)).copied().collect(),
            added: leg.paths.iter().filter(|path| !old.contains(path)).copied().collect(),
        };
        if let Some(ssrc) = leg.shared {
            change.added.retain(|path| self.shared.add(*path, ssrc, id));
            return Ok(change);
        }
        for path in &change.removed {
            self.paths.remove(path);
        }
        self.paths.extend(change.added.iter().map(|path| (*path, id)));
        Ok(change)
    }

    /// Refuses a path that another leg has, unless both share it and are told apart.
    fn check_paths(&self, id: LegId, leg: &Leg) -> Result<(), WriteError> {
        let known = self.legs.get(&id);
        match (leg.shared, &leg.paths[..]) {
            (Some(ssrc), [path]) => {
                let is_as_before = |known: &LegIndex| known.shared == Some(ssrc) && known.paths == [*path];
                if !known.is_none_or(is_as_before) {
                    return Err(WriteError::Fixed);
                }
                if self.paths.contains_key(path) {
                    return Err(WriteError::PathTaken);
                }
                match self.shared.is_taken(path, ssrc, id) {
                    true => Err(WriteError::SsrcTaken),
                    false => Ok(()),
                }
            }
            (Some(_), _) => Err(WriteError::Unsupported),
            (None, _) if known.is_some_and(|known| known.shared.is_some()) => Err(WriteError::Fixed),
            (None, paths) => {
                let has_another = |path: &Path| self.paths.get(path).is_some_and(|other| *other != id);
                let is_taken = |path: &Path| has_another(path) || self.shared.a_leg_at(path).is_some();
                match paths.iter().any(is_taken) {
                    true => Err(WriteError::PathTaken),
                    false => Ok(()),
                }
            }
        }
    }

    /// Removes a leg. The paths that are named with it are those that no leg has any more.
    pub(super) fn remove_leg(&mut self, id: LegId) -> Result<RemovedLeg, WriteError> {
        let mut leg_index = self.legs.remove(&id).ok_or(WriteError::UnknownLeg)?;
        if leg_index.shared.is_some() {
            let ssrcs = leg_index.ssrcs_in();
            leg_index.paths.retain(|path| self.shared.remove(path, &ssrcs));
        }
        for path in &leg_index.paths {
            self.paths.remove(path);
        }
        for replica in &leg_index.replicas {
            self.replicas.remove(replica);
        }
        self.streams -= leg_index.streams.len();
        Ok(RemovedLeg {
            owner: leg_index.owner,
            paths: leg_index.paths,
            streams: leg_index
                .streams
                .into_values()
                .map(|stream| stream.generation)
                .collect(),
        })
    }

    pub(super) fn set_stream(&mut self, key: StreamKey, stream: &Stream) -> Result<Source, WriteError> {
        let leg_index = self.legs.get_mut(&key.leg).ok_or(WriteError::UnknownLeg)?;
        let mut others = leg_index.streams.iter().filter(|(ssrc, _)| **ssrc != key.ssrc);
        let taken = |ssrc: Ssrc| ssrc == key.ssrc || stream.rtx == Some(ssrc);
        if stream.rtx == Some(key.ssrc) || others.any(|(ssrc, other)| taken(*ssrc) || other.rtx.is_some_and(taken)) {
            return Err(WriteError::SsrcTaken);
        }
        let shared = leg_index.shared.map(|of_rtcp| (of_rtcp, leg_index.paths[0]));
        if let Some((of_rtcp, path)) = shared {
            let mut ssrcs = [Some(key.ssrc), stream.rtx].into_iter().flatten();
            if ssrcs.any(|ssrc| ssrc == of_rtcp || self.shared.is_taken(&path, ssrc, key.leg)) {
                return Err(WriteError::SsrcTaken);
            }
        }
        let is_new = !leg_index.streams.contains_key(&key.ssrc);
        let most = match leg_index.shared {
            Some(_) => STREAMS_PER_SHARED_LEG_MAX,
            None => STREAMS_PER_LEG_MAX,
        };
        if is_new && (leg_index.streams.len() >= most || self.streams >= STREAMS_MAX) {
            return Err(WriteError::TableFull);
        }
        let stream_index = leg_index.streams.entry(key.ssrc).or_insert_with(|| {
            self.streams += 1;
            self.generation = self.generation.wrapping_add(1);
            StreamIndex {
                generation: Generation(self.generation),
                rtx: None,
            }
        });
        let before = std::mem::replace(&mut stream_index.rtx, stream.rtx);
        if let Some((_, path)) = shared {
            self.shared.remove(&path, before.as_slice());
            for ssrc in [Some(key.ssrc), stream.rtx].into_iter().flatten() {
                self.shared.add(path, ssrc, key.leg);
            }
        }
        Ok(Source {
            key,
            generation: stream_index.generation,
            shard: leg_index.owner,
        })
    }

    pub(super) fn remove_stream(&mut self, key: StreamKey) -> Result<Source, WriteError> {
        let source = self.source(key).ok_or(WriteError::UnknownStream)?;
        let leg_index = self.legs.get_mut(&key.leg).ok_or(WriteError::UnknownLeg)?;
        let removed = leg_index.streams.remove(&key.ssrc);
        if leg_index.shared.is_some() {
            let rtx = removed.and_then(|stream| stream.rtx);
            let path = leg_index.paths[0];
            self.shared.remove(&path, &[key.ssrc]);
            self.shared.remove(&path, rtx.as_slice());
        }
        self.streams -= 1;
        Ok(source)
    }

    fn source(&self, key: StreamKey) -> Option<Source> {
        let leg_index = self.legs.get(&key.leg)?;
        let stream_index = leg_index.streams.get(&key.ssrc)?;
        Some(Source {
            key,
            generation: stream_index.generation,
            shard: leg_index.owner,
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
        let identity = ReplicaIdentity {
            leg: replica.leg,
            ssrc: replica.ssrc,
            rtx: replica.rtx,
        };
        let replicas = self.replicas.len();
        match self.replicas.entry(id) {
            Entry::Occupied(old) if *old.get() != identity => return Err(WriteError::Fixed),
            _ if replica.first_sequence >= 1 << 15 => return Err(WriteError::FirstSequence),
            Entry::Occupied(_) => {}
            Entry::Vacant(new) => {
                let leg_index = self.legs.get_mut(&replica.leg).expect("its owner was found");
                leg_index.reserve(&identity, replicas)?;
                leg_index.replicas.insert(id);
                new.insert(identity);
            }
        }
        Ok((owner, source))
    }

    pub(super) fn remove_replica(&mut self, id: ReplicaId) -> Result<usize, WriteError> {
        let identity = self.replicas.remove(&id).ok_or(WriteError::UnknownReplica)?;
        let leg_index = self.legs.get_mut(&identity.leg).expect("a replica goes with its leg");
        leg_index.replicas.remove(&id);
        Ok(leg_index.owner)
    }
}

impl LegIndex {
    /// The SSRCs that its peer sends with.
    fn ssrcs_in(&self) -> Vec<Ssrc> {
        let of_streams = self.streams.iter().flat_map(|(ssrc, stream)| [Some(*ssrc), stream.rtx]);
        of_streams.chain([self.shared]).flatten().collect()
    }

    /// Takes the SSRCs of a new replica for good, or says why not.
    fn reserve(&mut self, replica: &ReplicaIdentity, replicas: usize) -> Result<(), WriteError> {
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
