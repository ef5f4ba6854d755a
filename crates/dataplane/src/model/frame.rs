//! The frame of a packet: its layer, and whether receivers of a part of the layers need it.
//!
//! The dependency descriptor is read where there is one, with any codec; else the payload
//! descriptor of VP8 or VP9. Other packets have one layer.
//!
//! Source: AV1 RTP specification, appendix A; RFC 7741 section 4.2; RFC 9628 section 4.2.

use std::sync::Arc;

use wire::codec::Layer;
use wire::codec::dependency::{
    DecodeTargets, DependencyDescriptor, DependencyStructure, FrameDiffs, Indications, MandatoryFields,
};
use wire::codec::vp8::Vp8Descriptor;
use wire::codec::vp9::Vp9Descriptor;
use wire::{Codec, RtpTimestamp, TimestampUnwrapper, Unwrapper};

/// A frame of one layer, and one packet's place in it.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub id: FrameId,
    /// The packet is the frame's first.
    pub starts: bool,
    /// The packet is the frame's last.
    pub ends: bool,
    pub layer: Layer,
    /// The frames of one picture have the same timestamp.
    pub timestamp: RtpTimestamp,
    pub rules: Rules,
}

/// Names a frame within its stream; in decode order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FrameId {
    /// By timestamp, extended, and spatial layer.
    Picture(u64, u8),
    /// By the descriptor's frame number, extended.
    Number(u64),
}

/// The fields that decide whether a replica gets a frame.
#[derive(Clone, Debug)]
pub(super) enum Rules {
    Vp8 {
        /// Y.
        sync: bool,
        /// It refers to nothing.
        key: bool,
    },
    Vp9 {
        /// U.
        switching_up: bool,
        /// P.
        inter_picture: bool,
        /// D.
        inter_layer: bool,
        /// Not Z.
        refers_above: bool,
        /// The highest spatial layer of this picture so far, and of the one before.
        top: u8,
    },
    Dependency(Box<Dependencies>),
    /// A descriptor whose structure was never received, or not yet.
    Unreadable,
}

/// A descriptor with its template filled in.
#[derive(Clone, Debug)]
pub(super) struct Dependencies {
    pub descriptor: DependencyDescriptor,
    pub structure: Arc<DependencyStructure>,
    /// The frame that carried the structure, which identifies the structure.
    pub since: u64,
    /// The decode targets its sender produces.
    pub active: DecodeTargets,
    pub indications: Indications,
    /// How far back the frames lie that it refers to,
    pub fdiffs: FrameDiffs,
    /// and which those are.
    pub referred: Vec<u64>,
    /// The chains it is part of.
    pub chains: Vec<usize>,
    /// By chain: the frame of the chain before this one; `None` when the chain starts here.
    pub previous: Vec<Option<u64>>,
}

impl Dependencies {
    /// The decode targets its sender produces, of those of the structure; all where it produces
    /// none.
    pub(crate) fn produced(&self) -> DecodeTargets {
        let all = DecodeTargets::first(self.structure.decode_targets());
        match all.intersection(self.active) {
            none if none.is_empty() => all,
            some => some,
        }
    }
}

impl FrameId {
    /// Whether two frames can be put in order: they are named in the same way.
    pub(crate) fn is_comparable(&self, other: &FrameId) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Frame {
    /// Its layer, where it can be read.
    pub(crate) fn known_layer(&self) -> Option<Layer> {
        (!self.is_unreadable()).then_some(self.layer)
    }

    /// Whether nothing is known of it but its number.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.rules, Rules::Unreadable)
    }

    /// Whether receivers of higher layers of the stream get it, too.
    pub(crate) fn is_needed_above(&self) -> bool {
        match &self.rules {
            Rules::Vp9 { refers_above, .. } => *refers_above,
            Rules::Dependency(rules) => {
                let layer_of = |target| rules.structure.target_layer(target).unwrap_or_default();
                let mut targets = rules.indications.targets().iter();
                targets.any(|target| layer_of(target).spatial > self.layer.spatial)
            }
            Rules::Vp8 { .. } | Rules::Unreadable => false,
        }
    }

    /// Whether a decoder without any state can start at this packet; `None` when only the payload
    /// can tell.
    pub(crate) fn starts_key_frame(&self) -> Option<bool> {
        match &self.rules {
            Rules::Vp8 { .. } | Rules::Vp9 { .. } | Rules::Unreadable => None,
            Rules::Dependency(rules) => Some(
                self.starts
                    && rules.descriptor.structure.is_some()
                    && rules.referred.is_empty()
                    && self.layer.spatial == 0,
            ),
        }
    }
}

