//! Answers to the checks of an ACME directory, while it makes them.
//!
//! Source: RFC 8555 section 8.3 (HTTP-01) and RFC 8737 (TLS-ALPN-01).

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rcgen::{CertificateParams, CustomExtension, KeyPair};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::sign::any_supported_type;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::certificate::builder;

/// The protocol of a check (RFC 8737 section 6.2).
pub(super) const ACME_TLS: &[u8] = b"acme-tls/1";

/// The answers there are. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Challenges(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    /// Of TLS-ALPN-01, by name.
    by_name: HashMap<String, Arc<ServerConfig>>,
    /// Of HTTP-01, by token.
    by_token: HashMap<String, String>,
}

/// An answer, until this is dropped.
pub(super) struct Offered {
    challenges: Challenges,
    key: Key,
}

enum Key {
    Name(String),
    Token(String),
}

impl Challenges {
    /// Answers checks of a name by TLS with the digest of a key authorization.
    ///
    /// Errors: the name is not one of DNS, or the operating system gives no randomness.
    pub(super) fn offer_tls(&self, name: &str, digest: &[u8]) -> Result<Offered, Box<dyn Error + Send + Sync>> {
        let name = name.to_ascii_lowercase();
        let config = Arc::new(config(&name, digest)?);
        self.answers().by_name.insert(name.clone(), config);
        Ok(Offered {
            challenges: self.clone(),
            key: Key::Name(name),
        })
    }

    /// Answers requests for a token with a key authorization.
    pub(super) fn offer_http(&self, token: &str, key_authorization: &str) -> Offered {
        let answers = &mut self.answers().by_token;
        answers.insert(token.to_owned(), key_authorization.to_owned());
        Offered {
            challenges: self.clone(),
            key: Key::Token(token.to_owned()),
        }
    }

    /// The handshake that answers a check of this name.
    pub(super) fn by_name(&self, name: &str) -> Option<Arc<ServerConfig>> {
        self.answers().by_name.get(&name.to_ascii_lowercase()).cloned()
    }

    /// The answer to a request for this token.
    pub(crate) fn by_token(&self, token: &str) -> Option<String> {
        self.answers().by_token.get(token).cloned()
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Offered {
    fn drop(&mut self) {
        let mut answers = self.challenges.answers();
        match &self.key {
            Key::Name(name) => drop(answers.by_name.remove(name)),
            Key::Token(token) => drop(answers.by_token.remove(token)),
        }
    }
}

/// A handshake with a certificate for the name alone, which has the digest in it (RFC 8737
/// section 3).
fn config(name: &str, digest: &[u8]) -> Result<ServerConfig, Box<dyn Error + Send + Sync>> {
    let mut params = CertificateParams::new([name.to_owned()])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    // Not by `with_single_cert`: it refuses the extension, which is critical and unknown to it.
    let key = CertifiedKey::new(vec![certificate.der().clone()], any_supported_type(&key)?);
    let mut config = builder().with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    config.alpn_protocols = vec![ACME_TLS.to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_there_until_it_is_dropped() {
        let challenges = Challenges::default();
        let by_tls = challenges.offer_tls("Weir.Example", &[7; 32]).unwrap();
        let by_http = challenges.offer_http("token", "token.thumbprint");
        let config = challenges.by_name("weir.example").unwrap();
        assert_eq!(config.alpn_protocols, [ACME_TLS]);
        assert_eq!(challenges.by_token("token").as_deref(), Some("token.thumbprint"));
        assert!(challenges.by_name("other.example").is_none() && challenges.by_token("other").is_none());
        drop((by_tls, by_http));
        assert!(challenges.by_name("weir.example").is_none() && challenges.by_token("token").is_none());
    }
}
