//! The handshake of a connection.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::server::{Acceptor, ClientHello};
use tokio_rustls::server::TlsStream;
use tracing::debug;

use super::certificate::HTTP_2;
use super::challenges::ACME_TLS;
use super::counters::HandshakeResult;
use super::store::Certificates;

/// The fatal alert `unrecognized_name` (RFC 6066 section 3), as a record (RFC 8446 section 5.1).
const UNRECOGNIZED_NAME: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];

/// The protocols of a TURN server in ALPN (RFC 7443).
const TURN: [&[u8]; 2] = [b"stun.turn", b"stun.nat-discovery"];

/// A connection after its handshake, by the protocol that was agreed.
#[derive(Debug)]
pub(crate) enum Accepted<S> {
    /// HTTP/1.1, also where the client named no protocol.
    Http1(TlsStream<S>),
    /// HTTP/2.
    Http2(TlsStream<S>),
    /// STUN and TURN.
    Turn(TlsStream<S>),
}

/// Makes the handshake of a connection. The protocols of TURN are agreed if it `has_turn`. The
/// caller sets the time limit, and counts the result.
///
/// Errors: the result, where no requests follow.
pub(crate) async fn accept<S>(
    stream: S,
    certificates: &Certificates,
    has_turn: bool,
) -> Result<Accepted<S>, HandshakeResult>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let failed = |error: std::io::Error| {
        debug!(%error, "a TLS handshake failed");
        HandshakeResult::Failed
    };
    let start = LazyConfigAcceptor::new(Acceptor::default(), stream)
        .await
        .map_err(failed)?;
    let (is_challenge, config) = choose(&start.client_hello(), certificates);
    let is_turn = has_turn && !is_challenge && asks_for_turn(&start.client_hello());
    let Some(config) = config.map(|config| if is_turn { with_turn(&config) } else { config }) else {
        let mut stream = start.io;
        // The connection ends in either case.
        let _ = stream.write_all(&UNRECOGNIZED_NAME).await;
        let _ = stream.shutdown().await;
        return Err(HandshakeResult::UnknownName);
    };
    let mut stream = start.into_stream(config).await.map_err(failed)?;
    if is_challenge {
        // The check is over with the handshake (RFC 8737 section 3).
        let _ = stream.shutdown().await;
        return Err(HandshakeResult::Challenge);
    }
    let protocol = stream.get_ref().1.alpn_protocol();
    Ok(match protocol {
        Some(HTTP_2) => Accepted::Http2(stream),
        Some(protocol) if TURN.contains(&protocol) => Accepted::Turn(stream),
        _ => Accepted::Http1(stream),
    })
}

/// Whether a client is one of TURN by the protocols that it names.
fn asks_for_turn(hello: &ClientHello<'_>) -> bool {
    let mut protocols = hello.alpn().into_iter().flatten();
    protocols.any(|protocol| TURN.contains(&protocol))
}

/// The same handshake with the protocols of TURN in front of the others.
fn with_turn(config: &ServerConfig) -> Arc<ServerConfig> {
    let mut config = config.clone();
    let turn = TURN.map(<[u8]>::to_vec);
    config.alpn_protocols.splice(..0, turn);
    Arc::new(config)
}

