//! Signatures by the keys of peers' certificates.
//!
//! A certificate is proved by the fingerprint in the description; its chain is not looked at. A
//! signature proves that the peer has the certificate's key. In DTLS 1.2 the hash function of an
//! ECDSA signature does not depend on the curve.

use p224::ecdsa::signature::hazmat::PrehashVerifier;
use ring::digest;
use ring::signature::{self as algorithms, UnparsedPublicKey, VerificationAlgorithm};
use rtc_dtls::signature_hash_algorithm::{HashAlgorithm, SignatureAlgorithm, SignatureHashAlgorithm, SignatureScheme};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::HandshakeFault;

/// The algorithms that peers may sign with, in our order.
pub(super) const SCHEMES: [SignatureScheme; 7] = [
    SignatureScheme::EcdsaWithP256AndSha256,
    SignatureScheme::EcdsaWithP384AndSha384,
    SignatureScheme::EcdsaWithP521AndSha512,
    SignatureScheme::Ed25519,
    SignatureScheme::Pkcs1WithSha256,
    SignatureScheme::Pkcs1WithSha512,
    SignatureScheme::Pkcs1WithSha384,
];

/// Object identifiers of keys (RFC 5480 section 2.1, RFC 8017 appendix A.1, RFC 8410 section 3).
const EC: &str = "1.2.840.10045.2.1";
const RSA: &str = "1.2.840.113549.1.1.1";
const ED25519: &str = "1.3.101.112";

/// Object identifiers of curves (RFC 5480 section 2.1.1.1).
const P224: &str = "1.3.132.0.33";
const P256: &str = "1.2.840.10045.3.1.7";
const P384: &str = "1.3.132.0.34";
const P521: &str = "1.3.132.0.35";

/// Whether `signature` is one of `message` by the key of `certificate` (DER).
pub(super) fn verify(
    algorithm: SignatureHashAlgorithm,
    certificate: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), HandshakeFault> {
    let (_, certificate) =
        X509Certificate::from_der(certificate).map_err(|_| HandshakeFault::Kind("not X.509".to_owned()))?;
    let info = certificate.public_key();
    let parameters = info.algorithm.parameters.as_ref();
    let curve = parameters
        .and_then(|any| any.as_oid().ok())
        .map(|oid| oid.to_id_string());
    let kind = info.algorithm.algorithm.to_id_string();
    let signed = Signed {
        key: &info.subject_public_key.data,
        message,
        signature,
    };
    let is_valid = match (&kind[..], curve.as_deref(), algorithm.signature) {
        (EC, Some(curve), SignatureAlgorithm::Ecdsa) => by_curve(curve, algorithm.hash, &signed),
        (RSA, _, SignatureAlgorithm::Rsa) => by_rsa(algorithm.hash, &signed),
        (ED25519, _, SignatureAlgorithm::Ed25519) => Some(signed.is_by(&algorithms::ED25519)),
        _ => None,
    };
    match is_valid {
        Some(true) => Ok(()),
        Some(false) => Err(HandshakeFault::Signature),
        None => Err(HandshakeFault::Kind(format!(
            "key {kind}, curve {}, signature {:?} with {:?}",
            curve.as_deref().unwrap_or("none"),
            algorithm.signature,
            algorithm.hash,
        ))),
    }
}

struct Signed<'a> {
    key: &'a [u8],
    message: &'a [u8],
    signature: &'a [u8],
}

impl Signed<'_> {
    fn is_by(&self, algorithm: &'static dyn VerificationAlgorithm) -> bool {
        UnparsedPublicKey::new(algorithm, self.key)
            .verify(self.message, self.signature)
            .is_ok()
    }
}

/// ECDSA; `None` for a curve or a hash function that is not known.
fn by_curve(curve: &str, hash: HashAlgorithm, signed: &Signed<'_>) -> Option<bool> {
    macro_rules! verify {
        ($curve:ident) => {
            verify!($curve, 0)
        };
        // The library of P-521 requires a hash of at least half a number of the curve.
        ($curve:ident, $len:literal) => {{
            let key = $curve::ecdsa::VerifyingKey::from_sec1_bytes(signed.key);
            let signature = $curve::ecdsa::Signature::from_der(signed.signature);
            let mut digest = digest(hash, signed.message)?;
            let missing = usize::saturating_sub($len, digest.len());
            digest.splice(0..0, vec![0; missing]);
            matches!((key, signature), (Ok(key), Ok(signature)) if key.verify_prehash(&digest, &signature).is_ok())
        }};
    }
    use HashAlgorithm::{Sha256, Sha384};
    Some(match (curve, hash) {
        (P256, Sha256) => signed.is_by(&algorithms::ECDSA_P256_SHA256_ASN1),
        (P256, Sha384) => signed.is_by(&algorithms::ECDSA_P256_SHA384_ASN1),
        (P384, Sha256) => signed.is_by(&algorithms::ECDSA_P384_SHA256_ASN1),
        (P384, Sha384) => signed.is_by(&algorithms::ECDSA_P384_SHA384_ASN1),
        (P224, _) => verify!(p224),
        (P256, _) => verify!(p256),
        (P384, _) => verify!(p384),
        (P521, _) => verify!(p521, 33),
        _ => return None,
    })
}

/// The hash of a message.
fn digest(hash: HashAlgorithm, message: &[u8]) -> Option<Vec<u8>> {
    let algorithm = match hash {
        HashAlgorithm::Sha256 => &digest::SHA256,
        HashAlgorithm::Sha384 => &digest::SHA384,
        HashAlgorithm::Sha512 => &digest::SHA512,
        _ => return None,
    };
    Some(digest::digest(algorithm, message).as_ref().to_vec())
}

/// RSA with PKCS #1 v1.5; SHA-384 only with 2,048 bits and more.
fn by_rsa(hash: HashAlgorithm, signed: &Signed<'_>) -> Option<bool> {
    Some(signed.is_by(match hash {
        HashAlgorithm::Sha256 => &algorithms::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        HashAlgorithm::Sha384 => &algorithms::RSA_PKCS1_2048_8192_SHA384,
        HashAlgorithm::Sha512 => &algorithms::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        _ => return None,
    }))
}
