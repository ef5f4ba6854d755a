//! The VP9 payload descriptor.

use super::{DescriptorError, PictureId};
use crate::bytes::Reader;

/// A packet's VP9 payload descriptor.
///
/// Source: RFC 9628 section 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vp9Descriptor {
    /// The picture id.
    pub picture_id: Option<PictureId>,
    /// P: the layer frame is predicted from earlier pictures.
    pub inter_picture: bool,
    /// F: references are listed, rather than following the scalability structure.
    pub flexible: bool,
    /// B: the packet is the first of its layer frame.
    pub start_of_frame: bool,
    /// E: the packet is the last of its layer frame.
    pub end_of_frame: bool,
    /// Z: no higher spatial layer of this picture is predicted from this one.
    pub not_inter_layer_reference: bool,
    /// The layer; a stream without this has only one.
    pub layer: Option<Vp9Layer>,
    /// Whether the descriptor carries a scalability structure, as key frames do.
    pub has_scalability_structure: bool,
    /// Length of the descriptor, in bytes.
    pub len: usize,
}

/// A VP9 layer frame's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vp9Layer {
    /// TID: 0 is the temporal base layer, 7 the highest.
    pub temporal: u8,
    /// U: from this picture on, a receiver may switch up to this temporal layer.
    pub switching_up: bool,
    /// SID: 0 is the spatial base layer, 7 the highest.
    pub spatial: u8,
    /// D: the layer frame is predicted from the spatial layer below, in the same picture.
    pub inter_layer: bool,
    /// TL0PICIDX: number of the temporal base-layer picture, in non-flexible mode only.
    pub tl0_pic_idx: Option<u8>,
}

/// A layer frame may refer to this many pictures.
const REFERENCES_MAX: usize = 3;

impl Vp9Descriptor {
    /// Reads the descriptor at the front of a payload.
    pub fn parse(payload: &[u8]) -> Result<Self, DescriptorError> {
        let mut reader = Reader::new(payload);
        let first = reader.u8().ok_or(DescriptorError::Truncated)?;
        let has = |bit: u8| first & bit != 0;
        let (inter_picture, flexible) = (has(0x40), has(0x10));
        let mut descriptor = Self {
            picture_id: None,
            inter_picture,
            flexible,
            start_of_frame: has(0x08),
            end_of_frame: has(0x04),
            not_inter_layer_reference: has(0x01),
            layer: None,
            has_scalability_structure: has(0x02),
            len: 0,
        };
        if has(0x80) {
            descriptor.picture_id = Some(PictureId::read(&mut reader).ok_or(DescriptorError::Truncated)?);
        }
        if has(0x20) {
            descriptor.layer = Some(read_layer(&mut reader, flexible).ok_or(DescriptorError::Truncated)?);
        }
        if inter_picture && flexible {
            skip_references(&mut reader)?;
        }
        if descriptor.has_scalability_structure {
            skip_scalability_structure(&mut reader).ok_or(DescriptorError::Truncated)?;
        }
        descriptor.len = payload.len() - reader.len();
        Ok(descriptor)
    }

    /// Whether a decoder that has seen nothing can start here: no earlier picture is needed, and it
    /// is the base layer.
    pub fn is_key_frame_start(&self) -> bool {
        !self.inter_picture && self.start_of_frame && self.layer.is_none_or(|layer| layer.spatial == 0)
    }
}

fn read_layer(reader: &mut Reader<'_>, flexible: bool) -> Option<Vp9Layer> {
    let byte = reader.u8()?;
    Some(Vp9Layer {
        temporal: byte >> 5,
        switching_up: byte & 0x10 != 0,
        spatial: byte >> 1 & 0x07,
        inter_layer: byte & 0x01 != 0,
        tl0_pic_idx: if flexible { None } else { Some(reader.u8()?) },
    })
}

