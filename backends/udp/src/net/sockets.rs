//! All sockets of one worker, as its network.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::RawFd;
use std::thread;
use std::time::{Duration, Instant};

use dataplane::Path;

use super::door::Door;
use super::patient::Patient;
use super::receive::Receiver;
use super::send::Sender;
use super::sleep::{OTHERS_MAX, SOCKETS_MAX, sleep};
use super::{Bell, socket::Socket};
use crate::shard::{Run, Transmit};
use crate::{Network, UdpConfig};

/// One worker's sockets: one for each address, each sharing its port with the other workers'.
pub struct Sockets {
    sockets: Vec<Socket>,
    receivers: Vec<Receiver>,
    sender: Sender,
    /// Those that hear what may wait.
    patient: Option<Patient>,
    dropped: u64,
    coalesce: Duration,
    /// When it was looked last.
    looked: Option<Instant>,
}

impl Sockets {
    /// The most descriptors [`sleep_beside`](Self::sleep_beside) takes.
    pub const OTHERS_MAX: usize = OTHERS_MAX;

    /// For each worker, a socket on every address; all share one port where the system was to
    /// choose.
    ///
    /// Errors: the operating system's; `InvalidInput` for no addresses, or too many.
    pub(super) fn bind(config: &UdpConfig, workers: usize) -> io::Result<Vec<Self>> {
        if !(1..=SOCKETS_MAX).contains(&config.addresses.len()) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let all = bind_all(config, workers)?;
        Ok(all
            .into_iter()
            .map(|sockets| Self::of(sockets, config.coalesce))
            .collect())
    }

    fn of(sockets: Vec<Socket>, coalesce: Duration) -> Self {
        Sockets {
            receivers: sockets.iter().map(|_| Receiver::new()).collect(),
            sockets,
            sender: Sender::new(),
            patient: None,
            dropped: 0,
            coalesce,
            looked: None,
        }
    }

    /// What they are bound to, with their real port.
    pub(super) fn local_addrs(&self) -> Vec<SocketAddr> {
        self.sockets.iter().map(Socket::local).collect()
    }

    /// Opens a door in front of all workers' sockets, and for each worker sockets more, which hear
    /// what may wait. `None` where the kernel cannot do that: then addresses decide, and everything
    /// wakes.
    pub(super) fn open_door(workers: &mut [Self], config: &UdpConfig) -> Option<Door> {
        let door = Door::open(&workers[0].sockets, workers.len()).ok()?;
        let exact = UdpConfig {
            addresses: workers[0].local_addrs(),
            ..config.clone()
        };
        let more = bind_more(&exact, workers.len()).ok()?;
        for (worker, sockets) in workers.iter_mut().zip(more) {
            worker.patient = Some(Patient::new(sockets));
        }
        Some(door)
    }

    /// Takes of what may wait what has waited long enough, as [`receive`](Network::receive) does
    /// beside all else: for who knows that nothing else has come.
    pub fn receive_due(&mut self, now: Instant, take: &mut impl FnMut(Instant, Path, &[u8])) -> usize {
        self.looked = Some(now);
        let Some(patient) = &mut self.patient else { return 0 };
        let (datagrams, dropped) = patient.receive(now, take);
        self.dropped += dropped;
        datagrams
    }

    /// As [`sleep`](Network::sleep), and until one of `others` has something to read. Whether one
    /// of the sockets has.
    ///
    /// Panics when there are more than [`OTHERS_MAX`](Self::OTHERS_MAX) others.
    pub fn sleep_beside(&mut self, others: &[RawFd], bell: &Bell, at_most: Option<Duration>) -> bool {
        assert!(others.len() <= OTHERS_MAX, "more descriptors than can be watched");
        let (more, at_most) = match (&self.patient, self.looked) {
            (Some(patient), Some(looked)) => patient.listens(looked, at_most),
            _ => (&[][..], at_most),
        };
        let ready = sleep(&self.sockets, more, others, bell, at_most);
        if let Some(patient) = &mut self.patient {
            patient.expect(ready.has_more());
        }
        for (socket, receiver) in self.receivers.iter_mut().enumerate() {
            receiver.expect(ready.has(socket));
        }
        ready.any()
    }
}

impl Network for Sockets {
    fn receive(&mut self, now: Instant, take: &mut impl FnMut(Instant, Path, &[u8])) -> usize {
        let mut received = 0;
        for (socket, receiver) in self.sockets.iter().zip(&mut self.receivers) {
            let (datagrams, dropped) = receiver.receive(socket, &mut *take);
            received += datagrams;
            self.dropped += u64::from(dropped);
        }
        received + self.receive_due(now, take)
    }

    fn expect_more(&mut self) {
        self.receivers.iter_mut().for_each(|receiver| receiver.expect(true));
    }

    fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    fn sleep(&mut self, bell: &Bell, at_most: Option<Duration>) {
        let has_come = self.sleep_beside(&[], bell, at_most);
        if has_come && !self.coalesce.is_zero() {
            thread::sleep(self.coalesce);
        }
    }
}

impl Transmit for Sockets {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        self.sender.through(&self.sockets).transmit(runs)
    }
}

/// Sockets that share a port share it with any other process of the same user, too. Two switches on
/// one port would each get half of every handshake, so the port must be free for one who does not
/// share.
fn check_free(address: &SocketAddr) -> io::Result<()> {
    match UdpSocket::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        // Whatever else is wrong will be wrong again.
        _ => Ok(()),
    }
}

/// For each worker, a socket on every address; all share one port where the system was to choose.
fn bind_all(config: &UdpConfig, workers: usize) -> io::Result<Vec<Vec<Socket>>> {
    config.addresses.iter().try_for_each(check_free)?;
    bind_more(config, workers)
}

/// The same, beside those that are bound already.
fn bind_more(config: &UdpConfig, workers: usize) -> io::Result<Vec<Vec<Socket>>> {
    let has_v4 = config.addresses.iter().any(|address| address.is_ipv4());
    let mut chosen = None;
    let mut bind = |address: &SocketAddr| {
        let port = if address.port() == 0 {
            chosen.unwrap_or(0)
        } else {
            address.port()
        };
        let is_all = matches!(address.ip(), IpAddr::V6(ip) if ip.is_unspecified());
        let v6_only = has_v4 && is_all;
        let bound = SocketAddr::new(address.ip(), port);
        let socket = Socket::bind(bound, v6_only, config.receive_buffer, config.send_buffer)?;
        if address.port() == 0 {
            chosen = Some(socket.local().port());
        }
        Ok(socket)
    };
    (0..workers)
        .map(|_| config.addresses.iter().map(&mut bind).collect())
        .collect()
}
