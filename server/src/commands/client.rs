//! Requests of commands to a running server.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use axum::http::{HeaderValue, Method, Request, Uri, header};
use bytes::Bytes;
use http_body_util::Full;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::tls::client;

/// The longest answer: the list of ten thousand rooms, or that of a thousand participants.
const ANSWER_MAX: usize = 100 << 20;

/// A client of one server.
pub(crate) struct Client {
    /// The scheme, the host and the port, with the path of a proxy in front if there is one.
    base: String,
    connector: TlsConnector,
    time_limit: Duration,
}

/// The answer of a server to one request.
pub(crate) struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// The bytes of the body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// The text is no URL of a server.
    Url(String),
    /// The file of trusted certificates cannot be used.
    Root(String),
    /// The server is not reached, is another one than its certificate must name, or does not speak
    /// HTTP.
    Unreachable(String, Box<dyn Error + Send + Sync>),
    /// The server did not answer within this time.
    Late(String, Duration),
}

impl Client {
    /// A client of the server at a URL, which trusts this machine's certificates, or those in a
    /// file.
    ///
    /// Errors: the text is no URL of a server, or the file cannot be used.
    pub(crate) fn new(url: &str, root: Option<&Path>, time_limit: Duration) -> Result<Self, ClientError> {
        let base = base(url).ok_or_else(|| ClientError::Url(url.to_owned()))?;
        let roots = match root {
            Some(file) => client::roots_in(file)
                .map_err(|error| ClientError::Root(format!("cannot use {}: {error}", file.display())))?,
            None => client::machine_roots("no server can be asked by https"),
        };
        Ok(Client {
            base,
            connector: client::connector(roots),
            time_limit,
        })
    }

    /// The URL of the server.
    pub(crate) fn url(&self) -> &str {
        &self.base
    }

    /// Asks for a path. `bearer` is the token to show, if any.
    ///
    /// Errors: there is no answer.
    pub(crate) async fn get(&self, path: &str, bearer: Option<&str>) -> Result<Answer, ClientError> {
        self.send(Method::GET, path, bearer, Bytes::new()).await
    }

    /// Sends JSON to a path.
    ///
    /// Errors: there is no answer.
    pub(crate) async fn post(&self, path: &str, bearer: Option<&str>, json: String) -> Result<Answer, ClientError> {
        self.send(Method::POST, path, bearer, json.into()).await
    }

    async fn send(&self, method: Method, path: &str, bearer: Option<&str>, body: Bytes) -> Result<Answer, ClientError> {
        let unreachable = |error| ClientError::Unreachable(self.base.clone(), error);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::ACCEPT, "application/json, text/plain")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("weir/", env!("CARGO_PKG_VERSION")));
        if let Some(token) = bearer {
            let value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|error| unreachable(error.into()))?;
            request = request.header(header::AUTHORIZATION, value);
        }
        let request = request
            .body(Full::new(body))
            .map_err(|error| unreachable(error.into()))?;
        let answer = timeout(self.time_limit, client::exchange(&self.connector, request, ANSWER_MAX));
        let answer = answer
            .await
            .map_err(|_| ClientError::Late(self.base.clone(), self.time_limit))?;
        let answer = answer.map_err(unreachable)?;
        Ok(Answer {
            status: answer.status().as_u16(),
            body: answer.into_body(),
        })
    }
}

/// The base of a URL, without a slash at its end. The schemes of WebSockets, which clients are
/// configured with, are those of HTTP.
fn base(url: &str) -> Option<String> {
    let url = match url.split_once("://") {
        Some(("ws", rest)) => format!("http://{rest}"),
        Some(("wss", rest)) => format!("https://{rest}"),
        Some(_) => url.to_owned(),
        None => format!("http://{url}"),
    };
    let uri: Uri = url.parse().ok()?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_server = is_http && uri.query().is_none() && !uri.authority()?.as_str().contains('@');
    is_server.then(|| url.trim_end_matches('/').to_owned())
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Url(url) => {
                // The part before `@` may be a password.
                let shown = url.rsplit('@').next().unwrap_or_default();
                write!(
                    f,
                    "{shown} is no `http:` or `https:` URL of a server, without a user name"
                )
            }
            ClientError::Root(why) => f.write_str(why),
            ClientError::Unreachable(url, error) => {
                write!(f, "no answer from {url}: {error}")
            }
            ClientError::Late(url, after) => write!(f, "no answer from {url} within {} s", after.as_secs()),
        }
    }
}

impl Error for ClientError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_take_the_url_that_clients_have() {
        for (url, expected) in [
            ("http://127.0.0.1:7880", "http://127.0.0.1:7880"),
            ("127.0.0.1:7880", "http://127.0.0.1:7880"),
            ("wss://weir.example/", "https://weir.example"),
            ("ws://[::1]:7880", "http://[::1]:7880"),
            ("https://weir.example/sfu/", "https://weir.example/sfu"),
        ] {
            assert_eq!(base(url).as_deref(), Some(expected), "{url}");
        }
        for url in ["", "ftp://a", "http://", "http://user:password@a", "http://a/?b", "a b"] {
            assert_eq!(base(url), None, "{url}");
        }
    }
}
