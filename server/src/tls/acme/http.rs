//! Requests to a directory: one connection for each, by HTTP/1.1.

use std::pin::Pin;
use std::time::Duration;

use axum::http::{Request, Response};
use bytes::Bytes;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use tokio_rustls::TlsConnector;

use super::Failure;
use crate::tls::client;

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
/// Errors: the URL is none of TLS, and those of [`client::exchange`].
async fn exchange(connector: TlsConnector, request: Request<BodyWrapper<Bytes>>) -> Result<Response<Bytes>, Failure> {
    if request.uri().scheme_str() != Some("https") {
        return Err("a URL of the directory is not `https:`".into());
    }
    client::exchange(&connector, request, ANSWER_MAX).await
}
