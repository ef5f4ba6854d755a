//! Ports of a switch on this machine: packet sockets on network interfaces.
//!
//! The kernel takes the outer VLAN tag out of a frame before a packet socket receives it, and tells
//! it beside the frame (packet(7), `PACKET_AUXDATA`). It is put back, as libpcap does for BMv2: a
//! program that knows no tags does not take a tagged frame for an untagged one.

#![allow(unsafe_code, reason = "no safe interface names a packet socket's interface")]

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::{Domain, MaybeUninitSlice, MsgHdrMut, Protocol, SockAddr, Socket, Type};

/// The longest frame.
pub const FRAME_MAX: usize = 65_536;

/// The hardware addresses of a frame, in bytes. A VLAN tag is behind them.
const ADDRESSES: usize = 12;

/// Room for what the kernel tells beside a frame, in bytes.
const CONTROL_MAX: usize = 64;

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
        set(&socket, libc::PACKET_AUXDATA, &1_i32)?;
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

    /// Receives a frame with its VLAN tags; `None` when there is none in time.
    pub fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut frame = Vec::with_capacity(FRAME_MAX);
        let mut control = [MaybeUninit::new(0_u8); CONTROL_MAX];
        let received = {
            let mut buffers = [MaybeUninitSlice::new(frame.spare_capacity_mut())];
            let message = MsgHdrMut::new().with_buffers(&mut buffers);
            let mut message = message.with_control(&mut control);
            let received = self.socket.recvmsg(&mut message, 0);
            received.map(|length| (length, message.control_len()))
        };
        match received {
            Ok((length, told)) => {
                // SAFETY: the socket has written so many bytes.
                unsafe { frame.set_len(length) };
                // SAFETY: all of it was initialized.
                let control = control.map(|byte| unsafe { byte.assume_init() });
                if let Some(tag) = control.get(..told).and_then(tag) {
                    let behind = ADDRESSES.min(frame.len());
                    frame.splice(behind..behind, tag);
                }
                Ok(Some(frame))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            // The interface is down; it may come back.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The VLAN tag that the kernel tells beside a frame, as it was in the frame: its protocol and its
/// value, both in network byte order.
fn tag(control: &[u8]) -> Option<[u8; 4]> {
    let at = |offset: usize| control.get(offset..offset + 4)?.try_into().ok();
    let word = |offset| at(offset).map(u32::from_ne_bytes);
    let (level, kind) = (
        word(offset_of!(libc::cmsghdr, cmsg_level))?,
        word(offset_of!(libc::cmsghdr, cmsg_type))?,
    );
    if (level, kind) != (libc::SOL_PACKET as u32, libc::PACKET_AUXDATA as u32) {
        return None;
    }
    let data = size_of::<libc::cmsghdr>();
    let status = word(data + offset_of!(libc::tpacket_auxdata, tp_status))?;
    let half = |offset: usize| {
        let bytes = control.get(data + offset..data + offset + 2)?.try_into().ok()?;
        Some(u16::from_ne_bytes(bytes))
    };
    let value = half(offset_of!(libc::tpacket_auxdata, tp_vlan_tci))?;
    let protocol = half(offset_of!(libc::tpacket_auxdata, tp_vlan_tpid))?;
    let is_told = status & libc::TP_STATUS_VLAN_VALID != 0 && status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let [p, q] = protocol.to_be_bytes();
    let [v, w] = value.to_be_bytes();
    is_told.then_some([p, q, v, w])
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
