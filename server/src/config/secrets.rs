//! Secrets: their sources, and their protection from memory and log.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Deserialize;
use serde::de::Deserializer;
use zeroize::Zeroizing;

use super::ConfigError;

/// API keys and their secrets.
pub(crate) type Keys = BTreeMap<String, Secret>;

/// Readable by every account of the machine.
const WORLD_READABLE: u32 = 0o004;

/// A text that is overwritten when it is dropped, and not shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Zeroizing<String>);

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Secret(Zeroizing::new(text.to_owned()))
    }
}

impl Deref for Secret {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("...")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Secret(Zeroizing::new(text)))
    }
}

/// A file that may have secrets in it.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<String>, ConfigError> {
    std::fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(|error| ConfigError::Unreadable(path.display().to_string(), error))
}

/// A warning about a file with secrets that every account of the machine may read.
pub(crate) fn warn_of_readers(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let is_open = metadata.is_file() && metadata.mode() & WORLD_READABLE != 0;
    is_open.then(|| {
        format!(
            "{} has secrets in it, and everybody on this machine may read it: chmod 600",
            path.display()
        )
    })
}
