use crypto::{ActiveKeyExchange, CryptoError, KeyExchangeAlgorithm, RTCCrypto, SecretVec};
use p521::elliptic_curve::rand_core;
use shared::error::*;

// https://www.iana.org/assignments/tls-parameters/tls-parameters.xml#tls-parameters-8
#[repr(u16)]
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
/// The named elliptic curves this crate can perform ECDHE over.
#[non_exhaustive]
pub enum NamedCurve {
    /// `UNSUPPORTED` (`0x0000`).
    Unsupported = 0x0000,
    /// `P224` (`0x0015`).
    P224 = 0x0015,
    /// `P256` (`0x0017`).
    P256 = 0x0017,
    /// `P384` (`0x0018`).
    P384 = 0x0018,
    /// `P521` (`0x0019`).
    P521 = 0x0019,
    /// `X25519` (`0x001d`).
    X25519 = 0x001d,
}

impl From<u16> for NamedCurve {
    fn from(val: u16) -> Self {
        match val {
            0x0015 => NamedCurve::P224,
            0x0017 => NamedCurve::P256,
            0x0018 => NamedCurve::P384,
            0x0019 => NamedCurve::P521,
            0x001d => NamedCurve::X25519,
            _ => NamedCurve::Unsupported,
        }
    }
}

/// An ephemeral ECDHE key pair, with the curve it belongs to.
pub struct NamedCurveKeypair {
    pub(crate) curve: NamedCurve,
    pub(crate) public_key: Vec<u8>,
    active: Option<Box<dyn ActiveKeyExchange>>,
}

impl NamedCurveKeypair {
    pub(crate) fn complete(&mut self, peer_public_key: &[u8]) -> Result<Vec<u8>> {
        let active = self
            .active
            .take()
            .ok_or(Error::ErrNamedCurveAndPrivateKeyMismatch)?;
        active
            .complete(peer_public_key)
            .map(|secret| secret.into_bytes())
            .map_err(|error| Error::Crypto(error.to_string()))
    }
}

impl NamedCurve {
    pub(crate) const fn crypto_algorithm(self) -> Result<KeyExchangeAlgorithm> {
        match self {
            Self::P256 => Ok(KeyExchangeAlgorithm::P256),
            Self::P384 => Ok(KeyExchangeAlgorithm::P384),
            Self::X25519 => Ok(KeyExchangeAlgorithm::X25519),
            Self::P224 | Self::P521 | Self::Unsupported => Err(Error::ErrInvalidNamedCurve),
        }
    }

    pub(crate) fn generate_keypair_with_crypto(
        self,
        crypto: &dyn RTCCrypto,
    ) -> Result<NamedCurveKeypair> {
        match self {
            Self::P224 => return Ok(P224Exchange::keypair()),
            Self::P521 => return Ok(P521Exchange::keypair()),
            _ => {}
        }
        let active = crypto
            .start_key_exchange(self.crypto_algorithm()?)
            .map_err(|error| Error::Crypto(error.to_string()))?;
        let public_key = active.public_key().to_vec();
        Ok(NamedCurveKeypair {
            curve: self,
            public_key,
            active: Some(active),
        })
    }
}

/// Key exchange on a curve that no crypto provider of the library has. A server with a certificate
/// on the curve requires that the client offers the curve.
macro_rules! key_exchange {
    ($name:ident, $curve:ident, $variant:ident) => {
        struct $name {
            secret: $curve::ecdh::EphemeralSecret,
            public_key: Vec<u8>,
        }

        impl $name {
            fn keypair() -> NamedCurveKeypair {
                let secret = $curve::ecdh::EphemeralSecret::random(&mut rand_core::OsRng);
                let public_key = $curve::EncodedPoint::from(secret.public_key())
                    .as_bytes()
                    .to_vec();
                NamedCurveKeypair {
                    curve: NamedCurve::$variant,
                    public_key: public_key.clone(),
                    active: Some(Box::new($name { secret, public_key })),
                }
            }
        }

        impl ActiveKeyExchange for $name {
            fn algorithm(&self) -> KeyExchangeAlgorithm {
                // The library has no name for it, and asks for none.
                KeyExchangeAlgorithm::P384
            }

            fn public_key(&self) -> &[u8] {
                &self.public_key
            }

            fn complete(
                self: Box<Self>,
                peer_public_key: &[u8],
            ) -> std::result::Result<SecretVec, CryptoError> {
                let peer = $curve::PublicKey::from_sec1_bytes(peer_public_key)
                    .map_err(|_| CryptoError::InvalidPublicKey)?;
                let shared = self.secret.diffie_hellman(&peer);
                Ok(SecretVec::new(shared.raw_secret_bytes().to_vec()))
            }
        }
    };
}

key_exchange!(P224Exchange, p224, P224);
key_exchange!(P521Exchange, p521, P521);
