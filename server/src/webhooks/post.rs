//! One request to a receiver.

use std::error::Error;
use std::pin::pin;
use std::time::Duration;

use axum::http::{HeaderValue, Request, Response, Uri, header};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use livekit::webhook::{CONTENT_TYPE, Outcome};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::tls::Tls;

/// The most bytes of an answer's head.
const HEAD_MAX: usize = 16 << 10;

/// The most fields of an answer's head.
const FIELDS_MAX: usize = 64;

type Failure = Box<dyn Error + Send + Sync>;

/// Sends a body, and waits for the head of the answer. The rest of the answer is not read, and a
/// redirection is not followed.
///
/// Errors: the receiver cannot be reached, is not the one that its certificate must name, or does
/// not answer in HTTP. The caller sets the time limit.
pub(super) async fn post(tls: &Tls, url: &str, token: String, body: Bytes) -> Result<Outcome, Failure> {
    let uri: Uri = url.parse()?;
    let is_tls = uri.scheme_str() == Some("https");
    let authority = uri.authority().ok_or("the URL has no host")?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let request = Request::post(uri.path_and_query().map_or("/", |path| path.as_str()))
        .header(header::HOST, authority.as_str())
        .header(header::AUTHORIZATION, token)
        .header(header::CONTENT_TYPE, CONTENT_TYPE)
        .header(header::USER_AGENT, concat!("weir/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close")
        .body(Full::new(body))?;
    let stream = TcpStream::connect((host, port)).await?;
    // An error costs a little time only.
    let _ = stream.set_nodelay(true);
    let response = match is_tls {
        true => {
            let connector = tls.connector().ok_or("there is no TLS")?;
            let name = ServerName::try_from(host.to_owned())?;
            exchange(connector.connect(name, stream).await?, request).await?
        }
        false => exchange(stream, request).await?,
    };
    Ok(Outcome::Answered {
        status: response.status().as_u16(),
        retry_after: response.headers().get(header::RETRY_AFTER).and_then(seconds),
    })
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_MAX)
        .max_headers(FIELDS_MAX)
        .handshake(TokioIo::new(stream))
        .await?;
    let mut response = pin!(sender.send_request(request));
    let connection = pin!(connection);
    tokio::select! {
        biased;
        answered = &mut response => Ok(answered?),
        ended = connection => match (response.await, ended) {
            (Ok(response), _) => Ok(response),
            (Err(_), Err(error)) => Err(error.into()),
            (Err(error), Ok(())) => Err(error.into()),
        },
    }
}

/// A number of seconds. A date is not read.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    let seconds = value.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
