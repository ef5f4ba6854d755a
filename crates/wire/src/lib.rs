//! Bytes to values and back: all packet formats of Weir, without any policy.
//!
//! There is no clock, no socket and no thread here, and reading media packets allocates nothing.
//! Each format comes as a *view*, which borrows the bytes and checks only what must hold for its
//! accessors to be safe, and a *writer*, which can only produce valid bytes. For any bytes of a
//! peer, a view returns a value or an error, and never panics.
//!
//! Start with [`RtpPacket`]; then [`classify()`], which tells the protocols on one port apart,
//! [`rtcp`] for feedback and [`codec`] for the parts of a payload that an SFU may read.

#![forbid(unsafe_code)]

pub mod codec;
pub mod extension;
pub mod framing;
pub mod limits;
pub mod red;
pub mod rtcp;
pub mod rtx;
pub mod sdp;
pub mod srtp;
pub mod stun;

mod bytes;
mod classify;
mod ntp;
mod rtp;
mod rtp_writer;
mod token;
mod types;
mod unwrap;

pub use classify::{PacketKind, classify, ssrc};
pub use codec::{Codec, MediaKind};
pub use extension::{ExtensionForms, ExtensionKind, ExtensionMap, ExtensionMapError};
pub use ntp::NtpTime;
pub use rtp::{Csrcs, ExtensionForm, Extensions, RtpError, RtpPacket};
pub use rtp_writer::{ExtensionWriter, RtpHeader, RtpWriteError, fill_padding};
pub use token::{Mid, Rid, Token};
pub use types::{PayloadType, RtpTimestamp, SequenceNumber, Ssrc};
pub use unwrap::{TimestampUnwrapper, Unwrapper};
