//! Data packets of one participant: what it sent last, and what others may ask for again.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use slots::{Account, Held};

use crate::DataMessage;
use crate::limits::{DATA_REPLAY_AGE, DATA_REPLAY_MAX, DATA_SHARE, EARLY_DATA_AGE, EARLY_DATA_MAX};

/// Data packets of one participant.
#[derive(Debug, Default)]
pub(crate) struct DataState {
    /// The number of its last reliable packet. It numbers them from 1 and sends again what it
    /// cannot know to have arrived.
    pub(crate) last_sequence: u32,
    sent: VecDeque<Sent>,
    sent_bytes: usize,
    /// Packets for it from before it had a connection to get them on.
    early: VecDeque<(Instant, DataMessage)>,
    early_bytes: usize,
    /// Bytes beyond its shares.
    pooled: Held,
    /// The numbers of the messages that it last received from others, by their ids, as it said when
    /// it came back.
    pub(crate) received: BTreeMap<String, u32>,
}

/// A reliable packet, kept for receivers that come back.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) sequence: u32,
    at: Instant,
    /// Receivers by identity; empty is everybody else.
    pub(crate) destinations: Vec<String>,
    pub(crate) message: DataMessage,
}

impl Sent {
    /// Memory it takes, about: many short destinations take more than a short payload, and so does
    /// the packet itself.
    fn size(&self) -> usize {
        let names = self.destinations.iter().map(|name| name.len() + size_of::<String>());
        self.message.len.max(size_of::<Self>()) + names.sum::<usize>()
    }
}

impl DataState {
    /// Of one in a room with this account.
    pub(crate) fn new(account: &Account) -> Self {
        Self {
            pooled: account.hold(),
            ..Self::default()
        }
    }

    /// Of one whose last reliable packet had this number; nothing is kept of it.
    pub(crate) fn numbered_from(last_sequence: u32) -> Self {
        Self {
            last_sequence,
            ..Self::default()
        }
    }

    /// Whether a reliable packet is new. Packets without a number always are.
    pub(crate) fn accept(&mut self, sequence: u32) -> bool {
        if sequence == 0 {
            return true;
        }
        let is_new = sequence > self.last_sequence;
        self.last_sequence = self.last_sequence.max(sequence);
        is_new
    }

    pub(crate) fn keep(&mut self, now: Instant, destinations: Vec<String>, message: DataMessage) {
        let sent = Sent {
            sequence: message.sequence,
            at: now,
            destinations,
            message,
        };
        self.sent_bytes += sent.size();
        self.sent.push_back(sent);
        while let Some(oldest) = self.sent.front() {
            let is_recent = now < oldest.at + DATA_REPLAY_AGE;
            let fits = self.pooled.may_become(beyond_shares(self.sent_bytes, self.early_bytes));
            if is_recent && fits && self.sent_bytes <= DATA_REPLAY_MAX {
                break;
            }
            self.sent_bytes -= oldest.size();
            self.sent.pop_front();
        }
        self.pool();
    }

    /// Counts what is kept anew.
    fn pool(&mut self) {
        self.pooled.set(beyond_shares(self.sent_bytes, self.early_bytes));
    }

    /// Keeps a reliable packet for when there is a connection; false when too much is kept already.
    pub(crate) fn keep_early(&mut self, now: Instant, message: DataMessage) -> bool {
        let bytes = self.early_bytes + message.len;
        let fits = bytes <= EARLY_DATA_MAX
            && self.early.len() < EARLY_DATA_MAX / 64
            && self.pooled.may_become(beyond_shares(self.sent_bytes, bytes));
        if fits {
            self.early_bytes = bytes;
            self.early.push_back((now, message));
            self.pool();
        }
        fits
    }

    /// The kept packets that are not too old.
    pub(crate) fn take_early(&mut self, now: Instant) -> impl Iterator<Item = DataMessage> {
        self.early_bytes = 0;
        let early = std::mem::take(&mut self.early).into_iter();
        self.pool();
        early.filter_map(move |(at, message)| (now < at + EARLY_DATA_AGE).then_some(message))
    }

    /// The messages that `identity` should have got after number `sequence`.
    pub(crate) fn missed_by<'a>(&'a self, identity: &'a str, sequence: u32) -> impl Iterator<Item = &'a Sent> {
        self.sent.iter().filter(move |sent| {
            let addressed = sent.destinations.is_empty() || sent.destinations.iter().any(|known| known == identity);
            sent.sequence > sequence && addressed
        })
    }
}

/// The bytes that count for all rooms together.
fn beyond_shares(sent: usize, early: usize) -> usize {
    sent.saturating_sub(DATA_SHARE) + early.saturating_sub(DATA_SHARE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{DataContent, UserData};

    fn message(sequence: u32, len: usize) -> DataMessage {
        DataMessage {
            reliable: true,
            sequence,
            sender_sid: String::new(),
            sender_identity: String::new(),
            generated: false,
            destinations: Vec::new(),
            content: DataContent::User(UserData::default()),
            len,
        }
    }

    #[test]
    fn a_packet_is_new_once() {
        let mut state = DataState::default();
        let answers = [1, 2, 2, 1, 0, 0, 5].map(|sequence| state.accept(sequence));
        assert_eq!(answers, [true, true, false, false, true, true, true]);
    }

    #[test]
    fn who_comes_back_is_owed_what_was_addressed_to_it_and_is_not_too_old() {
        let (mut state, start) = (DataState::default(), Instant::now());
        state.keep(start, vec![], message(1, 8));
        state.keep(start + Duration::from_secs(20), vec!["ada".to_owned()], message(2, 8));
        state.keep(start + Duration::from_secs(31), vec!["bob".to_owned()], message(3, 8));
        let owed = |identity, after| {
            state
                .missed_by(identity, after)
                .map(|sent| sent.sequence)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (owed("ada", 0), owed("bob", 0), owed("ada", 2)),
            (vec![2], vec![3], vec![])
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (mut state, now) = (DataState::default(), Instant::now());
        for sequence in 1..=10 {
            state.keep(now, vec![], message(sequence, DATA_REPLAY_MAX / 2));
        }
        assert_eq!(state.missed_by("ada", 0).count(), 2);
    }

    #[test]
    fn packets_of_all_rooms_together_are_bounded() {
        const LEN: usize = 32 << 10;
        let (mut storage, now) = (slots::Storage::new(4 << 20), Instant::now());
        let account = storage.account("one");
        let mut states: Vec<_> = (0..100).map(|_| DataState::new(&account)).collect();
        for state in &mut states {
            for sequence in 1..=32 {
                state.keep(now, vec![], message(sequence, LEN));
                state.keep_early(now, message(sequence, LEN));
            }
        }
        let kept: usize = states.iter().map(|state| state.sent_bytes + state.early_bytes).sum();
        assert!(kept <= 200 * DATA_SHARE + (1 << 20), "{kept} bytes are kept");
        let share = |state: &mut DataState| {
            state.keep(now, vec![], message(99, LEN));
            state.missed_by("ada", 98).count() == 1
        };
        assert!(states.iter_mut().all(share), "each has the last packet that it sent");
        drop(states);
        assert_eq!(account.bytes(), 0);
    }

    #[test]
    fn many_small_packets_are_bounded_by_what_they_take() {
        let (mut state, now) = (DataState::default(), Instant::now());
        for sequence in 1..=100_000 {
            state.keep(now, vec![], message(sequence, 1));
        }
        assert!(state.missed_by("ada", 0).count() <= DATA_REPLAY_MAX / size_of::<Sent>());
    }
}
