//! A connection to another controller, for one request at a time.

use std::time::Duration;

use axum::http::{Request, Response};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;
use tracing::debug;

use crate::cli::Role;
use crate::clients::write_timeout::WriteTimeout;
use crate::cluster::tls::ClusterTls;
use crate::metrics::forwarded::ForwardFailure;
use crate::os::tcp::{expect_life, tune};

/// How long a controller may take to accept a connection.
const CONNECT_MAX: Duration = Duration::from_secs(1);

/// How long the handshake may take, on a machine that is busy as well.
const HANDSHAKE_MAX: Duration = Duration::from_secs(2);

/// How long a controller may take to read what is sent to it.
const WRITE_MAX: Duration = Duration::from_secs(10);

/// How long the machine of a controller may be silent. Clients that are passed on notice it no
/// earlier, and their room is adopted when its owner's lease has ended, 2 s later.
const SILENT_MAX: Duration = Duration::from_secs(4);

/// The longest head of an answer. Shape: bytes.
const HEAD_MAX: usize = 128 << 10;

/// A connection that takes a request.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

/// A request that was not answered.
pub(super) enum Unanswered {
    /// It was not sent: another connection may take it.
    Unsent(Box<Request<Full<Bytes>>>),
    /// It may have been carried out.
    Broken,
}

impl Connection {
    /// Connects to the controller at an address, which is `HOST:PORT`. Bounded in time.
    ///
    /// Errors: [`ForwardFailure::Unreachable`] and [`ForwardFailure::Handshake`].
    pub(super) async fn open(address: &str, tls: &ClusterTls) -> Result<Self, ForwardFailure> {
        let stream = timeout(CONNECT_MAX, TcpStream::connect(address)).await;
        let stream = stream.map_err(|_| ForwardFailure::Unreachable)?;
        let stream = stream.map_err(|error| {
            debug!(address, %error, "a controller takes no connection");
            ForwardFailure::Unreachable
        })?;
        tune(&stream, WRITE_MAX);
        expect_life(&stream, SILENT_MAX);
        let name = ServerName::try_from(Role::Controller.name()).map_err(|_| ForwardFailure::Handshake)?;
        let stream = WriteTimeout::new(stream, WRITE_MAX);
        let shaken = timeout(HANDSHAKE_MAX, tls.forward_connector().connect(name, stream)).await;
        let shaken = shaken.map_err(|_| ForwardFailure::Unreachable)?;
        let stream = shaken.map_err(|error| {
            debug!(address, %error, "a peer is no controller of this cluster");
            ForwardFailure::Handshake
        })?;
        let handshake = http1::Builder::new()
            .max_buf_size(HEAD_MAX)
            .handshake(TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(|_| ForwardFailure::Handshake)?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                debug!(%error, "a connection to another controller failed");
            }
        });
        Ok(Self { sender })
    }

    /// Whether it takes a request now, as far as is known.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Waits until it takes the next request. Returns whether it will.
    pub(super) async fn ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Sends a request and waits for the head of the answer.
    ///
    /// Errors: the connection ended before.
    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Unanswered> {
        self.sender.try_send_request(request).await.map_err(|mut error| {
            debug!(error = %error.error(), "a request was not answered by another controller");
            match error.take_message() {
                Some(request) => Unanswered::Unsent(Box::new(request)),
                None => Unanswered::Broken,
            }
        })
    }
}
