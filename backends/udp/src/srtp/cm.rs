//! AES in counter mode: the cipher that every SRTP peer has.
//!
//! AWS-LC's counter mode would be faster than RustCrypto's, by a tenth of what sealing takes: not
//! worth a second library.
//!
//! Source: RFC 3711 section 4.1.1; RFC 6188 for 192 and 256 bits.

use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, BlockSizeUser, InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper};
use aes::{Aes128, Aes192, Aes256};
use ctr::{CtrCore, flavors::Ctr128BE};

use super::packet::PacketId;

/// The key and the salt of one direction and one protocol.
pub(super) struct Cm {
    aes: Aes,
    salt: [u8; 14],
}

/// By the length of the key.
enum Aes {
    Of128(Aes128),
    Of192(Aes192),
    Of256(Aes256),
}

impl Aes {
    fn new(key: &[u8]) -> Self {
        const FITS: &str = "the length was matched to the cipher";
        match key.len() {
            16 => Self::Of128(Aes128::new_from_slice(key).expect(FITS)),
            24 => Self::Of192(Aes192::new_from_slice(key).expect(FITS)),
            32 => Self::Of256(Aes256::new_from_slice(key).expect(FITS)),
            other => unreachable!("no profile has a key of {other} bytes"),
        }
    }

    fn apply_keystream(&self, iv: &[u8; 16], text: &mut [u8]) {
        match self {
            Self::Of128(aes) => apply(aes, iv, text),
            Self::Of192(aes) => apply(aes, iv, text),
            Self::Of256(aes) => apply(aes, iv, text),
        }
    }
}

fn apply<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(aes: &C, iv: &[u8; 16], text: &mut [u8]) {
    let core = CtrCore::<&C, Ctr128BE>::inner_iv_init(aes, iv.into());
    StreamCipherCoreWrapper::from_core(core).apply_keystream(text);
}

impl Cm {
    /// Panics when `key` has not 16, 24 or 32 bytes.
    pub(super) fn new(key: &[u8], salt: [u8; 14]) -> Self {
        Self {
            aes: Aes::new(key),
            salt,
        }
    }

    /// The counter is the IV's last 16 bits and starts at zero; a datagram has at most 4,096
    /// blocks, so it never carries.
    pub(super) fn apply_keystream(&self, id: PacketId, text: &mut [u8]) {
        let mut iv = [0; 16];
        iv[..14].copy_from_slice(&self.salt);
        let ssrc = id.ssrc.to_be_bytes();
        let index = id.index.to_be_bytes();
        for (byte, value) in iv[4..14].iter_mut().zip(ssrc.iter().chain(&index[2..])) {
            *byte ^= value;
        }
        self.aes.apply_keystream(&iv, text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::unhex;
    use super::*;

    fn keystream(session_key: &str) -> Vec<u8> {
        let salt = unhex("f0f1f2f3f4f5f6f7f8f9fafbfcfd").try_into().unwrap();
        let mut text = vec![0; 48];
        Cm::new(&unhex(session_key), salt).apply_keystream(PacketId { ssrc: 0, index: 0 }, &mut text);
        text
    }

    #[test]
    fn the_keystream_is_that_of_rfc_3711_b2() {
        let expected =
            "e03ead0935c95e80e166b16dd92b4eb4d23513162b02d0f72a43a2fe4a5f97ab41e95b3bb0a2e8dd477901e4fca894c0";
        let session_key = "2b7e151628aed2a6abf7158809cf4f3c";
        assert_eq!(keystream(session_key), unhex(expected));
    }

    #[test]
    fn the_keystream_is_that_of_rfc_6188_7_1_with_256_bits() {
        let expected =
            "92bdd28a93c3f52511c677d08b5515a49da71b2378a854f67050756ded165bac63c4868b7096d88421b563b8c94c9a31";
        let session_key = "57f82fe3613fd170a85ec93c40b1f0922ec4cb0dc025b58272147cc438944a98";
        assert_eq!(keystream(session_key), unhex(expected));
    }

    #[test]
    fn the_keystream_is_that_of_rfc_6188_7_3_with_192_bits() {
        let expected =
            "35096cba4610028dc1b57503804ce37c5de986291dcce161d5165ec4568f5c9a474a40c77894bc17180202272a4c264d";
        let session_key = "eab234764e517b2d3d160d587d8c86219740f65f99b6bcf7";
        assert_eq!(keystream(session_key), unhex(expected));
    }
}
