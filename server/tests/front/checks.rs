//! The checks that an ACME directory makes of a name.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use crate::authority::{connect, shown};

/// Whether a server at this port of HTTP answers for a name (RFC 8555 section 8.3).
pub(crate) fn by_http(port: u16, name: &str, token: &str, key_authorization: &str) -> bool {
    let answer = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        let path = format!("/.well-known/acme-challenge/{token}");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        std::io::Result::Ok(answer)
    };
    let answer = answer().unwrap_or_default();
    answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(&format!("\r\n\r\n{key_authorization}"))
}

/// Whether a server at this port of HTTPS answers for a name (RFC 8737 section 3).
pub(crate) fn by_tls(port: u16, name: &str, key_authorization: &str) -> bool {
    const ACME_IDENTIFIER: [u8; 10] = [0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x1f];
    const OCTETS: [u8; 2] = [0x04, 0x20];
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"acme-tls/1".to_vec()];
    let Ok(stream) = connect(&Arc::new(config), port, name) else {
        return false;
    };
    let certificate = shown(&stream);
    let has = |wanted: &[u8]| certificate.windows(wanted.len()).any(|part| part == wanted);
    let digest = [&OCTETS[..], &Sha256::digest(key_authorization)[..]].concat();
    stream.conn.alpn_protocol() == Some(&b"acme-tls/1"[..])
        && has(&ACME_IDENTIFIER)
        && has(&digest)
        && has(name.as_bytes())
}

/// Takes any certificate, as a directory does: what is in it is the proof.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = ring::default_provider();
        provider.signature_verification_algorithms.supported_schemes()
    }
}
