//! Changing the dependency descriptor for one receiver.

use wire::ExtensionKind;
use wire::codec::dependency::{DESCRIPTOR_LEN_MAX, DecodeTargets};

use crate::shard::packet::Packet;
use crate::shard::packet::frame::{Frame, Rules};
use crate::shard::select::Active;

/// The changes to the descriptor for a receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DescriptorChange {
    /// The offset of frame numbers, so that they continue over a change of the source.
    pub(crate) frame_offset: u16,
    /// The active decode targets, where the sender's do not apply to this receiver.
    pub(crate) active: Option<DecodeTargets>,
    /// So far back lies a frame that this one refers to for the receiver, beside those it refers
    /// to.
    pub(crate) kept_before: Option<u16>,
}

/// Room for any descriptor.
pub(crate) type Room = [u8; DESCRIPTOR_LEN_MAX];

impl DescriptorChange {
    /// The descriptor as the receiver gets it, in `room`; `None` when the packet's own is right.
    pub(crate) fn apply<'a>(&self, packet: &Packet, room: &'a mut Option<Room>) -> Option<&'a [u8]> {
        if self.frame_offset == 0 && self.active.is_none() && self.kept_before.is_none() {
            return None;
        }
        let extensions = &packet.info().extensions;
        let value = extensions.value(packet.bytes(), ExtensionKind::DependencyDescriptor)?;
        let room = room.insert([0; DESCRIPTOR_LEN_MAX]);
        let len = self.write_anew(packet, room).unwrap_or_else(|| {
            room[..value.len()].copy_from_slice(value);
            value.len()
        });
        let bytes = &mut room[..len];
        if let Some(number) = bytes.get_mut(1..3) {
            let moved = u16::from_be_bytes([number[0], number[1]]).wrapping_add(self.frame_offset);
            number.copy_from_slice(&moved.to_be_bytes());
        }
        Some(bytes)
    }

    /// Rewrites the whole descriptor; `None` when that is not necessary, or there is no room for
    /// the addition.
    fn write_anew(&self, packet: &Packet, room: &mut Room) -> Option<usize> {
        if self.active.is_none() && self.kept_before.is_none() {
            return None;
        }
        let Rules::Dependency(rules) = &packet.info().frame.as_ref()?.rules else {
            return None;
        };
        let mut descriptor = rules.descriptor.clone();
        descriptor.active_targets = self.active.or(descriptor.active_targets);
        if let Some(back) = self.kept_before {
            descriptor.fdiffs = Some(rules.fdiffs.with(back)?);
        }
        descriptor.write(Some(&rules.structure), room).ok()
    }
}

/// The active decode targets to state in a packet: in the first of a frame, if the sender's do not
/// apply to the receiver, or the receiver does not know them.
pub(crate) fn told(frame: &Frame, active: &Active) -> Option<DecodeTargets> {
    let Rules::Dependency(rules) = &frame.rules else {
        return None;
    };
    let says = rules.descriptor.active_targets_from_here().is_some();
    let tells = if says { active.fewer } else { active.new };
    (frame.starts && tells).then_some(active.targets)
}
