//! A cipher, and HMAC-SHA1 over what it made: the transforms of RFC 3711.
//!
//! Three quarters of the time is SHA-1, for which RustCrypto's is the fastest we measured (`ring`'s
//! takes over three times as long).
//!
//! Source: RFC 3711 sections 4.1 and 4.2.1.

use dataplane::{MasterKey, SrtpProfile};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use super::cm::Cm;
use super::f8::{self, F8};
use super::kdf::{Protocol, SessionKeys};
use super::packet::{PacketId, RTCP_CLEAR, RtcpWord};

/// Bytes of tag behind an RTCP packet, whatever the suite.
const RTCP_TAG: usize = 10;
const WORD: usize = 4;

/// Encrypts and authenticates under the keys of one direction and one protocol.
pub(super) struct EncryptThenMac {
    keystream: Keystream,
    /// Already past the key's block, so that a packet pays for its own blocks only.
    mac: Hmac<Sha1>,
    /// Bytes of tag behind a packet of its protocol; 0 where the ends agreed on none.
    tag_len: u8,
    /// Packets of its protocol are not encrypted: the ends agreed on it, or the cipher is NULL.
    is_clear: bool,
}

#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the usual one, and lies where it is used"
)]
enum Keystream {
    Cm(Cm),
    /// Larger still, and nearly never used.
    F8(Box<F8>),
    Null,
}

impl Keystream {
    fn new(profile: SrtpProfile, keys: &SessionKeys) -> Self {
        match profile {
            SrtpProfile::F8_128HmacSha1_80 | SrtpProfile::F8_128HmacSha1_32 => {
                let (key, _) = keys.key.split_first_chunk().expect("a key has room for 32 bytes");
                Self::F8(Box::new(F8::new(key, &keys.salt)))
            }
            SrtpProfile::NullHmacSha1_80 | SrtpProfile::NullHmacSha1_32 => Self::Null,
            _ => Self::Cm(Cm::new(&keys.key[..profile.key_len()], keys.salt)),
        }
    }

    /// Encrypts or decrypts what stands behind the header of an RTP packet.
    fn apply_to_rtp(&self, id: PacketId, packet: &mut [u8], header_len: usize) {
        match self {
            Self::Cm(cm) => cm.apply_keystream(id, &mut packet[header_len..]),
            Self::F8(f8) => {
                let (header, _) = packet.split_first_chunk().expect("a packet has its fixed header");
                let iv = f8::rtp_iv(header, id.rollovers());
                f8.apply_keystream(iv, &mut packet[header_len..]);
            }
            Self::Null => {}
        }
    }

    /// Encrypts or decrypts an RTCP packet but for what is always in clear.
    fn apply_to_rtcp(&self, ssrc: u32, word: RtcpWord, packet: &mut [u8]) {
        match self {
            Self::Cm(cm) => cm.apply_keystream(rtcp_id(ssrc, word), &mut packet[RTCP_CLEAR..]),
            Self::F8(f8) => {
                let (clear, text) = packet
                    .split_first_chunk_mut::<RTCP_CLEAR>()
                    .expect("a packet has a header and an SSRC");
                f8.apply_keystream(f8::rtcp_iv(clear, word.0), text);
            }
            Self::Null => {}
        }
    }
}

impl EncryptThenMac {
    pub(super) fn new(keys: &SessionKeys, master: &MasterKey, protocol: Protocol) -> Self {
        let (profile, parameters) = (master.profile(), master.parameters());
        let (tag_len, is_clear) = match protocol {
            Protocol::Rtp if parameters.unauthenticated_rtp => (0, parameters.unencrypted_rtp),
            Protocol::Rtp => (profile.rtp_tag_len(), parameters.unencrypted_rtp),
            Protocol::Rtcp => (RTCP_TAG, parameters.unencrypted_rtcp),
        };
        let keystream = Keystream::new(profile, keys);
        Self {
            is_clear: is_clear || matches!(keystream, Keystream::Null),
            keystream,
            mac: Hmac::new_from_slice(&keys.auth).expect("HMAC takes a key of any length"),
            tag_len: tag_len as u8,
        }
    }

    pub(super) fn tag_len(&self) -> usize {
        usize::from(self.tag_len)
    }

    pub(super) fn seal_rtp(&self, id: PacketId, packet: &mut [u8], len: usize, header_len: usize) -> usize {
        if !self.is_clear {
            self.keystream.apply_to_rtp(id, &mut packet[..len], header_len);
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
            self.keystream.apply_to_rtp(id, body, header_len);
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
            self.keystream.apply_to_rtcp(ssrc, word, &mut packet[..len]);
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
            self.keystream.apply_to_rtcp(ssrc, word, &mut covered[..len]);
        }
        Some(len)
    }

    pub(super) fn rtcp_word(packet: &[u8]) -> Option<RtcpWord> {
        let (covered, _tag) = packet.split_last_chunk::<RTCP_TAG>()?;
        let (body, word) = covered.split_last_chunk::<WORD>()?;
        (body.len() >= RTCP_CLEAR).then_some(RtcpWord(*word))
    }

    /// RTP is authenticated with its rollover counter behind it, which is not sent; RTCP with its
    /// index word, which is.
    fn mac_over(&self, body: &[u8], suffix: &[u8]) -> Hmac<Sha1> {
        let mut mac = self.mac.clone();
        mac.update(body);
        mac.update(suffix);
        mac
    }
}

fn rtcp_id(ssrc: u32, word: RtcpWord) -> PacketId {
    PacketId {
        ssrc,
        index: word.index().into(),
    }
}
