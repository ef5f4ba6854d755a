//! Steering of datagrams among the workers' sockets (SO_REUSEPORT).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::socket::{Socket, check};

/// The groups of sockets that share a port, one group for each address. Each contains the workers'
/// sockets in order and then, in the same order, the workers' sockets for feedback.
///
/// A classic BPF program chooses among them (SO_ATTACH_REUSEPORT_CBPF).
#[derive(Debug)]
pub(crate) struct ReuseportGroup {
    groups: Vec<OwnedFd>,
    workers: usize,
}

/// The worker that receives datagrams of source ports without an entry of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steering {
    /// A hash of the source port decides.
    BySourcePort,
    /// Receive queue q modulo the number of workers decides, and the source port where there is no
    /// queue.
    ByQueue,
    /// This worker.
    ToWorker(usize),
}

impl ReuseportGroup {
    /// The groups that these sockets belong to: those of the first of `workers` that were bound.
    /// Source ports decide from now on, and feedback goes to sockets that are still to be bound.
    ///
    /// Errors: the operating system's, when there are too many open files, or where it does not
    /// take programs.
    pub(super) fn open(first: &[Socket], workers: usize) -> io::Result<Self> {
        let groups = first.iter().map(Socket::share).collect::<io::Result<_>>()?;
        let group = ReuseportGroup { groups, workers };
        group.steer(&[], Steering::BySourcePort)?;
        Ok(group)
    }

    /// Steers datagrams of each of these source ports to the worker beside it, and all others by
    /// `others`.
    ///
    /// Errors: the operating system's, where it does not take programs. Nothing is changed then.
    pub(crate) fn steer(&self, ports: &[(u16, usize)], others: Steering) -> io::Result<()> {
        let mut program = program(ports, others, self.workers);
        let program = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        let len = size_of_val(&program) as libc::socklen_t;
        self.groups.iter().try_for_each(|socket| {
            // SAFETY: the program and its instructions live for the time of the call.
            let set = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_ATTACH_REUSEPORT_CBPF,
                    (&raw const program).cast(),
                    len,
                )
            };
            check(set).map(drop)
        })
    }
}

/// A classic BPF program that returns the place of a socket in its group. It sees the packet from
/// the end of the UDP header on.
fn program(ports: &[(u16, usize)], others: Steering, workers: usize) -> Vec<libc::sock_filter> {
    let step = |code: u32, k: u32, jt, jf| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let ip = |size, at: i32| {
        step(
            libc::BPF_LD | size | libc::BPF_ABS,
            (libc::SKF_NET_OFF + at) as u32,
            0,
            0,
        )
    };
    let load = |k: u32| step(libc::BPF_LD | libc::BPF_IMM, k, 0, 0);
    let with = |operation, k: u32| step(libc::BPF_ALU | operation | libc::BPF_K, k, 0, 0);
    let equals = |k, jt, jf| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k, jt, jf);
    let skip = |k: usize| step(libc::BPF_JMP | libc::BPF_JA, k as u32, 0, 0);
    let keep = step(libc::BPF_MISC | libc::BPF_TAX, 0, 0, 0);
    let mut program = vec![
        // Transport-wide feedback (RTPFB, 205, with format 15), padded or not, has arrival times of
        // its own and may wait.
        step(libc::BPF_LD | libc::BPF_LEN, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, FEEDBACK_MIN, 0, 5),
        step(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, 0),
        with(libc::BPF_AND, 0xdfff),
        equals(0x8fcd, 0, 2),
        load(workers as u32),
        skip(1),
        load(0),
        keep,
    ];
    let spread = [
        // Ports of one peer are often neighbours, or all even. The upper half of the product with
        // Knuth's constant spreads them.
        with(libc::BPF_MUL, 0x9e37_79b1),
        with(libc::BPF_RSH, 16),
        with(libc::BPF_MOD, workers as u32),
    ];
    let source_port = [
        // The source port is the first field after the IP header. A header with options is longer,
        // and its datagram is handed over between workers.
        ip(libc::BPF_B, 0),
        with(libc::BPF_RSH, 4),
        equals(6, 2, 0),
        ip(libc::BPF_H, 20),
        skip(1),
        ip(libc::BPF_H, 40),
    ];
    program.extend(source_port);
    let behind = match others {
        Steering::ToWorker(worker) => vec![load(worker as u32)],
        Steering::BySourcePort => spread.to_vec(),
        Steering::ByQueue => {
            let by_queue = [
                with(libc::BPF_SUB, 1),
                with(libc::BPF_MOD, workers as u32),
                skip(source_port.len() + spread.len()),
            ];
            // The kernel keeps the queue's number plus one, and zero for none.
            let queue = step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, QUEUE, 0, 0);
            let none = equals(0, by_queue.len() as u8, 0);
            [&[queue, none][..], &by_queue, &source_port, &spread].concat()
        }
    };
    for (place, (port, worker)) in ports.iter().enumerate() {
        let left = 3 * (ports.len() - place - 1) + behind.len();
        program.extend([equals(u32::from(*port), 0, 2), load(*worker as u32), skip(left)]);
    }
    program.extend(behind);
    program.extend([
        step(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0, 0, 0),
        step(libc::BPF_RET | BPF_A, 0, 0, 0),
    ]);
    program
}

