use std::collections::{BTreeMap, BTreeSet};

use super::branch::Branch;
use super::forest::Forest;
use crate::design::{BranchKey, Demand, Design};
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
    branches: BTreeMap<BranchKey, Branch>,
}

/// The way from one state of a meeting to another.
#[derive(Debug)]
pub(super) struct Change {
    meeting: Meeting,
    design: Design,
    targets: Vec<Target>,
    /// Nodes of participants who leave.
    gone: usize,
    /// Nodes that are added.
    added: usize,
}

/// A branch that is needed afterwards.
#[derive(Debug)]
struct Target {
    key: BranchKey,
    /// The branch that becomes this one; a new one if there is none.
    from: Option<BranchKey>,
    members: BTreeSet<Place>,
}

impl Change {
    /// The most nodes there are during the change, if `used` are in use before it.
    pub(super) fn nodes_at_most(&self, used: usize) -> usize {
        used - self.gone + self.added
    }
}

impl Default for Placed {
    fn default() -> Self {
        Self {
            meeting: Meeting::default(),
            design: Design::TwoParty,
            demand: None,
            branches: BTreeMap::new(),
        }
    }
}

impl Placed {
    /// The treatment of all packets of the meeting.
    pub(super) fn routes(&self, id: MeetingId, device: &Device) -> BTreeMap<Source, Route> {
        let mut routes = BTreeMap::new();
        for sender in self.meeting.senders() {
            for layer in 0..LAYERS {
                let route = match self.design.branch(sender, layer) {
                    Some(key) => self.branches.get(&key).map(|branch| branch.route(sender, device)),
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

    /// The way to another state.
    ///
    /// A branch that is not needed any more becomes one that is, of the same layer if there is one.
    /// So there are never more branches than before or after.
    pub(super) fn plan(&self, meeting: &Meeting, design: Design) -> Change {
        let keys = design.keys(meeting);
        let mut free: Vec<_> = self
            .branches
            .keys()
            .copied()
            .filter(|key| !keys.contains(key))
            .collect();
        let targets: Vec<_> = keys
            .into_iter()
            .map(|key| Target {
                key,
                from: self.origin(key, &mut free),
                members: design.members(meeting, key),
            })
            .collect();
        let has = |target: &Target, place: &Place| {
            let branch = target.from.and_then(|from| self.branches.get(&from));
            branch.is_some_and(|branch| branch.contains(*place))
        };
        let lacking = |target: &Target| target.members.iter().filter(|place| !has(target, place)).count();
        let left = |branch: &Branch| branch.receivers().filter(|place| !meeting.contains(*place)).count();
        Change {
            added: targets.iter().map(lacking).sum(),
            gone: self.branches.values().map(left).sum(),
            meeting: meeting.clone(),
            design,
            targets,
        }
    }

    /// The branch that becomes the one of this key.
    fn origin(&self, key: BranchKey, free: &mut Vec<BranchKey>) -> Option<BranchKey> {
        if self.branches.contains_key(&key) {
            return Some(key);
        }
        let alike = free.iter().position(|other| other.is_of_layer_of(key));
        let at = alike.or_else(|| free.len().checked_sub(1))?;
        Some(free.remove(at))
    }

    /// Makes a change. The forest has the branches and nodes for it.
    pub(super) fn change(
        &mut self,
        id: MeetingId,
        change: Change,
        device: &Device,
        forest: &mut Forest,
        engine: &mut impl ReplicationEngine,
    ) {
        let before = self.routes(id, device);
        // Nodes of participants who have left go first: their copies have no receiver.
        for branch in self.branches.values_mut() {
            branch.retain(id, |place| change.meeting.contains(place), device, forest, engine);
        }
        let mut branches = BTreeMap::new();
        for target in &change.targets {
            let from = target.from.and_then(|from| self.branches.remove(&from));
            let mut branch = from.unwrap_or_else(|| Branch::new(forest.take_branch(engine)));
            branch.add(id, &target.members, device, forest, engine);
            branches.insert(target.key, branch);
        }
        let unneeded = std::mem::replace(&mut self.branches, branches);
        (self.meeting, self.design) = (change.meeting, change.design);
        let after = self.routes(id, device);
        for source in before.keys().filter(|source| !after.contains_key(source)) {
            engine.set_route(*source, None);
        }
        for (source, route) in after.iter().filter(|(source, route)| before.get(source) != Some(route)) {
            engine.set_route(*source, Some(*route));
        }
        for target in &change.targets {
            if let Some(branch) = self.branches.get_mut(&target.key) {
                branch.retain(id, |place| target.members.contains(&place), device, forest, engine);
            }
        }
        for mut branch in unneeded.into_values() {
            branch.retain(id, |_| false, device, forest, engine);
            forest.release_branch(branch.slot(), engine);
        }
    }
}
