//! The configuration of the device.

use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use crate::shard::SHARDS_MAX;

/// The addresses and workers of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpConfig {
    /// The addresses to bind, at most 16. `[::]` takes IPv4 too, unless `0.0.0.0` is in the list as
    /// well. A port of 0 is chosen by the system, once for all addresses.
    pub addresses: Vec<SocketAddr>,
    /// The TCP port that is opened on the same addresses for datagrams in connections (RFC 4571),
    /// if any. It must not be a UDP port, because a path's local port says which of the two its
    /// datagrams use. 0 is chosen by the system.
    pub tcp_port: Option<u16>,
    /// How many workers, at most 64; 0 for one a core.
    pub workers: usize,
    /// Whether each worker has a port of its own: the first has that of the addresses, the next
    /// worker the next port, and so on. Otherwise all workers share one port. A port of 0 is chosen
    /// by the system for each worker.
    pub port_per_worker: bool,
    /// Bytes of each socket's receive buffer, as far as the system lets us.
    pub receive_buffer: usize,
    /// Bytes of each socket's send buffer, likewise.
    pub send_buffer: usize,
    /// How long a worker that datagrams wake waits for more before it reads them: fewer and longer
    /// runs, for so much latency. Zero for not at all.
    pub coalesce: Duration,
    /// As long as few are connected, so many legs are packed onto the first worker, the next as
    /// many onto the second, and so on: a meeting's members connect together, and a frame then
    /// wakes fewer threads. 0 for none: source ports decide. Without effect if workers have ports
    /// of their own.
    pub pack_legs: usize,
    /// Whether lightly loaded workers run at real-time priority, where that is
    /// [permitted](crate::UdpPlane::may_run_realtime).
    pub realtime_workers: bool,
}

impl Default for UdpConfig {
    fn default() -> Self {
        UdpConfig {
            addresses: vec![SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0)],
            tcp_port: None,
            workers: 0,
            port_per_worker: false,
            receive_buffer: 8 << 20,
            send_buffer: 8 << 20,
            coalesce: Duration::ZERO,
            pack_legs: 0,
            realtime_workers: false,
        }
    }
}

impl UdpConfig {
    /// How many workers that makes on this machine.
    ///
    /// Errors: `InvalidInput` for more than there may be.
    pub fn worker_count(&self) -> io::Result<usize> {
        match self.workers {
            0 => Ok(thread::available_parallelism().map_or(1, usize::from).min(SHARDS_MAX)),
            1..=SHARDS_MAX => Ok(self.workers),
            _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }

    /// The same for one worker alone, if each has a port of its own.
    ///
    /// Errors: `InvalidInput` if there is no port for it.
    pub(crate) fn of_worker(&self, worker: usize) -> io::Result<UdpConfig> {
        let next = |address: &SocketAddr| {
            let port = match address.port() {
                0 => 0,
                first => first.checked_add(u16::try_from(worker).ok()?)?,
            };
            Some(SocketAddr::new(address.ip(), port))
        };
        let addresses: Option<_> = self.addresses.iter().map(next).collect();
        Ok(UdpConfig {
            addresses: addresses.ok_or(io::ErrorKind::InvalidInput)?,
            ..self.clone()
        })
    }
}
