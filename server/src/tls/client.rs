//! TLS as a client: to receivers of webhooks, to ACME directories, and to servers that commands
//! ask.

use std::error::Error;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use axum::http::{HeaderValue, Request, Response, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tracing::warn;

/// The reason why there is no answer.
type Failure = Box<dyn Error + Send + Sync>;

/// A connection to a server.
trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Connection for S {}

/// Sends a request to the `http:` or `https:` URL in it, over a connection of its own, and reads
/// the answer. A redirection is not followed.
///
/// Errors: the server cannot be reached, is not the one that its certificate must name, does not
/// answer in HTTP, or answers with more than `answer_max` bytes. The caller sets the time limit.
pub(crate) async fn exchange<B>(
    connector: &TlsConnector,
    request: Request<B>,
    answer_max: usize,
) -> Result<Response<Bytes>, Failure>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Failure>,
{
    let (mut parts, body) = request.into_parts();
    let is_tls = parts.uri.scheme_str() == Some("https");
    let authority = parts.uri.authority().cloned().ok_or("the URL has no host")?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse::<Uri>()?;
    let headers = &mut parts.headers;
    headers.insert(header::HOST, HeaderValue::from_str(authority.as_str())?);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    let stream = TcpStream::connect((host, port)).await?;
    let stream: Box<dyn Connection> = match is_tls {
        true => Box::new(
            connector
                .connect(ServerName::try_from(host.to_owned())?, stream)
                .await?,
        ),
        false => Box::new(stream),
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut connection = pin!(connection);
    let mut answer = pin!(async {
        let response = sender.send_request(Request::from_parts(parts, body)).await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, answer_max).collect().await?.to_bytes();
        Ok::<_, Failure>(Response::from_parts(parts, body))
    });
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        // The rest of the answer may have been read with the end of the connection.
        _ = &mut connection => answer.await,
    }
}

/// A client that trusts these certificates.
pub(crate) fn connector(roots: RootCertStore) -> TlsConnector {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// This machine's certificates, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name. `purpose`
/// says in the log what is not possible without any.
pub(crate) fn machine_roots(purpose: &str) -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        warn!(errors = ?found.errors, "{purpose}: this machine trusts no certificate");
    }
    roots
}

/// The certificates in a file.
///
/// Errors: it cannot be read, or is not PEM.
pub(crate) fn roots_in(path: &Path) -> Result<RootCertStore, pem::Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path)? {
        roots.add_parsable_certificates([certificate?]);
    }
    match roots.is_empty() {
        true => Err(pem::Error::NoItemsFound),
        false => Ok(roots),
    }
}
