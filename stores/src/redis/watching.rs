//! A watch in Redis: a list, then what is published, and again after anything that is missing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::Sender;
use tokio::time;
use tokio_stream::StreamExt;

use crate::entry::Entry;
use crate::redis::Shared;
use crate::store::StoreError;
use crate::watch::{AGAIN, Change, Stop, hand};

/// The time between two looks for entries that expired and for changes that are missing.
const SWEEP: Duration = Duration::from_secs(1);

/// The part of the store that a watcher has been told of.
struct Known {
    prefix: String,
    birth: String,
    revision: u64,
    /// The revisions of the entries in the list. It was not read in one step.
    listed: BTreeMap<String, u64>,
    /// Whether a change after the list was published. An older one is of other data then.
    live: bool,
}

/// A change as it is published.
struct Published {
    revision: u64,
    change: Change,
}

/// Feeds a watcher until it goes.
pub(super) async fn run(shared: Arc<Shared>, prefix: String, to: Sender<Change>) {
    loop {
        // A watcher that is too slow has to make room first, and no list waits for it in memory.
        let Ok(place) = to.reserve().await else { return };
        let stop = tokio::select! {
            stop = follow(&shared, &prefix, &to, place) => stop,
            () = to.closed() => return,
        };
        if matches!(stop, Ok(Stop::Gone)) {
            return;
        }
        time::sleep(AGAIN).await;
    }
}

async fn follow(
    shared: &Shared,
    prefix: &str,
    to: &Sender<Change>,
    place: tokio::sync::mpsc::Permit<'_, Change>,
) -> Result<Stop, StoreError> {
    // It subscribes first, so that no change lies between the list and the first publication.
    let channel = shared.server.subscribe(&shared.channel()).await?;
    let mut messages = channel.into_on_message();
    let list = shared.list(prefix).await?;
    let listed = list
        .entries
        .iter()
        .map(|(key, entry)| (key.clone(), entry.revision))
        .collect();
    let mut known = Known {
        prefix: prefix.into(),
        birth: list.birth,
        revision: list.revision,
        listed,
        live: false,
    };
    place.send(Change::Reset(list.entries));
    let mut sweep = time::interval(SWEEP);
    sweep.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    let mut promised = known.revision;
    loop {
        let message = tokio::select! {
            message = messages.next() => message,
            _ = sweep.tick() => {
                // All that was there a second ago has been published a second ago.
                if known.revision < promised {
                    return Ok(Stop::Missed);
                }
                let (birth, revision) = shared.sweep(prefix).await?;
                if birth != known.birth || revision < known.revision {
                    return Ok(Stop::Missed);
                }
                promised = revision;
                continue;
            }
        };
        let Some(published) = message.and_then(|it| parse(it.get_payload_bytes())) else {
            return Ok(Stop::Missed);
        };
        if let Err(stop) = take(&mut known, published, to) {
            return Ok(stop);
        }
    }
}

fn take(known: &mut Known, published: Published, to: &Sender<Change>) -> Result<(), Stop> {
    let Published { revision, change } = published;
    if revision <= known.revision && !known.live {
        // It was published before the list was read.
        return Ok(());
    }
    known.live = true;
    if revision != known.revision + 1 {
        return Err(Stop::Missed);
    }
    known.revision = revision;
    let (key, listed) = match &change {
        Change::Put(key, _) | Change::Deleted(key) => (key, known.listed.get(key)),
        Change::Reset(_) => return Err(Stop::Missed),
    };
    if !key.starts_with(&known.prefix) || listed.is_some_and(|listed| *listed >= revision) {
        return Ok(());
    }
    known.listed.remove(key);
    hand(to, change)
}

/// A message is the revision, `P` or `D`, the length of the key, the key and the value.
fn parse(message: &[u8]) -> Option<Published> {
    let mut parts = message.splitn(4, |byte| *byte == b' ');
    let mut word = || str::from_utf8(parts.next()?).ok();
    let revision = word()?.parse().ok()?;
    let operation = word()?;
    let length = word()?.parse().ok()?;
    let (key, value) = parts.next()?.split_at_checked(length)?;
    let key = str::from_utf8(key).ok()?.to_owned();
    let change = match operation {
        "P" => Change::Put(
            key,
            Entry {
                value: Bytes::copy_from_slice(value),
                revision,
            },
        ),
        "D" => Change::Deleted(key),
        _ => return None,
    };
    Some(Published { revision, change })
}
