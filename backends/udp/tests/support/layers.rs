//! A camera in three sizes and three rates in one stream, whose sizes build on one another in key
//! frames only.

use std::sync::Arc;

use dataplane::{Leg, Path, Protection, Replica, ReplicaFormat, Stream, StreamFormat, StreamKey};
use wire::codec::Layer;
use wire::codec::dependency::{DESCRIPTOR_LEN_MAX, DependencyDescriptor, DependencyStructure, MandatoryFields};
use wire::{Codec, ExtensionKind, MediaKind};

use super::{leg, payload_type, replica};

pub(crate) const LAYERED_TYPE: u8 = 98;
const DESCRIPTOR_ID: u8 = 5;
/// The beginning of a key frame of Chromium's in L3T3_KEY, captured.
const KEY_DESCRIPTOR: &str = "c1000180081485214eaaaaa8000600004000100002aa80a8000600004000100002a000a800060000400016d549241b5524906d54923157e0\
                              01974ca864330e222396eca8655304224390eca8775300ef008601df010d03bf021b";
/// Pictures until the rates begin again.
const CYCLE: u64 = 4;

/// A leg whose packets may carry the dependency descriptor.
pub(crate) fn layered_leg(path: Path, protection: Protection) -> Leg {
    let mut leg = leg(path, protection);
    for map in [&mut leg.extensions_in, &mut leg.extensions_out] {
        map.insert(ExtensionKind::DependencyDescriptor, DESCRIPTOR_ID).unwrap();
    }
    leg
}

pub(crate) fn layered_stream() -> Stream {
    Stream {
        kind: MediaKind::Video,
        formats: vec![StreamFormat {
            payload_type: payload_type(LAYERED_TYPE),
            codec: Codec::Vp9,
            rtx: None,
        }],
        rtx: None,
        mid: None,
        reference: None,
    }
}

/// A replica that gets these layers of such a stream.
pub(crate) fn layered_replica(to: u32, ssrc: u32, source: StreamKey, target: Layer) -> Replica {
    let layered = payload_type(LAYERED_TYPE);
    Replica {
        formats: vec![ReplicaFormat {
            source: layered,
            payload_type: layered,
            rtx: None,
            primary_only: false,
        }],
        rtx: None,
        target,
        ..replica(to, ssrc, source)
    }
}

/// The encoder.
pub(crate) struct Layered {
    ssrc: u32,
    structure: Arc<DependencyStructure>,
    sequence: u16,
    frame: u16,
    pictures: u32,
    since_key: u64,
}

impl Layered {
    pub(crate) fn new(ssrc: u32) -> Self {
        let digits: Vec<u8> = KEY_DESCRIPTOR
            .bytes()
            .map(|digit| (digit as char).to_digit(16).unwrap() as u8)
            .collect();
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let captured = DependencyDescriptor::parse(&bytes, None).unwrap();
        Layered {
            ssrc,
            structure: captured.structure.expect("a key frame brings one"),
            sequence: 0,
            frame: 0,
            pictures: 0,
            since_key: 0,
        }
    }

    /// The next picture: so many packets of each size, of `len` bytes each.
    pub(crate) fn picture(&mut self, is_key: bool, packets: [u16; 3], len: usize) -> Vec<Vec<u8>> {
        self.pictures += 1;
        self.since_key = if is_key { 0 } else { self.since_key + 1 };
        let mut picture = Vec::new();
        for (size, count) in (0_u8..).zip(packets) {
            self.frame = self.frame.wrapping_add(1);
            for part in 0..count {
                let descriptor = self.descriptor(size, is_key, part == 0, part + 1 == count);
                let ends_picture = size == 2 && part + 1 == count;
                picture.push(self.packet(&descriptor, ends_picture, len));
            }
        }
        picture
    }

    fn descriptor(&self, size: u8, is_key: bool, starts: bool, ends: bool) -> Vec<u8> {
        let of_size = match self.since_key % CYCLE {
            0 => u8::from(!is_key),
            1 => 3,
            2 => 2,
            _ => 4,
        };
        let mut descriptor = DependencyDescriptor::plain(MandatoryFields {
            start_of_frame: starts,
            end_of_frame: ends,
            template_id: 5 * size + of_size,
            frame_number: self.frame,
        });
        descriptor.structure = (is_key && size == 0 && starts).then(|| self.structure.clone());
        let mut room = [0; DESCRIPTOR_LEN_MAX];
        let len = descriptor.write(Some(&self.structure), &mut room).unwrap();
        room[..len].to_vec()
    }

    /// With elements of two-byte headers, which have room for a structure (RFC 8285 section 4.3).
    fn packet(&mut self, descriptor: &[u8], ends_picture: bool, len: usize) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut packet = vec![0x90, LAYERED_TYPE | u8::from(ends_picture) << 7];
        packet.extend(self.sequence.to_be_bytes());
        packet.extend((self.pictures * 3_000).to_be_bytes());
        packet.extend(self.ssrc.to_be_bytes());
        let mut elements = vec![DESCRIPTOR_ID, descriptor.len() as u8];
        elements.extend(descriptor);
        elements.resize(elements.len().next_multiple_of(4), 0);
        packet.extend([0x10, 0x00]);
        packet.extend((elements.len() as u16 / 4).to_be_bytes());
        packet.extend(elements);
        packet.resize(packet.len() + len, self.sequence as u8);
        packet
    }
}
