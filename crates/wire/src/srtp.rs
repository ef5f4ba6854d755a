//! Keys of secure RTP.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroize;

/// SRTP protection profiles (RFC 5764, RFC 7714), and the suites of RFC 4568 and 6188 that only
/// descriptions name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SrtpProfile {
    /// `SRTP_AEAD_AES_128_GCM`
    AeadAes128Gcm,
    /// `SRTP_AEAD_AES_256_GCM`
    AeadAes256Gcm,
    /// `SRTP_AES128_CM_HMAC_SHA1_80`
    AesCm128HmacSha1_80,
    /// `SRTP_AES128_CM_HMAC_SHA1_32`
    AesCm128HmacSha1_32,
    /// `AES_192_CM_HMAC_SHA1_80`
    AesCm192HmacSha1_80,
    /// `AES_192_CM_HMAC_SHA1_32`
    AesCm192HmacSha1_32,
    /// `AES_256_CM_HMAC_SHA1_80`
    AesCm256HmacSha1_80,
    /// `AES_256_CM_HMAC_SHA1_32`
    AesCm256HmacSha1_32,
    /// `F8_128_HMAC_SHA1_80`
    F8_128HmacSha1_80,
    /// `F8_128_HMAC_SHA1_32`
    F8_128HmacSha1_32,
    /// `SRTP_NULL_HMAC_SHA1_80`: authenticated and not encrypted.
    NullHmacSha1_80,
    /// `SRTP_NULL_HMAC_SHA1_32`
    NullHmacSha1_32,
}

impl SrtpProfile {
    /// Bytes of master key.
    pub const fn key_len(self) -> usize {
        match self {
            SrtpProfile::AesCm192HmacSha1_80 | SrtpProfile::AesCm192HmacSha1_32 => 24,
            SrtpProfile::AeadAes256Gcm | SrtpProfile::AesCm256HmacSha1_80 | SrtpProfile::AesCm256HmacSha1_32 => 32,
            _ => 16,
        }
    }

    /// Bytes of master salt.
    pub const fn salt_len(self) -> usize {
        if self.is_aead() { 12 } else { 14 }
    }

    /// One operation encrypts and authenticates (RFC 7714).
    pub const fn is_aead(self) -> bool {
        matches!(self, SrtpProfile::AeadAes128Gcm | SrtpProfile::AeadAes256Gcm)
    }

    /// Packets are authenticated and not encrypted (RFC 3711 section 4.1.3).
    pub const fn is_null(self) -> bool {
        matches!(self, SrtpProfile::NullHmacSha1_80 | SrtpProfile::NullHmacSha1_32)
    }

    /// Bytes of the authentication tag after an RTP packet.
    pub const fn rtp_tag_len(self) -> usize {
        match self {
            SrtpProfile::AeadAes128Gcm | SrtpProfile::AeadAes256Gcm => 16,
            SrtpProfile::AesCm128HmacSha1_32
            | SrtpProfile::AesCm192HmacSha1_32
            | SrtpProfile::AesCm256HmacSha1_32
            | SrtpProfile::F8_128HmacSha1_32
            | SrtpProfile::NullHmacSha1_32 => 4,
            _ => 10,
        }
    }

    /// The same of an RTCP packet: with HMAC always 80 bits (RFC 4568 section 6.2).
    pub const fn rtcp_tag_len(self) -> usize {
        if self.is_aead() { 16 } else { 10 }
    }

    /// The name in IANA's registry of DTLS-SRTP profiles; for profiles outside of it, the name in
    /// descriptions.
    pub const fn name(self) -> &'static str {
        match self {
            SrtpProfile::AeadAes128Gcm => "SRTP_AEAD_AES_128_GCM",
            SrtpProfile::AeadAes256Gcm => "SRTP_AEAD_AES_256_GCM",
            SrtpProfile::AesCm128HmacSha1_80 => "SRTP_AES128_CM_HMAC_SHA1_80",
            SrtpProfile::AesCm128HmacSha1_32 => "SRTP_AES128_CM_HMAC_SHA1_32",
            SrtpProfile::AesCm192HmacSha1_80 => "AES_192_CM_HMAC_SHA1_80",
            SrtpProfile::AesCm192HmacSha1_32 => "AES_192_CM_HMAC_SHA1_32",
            SrtpProfile::AesCm256HmacSha1_80 => "AES_256_CM_HMAC_SHA1_80",
            SrtpProfile::AesCm256HmacSha1_32 => "AES_256_CM_HMAC_SHA1_32",
            SrtpProfile::F8_128HmacSha1_80 => "F8_128_HMAC_SHA1_80",
            SrtpProfile::F8_128HmacSha1_32 => "F8_128_HMAC_SHA1_32",
            SrtpProfile::NullHmacSha1_80 => "SRTP_NULL_HMAC_SHA1_80",
            SrtpProfile::NullHmacSha1_32 => "SRTP_NULL_HMAC_SHA1_32",
        }
    }
}

