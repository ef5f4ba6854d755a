//! Offers of media without encryption where rooms may be copied: only formats and extensions are
//! taken that a device can forward which copies packets and rewrites their numbers, and nothing
//! else of them.
//!
//! Clear media is for laboratories, to see such devices with real clients (Scallop, section 9.1).
//! Retransmissions have streams of their own, which those devices do not make: who lost something
//! asks its publisher.

use wire::ExtensionKind;
use wire::sdp::{Extension, Format, MediaSection};

/// Extensions that name a packet's stream, that are written anew into each copy, or that go on as
/// they came.
const EXTENSIONS: [ExtensionKind; 10] = [
    ExtensionKind::Mid,
    ExtensionKind::Rid,
    ExtensionKind::RepairedRid,
    ExtensionKind::AudioLevel,
    ExtensionKind::AbsSendTime,
    ExtensionKind::TransportSequence,
    ExtensionKind::AbsCaptureTime,
    ExtensionKind::VideoOrientation,
    ExtensionKind::ColorSpace,
    ExtensionKind::DependencyDescriptor,
];

/// Whether a section is for media without encryption.
pub(super) fn is_clear(media_section: &MediaSection) -> bool {
    !media_section.protocol.contains("TLS")
}

/// Extensions that only the reports on a sender's own transport need.
const NUMBERING: [ExtensionKind; 2] = [ExtensionKind::AbsSendTime, ExtensionKind::TransportSequence];

/// Leaves of what a peer sends nothing that its transport is reported on by: a browser forgets
/// packets that are reported to have arrived, and where they are copied nobody else can send them
/// again to who lost them. Without reports it would not send as much as it could, so it has no
/// numbers either, and goes by what it is told of receivers' estimates (Scallop, section 5.3).
pub(super) fn strip_numbers(formats: &mut [Format], extensions: &mut Vec<Extension>) {
    for format in formats {
        format.feedback.remove("transport-cc");
    }
    extensions
        .retain(|extension| ExtensionKind::from_uri(&extension.uri).is_none_or(|kind| !NUMBERING.contains(&kind)));
}

/// Leaves of what is accepted what such a device can forward.
pub(super) fn strip(formats: &mut Vec<Format>, extensions: &mut Vec<Extension>) {
    formats.retain(|format| format.retransmits().is_none());
    let is_kept = |kind| EXTENSIONS.contains(&kind);
    extensions.retain(|extension| ExtensionKind::from_uri(&extension.uri).is_some_and(is_kept));
}
