//! Telling a proxy that a call timed out.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tracing::warn;

use super::access::Access;

/// The most notifications in progress; further ones are dropped.
const NOTICES_MAX: usize = 256;

/// How long telling one may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends notifications to addresses in the form proxies use: `unix:/path`, `/path`, `tcp:host:port`
/// or `host:port`.
#[derive(Clone)]
pub(crate) struct Notifier {
    access: Arc<Access>,
    slots: Arc<Semaphore>,
}

impl Notifier {
    /// A notifier that notifies only addresses that may control calls.
    pub(crate) fn new(access: Arc<Access>) -> Self {
        Notifier {
            access,
            slots: Arc::new(Semaphore::new(NOTICES_MAX)),
        }
    }

    /// Writes `tag` and the end of a line to the socket, if it takes it.
    pub(crate) fn tell(&self, socket: String, tag: String) {
        let Ok(slot) = self.slots.clone().try_acquire_owned() else {
            return warn!(socket, "too many time-outs are being told of");
        };
        let access = self.access.clone();
        tokio::spawn(async move {
            let written = tokio::time::timeout(PATIENCE, write(&access, &socket, format!("{tag}\n"))).await;
            if let Err(error) = written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                warn!(socket, %error, "nobody could be told that a call timed out");
            }
            drop(slot);
        });
    }
}

async fn write(access: &Access, socket: &str, line: String) -> io::Result<()> {
    let path = socket
        .strip_prefix("unix:")
        .or(socket.starts_with('/').then_some(socket));
    if let Some(path) = path {
        return UnixStream::connect(path).await?.write_all(line.as_bytes()).await;
    }
    let address = socket.strip_prefix("tcp:").unwrap_or(socket);
    let address: std::net::SocketAddr = address
        .parse()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "neither a path nor an address and a port"))?;
    if !access.admits(address.ip()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    TcpStream::connect(address).await?.write_all(line.as_bytes()).await
}
