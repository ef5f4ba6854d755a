//! Limits for API keys, and their use.
//!
//! A room counts for the key that created it, and a participant for the key of the token that it
//! joined with.

use std::collections::{BTreeMap, BTreeSet};

use slots::WEIGHT;

use crate::limits::ROOMS_MAX;

/// The limits of one API key; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Rooms at once. A further one is not created.
    pub rooms: Option<usize>,
    /// Participants at once, in all rooms. A further one is refused.
    pub participants: Option<usize>,
    /// Bits per second of media that all participants together are sent at most. Each may use an
    /// equal share.
    pub bitrate: Option<u64>,
}

/// The limits of all API keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// By key.
    pub keys: BTreeMap<String, Quota>,
    /// Of keys without an entry.
    pub default: Quota,
}

impl Quotas {
    fn of(&self, key: &str) -> Quota {
        self.keys.get(key).copied().unwrap_or(self.default)
    }
}

/// The use of all API keys. A key without rooms and participants has no entry.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    keys: BTreeMap<String, Used>,
    /// Keys whose participants have another share of the bit rate since they were told.
    pub(crate) changed: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Used {
    rooms: usize,
    participants: usize,
    /// The number of participants that the bit rate is divided by: theirs or somewhat more, so that
    /// not every arrival changes the share of all.
    shares: usize,
}

impl Usage {
    pub(crate) fn takes_room(&self, quotas: &Quotas, key: &str) -> bool {
        quotas.of(key).rooms.is_none_or(|max| self.used(key).rooms < max)
    }

    /// Whether a key with one more room, of so many in all and among so many keys, leaves some to
    /// the other keys.
    pub(crate) fn leaves_rooms(&self, all: usize, keys: usize, key: &str) -> bool {
        keys <= 1 || self.used(key).rooms < WEIGHT * ROOMS_MAX.saturating_sub(all)
    }

    pub(crate) fn takes_participant(&self, quotas: &Quotas, key: &str) -> bool {
        let max = quotas.of(key).participants;
        max.is_none_or(|max| self.used(key).participants < max)
    }

    /// The highest bit rate for one participant.
    pub(crate) fn share(&self, quotas: &Quotas, key: &str) -> Option<u64> {
        let shares = self.used(key).shares.max(1) as u64;
        quotas.of(key).bitrate.map(|bitrate| bitrate / shares)
    }

    pub(crate) fn room_created(&mut self, key: &str) {
        self.change(key, |used| used.rooms += 1);
    }

    pub(crate) fn room_removed(&mut self, key: &str) {
        self.change(key, |used| used.rooms = used.rooms.saturating_sub(1));
    }

    pub(crate) fn participant_joined(&mut self, key: &str) {
        self.change(key, |used| used.participants += 1);
    }

    pub(crate) fn participant_left(&mut self, key: &str) {
        self.change(key, |used| used.participants = used.participants.saturating_sub(1));
    }

    fn used(&self, key: &str) -> Used {
        self.keys.get(key).copied().unwrap_or_default()
    }

    fn change(&mut self, key: &str, change: impl FnOnce(&mut Used)) {
        let mut used = self.used(key);
        change(&mut used);
        let shares = shares(used.shares, used.participants);
        if shares != used.shares {
            used.shares = shares;
            self.changed.insert(key.to_owned());
        }
        match used.rooms + used.participants {
            0 => self.keys.remove(key),
            _ => self.keys.insert(key.to_owned(), used),
        };
    }
}

/// The shares for so many participants, if there were so many shares before.
fn shares(before: usize, participants: usize) -> usize {
    let with_room = participants + participants / 8;
    match participants > before || with_room + with_room / 4 < before {
        true => with_room,
        false => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_leaves_rooms_to_others() {
        let mut usage = Usage::default();
        let mut rooms = 0;
        while usage.leaves_rooms(rooms, 2, "one") {
            usage.room_created("one");
            rooms += 1;
        }
        assert_eq!(rooms, 8_889);
        assert!(usage.leaves_rooms(rooms, 2, "other"));
        assert!(usage.leaves_rooms(rooms, 1, "one"), "a single key has all rooms");
    }

    #[test]
    fn keys_are_limited_apart() {
        let quotas = Quotas {
            keys: [(
                "small".to_owned(),
                Quota {
                    rooms: Some(1),
                    participants: Some(2),
                    bitrate: None,
                },
            )]
            .into(),
            default: Quota::default(),
        };
        let mut usage = Usage::default();
        for key in ["small", "other"] {
            usage.room_created(key);
            usage.participant_joined(key);
            usage.participant_joined(key);
        }
        let takes = |usage: &Usage, key| (usage.takes_room(&quotas, key), usage.takes_participant(&quotas, key));
        assert_eq!(takes(&usage, "small"), (false, false));
        assert_eq!(takes(&usage, "other"), (true, true));
        usage.participant_left("small");
        assert_eq!(takes(&usage, "small"), (false, true));
        usage.room_removed("small");
        usage.participant_left("small");
        assert_eq!(usage.keys.len(), 1, "a key without use takes no memory");
    }

    #[test]
    fn shares_never_add_up_to_more_and_change_seldom() {
        let quotas = Quotas {
            default: Quota {
                bitrate: Some(1_000_000_000),
                ..Quota::default()
            },
            ..Quotas::default()
        };
        let mut usage = Usage::default();
        let mut changes = 0;
        let mut check = |usage: &mut Usage, participants: u64| {
            let share = usage.share(&quotas, "key").expect("there is a limit");
            assert!(share * participants <= 1_000_000_000, "{share} for {participants}");
            assert!(
                share * participants.max(1) >= 500_000_000 || participants < 8,
                "{share} for {participants}"
            );
            changes += usize::from(!std::mem::take(&mut usage.changed).is_empty());
        };
        for participants in 1..=1_000 {
            usage.participant_joined("key");
            check(&mut usage, participants);
        }
        for participants in (0..1_000).rev() {
            usage.participant_left("key");
            check(&mut usage, participants);
        }
        assert!(changes < 120, "{changes} changes");
    }
}
