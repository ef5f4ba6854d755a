//! Which of the workers' sockets hears what arrives.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::socket::{Socket, check};

/// The groups of sockets that share a port, one group for each address: in each the workers'
/// sockets in order and then, in the same order, those that hear what may wait.
///
/// The kernel has a program of ours choose among them.
#[derive(Debug)]
pub(crate) struct Door {
    groups: Vec<OwnedFd>,
    workers: usize,
}

/// Who hears what comes from ports that have no home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Led {
    /// Whom addresses say.
    ByAddress,
    /// Worker q what came by receive queue q, counted round, and whom addresses say what came by
    /// none.
    ByQueue,
    /// This worker.
    To(usize),
}

impl Door {
    /// Of the groups these sockets belong to, the first of `workers` that were bound. From now on
    /// addresses decide who hears what, and what may wait is heard by sockets that are still to be
    /// bound.
    ///
    /// Errors: the operating system's, when there are too many open files, or where it does not
    /// take programs.
    pub(super) fn open(first: &[Socket], workers: usize) -> io::Result<Self> {
        let groups = first.iter().map(Socket::share).collect::<io::Result<_>>()?;
        let door = Door { groups, workers };
        door.lead(&[], Led::ByAddress)?;
        Ok(door)
    }

    /// From now on what comes from one of these ports arrives at the worker beside it, and
    /// everything else where it is led.
    ///
    /// Errors: the operating system's, where it does not take programs. Then it is as it was.
    pub(crate) fn lead(&self, homes: &[(u16, usize)], others: Led) -> io::Result<()> {
        let mut program = program(homes, others, self.workers);
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

/// A classic BPF program that finds the place of a socket in its group. Its packet begins behind
/// UDP's header.
fn program(homes: &[(u16, usize)], others: Led, workers: usize) -> Vec<libc::sock_filter> {
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
        // What may wait: transport-wide feedback, which says itself when things were (RTPFB, 205,
        // with format 15), padded or not.
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
        // Ports of one peer are often neighbours, or all even: what is multiplied by Knuth's
        // constant has them apart in its upper half.
        with(libc::BPF_MUL, 0x9e37_79b1),
        with(libc::BPF_RSH, 16),
        with(libc::BPF_MOD, workers as u32),
    ];
    let source_port = [
        // The source port is the first field behind the IP header. One with options is longer, and
        // its datagram handed over.
        ip(libc::BPF_B, 0),
        with(libc::BPF_RSH, 4),
        equals(6, 2, 0),
        ip(libc::BPF_H, 20),
        skip(1),
        ip(libc::BPF_H, 40),
    ];
    program.extend(source_port);
    let behind = match others {
        Led::To(worker) => vec![load(worker as u32)],
        Led::ByAddress => spread.to_vec(),
        Led::ByQueue => {
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
    for (place, (port, worker)) in homes.iter().enumerate() {
        let left = 3 * (homes.len() - place - 1) + behind.len();
        program.extend([equals(u32::from(*port), 0, 2), load(*worker as u32), skip(left)]);
    }
    program.extend(behind);
    program.extend([
        step(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0, 0, 0),
        step(libc::BPF_RET | BPF_A, 0, 0, 0),
    ]);
    program
}

/// Bytes of the shortest report: its header, its sender and whom it is about.
const FEEDBACK_MIN: u32 = 12;
/// Where the kernel shows by which queue a datagram came.
const QUEUE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_QUEUE) as u32;
/// What is found is returned.
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
    fn ports_that_are_listed_have_a_home_and_others_go_where_they_are_led() {
        for ip in ["127.0.0.1", "[::1]"] {
            let sockets = bind(ip, 4);
            let door = Door::open(&sockets[..1], 4).unwrap();
            let peers: Vec<UdpSocket> = (0..32).map(|_| UdpSocket::bind(format!("{ip}:0")).unwrap()).collect();
            let home = |(index, peer): (usize, &UdpSocket)| (peer.local_addr().unwrap().port(), 1 + index % 2);
            let homes: Vec<_> = peers.iter().enumerate().take(8).map(home).collect();
            let heard = || {
                for peer in &peers {
                    peer.send_to(b"x", sockets[0].local()).unwrap();
                }
                waiting(&sockets)
            };
            door.lead(&[], Led::To(0)).unwrap();
            assert_eq!(heard(), [32, 0, 0, 0]);
            door.lead(&homes, Led::To(3)).unwrap();
            assert_eq!(heard(), [0, 4, 4, 24]);
            for led in [Led::ByAddress, Led::ByQueue] {
                // Loopback has no queues.
                door.lead(&homes[..2], led).unwrap();
                let spread = heard();
                assert!(spread.iter().all(|count| *count < 32) && spread.iter().sum::<usize>() == 32);
            }
        }
    }

    #[test]
    fn reports_that_may_wait_are_heard_by_sockets_of_their_own() {
        for ip in ["127.0.0.1", "[::1]"] {
            // Two workers, and a socket for what may wait each.
            let sockets = bind(ip, 4);
            let door = Door::open(&sockets[..1], 2).unwrap();
            let peers: Vec<UdpSocket> = (0..32).map(|_| UdpSocket::bind(format!("{ip}:0")).unwrap()).collect();
            let heard = |datagram: &[u8]| {
                for peer in &peers {
                    peer.send_to(datagram, sockets[0].local()).unwrap();
                }
                waiting(&sockets)
            };
            let report = |first: u8, kind: u8| [&[first, kind, 0, 4][..], &[7; 28]].concat();
            let homes = [(peers[0].local_addr().unwrap().port(), 0)];
            for led in [Led::ByAddress, Led::ByQueue, Led::To(1)] {
                door.lead(&homes, led).unwrap();
                let soon = heard(&report(0x80, 111));
                let may_wait = heard(&report(0x8f, 205));
                assert_eq!(soon[2..], [0, 0]);
                assert_eq!(may_wait, [0, 0, soon[0], soon[1]], "by the same workers");
                assert_eq!(heard(&report(0xaf, 205)), may_wait, "padded");
                if led != Led::To(1) {
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
