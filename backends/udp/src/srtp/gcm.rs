//! AES in Galois/counter mode.
//!
//! `ring` has the fastest implementation we measured that needs no `unsafe` of ours. It does not wipe its expanded keys
//! when they are dropped; what we hand it, we do.
//!
//! Source: RFC 7714.

use ring::aead::{Aad, Algorithm, LessSafeKey, Nonce, UnboundKey};

use super::kdf::SessionKeys;
use super::packet::{PacketId, RTCP_CLEAR, RtcpWord};

const TAG: usize = 16;
const WORD: usize = 4;

pub(super) struct Gcm {
    key: LessSafeKey,
    salt: [u8; 12],
}

impl Gcm {
    pub(super) fn new(algorithm: &'static Algorithm, keys: &SessionKeys) -> Self {
        let key = UnboundKey::new(algorithm, &keys.key[..algorithm.key_len()]).expect("the algorithm's own key length");
        let mut salt = [0; 12];
        salt.copy_from_slice(&keys.salt[..12]);
        Self {
            key: LessSafeKey::new(key),
            salt,
        }
    }

    pub(super) fn seal_rtp(&self, id: PacketId, packet: &mut [u8], len: usize, header_len: usize) -> usize {
        let (header, rest) = packet.split_at_mut(header_len);
        let (text, trailer) = rest.split_at_mut(len - header_len);
        self.seal(id, header, text, &mut trailer[..TAG]);
        len + TAG
    }

    pub(super) fn open_rtp(&self, id: PacketId, packet: &mut [u8], header_len: usize) -> Option<usize> {
        let (header, sealed) = packet.split_at_mut_checked(header_len)?;
        let text = self
            .key
            .open_in_place(self.nonce(id), Aad::from(&*header), sealed)
            .ok()?;
        Some(header_len + text.len())
    }

    /// The tag stands before the word, which is authenticated with the clear header as if it followed it.
    pub(super) fn seal_rtcp(&self, ssrc: u32, index: u32, packet: &mut [u8], len: usize) -> usize {
        let word = RtcpWord::encrypted_with(index);
        let (clear, rest) = packet.split_at_mut(RTCP_CLEAR);
        let (text, trailer) = rest.split_at_mut(len - RTCP_CLEAR);
        self.seal(rtcp_id(ssrc, word), &rtcp_aad(clear, word), text, &mut trailer[..TAG]);
        trailer[TAG..TAG + WORD].copy_from_slice(&word.0);
        len + TAG + WORD
    }

    pub(super) fn open_rtcp(&self, ssrc: u32, packet: &mut [u8]) -> Option<usize> {
        let word = Self::rtcp_word(packet)?;
        let sealed_end = packet.len() - WORD;
        if !word.is_encrypted() {
            return self.verify_rtcp(ssrc, word, packet);
        }
        let (clear, sealed) = packet[..sealed_end].split_at_mut(RTCP_CLEAR);
        let aad = rtcp_aad(clear, word);
        let text = self
            .key
            .open_in_place(self.nonce(rtcp_id(ssrc, word)), Aad::from(&aad), sealed)
            .ok()?;
        Some(RTCP_CLEAR + text.len())
    }

    pub(super) fn rtcp_word(packet: &[u8]) -> Option<RtcpWord> {
        let word = *packet.last_chunk::<WORD>()?;
        (packet.len() >= RTCP_CLEAR + TAG + WORD).then_some(RtcpWord(word))
    }

    /// A packet in clear is all associated data: itself and the word. Moving the word over the tag makes the two adjacent.
    fn verify_rtcp(&self, ssrc: u32, word: RtcpWord, packet: &mut [u8]) -> Option<usize> {
        let len = packet.len() - TAG - WORD;
        let mut tag = [0; TAG];
        tag.copy_from_slice(&packet[len..len + TAG]);
        packet[len..len + WORD].copy_from_slice(&word.0);
        let aad = Aad::from(&packet[..len + WORD]);
        self.key
            .open_in_place(self.nonce(rtcp_id(ssrc, word)), aad, &mut tag)
            .ok()?;
        Some(len)
    }

    fn seal(&self, id: PacketId, aad: &[u8], text: &mut [u8], tag_out: &mut [u8]) {
        let tag = self
            .key
            .seal_in_place_separate_tag(self.nonce(id), Aad::from(aad), text);
        tag_out.copy_from_slice(tag.expect("a datagram is far below GCM's limit of 64 GiB").as_ref());
    }

