//! The choice of a media node for a participant. Pure.

use std::collections::BTreeSet;
use std::fmt;

use environment::Random;
use southbound::NodeId;

use super::NodeStanding;

/// Participants of a room that stays on its nodes, unless somebody of another region comes. Such a
/// room leaves a draining node as a whole.
pub(crate) const SMALL_ROOM_MAX: usize = 8;

/// The share of its capacity up to which a node that the room is on already is preferred, in
/// percent.
const PREFERRED_LOAD_MAX_PERCENT: u64 = 80;

/// The needs of a participant that looks for a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need<'a> {
    /// The regions that the room may be in; any if there is none. No node elsewhere is chosen.
    pub(crate) pinned: &'a [String],
    /// The participant's region, if it is known.
    pub(crate) region: Option<&'a str>,
    /// The nodes that the room is on.
    pub(crate) on: &'a BTreeSet<NodeId>,
    /// The participants that the room has.
    pub(crate) participants: usize,
    /// The node of the participant of the same identity, which makes room there.
    pub(crate) replaced_on: Option<NodeId>,
}

/// A node that may be chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) node: NodeId,
    pub(super) standing: &'a NodeStanding,
    /// Transports of all controllers, as far as is known.
    pub(super) load: u32,
    /// Participants of this controller, which tell nodes of one load apart.
    pub(super) participants: usize,
}

/// Why no media node takes a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoNode {
    /// None has said where it is yet.
    Empty,
    /// None is in a region that the room may be in.
    Pinned,
    /// None of those speaks a version of the protocol that the controller speaks.
    Foreign,
    /// All of those drain.
    Draining,
    /// All of those that do not drain have as many transports as they can have.
    Full,
}

impl fmt::Display for NoNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "no media node is ready",
            Self::Pinned => "no media node is ready in a region that the room may be in",
            Self::Foreign => "no media node for the room speaks a version that its controller speaks",
            Self::Draining => "every media node for the room is shutting down",
            Self::Full => "every media node for the room is full",
        })
    }
}

impl std::error::Error for NoNode {}

/// The nodes of these that may have a participant.
///
/// Errors: there is none.
pub(super) fn open<'a>(
    candidates: impl Iterator<Item = Candidate<'a>>,
    need: &Need<'_>,
) -> Result<Vec<Candidate<'a>>, NoNode> {
    let all = keep(candidates.collect(), |_| true, NoNode::Empty)?;
    let is_allowed = |it: &Candidate<'_>| need.pinned.is_empty() || need.pinned.contains(&it.standing.region);
    let all = keep(all, is_allowed, NoNode::Pinned)?;
    let all = keep(all, |it| !it.standing.is_foreign, NoNode::Foreign)?;
    let all = keep(all, |it| !it.standing.is_draining(), NoNode::Draining)?;
    let has_room = |it: &Candidate<'_>| it.load < it.standing.capacity || need.replaced_on == Some(it.node);
    keep(all, has_room, NoNode::Full)
}

/// The node for a participant among those that may have it; `None` only if there are none.
///
/// A small room stays on its nodes, unless the participant's region has a node and none of the
/// room's is in it. Otherwise it is a node of the participant's region, if there is one: one that
/// the room is on, as long as it is not too full, or else the less loaded of two at random.
/// Source: the power of two choices in randomized load balancing, Mitzenmacher 2001.
pub(super) fn choose(open: Vec<Candidate<'_>>, need: &Need<'_>, random: &mut Random) -> Option<NodeId> {
    let mut left = open;
    let is_on = |it: &Candidate<'_>| need.on.contains(&it.node);
    let is_near = |it: &Candidate<'_>| need.region == Some(it.standing.region.as_str());
    let is_far = left.iter().any(is_near) && !left.iter().any(|it| is_near(it) && is_on(it));
    if need.participants <= SMALL_ROOM_MAX && !is_far {
        prefer(&mut left, is_on);
    }
    prefer(&mut left, is_near);
    prefer(&mut left, |it| is_on(it) && is_below(it));
    let first = take(&mut left, random)?;
    Some(match take(&mut left, random) {
        Some(second) if is_less_loaded(&second, &first) => second.node,
        _ => first.node,
    })
}

fn keep<'a>(
    from: Vec<Candidate<'a>>,
    which: impl Fn(&Candidate<'a>) -> bool,
    why: NoNode,
) -> Result<Vec<Candidate<'a>>, NoNode> {
    let kept: Vec<_> = from.into_iter().filter(|it| which(it)).collect();
    if kept.is_empty() { Err(why) } else { Ok(kept) }
}

/// Drops the others, if there is such a node.
fn prefer<'a>(nodes: &mut Vec<Candidate<'a>>, which: impl Fn(&Candidate<'a>) -> bool) {
    if nodes.iter().any(&which) {
        nodes.retain(which);
    }
}

/// One at random. A choice of one needs no random number.
fn take<'a>(from: &mut Vec<Candidate<'a>>, random: &mut Random) -> Option<Candidate<'a>> {
    let picked = match from.len() {
        0 => return None,
        1 => 0,
        len => random.u64() % len as u64,
    };
    Some(from.swap_remove(picked as usize))
}

fn is_below(it: &Candidate<'_>) -> bool {
    u64::from(it.load) * 100 < u64::from(it.standing.capacity) * PREFERRED_LOAD_MAX_PERCENT
}

fn is_less_loaded(one: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    // By the parts of their capacities that are used.
    let (left, right) = (
        u64::from(one.load) * u64::from(other.standing.capacity),
        u64::from(other.load) * u64::from(one.standing.capacity),
    );
    (left, one.participants) < (right, other.participants)
}

#[cfg(test)]
mod tests;
