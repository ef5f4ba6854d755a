//! The dependency descriptor: a frame's layer and what it depends on, in a header extension, whatever the codec.
//!
//! It leaves the payload alone, so it is what an SFU reads of end-to-end encrypted video. A key frame carries a
//! [`DependencyStructure`], a list of templates; every other packet names one of them in three bytes and says only what
//! differs. Reading goes in three steps, each of which needs more than the one before:
//!
//! 1. [`MandatoryFields::parse`] gives frame boundaries and the frame number, with no structure at all;
//! 2. [`DependencyDescriptor::parse`] reads everything the packet says, against the structure now in force;
//! 3. [`DependencyDescriptor::resolve`] looks the template up: [`FrameDependencies`] has the layer, what the frame is to each
//!    decode target, the frames it refers to and its place in each chain.
//!
//! A structure is allocated once for each key frame; packets without one allocate nothing. Its senders number structures
//! by their template ids: [`DependencyError::UnknownTemplate`] means that a newer structure was lost or is late.
//!
//! Simulcast encodings from one Chromium share one frame counter: the numbers of one encoding have gaps, and its fdiffs
//! count the other encodings' frames too. Only referred frames, never consecutive numbers, tell what is missing.
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
/// Frames one frame may refer to. The format has no limit of its own; H.264 has 16 reference frames, all others fewer.
pub const REFERENCES_MAX: usize = 16;
/// The longest descriptor a header extension can carry, in bytes.
pub const DESCRIPTOR_LEN_MAX: usize = 255;
