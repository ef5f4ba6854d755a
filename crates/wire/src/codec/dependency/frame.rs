//! A frame with its template filled in, for the decisions of a forwarder.

use super::{
    DependencyDescriptor, DependencyError, DependencyStructure, FrameTemplate, Indication, Indications, Layer,
    Resolution,
};

/// The frame of one packet and its dependencies: from the packet if it states them, otherwise from
/// its template.
///
/// Source: AV1 RTP specification, appendix A.8.2, `frame_dependency_definition`.
#[derive(Clone, Copy, Debug)]
pub struct FrameDependencies<'a> {
    descriptor: &'a DependencyDescriptor,
    structure: &'a DependencyStructure,
    template: &'a FrameTemplate,
}

impl<'a> FrameDependencies<'a> {
    pub(super) fn new(
        descriptor: &'a DependencyDescriptor,
        structure: &'a DependencyStructure,
    ) -> Result<Self, DependencyError> {
        let template = structure
            .template(descriptor.mandatory.template_id)
            .ok_or(DependencyError::UnknownTemplate)?;
        Ok(Self {
            descriptor,
            structure,
            template,
        })
    }

    /// The structure it was resolved with.
    pub fn structure(&self) -> &'a DependencyStructure {
        self.structure
    }

    /// The frame's number.
    pub fn number(&self) -> u16 {
        self.descriptor.mandatory.frame_number
    }

    /// The frame's layer.
    pub fn layer(&self) -> Layer {
        self.template.layer
    }

    /// The largest size of the frame, if the sender states it.
    pub fn resolution(&self) -> Option<Resolution> {
        let spatial = usize::from(self.layer().spatial);
        self.structure.resolutions().get(spatial).copied()
    }

    /// The frame's indications for all decode targets.
    pub fn indications(&self) -> Indications {
        self.descriptor.indications.unwrap_or(self.template.indications)
    }

    /// The frame's indication for one decode target.
    pub fn indication(&self, target: usize) -> Indication {
        self.indications().get(target)
    }

    /// Distances to the frames that this one refers to. Without any, a decoder needs no earlier
    /// frame.
    pub fn fdiffs(&self) -> &'a [u16] {
        self.descriptor
            .fdiffs
            .as_ref()
            .unwrap_or(&self.template.fdiffs)
            .as_slice()
    }

    /// The numbers of the frames this one refers to.
    pub fn referred(&self) -> impl Iterator<Item = u16> + use<'a> {
        let number = self.number();
        self.fdiffs().iter().map(move |&diff| number.wrapping_sub(diff))
    }

    /// How far back the previous frame of each chain lies, by chain; 0 where this frame needs none.
    pub fn chain_diffs(&self) -> &'a [u8] {
        self.descriptor
            .chain_diffs
            .as_ref()
            .unwrap_or(&self.template.chain_diffs)
            .as_slice()
    }

    /// The number of the previous frame in `chain`, without which the chain is broken; `None` when
    /// the chain starts here, or does not exist.
    pub fn previous_in_chain(&self, chain: usize) -> Option<u16> {
        match self.chain_diffs().get(chain) {
            None | Some(0) => None,
            Some(&diff) => Some(self.number().wrapping_sub(u16::from(diff))),
        }
    }

    /// Whether the loss of this frame breaks the chain: it is a switch point of, or required by,
    /// every decode target the chain protects. A chain that protects no active decode target is to
    /// be ignored.
    ///
    /// Source: AV1 RTP specification, appendix A.6.
    pub fn is_in_chain(&self, chain: usize) -> bool {
        let protected = self.structure.protected_by(chain);
        !protected.is_empty() && self.indications().needed_by().contains_all(protected)
    }
}
