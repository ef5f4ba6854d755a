//! The media nodes that this controller commands, and the choice among them.

mod placement;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use environment::Random;
use southbound::{Node, NodeId};

use crate::limits::NODES_MAX;
use placement::Candidate;
pub use placement::NoNode;
pub(crate) use placement::{Need, SMALL_ROOM_MAX};

/// The nodes that have said where they are.
#[derive(Debug, Default)]
pub(crate) struct Nodes(BTreeMap<NodeId, KnownNode>);

#[derive(Debug)]
struct KnownNode {
    node: Node,
    /// Its participants that are this controller's.
    participants: usize,
    standing: NodeStanding,
    /// Participants that came since the node has told its load.
    newcomers: u32,
    /// While it drains: when its participants are to be elsewhere.
    empty_at: Option<Instant>,
}

/// The standing of a node that other controllers command as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStanding {
    /// The transports that it has of all controllers.
    pub load: u32,
    /// The transports that it can have.
    pub capacity: u32,
    /// It drains: it takes no newcomers, and its participants leave it within this time.
    pub draining: Option<Duration>,
    /// It speaks no version of the protocol that this controller speaks.
    pub is_foreign: bool,
    /// It passes messages of data channels on by itself, as far as its participants are concerned.
    pub passes_messages_on: bool,
    /// It sends them to other nodes of this kind as well, over links.
    pub has_links: bool,
    /// It sends packets of data tracks over them too.
    pub links_tracks: bool,
    /// It goes on with the data channels of participants that come from another node.
    pub takes_moves: bool,
    /// The region that it is in; empty if nobody said.
    pub region: String,
}

impl Default for NodeStanding {
    /// That of a node which no other controller commands.
    fn default() -> Self {
        Self {
            load: 0,
            capacity: u32::MAX,
            draining: None,
            is_foreign: false,
            passes_messages_on: false,
            has_links: false,
            links_tracks: false,
            takes_moves: false,
            region: String::new(),
        }
    }
}

impl NodeStanding {
    fn is_draining(&self) -> bool {
        self.draining.is_some()
    }
}

impl Nodes {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Node> {
        self.0.get(&id).map(|known| &known.node)
    }

    pub(crate) fn contains(&self, id: NodeId) -> bool {
        self.0.contains_key(&id)
    }

    /// Takes what a node says of itself. Returns false at the limit.
    pub(crate) fn announce(&mut self, node: Node) -> bool {
        if let Some(known) = self.0.get_mut(&node.node) {
            known.node = node;
            return true;
        }
        let has_place = self.0.len() < NODES_MAX;
        if has_place {
            let id = node.node;
            let known = KnownNode {
                node,
                participants: 0,
                standing: NodeStanding::default(),
                newcomers: 0,
                empty_at: None,
            };
            self.0.insert(id, known);
        }
        has_place
    }

    /// The nodes that were where this one is. A node that starts again has another id and has
    /// forgotten everything.
    pub(crate) fn replaced_by(&self, node: &Node) -> Vec<NodeId> {
        let others = self.0.values().filter(|known| known.node.node != node.node);
        let is_there = |known: &&KnownNode| known.node.addresses.iter().any(|at| node.addresses.contains(at));
        others.filter(is_there).map(|known| known.node.node).collect()
    }

    pub(crate) fn remove(&mut self, id: NodeId) -> bool {
        self.0.remove(&id).is_some()
    }

    /// Notes the standing of a node, if it is known. Returns whether it drains from now on.
    pub(crate) fn set_standing(&mut self, now: Instant, id: NodeId, standing: NodeStanding) -> bool {
        let Some(known) = self.0.get_mut(&id) else {
            return false;
        };
        if standing.load != known.standing.load {
            known.newcomers = 0;
        }
        let was_draining = known.empty_at.is_some();
        known.empty_at = standing
            .draining
            .map(|within| known.empty_at.unwrap_or_else(|| now + within));
        known.standing = standing;
        known.empty_at.is_some() && !was_draining
    }

    /// Whether a node passes on messages of data channels by itself.
    pub(crate) fn passes_messages_on(&self, id: NodeId) -> bool {
        self.0.get(&id).is_some_and(|known| known.standing.passes_messages_on)
    }

    /// Whether a node passes messages on to other nodes over links.
    pub(crate) fn has_links(&self, id: NodeId) -> bool {
        let known = self.0.get(&id);
        known.is_some_and(|known| known.standing.passes_messages_on && known.standing.has_links)
    }

    /// Whether packets of data tracks go over links from and to a node.
    pub(crate) fn links_tracks(&self, id: NodeId) -> bool {
        let known = self.0.get(&id);
        self.has_links(id) && known.is_some_and(|known| known.standing.links_tracks)
    }

    /// Whether participants can come to a node from another one without joining again.
    pub(crate) fn takes_moves(&self, id: NodeId) -> bool {
        self.0.get(&id).is_some_and(|known| known.standing.takes_moves)
    }

    /// The region of a node, if it has said one.
    pub(crate) fn region_of(&self, id: NodeId) -> Option<String> {
        let region = self.0.get(&id).map(|known| known.standing.region.clone());
        region.filter(|region| !region.is_empty())
    }

    /// When the participants of a node are to be elsewhere; `None` unless it drains.
    pub(crate) fn empty_at(&self, id: NodeId) -> Option<Instant> {
        self.0.get(&id).and_then(|known| known.empty_at)
    }

    /// Gives the participants of a node that drains more time.
    pub(crate) fn postpone(&mut self, id: NodeId, by: Duration) {
        if let Some(at) = self.0.get_mut(&id).and_then(|known| known.empty_at.as_mut()) {
            *at += by;
        }
    }

    /// Whether there is a node for a participant.
    ///
    /// Errors: the reason why there is none.
    pub(crate) fn check(&self, need: &Need<'_>) -> Result<(), NoNode> {
        placement::open(self.candidates(), need).map(drop)
    }

    /// The node for a participant. The same history gives the same choice.
    ///
    /// Errors: the reason why there is none.
    pub(crate) fn place(&self, need: &Need<'_>, random: &mut Random) -> Result<NodeId, NoNode> {
        let open = placement::open(self.candidates(), need)?;
        placement::choose(open, need, random).ok_or(NoNode::Empty)
    }

    /// A newcomer was given to a node, which does not count it yet.
    pub(crate) fn placed(&mut self, id: NodeId) {
        if let Some(known) = self.0.get_mut(&id) {
            known.newcomers = known.newcomers.saturating_add(1);
        }
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.0.iter().map(|(node, known)| Candidate {
            node: *node,
            standing: &known.standing,
            load: known.standing.load.saturating_add(known.newcomers),
            participants: known.participants,
        })
    }

    pub(crate) fn participant_joined(&mut self, id: NodeId) {
        if let Some(known) = self.0.get_mut(&id) {
            known.participants += 1;
        }
    }

    pub(crate) fn participant_left(&mut self, id: NodeId) {
        if let Some(known) = self.0.get_mut(&id) {
            known.participants = known.participants.saturating_sub(1);
            known.newcomers = known.newcomers.saturating_sub(1);
        }
    }
}