/// Skips the P_DIFF bytes; the last bit of each is set if another follows.
fn skip_references(reader: &mut Reader<'_>) -> Result<(), DescriptorError> {
    for _ in 0..REFERENCES_MAX {
        if reader.u8().ok_or(DescriptorError::Truncated)? & 0x01 == 0 {
            return Ok(());
        }
    }
    Err(DescriptorError::TooManyReferences)
}

fn skip_scalability_structure(reader: &mut Reader<'_>) -> Option<()> {
    let head = reader.u8()?;
    let layers = usize::from(head >> 5) + 1;
    let (has_resolutions, has_pictures) = (head & 0x10 != 0, head & 0x08 != 0);
    if has_resolutions {
        reader.take(4 * layers)?;
    }
    if has_pictures {
        for _ in 0..reader.u8()? {
            let references = reader.u8()? >> 2 & 0x03;
            reader.take(usize::from(references))?;
        }
    }
    Some(())
}

/// Whether the packet starts a key frame's base layer.
pub fn is_key_frame_start(payload: &[u8]) -> bool {
    Vp9Descriptor::parse(payload).is_ok_and(|descriptor| descriptor.is_key_frame_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_frame_with_two_spatial_layers_and_a_structure_is_read_to_its_end() {
        let payload = [
            0b1010_1010, // I, L, B, V
            0x81,
            0x02,        // picture id 258
            0b0001_0000, // T0, U, S0
            0x07,        // TL0PICIDX
            0b0011_1000, // two spatial layers, resolutions, pictures
            0x01,
            0x40,
            0x00,
            0xb4,
            0x02,
            0x80,
            0x01,
            0x68,
            0x02, // two pictures
            0b0000_0100,
            0x01, // one reference
            0b0010_0000,
            0xff, // frame data
        ];
        let descriptor = Vp9Descriptor::parse(&payload).unwrap();
        assert_eq!(descriptor.picture_id, Some(PictureId::Fifteen(258)));
        let layer = Vp9Layer {
            temporal: 0,
            switching_up: true,
            spatial: 0,
            inter_layer: false,
            tl0_pic_idx: Some(7),
        };
        assert_eq!(descriptor.layer, Some(layer));
        assert_eq!(descriptor.len, payload.len() - 1);
        assert!(is_key_frame_start(&payload));
    }

    #[test]
    fn flexible_mode_lists_references_instead_of_tl0_pic_idx() {
        let payload = [0b1111_1100, 0x05, 0b0101_0011, 0x03, 0x04, 0xff];
        let descriptor = Vp9Descriptor::parse(&payload).unwrap();
        let layer = Vp9Layer {
            temporal: 2,
            switching_up: true,
            spatial: 1,
            inter_layer: true,
            tl0_pic_idx: None,
        };
        assert_eq!((descriptor.layer, descriptor.len), (Some(layer), 5));
        assert!(!descriptor.is_key_frame_start());
    }

    #[test]
    fn only_the_base_layer_of_an_independent_picture_is_a_start() {
        assert!(is_key_frame_start(&[0x08]), "no layer information: one layer");
        assert!(!is_key_frame_start(&[0x48]), "predicted");
        assert!(!is_key_frame_start(&[0x00]), "not the first packet");
        assert!(!is_key_frame_start(&[0x28, 0b0000_0010, 0x00]), "spatial layer 1");
        assert!(is_key_frame_start(&[0x28, 0b0000_0000, 0x00]));
        assert!(!is_key_frame_start(&[]));
    }

    #[test]
    fn a_fourth_reference_is_refused() {
        assert_eq!(
            Vp9Descriptor::parse(&[0x50, 1, 1, 1, 0]),
            Err(DescriptorError::TooManyReferences)
        );
        assert_eq!(Vp9Descriptor::parse(&[0x50, 1, 1]), Err(DescriptorError::Truncated));
    }

    proptest! {
        #[test]
        fn a_descriptor_never_reaches_past_its_payload(payload: Vec<u8>) {
            if let Ok(descriptor) = Vp9Descriptor::parse(&payload) {
                prop_assert!((1..=payload.len()).contains(&descriptor.len));
            }
        }
    }
}
