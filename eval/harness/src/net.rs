//! Sockets of a generator: many datagrams a system call, stamped by the kernel as they arrive.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmmsg, setsockopt,
    sockopt,
};
use nix::sys::time::TimeSpec;

/// Messages read by one system call; with GRO each may hold many datagrams.
const BATCH_MAX: usize = 16;
/// The largest message that GRO makes.
const MESSAGE_MAX: usize = 65_536;
/// Receive buffer of each socket in the kernel, so that a slow generator is not taken for a lossy
/// server.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Lets this process open as many sockets as the system allows it, not only as many as it gets
/// unasked.
pub fn raise_socket_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // If this is refused, opening the sockets reports the error.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Opens one client's socket: not blocking, large buffer, GRO, arrival times.
pub fn open(local: IpAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((local, 0))?;
    socket.set_nonblocking(true)?;
    // The forced form goes beyond the system's limit where we may; elsewhere the limit applies.
    if setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES).is_err() {
        setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER_BYTES)?;
    }
    setsockopt(&socket, sockopt::UdpGroSegment, &true)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    Ok(socket)
}

/// Has the kernel deliver each datagram of a run by itself, as to clients without `UDP_GRO`.
pub fn deliver_singly(socket: &UdpSocket) -> io::Result<()> {
    Ok(setsockopt(socket, sockopt::UdpGroSegment, &false)?)
}

/// The address from which this machine would reach `remote`.
pub fn local_ip_towards(remote: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if remote.is_ipv4() {
        [0u8; 4].into()
    } else {
        [0u16; 8].into()
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(remote)?;
    Ok(socket.local_addr()?.ip())
}

/// Buffers for reading, shared by all sockets of the thread.
pub struct Inbox {
    buffers: Vec<Box<[u8]>>,
}

/// One datagram as it arrived; its bytes may be decrypted in place.
pub struct Datagram<'a> {
    /// The bytes of the datagram.
    pub bytes: &'a mut [u8],
    /// The address that it came from.
    pub from: SocketAddr,
    /// When it arrived, in nanoseconds since 1970.
    pub arrived_ns: u64,
}

#[derive(Clone, Copy)]
struct Message {
    len: usize,
    segment: usize,
    arrived_ns: u64,
    from: SocketAddr,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            buffers: (0..BATCH_MAX)
                .map(|_| vec![0; MESSAGE_MAX].into_boxed_slice())
                .collect(),
        }
    }
}

