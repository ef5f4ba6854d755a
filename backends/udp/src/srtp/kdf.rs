//! Session keys out of a master key.

use aes::cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit, KeyIvInit, StreamCipher, consts::U16};
use aes::{Aes128, Aes192, Aes256};
use dataplane::MasterKey;
use zeroize::Zeroize;

/// Which protocol a set of session keys protects; RTP and RTCP never share one.
#[derive(Clone, Copy)]
pub(super) enum Protocol {
    Rtp,
    Rtcp,
}

/// Encryption key, authentication key and salt of one direction and one protocol, zeroed when
/// dropped.
///
/// Shape: key and salt left-aligned, the rest of the room unused; the authentication key is used by
/// HMAC profiles only.
pub(super) struct SessionKeys {
    pub(super) key: [u8; 32],
    pub(super) auth: [u8; 20],
    pub(super) salt: [u8; 14],
}

impl SessionKeys {
    /// Derives the keys for `protocol`. The key derivation rate is zero: once, for the life of the
    /// master key.
    ///
    /// Source: RFC 3711 section 4.3; RFC 6188 section 3 for 192 and 256 bits; RFC 7714 section 11
    /// for the shorter salt.
    pub(super) fn derive(master: &MasterKey, protocol: Protocol) -> Self {
        let first_label = match protocol {
            Protocol::Rtp => 0,
            Protocol::Rtcp => 3,
        };
        // A 96-bit salt is padded to 112 bits with zeros on the right.
        let mut master_salt = [0; 14];
        master_salt[..master.salt().len()].copy_from_slice(master.salt());

        let mut keys = Self {
            key: [0; 32],
            auth: [0; 20],
            salt: [0; 14],
        };
        prf(
            master.key(),
            &master_salt,
            first_label,
            &mut keys.key[..master.key().len()],
        );
        prf(master.key(), &master_salt, first_label + 1, &mut keys.auth);
        prf(
            master.key(),
            &master_salt,
            first_label + 2,
            &mut keys.salt[..master.salt().len()],
        );
        master_salt.zeroize();
        keys
    }
}

impl Drop for SessionKeys {
    fn drop(&mut self) {
        self.key.zeroize();
        self.auth.zeroize();
        self.salt.zeroize();
    }
}

/// Fills `out` with the keystream of the master key at the block that `label` selects.
fn prf(master_key: &[u8], master_salt: &[u8; 14], label: u8, out: &mut [u8]) {
    let mut iv = [0; 16];
    iv[..14].copy_from_slice(master_salt);
    iv[7] ^= label;
    out.fill(0);
    match master_key.len() {
        16 => keystream::<Aes128>(master_key, &iv, out),
        24 => keystream::<Aes192>(master_key, &iv, out),
        32 => keystream::<Aes256>(master_key, &iv, out),
        other => unreachable!("no profile has a key of {other} bytes"),
    }
    iv.zeroize();
}

fn keystream<C>(key: &[u8], iv: &[u8; 16], out: &mut [u8])
where
    C: KeyInit + BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
{
    ctr::Ctr128BE::<C>::new_from_slices(key, iv)
        .expect("the length was matched to the cipher")
        .apply_keystream(out);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PROFILES, master, unhex};
    use super::*;

    fn derived(master_key: &str, master_salt: &str, label: u8, len: usize) -> Vec<u8> {
        let mut out = vec![0xff; len];
        prf(
            &unhex(master_key),
            &unhex(master_salt).try_into().unwrap(),
            label,
            &mut out,
        );
        out
    }

    #[test]
    fn aes_128_derives_the_keys_of_rfc_3711_b3() {
        let (key, salt) = ("e1f97a0d3e018be0d64fa32c06de4139", "0ec675ad498afeebb6960b3aabe6");
        assert_eq!(derived(key, salt, 0, 16), unhex("c61e7a93744f39ee10734afe3ff7a087"));
        assert_eq!(derived(key, salt, 2, 14), unhex("30cbbc08863d8c85d49db34a9ae1"));
        let auth = "cebe321f6ff7716b6fd4ab49af256a156d38baa48f0a0acf3c34e2359e6cdbcee049646c43d9327ad175578ef722709863\
                    71c10c9a369ac2f94a8c5fbcdddc256d6e919a48b610ef17c2041e474035766b68642c59bbfc2f34db60dbdfb2";
        assert_eq!(derived(key, salt, 1, 94), unhex(auth));
    }

    #[test]
    fn aes_256_derives_the_keys_of_rfc_6188_7_2() {
        let key = "f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6";
        let salt = "3b04803de51ee7c96423ab5b78d2";
        let cipher_key = "5ba1064e30ec51613cad926c5a28ef731ec7fb397f70a960653caf06554cd8c4";
        assert_eq!(derived(key, salt, 0, 32), unhex(cipher_key));
        assert_eq!(
            derived(key, salt, 1, 20),
            unhex("fd9c32d39ed5fbb5a9dc96b30818454d1313dc05")
        );
        assert_eq!(derived(key, salt, 2, 14), unhex("fa31791685ca444a9e07c6c64e93"));
    }

    #[test]
    fn aes_192_derives_the_keys_of_rfc_6188_7_4() {
        let key = "73edc66c4fa15776fb57f9505c17136550ffda71f3e8e5f1";
        let salt = "c8522f3acd4ce86d5add78edbb11";
        let cipher_key = "31874736a8f1143870c26e4857d8a5b2c4a354407faadabb";
        assert_eq!(derived(key, salt, 0, 24), unhex(cipher_key));
        assert_eq!(
            derived(key, salt, 1, 20),
            unhex("355b10973cd95b9eacf4061c7e1a7151e7cfbfcb")
        );
        assert_eq!(derived(key, salt, 2, 14), unhex("2372b82d639b6d8503a47adc0a6c"));
    }

    #[test]
    fn rtp_and_rtcp_never_share_a_key() {
        for profile in PROFILES {
            let rtp = SessionKeys::derive(&master(profile, 7), Protocol::Rtp);
            let rtcp = SessionKeys::derive(&master(profile, 7), Protocol::Rtcp);
            assert_ne!(rtp.key, rtcp.key);
            assert_ne!(rtp.auth, rtcp.auth);
            assert_ne!(rtp.salt, rtcp.salt);
        }
    }
}
