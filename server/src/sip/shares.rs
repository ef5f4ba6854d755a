//! The share of each proxy in the requests that wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many datagrams of one address may wait. A proxy has one of each of its processes on the way.
pub(super) const SHARE_MAX: usize = 128;

/// The requests that wait, by the address of their proxy. Only addresses of which some wait are
/// kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// The place of a request, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    shares: Shares,
    proxy: IpAddr,
}

impl Shares {
    /// A place for a request of this proxy; `None` if it has as many as it may have.
    pub(super) fn take(&self, proxy: IpAddr) -> Option<Share> {
        let mut waiting = self.waiting();
        let count = waiting.entry(proxy).or_default();
        if *count == SHARE_MAX {
            return None;
        }
        *count += 1;
        drop(waiting);
        let shares = self.clone();
        Some(Share { shares, proxy })
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut waiting = self.shares.waiting();
        if let Some(count) = waiting.get_mut(&self.proxy) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.proxy);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_has_its_share_and_leaves_nothing_behind() {
        let shares = Shares::default();
        let [one, other] = [1, 2].map(|end| IpAddr::from([192, 0, 2, end]));
        let mut taken: Vec<_> = (0..SHARE_MAX).map(|_| shares.take(one).unwrap()).collect();
        assert!(shares.take(one).is_none());
        let of_other = shares.take(other).unwrap();
        taken.pop();
        taken.push(shares.take(one).unwrap());
        drop((taken, of_other));
        assert!(shares.waiting().is_empty());
    }
}
