//! Which header extensions are taken, in each direction.

use wire::sdp::Extension;
use wire::{ExtensionKind, ExtensionMap, MediaKind};

use super::Flow;

/// Those of the offered extensions that we take, in one direction at least.
pub(crate) fn accept(offered: &[Extension]) -> Vec<Extension> {
    let mut taken = ExtensionMap::default();
    let wanted = offered.iter().filter(|extension| {
        let kind = ExtensionKind::from_uri(&extension.uri).filter(|kind| is_taken(*kind, Flow::Up));
        // An id or a kind that comes twice in one section is the peer's mistake; the first counts.
        kind.is_some_and(|kind| taken.id(kind).is_none() && taken.insert(kind, extension.id).is_ok())
    });
    wanted.cloned().collect()
}

/// Adds what a section negotiated for one direction to what its transport negotiated. Ids that contradict earlier ones are left out: RFC 8843 forbids them.
pub(crate) fn merge(map: &mut ExtensionMap, negotiated: &[Extension], flow: Flow) {
    for extension in negotiated {
        if let Some(kind) = ExtensionKind::from_uri(&extension.uri).filter(|kind| is_taken(*kind, flow)) {
            let _ = map.insert(kind, extension.id);
        }
    }
}

/// Downwards is a part of upwards.
fn is_taken(kind: ExtensionKind, flow: Flow) -> bool {
    use ExtensionKind as Kind;
    let both = matches!(
        kind,
        Kind::Mid
            | Kind::AbsCaptureTime
            | Kind::DependencyDescriptor
            | Kind::PlayoutDelay
            | Kind::VideoOrientation
            | Kind::ColorSpace
    );
    let up = matches!(
        kind,
        Kind::Rid | Kind::RepairedRid | Kind::AudioLevel | Kind::TransportSequence
    );
    both || (flow == Flow::Up && up)
}

/// What we offer to a receiver, with ids that fit the one-byte form.
pub(crate) fn offered(kind: MediaKind) -> Vec<Extension> {
    use ExtensionKind as Kind;
    let all = [
        (1, Kind::Mid),
        (2, Kind::AbsCaptureTime),
        (3, Kind::DependencyDescriptor),
        (4, Kind::PlayoutDelay),
        (5, Kind::VideoOrientation),
        (6, Kind::ColorSpace),
    ];
    let fits = |extension: &Kind| kind == MediaKind::Video || matches!(extension, Kind::Mid | Kind::AbsCaptureTime);
    let wanted = all.into_iter().filter(|(_, extension)| fits(extension));
    wanted
        .map(|(id, extension)| Extension {
            id,
            uri: extension.uri().to_owned(),
        })
        .collect()
}
