//! Hashes of certificates, as fingerprints in descriptions have them (RFC 8122).

use ring::digest;
use sha2::Digest;
use southbound::HashFunction;

/// The hash of a certificate.
pub(crate) fn digest(hash: HashFunction, certificate: &[u8]) -> Vec<u8> {
    let algorithm = match hash {
        HashFunction::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        HashFunction::Sha224 => return sha2::Sha224::digest(certificate).to_vec(),
        HashFunction::Sha256 => &digest::SHA256,
        HashFunction::Sha384 => &digest::SHA384,
        HashFunction::Sha512 => &digest::SHA512,
    };
    digest::digest(algorithm, certificate).as_ref().to_vec()
}
