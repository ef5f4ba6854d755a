//! AES in counter mode with HMAC-SHA1: what every SRTP peer has.
//!
//! Three quarters of its time is SHA-1, for which RustCrypto's is the fastest we measured (`ring`'s takes over three
//! times as long). AWS-LC's counter mode would be faster than RustCrypto's, by a tenth of the whole: not worth a second library.
//!
//! Source: RFC 3711 sections 4.1.1 and 4.2.1.

use aes::Aes128;
use aes::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper};
use ctr::{CtrCore, flavors::Ctr128BE};
use hmac::{Hmac, Mac};
use sha1::Sha1;

use super::kdf::SessionKeys;
use super::packet::{PacketId, RTCP_CLEAR, RtcpWord};

const TAG: usize = 10;
const WORD: usize = 4;

pub(super) struct Cm {
    aes: Aes128,
    /// Already past the key's block, so that a packet pays for its own blocks only.
    mac: Hmac<Sha1>,
    salt: [u8; 14],
}

impl Cm {
    pub(super) fn new(keys: &SessionKeys) -> Self {
        Self {
            aes: Aes128::new_from_slice(&keys.key[..16]).expect("sixteen bytes"),
            mac: Hmac::new_from_slice(&keys.auth).expect("HMAC takes a key of any length"),
            salt: keys.salt,
        }
    }

    pub(super) fn seal_rtp(&self, id: PacketId, packet: &mut [u8], len: usize, header_len: usize) -> usize {
        self.apply_keystream(id, &mut packet[header_len..len]);
        let (body, trailer) = packet.split_at_mut(len);
        let tag = self
            .mac_over(body, &id.rollovers().to_be_bytes())
            .finalize()
            .into_bytes();
        trailer[..TAG].copy_from_slice(&tag[..TAG]);
        len + TAG
    }

    pub(super) fn open_rtp(&self, id: PacketId, packet: &mut [u8], header_len: usize) -> Option<usize> {
        let (body, tag) = packet.split_last_chunk_mut::<TAG>()?;
        if header_len > body.len() {
            return None;
        }
        self.mac_over(body, &id.rollovers().to_be_bytes())
            .verify_truncated_left(tag)
            .ok()?;
        self.apply_keystream(id, &mut body[header_len..]);
        Some(body.len())
    }

    /// The word stands before the tag, so that the tag covers it where it is.
    pub(super) fn seal_rtcp(&self, ssrc: u32, index: u32, packet: &mut [u8], len: usize) -> usize {
        let word = RtcpWord::encrypted_with(index);
        self.apply_keystream(rtcp_id(ssrc, word), &mut packet[RTCP_CLEAR..len]);
        let (body, trailer) = packet.split_at_mut(len);
        let tag = self.mac_over(body, &word.0).finalize().into_bytes();
        trailer[..WORD].copy_from_slice(&word.0);
        trailer[WORD..WORD + TAG].copy_from_slice(&tag[..TAG]);
        len + WORD + TAG
    }

    pub(super) fn open_rtcp(&self, ssrc: u32, packet: &mut [u8]) -> Option<usize> {
        let word = Self::rtcp_word(packet)?;
        let (covered, tag) = packet.split_last_chunk_mut::<TAG>()?;
        self.mac_over(covered, &[]).verify_truncated_left(tag).ok()?;
        let len = covered.len() - WORD;
        if word.is_encrypted() {
            self.apply_keystream(rtcp_id(ssrc, word), &mut covered[RTCP_CLEAR..len]);
        }
        Some(len)
    }

    pub(super) fn rtcp_word(packet: &[u8]) -> Option<RtcpWord> {
        let (covered, _tag) = packet.split_last_chunk::<TAG>()?;
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
        let core = CtrCore::<&Aes128, Ctr128BE>::inner_iv_init(&self.aes, &iv.into());
        StreamCipherCoreWrapper::from_core(core).apply_keystream(text);
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
    use super::super::tests::unhex;
    use super::*;

    #[test]
    fn the_keystream_is_that_of_rfc_3711_b2() {
        let mut keys = SessionKeys {
            key: [0; 32],
            auth: [0; 20],
            salt: [0; 14],
        };
        keys.key[..16].copy_from_slice(&unhex("2b7e151628aed2a6abf7158809cf4f3c"));
        keys.salt.copy_from_slice(&unhex("f0f1f2f3f4f5f6f7f8f9fafbfcfd"));
        let mut text = [0; 48];
        Cm::new(&keys).apply_keystream(PacketId { ssrc: 0, index: 0 }, &mut text);
        let keystream =
            "e03ead0935c95e80e166b16dd92b4eb4d23513162b02d0f72a43a2fe4a5f97ab41e95b3bb0a2e8dd477901e4fca894c0";
        assert_eq!(text[..], unhex(keystream));
    }
}
