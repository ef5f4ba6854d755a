//! Connections to other controllers that wait for the next request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connection::Connection;
use crate::os::clock;

/// Connections that wait, for each controller. One more is closed.
const IDLE_MAX: usize = 32;

/// How long a connection waits for a request. The other end waits longer, so that it does not close
/// a connection while a request is on its way.
const IDLE_LIFE: Duration = Duration::from_secs(4);

/// Controllers that are known. At the limit all are forgotten, with the connections that wait.
const ADDRESSES_MAX: usize = 256;

/// How long the body of an answer may keep its connection from waiting for the next request.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Connections that are opened at once to one controller, so that those who lost another one at the
/// same time do not exceed what it takes. The rest waits.
const OPENING_MAX: usize = 64;

/// The connections that wait. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool(Arc<Mutex<HashMap<String, Controller>>>);

/// The connections of one controller.
#[derive(Debug)]
struct Controller {
    idle: Vec<Idle>,
    opening: Arc<Semaphore>,
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Instant,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            idle: Vec::new(),
            opening: Arc::new(Semaphore::new(OPENING_MAX)),
        }
    }
}

impl Pool {
    /// A connection to the controller at an address, if one waits.
    pub(super) fn take(&self, address: &str) -> Option<Connection> {
        let mut controllers = self.controllers();
        let idle = &mut controllers.get_mut(address)?.idle;
        let now = clock::now();
        let is_usable = |idle: &Idle| now < idle.since + IDLE_LIFE && idle.connection.is_ready();
        let found = std::iter::from_fn(|| idle.pop()).find(is_usable);
        found.map(|idle| idle.connection)
    }

    /// Waits for the turn to open a connection to the controller at an address.
    pub(super) async fn turn(&self, address: &str) -> Option<OwnedSemaphorePermit> {
        let opening = self.with(address, |controller| controller.opening.clone());
        opening.acquire_owned().await.ok()
    }

    /// Has a connection wait for the next request once the answer to the last one is read.
    pub(super) fn give_back(&self, address: &str, mut connection: Connection) {
        let (pool, address) = (self.clone(), address.to_owned());
        tokio::spawn(async move {
            if !matches!(timeout(ANSWER_MAX, connection.ready()).await, Ok(true)) {
                return;
            }
            let since = clock::now();
            pool.with(&address, |controller| {
                if controller.idle.len() < IDLE_MAX {
                    controller.idle.push(Idle { connection, since });
                }
            });
            // Nobody may ask for it again.
            tokio::time::sleep(IDLE_LIFE).await;
            let is_young = |idle: &Idle| clock::now() < idle.since + IDLE_LIFE;
            pool.with(&address, |controller| controller.idle.retain(is_young));
        });
    }

    fn with<T>(&self, address: &str, change: impl FnOnce(&mut Controller) -> T) -> T {
        let mut controllers = self.controllers();
        if controllers.len() >= ADDRESSES_MAX && !controllers.contains_key(address) {
            controllers.clear();
        }
        change(controllers.entry(address.to_owned()).or_default())
    }

    fn controllers(&self) -> MutexGuard<'_, HashMap<String, Controller>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
