//! The relays that the kernel can take, and their entries.

use std::net::{IpAddr, SocketAddr};

use dataplane::{Accept, Reason, Relay, RelayProtection};

use crate::layout::relay as layout;

/// The program's form of a relay, without its slot and version. RTCP is not part of it: the base
/// forwards RTCP.
///
/// `is_ours` says whether this machine has an address.
///
/// Errors: the feature that only the base has.
pub(super) fn plan(
    at: SocketAddr,
    relay: &Relay,
    is_ours: impl FnOnce(IpAddr) -> bool,
) -> Result<layout::Relay, Reason> {
    let Accept::Only(accept) = relay.accept else {
        return Err(Reason::Sources);
    };
    if relay.terminated {
        return Err(Reason::Terminated);
    }
    let hop = relay.rtp.as_ref().ok_or(Reason::NoMedia)?;
    if relay.ingress_protection != RelayProtection::Clear || hop.egress_protection != RelayProtection::Clear {
        return Err(Reason::Srtp);
    }
    let addresses = [at, accept, hop.path.local, hop.path.remote];
    if !addresses.iter().all(is_one) {
        return Err(Reason::Addresses);
    }
    if !addresses.iter().all(|address| address.is_ipv4() == at.is_ipv4()) {
        return Err(Reason::Families);
    }
    Ok(layout::Relay {
        accept: accept.into(),
        from: hop.path.local.into(),
        to: hop.path.remote.into(),
        slot: 0,
        tos: hop.tos.unwrap_or(0).into(),
        version: 0,
        here: is_ours(hop.path.remote.ip()).into(),
        at: at.into(),
    })
}

/// Whether it is one machine's, wherever it is said.
fn is_one(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast(),
        IpAddr::V6(ip) => {
            !ip.is_unspecified() && !ip.is_multicast() && !ip.is_unicast_link_local() && ip.to_ipv4_mapped().is_none()
        }
    }
}
