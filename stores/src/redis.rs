//! A store in Redis.
//!
//! Leases are keys that expire, and entries expire with them. A watch does not depend on the
//! server's notifications of keys: every write is published by its own script, and each watch looks
//! every second for entries that expired. A failover of Redis forgets writes it acknowledged; each
//! watch notices by the revisions and begins again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::config::{OpenError, RedisConfig};
use crate::entry::Entry;
use crate::redis::connection::Server;
use crate::redis::scripts::Scripts;
use crate::store::{Claim, Lease, Listing, Store, StoreError, Swap};
use crate::store::{check_entry, check_key, check_prefix, check_ttl};
use crate::watch::{CHANGES_MAX, Watch};

mod connection;
mod scripts;
mod watching;

/// Entries that are asked for at once. A page ends at 8 MiB of values.
const PAGE: usize = 512;

/// Keys that are looked at at once for whether they expired.
const SWEEP_PAGE: usize = 4096;

/// A store in Redis.
pub(crate) struct Redis {
    shared: Arc<Shared>,
}

struct Shared {
    server: Server,
    scripts: Scripts,
    prefix: String,
}

/// Key, value and revision of entries.
type Page = Vec<(String, Vec<u8>, u64)>;

/// A list, and what the store was when it began.
struct List {
    birth: String,
    revision: u64,
    entries: Vec<(String, Entry)>,
}

/// The outcome of a script: its number, a value and a revision.
#[derive(Default)]
struct Outcome(u8, Vec<u8>, u64);

impl Redis {
    pub(crate) fn new(config: &RedisConfig) -> Result<Self, OpenError> {
        let word = config.prefix.as_deref().unwrap_or("weir");
        if word.is_empty() || word.len() > 64 || !word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Err(OpenError(
                "`redis.prefix` has to be letters, digits and `-`, at most 64".into(),
            ));
        }
        let shared = Shared {
            server: Server::new(config)?,
            scripts: Scripts::new(),
            // All keys have one hash tag.
            prefix: format!("{{{word}}}:"),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Runs a script that says one of several outcomes.
    async fn decide(&self, script: &redis::Script, arguments: &[&[u8]]) -> Result<Outcome, StoreError> {
        let mut call = script.prepare_invoke();
        call.arg(&self.shared.prefix);
        for argument in arguments {
            call.arg(*argument);
        }
        let answer: Vec<redis::Value> = self.shared.server.run(&call).await?;
        let mut outcome = Outcome::default();
        for (place, value) in answer.into_iter().enumerate() {
            match (place, value) {
                (0, redis::Value::Int(number)) => outcome.0 = u8::try_from(number).unwrap_or(u8::MAX),
                (1, redis::Value::BulkString(value)) => outcome.1 = value,
                (2, redis::Value::Int(revision)) => outcome.2 = revision.cast_unsigned(),
                _ => return Err(malformed()),
            }
        }
        if outcome.0 == 3 {
            Err(StoreError::LeaseLost)
        } else {
            Ok(outcome)
        }
    }
}

impl Shared {
    fn channel(&self) -> String {
        format!("{}changes", self.prefix)
    }

    async fn list(&self, prefix: &str) -> Result<List, StoreError> {
        let mut listing = Listing::default();
        let mut first = None;
        let mut begin = format!("[{prefix}");
        loop {
            let word = getrandom::u64().map_err(|error| StoreError::Unavailable(error.to_string()))?;
            let mut call = self.scripts.page.prepare_invoke();
            call.arg(&self.prefix).arg(prefix).arg(&begin).arg(PAGE).arg(word);
            let (birth, revision, last, entries): (String, u64, String, Page) = self.server.run(&call).await?;
            first.get_or_insert((birth, revision));
            for (key, value, revision) in entries {
                listing.push(
                    key,
                    Entry {
                        value: value.into(),
                        revision,
                    },
                )?;
            }
            if last.is_empty() {
                let (birth, revision) = first.unwrap_or_default();
                return Ok(List {
                    birth,
                    revision,
                    entries: listing.entries,
                });
            }
            begin = format!("({last}");
        }
    }

