//! The snapshots of rooms, as their media nodes keep them for the next controller.
//!
//! A snapshot has a part of the room itself, one of each participant, and those of front ends.

mod node_parts;

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::Part;
use cluster::seal::Sealer;
use controller::{Controller, ParticipantChanges, SavedParticipant, SavedRoom};
use serde::Serialize;
use southbound::{NodeId, RoomContent};

use node_parts::{NodeParts, PartHashes};

/// How long changes are gathered before they are saved.
const GATHER: Duration = Duration::from_millis(20);

/// How long rooms are saved in a row. Those that are left wait for the next turn.
const TURN: Duration = Duration::from_millis(10);

/// Saving takes at most one part in so many of the controller's time.
const SHARE: u32 = 10;

/// The part of a room itself.
const ROOM: &str = "room";

/// The first letters of parts of participants, which have their ids.
const PARTICIPANT: &str = "PA_";

/// The parts that nodes keep.
#[derive(Debug)]
pub struct Snapshots {
    sealer: Sealer,
    /// By room: the parts that nodes have.
    kept: BTreeMap<Arc<str>, NodeParts>,
    /// Participants that were written, to be compared with what nodes have.
    written: u64,
    /// By room: the parts of front ends.
    keepsakes: BTreeMap<Arc<str>, Keepsakes>,
    /// Rooms with changed parts of front ends, which are saved first.
    urgent: BTreeSet<Arc<str>>,
    /// Rooms that may have changed otherwise, in their order.
    changed: VecDeque<Arc<str>>,
    is_changed: HashSet<Arc<str>>,
    /// Rooms that were saved since this was last asked for.
    saved: Vec<Arc<str>>,
    flaws: Vec<Flaw>,
    due: Option<Instant>,
    /// Saving has a rest until then.
    rest: Option<Instant>,
}

type Keepsakes = BTreeMap<Arc<str>, Arc<[u8]>>;

/// A message about a room for one of its nodes.
pub type ToRoom = (Arc<str>, NodeId, RoomContent);

/// A part that could not be saved or read. Its participant joins anew with the next owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The name of the room, as its clients say it.
    pub room: String,
    /// The name of the part.
    pub part: String,
    /// The fate of the part.
    pub what: &'static str,
    /// The reason, for people.
    pub why: String,
}

impl Flaw {
    fn new(room: &str, part: &str, what: &'static str, why: &impl fmt::Display) -> Self {
        Self {
            room: room.to_owned(),
            part: part.to_owned(),
            what,
            why: why.to_string(),
        }
    }
}

/// The parts of a room that can be read.
#[derive(Debug, Default)]
pub struct Opened {
    /// The room itself; `None` without its part.
    pub room: Option<SavedRoom>,
    /// The participants in the order of their ids.
    pub participants: Vec<SavedParticipant>,
    /// The parts of front ends, in the order of the names.
    pub keepsakes: Vec<(Arc<str>, Arc<[u8]>)>,
    /// All of it as nodes have it.
    hashes: PartHashes,
}

impl Snapshots {
    /// Nothing is kept yet.
    pub fn new(sealer: Sealer) -> Self {
        Self {
            sealer,
            kept: BTreeMap::new(),
            written: 0,
            keepsakes: BTreeMap::new(),
            urgent: BTreeSet::new(),
            changed: VecDeque::new(),
            is_changed: HashSet::new(),
            saved: Vec::new(),
            flaws: Vec::new(),
            due: None,
            rest: None,
        }
    }

    /// Something may have changed.
    pub fn note_change(&mut self, now: Instant) {
        let due = self.rest.map_or(now + GATHER, |rest| rest.max(now + GATHER));
        self.due.get_or_insert(due);
    }

    /// When [`save_changes`](Self::save_changes) wants to be called.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Takes what a front end has to keep of a room, or that it is over.
    pub fn keep(&mut self, now: Instant, room: &Arc<str>, part: &str, content: Option<Vec<u8>>) {
        let keepsakes = self.keepsakes.entry(room.clone()).or_default();
        match content {
            Some(content) => drop(keepsakes.insert(part.into(), content.into())),
            None => drop(keepsakes.remove(part)),
        }
        if keepsakes.is_empty() {
            self.keepsakes.remove(room);
        }
        self.urgent.insert(room.clone());
        self.note_change(now);
    }

