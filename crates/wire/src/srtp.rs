//! Keys of secure RTP.

use std::fmt;

use zeroize::Zeroize;

/// SRTP protection profiles (RFC 5764, RFC 7714).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SrtpProfile {
    /// `SRTP_AEAD_AES_128_GCM`
    AeadAes128Gcm,
    /// `SRTP_AEAD_AES_256_GCM`
    AeadAes256Gcm,
    /// `SRTP_AES128_CM_HMAC_SHA1_80`
    AesCm128HmacSha1_80,
}

impl SrtpProfile {
    /// Bytes of master key.
    pub const fn key_len(self) -> usize {
        match self {
            SrtpProfile::AeadAes128Gcm | SrtpProfile::AesCm128HmacSha1_80 => 16,
            SrtpProfile::AeadAes256Gcm => 32,
        }
    }

    /// Bytes of master salt.
    pub const fn salt_len(self) -> usize {
        match self {
            SrtpProfile::AeadAes128Gcm | SrtpProfile::AeadAes256Gcm => 12,
            SrtpProfile::AesCm128HmacSha1_80 => 14,
        }
    }

    /// The name in IANA's registry.
    pub const fn name(self) -> &'static str {
        match self {
            SrtpProfile::AeadAes128Gcm => "SRTP_AEAD_AES_128_GCM",
            SrtpProfile::AeadAes256Gcm => "SRTP_AEAD_AES_256_GCM",
            SrtpProfile::AesCm128HmacSha1_80 => "SRTP_AES128_CM_HMAC_SHA1_80",
        }
    }
}

/// A master key with its salt (RFC 3711 section 4.3). Never printed, zeroed when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey {
    key: [u8; 32],
    salt: [u8; 14],
    profile: SrtpProfile,
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
        };
        this.key[..key.len()].copy_from_slice(key);
        this.salt[..salt.len()].copy_from_slice(salt);
        Some(this)
    }

    /// The key: 16 or 32 bytes.
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
