use operator::observation::TrackSource;
use operator::receivers::MediaKind;
use operator::{Observation, TimelineEntry, TimelineTrack};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use timeline::{NAMES, RECORDS, RING_LEN, Ring};

use super::observations::{observation, track};

/// The greatest time that a ring can hold.
const TIME_MAX: u64 = (1 << 48) - 1;

fn camera(number: usize) -> TimelineTrack {
    TimelineTrack {
        id: format!("TR_{number}"),
        peer: "ada".to_owned(),
        kind: MediaKind::Video,
        source: TrackSource::Camera,
    }
}

/// Whether a name is the other one, or as much of it as fits.
fn is_cut_of(kept: &TimelineTrack, whole: &TimelineTrack) -> bool {
    let is_cut = |kept: &str, whole: &str, max| kept == &whole[..whole.floor_char_boundary(max)];
    is_cut(&kept.id, &whole.id, 32)
        && is_cut(&kept.peer, &whole.peer, 84)
        && (kept.kind, kept.source) == (whole.kind, whole.source)
}

proptest! {
    #[test]
    fn ring_gives_every_observation_back(at in 0..=TIME_MAX, observation in observation(), track in weighted(0.5, track())) {
        let mut ring = Ring::default();
        prop_assert!(!ring.record(at, track.as_ref(), observation));
        let entries: Vec<TimelineEntry> = ring.entries(0).collect();
        prop_assert_eq!(entries.len(), 1);
        prop_assert_eq!(entries[0].at_ms, at);
        prop_assert_eq!(entries[0].observation, observation);
        match (&entries[0].track, &track) {
            (None, None) => {}
            (Some(kept), Some(whole)) => prop_assert!(is_cut_of(kept, whole), "{kept:?}"),
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

proptest! {
    // Each case fills a ring several times.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn ring_has_the_newest_observations_with_the_oldest_first(
        kinds in vec((observation(), 0..200usize), 1..40), many in 1..3 * RECORDS,
    ) {
        let mut ring = Ring::default();
        let mut all = Vec::new();
        for at in 0..many {
            let (observation, number) = kinds[at % kinds.len()];
            let overwrites = ring.record(at as u64, Some(&camera(number)), observation);
            prop_assert_eq!(overwrites, at >= RECORDS);
            all.push((at as u64, observation, camera(number)));
        }
        let kept = &all[all.len().saturating_sub(RECORDS)..];
        let entries: Vec<TimelineEntry> = ring.entries(0).collect();
        prop_assert_eq!(entries.len(), kept.len());
        prop_assert_eq!(ring.overwritten() as usize, all.len() - kept.len());
        for (entry, (at, observation, track)) in entries.iter().zip(kept) {
            prop_assert_eq!((entry.at_ms, entry.observation), (*at, *observation));
            // No more than 40 tracks: each has its name.
            prop_assert_eq!(entry.track.as_ref(), Some(track));
        }
        let since = kept.len() as u64 / 2;
        prop_assert!(ring.entries(since).all(|entry| entry.at_ms >= since));
    }
}

#[test]
fn ring_takes_no_more_than_64_kilobytes() {
    assert!(RING_LEN + size_of::<Ring>() <= 64 << 10);
}

#[test]
fn ring_with_too_many_tracks_forgets_names_and_gives_no_wrong_ones() {
    let mut ring = Ring::default();
    for number in 0..10 * NAMES {
        ring.record(number as u64, Some(&camera(number)), Observation::Subscribe);
    }
    assert_eq!(ring.renamed() as usize, 9 * NAMES);
    let mut named = 0;
    for entry in ring.entries(0) {
        if let Some(track) = entry.track {
            assert_eq!(track, camera(entry.at_ms as usize));
            named += 1;
        }
    }
    assert_eq!(named, NAMES);
    // A track that is used all the time keeps its name.
    let mut ring = Ring::default();
    for number in 0..5 * NAMES {
        ring.record(0, Some(&camera(0)), Observation::Pause { paused: true });
        ring.record(1, Some(&camera(number + 1)), Observation::Subscribe);
    }
    let pauses = ring.entries(0).filter(|entry| entry.at_ms == 0);
    assert!(pauses.into_iter().all(|entry| entry.track == Some(camera(0))));
}