impl Inbox {
    /// Reads arrived datagrams, once, and hands each over; returns whether there may be more.
    ///
    /// Errors: those of the system call; nothing to read is no error.
    pub fn read(&mut self, socket: &UdpSocket, mut handle: impl FnMut(Datagram<'_>)) -> io::Result<bool> {
        let mut messages = [None; BATCH_MAX];
        let count = self.read_messages(socket, &mut messages)?;
        for (buffer, message) in self.buffers.iter_mut().zip(messages.into_iter().flatten()) {
            for bytes in buffer[..message.len].chunks_mut(message.segment.max(1)) {
                handle(Datagram {
                    bytes,
                    from: message.from,
                    arrived_ns: message.arrived_ns,
                });
            }
        }
        Ok(count == BATCH_MAX)
    }

    fn read_messages(&mut self, socket: &UdpSocket, messages: &mut [Option<Message>; BATCH_MAX]) -> io::Result<usize> {
        // Headers are created for each call: the kernel shortens the control lengths of used ones.
        let control = nix::cmsg_space!(TimeSpec, i32);
        let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH_MAX, Some(control));
        let mut slices: Vec<[IoSliceMut<'_>; 1]> = self
            .buffers
            .iter_mut()
            .map(|buffer| [IoSliceMut::new(buffer)])
            .collect();
        let results = match recvmmsg(
            socket.as_raw_fd(),
            &mut headers,
            slices.iter_mut(),
            MsgFlags::MSG_DONTWAIT,
            None,
        ) {
            Ok(results) => results,
            // A refused connection is the answer to an earlier datagram, sent before the peer was
            // there.
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let mut count = 0;
        for (slot, result) in messages.iter_mut().zip(results) {
            let mut message = Message {
                len: result.bytes,
                segment: result.bytes,
                arrived_ns: 0,
                from: result
                    .address
                    .and_then(address)
                    .unwrap_or(SocketAddr::from(([0; 4], 0))),
            };
            for control in result.cmsgs()? {
                match control {
                    ControlMessageOwned::ScmTimestampns(at) => {
                        message.arrived_ns = Duration::from(at).as_nanos() as u64
                    }
                    ControlMessageOwned::UdpGroSegments(size) => message.segment = size.max(1) as usize,
                    _ => {}
                }
            }
            if message.arrived_ns == 0 {
                // A kernel that does not stamp.
                message.arrived_ns = crate::clock::wall_ns();
            }
            *slot = Some(message);
            count += 1;
        }
        Ok(count)
    }
}

fn address(storage: SockaddrStorage) -> Option<SocketAddr> {
    storage
        .as_sockaddr_in()
        .map(|v4| SocketAddr::from((v4.ip(), v4.port())))
        .or_else(|| {
            storage
                .as_sockaddr_in6()
                .map(|v6| SocketAddr::from((v6.ip(), v6.port())))
        })
}

/// Sends each slice as a datagram of its own on a connected socket, in one system call; returns how
/// many went out.
///
/// As a client would: a real one does not hand its kernel runs of segments, so neither does this.
pub fn send_each(socket: &UdpSocket, datagrams: &[[IoSlice<'_>; 1]]) -> io::Result<usize> {
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(datagrams.len(), None);
    let nowhere = vec![None; datagrams.len()];
    sent(sendmmsg(
        socket.as_raw_fd(),
        &mut headers,
        datagrams,
        &nowhere,
        [],
        MsgFlags::MSG_DONTWAIT,
    ))
}

/// Sends one run of equal segments to each address, in one system call; returns how many runs went
/// out.
pub fn send_runs(
    socket: &UdpSocket,
    runs: &[[IoSlice<'_>; 1]],
    to: &[Option<SockaddrStorage>],
    segment: u16,
) -> io::Result<usize> {
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(runs.len(), Some(nix::cmsg_space!(u16)));
    let control = [ControlMessage::UdpGsoSegments(&segment)];
    sent(sendmmsg(
        socket.as_raw_fd(),
        &mut headers,
        runs,
        to,
        control,
        MsgFlags::empty(),
    ))
}

fn sent<S: Copy + nix::sys::socket::SockaddrLike>(
    result: nix::Result<nix::sys::socket::MultiResults<'_, S>>,
) -> io::Result<usize> {
    match result {
        Ok(results) => Ok(results.count()),
        Err(Errno::EAGAIN | Errno::ECONNREFUSED) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(buffers: &mut Inbox, socket: &UdpSocket) -> Vec<(Vec<u8>, u64)> {
        let mut seen = Vec::new();
        while buffers
            .read(socket, |d| seen.push((d.bytes.to_vec(), d.arrived_ns)))
            .expect("readable")
        {}
        seen
    }

    #[test]
    fn runs_and_single_datagrams_arrive_whole_and_stamped() {
        let receiver = open([127, 0, 0, 1].into()).expect("a socket");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = receiver.local_addr().expect("bound");
        let before = crate::clock::wall_ns();
        let run: Vec<u8> = (0..5u8).flat_map(|value| [value; 100]).collect();
        let sent = send_runs(&sender, &[[IoSlice::new(&run)]], &[Some(to.into())], 100).expect("sent");
        assert_eq!(sent, 1);
        sender.connect(to).expect("connected");
        let singles = [[7u8; 30], [8; 30]];
        let slices: Vec<_> = singles.iter().map(|bytes| [IoSlice::new(bytes)]).collect();
        assert_eq!(send_each(&sender, &slices).expect("sent"), 2);

        let mut buffers = Inbox::default();
        let seen = read_all(&mut buffers, &receiver);
        let bytes: Vec<Vec<u8>> = seen.iter().map(|(bytes, _)| bytes.clone()).collect();
        let mut expected: Vec<Vec<u8>> = (0..5u8).map(|value| vec![value; 100]).collect();
        expected.extend([vec![7; 30], vec![8; 30]]);
        assert_eq!(bytes, expected);
        assert!(
            seen.iter()
                .all(|(_, at)| (before..=crate::clock::wall_ns()).contains(at)),
            "arrival times are the wall clock's"
        );
        assert!(read_all(&mut buffers, &receiver).is_empty());
    }
}
