//! The UDP ports of the workers: one that all share, or one for each.

use std::io;
use std::net::SocketAddr;

use super::reuseport::{ReuseportGroup, Steering};
use super::sockets::Sockets;
use crate::UdpConfig;

/// The ports of workers, and where they share one, the kernel's choice among their sockets.
#[derive(Debug)]
pub struct UdpPorts {
    local: Vec<SocketAddr>,
    /// `None` where each worker has a port of its own, where the kernel does not take programs and
    /// its own hash decides, or where receive queues decide.
    group: Option<ReuseportGroup>,
}

impl UdpPorts {
    /// Binds a socket for each worker on every address, in the order of workers.
    ///
    /// Errors: the operating system's; `InvalidInput` for no addresses, or too many, or where there
    /// are fewer ports than workers.
    pub fn open(config: &UdpConfig, workers: usize) -> io::Result<(UdpPorts, Vec<Sockets>)> {
        if config.port_per_worker {
            return Self::open_each(config, workers);
        }
        let mut sockets = Sockets::bind(config, workers)?;
        let local = sockets[0].local_addrs();
        let group = Sockets::open_group(&mut sockets, config);
        Ok((UdpPorts { local, group }, sockets))
    }

    /// The same with a port for each worker.
    fn open_each(config: &UdpConfig, workers: usize) -> io::Result<(UdpPorts, Vec<Sockets>)> {
        let mut all = Vec::new();
        for worker in 0..workers {
            let config = config.of_worker(worker)?;
            let mut sockets = Sockets::bind(&config, 1)?;
            // The kernel keeps the program that sorts feedback out. There is no other choice.
            Sockets::open_group(&mut sockets, &config);
            all.append(&mut sockets);
        }
        let local = all.iter().flat_map(Sockets::local_addrs).collect();
        Sockets::send_through_all(&mut all);
        Ok((UdpPorts { local, group: None }, all))
    }

    /// The addresses they are bound to, with their real ports.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.local
    }

    /// Steers the datagrams of an interface's receive queue q to worker q modulo the number of
    /// workers, and datagrams without a queue by their source port. Legs are not packed onto
    /// workers then.
    ///
    /// Errors: the operating system's, where it does not take programs; `Unsupported` where workers
    /// have ports of their own.
    pub fn steer_by_queue(&mut self) -> io::Result<()> {
        let group = self.group.take().ok_or(io::ErrorKind::Unsupported)?;
        // The kernel keeps the program as long as there are sockets.
        group.steer(&[], Steering::ByQueue)
    }

    /// The addresses, and the group whose steering may be changed, if any.
    pub(crate) fn into_parts(self) -> (Vec<SocketAddr>, Option<ReuseportGroup>) {
        (self.local, self.group)
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use dataplane::Path;

    use super::*;
    use crate::shard::{Run, Transmit};
    use crate::{EventFd, Network};

    /// Two workers, each with a port of its own, and those ports.
    fn open() -> (Vec<SocketAddr>, Vec<Sockets>) {
        let config = UdpConfig {
            addresses: vec!["127.0.0.1:0".parse().unwrap()],
            port_per_worker: true,
            ..UdpConfig::default()
        };
        let (ports, sockets) = UdpPorts::open(&config, 2).unwrap();
        (ports.local_addrs().to_vec(), sockets)
    }

    /// The local addresses of the datagrams that each worker has received, once there are `count`.
    fn heard(workers: &mut [Sockets], count: usize) -> Vec<Vec<SocketAddr>> {
        let mut heard = vec![Vec::new(); workers.len()];
        let nobody = EventFd::new().unwrap();
        for _ in 0..5_000 {
            for (worker, heard) in workers.iter_mut().zip(&mut heard) {
                worker.receive(Instant::now(), &mut |_, path, _| heard.push(path.local));
                worker.sleep(&nobody, None, Some(Duration::from_millis(1)));
            }
            if heard.iter().flatten().count() >= count {
                return heard;
            }
        }
        panic!("only {heard:?}");
    }

    /// A program has, until it runs, a copy of the socket that looks for a free port.
    #[test]
    fn a_port_is_chosen_while_other_programs_start() {
        let config = UdpConfig {
            addresses: vec!["127.0.0.1:0".parse().unwrap()],
            ..UdpConfig::default()
        };
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        Command::new("true").status().unwrap();
                    }
                });
            }
            let failed = (0..300).find_map(|_| UdpPorts::open(&config, 2).err());
            is_over.store(true, Ordering::Relaxed);
            assert!(failed.is_none(), "{failed:?}");
        });
    }

    #[test]
    fn each_worker_hears_its_own_port_and_its_feedback() {
        let (ports, mut workers) = open();
        assert!(ports.len() == 2 && ports[0] != ports[1], "{ports:?}");
        let feedback = [&[0x8f, 205, 0, 4][..], &[7; 16]].concat();
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        for datagram in [&b"x"[..], &feedback] {
            for (port, count) in [(0, 3), (1, 2)] {
                for _ in 0..count {
                    peer.send_to(datagram, ports[port]).unwrap();
                }
            }
            assert_eq!(heard(&mut workers, 5), [vec![ports[0]; 3], vec![ports[1]; 2]]);
        }
    }

    #[test]
    fn a_path_at_the_port_of_another_worker_is_sent_from_there() {
        let (ports, mut workers) = open();
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let run = |local| Run {
            leg: None,
            path: Path {
                local,
                remote: peer.local_addr().unwrap(),
            },
            bytes: b"aab",
            segment: 2,
        };
        let runs = [run(ports[0]), run(ports[1]), run("127.0.0.1:1".parse().unwrap())];
        assert_eq!(workers[0].transmit(runs.into_iter()), 2, "nobody has the last port");
        let from = || peer.recv_from(&mut [0; 10]).unwrap().1;
        assert_eq!(
            [from(), from(), from(), from()],
            [ports[0], ports[0], ports[1], ports[1]]
        );
    }

    #[test]
    fn ports_of_workers_follow_each_other() {
        let port = |first: u16, worker| {
            let config = UdpConfig {
                addresses: vec![([127, 0, 0, 1], first).into()],
                ..UdpConfig::default()
            };
            config.of_worker(worker).map(|config| config.addresses[0].port()).ok()
        };
        assert_eq!(
            [port(7882, 0), port(7882, 3), port(0, 3)],
            [Some(7882), Some(7885), Some(0)]
        );
        assert_eq!([port(65_535, 0), port(65_535, 1)], [Some(65_535), None]);
    }
}
