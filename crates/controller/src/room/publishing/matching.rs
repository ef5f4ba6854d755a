//! Which announced track a media section carries.
//!
//! A section names its track, and most clients announce it by the same name. Some browsers make up
//! another; then the kind decides, as in LiveKit (`getPendingTrack`). If more tracks of a kind wait
//! than sections came, the ones announced last are meant: those before them were announced and
//! never offered, and will not come any more.

use std::collections::{BTreeMap, BTreeSet};

use southbound::TrackId;
use wire::{MediaKind, Mid};

use crate::negotiation::codecs::is_g711;
use crate::negotiation::{Section, Uplink};
use crate::participant::Participant;
use crate::track::{Expected, Track};

/// Tracks for the sections that carry one nobody knew yet.
pub(in crate::room) fn claims(sections: &[Section], tracks: &BTreeMap<TrackId, Track>) -> Vec<(Mid, Uplink)> {
    let mut unclaimed: Vec<&Section> = sections.iter().filter(|section| section.is_unclaimed()).collect();
    let expected = tracks
        .values()
        .flat_map(|track| track.expected().map(move |expected| (track, expected)));
    let mut expected: Vec<_> = expected.collect();
    let mut claims = Vec::new();
    // By name. Of several announcements under one name the last counts.
    unclaimed.retain(|section| {
        let names: Vec<_> = names(section).collect();
        let is_it = |(track, expected): &(&Track, Expected<'_>)| {
            Some(track.kind) == section.media_kind() && names.iter().any(|name| expected.is_called(name))
        };
        let Some(position) = expected.iter().rposition(is_it) else {
            return true;
        };
        let (track, expected) = expected.remove(position);
        claims.push((section.mid, uplink(track, &expected)));
        false
    });
    let arrived: BTreeSet<&str> = tracks.values().flat_map(Track::arrived_names).collect();
    for kind in [MediaKind::Audio, MediaKind::Video] {
        let sections = unclaimed.iter().filter(|section| section.media_kind() == Some(kind));
        // An announcement under the name of a track that is there already is for the time after
        // that one.
        let waiting = expected
            .iter()
            .filter(|(track, expected)| track.kind == kind && !arrived.iter().any(|name| expected.is_called(name)));
        let mut waiting: Vec<_> = waiting.collect();
        // A first codec before a second one: these are offered under the names they were announced
        // by.
        waiting.sort_by_key(|(track, expected)| expected.id == track.id);
        let stale = waiting.len().saturating_sub(sections.clone().count());
        let found = sections.zip(&waiting[stale..]);
        claims.extend(found.map(|(section, (track, expected))| (section.mid, uplink(track, expected))));
    }
    claims
}

/// The track a client announces a second time before it has come: it has not heard the answer, or
/// asks again.
pub(in crate::room) fn announced_before<'a>(
    participant: &'a Participant,
    kind: MediaKind,
    cid: &str,
) -> Option<&'a Track> {
    let is_it = |track: &&Track| !cid.is_empty() && track.media.is_none() && track.kind == kind && track.cid == cid;
    participant.publications.tracks.values().find(is_it)
}

/// The peer's names for the track of a section.
fn names(section: &Section) -> impl Iterator<Item = &str> {
    let msids = section.theirs.iter().flat_map(|media_section| &media_section.msids);
    msids.filter_map(|msid| msid.track.as_deref())
}

fn uplink(track: &Track, expected: &Expected<'_>) -> Uplink {
    let mut audio = track.audio_wish();
    // Redundancy is of Opus.
    audio.red &= !expected.codec.is_some_and(is_g711);
    Uplink {
        track: expected.id,
        audio,
        codec: expected.codec,
    }
}
