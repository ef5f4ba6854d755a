//! AES in f8 mode, which some telephones offer.
//!
//! Each block of keystream is made of the one before, so this is slower than counter mode and
//! cannot be otherwise.
//!
//! Source: RFC 3711 section 4.1.2.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

const BLOCK: usize = 16;
/// Stands behind the salt in the mask of the key.
const MASK_FILL: u8 = 0x55;

/// The key of one direction and one protocol.
pub(super) struct F8 {
    aes: Aes128,
    /// Encrypts the IV: the key under the mask that the salt makes.
    masked: Aes128,
}

impl F8 {
    /// Panics when `salt` is longer than the key.
    pub(super) fn new(key: &[u8; BLOCK], salt: &[u8]) -> Self {
        let mut masked = key.map(|byte| byte ^ MASK_FILL);
        for ((masked, key), salt) in masked[..salt.len()].iter_mut().zip(key).zip(salt) {
            *masked = key ^ salt;
        }
        Self {
            aes: Aes128::new(&(*key).into()),
            masked: Aes128::new(&masked.into()),
        }
    }

    /// Encrypts or decrypts `text` in place.
    pub(super) fn apply_keystream(&self, iv: [u8; BLOCK], text: &mut [u8]) {
        let mut first = Array::from(iv);
        self.masked.encrypt_block(&mut first);
        let mut keystream = Array::from([0; BLOCK]);
        for (text, number) in text.chunks_mut(BLOCK).zip(0_u128..) {
            let counted = first.iter().zip(number.to_be_bytes());
            for (byte, (first, number)) in keystream.iter_mut().zip(counted) {
                *byte ^= first ^ number;
            }
            self.aes.encrypt_block(&mut keystream);
            text.iter_mut().zip(&keystream).for_each(|(text, key)| *text ^= key);
        }
    }
}

/// The IV of an RTP packet: its header without the first byte, and its rollover counter.
///
/// Source: RFC 3711 section 4.1.2.2.
pub(super) fn rtp_iv(header: &[u8; 12], rollovers: u32) -> [u8; BLOCK] {
    let mut iv = [0; BLOCK];
    iv[1..12].copy_from_slice(&header[1..]);
    iv[12..].copy_from_slice(&rollovers.to_be_bytes());
    iv
}

/// The IV of an RTCP packet: its index word, and what it has in clear.
///
/// Source: RFC 3711 section 4.1.2.3.
pub(super) fn rtcp_iv(clear: &[u8; 8], word: [u8; 4]) -> [u8; BLOCK] {
    let mut iv = [0; BLOCK];
    iv[4..8].copy_from_slice(&word);
    iv[8..].copy_from_slice(clear);
    iv
}

#[cfg(test)]
mod tests {
    use super::super::tests::unhex;
    use super::*;

    #[test]
    fn a_packet_is_encrypted_as_in_rfc_3711_b1() {
        let key = unhex("234829008467be186c3de14aae72d62c").try_into().unwrap();
        let header = unhex("806e5cba50681de55c621599").try_into().unwrap();
        let mut text = b"pseudorandomness is the next best thing".to_vec();
        let f8 = F8::new(&key, &unhex("32f2870d"));
        f8.apply_keystream(rtp_iv(&header, 0xd462_564a), &mut text);
        let expected = "019ce7a26e7854014a6366aa95d4eefd1ad4172a14f9faf455b7f1d4b62bd08f562c0eef7c4802";
        assert_eq!(text, unhex(expected));
    }
}
