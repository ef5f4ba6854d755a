//! How one side of a section is protected by us: its keys, and the lines about them.

mod agreed;
mod lines;
mod peer;

use southbound::relay::Keys;
use wire::sdp::HashFunction;
use wire::srtp::MasterKey;

use crate::sdp::{Crypto, Keying};

pub(crate) use agreed::Agreed;
pub(super) use agreed::{is_answer, offered_again};
pub(super) use lines::crypto_line;
pub(crate) use peer::Peer;

/// How one side is protected by us.
#[derive(Clone, Debug, Default)]
pub(crate) enum Security {
    /// Not at all, or from end to end.
    #[default]
    Clear,
    /// SDES: the keys that we offer, and the agreed ones.
    Sdes {
        offered: Vec<Crypto>,
        agreed: Option<Agreed>,
        /// DTLS is offered as well, with our certificate's fingerprint by this hash function.
        or_dtls: Option<HashFunction>,
    },
    /// DTLS, once the peer's certificate is known. Our certificate's fingerprint is given by this
    /// function.
    Dtls {
        peer: Option<Peer>,
        active: bool,
        hash: HashFunction,
        /// With keys that were offered beside, where the answer is to have no handshake.
        instead: Option<Box<Security>>,
    },
}

impl Security {
    /// How packets from the party are opened; `None` until it is agreed.
    pub(crate) fn ingress_protection(&self) -> Option<Keys> {
        self.keys(|agreed| &agreed.theirs.key)
    }

    /// How packets to the party are sealed; `None` until it is agreed.
    pub(crate) fn egress_protection(&self) -> Option<Keys> {
        self.keys(|agreed| &agreed.ours.key)
    }

    fn keys(&self, which: impl Fn(&Agreed) -> &MasterKey) -> Option<Keys> {
        match self {
            Self::Clear => Some(Keys::Clear),
            Self::Sdes { agreed, .. } => Some(Keys::Srtp(which(agreed.as_ref()?).clone())),
            Self::Dtls { peer, active, .. } => Some(peer.as_ref()?.keys(*active)),
        }
    }

    /// The hash function of our fingerprint.
    pub(super) fn hash(&self) -> Option<HashFunction> {
        match self {
            Self::Dtls { hash, .. } => Some(*hash),
            Self::Clear | Self::Sdes { .. } => None,
        }
    }

    pub(crate) fn keying(&self) -> Keying {
        match self {
            Self::Clear => Keying::Plain,
            Self::Sdes { .. } => Keying::Sdes,
            Self::Dtls { .. } => Keying::Dtls,
        }
    }
}

/// The two options that an offer leaves to the answering party: with a key of the offerer, which
/// passes, or with one of ours.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The side that offered.
    pub(super) end: usize,
    /// The numbers of the keys that pass.
    pub(super) passing: Vec<u32>,
    /// The security of the offering party, if one of our keys is chosen.
    pub(super) speaker: Security,
    /// Ours.
    pub(super) offered: Vec<Crypto>,
}
