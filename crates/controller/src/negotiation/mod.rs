//! Offers and answers: what each media section of a transport is used for, and how that is said.
//!
//! [`Peer`] is one peer connection. It knows sections and what they are used for; what a track or a
//! subscription is it does not know. Start there.

mod answer;
mod clear_rtp;
pub(crate) mod codecs;
pub(crate) mod extensions;
mod offer;
mod offering;
mod peer;
mod profiles;
mod remote;
mod section;

pub(crate) use answer::Change;
pub(crate) use codecs::AudioWish;
pub(crate) use offer::Answered;
pub use peer::SavedPeer;
pub(crate) use peer::{Described, NegotiationError, Peer, PeerState};
pub(crate) use section::{Down, Downlink, Section, Up, Uplink};
#[cfg(test)]
pub(crate) use section::{Sides, Usage};

/// The SCTP port of data channels, by custom.
const SCTP_PORT: u16 = 5000;

/// The directions that a section is for.
pub(crate) type Ways = [Option<Flow>; 2];

/// Which way media flows, seen from us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// From the peer to us.
    Up,
    /// From us to the peer.
    Down,
}
