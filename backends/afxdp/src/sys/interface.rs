//! Interfaces: how many queues they have.

use std::mem;

use super::netlink::NetlinkSocket;

/// `ETHTOOL_GCHANNELS`.
const GET_CHANNELS: u32 = 0x3c;

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    receive_max: u32,
    transmit_max: u32,
    other_max: u32,
    combined_max: u32,
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// The number of receive queues of an interface; one where the driver does not report it.
pub(crate) fn queues(name: &str) -> u32 {
    let Ok(socket) = NetlinkSocket::open(0) else {
        return 1;
    };
    let mut channels = Channels {
        command: GET_CHANNELS,
        ..Channels::default()
    };
    // SAFETY: a request of zeros is a valid value: no name, no data.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return 1;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    // SAFETY: the request's name ends with a zero, and its data is the structure this command
    // wants; both live as long as the call.
    let answered = unsafe { libc::ioctl(socket.descriptor(), libc::SIOCETHTOOL, &raw mut request) };
    match answered {
        0 => channels.receive.max(channels.combined).max(1),
        _ => 1,
    }
}
