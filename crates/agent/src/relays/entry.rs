//! Parts of a relay's table entry.

use dataplane::{Accept, MasterKey, Relay, RelayProtection};
use southbound::relay::{self, Entry, Keys};

use super::port::hops;
use crate::context::Context;

/// An open port that accepts no packets.
pub(super) fn silent() -> Relay {
    Relay {
        accept: Accept::Nobody,
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: None,
        rtcp: None,
    }
}

/// Whether an entry needs keys that the data plane cannot use.
pub(super) fn lacks_srtp(cx: &Context<'_>, entry: &Entry) -> bool {
    let mut sides = hops(entry).map(|hop| &hop.egress_protection);
    let is_protected = |keys: &Keys| *keys != Keys::Clear;
    (is_protected(&entry.ingress_protection) || sides.any(is_protected)) && !cx.plane.capabilities().srtp
}

/// The sources that a port without ICE accepts.
pub(super) fn accept(ordered: relay::Accept) -> Accept {
    match ordered {
        relay::Accept::Only(from) => Accept::Only(from),
        relay::Accept::Learn {
            within,
            window,
            rtp_only,
        } => Accept::Learn {
            within,
            window,
            rtp_only,
        },
    }
}

/// The protection of one side of an entry, with the keys its handshake has agreed.
pub(super) fn cover(keys: &Keys, agreed: Option<&MasterKey>) -> RelayProtection {
    match keys {
        Keys::Clear => RelayProtection::Clear,
        Keys::Srtp(key) => RelayProtection::Srtp(key.clone()),
        Keys::Dtls { .. } => agreed.cloned().map_or(RelayProtection::Pending, RelayProtection::Srtp),
    }
}
