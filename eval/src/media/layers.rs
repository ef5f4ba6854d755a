//! Three temporal layers, as libwebrtc encodes VP8, and their descriptors in packets.

use std::sync::Arc;

use wire::codec::dependency::{
    ChainDiffs, DependencyDescriptor, DependencyStructure, FrameDiffs, FrameTemplate, Indication, Layer,
    MandatoryFields,
};

/// The temporal layer of a frame and its dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayeredFrame {
    /// Its temporal layer.
    pub temporal: u8,
    /// Whether it refers to the base layer only, so that a receiver may begin to take this layer
    /// here (the Y bit).
    pub sync: bool,
    /// The number of the base layer's newest frame.
    pub base_picture: u8,
    /// Its number among all frames.
    pub number: u16,
    key: bool,
    template: u8,
}

/// A dependency descriptor as written in a packet; empty if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Default for Dependency {
    fn default() -> Self {
        Self::NONE
    }
}

/// The layers of one stream.
pub(crate) struct TemporalLayers {
    structure: Arc<DependencyStructure>,
    number: u16,
    base_picture: u8,
    /// Frames since the last of the base layer's.
    place: usize,
}

/// Templates of the frames after one of the base layer: T2 on T0, T1 on T0, T2 on T1.
const BEHIND_BASE: [u8; 3] = [3, 2, 4];

impl Default for TemporalLayers {
    fn default() -> Self {
        Self {
            structure: Arc::new(structure()),
            number: 0,
            base_picture: 0,
            place: 0,
        }
    }
}

impl TemporalLayers {
    /// The next frame; a key frame restarts the pattern.
    pub(crate) fn next(&mut self, key: bool) -> LayeredFrame {
        if key {
            self.place = 0;
        }
        let template = match self.place {
            0 => u8::from(!key),
            place => BEHIND_BASE[place - 1],
        };
        self.base_picture = self.base_picture.wrapping_add(u8::from(self.place == 0));
        let frame = LayeredFrame {
            temporal: [0, 2, 1, 2][self.place],
            sync: matches!(self.place, 1 | 2),
            base_picture: self.base_picture,
            number: self.number,
            key,
            template,
        };
        self.place = (self.place + 1) % 4;
        self.number = self.number.wrapping_add(1);
        frame
    }

    /// The descriptor of a packet of the frame. The first packet of a key frame carries the
    /// structure.
    pub(crate) fn describe(&self, frame: &LayeredFrame, first: bool, last: bool) -> Dependency {
        let descriptor = DependencyDescriptor {
            mandatory: MandatoryFields {
                start_of_frame: first,
                end_of_frame: last,
                template_id: frame.template,
                frame_number: frame.number,
            },
            structure: (frame.key && first).then(|| self.structure.clone()),
            active_targets: None,
            indications: None,
            fdiffs: None,
            chain_diffs: None,
        };
        let mut dependency = Dependency::NONE;
        let len = descriptor.write(Some(&self.structure), &mut dependency.bytes);
        dependency.len = len.expect("three layers fit") as u8;
        dependency
    }
}

impl Dependency {
    const MAX: usize = 64;

    /// No descriptor.
    pub const NONE: Self = Self {
        bytes: [0; Self::MAX],
        len: 0,
    };

    /// The bytes, unless there is none.
    pub fn bytes(&self) -> Option<&[u8]> {
        (self.len > 0).then(|| &self.bytes[..usize::from(self.len)])
    }
}

/// Decode targets are all three layers, two, and the base alone; one chain protects the base.
///
/// Source: AV1 RTP specification, appendix A.10.2.1.
fn structure() -> DependencyStructure {
    use Indication::{Discardable, NotPresent, Switch};
    let template = |temporal, indications: [Indication; 3], fdiffs: &[u16], chain| FrameTemplate {
        layer: Layer { spatial: 0, temporal },
        indications: indications.into_iter().collect(),
        fdiffs: FrameDiffs::new(fdiffs).expect("one at most"),
        chain_diffs: ChainDiffs::new(&[chain]).expect("one"),
    };
    let templates = vec![
        template(0, [Switch; 3], &[], 0),
        template(0, [Switch; 3], &[4], 4),
        template(1, [Switch, Discardable, NotPresent], &[2], 2),
        template(2, [Discardable, NotPresent, NotPresent], &[1], 1),
        template(2, [Discardable, NotPresent, NotPresent], &[1], 3),
    ];
    DependencyStructure::new(0, 3, templates, &[0, 0, 0], Vec::new()).expect("the specification's example")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_refer_to_frames_of_lower_layers_only() {
        let mut layers = TemporalLayers::default();
        let frames: Vec<LayeredFrame> = (0..9).map(|number| layers.next(number == 0)).collect();
        let temporal: Vec<u8> = frames.iter().map(|frame| frame.temporal).collect();
        assert_eq!(temporal, [0, 2, 1, 2, 0, 2, 1, 2, 0]);
        for frame in &frames {
            let described = layers.describe(frame, true, true);
            let bytes = described.bytes().expect("a descriptor");
            let read = DependencyDescriptor::parse(bytes, Some(&layers.structure)).expect("readable");
            let resolved = read.resolve(Some(&layers.structure)).expect("of the structure");
            for referred in resolved.referred() {
                let other = &frames[usize::from(referred)];
                assert!(other.temporal < frame.temporal || frame.temporal == 0);
            }
            assert_eq!(resolved.layer().temporal, frame.temporal);
        }
    }

    #[test]
    fn a_key_frame_begins_anew_and_brings_the_structure() {
        let mut layers = TemporalLayers::default();
        layers.next(true);
        layers.next(false);
        let key = layers.next(true);
        assert_eq!((key.temporal, key.base_picture), (0, 2));
        let described = layers.describe(&key, true, false);
        let read = DependencyDescriptor::parse(described.bytes().expect("a descriptor"), None).expect("readable");
        assert!(read.structure.is_some());
        assert_eq!(layers.next(false).temporal, 2);
    }
}
