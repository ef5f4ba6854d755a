//! The choice of a media node for a participant. Pure.

use environment::Random;
use southbound::{NodeId, Versions};

use crate::Media;

/// Participants of a room that stays on its node, wherever its participants are.
pub const SMALL_ROOM_MAX: usize = 8;

/// The share of its capacity up to which a node that the room is on already is preferred, in
/// percent.
pub const PREFERRED_LOAD_MAX_PERCENT: u64 = 80;

/// The needs of a participant that looks for a node.
#[derive(Clone, Debug, Default)]
pub struct Need<'a> {
    /// The regions that the room may be in; any if there is none. No node elsewhere is chosen.
    pub pinned: &'a [String],
    /// The participant's region, if it is known.
    pub region: Option<&'a str>,
    /// The nodes that the room is on.
    pub on: &'a [NodeId],
    /// The participants that the room has.
    pub participants: usize,
}

/// Why there is no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoNode {
    /// The cluster has none.
    Empty,
    /// None is in a region that the room may be in.
    Pinned,
    /// None of those speaks a version of the protocol that the controller speaks.
    Foreign,
    /// All of those drain.
    Draining,
    /// All of those have as many participants as they can have, or drain.
    Full,
}

impl std::fmt::Display for NoNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "the cluster has no media node",
            Self::Pinned => "the cluster has no media node in a region that the room may be in",
            Self::Foreign => "no media node for the room speaks a version that the controller speaks",
            Self::Draining => "every media node for the room drains",
            Self::Full => "every media node for the room is full",
        })
    }
}

impl std::error::Error for NoNode {}

/// Chooses a node: of a small room its own, else one of the participant's region, and there of two
/// at random the less loaded. Nodes that the room is on go before others.
///
/// Errors: [`NoNode`] if no node may have the participant.
/// Source: the power of two choices in randomized load balancing, Mitzenmacher 2001.
pub fn choose(media: &[Media], ours: Versions, need: &Need, random: &mut Random) -> Result<NodeId, NoNode> {
    let all: Vec<&Media> = media.iter().collect();
    let all = keep(all, |_| true, NoNode::Empty)?;
    let is_allowed = |it: &Media| need.pinned.is_empty() || need.pinned.contains(&it.record.region);
    let all = keep(all, is_allowed, NoNode::Pinned)?;
    let all = keep(all, |it| ours.common(it.record.versions()).is_some(), NoNode::Foreign)?;
    let all = keep(all, |it| !it.record.draining, NoNode::Draining)?;
    let mut left = keep(all, |it| it.record.load < it.record.capacity, NoNode::Full)?;
    let is_on = |it: &Media| need.on.contains(&it.node);
    if need.participants <= SMALL_ROOM_MAX {
        prefer(&mut left, is_on);
    }
    prefer(&mut left, |it| need.region == Some(it.record.region.as_str()));
    prefer(&mut left, |it| is_on(it) && is_below(it));
    let first = take(&mut left, random).ok_or(NoNode::Full)?;
    Ok(match take(&mut left, random) {
        Some(second) if is_less_loaded(second, first) => second.node,
        _ => first.node,
    })
}

fn keep(from: Vec<&Media>, which: impl Fn(&Media) -> bool, why: NoNode) -> Result<Vec<&Media>, NoNode> {
    let kept: Vec<_> = from.into_iter().filter(|it| which(it)).collect();
    if kept.is_empty() { Err(why) } else { Ok(kept) }
}

/// Drops the others, if there is such a node.
fn prefer(nodes: &mut Vec<&Media>, which: impl Fn(&Media) -> bool) {
    if nodes.iter().any(|it| which(it)) {
        nodes.retain(|it| which(it));
    }
}

fn take<'a>(from: &mut Vec<&'a Media>, random: &mut Random) -> Option<&'a Media> {
    let picked = random.u64().checked_rem(from.len() as u64)?;
    Some(from.swap_remove(picked as usize))
}

fn is_below(it: &Media) -> bool {
    u64::from(it.record.load) * 100 < u64::from(it.record.capacity) * PREFERRED_LOAD_MAX_PERCENT
}

fn is_less_loaded(one: &Media, other: &Media) -> bool {
    let (one, other) = (&one.record, &other.record);
    u64::from(one.load) * u64::from(other.capacity) < u64::from(other.load) * u64::from(one.capacity)
}

#[cfg(test)]
mod tests;
