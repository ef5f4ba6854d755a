mod branch;
mod changes;
mod forest;
mod placed;

use std::collections::BTreeMap;

use forest::Forest;
use placed::Placed;

use crate::design::{Demand, Design};
use crate::device::{Device, Resource};
use crate::engine::{MeetingId, ReplicationEngine, Route, Source};
use crate::meeting::Meeting;

/// A change that does not fit. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The first resource, in the order of [`Resource::ALL`], that has too little left. Replica ids
    /// also stand for the participants of one meeting.
    pub resource: Resource,
}

/// Places meetings into the trees of one device and moves them between designs.
///
/// Each tree has branches that are told apart by exclusion ids. A branch serves one meeting, or one
/// layer of it, or one sender's layer. Branches of any meetings share a tree, so no tree is wasted:
/// a change fits if the sums of demands do. A participant who leaves never raises a demand.
///
/// Source: Scallop section 6.2.
#[derive(Debug)]
pub struct Allocator {
    device: Device,
    forest: Forest,
    meetings: BTreeMap<MeetingId, Placed>,
    used: [u64; Resource::ALL.len()],
}

impl Allocator {
    /// An allocator for an empty device.
    pub fn new(device: Device) -> Self {
        let forest = Forest::new(device.branches_per_tree());
        Self {
            device,
            forest,
            meetings: BTreeMap::new(),
            used: [0; Resource::ALL.len()],
        }
    }

    /// Replaces a meeting; an empty one is removed. A place that is taken in both is the same
    /// participant.
    ///
    /// Nodes and trees are added first, then routes change, then nodes and trees are removed.
    /// During the change a receiver may get a layer too many, but no copy twice and none too few.
    /// If the nodes do not suffice for both, those not needed any more are removed first, and
    /// copies are missing until the routes change.
    pub fn set(
        &mut self,
        id: MeetingId,
        meeting: Meeting,
        engine: &mut impl ReplicationEngine,
    ) -> Result<Design, Refusal> {
        let design = Design::of(&meeting);
        let demand = (!meeting.is_empty()).then(|| Demand::of(&self.device, &meeting, design));
        self.admit(id, demand)?;
        let mut placed = self.meetings.remove(&id).unwrap_or_default();
        placed.change(id, meeting, design, &self.device, &mut self.forest, engine);
        if demand.is_some() {
            placed.demand = demand;
            self.meetings.insert(id, placed);
        }
        Ok(design)
    }

    /// Counts a meeting's new demand in place of its old one, if it fits.
    fn admit(&mut self, id: MeetingId, demand: Option<Demand>) -> Result<(), Refusal> {
        let held = self.meetings.get(&id).and_then(|placed| placed.demand);
        let units = |demand: &Option<Demand>, resource| demand.as_ref().map_or(0, |it| it.units(resource));
        let mut used = self.used;
        for (sum, resource) in used.iter_mut().zip(Resource::ALL) {
            // Each branch has replica ids of its own: they do not add up.
            *sum = if resource == Resource::ReplicaIds {
                0
            } else {
                *sum - units(&held, resource)
            };
            *sum = sum.saturating_add(units(&demand, resource));
            if *sum > self.device.supply(resource) {
                return Err(Refusal { resource });
            }
        }
        self.used = used;
        Ok(())
    }

    /// A meeting as it is placed.
    pub fn meeting(&self, id: MeetingId) -> Option<&Meeting> {
        self.meetings.get(&id).map(|placed| &placed.meeting)
    }

    /// The design of a meeting.
    pub fn design(&self, id: MeetingId) -> Option<Design> {
        self.meetings.get(&id).map(|placed| placed.design)
    }

    /// The treatment of a source's packets.
    pub fn route(&self, source: Source) -> Option<Route> {
        self.meetings
            .get(&source.meeting)?
            .routes(source.meeting, &self.device)
            .remove(&source)
    }

    /// The number of meetings.
    pub fn len(&self) -> usize {
        self.meetings.len()
    }

    /// Whether there is no meeting.
    pub fn is_empty(&self) -> bool {
        self.meetings.is_empty()
    }

    /// Units of a resource that are left. Replica ids are those of an unused branch.
    pub fn left(&self, resource: Resource) -> u64 {
        let position = Resource::ALL.iter().position(|it| *it == resource);
        let used = position
            .filter(|_| resource != Resource::ReplicaIds)
            .map_or(0, |at| self.used[at]);
        self.device.supply(resource) - used
    }
}
