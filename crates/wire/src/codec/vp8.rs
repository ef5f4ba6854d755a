//! The VP8 payload descriptor: reading it, and rewriting it where frames were left out.

use super::{DescriptorError, PictureId};
use crate::bytes::Reader;

/// A packet's VP8 payload descriptor.
///
/// An SFU that drops temporal layers, or switches between encodings, rewrites the picture id and
/// TL0PICIDX so that the receiver sees one continuous stream; both keep their place and width, so a
/// packet never changes size.
///
/// Source: RFC 7741 section 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vp8Descriptor {
    /// N: no other frame is predicted from this one.
    pub non_reference: bool,
    /// S: the packet starts a partition.
    pub start_of_partition: bool,
    /// PID: which partition; 0 holds the modes and motion vectors.
    pub partition: u8,
    /// The picture id.
    pub picture_id: Option<PictureId>,
    /// TL0PICIDX: number of the temporal base-layer frame this frame builds on, or is.
    pub tl0_pic_idx: Option<u8>,
    /// The temporal layer.
    pub temporal: Option<Vp8Temporal>,
    /// KEYIDX: number of the key frame this frame builds on, 0 to 31.
    pub key_idx: Option<u8>,
    /// Length of the descriptor, in bytes.
    pub len: usize,
}

/// A VP8 frame's temporal layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vp8Temporal {
    /// TID: 0 is the base layer, 3 the highest.
    pub layer: u8,
    /// Y: the frame depends on the base layer only, so a receiver may switch up here.
    pub sync: bool,
}

impl Vp8Descriptor {
    /// Reads the descriptor at the front of a payload.
    pub fn parse(payload: &[u8]) -> Result<Self, DescriptorError> {
        Self::read(payload).ok_or(DescriptorError::Truncated)
    }

    fn read(payload: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(payload);
        let first = reader.u8()?;
        let extended = if first & 0x80 != 0 { reader.u8()? } else { 0 };
        let picture_id = if extended & 0x80 != 0 {
            Some(PictureId::read(&mut reader)?)
        } else {
            None
        };
        let tl0_pic_idx = if extended & 0x40 != 0 { Some(reader.u8()?) } else { None };
        let has_temporal = extended & 0x20 != 0;
        let has_key_idx = extended & 0x10 != 0;
        let layers = if has_temporal || has_key_idx { reader.u8()? } else { 0 };
        Some(Self {
            non_reference: first & 0x20 != 0,
            start_of_partition: first & 0x10 != 0,
            partition: first & 0x07,
            picture_id,
            tl0_pic_idx,
            temporal: has_temporal.then_some(Vp8Temporal {
                layer: layers >> 6,
                sync: layers & 0x20 != 0,
            }),
            key_idx: has_key_idx.then_some(layers & 0x1f),
            len: payload.len() - reader.len(),
        })
    }

    /// Whether the packet is the first of its frame.
    pub fn is_frame_start(&self) -> bool {
        self.start_of_partition && self.partition == 0
    }

    /// Writes another picture id, in the width the sender chose, into the payload this descriptor
    /// was read from.
    ///
    /// Does nothing when the descriptor has no picture id.
    /// Panics: when `payload` is not the one this descriptor was read from and ends sooner.
    pub fn rewrite_picture_id(&mut self, payload: &mut [u8], value: u16) {
        let Some(id) = self.picture_id.as_mut() else { return };
        *id = id.with_value(value);
        match *id {
            PictureId::Seven(value) => payload[PICTURE_ID_AT] = value,
            PictureId::Fifteen(value) => {
                payload[PICTURE_ID_AT..PICTURE_ID_AT + 2].copy_from_slice(&(value | 0x8000).to_be_bytes());
            }
        }
    }

    /// Writes another TL0PICIDX into the payload this descriptor was read from.
    ///
    /// Does nothing when the descriptor has none.
    /// Panics: as [`rewrite_picture_id`](Self::rewrite_picture_id).
    pub fn rewrite_tl0_pic_idx(&mut self, payload: &mut [u8], value: u8) {
        let Some(index) = self.tl0_pic_idx.as_mut() else { return };
        *index = value;
        let at = PICTURE_ID_AT
            + match self.picture_id {
                None => 0,
                Some(PictureId::Seven(_)) => 1,
                Some(PictureId::Fifteen(_)) => 2,
            };
        payload[at] = value;
    }
}

/// Position of the picture id, if there is one: after the first byte and the extension bits.
const PICTURE_ID_AT: usize = 2;

