//! A stream in layers, as encoders make them: pictures in a fixed rhythm, each with one frame a
//! spatial layer, each frame with its references.
//!
//! Every payload ends in the truth: its frame, the spatial layer of that frame, and its references.
//! The invariants use it, so they need no descriptor.

mod written;

use std::collections::VecDeque;
use std::sync::Arc;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use wire::Codec;
use wire::codec::dependency::DependencyStructure;

use crate::invariants::truth::Truth;
use crate::text::{moved, structure};

/// The kind of layers an encoder makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One size, two rates, as VP8 does it: without chains.
    L1T2Vp8,
    L1T2,
    L1T3,
    /// Three sizes, each predicted from the one below.
    L3T3,
    /// Three sizes, predicted from the one below in key pictures only.
    L3T3Key,
}

/// The care that a network takes of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Care {
    #[default]
    None,
    /// It does not delay it.
    InOrder,
    /// It neither delays nor loses it.
    Whole,
}

/// One packet of such a stream.
pub(super) struct LayerPacket {
    /// It is the first packet of a picture.
    pub starts_picture: bool,
    pub ends_picture: bool,
    pub care: Care,
    /// The first bytes of the payload.
    pub head: Vec<u8>,
    /// The dependency descriptor, for a leg that carries it.
    pub descriptor: Option<Vec<u8>>,
    pub truth: Truth,
}

/// An encoder of one stream.
pub(super) struct Scalable {
    kind: Kind,
    with_descriptor: bool,
    /// Sizes change with key pictures only, and template ids as libwebrtc's.
    is_steady: bool,
    structure: Arc<DependencyStructure>,
    /// Numbers between frames that belong to other encodings.
    step: u16,
    /// References are to pictures of the same rate, with exceptions: VP8 and VP9 without
    /// descriptor.
    is_tangled: bool,
    flexible: bool,
    number: u16,
    picture_id: u16,
    tl0: u8,
    next_uid: u32,
    /// Pictures since the last key picture.
    since_key: usize,
    /// How many spatial layers are made.
    active: u8,
    told_active: u8,
    /// By spatial layer: the newest frame of each rate, as number and uid.
    newest: [[Option<(u16, u32)>; 3]; 3],
    /// By chain: its newest frame's number.
    chains: [Option<u16>; 3],
    left: VecDeque<Plan>,
}

/// A packet that is still to be made.
struct Plan {
    frame: FramePlan,
    starts: bool,
    ends: bool,
    starts_picture: bool,
    ends_picture: bool,
}

#[derive(Clone)]
struct FramePlan {
    spatial: u8,
    temporal: u8,
    key: bool,
    number: u16,
    uid: u32,
    referred: Vec<(u16, u32)>,
    /// Refers to an earlier picture.
    inter_picture: bool,
    inter_layer: bool,
    refers_above: bool,
    /// Refers to pictures of the base layer only.
    sync: bool,
    /// No later picture above its own rate refers to an earlier one.
    up: bool,
    template: u8,
    chain_diffs: Vec<u8>,
    tells_active: bool,
}

impl Scalable {
    /// An encoder that suits a codec; half of all have no layers.
    pub(crate) fn new(rng: &mut StdRng, codec: Codec) -> Option<Self> {
        let all = [Kind::L1T2, Kind::L1T3, Kind::L3T3, Kind::L3T3Key];
        let (kinds, with_descriptor) = match codec {
            Codec::Vp8 => (&[Kind::L1T2Vp8, Kind::L1T2, Kind::L1T3][..], rng.random()),
            Codec::H264 => (&all[..2], true),
            Codec::Vp9 => (&all[..], rng.random()),
            Codec::Av1 => (&all[..], true),
            _ => return None,
        };
        let kind = *kinds.choose(rng).expect("there are some");
        let structure = structure(kind.structure()).expect("it is listed");
        let active = if kind.sizes() == 1 { 1 } else { rng.random_range(2..=3) };
        Some(Scalable {
            kind,
            with_descriptor,
            is_steady: false,
            structure,
            step: if rng.random_bool(0.7) {
                1
            } else {
                rng.random_range(2..4)
            },
            is_tangled: !with_descriptor && rng.random(),
            flexible: rng.random(),
            number: if rng.random() { rng.random() } else { 65_500 },
            picture_id: rng.random(),
            tl0: rng.random(),
            next_uid: 1,
            since_key: 0,
            active,
            told_active: active,
            newest: Default::default(),
            chains: Default::default(),
            left: VecDeque::new(),
        })
    }

