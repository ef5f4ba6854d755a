//! Bytes that are kept for all rooms together, in shares by room and by API key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::WEIGHT;

/// A room has at most what is free, divided by this.
pub const ROOM_SHARED: usize = 4;

/// The bytes that are kept, by API key. A key without rooms has no entry.
#[derive(Debug)]
pub struct Storage {
    max: usize,
    all: Arc<AtomicUsize>,
    keys: BTreeMap<String, Arc<AtomicUsize>>,
}

/// The account of a room, and of its API key.
#[derive(Clone, Debug)]
pub struct Account {
    max: usize,
    all: Arc<AtomicUsize>,
    of_key: Arc<AtomicUsize>,
    of_room: Arc<AtomicUsize>,
}

/// Bytes on an account, until this is dropped; on none by default.
#[derive(Debug, Default)]
pub struct Held {
    account: Option<Account>,
    bytes: usize,
}

impl Storage {
    /// Of at most so many bytes.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            all: Arc::default(),
            keys: BTreeMap::new(),
        }
    }

    /// The account of a new room of a key.
    pub fn account(&mut self, api_key: &str) -> Account {
        self.keys.retain(|_, of_key| Arc::strong_count(of_key) > 1);
        Account {
            max: self.max,
            all: self.all.clone(),
            of_key: self.keys.entry(api_key.to_owned()).or_default().clone(),
            of_room: Arc::default(),
        }
    }
}

impl Account {
    /// Nothing yet.
    pub fn hold(&self) -> Held {
        Held {
            account: Some(self.clone()),
            bytes: 0,
        }
    }

    /// The bytes of the room.
    pub fn bytes(&self) -> usize {
        self.of_room.load(Ordering::Relaxed)
    }

    /// Whether a room may have so many bytes, which are so many more than before.
    pub fn takes(&self, of_room: usize, more: usize) -> bool {
        let free = self.max.saturating_sub(self.all.load(Ordering::Relaxed));
        let of_key = self.of_key.load(Ordering::Relaxed);
        more == 0 || more <= free && of_room <= free / ROOM_SHARED && of_key < WEIGHT * free
    }
}

impl Held {
    /// How many there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it may become so many.
    pub fn may_become(&self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        self.account
            .as_ref()
            .is_none_or(|account| account.takes(account.bytes() + more, more))
    }

    /// So many from now on.
    pub fn set(&mut self, bytes: usize) {
        let account = self.account.iter();
        for count in account.flat_map(|account| [&account.all, &account.of_key, &account.of_room]) {
            count.fetch_add(bytes, Ordering::Relaxed);
            count.fetch_sub(self.bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED_MAX: usize = 64 << 20;

    /// Takes as much as a room of the key gets, in pieces.
    fn fill(storage: &mut Storage, api_key: &str) -> Held {
        const PIECE: usize = 64 << 10;
        let account = storage.account(api_key);
        let mut held = account.hold();
        while account.takes(held.bytes() + PIECE, PIECE) {
            held.set(held.bytes() + PIECE);
        }
        held
    }

    #[test]
    fn rooms_and_keys_leave_bytes_to_others() {
        let mut storage = Storage::new(STORED_MAX);
        let first = fill(&mut storage, "one");
        assert!(first.bytes() <= STORED_MAX / ROOM_SHARED);
        let rooms: Vec<_> = (0..1_000).map(|_| fill(&mut storage, "one")).collect();
        let of_one = rooms.iter().chain([&first]).map(Held::bytes).sum::<usize>();
        assert!(of_one <= STORED_MAX / 9 * 8 + (64 << 10), "{of_one}");
        assert!(fill(&mut storage, "other").bytes() > 1 << 20);
        drop((rooms, first));
        assert_eq!(storage.all.load(Ordering::Relaxed), 0);
        storage.account("other");
        assert_eq!(storage.keys.len(), 1);
    }
}
