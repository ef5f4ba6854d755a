//! The store of a cluster: leases, claims, compare and swap, lists and watches.
//!
//! [`Store`] is the face, and [`open`] makes one from the configuration: in [`Memory`], in etcd or
//! in Redis. A store may lose what it acknowledged, as Redis does at a failover. So a claim alone
//! is no proof: whoever acts on one needs a fence of its own.

#![forbid(unsafe_code)]

mod config;
mod entry;
mod etcd;
mod memory;
mod opening;
mod redis;
mod store;
mod watch;

pub use config::{Config, EtcdConfig, OpenError, RedisConfig};
pub use entry::Entry;
pub use memory::{Faults, JOURNAL_MAX, Memory, WATCHES_MAX};
pub use opening::{check, open};
pub use store::{
    Claim, DEADLINE, KEY_MAX, LIST_BYTES_MAX, LIST_MAX, Lease, Store, StoreError, Swap, TTL_MAX, TTL_MIN, VALUE_MAX,
};
pub use watch::{CHANGES_MAX, Change, Watch};
