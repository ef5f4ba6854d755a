//! Requests to a directory: one connection for each, by HTTP/1.1.

use std::pin::{Pin, pin};
use std::time::Duration;

use axum::http::{HeaderValue, Request, Response, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::Failure;

/// How long a request may take.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// The longest answer.
const ANSWER_MAX: usize = 1 << 20;

/// A client of directories.
pub(super) struct Client {
    connector: TlsConnector,
}

impl Client {
    /// With these trusted certificates.
    pub(super) fn new(connector: TlsConnector) -> Self {
        Client { connector }
    }
}

impl HttpClient for Client {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let connector = self.connector.clone();
        Box::pin(async move {
            match tokio::time::timeout(REQUEST_MAX, exchange(connector, request)).await {
                Ok(Ok(response)) => {
                    let (parts, body) = response.into_parts();
                    Ok(BytesResponse {
                        parts,
                        body: Box::new(body),
                    })
                }
                Ok(Err(error)) => Err(Error::Other(error)),
                Err(_) => Err(Error::Other("the directory does not answer in time".into())),
            }
        })
    }
}

/// Sends a request, and reads the answer.
///
/// Errors: the directory cannot be reached, is not the one that its certificate must name, or does
/// not answer in HTTP.
async fn exchange(connector: TlsConnector, request: Request<BodyWrapper<Bytes>>) -> Result<Response<Bytes>, Failure> {
    let (mut parts, body) = request.into_parts();
    if parts.uri.scheme_str() != Some("https") {
        return Err("a URL of the directory is not `https:`".into());
    }
    let authority = parts
        .uri
        .authority()
        .cloned()
        .ok_or("a URL of the directory has no host")?;
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let port = authority.port_u16().unwrap_or(443);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse::<Uri>()?;
    let headers = &mut parts.headers;
    headers.insert(header::HOST, HeaderValue::from_str(authority.as_str())?);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    let stream = connector.connect(ServerName::try_from(host)?, stream).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut connection = pin!(connection);
    let mut answer = pin!(async {
        let response = sender.send_request(Request::from_parts(parts, body)).await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_MAX).collect().await?.to_bytes();
        Ok::<_, Failure>(Response::from_parts(parts, body))
    });
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        // The rest of the answer may have been read with the end of the connection.
        _ = &mut connection => answer.await,
    }
}
