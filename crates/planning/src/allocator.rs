mod branch;
mod changes;
mod forest;
mod placed;

use std::collections::BTreeMap;

use forest::Forest;
use placed::{Change, Placed};

use crate::design::{Demand, Design};
use crate::device::{Device, Resource};
use crate::engine::{MeetingId, ReplicationEngine, Route, Source};
use crate::meeting::Meeting;

/// Units in use, in the order of [`Resource::ALL`].
type Used = [u64; Resource::ALL.len()];

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
/// a change fits if the sums of demands do, and the nodes in use during it. A participant who
/// leaves never raises a demand.
///
/// Source: Scallop section 6.2.
#[derive(Debug)]
pub struct Allocator {
    device: Device,
    forest: Forest,
    meetings: BTreeMap<MeetingId, Placed>,
    used: Used,
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
    ///
    /// The cheapest design is taken for which the nodes suffice before, during and after the
    /// change. So a meeting may keep a design that it does not need any more, until a later change
    /// of it finds the nodes.
    ///
    /// Errors: no design fits. The refusal names what the cheapest one lacks.
    pub fn set(
        &mut self,
        id: MeetingId,
        meeting: Meeting,
        engine: &mut impl ReplicationEngine,
    ) -> Result<Design, Refusal> {
        let unplaced = Placed::default();
        let held = self.meetings.get(&id).unwrap_or(&unplaced);
        let (change, demand, used) = self.fitting(held, &meeting)?;
        self.used = used;
        let mut placed = self.meetings.remove(&id).unwrap_or(unplaced);
        placed.change(id, change, &self.device, &mut self.forest, engine);
        placed.demand = demand;
        let design = placed.design;
        if demand.is_some() {
            self.meetings.insert(id, placed);
        }
        Ok(design)
    }

    /// The change to the cheapest design that fits, the demand after it, and the sums of demands.
    ///
    /// After somebody has left, the held design always fits: no branch of it gets a node.
    fn fitting(&self, held: &Placed, meeting: &Meeting) -> Result<(Change, Option<Demand>, Used), Refusal> {
        let cheapest = Design::of(meeting);
        let mut refusal = None;
        for design in Design::ALL {
            // Two participants need no node, so that there is nothing to wait for.
            let is_kept = cheapest != Design::TwoParty && design > cheapest && design <= held.design;
            if design != cheapest && !is_kept {
                continue;
            }
            let demand = (!meeting.is_empty()).then(|| Demand::of(&self.device, meeting, design));
            let fitting = self.sums(held.demand, demand).and_then(|used| {
                let change = held.plan(meeting, design);
                let nodes = change.nodes_at_most(self.forest.nodes_used());
                let refusal = Refusal {
                    resource: Resource::Nodes,
                };
                (nodes <= self.device.nodes as usize)
                    .then_some((change, demand, used))
                    .ok_or(refusal)
            });
            match fitting {
                Ok(fitting) => return Ok(fitting),
                Err(first) => refusal = refusal.or(Some(first)),
            }
        }
        Err(refusal.unwrap_or(Refusal {
            resource: Resource::Meetings,
        }))
    }

    /// The sums of all demands, with a meeting's new one in place of its held one.
    fn sums(&self, held: Option<Demand>, demand: Option<Demand>) -> Result<Used, Refusal> {
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
        Ok(used)
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
