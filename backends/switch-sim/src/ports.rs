//! Ports of a switch on this machine: packet sockets on network interfaces.

#![allow(unsafe_code, reason = "no safe interface names a packet socket's interface")]

use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// The longest frame.
pub const FRAME_MAX: usize = 65_536;

/// One interface, whose every frame is received and which sends any frame.
///
/// Frames that a local stack sends with its checksum left to the hardware have a wrong one. Turn
/// that off at the other end of a cable (`ethtool -K IF tx off`), and segmentation with it.
#[derive(Debug)]
pub struct Port {
    socket: Socket,
}

impl Port {
    /// Opens an interface by its name. Needs the capability `CAP_NET_RAW`.
    pub fn open(interface: &str) -> io::Result<Self> {
        let index = nix::net::if_::if_nametoindex(interface)?;
        let all = (libc::ETH_P_ALL as u16).to_be();
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(i32::from(all))))?;
        // SAFETY: the storage is as large as any address, and all of `sockaddr_ll` is written.
        let ((), address) = unsafe {
            SockAddr::try_init(|storage, length| {
                let address = libc::sockaddr_ll {
                    sll_family: libc::AF_PACKET as u16,
                    sll_protocol: all,
                    sll_ifindex: index.cast_signed(),
                    sll_hatype: 0,
                    sll_pkttype: 0,
                    sll_halen: 0,
                    sll_addr: [0; 8],
                };
                storage.cast::<libc::sockaddr_ll>().write(address);
                *length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
                Ok(())
            })
        }?;
        socket.bind(&address)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&socket, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
        // Frames that others send on the interface are not received by the switch.
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        socket.set_recv_buffer_size(4 << 20)?;
        Ok(Self { socket })
    }

    /// Sets how long [`Self::receive`] waits; `None` is for ever.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    /// Sends a frame.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.socket.send(frame).map(|_| ())
    }

    /// Receives a frame; `None` when there is none in time.
    pub fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = Vec::with_capacity(FRAME_MAX);
        match self.socket.recv(buffer.spare_capacity_mut()) {
            Ok(length) => {
                // SAFETY: the socket has written so many bytes.
                unsafe { buffer.set_len(length) };
                Ok(Some(buffer))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            // The interface is down; it may come back.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn set<T>(socket: &Socket, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes of the value as it has.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
