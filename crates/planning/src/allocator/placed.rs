use std::collections::{BTreeMap, BTreeSet};

use super::branch::Branch;
use super::forest::Forest;
use crate::design::{Demand, Design};
use crate::device::Device;
use crate::engine::{MeetingId, ReplicationEngine, Route, Source};
use crate::meeting::{Meeting, Place};
use crate::quality::LAYERS;

/// A meeting in the trees.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) meeting: Meeting,
    pub(super) design: Design,
    pub(super) demand: Option<Demand>,
    branches: Vec<Branch>,
}

impl Default for Placed {
    fn default() -> Self {
        Self {
            meeting: Meeting::default(),
            design: Design::TwoParty,
            demand: None,
            branches: Vec::new(),
        }
    }
}

impl Placed {
    /// The treatment of all packets of the meeting.
    pub(super) fn routes(&self, id: MeetingId, device: &Device) -> BTreeMap<Source, Route> {
        let mut routes = BTreeMap::new();
        for (rank, sender) in self.meeting.senders().enumerate() {
            for layer in 0..LAYERS {
                let route = match self.design.branch(rank, layer) {
                    Some(at) => self.branches.get(at).map(|branch| branch.route(sender, device)),
                    None => self.meeting.receivers(sender).next().map(Route::Unicast),
                };
                routes.extend(route.map(|route| {
                    (
                        Source {
                            meeting: id,
                            sender,
                            layer,
                        },
                        route,
                    )
                }));
            }
        }
        routes
    }

    /// Replaces the meeting. The forest has the branches for it.
    pub(super) fn change(
        &mut self,
        id: MeetingId,
        meeting: Meeting,
        design: Design,
        device: &Device,
        forest: &mut Forest,
        engine: &mut impl ReplicationEngine,
    ) {
        let before = self.routes(id, device);
        let branches = design.branches(meeting.senders().count() as u64) as usize;
        let targets: Vec<BTreeSet<Place>> = (0..branches)
            .map(|at| design.members(&meeting, at).into_iter().collect())
            .collect();
        // Nodes of participants who have left go first: their copies have no receiver.
        for branch in &mut self.branches {
            branch.retain(id, |place| meeting.contains(place), device, forest, engine);
        }
        (self.meeting, self.design) = (meeting, design);
        let is_tight = forest.nodes_used() + self.missing(&targets) > device.nodes as usize;
        if is_tight {
            self.shrink(id, &targets, device, forest, engine);
        }
        self.grow(id, &targets, device, forest, engine);
        let after = self.routes(id, device);
        for source in before.keys().filter(|source| !after.contains_key(source)) {
            engine.set_route(*source, None);
        }
        for (source, route) in after.iter().filter(|(source, route)| before.get(source) != Some(route)) {
            engine.set_route(*source, Some(*route));
        }
        self.shrink(id, &targets, device, forest, engine);
    }

    /// Nodes that the targets need beyond those there are.
    fn missing(&self, targets: &[BTreeSet<Place>]) -> usize {
        let there = |at: usize, place: &Place| self.branches.get(at).is_some_and(|it| it.contains(*place));
        targets
            .iter()
            .enumerate()
            .map(|(at, target)| target.iter().filter(|place| !there(at, place)).count())
            .sum()
    }

    /// Adds the branches and nodes that the targets need.
    fn grow(
        &mut self,
        id: MeetingId,
        targets: &[BTreeSet<Place>],
        device: &Device,
        forest: &mut Forest,
        engine: &mut impl ReplicationEngine,
    ) {
        while self.branches.len() < targets.len() {
            self.branches.push(Branch::new(forest.take_branch(engine)));
        }
        for (branch, target) in self.branches.iter_mut().zip(targets) {
            branch.add(id, target, device, forest, engine);
        }
    }

    /// Removes the branches and nodes that the targets do not need.
    fn shrink(
        &mut self,
        id: MeetingId,
        targets: &[BTreeSet<Place>],
        device: &Device,
        forest: &mut Forest,
        engine: &mut impl ReplicationEngine,
    ) {
        for (branch, target) in self.branches.iter_mut().zip(targets) {
            branch.retain(id, |place| target.contains(&place), device, forest, engine);
        }
        while self.branches.len() > targets.len() {
            let Some(mut branch) = self.branches.pop() else { return };
            branch.retain(id, |_| false, device, forest, engine);
            forest.release_branch(branch.slot(), engine);
        }
    }
}