    /// Publishes the deletion of what expired. Returns the store's birth and revision.
    async fn sweep(&self, prefix: &str) -> Result<(String, u64), StoreError> {
        let mut begin = format!("[{prefix}");
        loop {
            let mut call = self.scripts.sweep.prepare_invoke();
            call.arg(&self.prefix).arg(prefix).arg(&begin).arg(SWEEP_PAGE);
            let (birth, revision, last): (String, u64, String) = self.server.run(&call).await?;
            if last.is_empty() {
                return Ok((birth, revision));
            }
            begin = format!("({last}");
        }
    }
}

#[async_trait]
impl Store for Redis {
    async fn grant(&self, ttl: Duration) -> Result<Lease, StoreError> {
        check_ttl(ttl)?;
        let mut call = self.shared.scripts.grant.prepare_invoke();
        call.arg(&self.shared.prefix).arg(ttl.as_millis() as u64);
        Ok(Lease {
            id: self.shared.server.run(&call).await?,
            ttl,
        })
    }

    async fn keep_alive(&self, lease: Lease) -> Result<(), StoreError> {
        let mut call = self.shared.scripts.keep_alive.prepare_invoke();
        call.arg(&self.shared.prefix)
            .arg(lease.id)
            .arg(lease.ttl.as_millis() as u64);
        let alive: bool = self.shared.server.run(&call).await?;
        if alive { Ok(()) } else { Err(StoreError::LeaseLost) }
    }

    async fn revoke(&self, lease: Lease) -> Result<(), StoreError> {
        let mut call = self.shared.scripts.revoke.prepare_invoke();
        call.arg(&self.shared.prefix).arg(lease.id);
        self.shared.server.run::<i64>(&call).await.map(|_| ())
    }

    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        check_key(key)?;
        let Outcome(found, value, revision) = self.decide(&self.shared.scripts.get, &[key.as_bytes()]).await?;
        Ok((found == 1).then(|| Entry {
            value: value.into(),
            revision,
        }))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Entry)>, StoreError> {
        check_prefix(prefix)?;
        let list = tokio::time::timeout(self.shared.server.deadline, self.shared.list(prefix)).await;
        Ok(list.unwrap_or(Err(StoreError::TimedOut))?.entries)
    }

    async fn claim(&self, key: &str, value: Bytes, lease: Option<Lease>) -> Result<Claim, StoreError> {
        check_entry(key, &value)?;
        let arguments = [key.as_bytes(), &value, &id(lease)];
        let Outcome(outcome, value, revision) = self.decide(&self.shared.scripts.claim, &arguments).await?;
        match outcome {
            0 => Ok(Claim::Won { revision }),
            1 => Ok(Claim::Taken(Entry {
                value: value.into(),
                revision,
            })),
            _ => Err(malformed()),
        }
    }

    async fn swap(&self, key: &str, expected: u64, value: Bytes, lease: Option<Lease>) -> Result<Swap, StoreError> {
        check_entry(key, &value)?;
        let expected = expected.to_string();
        let arguments = [key.as_bytes(), expected.as_bytes(), &value, &id(lease)];
        swapped(self.decide(&self.shared.scripts.swap, &arguments).await?)
    }

    async fn delete(&self, key: &str, expected: u64) -> Result<Swap, StoreError> {
        check_key(key)?;
        let expected = expected.to_string();
        let arguments = [key.as_bytes(), expected.as_bytes()];
        swapped(self.decide(&self.shared.scripts.delete, &arguments).await?)
    }

    async fn watch(&self, prefix: &str) -> Result<Watch, StoreError> {
        check_prefix(prefix)?;
        let (to, changes) = mpsc::channel(CHANGES_MAX);
        tokio::spawn(watching::run(self.shared.clone(), prefix.to_owned(), to));
        Ok(Watch::new(changes))
    }
}

fn id(lease: Option<Lease>) -> Vec<u8> {
    lease.map(|lease| lease.id.to_string()).unwrap_or_default().into()
}

fn swapped(Outcome(outcome, value, revision): Outcome) -> Result<Swap, StoreError> {
    match outcome {
        0 => Ok(Swap::Won { revision }),
        1 => Ok(Swap::Taken(Entry {
            value: value.into(),
            revision,
        })),
        2 => Ok(Swap::Gone),
        _ => Err(malformed()),
    }
}

fn malformed() -> StoreError {
    StoreError::Malformed("Redis gave another answer than its script gives".into())
}