/// Whether the packet starts a key frame: first packet of the frame, and the P bit of the VP8 frame
/// header clear.
///
/// Source: RFC 7741 section 4.3.
pub fn is_key_frame_start(payload: &[u8]) -> bool {
    let Ok(descriptor) = Vp8Descriptor::parse(payload) else {
        return false;
    };
    let frame_header = payload.get(descriptor.len);
    descriptor.is_frame_start() && frame_header.is_some_and(|byte| byte & 0x01 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_shortest_descriptor_is_one_byte() {
        // RFC 7741 section 4.5.1: first packet of a key frame, nothing but S and PID 0.
        let descriptor = Vp8Descriptor::parse(&[0x10, 0x00]).unwrap();
        assert!(descriptor.is_frame_start());
        assert_eq!(
            (descriptor.picture_id, descriptor.tl0_pic_idx, descriptor.len),
            (None, None, 1)
        );
    }

    #[test]
    fn every_optional_field_is_found() {
        let payload = [0b1011_0010, 0b1111_0000, 0x92, 0x34, 0x56, 0b1010_1001, 0x01];
        let descriptor = Vp8Descriptor::parse(&payload).unwrap();
        assert_eq!(
            descriptor,
            Vp8Descriptor {
                non_reference: true,
                start_of_partition: true,
                partition: 2,
                picture_id: Some(PictureId::Fifteen(0x1234)),
                tl0_pic_idx: Some(0x56),
                temporal: Some(Vp8Temporal { layer: 2, sync: true }),
                key_idx: Some(9),
                len: 6,
            }
        );
    }

    #[test]
    fn a_key_frame_starts_with_s_pid_0_and_p_clear() {
        // RFC 7741 section 4.5.1 (key frame), 4.5.3 (second partition), and an inter frame.
        assert!(is_key_frame_start(&[0x10, 0x00]));
        assert!(is_key_frame_start(&[0x90, 0x80, 0x11, 0x10]));
        assert!(!is_key_frame_start(&[0x10, 0x01]), "inter frame");
        assert!(!is_key_frame_start(&[0x00, 0x00]), "continuation");
        assert!(!is_key_frame_start(&[0x11, 0x00]), "second partition");
        assert!(!is_key_frame_start(&[0x10]), "no frame header");
        assert!(!is_key_frame_start(&[0x90, 0x80]), "ends inside the descriptor");
    }

    /// Writes a descriptor with the given fields, as a sender would.
    fn encode(picture_id: Option<PictureId>, tl0: Option<u8>, temporal: Option<u8>, key_idx: Option<u8>) -> Vec<u8> {
        let bit = |present: bool, bit: u8| u8::from(present) << bit;
        let extended = bit(picture_id.is_some(), 7)
            | bit(tl0.is_some(), 6)
            | bit(temporal.is_some(), 5)
            | bit(key_idx.is_some(), 4);
        let mut bytes = vec![0x90, extended];
        match picture_id {
            Some(PictureId::Seven(value)) => bytes.push(value),
            Some(PictureId::Fifteen(value)) => bytes.extend((value | 0x8000).to_be_bytes()),
            None => {}
        }
        bytes.extend(tl0);
        if temporal.is_some() || key_idx.is_some() {
            bytes.push(temporal.unwrap_or(0) << 6 | key_idx.unwrap_or(0));
        }
        bytes
    }

    proptest! {
        #[test]
        fn rewriting_changes_the_named_fields_and_no_other(
            id in prop::option::of((any::<bool>(), 0u16..0x8000)),
            tl0: Option<u8>,
            temporal in prop::option::of(0u8..4),
            key_idx in prop::option::of(0u8..32),
            new_id: u16,
            new_tl0: u8,
            frame: [u8; 4],
        ) {
            let id = id.map(|(wide, value)| match wide {
                true => PictureId::Fifteen(value),
                false => PictureId::Seven(value as u8 & 0x7f),
            });
            let mut payload = encode(id, tl0, temporal, key_idx);
            let len = payload.len();
            payload.extend(frame);
            let before = Vp8Descriptor::parse(&payload).unwrap();
            prop_assert_eq!((before.picture_id, before.tl0_pic_idx, before.key_idx), (id, tl0, key_idx));
            prop_assert_eq!((before.temporal.map(|t| t.layer), before.len), (temporal, len));

            let mut after = before;
            after.rewrite_picture_id(&mut payload, new_id);
            after.rewrite_tl0_pic_idx(&mut payload, new_tl0);
            prop_assert_eq!(Vp8Descriptor::parse(&payload), Ok(after));
            let expected = encode(id.map(|id| id.with_value(new_id)), tl0.map(|_| new_tl0), temporal, key_idx);
            prop_assert_eq!(&payload[..len], &expected[..]);
            prop_assert_eq!(&payload[len..], &frame[..]);
        }

        #[test]
        fn every_prefix_is_judged_without_a_panic(payload: Vec<u8>) {
            for end in 0..=payload.len() {
                let _ = is_key_frame_start(&payload[..end]);
            }
        }
    }
}