/// The state of a stream that the reading of its frames needs.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
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
        if let Some(value) = descriptor
            && let Ok(mandatory) = MandatoryFields::parse(value)
        {
            return Some(self.read_dependency(mandatory, timestamp, value));
        }
        match codec {
            Codec::Vp8 => self.read_vp8(timestamp, payload),
            Codec::Vp9 => self.read_vp9(timestamp, payload),
            _ => None,
        }
    }

    fn read_dependency(&mut self, mandatory: MandatoryFields, timestamp: RtpTimestamp, value: &[u8]) -> Frame {
        let number = self.numbers.extend(mandatory.frame_number);
        let rules = self.dependencies(number, value);
        Frame {
            id: FrameId::Number(number),
            starts: mandatory.start_of_frame,
            ends: mandatory.end_of_frame,
            timestamp,
            layer: rules.as_ref().map_or(Layer::default(), |(layer, _)| *layer),
            rules: rules.map_or(Rules::Unreadable, |(_, rules)| Rules::Dependency(Box::new(rules))),
        }
    }

    fn dependencies(&mut self, number: u64, value: &[u8]) -> Option<(Layer, Dependencies)> {
        let known = self.structure.as_ref().map(|(_, structure)| structure.clone());
        let descriptor = DependencyDescriptor::parse(value, known.as_deref()).ok()?;
        if let Some(new) = &descriptor.structure
            && self.structure.as_ref().is_none_or(|(since, _)| *since <= number)
        {
            self.structure = Some((number, new.clone()));
        }
        if let Some(targets) = descriptor
            .active_targets_from_here()
            .filter(|_| self.active.0 <= number)
        {
            self.active = (number, targets);
        }
        let (since, structure) = match &descriptor.structure {
            Some(own) => (number, own.clone()),
            None => self.structure.clone()?,
        };
        let frame = descriptor.resolve(Some(&structure)).ok()?;
        let back = |distance: u64| number.checked_sub(distance);
        let rules = Dependencies {
            since,
            active: self.active.1,
            indications: frame.indications(),
            fdiffs: FrameDiffs::new(frame.fdiffs())?,
            referred: frame
                .fdiffs()
                .iter()
                .filter_map(|diff| back(u64::from(*diff)))
                .collect(),
            previous: frame
                .chain_diffs()
                .iter()
                .map(|diff| back(u64::from(*diff)).filter(|_| *diff != 0))
                .collect(),
            chains: (0..structure.chains())
                .filter(|chain| frame.is_in_chain(*chain))
                .collect(),
            structure: structure.clone(),
            descriptor: descriptor.clone(),
        };
        Some((frame.layer(), rules))
    }

    fn read_vp8(&mut self, timestamp: RtpTimestamp, payload: &[u8]) -> Option<Frame> {
        let descriptor = Vp8Descriptor::parse(payload).ok()?;
        let temporal = descriptor.temporal?;
        Some(Frame {
            id: FrameId::Picture(self.timestamps.extend(timestamp.0), 0),
            starts: descriptor.is_frame_start(),
            ends: false,
            timestamp,
            layer: Layer {
                spatial: 0,
                temporal: temporal.layer,
            },
            rules: Rules::Vp8 {
                sync: temporal.sync,
                key: wire::codec::is_key_frame_start(Codec::Vp8, payload),
            },
        })
    }

    fn read_vp9(&mut self, timestamp: RtpTimestamp, payload: &[u8]) -> Option<Frame> {
        let descriptor = Vp9Descriptor::parse(payload).ok()?;
        let layer = descriptor.layer?;
        let picture = self.timestamps.extend(timestamp.0);
        let (newest, top, before) = &mut self.picture;
        if picture > *newest {
            (*newest, *before, *top) = (picture, *top, layer.spatial);
        } else if picture == *newest {
            *top = layer.spatial.max(*top);
        }
        Some(Frame {
            id: FrameId::Picture(picture, layer.spatial),
            starts: descriptor.start_of_frame,
            ends: descriptor.end_of_frame,
            timestamp,
            layer: Layer {
                spatial: layer.spatial,
                temporal: layer.temporal,
            },
            rules: Rules::Vp9 {
                switching_up: layer.switching_up,
                inter_picture: descriptor.inter_picture,
                inter_layer: layer.inter_layer,
                refers_above: !descriptor.not_inter_layer_reference,
                top: (*top).max(*before),
            },
        })
    }
}
