//! Sending: many runs a call, each cut into datagrams by the kernel.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::ptr;
use std::sync::Arc;

use crate::shard::{Run, Transmit};

use super::address::RawAddress;
use super::cmsg::{self, CmsgBuffer};
use super::sleep::wait_writable;
use super::socket::Socket;

/// How many runs one call takes.
const BATCH: usize = 64;
/// For how many there is room from the start: a frame of a small meeting.
const FEW: usize = 8;
/// How often a full socket is waited for before its datagrams are given up, 1 ms each.
const WAITS_MAX: u32 = 5;

/// Buffers for one call, used again and again.
pub(crate) struct Sender {
    addresses: Vec<RawAddress>,
    controls: Vec<CmsgBuffer>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    /// Whether segmenting failed because the device cannot do it.
    cannot_segment: bool,
}

/// Sends through a worker's sockets, and through those of the others for paths at their ports.
pub(crate) struct Through<'a> {
    sender: &'a mut Sender,
    sockets: &'a [Socket],
    others: &'a [Arc<[Socket]>],
}

// SAFETY: its pointers are into its own buffers and the runs of one call, and are set anew before
// each.
unsafe impl Send for Sender {}

impl Sender {
    pub(crate) fn new() -> Self {
        let empty = libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        };
        Sender {
            addresses: vec![RawAddress::empty(); BATCH],
            controls: vec![CmsgBuffer([0; 192]); BATCH],
            vectors: vec![empty; BATCH],
            // SAFETY: an mmsghdr of zeros is a valid value: no address, no buffers.
            headers: vec![unsafe { std::mem::zeroed() }; BATCH],
            cannot_segment: false,
        }
    }

    /// Sends through whichever of `sockets`, or else of `others`, has each run's local address.
    pub(crate) fn through<'a>(&'a mut self, sockets: &'a [Socket], others: &'a [Arc<[Socket]>]) -> Through<'a> {
        Through {
            sender: self,
            sockets,
            others,
        }
    }

    /// Sends up to [`BATCH`] runs through one socket; returns how many datagrams could not be sent.
    fn send(&mut self, socket: &Socket, runs: &[Run<'_>]) -> u64 {
        for (index, run) in runs.iter().enumerate() {
            self.prepare(socket, index, run);
        }
        let (mut at, mut failed, mut waits) = (0, 0, 0);
        while at < runs.len() {
            match self.call(socket, at, runs.len()) {
                Ok(sent) => at += sent,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) if waits < WAITS_MAX => {
                        waits += 1;
                        wait_writable(socket);
                    }
                    Some(code @ (libc::EIO | libc::EINVAL)) if runs[at].bytes.len() > runs[at].segment => {
                        // EINVAL is one receiver's, with a path too narrow for whole segments; EIO
                        // is the device's.
                        self.cannot_segment |= code == libc::EIO;
                        failed += self.send_singly(socket, &runs[at]);
                        self.prepare_rest(socket, runs, at + 1);
                        at += 1;
                    }
                    _ => {
                        failed += runs[at].datagrams().len() as u64;
                        at += 1;
                    }
                },
            }
        }
        failed
    }

    /// The one at a time way, for runs the kernel cannot segment.
    fn send_singly(&mut self, socket: &Socket, run: &Run<'_>) -> u64 {
        let mut failed = 0;
        for datagram in run.cut(run.segment) {
            self.prepare(socket, 0, &datagram);
            failed += u64::from(self.call(socket, 0, 1).is_err());
        }
        failed
    }

    /// Puts back what [`send_singly`](Self::send_singly) has overwritten.
    fn prepare_rest(&mut self, socket: &Socket, runs: &[Run<'_>], from: usize) {
        for (index, run) in runs.iter().enumerate().skip(from) {
            self.prepare(socket, index, run);
        }
    }

    fn prepare(&mut self, socket: &Socket, index: usize, run: &Run<'_>) {
        self.addresses[index] = RawAddress::new(run.path.remote, socket.family);
        self.vectors[index] = libc::iovec {
            // The kernel only reads it.
            iov_base: run.bytes.as_ptr().cast_mut().cast(),
            iov_len: run.bytes.len(),
        };
        let segment = (run.bytes.len() > run.segment).then_some(run.segment as u16);
        let buffer = &mut self.controls[index];
        // The address that the socket is bound to is the default.
        let local = match run.path.local.ip() {
            ip if ip == socket.local().ip() => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            ip => ip,
        };
        let control_len = cmsg::write(buffer, socket.family, local, segment);
        let header = &mut self.headers[index].msg_hdr;
        header.msg_name = (&raw mut self.addresses[index].storage).cast();
        header.msg_namelen = self.addresses[index].len;
        header.msg_iov = &raw mut self.vectors[index];
        header.msg_iovlen = 1;
        header.msg_control = match control_len {
            0 => ptr::null_mut(),
            _ => buffer.0.as_mut_ptr().cast(),
        };
        header.msg_controllen = control_len as _;
    }

    /// Sends the prepared messages `from..to`; returns how many the kernel took, at least one.
    fn call(&mut self, socket: &Socket, from: usize, to: usize) -> io::Result<usize> {
        let headers = &mut self.headers[from..to];
        // SAFETY: `prepare` has set every pointer of these to buffers that live as long as the
        // runs, which outlive the call.
        let sent = unsafe {
            libc::sendmmsg(
                socket.raw(),
                headers.as_mut_ptr(),
                headers.len() as u32,
                libc::MSG_DONTWAIT,
            )
        };
        match usize::try_from(sent) {
            Ok(sent) if sent > 0 => Ok(sent),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Through<'_> {
    /// Sends what has gathered for one socket; returns how many datagrams could not be sent.
    fn send_gathered(&mut self, socket: Option<&Socket>, gathered: &mut Vec<Run<'_>>) -> u64 {
        let failed = match socket {
            Some(socket) => self.sender.send(socket, gathered),
            None => gathered.iter().map(|run| run.datagrams().len() as u64).sum(),
        };
        gathered.clear();
        failed
    }
}

impl Transmit for Through<'_> {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        let (sockets, others) = (self.sockets, self.others);
        let segments = !self.sender.cannot_segment && sockets.iter().all(|socket| socket.segments);
        let socket_of = |run: &Run<'_>| {
            let can_send = |socket: &&Socket| socket.can_send_from(run.path.local);
            let other = || others.iter().flat_map(|sockets| &**sockets).find(can_send);
            sockets.iter().find(can_send).or_else(other)
        };
        let (mut gathered, mut through) = (Vec::with_capacity(FEW), None::<&Socket>);
        let mut failed = 0;
        for run in runs {
            let socket = socket_of(&run);
            let whole = if segments { run.bytes.len() } else { run.segment };
            for run in run.cut(whole) {
                if gathered.len() == BATCH || socket.map(Socket::raw) != through.map(Socket::raw) {
                    failed += self.send_gathered(through, &mut gathered);
                    through = socket;
                }
                gathered.push(run);
            }
        }
        failed + self.send_gathered(through, &mut gathered)
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use dataplane::Path;

    use super::*;

    /// Sends two runs and what does not fit between them, and counts what arrives.
    fn arrives(segments: bool, cannot_segment: bool) {
        let mut socket = Socket::bind("127.0.0.1:0".parse().unwrap(), false, 1 << 20, 1 << 20).unwrap();
        assert!(socket.segments, "this kernel segments");
        socket.segments = segments;
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let path = Path {
            local: socket.local(),
            remote: receiver.local_addr().unwrap(),
        };
        let bytes: Vec<u8> = (0..=255).cycle().take(40_000).collect();
        let run = |bytes, segment| Run {
            leg: None,
            path,
            bytes,
            segment,
        };
        let runs = [
            run(&bytes[..2_500], 1_000),
            run(&bytes[..7], 7),
            run(&bytes[..40_000], 1_200),
        ];
        let mut sender = Sender::new();
        sender.cannot_segment = cannot_segment;
        assert_eq!(sender.through(&[socket], &[]).transmit(runs.into_iter()), 0);
        assert_eq!(sender.cannot_segment, cannot_segment, "segmenting works here");
        let mut buffer = [0; 2_000];
        for run in runs {
            for datagram in run.datagrams() {
                let len = receiver.recv(&mut buffer).unwrap();
                assert_eq!(buffer[..len], *datagram);
            }
        }
    }

    #[test]
    fn the_kernel_cuts_runs_into_datagrams() {
        arrives(true, false);
    }

    #[test]
    fn without_the_kernels_help_they_are_cut_here() {
        arrives(false, false);
        arrives(true, true);
    }

    #[test]
    fn datagrams_that_cannot_be_sent_are_counted_and_delay_nothing() {
        let socket = Socket::bind("127.0.0.1:0".parse().unwrap(), false, 1 << 20, 1 << 20).unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let good = Path {
            local: socket.local(),
            remote: receiver.local_addr().unwrap(),
        };
        let nowhere = Path {
            remote: "127.0.0.1:0".parse().unwrap(),
            ..good
        };
        let not_ours = Path {
            local: "10.255.255.1:1".parse().unwrap(),
            ..good
        };
        let run = |path, bytes, segment| Run {
            leg: None,
            path,
            bytes,
            segment,
        };
        let runs = [
            run(nowhere, &b"aabbc"[..], 2),
            run(not_ours, b"dd", 2),
            run(good, b"eef", 2),
        ];
        let failed = Sender::new().through(&[socket], &[]).transmit(runs.into_iter());
        assert_eq!(failed, 4);
        let mut buffer = [0; 10];
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 2);
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 1);
    }
}
