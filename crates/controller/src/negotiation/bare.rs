//! What is taken of an offer of media without encryption: what a device can forward that copies packets and rewrites their numbers, and nothing else of them.
//!
//! Clear media is for laboratories, to see such devices with real clients (Scallop, section 9.1). Retransmissions have streams of their own, which
//! those devices do not make; VP9 has layers whenever its sender wants; transport-wide numbers and sending times are written anew for each receiver. Without them a receiver
//! estimates by itself, and who lost something asks its publisher.

use wire::sdp::{Extension, Format, MediaSection};
use wire::{Codec, ExtensionKind, ExtensionMap};

/// What says which stream a packet is of, and what goes on as it came.
const EXTENSIONS: [ExtensionKind; 7] = [
    ExtensionKind::Mid,
    ExtensionKind::Rid,
    ExtensionKind::RepairedRid,
    ExtensionKind::AudioLevel,
    ExtensionKind::AbsCaptureTime,
    ExtensionKind::VideoOrientation,
    ExtensionKind::ColorSpace,
];

/// Whether a section is for media without encryption.
pub(super) fn is_clear(section: &MediaSection) -> bool {
    !section.protocol.contains("TLS")
}

/// Leaves of what is accepted what such a device can forward.
pub(super) fn strip(formats: &mut Vec<Format>, extensions: &mut Vec<Extension>) {
    formats.retain(|format| format.retransmits().is_none() && format.codec() != Some(Codec::Vp9));
    for format in formats {
        format.feedback.retain(|feedback| feedback != "transport-cc");
    }
    let is_kept = |kind| EXTENSIONS.contains(&kind);
    extensions.retain(|extension| ExtensionKind::from_uri(&extension.uri).is_some_and(is_kept));
}

/// What goes out of what was negotiated: a packet is known by its SSRC, so nothing needs to be written into it.
pub(super) fn sent(negotiated: &ExtensionMap) -> ExtensionMap {
    let mut map = ExtensionMap::default();
    for (kind, id) in negotiated.iter().filter(|(kind, _)| *kind != ExtensionKind::Mid) {
        map.insert(kind, id).expect("what has no contradictions still has none");
    }
    map
}
