//! AES in Galois/counter mode, by the fastest implementation this processor can run.
//!
//! A [`Key`] seals and opens messages in place. On x86-64 with AVX-512, VAES and VPCLMULQDQ it is
//! the code of this crate; elsewhere, and where [`use_ring_only`] was called, it is `ring`.
//!
//! Source: NIST SP 800-38D.

#![deny(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod wide;

use std::sync::atomic::{AtomicBool, Ordering};

use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, UnboundKey};

#[cfg(target_arch = "x86_64")]
use wide::Wide;

/// Bytes of a tag.
pub const TAG: usize = 16;

/// A nonce of 96 bits: the lower ones of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce(pub u128);

static RING_ONLY: AtomicBool = AtomicBool::new(false);

/// Makes every key that this process expands from now on one of `ring`'s.
pub fn use_ring_only() {
    RING_ONLY.store(true, Ordering::Relaxed);
}

/// One key, expanded, of 128 or 256 bits.
///
/// Panics when a key is neither 16 nor 32 bytes long, or a message longer than GCM allows (64 GiB):
/// neither comes from a packet.
pub struct Key(Expanded);

enum Expanded {
    /// `ring` has the fastest implementation we measured that runs everywhere. It does not wipe its
    /// expanded keys when they are dropped.
    Ring(LessSafeKey),
    /// This crate's, where the processor has the instructions for it.
    #[cfg(target_arch = "x86_64")]
    Wide128(Wide<10>),
    #[cfg(target_arch = "x86_64")]
    Wide256(Wide<14>),
}

impl Key {
    /// Expands a key of 16 or 32 bytes.
    pub fn new(key: &[u8]) -> Self {
        if RING_ONLY.load(Ordering::Relaxed) {
            return Self::with_ring(key);
        }
        Self::wide(key).unwrap_or_else(|| Self::with_ring(key))
    }

    #[cfg(target_arch = "x86_64")]
    fn wide(key: &[u8]) -> Option<Self> {
        let expanded = match key.len() {
            16 => Wide::new(key).map(Expanded::Wide128),
            _ => Wide::new(key).map(Expanded::Wide256),
        };
        expanded.map(Self)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn wide(_: &[u8]) -> Option<Self> {
        None
    }

    /// Expands a key of 16 or 32 bytes for `ring`.
    pub fn with_ring(key: &[u8]) -> Self {
        let key = UnboundKey::new(algorithm(key.len()), key).expect("the algorithm's own key length");
        Self(Expanded::Ring(LessSafeKey::new(key)))
    }

    /// Encrypts `text` in place and returns the tag of it and of `clear`.
    #[inline]
    pub fn seal(&self, nonce: Nonce, clear: &[u8], text: &mut [u8]) -> [u8; TAG] {
        match &self.0 {
            Expanded::Ring(key) => {
                let tag = key.seal_in_place_separate_tag(nonce.ring(), Aad::from(clear), text);
                let tag = tag.expect("a datagram is far below GCM's limit of 64 GiB");
                tag.as_ref().try_into().expect("a tag is sixteen bytes")
            }
            #[cfg(target_arch = "x86_64")]
            Expanded::Wide128(key) => key.seal(nonce, clear, text),
            #[cfg(target_arch = "x86_64")]
            Expanded::Wide256(key) => key.seal(nonce, clear, text),
        }
    }

    /// Decrypts in place the text before the tag that `sealed` ends with, and returns its length.
    ///
    /// `None` means that the tag is not that of the text and of `clear`; the bytes are then
    /// unspecified.
    pub fn open(&self, nonce: Nonce, clear: &[u8], sealed: &mut [u8]) -> Option<usize> {
        match &self.0 {
            Expanded::Ring(key) => {
                let text = key.open_in_place(nonce.ring(), Aad::from(clear), sealed).ok()?;
                Some(text.len())
            }
            #[cfg(target_arch = "x86_64")]
            Expanded::Wide128(key) => open(|text, tag| key.open(nonce, clear, text, tag), sealed),
            #[cfg(target_arch = "x86_64")]
            Expanded::Wide256(key) => open(|text, tag| key.open(nonce, clear, text, tag), sealed),
        }
    }
}

impl Nonce {
    fn ring(self) -> ring::aead::Nonce {
        let [_, _, _, _, nonce @ ..] = self.0.to_be_bytes();
        ring::aead::Nonce::assume_unique_for_key(nonce)
    }
}

#[cfg(target_arch = "x86_64")]
fn open(opens: impl FnOnce(&mut [u8], &[u8; TAG]) -> bool, sealed: &mut [u8]) -> Option<usize> {
    let (text, tag) = sealed.split_last_chunk_mut()?;
    opens(text, tag).then_some(text.len())
}

fn algorithm(key_len: usize) -> &'static Algorithm {
    match key_len {
        16 => &AES_128_GCM,
        32 => &AES_256_GCM,
        _ => panic!("no profile has keys of {key_len} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 16),
            prop::collection::vec(any::<u8>(), 32)
        ]
    }

