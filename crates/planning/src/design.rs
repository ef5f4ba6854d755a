use std::collections::BTreeSet;

use crate::device::{Device, Resource};
use crate::meeting::{Meeting, Place};
use crate::quality::LAYERS;

/// The way in which a meeting uses multicast trees. Each design also carries the meetings that an
/// earlier one of more than two participants carries.
///
/// Source: Scallop section 6.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Design {
    /// At most two participants: unicast, no tree, no rewriting.
    TwoParty,
    /// No rate adaptation: one branch with all participants.
    Nra,
    /// Receiver-driven: one branch a layer, with the receivers that get the layer from all senders.
    RaR,
    /// Sender-receiver-driven: one branch for each sender and layer.
    RaSr,
}

impl Design {
    /// Every design, the cheapest first.
    pub(crate) const ALL: [Self; 4] = [Self::TwoParty, Self::Nra, Self::RaR, Self::RaSr];

    /// The cheapest design that gives each receiver exactly its quality.
    ///
    /// NRA suffices if every receiver gets all that a sender sends. RA-R suffices if each receiver
    /// has one level, below which it gets all that a sender sends.
    pub fn of(meeting: &Meeting) -> Self {
        if meeting.len() <= 2 {
            return Self::TwoParty;
        }
        let levels: Vec<_> = meeting.places().map(|place| (place, meeting.level(place))).collect();
        let mut design = Self::Nra;
        for sender in meeting.senders() {
            let sent = meeting.sent(sender);
            for &(receiver, level) in levels.iter().filter(|(receiver, _)| *receiver != sender) {
                let quality = meeting.quality(sender, receiver);
                if quality != level.min(sent) {
                    return Self::RaSr;
                }
                if quality != sent {
                    design = Self::RaR;
                }
            }
        }
        design
    }

    /// Branches that a meeting with this many senders needs.
    pub fn branches(self, senders: u64) -> u64 {
        match self {
            Self::TwoParty => 0,
            Self::Nra => 1,
            Self::RaR => LAYERS.into(),
            Self::RaSr => u64::from(LAYERS) * senders,
        }
    }

    /// Level-1 nodes that such a meeting may need: one for each receiver in each branch. A sender
    /// is in no branch of its own.
    fn nodes(self, participants: u64, senders: u64) -> u64 {
        let width = if self == Self::RaSr {
            participants.saturating_sub(1)
        } else {
            participants
        };
        self.branches(senders) * width
    }

    /// The branches that a meeting needs.
    pub(crate) fn keys(self, meeting: &Meeting) -> Vec<BranchKey> {
        let of = |sender| (0..LAYERS).map(move |layer| BranchKey { sender, layer });
        match self {
            Self::TwoParty => Vec::new(),
            Self::Nra => of(None).take(1).collect(),
            Self::RaR => of(None).collect(),
            Self::RaSr => meeting.senders().flat_map(|sender| of(Some(sender))).collect(),
        }
    }

    /// The receivers of one branch of a meeting.
    pub(crate) fn members(self, meeting: &Meeting, key: BranchKey) -> BTreeSet<Place> {
        let layer = key.layer;
        match (self, key.sender) {
            (Self::TwoParty, _) => BTreeSet::new(),
            (Self::RaSr, Some(sender)) => {
                let gets = |receiver: &Place| meeting.quality(sender, *receiver).layer() >= layer;
                meeting.receivers(sender).filter(gets).collect()
            }
            (Self::Nra, _) => meeting.places().collect(),
            (Self::RaR | Self::RaSr, _) => {
                let gets = |receiver: &Place| meeting.level(*receiver).layer() >= layer;
                meeting.places().filter(gets).collect()
            }
        }
    }

    /// The branch that copies one layer of a sender.
    pub(crate) fn branch(self, sender: Place, layer: u8) -> Option<BranchKey> {
        match self {
            Self::TwoParty => None,
            Self::Nra => Some(BranchKey { sender: None, layer: 0 }),
            Self::RaR => Some(BranchKey { sender: None, layer }),
            Self::RaSr => Some(BranchKey {
                sender: Some(sender),
                layer,
            }),
        }
    }
}

/// The part of a meeting that one branch copies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct BranchKey {
    /// The sender of RA-SR; `None` for all senders.
    sender: Option<Place>,
    /// The layer; NRA has one branch, of number 0, for all layers.
    layer: u8,
}

impl BranchKey {
    /// Whether both are of one layer.
    pub(crate) fn is_of_layer_of(self, other: Self) -> bool {
        self.layer == other.layer
    }
}

/// The units of each resource that one meeting needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    branches: u64,
    nodes: u64,
    replica_ids: u64,
    cells: u64,
    bandwidth: u64,
}

impl Demand {
    /// The demand of a meeting by its numbers of participants and senders and its bits a second.
    ///
    /// A stream to each receiver of each sender takes a cell of sequence memory, adapted or not, so
    /// that an adaptation never fails for want of one. A device without a rewriter has no cells,
    /// and NRA then takes none.
    pub fn new(device: &Device, design: Design, participants: u64, senders: u64, bandwidth: u64) -> Self {
        let is_numbered = match design {
            Design::TwoParty => false,
            Design::Nra => device.rewriter.is_some(),
            Design::RaR | Design::RaSr => true,
        };
        Self {
            branches: design.branches(senders),
            nodes: design.nodes(participants, senders),
            replica_ids: if design == Design::TwoParty { 0 } else { participants },
            cells: if is_numbered {
                senders * participants.saturating_sub(1)
            } else {
                0
            },
            bandwidth,
        }
    }

    /// The demand of one meeting in a design.
    pub fn of(device: &Device, meeting: &Meeting, design: Design) -> Self {
        let (participants, senders) = (meeting.len() as u64, meeting.senders().count() as u64);
        let demand = Self::new(device, design, participants, senders, meeting.bandwidth());
        // Replica ids follow from places, which have gaps after somebody has left.
        let last = meeting.places().last().map_or(0, |place| u64::from(place.0) + 1);
        Self {
            replica_ids: demand.replica_ids.min(1) * last,
            ..demand
        }
    }

    /// The units of one resource.
    pub fn units(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Trees => self.branches,
            Resource::Nodes => self.nodes,
            Resource::ReplicaIds => self.replica_ids,
            Resource::SequenceCells => self.cells,
            Resource::Bandwidth => self.bandwidth,
            Resource::Meetings => 1,
        }
    }
}
