//! The peer's own descriptions of its sections. A browser says the same of most of them, and that
//! is kept once.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use wire::Mid;
use wire::sdp::{Extension, Format, MediaSection};

/// The formats and extensions that both sides take in a section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Agreed {
    /// Formats, the preferred first.
    pub(super) formats: Vec<Format>,
    /// Header extensions.
    pub(super) extensions: Vec<Extension>,
}

/// The part of a section that matters later: neither its name nor the transport, and streams only
/// if it sends any.
pub(super) fn essence(media_section: &MediaSection) -> MediaSection {
    let nameless = Mid::new("0").expect("a number is a token");
    let kept = MediaSection {
        rejected: media_section.rejected,
        protocol: media_section.protocol.clone(),
        direction: media_section.direction,
        rtcp_rsize: media_section.rtcp_rsize,
        formats: media_section.formats.clone(),
        extensions: media_section.extensions.clone(),
        ..MediaSection::new(media_section.kind.clone(), nameless)
    };
    if !media_section.direction.sends() {
        return kept;
    }
    MediaSection {
        rids: media_section.rids.clone(),
        simulcast: media_section.simulcast.clone(),
        msids: media_section.msids.clone(),
        ssrcs: media_section.ssrcs.clone(),
        ssrc_groups: media_section.ssrc_groups.clone(),
        ..kept
    }
}

/// One of those there are if it is the same, else another one.
pub(super) fn shared<T: Eq + Hash>(new: T, known: &mut HashSet<Arc<T>>) -> Arc<T> {
    if let Some(same) = known.get(&new) {
        return same.clone();
    }
    let new = Arc::new(new);
    known.insert(new.clone());
    new
}

#[cfg(test)]
mod tests {
    use wire::MediaKind;
    use wire::sdp::{Direction, SectionKind, SsrcLine};

    use super::*;

    fn media_section(mid: &str, direction: Direction) -> MediaSection {
        let ssrc = SsrcLine {
            ssrc: wire::Ssrc(mid.parse().expect("a number")),
            attribute: "cname".into(),
            value: None,
        };
        MediaSection {
            direction,
            ssrcs: vec![ssrc],
            ..MediaSection::new(SectionKind::Media(MediaKind::Video), Mid::new(mid).expect("a token"))
        }
    }

    #[test]
    fn sections_that_only_receive_are_kept_once() {
        let [first, second, sending] = [
            media_section("1", Direction::RecvOnly),
            media_section("2", Direction::RecvOnly),
            media_section("3", Direction::SendOnly),
        ]
        .map(|media_section| essence(&media_section));
        let mut known = HashSet::new();
        let kept = shared(first, &mut known);
        assert!(Arc::ptr_eq(&shared(second, &mut known), &kept));
        let other = shared(sending, &mut known);
        assert!(!Arc::ptr_eq(&other, &kept) && other.ssrcs.len() == 1);
    }
}
