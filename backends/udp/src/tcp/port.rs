//! The port as the plane has it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use dataplane::Statistics;

use super::acceptor::Acceptor;
use super::connection_slots::Shared;
use super::registry::Registry;
use super::worker::Intake;
use super::{TcpStatistics, TcpWorker};
use crate::UdpConfig;
use crate::net::{EventFd, listen};

/// An open port. Dropping it closes the port; connections end with their workers.
pub(crate) struct TcpPort {
    acceptor: Acceptor,
    local: Vec<SocketAddr>,
    statistics: TcpStatistics,
}

impl TcpPort {
    /// Opens the TCP port of a configuration, if it has one, beside UDP ports that are bound to
    /// `udp`, for workers that are woken by `event_fds`. Returns each worker's part.
    ///
    /// Errors: the operating system's; `InvalidInput` when it is one of those ports.
    pub(crate) fn open_beside(
        udp: &[SocketAddr],
        config: &UdpConfig,
        event_fds: &[EventFd],
    ) -> io::Result<(Option<Self>, Vec<TcpWorker>)> {
        let Some(port) = config.tcp_port else {
            return Ok((None, Vec::new()));
        };
        let (tcp_port, workers) = Self::open(config, port, event_fds)?;
        let is_taken = |tcp: &SocketAddr| udp.iter().any(|udp| udp.port() == tcp.port());
        if tcp_port.local.iter().any(is_taken) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Ok((Some(tcp_port), workers))
    }

    fn open(config: &UdpConfig, port: u16, event_fds: &[EventFd]) -> io::Result<(Self, Vec<TcpWorker>)> {
        let has_v4 = config.addresses.iter().any(|address| address.is_ipv4());
        let (mut listeners, mut local) = (Vec::new(), Vec::<SocketAddr>::new());
        for address in &config.addresses {
            // The first one's port, where the system chooses.
            let port = local.first().map_or(port, SocketAddr::port);
            let v6_only = has_v4 && address.ip().is_unspecified();
            let Some(listener) = listen(SocketAddr::new(address.ip(), port), v6_only)? else {
                continue;
            };
            local.push(listener.local_addr()?);
            listeners.push(listener);
        }
        let port = local.first().ok_or(io::ErrorKind::InvalidInput)?.port();
        let (shared, registry) = (Arc::<Shared>::default(), Arc::<Registry>::default());
        let intakes: Vec<Arc<Intake>> = event_fds.iter().map(|fd| Arc::new(Intake::new(fd.clone()))).collect();
        let workers = intakes
            .iter()
            .map(|intake| TcpWorker::new(port, shared.clone(), registry.clone(), intake.clone()))
            .collect::<io::Result<Vec<TcpWorker>>>()?;
        let statistics = TcpStatistics(shared.counts.clone());
        let acceptor = Acceptor::start(listeners, shared, registry, intakes)?;
        let tcp_port = TcpPort {
            acceptor,
            local,
            statistics,
        };
        Ok((tcp_port, workers))
    }

    /// The addresses it is open on, with their real port.
    pub(crate) fn local(&self) -> &[SocketAddr] {
        &self.local
    }

    /// The counts of the port, for operators.
    pub(crate) fn statistics(&self) -> Arc<dyn Statistics> {
        Arc::new(self.statistics.clone())
    }

    /// Accepts no more, and closes connections without a first frame.
    pub(crate) fn close(&mut self) {
        self.acceptor.stop();
    }
}
