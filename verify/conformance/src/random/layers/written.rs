//! The marks of a packet's frame: the head of its payload, and the dependency descriptor.

use wire::Codec;
use wire::codec::dependency::{
    ChainDiffs, DESCRIPTOR_LEN_MAX, DecodeTargets, DependencyDescriptor, FrameDiffs, MandatoryFields,
};

use super::{Plan, Scalable};

impl Scalable {
    pub(super) fn head(&self, codec: Codec, plan: &Plan) -> Vec<u8> {
        let frame = &plan.frame;
        let starts_key = frame.key && frame.spatial == 0 && plan.starts;
        match codec {
            Codec::Vp8 => self.vp8(plan),
            Codec::Vp9 => self.vp9(plan),
            Codec::H264 if starts_key => vec![0x65, 0x88],
            Codec::H264 => vec![0x41, 0x9a],
            Codec::Av1 if starts_key => vec![0x18, 0x0a],
            _ => vec![0x10, 0x32],
        }
    }

    /// RFC 7741 section 4.2: picture id of 15 bits, TL0PICIDX, TID and Y.
    fn vp8(&self, plan: &Plan) -> Vec<u8> {
        let frame = &plan.frame;
        let [high, low] = (self.picture_id | 0x8000).to_be_bytes();
        vec![
            0x80 | u8::from(plan.starts) << 4,
            0xe0,
            high,
            low,
            self.tl0,
            frame.temporal << 6 | u8::from(frame.sync) << 5,
            u8::from(!frame.key),
        ]
    }

    /// RFC 9628 section 4.2.
    fn vp9(&self, plan: &Plan) -> Vec<u8> {
        let frame = &plan.frame;
        let [high, low] = (self.picture_id | 0x8000).to_be_bytes();
        let first = 0xa0
            | u8::from(frame.inter_picture) << 6
            | u8::from(self.flexible) << 4
            | u8::from(plan.starts) << 3
            | u8::from(plan.ends) << 2
            | u8::from(!frame.refers_above);
        let layers = frame.temporal << 5 | u8::from(frame.up) << 4 | frame.spatial << 1 | u8::from(frame.inter_layer);
        let mut head = vec![first, high, low, layers];
        match (self.flexible, frame.inter_picture) {
            (false, _) => head.push(self.tl0),
            (true, true) => head.push(1 << 1),
            (true, false) => {}
        }
        head
    }

    pub(super) fn descriptor(&self, plan: &Plan) -> Vec<u8> {
        let frame = &plan.frame;
        let template = self.structure.template(frame.template).expect("one of its own");
        let diffs: Vec<u16> = frame
            .referred
            .iter()
            .map(|(number, _)| frame.number.wrapping_sub(*number))
            .collect();
        let mut descriptor = DependencyDescriptor::plain(MandatoryFields {
            start_of_frame: plan.starts,
            end_of_frame: plan.ends,
            template_id: frame.template,
            frame_number: frame.number,
        });
        if diffs != template.fdiffs.as_slice() {
            descriptor.fdiffs = FrameDiffs::new(&diffs);
        }
        if frame.chain_diffs != template.chain_diffs.as_slice() {
            descriptor.chain_diffs = ChainDiffs::new(&frame.chain_diffs);
        }
        if plan.starts_picture && frame.key {
            descriptor.structure = Some(self.structure.clone());
        }
        if plan.starts && frame.tells_active {
            let made = |target: &usize| {
                let layer = self.structure.target_layer(*target);
                layer.is_some_and(|layer| layer.spatial < self.active)
            };
            let targets: DecodeTargets = (0..self.structure.decode_targets()).filter(made).collect();
            descriptor.active_targets = Some(targets);
        }
        let mut room = [0; DESCRIPTOR_LEN_MAX];
        let len = descriptor.write(Some(&self.structure), &mut room).expect("it fits");
        room[..len].to_vec()
    }
}
