//! What is kept of the descriptions a peer has sent: a browser says the same of most of its sections, and that is kept once.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use wire::Mid;
use wire::sdp::{Extension, Format, MediaSection};

/// What both sides take in a section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Agreed {
    /// Formats, the preferred first.
    pub(super) formats: Vec<Format>,
    /// Header extensions.
    pub(super) extensions: Vec<Extension>,
}

/// What matters of a section later: neither its name nor what is said of the whole transport, and of streams only where it sends any.
pub(super) fn essence(section: &MediaSection) -> MediaSection {
    let nameless = Mid::new("0").expect("a number is a token");
    let kept = MediaSection {
        rejected: section.rejected,
        protocol: section.protocol.clone(),
        direction: section.direction,
        rtcp_rsize: section.rtcp_rsize,
        formats: section.formats.clone(),
        extensions: section.extensions.clone(),
        ..MediaSection::new(section.kind.clone(), nameless)
    };
    if !section.direction.sends() {
        return kept;
    }
    MediaSection {
        rids: section.rids.clone(),
        simulcast: section.simulcast.clone(),
        msids: section.msids.clone(),
        ssrcs: section.ssrcs.clone(),
        ssrc_groups: section.ssrc_groups.clone(),
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

    fn section(mid: &str, direction: Direction) -> MediaSection {
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
            section("1", Direction::RecvOnly),
            section("2", Direction::RecvOnly),
            section("3", Direction::SendOnly),
        ]
        .map(|section| essence(&section));
        let mut known = HashSet::new();
        let kept = shared(first, &mut known);
        assert!(Arc::ptr_eq(&shared(second, &mut known), &kept));
        let other = shared(sending, &mut known);
        assert!(!Arc::ptr_eq(&other, &kept) && other.ssrcs.len() == 1);
    }
}
