//! Offers of media without encryption where rooms may be copied: only formats and extensions are
//! taken that a device can forward which copies packets and rewrites their numbers, and nothing
//! else of them.
//!
//! Clear media is for laboratories, to see such devices with real clients (Scallop, section 9.1).
//! Retransmissions have streams of their own, which those devices do not make: who lost something
//! asks its publisher.

use std::borrow::Cow;

use southbound::Capabilities;
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

/// Whether copies of a section's media are sent by such a device.
fn is_copied(theirs: &MediaSection, device: &Capabilities) -> bool {
    device.copies && is_clear(theirs)
}

fn is(extension: &Extension, kinds: &[ExtensionKind]) -> bool {
    ExtensionKind::from_uri(&extension.uri).is_some_and(|kind| kinds.contains(&kind))
}

/// The offered extensions that the device can use. If its copies carry no transport-wide numbers,
/// none are taken: a receiver that expects them would report nothing. It gets sending times instead
/// and estimates by itself. Those are taken on sections of senders as well, because a browser
/// offers later sections only the extensions that were answered in earlier ones.
pub(super) fn usable<'a>(theirs: &'a MediaSection, device: &Capabilities) -> Cow<'a, [Extension]> {
    if !is_copied(theirs, device) || device.transport_numbers {
        return Cow::Borrowed(&theirs.extensions);
    }
    let extensions = theirs.extensions.iter();
    Cow::Owned(
        extensions
            .filter(|extension| !is(extension, &[ExtensionKind::TransportSequence]))
            .cloned()
            .collect(),
    )
}

/// Leaves of what is accepted what such a device can forward.
pub(super) fn restrict(
    theirs: &MediaSection,
    device: &Capabilities,
    is_uplink: bool,
    formats: &mut Vec<Format>,
    extensions: &mut Vec<Extension>,
) {
    if !is_copied(theirs, device) {
        return;
    }
    formats.retain(|format| format.retransmits().is_none());
    extensions.retain(|extension| is(extension, &EXTENSIONS));
    if !device.transport_numbers {
        strip_reports(formats);
    } else if is_uplink {
        strip_reports(formats);
        extensions.retain(|extension| !is(extension, &NUMBERING));
    }
}

/// Leaves nothing that a transport is reported on by. Of senders, because a browser forgets packets
/// that are reported to have arrived, and where they are copied nobody else can send them again to
/// who lost them. Without reports it would not send as much as it could, so it has no numbers
/// either, and goes by what it is told of receivers' estimates (Scallop, section 5.3).
fn strip_reports(formats: &mut [Format]) {
    for format in formats {
        format.feedback.remove("transport-cc");
    }
}
