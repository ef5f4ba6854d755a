//! AES in Galois/counter mode.
//!
//! Which bytes of a packet are encrypted under which nonce; the cipher itself is [`gcm::Key`].
//!
//! Source: RFC 7714.

use gcm::{Key, Nonce, TAG};

use super::kdf::SessionKeys;
use super::packet::{PacketId, RTCP_CLEAR, RtcpWord};

const WORD: usize = 4;

pub(super) struct Gcm {
    key: Key,
    /// A number of 96 bits.
    salt: u128,
}

impl Gcm {
    /// The cipher for a profile whose keys have so many bytes.
    pub(super) fn new(key_len: usize, keys: &SessionKeys) -> Self {
        Self::with(Key::new(&keys.key[..key_len]), keys)
    }

    fn with(key: Key, keys: &SessionKeys) -> Self {
        let salt = keys.salt[..12]
            .iter()
            .fold(0, |salt, byte| (salt << 8) | u128::from(*byte));
        Self { key, salt }
    }

    #[inline]
    pub(super) fn seal_rtp(&self, id: PacketId, packet: &mut [u8], len: usize, header_len: usize) -> usize {
        let (header, rest) = packet.split_at_mut(header_len);
        let (text, trailer) = rest.split_at_mut(len - header_len);
        trailer[..TAG].copy_from_slice(&self.key.seal(self.nonce(id), header, text));
        len + TAG
    }

    pub(super) fn open_rtp(&self, id: PacketId, packet: &mut [u8], header_len: usize) -> Option<usize> {
        let (header, sealed) = packet.split_at_mut_checked(header_len)?;
        let text_len = self.key.open(self.nonce(id), header, sealed)?;
        Some(header_len + text_len)
    }

    /// The tag stands before the word, which is authenticated with the clear header as if it
    /// followed it.
    pub(super) fn seal_rtcp(&self, ssrc: u32, index: u32, packet: &mut [u8], len: usize) -> usize {
        let word = RtcpWord::encrypted_with(index);
        let (clear, rest) = packet.split_at_mut(RTCP_CLEAR);
        let (text, trailer) = rest.split_at_mut(len - RTCP_CLEAR);
        let tag = self
            .key
            .seal(self.nonce(rtcp_id(ssrc, word)), &rtcp_aad(clear, word), text);
        trailer[..TAG].copy_from_slice(&tag);
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
        let text_len = self.key.open(self.nonce(rtcp_id(ssrc, word)), &aad, sealed)?;
        Some(RTCP_CLEAR + text_len)
    }

    pub(super) fn rtcp_word(packet: &[u8]) -> Option<RtcpWord> {
        let word = *packet.last_chunk::<WORD>()?;
        (packet.len() >= RTCP_CLEAR + TAG + WORD).then_some(RtcpWord(word))
    }

    /// A packet in clear is all associated data: itself and the word. Moving the word over the tag
    /// makes the two adjacent.
    fn verify_rtcp(&self, ssrc: u32, word: RtcpWord, packet: &mut [u8]) -> Option<usize> {
        let len = packet.len() - TAG - WORD;
        let mut tag = [0; TAG];
        tag.copy_from_slice(&packet[len..len + TAG]);
        packet[len..len + WORD].copy_from_slice(&word.0);
        self.key
            .open(self.nonce(rtcp_id(ssrc, word)), &packet[..len + WORD], &mut tag)?;
        Some(len)
    }

    /// Two zero bytes, the SSRC and the 48-bit index, each bit flipped where the salt says so. The
    /// SRTCP index fills the same place, its upper bits zero.
    ///
    /// Source: RFC 7714 sections 8.1 and 9.1.
    fn nonce(&self, id: PacketId) -> Nonce {
        Nonce(self.salt ^ (u128::from(id.ssrc) << 48) ^ u128::from(id.index))
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
    //! The vectors of RFC 7714 sections 16 and 17 name session keys, so they are checked here,
    //! below key derivation.

    use super::super::tests::unhex;
    use super::*;

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

    /// Under each implementation there is: what this processor gets, and `ring`.
    fn gcms(key_len: usize) -> [Gcm; 2] {
        let mut keys = SessionKeys {
            key: [0; 32],
            auth: [0; 20],
            salt: [0; 14],
        };
        for (i, byte) in keys.key.iter_mut().enumerate() {
            *byte = i as u8;
        }
        keys.salt[..12].copy_from_slice(b"Quid pro quo");
        [
            Gcm::new(key_len, &keys),
            Gcm::with(Key::with_ring(&keys.key[..key_len]), &keys),
        ]
    }

    fn with_room(packet: &str) -> (Vec<u8>, usize) {
        let mut packet = unhex(packet);
        let len = packet.len();
        packet.resize(len + TAG + WORD, 0);
        (packet, len)
    }

    #[test]
    fn rtp_is_sealed_and_opened_as_in_rfc_7714_16_1_and_16_2() {
        for (key_len, sealed) in [(16, RTP_128), (32, RTP_256)] {
            for gcm in gcms(key_len) {
                let (mut packet, len) = with_room(RTP);
                let sealed_len = gcm.seal_rtp(RTP_ID, &mut packet, len, 12);
                packet.truncate(sealed_len);
                assert_eq!(packet, unhex(sealed));
                assert_eq!(gcm.open_rtp(RTP_ID, &mut packet, 12), Some(len));
                assert_eq!(packet[..len], unhex(RTP));
            }
        }
    }

    #[test]
    fn rtp_that_is_all_header_gets_the_tags_of_rfc_7714_16_1_3_and_16_2_3() {
        for (key_len, tag) in [(16, TAG_RTP_128), (32, TAG_RTP_256)] {
            for gcm in gcms(key_len) {
                let (mut packet, len) = with_room(RTP);
                let sealed_len = gcm.seal_rtp(RTP_ID, &mut packet, len, len);
                assert_eq!(packet[len..sealed_len], unhex(tag));
                assert_eq!(gcm.open_rtp(RTP_ID, &mut packet[..sealed_len], len), Some(len));
            }
        }
    }

    #[test]
    fn rtcp_is_sealed_and_opened_as_in_rfc_7714_17_1_and_17_2() {
        for (key_len, sealed) in [(16, RTCP_128), (32, RTCP_256)] {
            for gcm in gcms(key_len) {
                let (mut packet, len) = with_room(RTCP);
                gcm.seal_rtcp(RTCP_SSRC, 0x5d4, &mut packet, len);
                assert_eq!(packet, unhex(sealed));
                assert_eq!(gcm.open_rtcp(RTCP_SSRC, &mut packet), Some(len));
                assert_eq!(packet[..len], unhex(RTCP));
            }
        }
    }

    #[test]
    fn rtcp_in_clear_is_verified_as_in_rfc_7714_17_3_and_17_4() {
        for (key_len, tag) in [(16, TAG_RTCP_128), (32, TAG_RTCP_256)] {
            for gcm in gcms(key_len) {
                let mut packet = unhex(&format!("{RTCP}{tag}000005d4"));
                let len = packet.len() - TAG - WORD;
                assert_eq!(gcm.open_rtcp(RTCP_SSRC, &mut packet), Some(len));
                assert_eq!(packet[..len], unhex(RTCP));
                packet = unhex(&format!("{RTCP}{tag}000005d5"));
                assert_eq!(gcm.open_rtcp(RTCP_SSRC, &mut packet), None);
            }
        }
    }
}
