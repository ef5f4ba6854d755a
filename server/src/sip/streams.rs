//! Requests of proxies over connections.

use std::io;
use std::net::IpAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sip::ng::Stream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::debug;

use super::access::Access;
use super::requests::{Handle, Protocol};
use crate::clients::accept::next_connection;
use crate::clients::connection_slots::{ConnectionSlot, Evicted};
use crate::metrics::closed::Closed;
use crate::os::tcp::tune;

/// How many connections there may be on a Unix socket. The next one waits until one ends.
const CONNECTIONS_MAX: usize = 1_024;

/// How long a connection may take to start a request, to complete it, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection may be idle after a request.
const IDLE_MAX: Duration = Duration::from_secs(3600);

/// The longest command of rtpproxy's.
const LINE_MAX: usize = 65_536;

/// `ng` over TCP: messages one after the other, each answered before the next is read.
pub(crate) async fn serve_tcp(listener: TcpListener, handle: Handle, access: Arc<Access>) {
    loop {
        let (stream, from) = next_connection(|| listener.accept(), || access.evict_oldest()).await;
        if let Some((slot, evicted)) = access.enter(from.ip()) {
            let from = from.ip().to_canonical();
            tokio::spawn(serve_one(stream, from, slot, evicted, handle.clone(), access.clone()));
        }
    }
}

async fn serve_one(
    stream: TcpStream,
    from: IpAddr,
    slot: ConnectionSlot,
    mut evicted: Evicted,
    handle: Handle,
    access: Arc<Access>,
) {
    tune(&stream, PATIENCE);
    let ended = tokio::select! {
        ended = converse(stream, from, &slot, handle) => ended,
        Ok(full) = &mut evicted => return access.closed(full.into()),
    };
    if let Err(error) = ended {
        debug!(%from, %error, "a control connection ended");
        if error.kind() == io::ErrorKind::TimedOut {
            access.closed(Closed::Slow);
        }
    }
}

async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    from: IpAddr,
    slot: &ConnectionSlot,
    handle: Handle,
) -> io::Result<()> {
    let mut messages = Stream::default();
    let mut buffer = [0; 16 << 10];
    // A client starts a request soon after it connects, and completes it.
    let mut until = Instant::now() + PATIENCE;
    let mut is_between = false;
    loop {
        let len = timeout_at(until, stream.read(&mut buffer)).await??;
        if len == 0 {
            return Ok(());
        }
        if std::mem::take(&mut is_between) {
            until = Instant::now() + PATIENCE;
        }
        messages.push(&buffer[..len]);
        while let Some(message) = messages.next_message().map_err(|_| unreadable())? {
            slot.join();
            if let Some(reply) = handle.answer(Protocol::Ng, Some(from), message).await {
                timeout(PATIENCE, stream.write_all(&reply)).await??;
            }
            until = Instant::now() + IDLE_MAX;
            is_between = true;
        }
    }
}

fn unreadable() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no message can be found in it")
}

/// Opens a Unix socket. It replaces one that a dead process left.
pub(crate) fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let is_left = || {
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
        is_socket && std::os::unix::net::UnixStream::connect(path).is_err()
    };
    if is_left() {
        std::fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

/// rtpproxy's protocol over a Unix socket: a process that may open it may control calls. One
/// command a connection.
pub(crate) async fn serve_unix(listener: UnixListener, handle: Handle) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else {
            return;
        };
        // Each ends soon by itself, so none has to be closed for the next.
        let (stream, _) = next_connection(|| listener.accept(), || ()).await;
        let handle = handle.clone();
        tokio::spawn(async move {
            // A peer that has closed, or sends nothing, needs no answer.
            let _ = timeout(PATIENCE, command(stream, handle)).await;
            drop(slot);
        });
    }
}

/// A command ends with its line, or where its proxy has stopped writing: Kamailio's have no end of
/// line.
async fn command(mut stream: UnixStream, handle: Handle) -> io::Result<()> {
    let mut buffer = vec![0; LINE_MAX];
    let len = stream.read(&mut buffer).await?;
    let line = buffer[..len].split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Some(reply) = handle.answer(Protocol::RtpproxyPlain, None, line.to_vec()).await {
        stream.write_all(&reply).await?;
    }
    stream.shutdown().await
}