    #[test]
    fn every_length_is_sealed_as_ring_seals_it() {
        let key = [0x5e; 32];
        let bytes: Vec<u8> = (0..1_600).map(|i| (i * i) as u8).collect();
        let nonce = Nonce(0x0102_0304_0506_0708_090a_0b0c);
        for key in [Key::new(&key[..16]), Key::new(&key)]
            .iter()
            .zip([Key::with_ring(&key[..16]), Key::with_ring(&key)])
        {
            for len in 0..bytes.len() {
                let clear = &bytes[..len % 200];
                let (mut ours, mut rings) = (bytes[..len].to_vec(), bytes[..len].to_vec());
                let tags = (
                    key.0.seal(nonce, clear, &mut ours),
                    key.1.seal(nonce, clear, &mut rings),
                );
                assert_eq!(tags.0, tags.1, "{len}");
                assert_eq!(ours, rings, "{len}");
            }
        }
    }

    proptest! {
        #[test]
        fn ring_opens_what_is_sealed_and_the_reverse(
            key in keys(),
            nonce in 0..1u128 << 96,
            clear in prop::collection::vec(any::<u8>(), 0..300),
            text in prop::collection::vec(any::<u8>(), 0..2_000),
        ) {
            let (ours, rings) = (Key::new(&key), Key::with_ring(&key));
            for (seals, opens) in [(&ours, &rings), (&rings, &ours)] {
                let mut sealed = text.clone();
                let tag = seals.seal(Nonce(nonce), &clear, &mut sealed);
                sealed.extend(tag);
                prop_assert_eq!(opens.open(Nonce(nonce), &clear, &mut sealed), Some(text.len()));
                prop_assert_eq!(&sealed[..text.len()], &text);
            }
        }

        #[test]
        fn one_wrong_bit_anywhere_is_noticed(
            key in keys(),
            clear in prop::collection::vec(any::<u8>(), 0..40),
            text in prop::collection::vec(any::<u8>(), 0..600),
            at: prop::sample::Index,
            bit in 0u8..8,
        ) {
            let key = Key::new(&key);
            let mut sealed = text.clone();
            let tag = key.seal(Nonce(7), &clear, &mut sealed);
            let whole = [&clear[..], &sealed, &tag].concat();
            let mut wrong = whole.clone();
            wrong[at.index(whole.len())] ^= 1 << bit;
            let (clear, sealed) = wrong.split_at_mut(clear.len());
            prop_assert_eq!(key.open(Nonce(7), clear, sealed), None);
        }

        #[test]
        fn a_message_shorter_than_a_tag_is_not_opened(key in keys(), sealed in prop::collection::vec(any::<u8>(), 0..16)) {
            let mut sealed = sealed;
            prop_assert_eq!(Key::new(&key).open(Nonce(7), &[], &mut sealed), None);
        }
    }
}
