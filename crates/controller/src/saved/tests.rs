//! A participant that is saved, written, read and restored is saved as the same again.

mod peers;
mod values;

use std::time::Instant;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use self::values::participant;
use super::{RestoreError, SavedParticipant};
use crate::ids::{Ids, ParticipantKey};
use crate::negotiation::Described;
use crate::participant::Participant;

fn key() -> ParticipantKey {
    Ids::default().participant()
}

fn restored(saved: SavedParticipant) -> Result<Participant, RestoreError> {
    Participant::restore(Instant::now(), key(), saved, |_| key(), &mut Described::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_participant_survives_being_saved_written_read_and_restored(saved in participant()) {
        let written = serde_json::to_string(&saved).expect("a participant can be written");
        let read: SavedParticipant = serde_json::from_str(&written).expect("what was written can be read");
        prop_assert_eq!(&read, &saved);
        let restored = restored(read).expect("what was saved can be restored");
        prop_assert!(restored.connection().is_none());
        prop_assert_eq!(restored.save(), saved);
    }
}

#[test]
fn a_participant_that_cannot_be_restored_is_refused() {
    let mut runner = TestRunner::deterministic();
    let tree = participant().new_tree(&mut runner).expect("there are participants");
    let saved = tree.current();
    let mut without_sections = saved.clone();
    without_sections.publisher = None;
    without_sections.tracks[0].has_arrived = true;
    let track_sid = "TR_1".to_owned();
    assert_eq!(
        restored(without_sections).err(),
        Some(RestoreError::NoSection { track_sid })
    );

    let mut denied = saved;
    denied.denied = (0..=crate::limits::SUBSCRIPTIONS_MAX as u64).collect();
    assert_eq!(restored(denied).err(), Some(RestoreError::TooLong));
}
