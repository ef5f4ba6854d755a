//! Certificates of every kind in both roles, and each fault of one.

use std::fmt::Debug;

use super::*;
use p224::ecdsa::signature::hazmat::PrehashSigner;
use p224::pkcs8::DecodePrivateKey;
use ring::rand::SystemRandom;
use ring::signature as algorithms;
use rtc_dtls::config::ClientAuthType;
use rtc_dtls::crypto_provider::{CryptoError, PublicKey, PublicKeyEncoding, SignatureScheme, SigningKey};
use rtc_dtls::signature_hash_algorithm::{HashAlgorithm, SignatureAlgorithm, SignatureHashAlgorithm};

/// The bytes of the line that begins with `name` in the file of certificates.
fn line(name: &str) -> Vec<u8> {
    let lines = include_str!("certificates.txt").lines();
    let found = lines
        .filter_map(|line| line.rsplit_once(' '))
        .find(|(before, _)| *before == name);
    unhex(found.unwrap_or_else(|| panic!("no line {name}")).1)
}

/// A key of a peer, by which it signs with ECDSA if it is on a curve.
struct Key {
    kind: &'static str,
    /// It signs something else.
    lies: bool,
}

impl Key {
    fn sign_with(&self, scheme: SignatureScheme, message: &[u8]) -> Vec<u8> {
        let der = line(&format!("key {}", self.kind));
        let hash = match scheme {
            SignatureScheme::EcdsaP384Sha384 => &ring::digest::SHA384,
            _ => &ring::digest::SHA256,
        };
        let mut digest = ring::digest::digest(hash, message).as_ref().to_vec();
        macro_rules! sign {
            ($curve:ident) => {{
                let key = $curve::ecdsa::SigningKey::from_pkcs8_der(&der).unwrap();
                let signature: $curve::ecdsa::Signature = key.sign_prehash(&digest).unwrap();
                signature.to_der().as_bytes().to_vec()
            }};
        }
        match self.kind {
            "P-224" => sign!(p224),
            "P-256" => sign!(p256),
            "P-384" => sign!(p384),
            "P-521" => {
                digest.splice(0..0, [0; 18]);
                let secret = p521::SecretKey::from_pkcs8_der(&der).unwrap();
                let key = p521::ecdsa::SigningKey::from_bytes(&secret.to_bytes()).unwrap();
                let signature: p521::ecdsa::Signature = key.sign_prehash(&digest).unwrap();
                signature.to_der().as_bytes().to_vec()
            }
            "Ed25519" => {
                let key = algorithms::Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).unwrap();
                key.sign(message).as_ref().to_vec()
            }
            _ => {
                let key = algorithms::RsaKeyPair::from_pkcs8(&der).unwrap();
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(
                    &algorithms::RSA_PKCS1_SHA256,
                    &SystemRandom::new(),
                    message,
                    &mut signature,
                )
                .unwrap();
                signature
            }
        }
    }
}

impl SigningKey for Key {
    fn supports(&self, scheme: SignatureScheme) -> bool {
        use SignatureScheme::{EcdsaP256Sha256, Ed25519, RsaPkcs1Sha256};
        match self.kind {
            kind if kind.starts_with("RSA") => scheme == RsaPkcs1Sha256,
            "Ed25519" => scheme == Ed25519,
            _ => scheme == EcdsaP256Sha256,
        }
    }

    fn public_key(&self) -> PublicKey<'_> {
        PublicKey {
            encoding: PublicKeyEncoding::SubjectPublicKeyInfoDer,
            bytes: self.kind.as_bytes(),
        }
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        Ok(self.sign_with(scheme, if self.lies { b"something else" } else { message }))
    }
}

/// The certificate and the proof of a peer.
#[derive(Clone, Copy, Default)]
struct Shown {
    /// The kind of its certificate; `None` shows none.
    certificate: Option<&'static str>,
    /// The kind of the key that it signs with, if that is another.
    key: Option<&'static str>,
    lies: bool,
    /// Its certificate is not the promised one.
    is_another: bool,
    /// Its flights arrive in small pieces, the last first.
    in_pieces: bool,
}

