//! All sockets of one worker, as its network.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dataplane::Path;

use super::feedback::FeedbackSockets;
use super::receive::Receiver;
use super::reuseport::ReuseportGroup;
use super::send::Sender;
use super::sleep::{OTHERS_MAX, SOCKETS_MAX, sleep};
use super::{EventFd, Network, socket::Socket};
use crate::UdpConfig;
use crate::shard::{Run, Transmit};

/// One worker's sockets: one for each address. Each shares its port with the other workers', unless
/// workers have ports of their own.
pub struct Sockets {
    sockets: Arc<[Socket]>,
    /// Those of the other workers, if they have other ports. The path of a leg may be at the port
    /// of a worker that does not own the leg.
    others: Vec<Arc<[Socket]>>,
    receivers: Vec<Receiver>,
    sender: Sender,
    /// The sockets for feedback.
    feedback: Option<FeedbackSockets>,
    dropped: u64,
    coalesce: Duration,
    /// When it was looked last.
    looked: Option<Instant>,
}

impl Sockets {
    /// The most descriptors [`sleep_beside`](Self::sleep_beside) takes, besides that of
    /// connections.
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
            sockets: sockets.into(),
            others: Vec::new(),
            sender: Sender::new(),
            feedback: None,
            dropped: 0,
            coalesce,
            looked: None,
        }
    }

    /// Has each worker send through the sockets of all, by the port of a path.
    pub(super) fn send_through_all(workers: &mut [Self]) {
        let all: Vec<Arc<[Socket]>> = workers.iter().map(|worker| worker.sockets.clone()).collect();
        for (index, worker) in workers.iter_mut().enumerate() {
            worker.others = all.clone();
            worker.others.swap_remove(index);
        }
    }

    /// The addresses they are bound to, with their real port.
    pub(super) fn local_addrs(&self) -> Vec<SocketAddr> {
        self.sockets.iter().map(Socket::local).collect()
    }

    /// Attaches steering to all workers' sockets, and opens the sockets for feedback of each
    /// worker. `None` where the kernel does not take programs: then its own hash decides, and
    /// feedback arrives at the workers' ordinary sockets.
    pub(super) fn open_group(workers: &mut [Self], config: &UdpConfig) -> Option<ReuseportGroup> {
        let group = ReuseportGroup::open(&workers[0].sockets, workers.len()).ok()?;
        let exact = UdpConfig {
            addresses: workers[0].local_addrs(),
            ..config.clone()
        };
        let more = bind_more(&exact, workers.len()).ok()?;
        for (worker, sockets) in workers.iter_mut().zip(more) {
            worker.feedback = Some(FeedbackSockets::new(sockets));
        }
        Some(group)
    }

    /// Reads feedback that has waited long enough, which [`receive`](Network::receive) does too:
    /// for a worker that knows that nothing else has arrived.
    pub fn receive_due(&mut self, now: Instant, take: &mut impl FnMut(Instant, Path, &[u8])) -> usize {
        self.looked = Some(now);
        let Some(feedback) = &mut self.feedback else { return 0 };
        let (datagrams, dropped) = feedback.receive(now, take);
        self.dropped += dropped;
        datagrams
    }

    /// As [`sleep`](Network::sleep), and until one of `others` has something to read. Whether one
    /// of the sockets has.
    ///
    /// Panics when there are more than [`OTHERS_MAX`](Self::OTHERS_MAX) others and one.
    pub fn sleep_beside(&mut self, others: &[RawFd], event_fd: &EventFd, at_most: Option<Duration>) -> bool {
        assert!(others.len() <= OTHERS_MAX + 1, "more descriptors than can be watched");
        let (more, at_most) = match (&self.feedback, self.looked) {
            (Some(feedback), Some(looked)) => feedback.to_poll(looked, at_most),
            _ => (&[][..], at_most),
        };
        let ready = sleep(&self.sockets, more, others, event_fd, at_most);
        if let Some(feedback) = &mut self.feedback {
            feedback.expect(ready.has_more());
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

    fn sleep(&mut self, event_fd: &EventFd, beside: Option<RawFd>, at_most: Option<Duration>) {
        let has_come = self.sleep_beside(beside.as_slice(), event_fd, at_most);
        if has_come && !self.coalesce.is_zero() {
            thread::sleep(self.coalesce);
        }
    }
}

impl Transmit for Sockets {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        self.sender.through(&self.sockets, &self.others).transmit(runs)
    }
}

/// Sockets that share a port share it with any other process of the same user, too. Two switches on
/// one port would each get half of every handshake. So a socket that does not share must be able to
/// bind the port.
fn check_free(address: &SocketAddr) -> io::Result<()> {
    match UdpSocket::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        // Any other error will occur again.
        _ => Ok(()),
    }
}

/// How many ports of the system's choice are tried.
const CHOICES_MAX: usize = 16;

/// For each worker, a socket on every address; all share one port where the system was to choose.
fn bind_all(config: &UdpConfig, workers: usize) -> io::Result<Vec<Vec<Socket>>> {
    config.addresses.iter().try_for_each(check_free)?;
    let chooses = config.addresses.iter().any(|address| address.port() == 0);
    // A port that was free a moment ago may be taken, or not be free on every address.
    let mut choices = if chooses { CHOICES_MAX } else { 1 };
    loop {
        choices -= 1;
        match bind_more(config, workers) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && choices > 0 => {}
            done => return done,
        }
    }
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
