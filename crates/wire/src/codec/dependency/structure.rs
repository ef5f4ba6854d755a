//! The part of a key frame's descriptor that is valid until the next structure: templates, decode
//! targets, chains.

use super::{
    CHAINS_MAX, DECODE_TARGETS_MAX, DecodeTargets, FrameTemplate, Layer, Resolution, StructureError, TEMPLATES_MAX,
};

/// The templates, decode targets and chains of a coded video sequence.
///
/// Only [`DependencyStructure::new`] and reading make one, so each can be written.
///
/// Source: AV1 RTP specification, appendix A.8.2, `template_dependency_structure`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyStructure {
    pub(super) template_id_offset: u8,
    pub(super) templates: Vec<FrameTemplate>,
    /// By decode target; as many as there are.
    target_layers: Vec<Layer>,
    /// By decode target; all zero without chains.
    pub(super) protected_by: [u8; DECODE_TARGETS_MAX],
    /// By chain: the same the other way round, so that a packet's part in a chain is one
    /// comparison.
    chain_targets: Vec<DecodeTargets>,
    /// One for each spatial layer, or none at all.
    pub(super) resolutions: Vec<Resolution>,
}

impl DependencyStructure {
    /// Makes a structure of `decode_targets` targets.
    ///
    /// `template_id_offset` (its low six bits) is the id of the first template. `protected_by`
    /// names the chain of each decode target and is empty when templates have no chain differences.
    /// `resolutions` is for each spatial layer, or empty.
    pub fn new(
        template_id_offset: u8,
        decode_targets: usize,
        templates: Vec<FrameTemplate>,
        protected_by: &[u8],
        resolutions: Vec<Resolution>,
    ) -> Result<Self, StructureError> {
        check_templates(&templates, decode_targets)?;
        let chains = check_chains(&templates, decode_targets)?;
        let expected = if chains == 0 { 0 } else { decode_targets };
        if protected_by.len() != expected || protected_by.iter().any(|&chain| usize::from(chain) >= chains) {
            return Err(StructureError::Protection);
        }
        let spatial_layers = templates.last().map_or(0, |template| template.layer.spatial + 1);
        let in_range = |side: u32| (1..=1 << 16).contains(&side);
        let each_layer = resolutions.len() == usize::from(spatial_layers);
        if !(resolutions.is_empty() || each_layer)
            || resolutions.iter().any(|r| !in_range(r.width) || !in_range(r.height))
        {
            return Err(StructureError::Resolutions);
        }
        let mut all_protected_by = [0; DECODE_TARGETS_MAX];
        all_protected_by[..protected_by.len()].copy_from_slice(protected_by);
        Ok(Self::assemble(
            template_id_offset % TEMPLATES_MAX as u8,
            decode_targets,
            templates,
            all_protected_by,
            resolutions,
        ))
    }

    /// Assembles the checked parts, and derives the layer of each decode target.
    pub(super) fn assemble(
        template_id_offset: u8,
        decode_targets: usize,
        templates: Vec<FrameTemplate>,
        protected_by: [u8; DECODE_TARGETS_MAX],
        resolutions: Vec<Resolution>,
    ) -> Self {
        let highest = |target: usize, of: fn(&FrameTemplate) -> u8| {
            let present = templates.iter().filter(|t| t.indications.get(target).is_present());
            present.map(of).max().unwrap_or(0)
        };
        let target_layers = (0..decode_targets).map(|target| Layer {
            spatial: highest(target, |template| template.layer.spatial),
            temporal: highest(target, |template| template.layer.temporal),
        });
        let chains = templates.first().map_or(0, |t| t.chain_diffs.as_slice().len());
        let chain_targets = (0..chains).map(|chain| {
            let protected = |&target: &usize| usize::from(protected_by[target]) == chain;
            (0..decode_targets).filter(protected).collect()
        });
        Self {
            template_id_offset,
            target_layers: target_layers.collect(),
            chain_targets: chain_targets.collect(),
            templates,
            protected_by,
            resolutions,
        }
    }

