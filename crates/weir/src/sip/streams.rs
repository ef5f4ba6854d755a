//! What proxies say over connections.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sip::ng::Stream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::access::Access;
use super::task::{Handle, Protocol};

/// How many connections there may be on one listener. The next one waits until one ends.
const CONNECTIONS_MAX: usize = 1_024;

/// How long whoever connects to a Unix socket may take to say something, and anybody to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest command of rtpproxy's.
const LINE_MAX: usize = 65_536;

/// How long to wait when no connection can be taken: one that ends will help, asking again at once will not.
const RESPITE: Duration = Duration::from_millis(100);

/// `ng` over TCP: messages one after the other, each answered before the next is read.
pub async fn serve_tcp(listener: TcpListener, handle: Handle, access: Arc<Access>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, from)) if access.admits(from.ip()) => {
                let handle = handle.clone();
                tokio::spawn(async move {
                    let _ = stream.set_nodelay(true);
                    let from = from.ip().to_canonical();
                    if let Err(error) = converse(stream, Some(from), handle).await {
                        debug!(%from, %error, "a control connection ended");
                    }
                    drop(place);
                });
            }
            Ok(_) => {}
            Err(error) => {
                warn!(%error, "cannot accept a control connection");
                tokio::time::sleep(RESPITE).await;
            }
        }
    }
}

async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    from: Option<std::net::IpAddr>,
    handle: Handle,
) -> io::Result<()> {
    let mut messages = Stream::default();
    let mut buffer = [0; 16 << 10];
    loop {
        let len = stream.read(&mut buffer).await?;
        if len == 0 {
            return Ok(());
        }
        messages.push(&buffer[..len]);
        while let Some(message) = messages.next_message().map_err(|_| unreadable())? {
            if let Some(reply) = handle.answer(Protocol::Ng, from, message).await {
                timeout(PATIENCE, stream.write_all(&reply)).await??;
            }
        }
    }
}

fn unreadable() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no message can be found in it")
}

/// Opens a Unix socket; one that a process which is gone has left is replaced.
pub fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let is_left = || {
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
        is_socket && std::os::unix::net::UnixStream::connect(path).is_err()
    };
    if is_left() {
        std::fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

/// rtpproxy's protocol over a Unix socket: who may open it may control calls. One command a connection.
pub async fn serve_unix(listener: UnixListener, handle: Handle) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let handle = handle.clone();
                tokio::spawn(async move {
                    // Whoever has gone, or says nothing, needs no answer.
                    let _ = timeout(PATIENCE, command(stream, handle)).await;
                    drop(place);
                });
            }
            Err(error) => {
                warn!(%error, "cannot accept a control connection");
                tokio::time::sleep(RESPITE).await;
            }
        }
    }
}

/// A command ends with its line, or where its proxy has stopped writing: Kamailio's have no end of line.
async fn command(mut stream: UnixStream, handle: Handle) -> io::Result<()> {
    let mut buffer = vec![0; LINE_MAX];
    let len = stream.read(&mut buffer).await?;
    let line = buffer[..len].split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Some(reply) = handle.answer(Protocol::RtpproxyPlain, None, line.to_vec()).await {
        stream.write_all(&reply).await?;
    }
    stream.shutdown().await
}
