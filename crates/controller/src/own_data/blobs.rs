//! Data blobs that a participant stores.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::limits::{BLOB_BYTES_MAX, BLOBS_MAX};
use crate::{Blob, BlobKey};

/// The data blobs of one participant.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    stored: BTreeMap<BlobKey, Bytes>,
    /// Keys and contents together.
    bytes: usize,
}

impl Blobs {
    /// Keys and contents together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The content of the one with this key.
    pub(crate) fn get(&self, key: &BlobKey) -> Option<&Bytes> {
        self.stored.get(key)
    }

    /// Each with its content.
    pub(crate) fn all(&self) -> impl Iterator<Item = (BlobKey, Vec<u8>)> {
        let stored = self.stored.iter();
        stored.map(|(key, contents)| (key.clone(), contents.to_vec()))
    }

    /// Stores these; `false` if it is too much.
    pub(crate) fn restore(&mut self, blobs: Vec<(BlobKey, Vec<u8>)>) -> bool {
        let mut blobs = blobs.into_iter();
        blobs.all(|(key, contents)| {
            let contents = Bytes::from(contents);
            self.store(&Blob { key, contents })
        })
    }

    /// Stores a blob in place of the one with its key; `false` if it is too much.
    pub(crate) fn store(&mut self, blob: &Blob) -> bool {
        let replaced = self.stored.get(&blob.key);
        let (number, freed) = match replaced {
            Some(contents) => (self.stored.len(), blob.key.len() + contents.len()),
            None => (self.stored.len() + 1, 0),
        };
        let bytes = self.bytes - freed + blob.len();
        let fits = bytes <= BLOB_BYTES_MAX && number <= BLOBS_MAX;
        if fits {
            self.bytes = bytes;
            self.stored.insert(blob.key.clone(), blob.contents.clone());
        }
        fits
    }
}
