//! Receiving: many datagrams a call, some of them merged.

use std::net::SocketAddr;
use std::ptr;
use std::time::{Duration, Instant, SystemTime};

use dataplane::Path;

use super::address::RawAddress;
use super::cmsg::{self, CmsgBuffer};
use super::socket::Socket;

/// How many messages one call takes.
const BATCH: usize = 32;
/// The longest message: datagrams of one sender that the kernel merged.
const MESSAGE_MAX: usize = 65_536;
/// The longest wait that is subtracted from arrival times. A datagram that waited longer did so
/// because of overload, which congestion control must see.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// Buffers for one call, used again and again.
pub(crate) struct Receiver {
    buffers: Vec<u8>,
    addresses: Vec<RawAddress>,
    controls: Vec<CmsgBuffer>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    /// So many of the first headers are not as a call needs them.
    used: usize,
    /// The kernel's count of datagrams dropped for want of room, as of the last message.
    overflows: u32,
    /// How many of the next calls do not read, because nothing had arrived just before.
    skips: u8,
}

// SAFETY: its pointers are into its own buffers, which are allocated once and never grow.
unsafe impl Send for Receiver {}

/// The monotonic clock and the system's, by which the kernel stamps datagrams: the wake-up latency
/// of a worker is not a delay of the path.
struct Clocks {
    ours: Instant,
    system: Duration,
}

impl Clocks {
    #[allow(
        clippy::disallowed_methods,
        reason = "a back end's worker reads the clock as datagrams arrive"
    )]
    fn read() -> Self {
        let (ours, system) = (Instant::now(), SystemTime::now());
        let system = system.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Clocks { ours, system }
    }

    /// The instant of `at` by the system's clock; the present if there is none.
    fn instant(&self, at: Option<Duration>) -> Instant {
        let waited = at.map_or(Duration::ZERO, |at| self.system.saturating_sub(at));
        self.ours.checked_sub(waited.min(WAIT_MAX)).unwrap_or(self.ours)
    }
}

