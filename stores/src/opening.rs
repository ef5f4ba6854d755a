//! The store that a configuration names.

use std::sync::Arc;

use crate::config::{Config, OpenError};
use crate::etcd::Etcd;
use crate::memory::Memory;
use crate::redis::Redis;
use crate::store::Store;

/// Makes the store of a configuration. It connects at the first call, so a store that is away is no
/// error.
///
/// Errors: [`OpenError`] where the configuration contradicts itself or names files that cannot be
/// read.
///
/// Panics outside of a tokio runtime.
pub fn open(config: &Config) -> Result<Arc<dyn Store>, OpenError> {
    Ok(match config {
        Config::Memory => Arc::new(Memory::timed()),
        Config::Etcd(config) => Arc::new(Etcd::new(config)?),
        Config::Redis(config) => Arc::new(Redis::new(config)?),
    })
}

/// Checks a configuration without making a store of it.
///
/// Errors: those of [`open`].
pub fn check(config: &Config) -> Result<(), OpenError> {
    match config {
        Config::Memory => Ok(()),
        Config::Etcd(config) => Etcd::new(config).map(drop),
        Config::Redis(config) => Redis::new(config).map(drop),
    }
}
