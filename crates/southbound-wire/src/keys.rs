//! Credentials, fingerprints and keys.

use std::fmt;

use southbound::{Fingerprint, HashFunction, IceCredentials};
use wire::srtp::{MasterKey, Mki, SessionParameters, SrtpProfile};

use crate::enums::Numbered;
use crate::fields::{narrow, read_optional};
use crate::{Error, v1};

/// Length of a user fragment and of a password (RFC 8839 section 5.4).
const CREDENTIAL_LEN_MAX: usize = 256;
const UFRAG_LEN_MIN: usize = 4;
const PASSWORD_LEN_MIN: usize = 22;

impl From<IceCredentials> for v1::IceCredentials {
    fn from(credentials: IceCredentials) -> Self {
        let IceCredentials { ufrag, password } = credentials;
        Self { ufrag, password }
    }
}

impl TryFrom<v1::IceCredentials> for IceCredentials {
    type Error = Error;

    fn try_from(message: v1::IceCredentials) -> Result<Self, Error> {
        let v1::IceCredentials { ufrag, password } = message;
        check_credential("IceCredentials.ufrag", &ufrag, UFRAG_LEN_MIN)?;
        check_credential("IceCredentials.password", &password, PASSWORD_LEN_MIN)?;
        Ok(Self { ufrag, password })
    }
}

fn check_credential(field: &'static str, text: &str, len_min: usize) -> Result<(), Error> {
    match (len_min..=CREDENTIAL_LEN_MAX).contains(&text.len()) {
        false => Err(Error::Length { field, len: text.len() }),
        true if !text.bytes().all(|byte| byte.is_ascii_graphic()) => Err(Error::Characters(field)),
        true => Ok(()),
    }
}

impl fmt::Debug for v1::IceCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IceCredentials({})", self.ufrag)
    }
}

impl From<Fingerprint> for v1::Fingerprint {
    fn from(fingerprint: Fingerprint) -> Self {
        Self {
            hash: fingerprint.hash.number(),
            digest: fingerprint.digest,
        }
    }
}

impl TryFrom<v1::Fingerprint> for Fingerprint {
    type Error = Error;

    fn try_from(message: v1::Fingerprint) -> Result<Self, Error> {
        let v1::Fingerprint { hash, digest } = message;
        let hash = HashFunction::from_number("Fingerprint.hash", hash)?;
        match digest.len() == hash.digest_len() {
            true => Ok(Self { hash, digest }),
            false => Err(Error::Length {
                field: "Fingerprint.digest",
                len: digest.len(),
            }),
        }
    }
}

impl From<MasterKey> for v1::MasterKey {
    fn from(key: MasterKey) -> Self {
        let parameters = key.parameters();
        Self {
            profile: key.profile().number(),
            key: key.key().to_vec(),
            salt: key.salt().to_vec(),
            unencrypted_rtp: parameters.unencrypted_rtp,
            unencrypted_rtcp: parameters.unencrypted_rtcp,
            unauthenticated_rtp: parameters.unauthenticated_rtp,
            mki: parameters.mki.map(v1::KeyIdentifier::from),
            others: key.others().iter().cloned().map(Self::from).collect(),
        }
    }
}

impl TryFrom<v1::MasterKey> for MasterKey {
    type Error = Error;

    fn try_from(mut message: v1::MasterKey) -> Result<Self, Error> {
        let others = std::mem::take(&mut message.others);
        if others.iter().any(|other| !other.others.is_empty()) {
            return Err(Error::NestedKeys);
        }
        let others = others.iter().map(alone).collect::<Result<_, _>>()?;
        Ok(alone(&message)?.with_others(others))
    }
}

/// A key without the others of its sender.
fn alone(message: &v1::MasterKey) -> Result<MasterKey, Error> {
    let v1::MasterKey { key, salt, .. } = message;
    let profile = SrtpProfile::from_number("MasterKey.profile", message.profile)?;
    let (field, len) = match key.len() == profile.key_len() {
        true => ("MasterKey.salt", salt.len()),
        false => ("MasterKey.key", key.len()),
    };
    let parameters = SessionParameters {
        unencrypted_rtp: message.unencrypted_rtp,
        unencrypted_rtcp: message.unencrypted_rtcp,
        unauthenticated_rtp: message.unauthenticated_rtp,
        mki: read_optional(message.mki)?,
    };
    let key = MasterKey::new(profile, key, salt).ok_or(Error::Length { field, len })?;
    Ok(key.with_parameters(parameters))
}

impl fmt::Debug for v1::MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey")
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

impl From<Mki> for v1::KeyIdentifier {
    fn from(mki: Mki) -> Self {
        Self {
            value: mki.value(),
            len: mki.len() as u32,
        }
    }
}

impl TryFrom<v1::KeyIdentifier> for Mki {
    type Error = Error;

    fn try_from(message: v1::KeyIdentifier) -> Result<Self, Error> {
        let v1::KeyIdentifier { value, len } = message;
        let error = Error::OutOfRange {
            field: "KeyIdentifier.len",
            value: len.into(),
        };
        Mki::new(value, narrow("KeyIdentifier.len", len)?).ok_or(error)
    }
}
