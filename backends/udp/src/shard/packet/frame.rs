//! The frame of a packet, read once when it arrives.
//!
//! Reading allocates nothing but where a key frame brings a new structure.
//!
//! Source: AV1 RTP specification, appendix A; RFC 7741 section 4.2; RFC 9628 section 4.2.

use std::sync::Arc;

use wire::codec::Layer;
use wire::codec::dependency::{
    ChainDiffs, DecodeTargets, DependencyDescriptor, DependencyStructure, FrameDiffs, Indications, MandatoryFields,
};
use wire::codec::vp8::Vp8Descriptor;
use wire::codec::vp9::Vp9Descriptor;
use wire::{Codec, RtpTimestamp, TimestampUnwrapper, Unwrapper};

/// A frame of one layer, and one packet's place in it.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) id: FrameId,
    /// The packet is the frame's first.
    pub(crate) starts: bool,
    /// The packet is the frame's last.
    pub(crate) ends: bool,
    pub(crate) layer: Layer,
    /// The frames of one picture have the same.
    pub(crate) timestamp: RtpTimestamp,
    pub(crate) rules: Rules,
}

/// Names a frame within its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId {
    pub(crate) numbering: Numbering,
    /// Rises in decode order.
    pub(crate) place: u64,
}

/// The numbering that frames are told apart by. Places of different numberings cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// The extended timestamp, then three bits of spatial layer.
    Picture,
    /// The descriptor's extended frame number.
    Frame,
}

/// The dependencies that decide whether a replica gets a frame.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lies in a packet's buffer, which is used again; a box would be allocated for each"
)]
pub(crate) enum Rules {
    Vp8(Vp8Rules),
    Vp9(Vp9Rules),
    Dependency(Dependencies),
    /// A descriptor whose structure was never received, or not yet.
    Unreadable,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Vp8Rules {
    /// Y: of the frames before it refers to the base layer only.
    pub(crate) sync: bool,
    pub(crate) key: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Vp9Rules {
    /// U
    pub(crate) switching_up: bool,
    /// P
    pub(crate) inter_picture: bool,
    /// D
    pub(crate) inter_layer: bool,
    /// Not Z.
    pub(crate) refers_above: bool,
    /// The highest spatial layer of this picture so far, and of the one before.
    pub(crate) top: u8,
}

/// A descriptor with what it is read by, and everything that replicas ask of it: that is looked up
/// once, and they are many.
#[derive(Clone, Debug)]
pub(crate) struct Dependencies {
    /// The frame's number, extended.
    pub(crate) number: u64,
    pub(crate) descriptor: DependencyDescriptor,
    pub(crate) structure: Arc<DependencyStructure>,
    /// The frame that carried the structure, which identifies the structure.
    pub(crate) since: u64,
    /// The decode targets its sender produces.
    pub(crate) active: DecodeTargets,
    /// The decode target indications of the frame.
    pub(crate) indications: Indications,
    /// How far back the frames lie that it refers to.
    pub(crate) fdiffs: FrameDiffs,
    /// How far back the frame before it lies in each chain; 0 where the chain starts here.
    pub(crate) chain_diffs: ChainDiffs,
    /// By chain, one bit each: the frame is part of it.
    pub(crate) chains: u32,
    /// Of those, the ones that start here.
    pub(crate) chains_started: u32,
}

impl Dependencies {
    /// The decode targets its sender produces, of those of the structure; all where it produces
    /// none.
    pub(crate) fn produced(&self) -> DecodeTargets {
        let all = DecodeTargets::first(self.structure.decode_targets());
        let produced = all.intersection(self.active);
        if produced.is_empty() { all } else { produced }
    }
}

impl Frame {
    /// Its layer, where it can be read.
    pub(crate) fn known_layer(&self) -> Option<Layer> {
        (!self.is_unreadable()).then_some(self.layer)
    }

    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.rules, Rules::Unreadable)
    }

    /// Whether it is part of anything that larger pictures of the stream are made of.
    pub(crate) fn is_needed_above(&self) -> bool {
        let own_size = Layer {
            temporal: u8::MAX,
            ..self.layer
        };
        match &self.rules {
            Rules::Vp8(_) | Rules::Unreadable => false,
            Rules::Vp9(rules) => rules.refers_above,
            Rules::Dependency(rules) => {
                let part_of = rules.indications.targets();
                !rules.structure.targets_within(own_size).contains_all(part_of)
            }
        }
    }

    /// Whether a decoder without any state can start at this packet; `None` when only the payload
    /// can tell.
    pub(crate) fn starts_key_frame(&self) -> Option<bool> {
        let Rules::Dependency(rules) = &self.rules else {
            return None;
        };
        let brings_structure = rules.descriptor.structure.is_some();
        Some(self.starts && brings_structure && self.layer.spatial == 0 && rules.fdiffs.as_slice().is_empty())
    }

    /// The number in the descriptor, where it has one.
    pub(crate) fn number(&self) -> Option<u16> {
        (self.id.numbering == Numbering::Frame).then_some(self.id.place as u16)
    }
}

