//! What is kept of the descriptions a peer has sent: a browser says the same of most of its sections, and that is kept once.

use std::sync::Arc;

use wire::Mid;
use wire::sdp::{Extension, Format, MediaSection};

/// What both sides take in a section.
#[derive(Clone, Debug, Default, PartialEq)]
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
pub(super) fn shared<'a, T: PartialEq + 'a>(new: T, mut known: impl Iterator<Item = &'a Arc<T>>) -> Arc<T> {
    let same = known.find(|known| ***known == new);
    same.cloned().unwrap_or_else(|| Arc::new(new))
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
        let kept = [Arc::new(first)];
        assert!(Arc::ptr_eq(&shared(second, kept.iter()), &kept[0]));
        let other = shared(sending, kept.iter());
        assert!(!Arc::ptr_eq(&other, &kept[0]) && other.ssrcs.len() == 1);
    }
}