/// Bytes of the shortest feedback: header, sender's SSRC and media SSRC.
const FEEDBACK_MIN: u32 = 12;
/// Offset at which the kernel shows the receive queue of a datagram.
const QUEUE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_QUEUE) as u32;
/// Returns the accumulator.
const BPF_A: u32 = 0x10;

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn bind(ip: &str, count: usize) -> Vec<Socket> {
        let bind = |port| Socket::bind(format!("{ip}:{port}").parse().unwrap(), false, 1 << 16, 1 << 16).unwrap();
        let first = bind(0);
        let port = first.local().port();
        std::iter::once(first).chain((1..count).map(|_| bind(port))).collect()
    }

    /// How many datagrams wait at each of the sockets.
    fn waiting(sockets: &[Socket]) -> Vec<usize> {
        let mut byte = [0_u8];
        let mut receive = |socket: &Socket| {
            // SAFETY: one byte of ours is written to.
            let len = unsafe { libc::recv(socket.raw(), byte.as_mut_ptr().cast(), 1, libc::MSG_DONTWAIT) };
            len == 1
        };
        let count = |socket| std::iter::from_fn(|| receive(socket).then_some(())).count();
        sockets.iter().map(count).collect()
    }

    #[test]
    fn listed_ports_go_to_their_worker_and_others_as_steered() {
        for ip in ["127.0.0.1", "[::1]"] {
            let sockets = bind(ip, 4);
            let group = ReuseportGroup::open(&sockets[..1], 4).unwrap();
            let peers: Vec<UdpSocket> = (0..32).map(|_| UdpSocket::bind(format!("{ip}:0")).unwrap()).collect();
            let worker = |(index, peer): (usize, &UdpSocket)| (peer.local_addr().unwrap().port(), 1 + index % 2);
            let ports: Vec<_> = peers.iter().enumerate().take(8).map(worker).collect();
            let heard = || {
                for peer in &peers {
                    peer.send_to(b"x", sockets[0].local()).unwrap();
                }
                waiting(&sockets)
            };
            group.steer(&[], Steering::ToWorker(0)).unwrap();
            assert_eq!(heard(), [32, 0, 0, 0]);
            group.steer(&ports, Steering::ToWorker(3)).unwrap();
            assert_eq!(heard(), [0, 4, 4, 24]);
            for steering in [Steering::BySourcePort, Steering::ByQueue] {
                // Loopback has no queues.
                group.steer(&ports[..2], steering).unwrap();
                let spread = heard();
                assert!(spread.iter().all(|count| *count < 32) && spread.iter().sum::<usize>() == 32);
            }
        }
    }

    #[test]
    fn feedback_arrives_at_sockets_of_its_own() {
        for ip in ["127.0.0.1", "[::1]"] {
            // Two workers, each with a socket for feedback.
            let sockets = bind(ip, 4);
            let group = ReuseportGroup::open(&sockets[..1], 2).unwrap();
            let peers: Vec<UdpSocket> = (0..32).map(|_| UdpSocket::bind(format!("{ip}:0")).unwrap()).collect();
            let heard = |datagram: &[u8]| {
                for peer in &peers {
                    peer.send_to(datagram, sockets[0].local()).unwrap();
                }
                waiting(&sockets)
            };
            let report = |first: u8, kind: u8| [&[first, kind, 0, 4][..], &[7; 28]].concat();
            let ports = [(peers[0].local_addr().unwrap().port(), 0)];
            for steering in [Steering::BySourcePort, Steering::ByQueue, Steering::ToWorker(1)] {
                group.steer(&ports, steering).unwrap();
                let soon = heard(&report(0x80, 111));
                let may_wait = heard(&report(0x8f, 205));
                assert_eq!(soon[2..], [0, 0]);
                assert_eq!(may_wait, [0, 0, soon[0], soon[1]], "by the same workers");
                assert_eq!(heard(&report(0xaf, 205)), may_wait, "padded");
                if steering != Steering::ToWorker(1) {
                    assert!(soon[0] > 4 && soon[1] > 4, "{soon:?}");
                }
                // Requests for packets and for pictures, reports of receivers, and what is too
                // short to be anything.
                for hasty in [
                    report(0x81, 205),
                    report(0x81, 206),
                    report(0x81, 201),
                    report(0x8f, 206),
                    vec![0x8f, 205],
                ] {
                    assert_eq!(heard(&hasty), soon);
                }
            }
        }
    }
}