    /// Whether front ends have something to keep of a room.
    pub fn has_keepsakes(&self, room: &str) -> bool {
        self.keepsakes.contains_key(room)
    }

    /// The rooms that were saved since this was last called.
    pub fn take_saved(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.saved)
    }

    /// The parts that could not be saved or read since this was last called.
    pub fn take_flaws(&mut self) -> Vec<Flaw> {
        std::mem::take(&mut self.flaws)
    }

    /// The messages that bring the nodes' parts to what rooms are now: of all rooms, or of as many
    /// as a turn has time for. `clock` says how late it is.
    pub fn save_changes(
        &mut self,
        rooms: &mut Controller,
        spare: &[NodeId],
        is_last: bool,
        clock: impl Fn() -> Instant,
    ) -> Vec<ToRoom> {
        let begun = clock();
        for room in rooms.takeover().take_unsaved() {
            if self.is_changed.insert(room.clone()) {
                self.changed.push_back(room);
            }
        }
        let mut messages = Vec::new();
        let mut took = Duration::ZERO;
        while is_last || took < TURN {
            let Some(room) = self.next_changed() else { break };
            messages.extend(self.save(rooms, &room, spare));
            took = clock().saturating_duration_since(begun);
        }
        let rest = begun + took * SHARE;
        let is_done = self.is_changed.is_empty() && self.urgent.is_empty();
        (self.rest, self.due) = (Some(rest), (!is_done).then_some(rest));
        messages
    }

    fn next_changed(&mut self) -> Option<Arc<str>> {
        if let Some(room) = self.urgent.pop_first() {
            self.is_changed.remove(&room);
            return Some(room);
        }
        // One that was urgent meanwhile is not among them any more.
        while let Some(room) = self.changed.pop_front() {
            if self.is_changed.remove(&room) {
                return Some(room);
            }
        }
        None
    }

    /// The messages that bring the parts of one room at its nodes to what it is now. A room on no
    /// node is kept by a spare one.
    pub fn save(&mut self, rooms: &mut Controller, room: &Arc<str>, spare: &[NodeId]) -> Vec<ToRoom> {
        let mut takeover = rooms.takeover();
        let saved = takeover.room(room);
        let keepsakes = self.keepsakes.get(room);
        if saved.is_none() && keepsakes.is_none() && !self.kept.contains_key(room) {
            return Vec::new();
        }
        let mut kept = self.kept.remove(room).unwrap_or_default();
        let mut nodes: Vec<_> = takeover.nodes(room).into_iter().collect();
        if nodes.is_empty() {
            let mut before = kept.shared.keys().map(|(_, node)| *node);
            let before = before.find(|node| spare.contains(node));
            nodes.extend(before.or_else(|| spare.get(hash(room.as_bytes()) as usize % spare.len().max(1)).copied()));
        }
        let whole: Option<Arc<[u8]>> = saved.map(|saved| written(&saved).into());
        let whole = whole.map(|whole| (Arc::from(ROOM), whole));
        // An event is kept before the change that it is of, so that it is told at least once.
        let of_front_ends = keepsakes.into_iter().flatten();
        let of_front_ends = of_front_ends.map(|(name, content)| (name.clone(), content.clone()));
        let of_all: Vec<_> = of_front_ends.chain(whole).collect();
        let changes = takeover.take_changes(room, !kept.is_compared);
        let mut messages = Vec::new();
        self.save_shared(room, &mut kept, &nodes, &of_all, &mut messages);
        self.save_people(room, &mut kept, changes, &mut messages);
        kept.is_compared = true;
        if !kept.is_empty() {
            self.kept.insert(room.clone(), kept);
        }
        self.saved.push(room.clone());
        messages
    }

    /// The parts that all nodes of a room have.
    fn save_shared(
        &mut self,
        room: &Arc<str>,
        kept: &mut NodeParts,
        nodes: &[NodeId],
        parts: &[(Arc<str>, Arc<[u8]>)],
        messages: &mut Vec<ToRoom>,
    ) {
        let mut before = std::mem::take(&mut kept.shared);
        for node in nodes {
            for (part, content) in parts {
                let (key, hash) = ((part.clone(), *node), hash(content));
                if before.remove(&key) != Some(hash) {
                    self.seal(room, *node, part, content, messages);
                }
                kept.shared.insert(key, hash);
            }
        }
        let forgotten = before.into_keys();
        messages.extend(forgotten.map(|(part, node)| (room.clone(), node, RoomContent::Forget { part })));
    }

    /// The parts of the participants that may have changed.
    fn save_people(
        &mut self,
        room: &Arc<str>,
        kept: &mut NodeParts,
        changes: ParticipantChanges,
        messages: &mut Vec<ToRoom>,
    ) {
        let mut gone: BTreeSet<Arc<str>> = changes.gone.iter().map(|sid| Arc::from(sid.as_str())).collect();
        if changes.is_everybody {
            gone.extend(kept.people().cloned());
        }
        for participant in &changes.participants {
            let (part, node) = (Arc::from(participant.sid.as_str()), NodeId(participant.node));
            let content = written(participant);
            self.written += 1;
            gone.remove(&part);
            let (is_new, others) = kept.set_person(&part, node, hash(&content));
            if is_new {
                self.seal(room, node, &part, &content, messages);
            }
            for other in others {
                messages.push((room.clone(), other, RoomContent::Forget { part: part.clone() }));
            }
        }
        for part in gone {
            for node in kept.remove_person(&part) {
                messages.push((room.clone(), node, RoomContent::Forget { part: part.clone() }));
            }
        }
    }

    fn seal(&mut self, room: &Arc<str>, node: NodeId, part: &Arc<str>, content: &[u8], messages: &mut Vec<ToRoom>) {
        match self.sealer.seal(room, part, content) {
            Ok(blob) => {
                let (part, blob) = (part.clone(), blob.into());
                messages.push((room.clone(), node, RoomContent::Save { part, blob }));
            }
            Err(error) => self.flaws.push(Flaw::new(room, part, "is not kept", &error)),
        }
    }

    /// How many participants were written so far, to be compared with what nodes have.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// A node is told everything of a room again.
    pub fn forget_node(&mut self, room: &str, node: NodeId) {
        if let Some(kept) = self.kept.get_mut(room) {
            kept.forget_node(node);
        }
    }

    /// Whether a node is to have a part of a room.
    pub fn has(&self, room: &str, node: NodeId, part: &Arc<str>) -> bool {
        let kept = self.kept.get(room);
        kept.is_some_and(|kept| kept.has(node, part))
    }

    /// Nothing of the room is kept any more, or it is another controller's.
    pub fn forget(&mut self, room: &str) {
        self.kept.remove(room);
        self.keepsakes.remove(room);
        self.urgent.remove(room);
    }

    /// Reads the parts of a room.
    pub fn open(&mut self, room: &str, parts: &[(NodeId, Part)]) -> Opened {
        let mut opened = Opened::default();
        for (node, Part { name, blob }) in parts {
            let content = match self.sealer.open(room, name, blob) {
                Ok(content) => content,
                Err(error) => {
                    self.flaws.push(Flaw::new(room, name, "is lost", &error));
                    continue;
                }
            };
            let read = match &**name {
                ROOM => serde_json::from_slice(&content).map(|saved| opened.room = Some(saved)),
                name if name.starts_with(PARTICIPANT) => {
                    serde_json::from_slice(&content).map(|saved| opened.participants.push(saved))
                }
                _ => {
                    opened.keepsakes.push((name.clone(), content.as_slice().into()));
                    Ok(())
                }
            };
            match read {
                Ok(()) => drop(opened.hashes.insert((name.clone(), *node), hash(&content))),
                Err(error) => self.flaws.push(Flaw::new(room, name, "cannot be read", &error)),
            }
        }
        opened
    }

    /// This controller goes on with everything that it could read of a room, so that nodes have to
    /// be told only what changes.
    pub fn adopt(&mut self, room: &Arc<str>, opened: Opened) {
        self.keepsakes.entry(room.clone()).or_default().extend(opened.keepsakes);
        if !self.has_parts(room) {
            self.keepsakes.remove(room);
        }
        self.kept.entry(room.clone()).or_default().extend(opened.hashes);
    }

    fn has_parts(&self, room: &str) -> bool {
        self.keepsakes.get(room).is_some_and(|parts| !parts.is_empty())
    }
}

fn written(saved: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(saved).unwrap_or_default()
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