    /// Two zero bytes, the SSRC and the 48-bit index, each bit flipped where the salt says so. The SRTCP index fills the
    /// same place, its upper bits zero.
    ///
    /// Source: RFC 7714 sections 8.1 and 9.1.
    fn nonce(&self, id: PacketId) -> Nonce {
        let mut nonce = self.salt;
        let ssrc = id.ssrc.to_be_bytes();
        let index = id.index.to_be_bytes();
        for (byte, value) in nonce[2..].iter_mut().zip(ssrc.iter().chain(&index[2..])) {
            *byte ^= value;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

fn rtcp_id(ssrc: u32, word: RtcpWord) -> PacketId {
    PacketId {
        ssrc,
        index: word.index().into(),
    }
}

fn rtcp_aad(clear: &[u8], word: RtcpWord) -> [u8; RTCP_CLEAR + WORD] {
    let mut aad = [0; RTCP_CLEAR + WORD];
    aad[..RTCP_CLEAR].copy_from_slice(clear);
    aad[RTCP_CLEAR..].copy_from_slice(&word.0);
    aad
}

#[cfg(test)]
mod tests {
    //! The vectors of RFC 7714 sections 16 and 17 name session keys, so they are checked here, below key derivation.

    use super::super::tests::unhex;
    use super::*;
    use ring::aead::{AES_128_GCM, AES_256_GCM};

    const RTP: &str =
        "8040f17b8041f8d35501a0b247616c6c696120657374206f6d6e69732064697669736120696e207061727465732074726573";
    const RTP_128: &str = "8040f17b8041f8d35501a0b2f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833\
                           899d7f27beb16a9152cf765ee4390cce";
    const RTP_256: &str = "8040f17b8041f8d35501a0b232b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f1ba63799b87b\
                           7aa3db36dfffd6b0f9bb7878d7a76c13";
    const RTCP: &str = "81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61deadbeefdeadbeefdeadbeefdeadbeef\
                        deadbeef";
    const RTCP_128: &str = "81c8000d4d61727363e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda4ce09b4686303ded\
                            0bb9275bc84aa45896cf4d2fc5abf87245d9eade800005d4";
    const RTCP_256: &str = "81c8000d4d617273d50ae4d1f5ce5d304ba297e47d470c282c3ece5dbffe0a50a2eaa5c1110555be8415f658c61de047\
                            6f1b6fad1d1eb30c4446839f57ff6f6cb26ac3be800005d4";
    const TAG_RTP_128: &str = "22493f82d2bce397e9d79e3b19aa4216";
    const TAG_RTP_256: &str = "a866d5910f887463067ceefec45215d4";
    const TAG_RTCP_128: &str = "841dd9683dd78ec92ae58790125f62b3";
    const TAG_RTCP_256: &str = "91db4afbfeee5a978fab4393ed2615fe";

    const RTP_ID: PacketId = PacketId {
        ssrc: 0x5501_a0b2,
        index: 0xf17b,
    };
    const RTCP_SSRC: u32 = 0x4d61_7273;

    fn gcm(algorithm: &'static Algorithm) -> Gcm {
        let mut keys = SessionKeys {
            key: [0; 32],
            auth: [0; 20],
            salt: [0; 14],
        };
        for (i, byte) in keys.key.iter_mut().enumerate() {
            *byte = i as u8;
        }
        keys.salt[..12].copy_from_slice(b"Quid pro quo");
        Gcm::new(algorithm, &keys)
    }

    fn with_room(packet: &str) -> (Vec<u8>, usize) {
        let mut packet = unhex(packet);
        let len = packet.len();
        packet.resize(len + TAG + WORD, 0);
        (packet, len)
    }

    #[test]
    fn rtp_is_sealed_and_opened_as_in_rfc_7714_16_1_and_16_2() {
        for (algorithm, sealed) in [(&AES_128_GCM, RTP_128), (&AES_256_GCM, RTP_256)] {
            let (mut packet, len) = with_room(RTP);
            let sealed_len = gcm(algorithm).seal_rtp(RTP_ID, &mut packet, len, 12);
            packet.truncate(sealed_len);
            assert_eq!(packet, unhex(sealed));
            assert_eq!(gcm(algorithm).open_rtp(RTP_ID, &mut packet, 12), Some(len));
            assert_eq!(packet[..len], unhex(RTP));
        }
    }

    #[test]
    fn rtp_that_is_all_header_gets_the_tags_of_rfc_7714_16_1_3_and_16_2_3() {
        for (algorithm, tag) in [(&AES_128_GCM, TAG_RTP_128), (&AES_256_GCM, TAG_RTP_256)] {
            let (mut packet, len) = with_room(RTP);
            let sealed_len = gcm(algorithm).seal_rtp(RTP_ID, &mut packet, len, len);
            assert_eq!(packet[len..sealed_len], unhex(tag));
            assert_eq!(
                gcm(algorithm).open_rtp(RTP_ID, &mut packet[..sealed_len], len),
                Some(len)
            );
        }
    }

    #[test]
    fn rtcp_is_sealed_and_opened_as_in_rfc_7714_17_1_and_17_2() {
        for (algorithm, sealed) in [(&AES_128_GCM, RTCP_128), (&AES_256_GCM, RTCP_256)] {
            let (mut packet, len) = with_room(RTCP);
            gcm(algorithm).seal_rtcp(RTCP_SSRC, 0x5d4, &mut packet, len);
            assert_eq!(packet, unhex(sealed));
            assert_eq!(gcm(algorithm).open_rtcp(RTCP_SSRC, &mut packet), Some(len));
            assert_eq!(packet[..len], unhex(RTCP));
        }
    }

    #[test]
    fn rtcp_in_clear_is_verified_as_in_rfc_7714_17_3_and_17_4() {
        for (algorithm, tag) in [(&AES_128_GCM, TAG_RTCP_128), (&AES_256_GCM, TAG_RTCP_256)] {
            let mut packet = unhex(&format!("{RTCP}{tag}000005d4"));
            let len = packet.len() - TAG - WORD;
            assert_eq!(gcm(algorithm).open_rtcp(RTCP_SSRC, &mut packet), Some(len));
            assert_eq!(packet[..len], unhex(RTCP));
            packet = unhex(&format!("{RTCP}{tag}000005d5"));
            assert_eq!(gcm(algorithm).open_rtcp(RTCP_SSRC, &mut packet), None);
        }
    }
}
