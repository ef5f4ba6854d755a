//! AES in counter mode with HMAC-SHA1: what every SRTP peer has.
//!
//! Three quarters of its time is SHA-1, for which RustCrypto's is the fastest we measured (`ring`'s takes over three
//! times as long). AWS-LC's counter mode would be faster than RustCrypto's, by a tenth of the whole: not worth a second library.
//!
//! Source: RFC 3711 sections 4.1.1 and 4.2.1.

use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, BlockSizeUser, InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper};
use aes::{Aes128, Aes192, Aes256};
use ctr::{CtrCore, flavors::Ctr128BE};
use dataplane::MasterKey;
use hmac::{Hmac, Mac};
use sha1::Sha1;

use super::kdf::{Protocol, SessionKeys};
use super::packet::{PacketId, RTCP_CLEAR, RtcpWord};

/// Bytes of tag behind an RTCP packet, whatever the suite.
const RTCP_TAG: usize = 10;
const WORD: usize = 4;

pub(super) struct Cm {
    aes: Aes,
    /// Already past the key's block, so that a packet pays for its own blocks only.
    mac: Hmac<Sha1>,
    salt: [u8; 14],
    /// Bytes of tag behind a packet of its protocol; 0 where the ends agreed on none.
    tag_len: u8,
    /// The ends agreed that packets of its protocol are not encrypted.
    is_clear: bool,
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
    pub(super) fn new(keys: &SessionKeys, master: &MasterKey, protocol: Protocol) -> Self {
        let (profile, parameters) = (master.profile(), master.parameters());
        let (tag_len, is_clear) = match protocol {
            Protocol::Rtp if parameters.unauthenticated_rtp => (0, parameters.unencrypted_rtp),
            Protocol::Rtp => (profile.rtp_tag_len(), parameters.unencrypted_rtp),
            Protocol::Rtcp => (RTCP_TAG, parameters.unencrypted_rtcp),
        };
        Self {
            aes: Aes::new(&keys.key[..profile.key_len()]),
            mac: Hmac::new_from_slice(&keys.auth).expect("HMAC takes a key of any length"),
            salt: keys.salt,
            tag_len: tag_len as u8,
            is_clear,
        }
    }

    pub(super) fn tag_len(&self) -> usize {
        usize::from(self.tag_len)
    }

    pub(super) fn seal_rtp(&self, id: PacketId, packet: &mut [u8], len: usize, header_len: usize) -> usize {
        if !self.is_clear {
            self.apply_keystream(id, &mut packet[header_len..len]);
        }
        let tag_len = self.tag_len();
        if tag_len == 0 {
            return len;
        }
        let (body, trailer) = packet.split_at_mut(len);
        let tag = self
            .mac_over(body, &id.rollovers().to_be_bytes())
            .finalize()
            .into_bytes();
        trailer[..tag_len].copy_from_slice(&tag[..tag_len]);
        len + tag_len
    }

    pub(super) fn open_rtp(&self, id: PacketId, packet: &mut [u8], header_len: usize) -> Option<usize> {
        let body_len = packet.len().checked_sub(self.tag_len())?;
        let (body, tag) = packet.split_at_mut(body_len);
        if header_len > body.len() {
            return None;
        }
        if !tag.is_empty() {
            self.mac_over(body, &id.rollovers().to_be_bytes())
                .verify_truncated_left(tag)
                .ok()?;
        }
        if !self.is_clear {
            self.apply_keystream(id, &mut body[header_len..]);
        }
        Some(body.len())
    }

    /// The word stands before the tag, so that the tag covers it where it is.
    pub(super) fn seal_rtcp(&self, ssrc: u32, index: u32, packet: &mut [u8], len: usize) -> usize {
        let word = if self.is_clear {
            RtcpWord::clear_with(index)
        } else {
            RtcpWord::encrypted_with(index)
        };
        if !self.is_clear {
            self.apply_keystream(rtcp_id(ssrc, word), &mut packet[RTCP_CLEAR..len]);
        }
        let (body, trailer) = packet.split_at_mut(len);
        let tag = self.mac_over(body, &word.0).finalize().into_bytes();
        trailer[..WORD].copy_from_slice(&word.0);
        trailer[WORD..WORD + RTCP_TAG].copy_from_slice(&tag[..RTCP_TAG]);
        len + WORD + RTCP_TAG
    }

