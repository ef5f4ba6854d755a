//! Which of the workers' sockets hears what arrives, and how much work a worker has.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;
use std::time::Duration;

use super::socket::{Socket, check};

/// The groups of sockets that share a port, one group for each address.
///
/// The kernel chooses among a group's sockets by the addresses of a datagram, or has a program choose.
#[derive(Debug)]
pub(crate) struct Door(Vec<OwnedFd>);

impl Door {
    /// Of the groups these sockets belong to, the first that were bound.
    ///
    /// Errors: the operating system's, when there are too many open files.
    pub(super) fn of(first: &[Socket]) -> io::Result<Self> {
        first.iter().map(Socket::share).collect::<io::Result<_>>().map(Door)
    }

    /// From now on what comes from one of these ports arrives at the worker beside it, and everything else at `others`, or where addresses say.
    ///
    /// Errors: the operating system's, where it does not take programs.
    pub(crate) fn lead(&self, homes: &[(u16, usize)], others: Option<usize>) -> io::Result<()> {
        let mut program = program(homes, others);
        let program = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        let len = size_of_val(&program) as libc::socklen_t;
        self.0.iter().try_for_each(|socket| {
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

    /// From now on addresses decide again.
    pub(crate) fn lead_to_all(&self) {
        let nothing: libc::c_int = 0;
        let len = size_of_val(&nothing) as libc::socklen_t;
        for socket in &self.0 {
            // SAFETY: the value is an int, and lives for the time of the call. It fails where there is no program.
            let _ = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    SO_DETACH_REUSEPORT_BPF,
                    (&raw const nothing).cast(),
                    len,
                )
            };
        }
    }
}

/// A classic BPF program that finds the place of a socket in its group. Its packet begins behind UDP's header; a place that nobody has means that addresses decide.
fn program(homes: &[(u16, usize)], others: Option<usize>) -> Vec<libc::sock_filter> {
    let step = |code: u32, k: u32, jt, jf| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = |size, at: i32| {
        step(
            libc::BPF_LD | size | libc::BPF_ABS,
            (libc::SKF_NET_OFF + at) as u32,
            0,
            0,
        )
    };
    let equals = |k, jt, jf| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k, jt, jf);
    let go = |worker: Option<usize>| {
        let place = worker.map_or(u32::MAX, |worker| worker as u32);
        step(libc::BPF_RET | libc::BPF_K, place, 0, 0)
    };
    // The source port is the first field behind the IP header. One with options is longer, and its datagram handed over.
    let mut program = vec![
        load(libc::BPF_B, 0),
        step(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 4, 0, 0),
        equals(6, 2, 0),
        load(libc::BPF_H, 20),
        step(libc::BPF_JMP | libc::BPF_JA, 1, 0, 0),
        load(libc::BPF_H, 40),
    ];
    for (port, worker) in homes {
        program.extend([equals(u32::from(*port), 0, 1), go(Some(*worker))]);
    }
    program.push(go(others));
    program
}

/// Linux's, since 5.3.
const SO_DETACH_REUSEPORT_BPF: libc::c_int = 68;

/// Processor time of one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadTime(libc::clockid_t);

impl ThreadTime {
    /// Errors: the operating system's, when the thread has ended.
    pub(crate) fn of(thread: &JoinHandle<()>) -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: a thread that may still be joined has an id, and the clock is written to a number of ours.
        match unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut clock) } {
            0 => Ok(ThreadTime(clock)),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// What it has used so far; nothing once it has ended.
    pub(crate) fn used(self) -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is written to a value of ours.
        match unsafe { libc::clock_gettime(self.0, &raw mut time) } {
            0 => Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
            _ => Duration::ZERO,
        }
    }
}

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
            let door = Door::of(&sockets[..1]).unwrap();
            let peers: Vec<UdpSocket> = (0..32).map(|_| UdpSocket::bind(format!("{ip}:0")).unwrap()).collect();
            let home = |(index, peer): (usize, &UdpSocket)| (peer.local_addr().unwrap().port(), 1 + index % 2);
            let homes: Vec<_> = peers.iter().enumerate().take(8).map(home).collect();
            let heard = || {
                for peer in &peers {
                    peer.send_to(b"x", sockets[0].local()).unwrap();
                }
                waiting(&sockets)
            };
            door.lead(&[], Some(0)).unwrap();
            assert_eq!(heard(), [32, 0, 0, 0]);
            door.lead(&homes, Some(3)).unwrap();
            assert_eq!(heard(), [0, 4, 4, 24]);
            door.lead(&homes[..2], None).unwrap();
            let spread = heard();
            assert!(spread.iter().all(|count| *count < 32) && spread.iter().sum::<usize>() == 32);
            door.lead_to_all();
            assert_eq!(heard().iter().sum::<usize>(), 32);
        }
    }

    #[test]
    fn a_threads_time_is_its_own() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let _ = receiver.recv();
        });
        let time = ThreadTime::of(&thread).unwrap();
        assert!(time.used() < Duration::from_millis(100));
        drop(sender);
        thread.join().unwrap();
    }
}