    /// The templates, in the order of their ids.
    pub fn templates(&self) -> &[FrameTemplate] {
        &self.templates
    }

    /// The template a packet names; `None` when it belongs to another structure.
    ///
    /// Shape: ids are six bits and wrap.
    pub fn template(&self, id: u8) -> Option<&FrameTemplate> {
        let index = id.wrapping_sub(self.template_id_offset) % TEMPLATES_MAX as u8;
        self.templates.get(usize::from(index))
    }

    /// The id of the first template.
    pub const fn template_id_offset(&self) -> u8 {
        self.template_id_offset
    }

    /// How many decode targets there are.
    pub fn decode_targets(&self) -> usize {
        self.target_layers.len()
    }

    /// How many chains there are.
    pub fn chains(&self) -> usize {
        self.chain_targets.len()
    }

    /// Resolutions by spatial layer; empty if the sender does not state them.
    pub fn resolutions(&self) -> &[Resolution] {
        &self.resolutions
    }

    /// The highest layer among a decode target's frames.
    pub fn target_layer(&self, target: usize) -> Option<Layer> {
        self.target_layers.get(target).copied()
    }

    /// The lowest decode target whose highest layer is `layer`.
    pub fn target_of(&self, layer: Layer) -> Option<usize> {
        self.target_layers.iter().position(|&of| of == layer)
    }

    /// The decode targets left to a receiver of `layer`: those that need no higher one. They are
    /// sent to it as active.
    pub fn targets_within(&self, layer: Layer) -> DecodeTargets {
        let targets = self.target_layers.iter().enumerate();
        targets
            .filter_map(|(target, &of)| layer.covers(of).then_some(target))
            .collect()
    }

    /// The chain whose frames a decode target cannot do without; `None` when there are no chains or
    /// no such target.
    pub fn protecting_chain(&self, target: usize) -> Option<usize> {
        let protected = self.chains() > 0 && target < self.decode_targets();
        protected.then(|| usize::from(self.protected_by[target]))
    }

    /// The decode targets one chain protects. If none of them is active, the chain is meaningless.
    pub fn protected_by(&self, chain: usize) -> DecodeTargets {
        self.chain_targets.get(chain).copied().unwrap_or(DecodeTargets::NONE)
    }
}

fn check_templates(templates: &[FrameTemplate], decode_targets: usize) -> Result<(), StructureError> {
    if !(1..=DECODE_TARGETS_MAX).contains(&decode_targets) {
        return Err(StructureError::DecodeTargetCount);
    }
    if !(1..=TEMPLATES_MAX).contains(&templates.len()) {
        return Err(StructureError::TemplateCount);
    }
    let in_order = templates[0].layer == Layer::default()
        && templates
            .windows(2)
            .all(|pair| (0..3).any(|idc| pair[0].layer.next(idc) == pair[1].layer))
        && templates.iter().all(|template| template.layer.is_supported());
    if !in_order {
        return Err(StructureError::LayerOrder);
    }
    let excess = |template: &FrameTemplate| template.indications.targets().iter().any(|t| t >= decode_targets);
    if templates.iter().any(excess) {
        return Err(StructureError::ExcessIndication);
    }
    Ok(())
}

/// How many chains the templates agree on.
fn check_chains(templates: &[FrameTemplate], decode_targets: usize) -> Result<usize, StructureError> {
    let chains = templates[0].chain_diffs.as_slice().len();
    if chains > decode_targets.min(CHAINS_MAX) || templates.iter().any(|t| t.chain_diffs.as_slice().len() != chains) {
        return Err(StructureError::ChainCount);
    }
    let too_large = |template: &FrameTemplate| {
        template.fdiffs.as_slice().iter().any(|&diff| diff > 16)
            || template.chain_diffs.as_slice().iter().any(|&diff| diff > 15)
    };
    if templates.iter().any(too_large) {
        return Err(StructureError::DiffTooLarge);
    }
    Ok(chains)
}
