//! The service manager that started the process, such as systemd: it is told when the server is
//! ready, and when it ends, and that it is alive.
//!
//! Shape: each message is one datagram of lines `NAME=VALUE` to the socket that the environment
//! names. Source: sd_notify(3).

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tracing::warn;

use crate::http::health::Health;

/// How long the manager is asked to wait for the end, each time. A drain asks twice a second.
const STOP_MAX: Duration = Duration::from_secs(30);

/// A way to tell it. Cheap to clone.
#[derive(Clone)]
pub(super) struct ServiceManager(Option<Arc<UnixDatagram>>);

impl ServiceManager {
    /// The manager that the environment names, if any.
    pub(super) fn of_environment() -> Self {
        let address = env::var_os("NOTIFY_SOCKET").filter(|address| !address.is_empty());
        let connected = address.map(|address| {
            connect(&address)
                .inspect_err(|error| warn!(?address, %error, "the service manager cannot be told anything"))
        });
        Self(connected.and_then(Result::ok).map(Arc::new))
    }

    /// The server serves.
    pub(super) fn ready(&self) {
        self.tell("READY=1\nSTATUS=serving");
    }

    /// The server does not end before these have left.
    pub(super) fn draining(&self, left: impl fmt::Display) {
        let micros = STOP_MAX.as_micros();
        self.tell(&format!("EXTEND_TIMEOUT_USEC={micros}\nSTATUS=draining: {left}"));
    }

    /// The server ends.
    pub(super) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=shutting down");
    }

    /// Tells the manager that the server is alive as long as all its parts answer, if the manager
    /// waits for that.
    pub(super) fn watch(&self, health: Health) {
        let pid = env::var("WATCHDOG_PID").ok().filter(|pid| !pid.is_empty());
        let is_for_us = pid.is_none_or(|pid| pid == std::process::id().to_string());
        let micros = env::var("WATCHDOG_USEC")
            .ok()
            .and_then(|micros| micros.parse::<u64>().ok());
        let Some(micros) = micros.filter(|micros| *micros > 0 && is_for_us && self.0.is_some()) else {
            return;
        };
        // A third: one that is late is followed by another in time.
        let interval = Duration::from_micros(micros) / 3;
        let manager = self.clone();
        tokio::spawn(async move {
            loop {
                if health.check().await.is_ok() {
                    manager.tell("WATCHDOG=1");
                }
                tokio::time::sleep(interval).await;
            }
        });
    }

    /// Has the manager keep a port for the next process, if it keeps any. It ignores one that it
    /// has.
    pub(super) fn keep(&self, listener: impl AsFd, name: &str) {
        let Some(socket) = &self.0 else { return };
        let files = [listener.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&files));
        let lines = format!("FDSTORE=1\nFDNAME={name}");
        // A manager that does not read misses this.
        let _ = sendmsg(
            socket,
            &[IoSlice::new(lines.as_bytes())],
            &mut control,
            SendFlags::empty(),
        );
    }

    /// Has the manager close a port that it keeps.
    pub(super) fn forget(&self, name: &str) {
        self.tell(&format!("FDSTOREREMOVE=1\nFDNAME={name}"));
    }

    fn tell(&self, lines: &str) {
        // A manager that does not read misses this.
        let _ = self.0.as_ref().map(|socket| socket.send(lines.as_bytes()));
    }
}

/// A socket to an address as the environment has it: a path, or `@` and an abstract name.
fn connect(address: &OsStr) -> io::Result<UnixDatagram> {
    let address = match address.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(address)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
