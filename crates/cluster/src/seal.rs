//! Seals the parts of a room's snapshot, because they lie with media nodes, which must not read
//! them.
//!
//! A blob is a version (1 byte), the id of the key (8), the nonce (12), the content under
//! AES-256-GCM and the tag (16). The tag covers the version, the name of the room and the name of
//! the part as well. So a node can neither change a blob nor give it back as another part or as a
//! part of another room. It can give back an older blob of the same part, or none.
//!
//! A nonce is a random prefix of 64 bits and a counter of 32 (NIST SP 800-38D section 8.2.1). Each
//! process draws a prefix, and another one after 2^32 blobs. Two of 65,536 prefixes are equal with
//! a probability of 2^-33, so a key is good for as many starts of controllers. Random nonces of 96
//! bits would have the same probability after 2^32 blobs, which a large cluster seals within weeks.
//! The content under one key should stay below 2^48 blocks, 4 PiB, for a like margin of the cipher.

mod keys;
mod shared;

use std::fmt;

use environment::Random;
use ring::aead::{Aad, NONCE_LEN, Nonce};
use zeroize::Zeroizing;

use crate::limits::PART_LEN_MAX;
use keys::KEY_ID_LEN;
pub use keys::{SealKeys, SealKeysError};
pub use shared::SharedSealKeys;

/// The only version that there is.
const VERSION: u8 = 1;

const TAG_LEN: usize = 16;
const PREFIX_LEN: usize = 8;
const HEADER_LEN: usize = 1 + KEY_ID_LEN + NONCE_LEN;

/// Bytes that a blob has beside its content.
pub const SEAL_COST: usize = HEADER_LEN + TAG_LEN;

/// Seals parts with the first key of a cluster, and opens those of any of its keys.
pub struct Sealer {
    keys: SharedSealKeys,
    random: Random,
    prefix: [u8; PREFIX_LEN],
    sealed: u32,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

impl Sealer {
    /// A sealer for one process. No other may have the same random numbers: two blobs with one
    /// nonce can be read and forged.
    pub fn new(keys: impl Into<SharedSealKeys>, mut random: Random) -> Self {
        let prefix = random.bytes();
        Self {
            keys: keys.into(),
            random,
            prefix,
            sealed: 0,
        }
    }

    /// Seals a part of a room's snapshot.
    ///
    /// Shape: the blob is [`SEAL_COST`] bytes longer than the content.
    /// Errors: the blob would be longer than nodes keep.
    pub fn seal(&mut self, room: &str, part: &str, content: &[u8]) -> Result<Vec<u8>, LongContent> {
        let len = content.len() + SEAL_COST;
        if len > PART_LEN_MAX {
            return Err(LongContent(content.len()));
        }
        let nonce = self.next_nonce();
        let keys = self.keys.current();
        let key = keys.first();
        let mut blob = Vec::with_capacity(len);
        blob.push(VERSION);
        blob.extend(key.id());
        blob.extend(nonce);
        blob.extend(content);
        let nonce = Nonce::assume_unique_for_key(nonce);
        // The cipher takes 64 GiB, so only the length checked above can be too much.
        let tag = key.seal(nonce, associated(room, part), &mut blob[HEADER_LEN..]);
        blob.extend(tag.map_err(|_| LongContent(content.len()))?.as_ref());
        Ok(blob)
    }

    /// Opens a part of a room's snapshot that a node gave back.
    ///
    /// Errors: it is none of this room, this part and these keys, or was changed.
    pub fn open(&self, room: &str, part: &str, blob: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        if blob.len() > PART_LEN_MAX {
            return Err(OpenError::Long);
        }
        match blob.first() {
            None => return Err(OpenError::Truncated),
            Some(&VERSION) => {}
            Some(other) => return Err(OpenError::Version(*other)),
        }
        let truncated = OpenError::Truncated;
        let (id, rest) = blob[1..].split_first_chunk::<KEY_ID_LEN>().ok_or(truncated)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or(truncated)?;
        if sealed.len() < TAG_LEN {
            return Err(truncated);
        }
        let keys = self.keys.current();
        let key = keys.of(id).ok_or(OpenError::UnknownKey)?;
        let mut content = Zeroizing::new(sealed.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let len = key.open(nonce, associated(room, part), &mut content);
        content.truncate(len.ok_or(OpenError::Altered)?);
        Ok(content)
    }

    fn next_nonce(&mut self) -> [u8; NONCE_LEN] {
        let mut nonce = [0; NONCE_LEN];
        nonce[..PREFIX_LEN].copy_from_slice(&self.prefix);
        nonce[PREFIX_LEN..].copy_from_slice(&self.sealed.to_be_bytes());
        match self.sealed.checked_add(1) {
            Some(sealed) => self.sealed = sealed,
            None => (self.prefix, self.sealed) = (self.random.bytes(), 0),
        }
        nonce
    }
}

/// Everything that a blob is bound to. The length of the room's name keeps the names apart.
fn associated(room: &str, part: &str) -> Aad<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1 + 8 + room.len() + part.len());
    bytes.push(VERSION);
    bytes.extend((room.len() as u64).to_be_bytes());
    bytes.extend(room.as_bytes());
    bytes.extend(part.as_bytes());
    Aad::from(bytes)
}

/// The content of a part is longer than nodes keep. Its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongContent(pub usize);

impl fmt::Display for LongContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = PART_LEN_MAX - SEAL_COST;
        write!(f, "a part of a room has {} bytes, and nodes keep {most}", self.0)
    }
}

impl std::error::Error for LongContent {}

/// Why a part of a room's snapshot cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// It is longer than any part.
    Long,
    /// It is shorter than any part.
    Truncated,
    /// It has this version, which is not known here.
    Version(u8),
    /// It is sealed with a key that is not known here.
    UnknownKey,
    /// It was changed, or sealed for another room or another part.
    Altered,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long => f.write_str("it is longer than a part may be"),
            Self::Truncated => f.write_str("a piece of it is missing"),
            Self::Version(version) => write!(f, "it has version {version}, and {VERSION} is known"),
            Self::UnknownKey => f.write_str("it is sealed with a key that `cluster.secrets` does not have"),
            Self::Altered => f.write_str("it was changed, or is another part or of another room"),
        }
    }
}

impl std::error::Error for OpenError {}

#[cfg(test)]
mod tests;
