//! One packet's descriptor.

use std::sync::Arc;

use super::{
    ChainDiffs, DecodeTargets, DependencyError, DependencyStructure, FrameDependencies, FrameDiffs, Indications,
};

/// The fields of every descriptor that can be read without a structure.
///
/// Shape: three bytes.
/// Source: AV1 RTP specification, appendix A.8.2, `mandatory_descriptor_fields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MandatoryFields {
    /// The packet is the first of its frame.
    pub start_of_frame: bool,
    /// The packet is the last of its frame. Frames of higher spatial layers may follow in the same
    /// picture (temporal unit).
    pub end_of_frame: bool,
    /// The template the frame follows.
    ///
    /// Shape: 0 to 63.
    pub template_id: u8,
    /// The frame's number in decode order, the same in all its packets; it wraps.
    pub frame_number: u16,
}

impl MandatoryFields {
    /// Their length, in bytes.
    pub const LEN: usize = 3;

    /// Reads the front of an extension value.
    ///
    /// Errors: [`DependencyError::Truncated`].
    pub fn parse(value: &[u8]) -> Result<Self, DependencyError> {
        let &[first, high, low] = value.first_chunk().ok_or(DependencyError::Truncated)?;
        Ok(Self {
            start_of_frame: first & 0x80 != 0,
            end_of_frame: first & 0x40 != 0,
            template_id: first & 0x3f,
            frame_number: u16::from_be_bytes([high, low]),
        })
    }

    /// The bytes; only the low six bits of the template id are written.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let flags = u8::from(self.start_of_frame) << 7 | u8::from(self.end_of_frame) << 6;
        let [high, low] = self.frame_number.to_be_bytes();
        [flags | self.template_id & 0x3f, high, low]
    }
}

/// All fields of one packet's descriptor, as values.
///
/// A field that is `None` is not in the packet and keeps its value: the structure and the active
/// decode targets as last received, the rest as in the frame's template. To forward a packet with a
/// descriptor of its own for a receiver, change the values and [`write`](Self::write) them: other
/// active decode targets, or the structure attached or taken off.
///
/// Source: AV1 RTP specification, appendix A.8.2, `dependency_descriptor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyDescriptor {
    /// Frame boundaries, number and template.
    pub mandatory: MandatoryFields,
    /// The structure from here on; the first packet of a key frame has one.
    pub structure: Option<Arc<DependencyStructure>>,
    /// The decode targets the sender produces from here on.
    pub active_targets: Option<DecodeTargets>,
    /// The frame's indications for the decode targets, if they differ from the template.
    pub indications: Option<Indications>,
    /// The frames the frame refers to, where they differ.
    pub fdiffs: Option<FrameDiffs>,
    /// The previous frame of each chain, where it differs.
    pub chain_diffs: Option<ChainDiffs>,
}

impl DependencyDescriptor {
    /// A descriptor with the mandatory fields only.
    pub const fn plain(mandatory: MandatoryFields) -> Self {
        Self {
            mandatory,
            structure: None,
            active_targets: None,
            indications: None,
            fdiffs: None,
            chain_diffs: None,
        }
    }

    /// Reads an extension value. `current` is the structure in force before this packet, if there
    /// is one; a structure in the packet replaces it.
    ///
    /// Errors: [`DependencyError`]. Without `current` only descriptors that need no structure can
    /// be read; with it, the template must be in it.
    pub fn parse(value: &[u8], current: Option<&DependencyStructure>) -> Result<Self, DependencyError> {
        super::read::descriptor(value, current)
    }

    /// The frame with the values of its template filled in. `current` is as in
    /// [`parse`](Self::parse).
    ///
    /// Errors: [`DependencyError::MissingStructure`], [`DependencyError::UnknownTemplate`].
    pub fn resolve<'a>(
        &'a self,
        current: Option<&'a DependencyStructure>,
    ) -> Result<FrameDependencies<'a>, DependencyError> {
        let structure = self.structure_or(current).ok_or(DependencyError::MissingStructure)?;
        FrameDependencies::new(self, structure)
    }

    /// The decode targets active from this packet on; `None` if it has no change.
    ///
    /// A new structure without a list makes all of its decode targets active.
    pub fn active_targets_from_here(&self) -> Option<DecodeTargets> {
        let all = || Some(DecodeTargets::first(self.structure.as_ref()?.decode_targets()));
        self.active_targets.or_else(all)
    }

    /// The structure that describes this packet.
    pub(super) fn structure_or<'a>(
        &'a self,
        current: Option<&'a DependencyStructure>,
    ) -> Option<&'a DependencyStructure> {
        self.structure.as_deref().or(current)
    }
}
