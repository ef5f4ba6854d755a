//! The machines that relay calls, as the store has them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use ::cluster::{MEDIA_PREFIX, MediaRecord, media_node};
use sip::limits::PEERS_MAX;
use southbound::NodeId;
use stores::{Change, Store};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;
use tracing::{debug, warn};

use super::{Context, RelayEvent, dial};

/// The pause before a watch begins again.
const RETRY: Duration = Duration::from_secs(1);

/// Follows the records, and keeps a connection to each machine. Does not end by itself.
pub(super) async fn follow(store: Arc<dyn Store>, context: Context) {
    let mut machines = Machines::new(context);
    loop {
        match store.watch(MEDIA_PREFIX).await {
            Ok(mut changes) => {
                while let Some(change) = changes.next().await {
                    machines.take(change).await;
                }
            }
            Err(error) => debug!(%error, "the store does not say which machines relay calls"),
        }
        sleep(RETRY).await;
    }
}

struct Machines {
    context: Context,
    /// The addresses that the store has.
    known: BTreeMap<NodeId, String>,
    dialers: HashMap<NodeId, Dialer>,
    tasks: JoinSet<()>,
}

struct Dialer {
    address: watch::Sender<Option<String>>,
    task: AbortHandle,
}

impl Machines {
    fn new(context: Context) -> Self {
        Self {
            context,
            known: BTreeMap::new(),
            dialers: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    async fn take(&mut self, change: Change) {
        let is_whole = matches!(change, Change::Reset(_));
        match change {
            Change::Put(key, entry) => self.put(&key, &entry.value),
            Change::Deleted(key) => {
                media_node(&key).map(|node| self.known.remove(&node));
            }
            Change::Reset(entries) => {
                self.known.clear();
                for (key, entry) in &entries {
                    self.put(key, &entry.value);
                }
            }
        }
        self.reconcile();
        if is_whole {
            let known = self.known.keys().copied().collect();
            // An error means that the process ends.
            let _ = self.context.events.send(RelayEvent::Known(known)).await;
        }
    }

    fn put(&mut self, key: &str, value: &[u8]) {
        let record = serde_json::from_slice::<MediaRecord>(value).ok();
        // Controllers log a record that cannot be read.
        let (Some(node), Some(record)) = (media_node(key), record) else {
            return;
        };
        if node == self.context.own {
            return;
        }
        if record.sip.is_empty() {
            self.known.remove(&node);
        } else if self.known.len() >= PEERS_MAX && !self.known.contains_key(&node) {
            warn!(
                name = record.name,
                "more than {PEERS_MAX} machines relay calls; this one is not asked for any"
            );
        } else {
            self.known.insert(node, record.sip);
        }
    }

    /// Has each known machine connected to. One without a record is left alone: its connection
    /// tells whether it is there.
    fn reconcile(&mut self) {
        for (node, dialer) in &self.dialers {
            let address = self.known.get(node).cloned();
            dialer.address.send_if_modified(|known| {
                let is_other = *known != address;
                *known = address;
                is_other
            });
        }
        let registry = &self.context.registry;
        self.dialers.retain(|node, dialer| {
            let is_kept = self.known.contains_key(node) || registry.is_linked(*node);
            if !is_kept {
                dialer.task.abort();
            }
            is_kept
        });
        while self.tasks.try_join_next().is_some() {}
        for (node, address) in &self.known {
            if self.dialers.contains_key(node) {
                continue;
            }
            let (address, followed) = watch::channel(Some(address.clone()));
            let task = self.tasks.spawn(dial::keep(*node, followed, self.context.clone()));
            self.dialers.insert(*node, Dialer { address, task });
        }
    }
}
