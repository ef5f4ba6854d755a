//! Lines of a section that do not go on as they came.

use std::collections::HashSet;

use super::ice::{is_ice, is_relay};
use super::mids::is_mid_extension;
use super::{Attributes, SectionRewrite};
use crate::sdp::{Line, Section};

/// Whether a line of a section is replaced by one at its end, or removed.
pub(super) fn is_replaced(
    line: &Line<'_>,
    section: &Section<'_>,
    change: &SectionRewrite,
    without: &HashSet<&str>,
) -> bool {
    let Some((name, value)) = line.attribute() else {
        return false;
    };
    match name {
        "sendrecv" | "sendonly" | "recvonly" | "inactive" => change.direction.is_some(),
        "rtcp" => section.is_rtp() && !change.is_relay,
        "rtcp-mux" => section.is_rtp(),
        "candidate" if change.is_relay => is_relay(value),
        "bundle-only" => true,
        // Packets with the sender's name for the section would not be known by the other's.
        "extmap" => change.mid != Attributes::Keep && section.mid.is_some() && is_mid_extension(value),
        "crypto" => change.keying != Attributes::Keep,
        "rtpmap" | "fmtp" | "rtcp-fb" => {
            let format = value.split_ascii_whitespace().next().unwrap_or_default();
            without.contains(format)
        }
        _ if is_dtls(name) => change.keying != Attributes::Keep,
        _ if is_ice(name) => change.ice != Attributes::Keep,
        _ => false,
    }
}

pub(super) fn is_dtls(name: &str) -> bool {
    matches!(name, "fingerprint" | "setup" | "tls-id")
}
