//! The model, watched.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use dataplane::{
    Capabilities, Clock, Counters, DataPlane, Egress, Event, Ingress, Inject, LegId, Model, Path, ReplicaId, StreamKey,
    Update, WriteError,
};
use wire::Ssrc;

use crate::checks::{Invariant, Violation};

/// The model, and the entries written to it, kept separately from the model's own.
pub(crate) struct Plane {
    model: Model,
    legs: BTreeMap<LegId, Leg>,
    replicas: BTreeMap<ReplicaId, (LegId, Ssrc)>,
    /// The source of each replica: a change of layer is no new beginning.
    followed: BTreeMap<ReplicaId, StreamKey>,
    lives: u64,
    events: VecDeque<Event>,
    /// Replicas that have begun to follow a stream, by leg life and SSRC, since the last look.
    switched: Vec<(u64, Ssrc)>,
    /// Writes that are not allowed.
    refused: Option<Violation>,
}

/// A leg from its first entry to its last.
struct Leg {
    /// Tells it from others that had the same id before.
    life: u64,
    paths: Vec<Path>,
    ssrcs: BTreeMap<Ssrc, Role>,
}

/// The use of an SSRC of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Media of a replica.
    Media,
    /// Retransmissions of the media with this SSRC.
    Repair(Ssrc),
    /// Its replica was removed. No packet may be sent with it any more.
    Spent,
}

impl Plane {
    /// That of one of several media nodes, whose legs' lives are others.
    pub(crate) fn new(clock: Clock, machine: usize) -> Self {
        Self {
            model: Model::new(clock),
            legs: BTreeMap::new(),
            replicas: BTreeMap::new(),
            followed: BTreeMap::new(),
            lives: (machine as u64) << 32,
            events: VecDeque::new(),
            switched: Vec::new(),
            refused: None,
        }
    }

    /// A datagram arrives. Datagrams sent because of it are returned.
    pub(crate) fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) -> Vec<Egress> {
        let mut out = Vec::new();
        self.model.packet(now, Ingress { path, bytes }, &mut out);
        self.watch_events();
        out
    }

    pub(crate) fn take_injected(&mut self) -> Vec<Egress> {
        self.model.take_injected()
    }

    pub(crate) fn take_refused(&mut self) -> Option<Violation> {
        self.refused.take()
    }

    /// Whether this replica has begun to follow a stream since this was asked last.
    pub(crate) fn take_switched(&mut self, life: u64, ssrc: Ssrc) -> bool {
        let position = self.switched.iter().position(|switched| *switched == (life, ssrc));
        position.map(|position| self.switched.swap_remove(position)).is_some()
    }

    /// The life of this leg, and the use of the SSRC in it.
    pub(crate) fn role(&self, leg: LegId, ssrc: Ssrc) -> Option<(u64, Role)> {
        let leg = self.legs.get(&leg)?;
        Some((leg.life, *leg.ssrcs.get(&ssrc)?))
    }

    /// Whether any leg has a path with this property.
    pub(crate) fn any_path(&self, is_theirs: impl Fn(&Path) -> bool) -> bool {
        self.legs.values().flat_map(|leg| &leg.paths).any(is_theirs)
    }

    /// How many legs, streams and replicas there are.
    pub(crate) fn len(&self) -> (usize, usize, usize) {
        self.model.len()
    }

    fn watch_events(&mut self) {
        while let Some(event) = self.model.poll() {
            if let Event::Selected { replica, source, .. } = &event
                && self.followed.insert(*replica, *source) != Some(*source)
                && let Some((leg, ssrc)) = self.replicas.get(replica)
                && let Some(leg) = self.legs.get(leg)
            {
                self.switched.push((leg.life, *ssrc));
            }
            self.events.push_back(event);
        }
    }

    fn watch_update(&mut self, update: Update) {
        match update {
            Update::SetLeg(id, entry) => {
                let lives = &mut self.lives;
                let leg = self.legs.entry(id).or_insert_with(|| {
                    *lives += 1;
                    Leg {
                        life: *lives,
                        paths: Vec::new(),
                        ssrcs: BTreeMap::new(),
                    }
                });
                leg.paths = entry.paths;
            }
            Update::SetPace(..) | Update::SetFeedback(..) | Update::SetCopied(..) => {}
            Update::RemoveLeg(id) => {
                self.legs.remove(&id);
                self.replicas.retain(|_, (leg, _)| *leg != id);
                let replicas = &self.replicas;
                self.followed
                    .retain(|replica, source| source.leg != id && replicas.contains_key(replica));
            }
            Update::SetReplica(id, entry) => {
                if entry.paused || entry.source.is_none() {
                    self.followed.remove(&id);
                }
                let is_new = self.replicas.insert(id, (entry.leg, entry.ssrc)).is_none();
                let repair = entry.rtx.map(|(ssrc, _)| (ssrc, Role::Repair(entry.ssrc)));
                let leg = self.legs.get_mut(&entry.leg).expect("the model took it");
                for (ssrc, role) in std::iter::once((entry.ssrc, Role::Media))
                    .chain(repair)
                    .filter(|_| is_new)
                {
                    if leg.ssrcs.insert(ssrc, role).is_some() {
                        self.refused = Some(Violation::new(
                            Invariant::Keystream,
                            format!("SSRC {ssrc} is used again on leg {:?}", entry.leg),
                        ));
                    }
                }
            }
            Update::RemoveReplica(id) => {
                self.followed.remove(&id);
                let Some((leg, media)) = self.replicas.remove(&id) else {
                    return;
                };
                let Some(leg) = self.legs.get_mut(&leg) else { return };
                for (ssrc, role) in &mut leg.ssrcs {
                    if *ssrc == media || *role == Role::Repair(media) {
                        *role = Role::Spent;
                    }
                }
            }
            Update::RemoveStream(key) => self.followed.retain(|_, source| *source != key),
            Update::SetStream(..) | Update::SetRelay(..) | Update::RemoveRelay(_) => {}
        }
    }
}

impl DataPlane for Plane {
    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        let written = self.model.write(now, update.clone());
        match written {
            Ok(()) => self.watch_update(update),
            Err(error) => {
                self.refused = Some(Violation::new(
                    Invariant::Tables,
                    format!("the model refuses {update:?}: {error:?}"),
                ));
            }
        }
        written
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.model.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        self.watch_events();
        self.events.pop_front()
    }

    fn counters(&mut self) -> Counters {
        self.model.counters()
    }
}
