//! The links that this media node makes to others, to the ports that controllers use as well.
//!
//! The thread of the node says which nodes it wants links to, and the records of media nodes in the
//! store have their addresses. The store may be away afterwards.

mod dial;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use ::cluster::{MEDIA_PREFIX, MediaRecord, media_node};
use southbound::NodeId;
use stores::{Change, Store};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;
use tracing::debug;

use super::tls::ClusterTls;
use crate::media::links::{LinkEnds, LinkEvent};
use crate::media::waker::Waker;

/// The pause before a watch begins again.
const RETRY: Duration = Duration::from_secs(1);

/// The most records of media nodes that are remembered, as controllers see no more of them.
const NODES_MAX: usize = 1_000;

/// The parts that links need. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Context {
    /// The certificate of this machine.
    pub tls: ClusterTls,
    /// The thread of the node.
    pub ends: LinkEnds,
    /// Wakes the thread of the node.
    pub waker: Waker,
}

/// The addresses of media nodes. Shape: `host:port`.
type Addresses = BTreeMap<NodeId, String>;

/// Keeps the links that are wanted until the returned tasks are dropped. None of them ends by
/// itself.
pub(crate) fn start(context: Context, store: Arc<dyn Store>) -> JoinSet<()> {
    let (addresses, followed) = watch::channel(Addresses::new());
    let mut tasks = JoinSet::new();
    tasks.spawn(follow(store, addresses));
    tasks.spawn(keep_all(context, followed));
    tasks
}

/// Follows the records of media nodes.
async fn follow(store: Arc<dyn Store>, addresses: watch::Sender<Addresses>) {
    loop {
        match store.watch(MEDIA_PREFIX).await {
            Ok(mut changes) => {
                while let Some(change) = changes.next().await {
                    addresses.send_modify(|addresses| apply(addresses, change));
                }
            }
            Err(error) => debug!(%error, "the store does not say where other media nodes are"),
        }
        sleep(RETRY).await;
    }
}

fn apply(addresses: &mut Addresses, change: Change) {
    match change {
        Change::Put(key, entry) => put(addresses, &key, &entry.value),
        Change::Deleted(key) => {
            media_node(&key).map(|node| addresses.remove(&node));
        }
        Change::Reset(entries) => {
            addresses.clear();
            for (key, entry) in &entries {
                put(addresses, key, &entry.value);
            }
        }
    }
}

fn put(addresses: &mut Addresses, key: &str, value: &[u8]) {
    let record = serde_json::from_slice::<MediaRecord>(value).ok();
    // Controllers log a record that cannot be read.
    if let (Some(node), Some(record)) = (media_node(key), record)
        && (addresses.len() < NODES_MAX || addresses.contains_key(&node))
    {
        addresses.insert(node, record.address);
    }
}

/// Makes the links that the thread wants, and ends the others.
async fn keep_all(context: Context, addresses: watch::Receiver<Addresses>) {
    let mut wanted = context.ends.wanted.clone();
    let mut dialers: HashMap<NodeId, AbortHandle> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let nodes = wanted.borrow_and_update().clone();
        let unwanted: Vec<_> = dialers.keys().filter(|node| !nodes.contains(node)).copied().collect();
        for node in unwanted {
            dialers.remove(&node).inspect(AbortHandle::abort);
            if context
                .ends
                .tell(LinkEvent::Failed(node), &context.waker)
                .await
                .is_err()
            {
                return;
            }
        }
        for node in nodes {
            dialers.entry(node).or_insert_with(|| {
                let dialer = dial::keep(node, addresses.clone(), context.clone());
                tasks.spawn(dialer)
            });
        }
        while tasks.try_join_next().is_some() {}
        if wanted.changed().await.is_err() {
            return;
        }
    }
}