/// The state of a stream that is needed to read its frames.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    numbers: Unwrapper,
    timestamps: TimestampUnwrapper,
    /// The newest structure and the frame that brought it.
    structure: Option<(u64, Arc<DependencyStructure>)>,
    /// The newest active decode targets and the frame that said so.
    active: (u64, DecodeTargets),
    /// VP9: the newest picture, its highest spatial layer so far, and that of the one before.
    picture: (u64, u8, u8),
}

impl FrameReader {
    /// The frame of a packet, if it has layers.
    pub(crate) fn read(
        &mut self,
        codec: Codec,
        timestamp: RtpTimestamp,
        descriptor: Option<&[u8]>,
        payload: &[u8],
    ) -> Option<Frame> {
        if payload.is_empty() {
            return None;
        }
        let mandatory = descriptor.and_then(|value| Some((MandatoryFields::parse(value).ok()?, value)));
        match (mandatory, codec) {
            (Some((mandatory, value)), _) => Some(self.by_dependency(mandatory, timestamp, value)),
            (None, Codec::Vp8) => self.by_vp8(timestamp, payload),
            (None, Codec::Vp9) => self.by_vp9(timestamp, payload),
            (None, _) => None,
        }
    }

    fn by_dependency(&mut self, mandatory: MandatoryFields, timestamp: RtpTimestamp, value: &[u8]) -> Frame {
        let number = self.numbers.extend(mandatory.frame_number);
        let read = self.dependencies(number, value);
        Frame {
            id: FrameId {
                numbering: Numbering::Frame,
                place: number,
            },
            starts: mandatory.start_of_frame,
            ends: mandatory.end_of_frame,
            timestamp,
            layer: read.as_ref().map_or(Layer::default(), |(layer, _)| *layer),
            rules: read.map_or(Rules::Unreadable, |(_, rules)| Rules::Dependency(rules)),
        }
    }

    fn dependencies(&mut self, number: u64, value: &[u8]) -> Option<(Layer, Dependencies)> {
        let known = self.structure.as_ref().map(|(_, structure)| &**structure);
        let descriptor = DependencyDescriptor::parse(value, known).ok()?;
        let own = descriptor.structure.as_ref().map(|own| (number, own.clone()));
        if own.is_some() && self.structure.as_ref().is_none_or(|(since, _)| *since <= number) {
            self.structure = own.clone();
        }
        if let Some(targets) = descriptor.active_targets_from_here()
            && self.active.0 <= number
        {
            self.active = (number, targets);
        }
        let (since, structure) = own.or_else(|| self.structure.clone())?;
        let frame = descriptor.resolve(Some(&structure)).ok()?;
        let chains = (0..structure.chains()).filter(|chain| frame.is_in_chain(*chain));
        let started = chains.clone().filter(|chain| frame.previous_in_chain(*chain).is_none());
        let rules = Dependencies {
            number,
            since,
            active: self.active.1,
            indications: frame.indications(),
            fdiffs: FrameDiffs::new(frame.fdiffs())?,
            chain_diffs: ChainDiffs::new(frame.chain_diffs())?,
            chains_started: bits(started),
            chains: bits(chains),
            structure: structure.clone(),
            descriptor: descriptor.clone(),
        };
        Some((frame.layer(), rules))
    }

    fn by_vp8(&mut self, timestamp: RtpTimestamp, payload: &[u8]) -> Option<Frame> {
        let descriptor = Vp8Descriptor::parse(payload).ok()?;
        let temporal = descriptor.temporal?;
        Some(Frame {
            id: picture_id(self.timestamps.extend(timestamp.0), 0),
            starts: descriptor.is_frame_start(),
            ends: false,
            timestamp,
            layer: Layer {
                spatial: 0,
                temporal: temporal.layer,
            },
            rules: Rules::Vp8(Vp8Rules {
                sync: temporal.sync,
                key: wire::codec::is_key_frame_start(Codec::Vp8, payload),
            }),
        })
    }

    fn by_vp9(&mut self, timestamp: RtpTimestamp, payload: &[u8]) -> Option<Frame> {
        let descriptor = Vp9Descriptor::parse(payload).ok()?;
        let layer = descriptor.layer?;
        let picture = self.timestamps.extend(timestamp.0);
        self.picture = match self.picture {
            (newest, top, _) if picture > newest => (picture, layer.spatial, top),
            (newest, top, before) if picture == newest => (newest, top.max(layer.spatial), before),
            older => older,
        };
        let (_, top, before) = self.picture;
        Some(Frame {
            id: picture_id(picture, layer.spatial),
            starts: descriptor.start_of_frame,
            ends: descriptor.end_of_frame,
            timestamp,
            layer: Layer {
                spatial: layer.spatial,
                temporal: layer.temporal,
            },
            rules: Rules::Vp9(Vp9Rules {
                switching_up: layer.switching_up,
                inter_picture: descriptor.inter_picture,
                inter_layer: layer.inter_layer,
                refers_above: !descriptor.not_inter_layer_reference,
                top: top.max(before),
            }),
        })
    }
}

/// One bit for each chain.
fn bits(chains: impl Iterator<Item = usize>) -> u32 {
    chains.fold(0, |bits, chain| bits | 1 << chain)
}

fn picture_id(picture: u64, spatial: u8) -> FrameId {
    FrameId {
        numbering: Numbering::Picture,
        place: picture << 3 | u64::from(spatial),
    }
}
