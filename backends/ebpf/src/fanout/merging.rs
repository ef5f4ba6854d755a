//! Whether an interface makes one packet of several (GRO) before the program sees them.
//!
//! The only `unsafe` of the fan-out is here: a question that has no other form.

#![allow(unsafe_code, reason = "system calls need it")]

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GET_GRO: u32 = 0x2b;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Asks the driver; one that does not know the question merges nothing.
pub(super) fn merges(interface: &str) -> io::Result<bool> {
    // Any socket will do to ask.
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0"))?;
    let mut value = Value {
        command: ETHTOOL_GET_GRO,
        data: 0,
    };
    // SAFETY: a request of zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last one stays zero, as the end of the name.
    let room = libc::IFNAMSIZ - 1;
    for (to, byte) in request.ifr_name.iter_mut().zip(interface.bytes().take(room)) {
        *to = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request is one of this call, and both it and what it points to outlive the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } {
        0 => Ok(value.data != 0),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            error => Err(error),
        },
    }
}