    pub(super) fn open_rtcp(&self, ssrc: u32, packet: &mut [u8]) -> Option<usize> {
        let word = Self::rtcp_word(packet)?;
        let (covered, tag) = packet.split_last_chunk_mut::<RTCP_TAG>()?;
        self.mac_over(covered, &[]).verify_truncated_left(tag).ok()?;
        let len = covered.len() - WORD;
        if word.is_encrypted() {
            self.apply_keystream(rtcp_id(ssrc, word), &mut covered[RTCP_CLEAR..len]);
        }
        Some(len)
    }

    pub(super) fn rtcp_word(packet: &[u8]) -> Option<RtcpWord> {
        let (covered, _tag) = packet.split_last_chunk::<RTCP_TAG>()?;
        let (body, word) = covered.split_last_chunk::<WORD>()?;
        (body.len() >= RTCP_CLEAR).then_some(RtcpWord(*word))
    }

    /// RTP is authenticated with its rollover counter behind it, which is not sent; RTCP with its index word, which is.
    fn mac_over(&self, body: &[u8], suffix: &[u8]) -> Hmac<Sha1> {
        let mut mac = self.mac.clone();
        mac.update(body);
        mac.update(suffix);
        mac
    }

    /// The counter is the IV's last 16 bits and starts at zero; a datagram has at most 4,096 blocks, so it never carries.
    fn apply_keystream(&self, id: PacketId, text: &mut [u8]) {
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

fn rtcp_id(ssrc: u32, word: RtcpWord) -> PacketId {
    PacketId {
        ssrc,
        index: word.index().into(),
    }
}

#[cfg(test)]
mod tests {
    use dataplane::SrtpProfile;

    use super::super::tests::{master, unhex};
    use super::*;

    fn keystream(profile: SrtpProfile, session_key: &str) -> Vec<u8> {
        let mut keys = SessionKeys {
            key: [0; 32],
            auth: [0; 20],
            salt: [0; 14],
        };
        keys.key[..profile.key_len()].copy_from_slice(&unhex(session_key));
        keys.salt.copy_from_slice(&unhex("f0f1f2f3f4f5f6f7f8f9fafbfcfd"));
        let mut text = vec![0; 48];
        Cm::new(&keys, &master(profile, 7), Protocol::Rtp).apply_keystream(PacketId { ssrc: 0, index: 0 }, &mut text);
        text
    }

    #[test]
    fn the_keystream_is_that_of_rfc_3711_b2() {
        let expected =
            "e03ead0935c95e80e166b16dd92b4eb4d23513162b02d0f72a43a2fe4a5f97ab41e95b3bb0a2e8dd477901e4fca894c0";
        let session_key = "2b7e151628aed2a6abf7158809cf4f3c";
        assert_eq!(
            keystream(SrtpProfile::AesCm128HmacSha1_80, session_key),
            unhex(expected)
        );
    }

    #[test]
    fn the_keystream_is_that_of_rfc_6188_7_1_with_256_bits() {
        let expected =
            "92bdd28a93c3f52511c677d08b5515a49da71b2378a854f67050756ded165bac63c4868b7096d88421b563b8c94c9a31";
        let session_key = "57f82fe3613fd170a85ec93c40b1f0922ec4cb0dc025b58272147cc438944a98";
        assert_eq!(
            keystream(SrtpProfile::AesCm256HmacSha1_80, session_key),
            unhex(expected)
        );
    }

    #[test]
    fn the_keystream_is_that_of_rfc_6188_7_3_with_192_bits() {
        let expected =
            "35096cba4610028dc1b57503804ce37c5de986291dcce161d5165ec4568f5c9a474a40c77894bc17180202272a4c264d";
        let session_key = "eab234764e517b2d3d160d587d8c86219740f65f99b6bcf7";
        assert_eq!(
            keystream(SrtpProfile::AesCm192HmacSha1_80, session_key),
            unhex(expected)
        );
    }
}