    /// The same for a stream that certainly says its layers in descriptors.
    pub(crate) fn described(rng: &mut StdRng, codec: Codec) -> Option<Self> {
        Some(Scalable {
            with_descriptor: true,
            is_tangled: false,
            is_steady: true,
            ..Scalable::new(rng, codec)?
        })
    }

    /// The next packet.
    pub(crate) fn next(&mut self, rng: &mut StdRng, codec: Codec) -> LayerPacket {
        if self.left.is_empty() {
            self.plan_picture(rng);
        }
        let plan = self.left.pop_front().expect("a picture has packets");
        let frame = &plan.frame;
        LayerPacket {
            starts_picture: plan.starts_picture,
            ends_picture: plan.ends_picture,
            care: match self.kind.sizes() {
                1 if frame.key => Care::InOrder,
                2.. if frame.key || frame.refers_above => Care::Whole,
                _ => Care::None,
            },
            head: self.head(codec, &plan),
            descriptor: self.with_descriptor.then(|| self.descriptor(&plan)),
            truth: Truth {
                frame: frame.uid,
                referred: frame.referred.iter().map(|(_, uid)| *uid).collect(),
                spatial: frame.spatial,
            },
        }
    }

    /// Skips numbers, as a sender that numbers dropped frames.
    pub(crate) fn jump(&mut self, by: u16) {
        self.number = self.number.wrapping_add(by);
    }

    fn plan_picture(&mut self, rng: &mut StdRng) {
        let first = self.next_uid == 1;
        let key = first || rng.random_bool(0.06);
        if key {
            self.since_key = 0;
            self.active = if self.kind.sizes() == 1 {
                1
            } else {
                rng.random_range(1..=3)
            };
            if rng.random_bool(0.5) && !first {
                let offset = match self.is_steady {
                    true => {
                        (usize::from(self.structure.template_id_offset()) + self.structure.templates().len()) as u8 % 64
                    }
                    false => rng.random_range(0..64),
                };
                self.structure = Arc::new(moved(&self.structure, offset));
            }
            self.newest = Default::default();
            self.told_active = self.kind.sizes();
        } else {
            self.since_key += 1;
            if !self.is_steady && rng.random_bool(0.05) {
                self.active = rng.random_range(1..=self.active);
            }
        }
        self.picture_id = self.picture_id.wrapping_add(1) & 0x7fff;
        let frames: Vec<FramePlan> = (0..self.sizes_of_picture(rng, key))
            .map(|spatial| self.plan_frame(rng, spatial, key))
            .collect();
        for (at, frame) in frames.iter().enumerate() {
            let packets = rng.random_range(1..4);
            for packet in 0..packets {
                let (starts, ends) = (packet == 0, packet + 1 == packets);
                self.left.push_back(Plan {
                    starts,
                    ends,
                    starts_picture: starts && at == 0,
                    ends_picture: ends && at + 1 == frames.len(),
                    frame: frame.clone(),
                });
            }
        }
    }

    /// The number of sizes in a picture. To keep its rate an encoder omits the highest at times,
    /// which then continues from its last frame. It is not omitted in pictures of the middle rate,
    /// because later pictures refer to them.
    fn sizes_of_picture(&self, rng: &mut StdRng, key: bool) -> u8 {
        let may_leave_out = self.kind == Kind::L3T3Key && self.with_descriptor && !key && self.since_key % 4 != 2;
        if may_leave_out && rng.random_bool(0.2) {
            return rng.random_range(1..=self.active);
        }
        self.active
    }

