//! A sender that behaves like a browser's: frames of several packets, key frames now and then,
//! probes, retransmissions.

use std::collections::VecDeque;

use rand::Rng;
use rand::rngs::StdRng;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, PayloadType};

use super::Network;
use super::layers::{Care, LayerPacket, Scalable};
use crate::invariants::truth::LAYERED;
use crate::rtp::{Element, RtpFields};

/// How many packets a sender can send again.
const HISTORY: usize = 100;

/// One stream's sender.
pub(super) struct Sender {
    pub ssrc: u32,
    pub rtx: Option<u32>,
    /// Formats it may send: payload type, codec, type of its retransmissions.
    pub formats: Vec<(PayloadType, Codec, Option<PayloadType>)>,
    format: usize,
    sequence: u16,
    rtx_sequence: u16,
    timestamp: u32,
    left_in_frame: u32,
    picture: u16,
    tl0: u8,
    ids: Ids,
    /// Makes its frames, if they have layers.
    layers: Option<Scalable>,
    /// Whether it makes no mistakes.
    is_clean: bool,
    sent: VecDeque<RtpFields>,
    /// Whether no packet from before its last jump is still on its way.
    pub may_jump: bool,
    /// Of the newest packet.
    care: Care,
}

/// Numbering of pictures by a VP8 sender.
#[derive(Clone, Copy)]
enum Ids {
    None,
    Seven,
    Fifteen,
}

impl Sender {
    pub(crate) fn new(
        rng: &mut StdRng,
        ssrc: u32,
        rtx: Option<u32>,
        formats: Vec<(PayloadType, Codec, Option<PayloadType>)>,
        network: Network,
    ) -> Self {
        let is_clean = network.is_layered();
        let layers = match network {
            Network::Described => Scalable::described(rng, formats[0].1),
            _ => Scalable::new(rng, formats[0].1).filter(|_| is_clean || rng.random_bool(0.7)),
        };
        Sender {
            ssrc,
            rtx,
            format: 0,
            // Half of all start close to a wrap.
            sequence: if rng.random() {
                rng.random()
            } else {
                rng.random_range(65_300..65_535)
            },
            rtx_sequence: rng.random(),
            timestamp: if rng.random() {
                rng.random()
            } else {
                u32::MAX - rng.random_range(0..90_000)
            },
            left_in_frame: 0,
            picture: rng.random(),
            tl0: rng.random(),
            ids: [Ids::None, Ids::Seven, Ids::Fifteen, Ids::Fifteen][rng.random_range(0..4)],
            layers,
            is_clean,
            formats,
            sent: VecDeque::new(),
            may_jump: true,
            care: Care::None,
        }
    }

    /// The care that the network takes of the newest packet.
    pub(crate) fn care(&self) -> Care {
        self.care
    }

    /// Whether the newest packet was the last of its picture.
    pub(crate) fn is_between_pictures(&self) -> bool {
        self.left_in_frame == 0
    }

    /// The next packet of the stream, with a payload that ends in `tag`.
    pub(crate) fn next(&mut self, rng: &mut StdRng, map: &ExtensionMap, tag: u64, size_max: usize) -> RtpFields {
        if self.layers.is_some() {
            return self.next_of_layers(rng, map, tag);
        }
        let starts_frame = self.left_in_frame == 0;
        if starts_frame {
            self.begin_frame(rng);
        }
        self.left_in_frame -= 1;
        let (payload_type, codec, _) = self.formats[self.format];
        let mut fields = RtpFields {
            ssrc: Some(self.ssrc),
            payload_type: Some(payload_type.get()),
            sequence: Some(self.sequence),
            timestamp: Some(self.timestamp),
            marker: Some(self.left_in_frame == 0).filter(|last| *last),
            ..RtpFields::default()
        };
        self.sequence = self.sequence.wrapping_add(1);
        fields.extensions = Some(extensions(rng, map)).filter(|list| !list.is_empty());
        if rng.random_bool(0.05) && !starts_frame {
            fields.padding = Some(rng.random_range(1..=255));
            self.left_in_frame += 1;
        } else {
            fields.payload = Some(self.payload(rng, codec, starts_frame, tag));
            fields.padding = rng.random_bool(0.04).then(|| rng.random_range(1..=20));
            if rng.random_bool(0.01) {
                // Without extensions, so that a receiver's may make it larger.
                fields.extensions = None;
                fill_up(&mut fields, size_max - rng.random_range(0..8));
            }
        }
        self.sent.push_back(fields.clone());
        if self.sent.len() > HISTORY {
            self.sent.pop_front();
        }
        fields
    }

