//! Keys of a leg.

pub use wire::srtp::{MasterKey, Mki, SessionParameters, SrtpProfile};

/// How a leg's packets are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not agreed yet: RTP and RTCP are dropped in both directions, except that replicas keep the
    /// key frame they begin with ([`EARLY_MAX`](crate::limits::EARLY_MAX)).
    Pending,
    /// Clear RTP, by configuration only.
    Clear,
    /// SRTP and SRTCP.
    Srtp {
        /// Protects what the peer sends.
        ingress: MasterKey,
        /// Protects what we send.
        egress: MasterKey,
    },
}