/// The session parameters of a key. The default is all protection, and no identifier.
///
/// Source: RFC 4568 sections 6.1 and 6.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionParameters {
    /// `UNENCRYPTED_SRTP`
    pub unencrypted_rtp: bool,
    /// `UNENCRYPTED_SRTCP`
    pub unencrypted_rtcp: bool,
    /// `UNAUTHENTICATED_SRTP`
    pub unauthenticated_rtp: bool,
    /// The key identifier (MKI) in each packet of its sender. Packets that Weir seals have none.
    pub mki: Option<Mki>,
}

/// A master key identifier (RFC 3711 section 3.1).
///
/// Shape: a number of a given length in bytes, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mki {
    value: u32,
    len: u8,
}

impl Mki {
    /// The most bytes of one (RFC 4568 section 6.1).
    pub const LEN_MAX: u8 = 128;

    /// The number `value` in `len` bytes; `None` where it does not fit, or where there are none or
    /// too many.
    pub fn new(value: u32, len: u8) -> Option<Self> {
        let fits = len >= 4 || u64::from(value) < 1 << (8 * u32::from(len));
        (fits && (1..=Self::LEN_MAX).contains(&len)).then_some(Mki { value, len })
    }

    /// The number.
    pub fn value(self) -> u32 {
        self.value
    }

    /// How many bytes it has.
    #[expect(clippy::len_without_is_empty, reason = "it has at least one")]
    pub fn len(self) -> usize {
        usize::from(self.len)
    }

    /// Whether these bytes are it.
    pub fn is(self, bytes: &[u8]) -> bool {
        let value = self.value.to_be_bytes();
        let (zeros, end) = bytes.split_at(bytes.len().saturating_sub(value.len()));
        bytes.len() == self.len() && zeros.iter().all(|byte| *byte == 0) && value.ends_with(end)
    }
}

/// A master key with its salt (RFC 3711 section 4.3). Never printed, zeroed when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey {
    key: [u8; 32],
    salt: [u8; 14],
    profile: SrtpProfile,
    parameters: SessionParameters,
    others: Option<Arc<[MasterKey]>>,
}

impl MasterKey {
    /// A key for `profile`; `None` when a length is not the profile's.
    pub fn new(profile: SrtpProfile, key: &[u8], salt: &[u8]) -> Option<Self> {
        if key.len() != profile.key_len() || salt.len() != profile.salt_len() {
            return None;
        }
        let mut this = MasterKey {
            key: [0; 32],
            salt: [0; 14],
            profile,
            parameters: SessionParameters::default(),
            others: None,
        };
        this.key[..key.len()].copy_from_slice(key);
        this.salt[..salt.len()].copy_from_slice(salt);
        Some(this)
    }

    /// The same key with `parameters`.
    pub fn with_parameters(mut self, parameters: SessionParameters) -> Self {
        self.parameters = parameters;
        self
    }

    /// The same key, of a sender that has these as well. Packets say by identifiers which one they
    /// are under (RFC 4568 section 6.1).
    pub fn with_others(mut self, others: Vec<MasterKey>) -> Self {
        self.others = (!others.is_empty()).then(|| others.into());
        self
    }

    /// Further keys of its sender.
    pub fn others(&self) -> &[MasterKey] {
        self.others.as_deref().unwrap_or_default()
    }

    /// How it is used.
    pub fn parameters(&self) -> SessionParameters {
        self.parameters
    }

    /// The key: 16, 24 or 32 bytes.
    pub fn key(&self) -> &[u8] {
        &self.key[..self.profile.key_len()]
    }

    /// The salt: 12 or 14 bytes.
    pub fn salt(&self) -> &[u8] {
        &self.salt[..self.profile.salt_len()]
    }

    /// The profile it was made for.
    pub fn profile(&self) -> SrtpProfile {
        self.profile
    }
}

impl Drop for MasterKey {
    fn drop(&mut self) {
        self.key.zeroize();
        self.salt.zeroize();
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.profile.name())
    }
}