    /// The next packet of a stream in layers.
    fn next_of_layers(&mut self, rng: &mut StdRng, map: &ExtensionMap, tag: u64) -> RtpFields {
        let (payload_type, codec, _) = self.formats[0];
        let layers = self.layers.as_mut().expect("the caller looked");
        let is_padding = self.left_in_frame > 0 && !self.is_clean && rng.random_bool(0.03);
        let packet = (!is_padding).then(|| layers.next(rng, codec));
        if packet.as_ref().is_some_and(|packet| packet.starts_picture) {
            self.timestamp = self.timestamp.wrapping_add(3_000);
        }
        let mut fields = RtpFields {
            ssrc: Some(self.ssrc),
            payload_type: Some(payload_type.get()),
            sequence: Some(self.sequence),
            timestamp: Some(self.timestamp),
            ..RtpFields::default()
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut list = extensions(rng, map);
        match packet {
            None => fields.padding = Some(rng.random_range(1..=255)),
            Some(packet) => {
                self.left_in_frame = u32::from(!packet.ends_picture);
                self.care = packet.care;
                fields.marker = Some(packet.ends_picture).filter(|ends| *ends);
                put_descriptor(rng, map, &packet, &mut list, self.is_clean);
                let tag = tag & 0xffff_ffff | LAYERED;
                let body = (0..rng.random_range(0..20)).map(|_| rng.random::<u8>());
                let payload = packet.head.into_iter().chain(body).chain(packet.truth.encode());
                fields.payload = Some(payload.chain(tag.to_be_bytes()).collect());
            }
        }
        fields.extensions = Some(list).filter(|list| !list.is_empty());
        self.sent.push_back(fields.clone());
        if self.sent.len() > HISTORY {
            self.sent.pop_front();
        }
        fields
    }

    fn begin_frame(&mut self, rng: &mut StdRng) {
        if rng.random_bool(0.02) {
            self.format = rng.random_range(0..self.formats.len());
        }
        let video = self.formats[self.format].1.kind() == MediaKind::Video;
        self.left_in_frame = if video { rng.random_range(1..5) } else { 1 };
        self.timestamp = self.timestamp.wrapping_add(if video { 3_000 } else { 960 });
        self.picture = self.picture.wrapping_add(1);
        self.tl0 = self.tl0.wrapping_add(rng.random_range(0..2));
    }

    fn payload(&self, rng: &mut StdRng, codec: Codec, starts_frame: bool, tag: u64) -> Vec<u8> {
        let key = starts_frame && rng.random_bool(0.15);
        let mut payload = match codec {
            Codec::Vp8 => self.vp8(key, starts_frame),
            Codec::H264 if key => vec![0x65, 0x88],
            Codec::H264 => vec![0x41, 0x9a],
            Codec::Av1 if key => vec![0x18, 0x0a],
            Codec::Av1 => vec![0x10, 0x32],
            Codec::Vp9 if key => vec![0x0c, 0x82],
            Codec::Vp9 => vec![0x4c, 0x86],
            Codec::Red => red(rng),
            _ => vec![0x78],
        };
        let body = match rng.random_range(0..10) {
            0 => rng.random_range(0..200),
            _ => rng.random_range(0..20),
        };
        payload.extend((0..body).map(|_| rng.random::<u8>()));
        payload.extend(tag.to_be_bytes());
        payload
    }

    fn vp8(&self, key: bool, starts_frame: bool) -> Vec<u8> {
        let first = u8::from(starts_frame) << 4;
        let mut payload = match self.ids {
            Ids::None => vec![first],
            Ids::Seven => vec![first | 0x80, 0x80, self.picture as u8 & 0x7f],
            Ids::Fifteen => {
                let [high, low] = (self.picture | 0x8000).to_be_bytes();
                vec![first | 0x80, 0xc0, high, low, self.tl0]
            }
        };
        payload.push(u8::from(!key));
        payload
    }

    /// Skips many numbers, as after an interface that was down. A number that is then more than
    /// half the number space behind would rightly be taken as new, so it is forgotten.
    pub(crate) fn jump(&mut self, rng: &mut StdRng) {
        self.sequence = self
            .sequence
            .wrapping_add(rng.random_range(1..1_200) * rng.random_range(1..8));
        if let Some(layers) = &mut self.layers {
            layers.jump(rng.random_range(0..3_000));
        }
        self.sent.clear();
        self.may_jump = false;
    }

    /// The number of the next packet.
    pub(crate) fn position(&self) -> u16 {
        self.sequence
    }

    /// One of the last packets again, under its own SSRC.
    pub(crate) fn again(&self, rng: &mut StdRng) -> Option<RtpFields> {
        let at = rng.random_range(0..self.sent.len().max(1));
        self.sent.get(at).cloned()
    }

    /// A packet of the retransmission stream: one of the last packets, or a probe.
    pub(crate) fn retransmission(&mut self, rng: &mut StdRng, map: &ExtensionMap) -> Option<RtpFields> {
        let rtx = self.rtx?;
        let original = self.again(rng)?;
        let format = self
            .formats
            .iter()
            .find(|(payload_type, ..)| Some(payload_type.get()) == original.payload_type);
        let rtx_type = format.and_then(|(.., rtx)| *rtx)?;
        let probe = rng.random_bool(0.15);
        let sequence = self.rtx_sequence;
        if !rng.random_bool(0.03) {
            self.rtx_sequence = sequence.wrapping_add(if rng.random_bool(0.05) { 3 } else { 1 });
        }
        // Mostly the packet's first extensions, as a sender repeats it.
        let extensions = match rng.random_bool(0.7) {
            true => original.extensions.clone(),
            false => Some(extensions(rng, map)).filter(|list| !list.is_empty()),
        };
        Some(RtpFields {
            ssrc: Some(rtx),
            payload_type: Some(rtx_type.get()),
            sequence: Some(sequence),
            extensions,
            osn: original.sequence.filter(|_| !probe),
            payload: original.payload.filter(|_| !probe),
            padding: probe.then(|| rng.random_range(1..=255)),
            ..original
        })
    }
}

/// Headers and redundant frames of redundant audio; now and then they announce more than there is.
fn red(rng: &mut StdRng) -> Vec<u8> {
    let blocks = rng.random_range(0..3_u32);
    let sizes: Vec<u32> = (0..blocks).map(|_| rng.random_range(0..12)).collect();
    let mut bytes = Vec::new();
    for (at, size) in sizes.iter().enumerate() {
        let announced = if rng.random_bool(0.02) { 900 } else { *size };
        bytes.push(0x80 | 111);
        bytes.extend(&((960 * (blocks - at as u32)) << 10 | announced).to_be_bytes()[1..]);
    }
    bytes.push(111);
    bytes.resize(bytes.len() + sizes.iter().sum::<u32>() as usize, 0x0d);
    bytes
}

/// Puts a packet's descriptor among its extensions, if the leg carries it; now and then a damaged
/// one.
fn put_descriptor(rng: &mut StdRng, map: &ExtensionMap, packet: &LayerPacket, list: &mut Vec<Element>, is_clean: bool) {
    let Some(id) = map.id(ExtensionKind::DependencyDescriptor) else {
        return;
    };
    list.retain(|(other, _)| *other != id);
    let Some(mut value) = packet.descriptor.clone() else {
        return;
    };
    match rng.random_range(0..300) {
        _ if is_clean => {}
        0 => value.truncate(rng.random_range(0..=value.len())),
        1 | 2 => {
            let at = rng.random_range(0..value.len());
            value[at] ^= 1 << rng.random_range(0..8);
        }
        _ => {}
    }
    list.push((id, Some(value)));
}

/// Makes a packet `size` bytes long.
fn fill_up(fields: &mut RtpFields, size: usize) {
    fields.fill = Some(size.saturating_sub(fields.encode().len())).filter(|missing| *missing > 0);
}

/// Some of the extensions the leg has ids for, in any order, and now and then one it has not.
fn extensions(rng: &mut StdRng, map: &ExtensionMap) -> Vec<Element> {
    let mut list: Vec<Element> = Vec::new();
    for (_, id) in map.iter() {
        if rng.random_bool(0.5) {
            let len = match rng.random_range(0..40) {
                0 => 0,
                1 => 17,
                _ => rng.random_range(1..5),
            };
            let at = rng.random_range(0..=list.len());
            list.insert(
                at,
                (id, Some((0..len).map(|_| rng.random_range(b'a'..=b'e')).collect())),
            );
        }
    }
    if rng.random_bool(0.02) {
        list.push((rng.random_range(1..255), Some(vec![rng.random(), rng.random()])));
    }
    list
}
