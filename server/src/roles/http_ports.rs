//! The ports of HTTP. They outlive the process with the service manager: while no process runs,
//! clients wait for the next one instead of being refused.
//!
//! A client that is refused waits longer each time before it tries again, and once more after the
//! next process has told it to join anew.
//!
//! Source: sd_notify(3), `FDSTORE`; sd_listen_fds(3).

use std::error::Error;
use std::net::{IpAddr, SocketAddr, TcpListener};

use listenfd::ListenFd;
use tracing::{info, warn};

use crate::http::listen::Port;
use crate::os::port_owner::Transport;
use crate::os::refused;
use crate::os::tcp;
use crate::tls::Certificates;

/// The ports that the service manager has handed over.
#[derive(Debug, Default)]
pub(crate) struct KeptPorts(Vec<TcpListener>);

impl KeptPorts {
    /// Those that the environment names. To be called before there are threads, as it takes the
    /// names out of the environment.
    pub(crate) fn of_environment() -> Self {
        let mut handed_over = ListenFd::from_env();
        let listeners = (0..handed_over.len()).filter_map(|number| handed_over.take_tcp_listener(number).ok()?);
        KeptPorts(listeners.collect())
    }

    /// The port at an address, if it is one of them.
    pub(super) fn take(&mut self, address: SocketAddr) -> Option<TcpListener> {
        let is_it = |listener: &TcpListener| listener.local_addr().is_ok_and(|local| local == address);
        let found = self.0.iter().position(is_it)?;
        let listener = self.0.swap_remove(found);
        listener.set_nonblocking(true).ok().map(|()| listener)
    }

    /// The names of those that nothing takes; they are closed.
    pub(crate) fn close(self) -> Vec<String> {
        let addresses = self.0.iter().filter_map(|listener| listener.local_addr().ok());
        addresses.map(name).collect()
    }
}

/// Opens a port of HTTP, or with certificates of HTTPS, on every address; one family may be missing
/// on this machine, but not all.
pub(crate) fn open(
    bind: &[IpAddr],
    port: u16,
    tls: Option<&Certificates>,
    kept: &mut KeptPorts,
) -> Result<Vec<Port>, Box<dyn Error>> {
    let setting = if tls.is_some() { "tls.port" } else { "port" };
    let refused = |address, error| refused::port(Transport::Tcp, address, setting, error);
    let mut ports = Vec::new();
    let mut last = None;
    for address in bind {
        let address = SocketAddr::new(*address, port);
        let listener = kept.take(address).map(tokio::net::TcpListener::from_std);
        match listener.unwrap_or_else(|| tcp::bind(address)) {
            Ok(listener) => {
                info!(%address, tls = tls.is_some(), "signalling");
                ports.push(Port {
                    listener,
                    tls: tls.cloned(),
                });
            }
            Err(error) if bind.len() > 1 && error.kind() != std::io::ErrorKind::AddrInUse => {
                warn!(%address, %error, "not listening");
                last = Some((address, error));
            }
            Err(error) => return Err(refused(address, &error).into()),
        }
    }
    match (ports.is_empty(), last) {
        (true, Some((address, error))) => Err(refused(address, &error).into()),
        _ => Ok(ports),
    }
}

/// The name of a port for the service manager, which permits no colon.
pub(crate) fn name(address: SocketAddr) -> String {
    format!("http-{address}").replace(':', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_once_and_by_its_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let unused = name(other.local_addr().unwrap());
        let mut kept = KeptPorts(vec![other, listener]);
        assert_eq!(kept.take(address).unwrap().local_addr().unwrap(), address);
        assert!(kept.take(address).is_none());
        assert_eq!(kept.close(), [unused]);
        assert_eq!(name("[::]:7880".parse().unwrap()), "http-[__]_7880");
    }
}
