//! Sequence numbers for a replica that leaves frames out.
//!
//! When a receiver gets 15 of 30 frames a second, the numbers of the frames left out must close up,
//! or it asks for packets that are not to be sent. The number of a lost packet must stay free, or
//! it decodes a broken frame. A [`Rewriter`] tells these two cases apart. There are three, for
//! devices with more and less memory. Start with [`rewriter`].
//!
//! Nothing here reads a clock or allocates.
//!
//! Source: Michel et al., "Scalable Video Conferencing Using SDN Principles" (Scallop), SIGCOMM
//! 2025, section 7.

#![forbid(unsafe_code)]

pub mod rewriter;

mod exact;
mod low_memory;
mod low_retransmission;
mod newest;

pub use exact::{Exact, REORDER_MAX};
pub use low_memory::LowMemory;
pub use low_retransmission::{HISTORY_FRAMES, LowRetransmission, LowRetransmissionOf};
pub use rewriter::{Cadence, FramePacket, Rewriter};