    fn plan_frame(&mut self, rng: &mut StdRng, spatial: u8, key: bool) -> FramePlan {
        self.number = self.number.wrapping_add(self.step);
        let (temporal, template) = self.kind.place(self.since_key, spatial, key);
        if temporal == 0 && spatial == 0 {
            self.tl0 = self.tl0.wrapping_add(1);
        }
        let of = usize::from(spatial);
        let mut referred: Vec<(u16, u32)> = Vec::new();
        // A sender with tangled rates drops its earlier references once in three times.
        let lets_go = !self.is_tangled || (self.since_key / 4).is_multiple_of(3);
        if !key {
            referred.extend(self.references(temporal, of, lets_go));
        }
        let sync = referred.iter().all(|referred| self.newest[of][0] == Some(*referred));
        let inter_layer = spatial > 0 && (key || self.kind == Kind::L3T3);
        let inter_picture = !referred.is_empty();
        if inter_layer {
            let below = self.newest[of - 1].iter().flatten().max_by_key(|(_, uid)| *uid);
            referred.extend(below);
        }
        let uid = self.next_uid;
        self.next_uid += 1;
        let own = (self.number, uid);
        self.newest[of][usize::from(temporal)] = Some(own);
        let chain_diffs = self.chain_diffs(spatial, temporal, key);
        let tells_active = spatial == 0 && self.active != self.told_active;
        if tells_active && (key || rng.random_bool(0.9)) {
            self.told_active = self.active;
        }
        FramePlan {
            spatial,
            temporal,
            key,
            number: self.number,
            uid,
            referred,
            inter_picture,
            inter_layer,
            refers_above: spatial + 1 < self.kind.sizes() && (key || self.kind == Kind::L3T3),
            sync,
            up: lets_go || temporal == 2,
            template: self.structure.template_id_offset().wrapping_add(template) % 64,
            chain_diffs,
            tells_active: tells_active && self.told_active == self.active,
        }
    }

    /// The frames of the same size that a frame refers to.
    fn references(&self, temporal: u8, of: usize, lets_go: bool) -> Vec<(u16, u32)> {
        let [base, middle, high] = self.newest[of];
        let second = self.since_key % 4 == 3;
        let wanted = match (self.kind, temporal) {
            (Kind::L1T2Vp8, 1) if second => vec![middle, base],
            (Kind::L1T2Vp8, 1) => vec![base],
            (_, 0) => vec![base],
            (_, 1) if lets_go => vec![base],
            (_, 1) => vec![base, middle],
            (_, _) if second => vec![middle],
            (_, _) if lets_go => vec![base],
            (_, _) => vec![base, high],
        };
        wanted.into_iter().flatten().collect()
    }

    /// Distances to the chains' previous frames; notes this frame in the chains it is part of.
    fn chain_diffs(&mut self, spatial: u8, temporal: u8, key: bool) -> Vec<u8> {
        let chains = self.structure.chains();
        let number = self.number;
        let starts = key && spatial == 0;
        let diff = |previous: &Option<u16>| match previous {
            Some(previous) if !starts => u8::try_from(number.wrapping_sub(*previous)).unwrap_or(0),
            _ => 0,
        };
        let diffs = self.chains[..chains].iter().map(diff).collect();
        for (chain, newest) in self.chains[..chains].iter_mut().enumerate() {
            let shares = usize::from(spatial) <= chain && (key || self.kind != Kind::L3T3Key);
            if temporal == 0 && (shares || usize::from(spatial) == chain) {
                *newest = Some(number);
            }
        }
        diffs
    }
}

impl Kind {
    fn structure(self) -> &'static str {
        match self {
            Kind::L1T2Vp8 => "L1T2_VP8",
            Kind::L1T2 => "L1T2",
            Kind::L1T3 => "L1T3",
            Kind::L3T3 => "L3T3",
            Kind::L3T3Key => "L3T3_KEY",
        }
    }

    fn sizes(self) -> u8 {
        match self {
            Kind::L3T3 | Kind::L3T3Key => 3,
            Kind::L1T2Vp8 | Kind::L1T2 | Kind::L1T3 => 1,
        }
    }

    /// The rate of a picture, and the template of its frame of a size.
    fn place(self, since_key: usize, spatial: u8, key: bool) -> (u8, u8) {
        let in_four = since_key % 4;
        match self {
            Kind::L1T2 if in_four % 2 == 1 => (1, 2),
            Kind::L1T2Vp8 if in_four % 2 == 1 => (1, if in_four == 1 { 3 } else { 4 }),
            Kind::L1T2Vp8 if in_four == 2 => (0, 2),
            _ if in_four == 0 => {
                let key_is_first = self != Kind::L3T3;
                (0, 5 * spatial + u8::from(key != key_is_first))
            }
            Kind::L1T2 | Kind::L1T2Vp8 => (0, 1),
            _ if in_four == 2 => (1, 5 * spatial + 2),
            _ if in_four == 1 => (2, 5 * spatial + 3),
            _ => (2, 5 * spatial + 4),
        }
    }
}