/// The keys of a handshake with this peer, or its fault; and the fatal alerts that were sent.
fn handshake(role: DtlsRole, shown: Shown) -> (Result<bool, HandshakeFault>, Vec<u8>) {
    let now = Instant::now();
    let mut certificates = Vec::new();
    let mut promised = vec![7; 32];
    if let Some(kind) = shown.certificate {
        let der = line(&format!("certificate {kind}"));
        if !shown.is_another {
            promised = digest(HashFunction::Sha256, &der);
        }
        let key = Arc::new(Key {
            kind: shown.key.unwrap_or(kind),
            lies: shown.lies,
        });
        certificates.push(rtc_dtls::crypto::Certificate::from_signing_key(vec![der.into()], key));
    }
    let config = ConfigBuilder::default()
        .with_crypto_provider(Arc::new(RingProvider::new()))
        .with_certificates(certificates)
        .with_srtp_protection_profiles(vec![Profile::Srtp_Aead_Aes_128_Gcm])
        .with_client_auth(ClientAuthType::RequireAnyClientCert)
        .with_insecure_skip_verify(true)
        .with_server_name("localhost".to_owned())
        .with_mtu(if shown.in_pieces { 90 } else { 1_200 })
        .build(role == DtlsRole::Server, None)
        .unwrap();
    let address = "127.0.0.1:2".parse().unwrap();
    let config = Arc::new(config);
    let mut peer = Endpoint::new(address, Default::default(), Some(config.clone()));
    if role == DtlsRole::Server {
        peer.connect(now, address, config, None).unwrap();
    }
    let identity = Identity::new(&Certificate::generate().unwrap(), Duration::from_secs(20));
    let promised = vec![Fingerprint {
        hash: HashFunction::Sha256,
        digest: promised,
    }];
    let mut ours = Association::new(&identity, role, promised, now);
    let (mut has_keys, mut alerts, mut effects) = (false, Vec::new(), Vec::new());
    let mut result = ours.handle_timeout(now, &mut effects);
    for _ in 0..20 {
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Send(datagram) => {
                    if let [21, .., 2, name] = datagram[..] {
                        alerts.push(name);
                    }
                    let _ = peer.read(now, address, None, datagram[..].into());
                }
                Effect::Keys(..) => has_keys = true,
                Effect::Data(_) | Effect::Closed => {}
            }
        }
        let mut flight: Vec<_> = std::iter::from_fn(|| peer.poll_transmit()).collect();
        if shown.in_pieces {
            flight.reverse();
        }
        for transmit in flight {
            result = result.and_then(|()| ours.receive(now, &transmit.message, &mut effects));
        }
    }
    (result.map(|()| has_keys), alerts)
}

const ROLES: [DtlsRole; 2] = [DtlsRole::Client, DtlsRole::Server];

#[test]
fn certificates_of_every_kind_are_taken_in_both_roles() {
    for kind in ["P-224", "P-256", "P-384", "P-521", "RSA-2048", "RSA-4096", "Ed25519"] {
        for role in ROLES {
            // The peer's library serves no Ed25519.
            if (kind, role) == ("Ed25519", DtlsRole::Client) {
                continue;
            }
            let shown = Shown {
                certificate: Some(kind),
                ..Shown::default()
            };
            assert_eq!(
                handshake(role, shown),
                (Ok(true), vec![]),
                "{kind}, we are the {role:?}"
            );
        }
    }
}

#[test]
fn flights_in_pieces_are_assembled_in_any_order() {
    for role in ROLES {
        let shown = Shown {
            certificate: Some("RSA-4096"),
            in_pieces: true,
            ..Shown::default()
        };
        assert_eq!(handshake(role, shown), (Ok(true), vec![]), "{role:?}");
    }
}

#[test]
fn a_refused_certificate_is_told_by_a_fatal_alert() {
    let p256 = Shown {
        certificate: Some("P-256"),
        ..Shown::default()
    };
    let unknown = Shown {
        certificate: Some("brainpoolP256r1"),
        key: Some("P-256"),
        ..p256
    };
    let brainpool = "key 1.2.840.10045.2.1, curve 1.3.36.3.3.2.8.1.1.7, signature Ecdsa with Sha256";
    let of_another = Shown {
        certificate: Some("P-384"),
        key: Some("P-256"),
        ..p256
    };
    for role in ROLES {
        for (shown, fault) in [
            (
                Shown {
                    is_another: true,
                    ..p256
                },
                HandshakeFault::Fingerprint,
            ),
            (Shown { lies: true, ..p256 }, HandshakeFault::Signature),
            (of_another, HandshakeFault::Signature),
            (unknown, HandshakeFault::Kind(brainpool.to_owned())),
        ] {
            assert_eq!(handshake(role, shown), (Err(fault), vec![BAD_CERTIFICATE]), "{role:?}");
        }
    }
    let none = handshake(DtlsRole::Server, Shown::default());
    assert_eq!(none, (Err(HandshakeFault::NoCertificate), vec![NO_CERTIFICATE]));
}

const NO_CERTIFICATE: u8 = 41;
const BAD_CERTIFICATE: u8 = 42;

#[test]
fn signatures_of_every_kind_and_hash_are_verified() {
    use HashAlgorithm::{Ed25519, Sha256, Sha384, Sha512};
    let wrong: Result<(), HandshakeFault> = Err(HandshakeFault::Signature);
    let mut checked = 0;
    for kind in [
        "P-224", "P-256", "P-384", "P-521", "RSA-1024", "RSA-2048", "RSA-4096", "Ed25519",
    ] {
        for hash in [Sha256, Sha384, Sha512, Ed25519] {
            if (kind == "Ed25519") != (hash == Ed25519) {
                continue;
            }
            let algorithm = SignatureHashAlgorithm {
                hash,
                signature: match kind {
                    "Ed25519" => SignatureAlgorithm::Ed25519,
                    kind if kind.starts_with("RSA") => SignatureAlgorithm::Rsa,
                    _ => SignatureAlgorithm::Ecdsa,
                },
            };
            let certificate = line(&format!("certificate {kind}"));
            let signature = line(&format!("signature {kind} {}", name(&hash)));
            let verify = |message: &[u8]| signature::verify(algorithm, &certificate, message, &signature);
            // `ring` verifies no SHA-384 by so short a key.
            let expected = if (kind, hash) == ("RSA-1024", Sha384) {
                wrong.clone()
            } else {
                Ok(())
            };
            assert_eq!(verify(b"weir"), expected, "{kind} {hash:?}");
            assert_eq!(verify(b"Weir"), wrong, "{kind} {hash:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 22);
}

fn name(hash: &impl Debug) -> String {
    format!("{hash:?}")
}
