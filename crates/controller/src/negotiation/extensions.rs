//! Which header extensions are taken, in each direction.

use wire::sdp::Extension;
use wire::{ExtensionForms, ExtensionKind, ExtensionMap, MediaKind};

use super::{Flow, Section, Ways};

/// Those of the offered extensions that we take on a section that is used in these directions now,
/// and in another perhaps later. Only ids that packets can carry in these forms.
pub(crate) fn accept(offered: &[Extension], ways: Ways, forms: ExtensionForms) -> Vec<Extension> {
    let is_numbered = || {
        offered
            .iter()
            .any(|extension| kind_of(extension) == Some(ExtensionKind::TransportSequence))
    };
    // Sending times are for receivers that do not know transport-wide numbers. A sender would put
    // both on every packet.
    let spares_times = ways.contains(&Some(Flow::Up)) && is_numbered();
    let mut taken = ExtensionMap::default();
    let wanted = offered.iter().filter(|extension| {
        let kind = kind_of(extension).filter(|kind| is_taken(*kind, Flow::Up) || is_taken(*kind, Flow::Down));
        let kind = kind.filter(|_| extension.id <= forms.id_max());
        let kind = kind.filter(|kind| !(spares_times && *kind == ExtensionKind::AbsSendTime));
        // An id or a kind that comes twice in one section is the peer's mistake; the first counts.
        kind.is_some_and(|kind| taken.id(kind).is_none() && taken.insert(kind, extension.id).is_ok())
    });
    wanted.cloned().collect()
}

/// The extension map of a transport for one direction, from those of its sections.
///
/// Transport-wide numbers are put on every packet of a transport or on none. So they go out only
/// when every section takes them: those of a section that does not would be missing in the
/// receiver's reports, and be taken for lost. Otherwise the receiver estimates by itself,
/// from sending times.
pub(crate) fn of_transport<'a>(sections: impl Iterator<Item = &'a Section> + Clone, flow: Flow) -> ExtensionMap {
    let numbered = flow == Flow::Up
        || sections
            .clone()
            .all(|section| reports(section, ExtensionKind::TransportSequence));
    let mut map = ExtensionMap::default();
    for section in sections {
        for extension in section.extensions() {
            let Some(kind) = kind_of(extension).filter(|kind| is_taken(*kind, flow)) else {
                continue;
            };
            let goes = match kind {
                ExtensionKind::TransportSequence => numbered,
                ExtensionKind::AbsSendTime => !numbered && reports(section, kind),
                _ => true,
            };
            if goes {
                // Ids that contradict earlier ones are left out: RFC 8843 forbids them.
                let _ = map.insert(kind, extension.id);
            }
        }
    }
    map
}

/// Whether the receiver takes an extension and says what it makes of it.
fn reports(section: &Section, kind: ExtensionKind) -> bool {
    let report = match kind {
        ExtensionKind::TransportSequence => "transport-cc",
        _ => "goog-remb",
    };
    let is_taken = section
        .extensions()
        .iter()
        .any(|extension| kind_of(extension) == Some(kind));
    is_taken && section.formats().iter().any(|format| format.has_feedback(report))
}

fn kind_of(extension: &Extension) -> Option<ExtensionKind> {
    ExtensionKind::from_uri(&extension.uri)
}

fn is_taken(kind: ExtensionKind, flow: Flow) -> bool {
    use ExtensionKind as Kind;
    match kind {
        Kind::Mid
        | Kind::TransportSequence
        | Kind::AbsCaptureTime
        | Kind::DependencyDescriptor
        | Kind::PlayoutDelay
        | Kind::VideoOrientation
        | Kind::ColorSpace => true,
        Kind::Rid | Kind::RepairedRid | Kind::AudioLevel => flow == Flow::Up,
        Kind::AbsSendTime => flow == Flow::Down,
        _ => false,
    }
}

/// The extensions that we offer to a receiver, with ids that fit the one-byte form.
pub(crate) fn offered(kind: MediaKind) -> Vec<Extension> {
    use ExtensionKind as Kind;
    let all = [
        (1, Kind::Mid),
        (2, Kind::AbsCaptureTime),
        (3, Kind::DependencyDescriptor),
        (4, Kind::PlayoutDelay),
        (5, Kind::VideoOrientation),
        (6, Kind::ColorSpace),
        (7, Kind::TransportSequence),
        (8, Kind::AbsSendTime),
    ];
    let is_for_video = |extension: &Kind| {
        !matches!(
            extension,
            Kind::Mid | Kind::AbsCaptureTime | Kind::TransportSequence | Kind::AbsSendTime
        )
    };
    let fits = |extension: &Kind| kind == MediaKind::Video || !is_for_video(extension);
    let wanted = all.into_iter().filter(|(_, extension)| fits(extension));
    wanted
        .map(|(id, extension)| Extension {
            id,
            uri: extension.uri().into(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_packets_cannot_carry_is_not_taken() {
        let offered = [(14, ExtensionKind::Mid), (15, ExtensionKind::AudioLevel)].map(|(id, kind)| Extension {
            id,
            uri: kind.uri().into(),
        });
        let one_byte = ExtensionForms {
            one_byte: true,
            two_byte: false,
        };
        let taken = |forms| accept(&offered, [Some(Flow::Up), None], forms).len();
        assert_eq!((taken(one_byte), taken(ExtensionForms::ALL)), (1, 2));
    }
}
