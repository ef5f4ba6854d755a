//! A peer that is the client of the handshake. Its own DTLS is right; its certificate, its
//! signature and the way to the node are not.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rtc_dtls::config::ConfigBuilder;
use rtc_dtls::crypto::Certificate;
use rtc_dtls::crypto_provider::providers::RingProvider;
use rtc_dtls::crypto_provider::{CryptoError, PublicKey, PublicKeyEncoding, SignatureScheme, SigningKey};
use rtc_dtls::endpoint::Endpoint;
use rtc_dtls::extension::extension_use_srtp::SrtpProtectionProfile;

use super::certificates;
use super::node::{ADDRESS, start};

/// A change of a datagram on its way: the first byte of a frame, modulo [`CHANGES`].
pub(super) const AS_IS: u8 = 0;
/// The rest of the frame is sent instead.
pub(super) const INSTEAD: u8 = 1;
/// The rest of the frame is sent before it.
pub(super) const BEFORE: u8 = 2;
/// It does not arrive, and is not repeated.
pub(super) const LOST: u8 = 3;
/// It ends at the place that two bytes name.
pub(super) const CUT: u8 = 4;
/// The bytes after a place are changed by an exclusive or.
pub(super) const FLIPPED: u8 = 5;
/// Bytes are inserted at a place.
pub(super) const INSERTED: u8 = 6;
/// It arrives twice, and after the next one.
pub(super) const LATE: u8 = 7;
const CHANGES: u8 = 8;

/// The least MTU, and the amount by which each step raises it. Shape: bytes.
const MTU_MIN: usize = 90;
const MTU_STEP: usize = 16;

pub(super) struct Client {
    endpoint: Endpoint,
    certificate: Vec<u8>,
    is_honest: bool,
    late: VecDeque<Vec<u8>>,
}

impl Client {
    /// The first three frames are the size of its fragments (0 or none for whole flights), its
    /// certificate, and its signature. An empty one is right.
    pub(super) fn new<'a>(frames: &mut impl Iterator<Item = &'a [u8]>) -> Self {
        let mut shown = || frames.next().unwrap_or_default();
        let mtu = match shown().first() {
            None | Some(0) => 1_200,
            Some(steps) => MTU_MIN + MTU_STEP * (usize::from(*steps) - 1),
        };
        let (certificate, signature) = (shown(), shown());
        let certificate = match certificate {
            [] => certificates::honest(),
            shown => shown.to_vec(),
        };
        let public = honest_key().public_key().as_ref();
        let has_key = certificate.windows(public.len()).any(|part| part == public);
        let key = Arc::new(Key(signature.to_vec()));
        let config = ConfigBuilder::default()
            .with_crypto_provider(Arc::new(RingProvider::new()))
            .with_certificates(vec![Certificate::from_signing_key(
                vec![certificate.clone().into()],
                key,
            )])
            .with_srtp_protection_profiles(vec![SrtpProtectionProfile::Srtp_Aead_Aes_128_Gcm])
            .with_insecure_skip_verify(true)
            .with_server_name("localhost".to_owned())
            .with_mtu(mtu)
            .build(true, None)
            .expect("the configuration is right");
        let mut endpoint = Endpoint::new(ADDRESS, Default::default(), None);
        endpoint
            .connect(start(), ADDRESS, Arc::new(config), None)
            .expect("its first flight needs nothing");
        Self {
            endpoint,
            certificate,
            is_honest: signature.is_empty() && has_key,
            late: VecDeque::new(),
        }
    }

    /// The certificate that its description promises: the one that it shows.
    pub(super) fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Whether it may be connected: its key is the certificate's.
    pub(super) fn is_honest(&self) -> bool {
        self.is_honest
    }

    pub(super) fn receive(&mut self, datagram: &[u8]) {
        // It goes on with the rest after a fault.
        let _ = self.endpoint.read(start(), ADDRESS, None, datagram.into());
    }

    /// The datagrams that arrive for its next one, changed by the next frame; `None` once it has
    /// nothing more to send.
    pub(super) fn send<'a>(&mut self, frames: &mut impl Iterator<Item = &'a [u8]>) -> Option<Vec<Vec<u8>>> {
        let own = self.endpoint.poll_transmit().map(|transmit| transmit.message.to_vec());
        let frame = frames.next();
        if own.is_none() && frame.is_none() {
            return self.late.pop_front().map(|late| vec![late]);
        }
        let held = std::mem::take(&mut self.late);
        let mut arriving = self.change(own, frame.unwrap_or_default());
        arriving.extend(held);
        Some(arriving)
    }

    fn change(&mut self, own: Option<Vec<u8>>, frame: &[u8]) -> Vec<Vec<u8>> {
        let (kind, argument) = frame.split_first().unwrap_or((&AS_IS, &[]));
        let Some(mut own) = own else {
            return vec![argument.to_vec()];
        };
        let (place, bytes) = argument.split_first_chunk::<2>().unwrap_or((&[0; 2], &[]));
        let at = usize::from(u16::from_be_bytes(*place)).min(own.len());
        match kind % CHANGES {
            INSTEAD => return vec![argument.to_vec()],
            BEFORE => return vec![argument.to_vec(), own],
            LOST => return Vec::new(),
            CUT => own.truncate(at),
            FLIPPED => own[at..]
                .iter_mut()
                .zip(bytes)
                .for_each(|(byte, change)| *byte ^= change),
            INSERTED => drop(own.splice(at..at, bytes.iter().copied())),
            LATE => {
                self.late.extend([own.clone(), own]);
                return Vec::new();
            }
            _ => {}
        }
        vec![own]
    }
}

/// Whether the client of this input shows a signature of its own.
#[cfg(test)]
pub(super) fn is_forged(input: &[u8]) -> bool {
    super::frames(input)
        .nth(2)
        .is_some_and(|signature| !signature.is_empty())
}

/// Signs with these bytes, whatever the message is; with none, by the key of the honest
/// certificate.
struct Key(Vec<u8>);

impl SigningKey for Key {
    fn supports(&self, scheme: SignatureScheme) -> bool {
        scheme == SignatureScheme::EcdsaP256Sha256 || !self.0.is_empty()
    }

    fn public_key(&self) -> PublicKey<'_> {
        PublicKey {
            encoding: PublicKeyEncoding::SubjectPublicKeyInfoDer,
            bytes: b"unused",
        }
    }

    fn sign(&self, _: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        if !self.0.is_empty() {
            return Ok(self.0.clone());
        }
        let signature = honest_key().sign(&SystemRandom::new(), message);
        Ok(signature.expect("there is randomness").as_ref().to_vec())
    }
}

/// The key of the honest certificate.
fn honest_key() -> &'static EcdsaKeyPair {
    static KEY: OnceLock<EcdsaKeyPair> = OnceLock::new();
    KEY.get_or_init(|| {
        let der = certificates::honest_key();
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &SystemRandom::new()).expect("the key is right")
    })
}
