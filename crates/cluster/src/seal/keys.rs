//! The keys of a cluster, which all of its controllers have and its media nodes do not.

use std::fmt;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::error::Unspecified;
use zeroize::Zeroizing;

use crate::limits::SEAL_KEYS_MAX;

pub(super) const KEY_ID_LEN: usize = 8;

const KEY_LEN: usize = 32;

/// A key with fewer different bytes is refused, as it was made by hand: of 10^15 random keys, one
/// has so few.
const DIFFERENT_BYTES_MIN: usize = 16;

/// `openssl rand -base64 32` pads, and other programs do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The keys of a cluster. The first seals and all open, so that a new key can be put in front while
/// there still are blobs of the last one.
pub struct SealKeys {
    first: SealKey,
    others: Vec<SealKey>,
}

impl fmt::Debug for SealKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKeys")
    }
}

impl SealKeys {
    /// Reads the keys of a file: one of 32 bytes in each line, in base64 or in hexadecimal. A `#`
    /// begins a comment.
    ///
    /// Errors: a line is something else, a key comes twice, or there are none or too many. An error
    /// shows nothing of the text.
    pub fn parse(text: &str) -> Result<Self, SealKeysError> {
        let mut keys: Vec<SealKey> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if keys.len() == SEAL_KEYS_MAX {
                return Err(SealKeysError::TooMany);
            }
            let number = number + 1;
            let bytes = read_key(line).ok_or(SealKeysError::Form(number))?;
            if is_weak(&bytes) {
                return Err(SealKeysError::Weak(number));
            }
            let key = SealKey::new(&bytes).ok_or(SealKeysError::Form(number))?;
            if keys.iter().any(|other| other.id == key.id) {
                return Err(SealKeysError::Repeated(number));
            }
            keys.push(key);
        }
        let mut keys = keys.into_iter();
        Ok(Self {
            first: keys.next().ok_or(SealKeysError::Empty)?,
            others: keys.collect(),
        })
    }

    pub(super) fn first(&self) -> &SealKey {
        &self.first
    }

    /// The key that blobs name so.
    pub(super) fn of(&self, id: &[u8; KEY_ID_LEN]) -> Option<&SealKey> {
        self.all().find(|key| key.id == *id)
    }

    /// The names of the keys, in their order.
    pub(super) fn ids(&self) -> impl Iterator<Item = [u8; KEY_ID_LEN]> {
        self.all().map(SealKey::id)
    }

    fn all(&self) -> impl Iterator<Item = &SealKey> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// One key, and the name that it has in blobs.
pub(super) struct SealKey {
    id: [u8; KEY_ID_LEN],
    aead: LessSafeKey,
}

impl SealKey {
    fn new(bytes: &[u8; KEY_LEN]) -> Option<Self> {
        let hash = digest(&SHA256, bytes);
        Some(Self {
            id: *hash.as_ref().first_chunk()?,
            aead: LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes).ok()?),
        })
    }

    pub(super) fn id(&self) -> [u8; KEY_ID_LEN] {
        self.id
    }

    /// Encrypts the content in its place, and returns the tag.
    pub(super) fn seal(&self, nonce: Nonce, associated: Aad<Vec<u8>>, content: &mut [u8]) -> Result<Tag, Unspecified> {
        self.aead.seal_in_place_separate_tag(nonce, associated, content)
    }

    /// Decrypts in place: the bytes before the tag, whose number is returned. `None` if the tag is
    /// not that of the rest.
    pub(super) fn open(&self, nonce: Nonce, associated: Aad<Vec<u8>>, sealed: &mut [u8]) -> Option<usize> {
        let content = self.aead.open_in_place(nonce, associated, sealed).ok()?;
        Some(content.len())
    }
}

fn read_key(text: &str) -> Option<Zeroizing<[u8; KEY_LEN]>> {
    let mut key = Zeroizing::new([0; KEY_LEN]);
    if text.len() == 2 * KEY_LEN {
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(digit(digits[0])? << 4 | digit(digits[1])?).ok()?;
        }
        return Some(key);
    }
    // Longer ones do not fit, and are an error.
    let mut bytes = Zeroizing::new([0; KEY_LEN + 3]);
    let len = BASE64.decode_slice(text, bytes.as_mut_slice()).ok()?;
    let bytes = bytes.get(..len)?.first_chunk().filter(|_| len == KEY_LEN)?;
    *key = *bytes;
    Some(key)
}

fn is_weak(key: &[u8; KEY_LEN]) -> bool {
    let mut bytes = Zeroizing::new(*key);
    bytes.sort_unstable();
    let different = 1 + bytes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    different < DIFFERENT_BYTES_MIN
}

/// Why a text has no keys of a cluster. The numbers are those of lines, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealKeysError {
    /// There is no key.
    Empty,
    /// There are more than [`SEAL_KEYS_MAX`] keys.
    TooMany,
    /// A line is no key.
    Form(usize),
    /// A key is the same as an earlier one.
    Repeated(usize),
    /// A key is not random.
    Weak(usize),
}

impl fmt::Display for SealKeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is no key: `openssl rand -base64 32` makes one"),
            Self::TooMany => write!(f, "there are more than {SEAL_KEYS_MAX} keys: remove the oldest"),
            Self::Form(line) => write!(
                f,
                "line {line}: a key has {KEY_LEN} bytes in base64 or hexadecimal, as `openssl rand -base64 32` makes it"
            ),
            Self::Repeated(line) => write!(f, "line {line}: the key is there already"),
            Self::Weak(line) => write!(
                f,
                "line {line}: the key is not random: `openssl rand -base64 32` makes one"
            ),
        }
    }
}

impl std::error::Error for SealKeysError {}
