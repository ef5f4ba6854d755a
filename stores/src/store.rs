//! The face of a store: leases, claims, compare and swap, lists and watches.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::entry::Entry;
use crate::watch::Watch;

/// The most bytes of a key.
pub const KEY_MAX: usize = 1024;

/// The most bytes of a value.
pub const VALUE_MAX: usize = 64 * 1024;

/// The most entries that a list, and the beginning of a watch, holds.
pub const LIST_MAX: usize = 65_536;

/// The most bytes of keys and values that a list, and the beginning of a watch, holds.
pub const LIST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The shortest time to live of a lease.
pub const TTL_MIN: Duration = Duration::from_millis(100);

/// The longest time to live of a lease.
pub const TTL_MAX: Duration = Duration::from_secs(24 * 3600);

/// The time in which a call answers or fails, where the configuration does not say otherwise.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// A promise of the store to delete the keys that are bound to it, unless it is kept alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The store's number for it.
    pub id: i64,
    /// The time it lives after it was granted or kept alive. etcd counts whole seconds and has a
    /// lowest value, so it may be longer than what was asked for.
    pub ttl: Duration,
}

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The key was absent and is now the claimant's.
    Won {
        /// The revision of the write.
        revision: u64,
    },
    /// The key was there.
    Taken(Entry),
}

/// The outcome of a swap or a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The entry had the expected revision and was written or deleted.
    Won {
        /// The revision of the write or of the deletion.
        revision: u64,
    },
    /// The entry has another revision.
    Taken(Entry),
    /// The key is absent.
    Gone,
}

/// A failure of a call.
#[derive(Debug)]
pub enum StoreError {
    /// The store cannot be reached or does not serve. A write may have happened.
    Unavailable(String),
    /// The call had no answer before its deadline. A write may have happened.
    TimedOut,
    /// The lease is not there any more, and neither are its keys.
    LeaseLost,
    /// A key, a value or a list has more than the store takes.
    TooLong(String),
    /// The store refused the user, its password or its certificate.
    Refused(String),
    /// An argument or an answer is not what it has to be.
    Malformed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(cause) => write!(to, "the store is unavailable: {cause}"),
            Self::TimedOut => write!(to, "the store did not answer in time"),
            Self::LeaseLost => write!(to, "the store does not have the lease any more"),
            Self::TooLong(what) => write!(to, "the store does not take {what}"),
            Self::Refused(cause) => write!(to, "the store refused access: {cause}"),
            Self::Malformed(what) => write!(to, "not usable for the store: {what}"),
        }
    }
}

impl Error for StoreError {}

/// The store of a cluster.
///
/// Each call answers or fails before the store's deadline. A write that fails with
/// [`StoreError::Unavailable`] or [`StoreError::TimedOut`] may have happened: the caller reads to
/// know. No call writes twice. Any call fails with [`StoreError::Refused`] where the store refuses
/// the credentials.
#[async_trait]
pub trait Store: Send + Sync {
    /// Grants a lease.
    ///
    /// Errors: [`StoreError::Malformed`] where `ttl` is not from [`TTL_MIN`] to [`TTL_MAX`].
    async fn grant(&self, ttl: Duration) -> Result<Lease, StoreError>;

    /// Lets a lease live for its time from now. The store never does so by itself.
    ///
    /// Errors: [`StoreError::LeaseLost`].
    async fn keep_alive(&self, lease: Lease) -> Result<(), StoreError>;

    /// Ends a lease and deletes its keys. Succeeds where it has ended.
    async fn revoke(&self, lease: Lease) -> Result<(), StoreError>;

    /// The entry of a key.
    ///
    /// Errors: [`StoreError::TooLong`].
    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError>;

    /// The entries whose keys begin with `prefix`, in the order of the keys' bytes.
    ///
    /// Errors: [`StoreError::TooLong`] beyond [`LIST_MAX`] entries or [`LIST_BYTES_MAX`] bytes.
    async fn list(&self, prefix: &str) -> Result<Vec<(String, Entry)>, StoreError>;

    /// Writes an entry if its key is absent, bound to the lease if there is one.
    ///
    /// Errors: [`StoreError::TooLong`], [`StoreError::LeaseLost`].
    async fn claim(&self, key: &str, value: Bytes, lease: Option<Lease>) -> Result<Claim, StoreError>;

    /// Writes an entry if it has the expected revision. It is bound to the lease from then on, or
    /// to none.
    ///
    /// Errors: [`StoreError::TooLong`], [`StoreError::LeaseLost`].
    async fn swap(&self, key: &str, expected: u64, value: Bytes, lease: Option<Lease>) -> Result<Swap, StoreError>;

    /// Deletes an entry if it has the expected revision.
    ///
    /// Errors: [`StoreError::TooLong`].
    async fn delete(&self, key: &str, expected: u64) -> Result<Swap, StoreError>;

    /// The changes of the entries whose keys begin with `prefix`. They begin with a
    /// [`Change::Reset`](crate::Change::Reset) as soon as the store answers.
    ///
    /// Errors: [`StoreError::TooLong`].
    async fn watch(&self, prefix: &str) -> Result<Watch, StoreError>;
}

pub(crate) fn check_key(key: &str) -> Result<(), StoreError> {
    if key.is_empty() {
        return Err(StoreError::Malformed("an empty key".into()));
    }
    check_prefix(key)
}

pub(crate) fn check_prefix(prefix: &str) -> Result<(), StoreError> {
    match prefix.len() {
        0..=KEY_MAX => Ok(()),
        long => Err(StoreError::TooLong(format!(
            "a key of {long} bytes, the most are {KEY_MAX}"
        ))),
    }
}

pub(crate) fn check_entry(key: &str, value: &[u8]) -> Result<(), StoreError> {
    check_key(key)?;
    match value.len() {
        0..=VALUE_MAX => Ok(()),
        long => Err(StoreError::TooLong(format!(
            "a value of {long} bytes, the most are {VALUE_MAX}"
        ))),
    }
}

pub(crate) fn check_ttl(ttl: Duration) -> Result<(), StoreError> {
    if (TTL_MIN..=TTL_MAX).contains(&ttl) {
        return Ok(());
    }
    Err(StoreError::Malformed(format!(
        "a lease of {ttl:?}, it has to be from {TTL_MIN:?} to {TTL_MAX:?}"
    )))
}

/// A list while its pages arrive.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<(String, Entry)>,
    bytes: usize,
}

impl Listing {
    /// Errors: [`StoreError::TooLong`] where the list has all it may hold.
    pub(crate) fn push(&mut self, key: String, entry: Entry) -> Result<(), StoreError> {
        self.bytes += key.len() + entry.value.len();
        if self.entries.len() == LIST_MAX || self.bytes > LIST_BYTES_MAX {
            let limits = format!("a list of more than {LIST_MAX} entries or {LIST_BYTES_MAX} bytes");
            return Err(StoreError::TooLong(limits));
        }
        self.entries.push((key, entry));
        Ok(())
    }
}
