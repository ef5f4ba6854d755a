//! Errors of a descriptor.

use std::fmt;

/// Why a descriptor could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyError {
    /// The sender is at fault: the value ends inside a field.
    Truncated,
    /// The sender is at fault: more than [`TEMPLATES_MAX`](super::TEMPLATES_MAX) templates.
    TooManyTemplates,
    /// The sender is at fault: a layer beyond [`SPATIAL_LAYERS_MAX`](super::SPATIAL_LAYERS_MAX) or
    /// [`TEMPORAL_LAYERS_MAX`](super::TEMPORAL_LAYERS_MAX).
    TooManyLayers,
    /// The sender is at fault: a frame refers to more than
    /// [`REFERENCES_MAX`](super::REFERENCES_MAX) frames.
    TooManyReferences,
    /// No fault: the packet that carries the structure has not arrived yet. A key frame helps.
    MissingStructure,
    /// Nobody is, as a rule: the template is in a structure that was lost or is late. A key frame
    /// helps.
    UnknownTemplate,
}

impl fmt::Display for DependencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the dependency descriptor ends inside a field",
            Self::TooManyTemplates => "the dependency structure has more than 64 templates",
            Self::TooManyLayers => "the dependency structure has more layers than any codec",
            Self::TooManyReferences => "a frame refers to more than 16 frames",
            Self::MissingStructure => "the dependency structure has not been received",
            Self::UnknownTemplate => "the dependency structure has no such template",
        })
    }
}

impl std::error::Error for DependencyError {}

/// Why a descriptor was not written. We are at fault: the values and the buffer are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyWriteError {
    /// The buffer is shorter than the descriptor.
    BufferTooShort,
    /// How many decode targets or chains to write is in a structure, and there is none.
    MissingStructure,
}

impl fmt::Display for DependencyWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BufferTooShort => "the buffer is too short for the dependency descriptor",
            Self::MissingStructure => "a dependency descriptor cannot be written without its structure",
        })
    }
}

impl std::error::Error for DependencyWriteError {}

/// Why values do not make a structure. We are at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructureError {
    /// No template, or more than [`TEMPLATES_MAX`](super::TEMPLATES_MAX).
    TemplateCount,
    /// No decode target, or more than [`DECODE_TARGETS_MAX`](super::DECODE_TARGETS_MAX).
    DecodeTargetCount,
    /// Templates start at S0T0 and each next has the same layer, the next temporal one, or T0 of
    /// the next spatial one.
    LayerOrder,
    /// A template has an indication for a decode target that does not exist.
    ExcessIndication,
    /// A template's fdiffs are at most 16, and its chain diffs at most 15.
    DiffTooLarge,
    /// Templates differ in their number of chains, or have more than there are decode targets.
    ChainCount,
    /// With chains, each decode target is protected by an existing one; without, none is.
    Protection,
    /// Resolutions are for each spatial layer or for none, and 1 to 65,536 wide and high.
    Resolutions,
}

impl fmt::Display for StructureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TemplateCount => "a structure has 1 to 64 templates",
            Self::DecodeTargetCount => "a structure has 1 to 32 decode targets",
            Self::LayerOrder => "the templates' layers are not in order",
            Self::ExcessIndication => "a template has an indication for a decode target that does not exist",
            Self::DiffTooLarge => "a template's frame or chain difference is too large for its field",
            Self::ChainCount => "the templates have different or too many chains",
            Self::Protection => "a decode target is not protected by exactly one chain",
            Self::Resolutions => "resolutions are not given for each spatial layer, or out of range",
        })
    }
}

impl std::error::Error for StructureError {}
