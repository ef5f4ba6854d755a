//! The differentiated services of a datagram.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// The differentiated services of the next datagram.
pub(crate) fn receive(socket: &UdpSocket) -> u8 {
    let (level, ask) = match socket.local_addr().unwrap() {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVTOS),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
    };
    let one = 1_i32;
    // SAFETY: an option of one int, which lives as long as the call.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), level, ask, (&raw const one).cast(), 4) };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
    let mut bytes = [0_u8; 2_000];
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: a msghdr of zeros is valid; its pointers are set to buffers that live as long as the
    // call.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut vector;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        assert!(
            libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) >= 0,
            "{}",
            io::Error::last_os_error()
        );
        let message = libc::CMSG_FIRSTHDR(&raw const header);
        assert!(!message.is_null(), "the kernel says what came with it");
        *libc::CMSG_DATA(message)
    }
}
