use serde::Deserialize;

use crate::limits;

/// The sequence number rewriter in the device's program.
///
/// Source: Scallop section 7 and appendix F.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rewriter {
    /// S-LM, low memory: four register arrays.
    SLm,
    /// S-LR, low retransmission: eight register arrays.
    SLr,
}

/// A quantity that a device has a limited number of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    /// Multicast trees, counted in branches: the meetings that fit into a tree.
    Trees,
    /// Level-1 nodes.
    Nodes,
    /// Replica ids of one branch.
    ReplicaIds,
    /// Cells of sequence memory, one for each rewritten stream.
    SequenceCells,
    /// Bits a second, received and sent.
    Bandwidth,
    /// Meetings of the planner, [`limits::MEETINGS_MAX`].
    Meetings,
}

impl Resource {
    /// The name of the resource, and its unit.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Trees => ("trees", "branches"),
            Self::Nodes => ("nodes", "level-1 nodes"),
            Self::ReplicaIds => ("replica ids", "ids of a branch"),
            Self::SequenceCells => ("sequence memory", "streams"),
            Self::Bandwidth => ("bandwidth", "bit/s"),
            Self::Meetings => ("meetings", "meetings"),
        }
    }

    /// Every resource, in the order in which ties are resolved.
    pub const ALL: [Self; 6] = [
        Self::Trees,
        Self::Nodes,
        Self::ReplicaIds,
        Self::SequenceCells,
        Self::Bandwidth,
        Self::Meetings,
    ];
}

/// The limits of a packet-replication engine and of the pipeline around it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Multicast trees.
    pub trees: u32,
    /// Level-1 nodes of the whole engine.
    pub nodes: u32,
    /// Replica ids of one tree.
    pub replica_ids: u32,
    /// Level-1 exclusion ids that one packet can name.
    pub exclusion_ids: u32,
    /// Meetings that may share one tree. More than one needs exclusion ids.
    pub meetings_per_tree: u32,
    /// Cells in each stage of sequence memory.
    pub cells_per_stage: u64,
    /// Stages that fit with S-LM.
    pub stages_s_lm: u64,
    /// Stages that fit with S-LR.
    pub stages_s_lr: u64,
    /// Bits a second, received and sent.
    pub bandwidth: u64,
    /// The rewriter of the loaded program. Without one, no rate can be adapted.
    #[serde(default)]
    pub rewriter: Option<Rewriter>,
}

impl Device {
    /// Streams that the sequence memory holds: none without a rewriter.
    pub fn sequence_cells(&self) -> u64 {
        let stages = match self.rewriter {
            Some(Rewriter::SLm) => self.stages_s_lm,
            Some(Rewriter::SLr) => self.stages_s_lr,
            None => 0,
        };
        self.cells_per_stage.saturating_mul(stages)
    }

    /// Branches of one tree: at most two, since a packet excludes at most one other branch.
    pub fn branches_per_tree(&self) -> u32 {
        self.meetings_per_tree.min(self.exclusion_ids.saturating_add(1)).min(2)
    }

    /// Replica ids of one branch: an equal share of the tree's.
    pub fn replica_ids_per_branch(&self) -> u32 {
        self.replica_ids / self.branches_per_tree().max(1)
    }

    /// The number of units that the device has of a resource.
    pub fn supply(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Trees => u64::from(self.trees) * u64::from(self.branches_per_tree()),
            Resource::Nodes => self.nodes.into(),
            Resource::ReplicaIds => self.replica_ids_per_branch().into(),
            Resource::SequenceCells => self.sequence_cells(),
            Resource::Bandwidth => self.bandwidth,
            Resource::Meetings => limits::MEETINGS_MAX,
        }
    }
}