/// Whether a client is an ACME directory that makes a check, and the handshake for it.
fn choose(hello: &ClientHello<'_>, certificates: &Certificates) -> (bool, Option<Arc<ServerConfig>>) {
    let protocols = hello.alpn();
    let is_challenge = protocols.is_some_and(|mut protocols| protocols.any(|protocol| protocol == ACME_TLS));
    let name = hello.server_name();
    let config = match is_challenge {
        true => name.and_then(|name| certificates.challenges().by_name(name)),
        false => certificates.choose(name),
    };
    if config.is_none() {
        debug!(name, is_challenge, "no certificate is for the name of a TLS handshake");
    }
    (is_challenge, config)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};
    use tokio::io::{DuplexStream, duplex};
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{AlertDescription, ClientConfig, Error, RootCertStore};

    use super::*;
    use crate::tls::certificate::Certificate;

    fn certificates(name: &str) -> (Certificates, CertificateDer<'static>) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()])
            .unwrap()
            .self_signed(&key)
            .unwrap();
        let root = certificate.der().clone();
        let certificates = Certificates::default();
        let pem = (certificate.pem(), key.serialize_pem());
        let served = Certificate::from_pem(pem.0.as_bytes(), pem.1.as_bytes()).unwrap();
        certificates.set_own(vec![Arc::new(served)]);
        (certificates, root)
    }

    /// Makes a handshake for a name and these protocols, at a port of HTTPS with TURN.
    async fn shake(
        certificates: &Certificates,
        root: CertificateDer<'static>,
        name: &'static str,
        protocols: &[&[u8]],
    ) -> (
        Result<Accepted<DuplexStream>, HandshakeResult>,
        Result<(), std::io::Error>,
    ) {
        shake_at(true, certificates, root, name, protocols).await
    }

    /// The same with TURN or without.
    async fn shake_at(
        has_turn: bool,
        certificates: &Certificates,
        root: CertificateDer<'static>,
        name: &'static str,
        protocols: &[&[u8]],
    ) -> (
        Result<Accepted<DuplexStream>, HandshakeResult>,
        Result<(), std::io::Error>,
    ) {
        let mut roots = RootCertStore::empty();
        roots.add(root).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let (client, server) = duplex(16 << 10);
        let connector = TlsConnector::from(Arc::new(config));
        let connect = connector.connect(ServerName::try_from(name).unwrap(), client);
        let (accepted, connected) = tokio::join!(accept(server, certificates, has_turn), connect);
        (accepted, connected.map(|_| ()))
    }

    #[tokio::test]
    async fn the_protocol_is_agreed() {
        let (certificates, root) = certificates("weir.example");
        let shake = async |protocols: &[&[u8]]| shake(&certificates, root.clone(), "weir.example", protocols).await.0;
        assert!(matches!(shake(&[b"h2", b"http/1.1"]).await, Ok(Accepted::Http2(_))));
        assert!(matches!(shake(&[b"http/1.1"]).await, Ok(Accepted::Http1(_))));
        assert!(matches!(shake(&[]).await, Ok(Accepted::Http1(_))));
        assert!(matches!(shake(&[b"spdy/3"]).await, Err(HandshakeResult::Failed)));
        assert!(matches!(shake(&[b"stun.turn"]).await, Ok(Accepted::Turn(_))));
        assert!(matches!(shake(&[b"stun.nat-discovery"]).await, Ok(Accepted::Turn(_))));
        assert!(matches!(
            shake(&[b"http/1.1", b"stun.turn"]).await,
            Ok(Accepted::Turn(_))
        ));
    }

    #[tokio::test]
    async fn the_protocols_of_turn_are_refused_without_a_turn_server() {
        let (certificates, root) = certificates("weir.example");
        let shake = async |protocols: &[&[u8]]| {
            let shaken = shake_at(false, &certificates, root.clone(), "weir.example", protocols);
            shaken.await.0
        };
        assert!(matches!(shake(&[b"stun.turn"]).await, Err(HandshakeResult::Failed)));
        assert!(matches!(shake(&[b"stun.turn", b"h2"]).await, Ok(Accepted::Http2(_))));
    }

    #[tokio::test]
    async fn another_name_is_refused_with_its_alert() {
        let (certificates, root) = certificates("weir.example");
        let (accepted, connected) = shake(&certificates, root, "other.example", &[b"h2"]).await;
        assert!(matches!(accepted, Err(HandshakeResult::UnknownName)));
        let error = connected.unwrap_err();
        let inner = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
        assert_eq!(inner, Some(&Error::AlertReceived(AlertDescription::UnrecognisedName)));
    }

    #[tokio::test]
    async fn a_check_is_answered_while_it_is_expected() {
        let (certificates, root) = certificates("weir.example");
        let check = async |name| shake(&certificates, root.clone(), name, &[ACME_TLS]).await.0;
        assert!(matches!(check("weir.example").await, Err(HandshakeResult::UnknownName)));
        let offered = certificates.challenges().offer_tls("new.example", &[7; 32]).unwrap();
        // The client of this test does not trust its certificate, as a directory would.
        assert!(matches!(check("new.example").await, Err(HandshakeResult::Failed)));
        assert!(matches!(check("weir.example").await, Err(HandshakeResult::UnknownName)));
        drop(offered);
        assert!(matches!(check("new.example").await, Err(HandshakeResult::UnknownName)));
    }

    #[tokio::test]
    async fn other_bytes_than_tls_fail() {
        let (certificates, _) = certificates("weir.example");
        let (mut client, server) = duplex(16 << 10);
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let accepted = accept(server, &certificates, true).await;
        assert!(matches!(accepted, Err(HandshakeResult::Failed)));
    }
}
