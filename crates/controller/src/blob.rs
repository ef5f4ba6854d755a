//! Data blobs: bytes that a participant stores at the server and others read by their key.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::DataSchema;

/// A data blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Its key, of which a participant has one blob.
    pub key: BlobKey,
    /// Its content.
    pub contents: Bytes,
}

impl Blob {
    /// Bytes it counts by the limits.
    pub(crate) fn len(&self) -> usize {
        self.key.len() + self.contents.len()
    }
}

/// The key of a data blob.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BlobKey {
    /// A name of the application's.
    Generic(String),
    /// A schema of data tracks, whose definition the blob is.
    Schema(DataSchema),
}

impl BlobKey {
    /// Bytes of its texts.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Generic(name) => name.len(),
            Self::Schema(schema) => schema.len(),
        }
    }
}
