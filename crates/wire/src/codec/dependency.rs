//! The dependency descriptor: a frame's layer and its dependencies, in a header extension, for any
//! codec.
//!
//! It leaves the payload alone, so an SFU reads it of end-to-end encrypted video. A key frame
//! carries a [`DependencyStructure`], a list of templates. Every other packet names one of them in
//! three bytes and adds only the differences. Reading has three steps, each of which needs more
//! than the one before:
//!
//! 1. [`MandatoryFields::parse`] gives frame boundaries and the frame number, with no structure at
//!    all;
//! 2. [`DependencyDescriptor::parse`] reads the whole descriptor, against the structure now in
//!    force;
//! 3. [`DependencyDescriptor::resolve`] looks the template up: [`FrameDependencies`] has the layer,
//!    the frame's indication for each decode target, the frames it refers to and its place in each
//!    chain.
//!
//! A structure is allocated once for each key frame; packets without one allocate nothing. A sender
//! gives each new structure other template ids, so [`DependencyError::UnknownTemplate`] means that
//! a newer structure was lost or is late.
//!
//! Choices of Chromium that the specification leaves open, as seen in the captures the tests read:
//!
//! - Decode target 0 is the lowest layer; the specification's examples begin with the highest. Ask
//!   [`DependencyStructure::target_of`].
//! - Structure and active decode targets are in the first packet of their frame alone.
//! - VP8 has no chains, and its later frames may use the template of its key frame: the absence of
//!   references shows in a frame's fdiffs, not in its template.
//! - Simulcast encodings share one frame counter. The numbers of one encoding have gaps, and its
//!   fdiffs count the others' frames. So missing frames are known only by references, never by
//!   consecutive numbers.
//! - The differences of a chain that protects no active decode target are meaningless.
//!
//! Source: AV1 RTP specification, appendix A.

mod bits;
mod descriptor;
mod diffs;
mod error;
mod frame;
mod read;
mod structure;
mod target;
mod template;
mod write;

#[cfg(test)]
mod tests;

pub use descriptor::{DependencyDescriptor, MandatoryFields};
pub use diffs::{ChainDiffs, FrameDiffs};
pub use error::{DependencyError, DependencyWriteError, StructureError};
pub use frame::FrameDependencies;
pub use structure::DependencyStructure;
pub use target::{DecodeTargets, Indication, Indications};
pub use template::{FrameTemplate, Layer, Resolution};

/// Templates in one structure, as many as there are template ids.
pub const TEMPLATES_MAX: usize = 64;
/// Decode targets in one structure; their number is a five-bit field, less one.
pub const DECODE_TARGETS_MAX: usize = 32;
/// Chains in one structure: no more than decode targets.
pub const CHAINS_MAX: usize = DECODE_TARGETS_MAX;
/// Spatial layers. The format has no limit of its own; no codec numbers more than eight.
pub const SPATIAL_LAYERS_MAX: usize = 16;
/// Temporal layers: every codec that has them numbers them with at most three bits.
pub const TEMPORAL_LAYERS_MAX: usize = 8;
/// Frames one frame may refer to. The format has no limit of its own; H.264 has 16 reference
/// frames, all others fewer.
pub const REFERENCES_MAX: usize = 16;
/// The longest descriptor a header extension can carry, in bytes.
pub const DESCRIPTOR_LEN_MAX: usize = 255;
