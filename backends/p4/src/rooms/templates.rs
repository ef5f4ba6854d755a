//! The layers of a stream's frame templates, from the structures in its key frames.
//!
//! A new structure has other template ids, so that packets of both can be told apart. Its entries
//! are added first, and those of the structure before it stay until the next one: packets of the
//! old structure may still arrive.
//!
//! Source: AV1 RTP specification, appendix A; Scallop section 5.4.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::RtpPacket;
use wire::codec::Layer;
use wire::codec::dependency::{
    DecodeTargets, DependencyDescriptor, DependencyStructure, FrameTemplate, Indication, TEMPLATES_MAX,
};

/// The highest layers that the program tells apart.
const SPATIAL_MAX: u8 = 3;
const TEMPORAL_MAX: u8 = 7;

/// The number of chains in which the program reads a frame's own place.
const CHAINS_READ: usize = 5;
/// The number that stands for none of them.
const CHAIN_NONE: usize = 8;

/// The parameters of a template's entry, by its id.
type Layers = BTreeMap<u8, Vec<u128>>;

/// The newest two structures of a stream.
#[derive(Debug, Default)]
pub(super) struct Templates {
    structure: Option<Arc<DependencyStructure>>,
    active: Option<DecodeTargets>,
    newest: Layers,
    before: Layers,
}

impl Templates {
    /// Takes in a packet with a structure, whose descriptor has this id. `None` if it cannot be
    /// read; true if it changes an entry.
    pub(super) fn read(&mut self, packet: &[u8], descriptor_id: u8) -> Option<bool> {
        let packet = RtpPacket::parse(packet).ok()?;
        let descriptor = packet.extension(descriptor_id)?;
        let descriptor = DependencyDescriptor::parse(descriptor, self.structure.as_deref()).ok()?;
        let structure = descriptor.structure.clone()?;
        let active = descriptor.active_targets_from_here();
        if self.structure.as_deref() == Some(&*structure) && self.active == active {
            return Some(false);
        }
        let layers = layers(&structure, active);
        let is_new = layers != self.newest;
        if is_new {
            self.before = std::mem::replace(&mut self.newest, layers);
        }
        self.structure = Some(structure);
        self.active = active;
        Some(is_new)
    }

    /// Whether a structure has been seen.
    pub(super) fn are_known(&self) -> bool {
        self.structure.is_some()
    }

    /// The parameters of each template's entry, by its id.
    pub(super) fn entries(&self) -> Layers {
        let mut entries = self.before.clone();
        entries.extend(self.newest.iter().map(|(id, data)| (*id, data.clone())));
        entries
    }
}

fn layers(structure: &DependencyStructure, active: Option<DecodeTargets>) -> Layers {
    let all = DecodeTargets::first(structure.decode_targets());
    let produced = active.map_or(all, |active| match all.intersection(active) {
        none if none.is_empty() => all,
        some => some,
    });
    let highest = produced.iter().filter_map(|target| structure.target_layer(target));
    let highest = highest.reduce(|one, other| Layer {
        spatial: one.spatial.max(other.spatial),
        temporal: one.temporal.max(other.temporal),
    });
    // Of several sizes no cadence is assumed.
    let top = highest
        .filter(|highest| highest.spatial == 0)
        .map_or(0, |highest| highest.temporal);
    let templates = structure.templates().iter().zip(0_u8..);
    let known = templates.filter(|(template, _)| {
        template.layer.spatial <= SPATIAL_MAX && template.layer.temporal <= TEMPORAL_MAX && top <= TEMPORAL_MAX
    });
    known
        .map(|(template, place)| {
            let id = structure.template_id_offset().wrapping_add(place) % TEMPLATES_MAX as u8;
            (id, entry(structure, template, top))
        })
        .collect()
}

fn entry(structure: &DependencyStructure, template: &FrameTemplate, top: u8) -> Vec<u128> {
    let Layer { spatial, temporal } = template.layer;
    let targets = (0..structure.decode_targets()).filter_map(|target| {
        let indication = template.indications.get(target);
        Some((target, structure.target_layer(target)?, indication))
    });
    let targets: Vec<_> = targets.collect();
    let switches = |(_, layer, indication): &&(usize, Layer, Indication)| {
        layer.spatial == spatial && *indication == Indication::Switch
    };
    let up = targets
        .iter()
        .filter(switches)
        .map(|(_, layer, _)| layer.temporal)
        .max();
    let fdiffs = template.fdiffs.as_slice();
    // Frames of one picture follow one another.
    let is_of_picture = fdiffs.iter().all(|back| *back <= u16::from(spatial));
    let own = structure.target_of(template.layer);
    let chain = own.and_then(|own| structure.protecting_chain(own));
    let previous = chain.and_then(|chain| template.chain_diffs.as_slice().get(chain));
    let enters = match temporal {
        0 => is_of_picture && own.is_some_and(|own| template.indications.get(own) == Indication::Switch),
        // Every receiver of the size gets the previous frame of the chain.
        _ => previous.is_some_and(|previous| fdiffs.iter().all(|back| *back == u16::from(*previous))),
    };
    let is_above = targets
        .iter()
        .any(|(_, layer, indication)| layer.spatial > spatial && indication.is_present());
    vec![
        spatial.into(),
        temporal.into(),
        top.into(),
        up.unwrap_or(0).min(TEMPORAL_MAX).into(),
        enters.into(),
        is_above.into(),
        fdiffs.is_empty().into(),
        only(fdiffs).into(),
        chain.filter(|chain| *chain < CHAINS_READ).unwrap_or(CHAIN_NONE) as u128,
    ]
}

/// The one frame that a list refers to, or 0.
fn only(fdiffs: &[u16]) -> u16 {
    match fdiffs {
        [first, others @ ..] if others.iter().all(|other| other == first) => *first,
        _ => 0,
    }
}