impl Receiver {
    pub(crate) fn new() -> Self {
        let empty = libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        };
        Receiver {
            buffers: vec![0; BATCH * MESSAGE_MAX],
            addresses: vec![RawAddress::empty(); BATCH],
            controls: vec![CmsgBuffer([0; 192]); BATCH],
            vectors: vec![empty; BATCH],
            // SAFETY: an mmsghdr of zeros is a valid value: no address, no buffers.
            headers: vec![unsafe { std::mem::zeroed() }; BATCH],
            used: BATCH,
            overflows: 0,
            skips: 0,
        }
    }

    /// Reads what has arrived, at most one batch, and hands each datagram to `take` with its
    /// arrival time. Returns the number of datagrams, and the number that the socket dropped since
    /// the last call. After a call that read everything, the next one does not read: most often
    /// nothing has arrived since.
    ///
    /// An error counts as nothing received, because it does not concern a socket with many peers.
    pub(crate) fn receive(&mut self, socket: &Socket, mut take: impl FnMut(Instant, Path, &[u8])) -> (usize, u32) {
        if let Some(left) = self.skips.checked_sub(1) {
            self.skips = left;
            return (0, 0);
        }
        let count = self.call(socket);
        self.skips = u8::from((1..BATCH).contains(&count));
        let port = socket.local().port();
        let (mut taken, mut dropped) = (0, 0);
        if count == 0 {
            return (0, 0);
        }
        let clocks = Clocks::read();
        for index in 0..count {
            // SAFETY: the kernel has filled this header, whose control buffer is
            // `self.controls[index]`, unmoved since.
            let received = unsafe { cmsg::read(&self.headers[index].msg_hdr) };
            if let Some(overflows) = received.overflows {
                dropped += overflows.wrapping_sub(std::mem::replace(&mut self.overflows, overflows));
            }
            let (Some(remote), Some(local)) = (self.addresses[index].read(), received.local) else {
                continue;
            };
            let path = Path {
                local: SocketAddr::new(local, port),
                remote,
            };
            let at = clocks.instant(received.at);
            let len = self.headers[index].msg_len as usize;
            let message = &self.buffers[index * MESSAGE_MAX..][..len];
            // An empty datagram is one, too.
            let segment = received.segment.unwrap_or(MESSAGE_MAX).min(len.max(1));
            for start in (0..len.max(1)).step_by(segment) {
                take(at, path, &message[start..len.min(start + segment)]);
                taken += 1;
            }
        }
        (taken, dropped)
    }

    /// Tells whether the last sleep found something to read. If not, the receiver does not read in
    /// the next turn, nor in the one after it that finds nothing else to do.
    pub(crate) fn expect(&mut self, something: bool) {
        self.skips = if something { 0 } else { 2 };
    }

    fn call(&mut self, socket: &Socket) -> usize {
        for index in 0..self.used {
            self.vectors[index] = libc::iovec {
                iov_base: self.buffers[index * MESSAGE_MAX..].as_mut_ptr().cast(),
                iov_len: MESSAGE_MAX,
            };
            let header = &mut self.headers[index].msg_hdr;
            header.msg_name = (&raw mut self.addresses[index].storage).cast();
            header.msg_namelen = std::mem::size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_iov = &raw mut self.vectors[index];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = self.controls[index].0.len() as _;
        }
        // SAFETY: every pointer was set, now or before a call that did not use its header, to
        // buffers of ours with the lengths given, which live as long as this.
        let count = unsafe {
            libc::recvmmsg(
                socket.raw(),
                self.headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).unwrap_or(0);
        // The kernel may have begun to write to the next one.
        self.used = (count + 1).min(BATCH);
        count
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// The arrival times of two datagrams that were sent apart and read at once.
    fn arrivals(apart: Duration, family: &str) -> Vec<Instant> {
        let socket = Socket::bind(format!("{family}:0").parse().unwrap(), false, 1 << 16, 1 << 16).unwrap();
        let sender = UdpSocket::bind(format!("{family}:0")).unwrap();
        await_time_stamps(&socket, &sender);
        for _ in 0..2 {
            sender.send_to(b"datagram", socket.local()).unwrap();
            std::thread::sleep(apart);
        }
        let mut arrivals = Vec::new();
        let (taken, dropped) = Receiver::new().receive(&socket, |at, _, bytes| {
            assert_eq!(bytes, b"datagram");
            arrivals.push(at);
        });
        assert_eq!((taken, dropped, arrivals.len()), (2, 0, 2));
        arrivals
    }

    /// The kernel begins to stamp packets some time after the first socket asks for it.
    fn await_time_stamps(socket: &Socket, sender: &UdpSocket) {
        let wait = Duration::from_millis(5);
        for _ in 0..200 {
            sender.send_to(b"first", socket.local()).unwrap();
            std::thread::sleep(wait);
            let mut stamped = false;
            Receiver::new().receive(socket, |at, _, _| stamped = at + wait <= Instant::now());
            if stamped {
                return;
            }
        }
        panic!("the kernel stamps no packet on arrival");
    }

    #[test]
    fn a_late_read_does_not_change_the_arrival_time() {
        for family in ["127.0.0.1", "[::1]"] {
            let (began, apart) = (Instant::now(), Duration::from_millis(15));
            let arrivals = arrivals(apart, family);
            // A machine that sleeps longer makes both later than what counts.
            if began.elapsed() < WAIT_MAX {
                assert!(
                    began <= arrivals[0] && arrivals[1] + apart <= Instant::now(),
                    "{family}"
                );
                assert!(arrivals[0] + apart <= arrivals[1], "{family}");
            }
        }
    }

    #[test]
    fn a_long_wait_changes_the_arrival_time() {
        let arrivals = arrivals(2 * WAIT_MAX, "127.0.0.1");
        assert_eq!(arrivals[0], arrivals[1]);
    }
}
