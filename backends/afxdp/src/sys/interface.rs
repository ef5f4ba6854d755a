//! Interfaces: how many queues they have, and steering sockets by them.

use std::io;
use std::mem;
use std::os::fd::RawFd;

use super::check;
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

/// How many receive queues an interface uses; one where the driver does not say.
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
    // SAFETY: the request's name ends with a zero, and its data is the structure this command wants; both live as long as the call.
    let answered = unsafe { libc::ioctl(socket.descriptor(), libc::SIOCETHTOOL, &raw mut request) };
    match answered {
        0 => channels.receive.max(channels.combined).max(1),
        _ => 1,
    }
}

/// Has a group of `workers` sockets on one port, of which `socket` is one, take datagrams by receive queue: queue q is for the socket that was bound as
/// number q modulo `workers`. A datagram that came through no queue goes where its addresses say, as without this.
pub(crate) fn steer(socket: RawFd, workers: u32) -> io::Result<()> {
    const QUEUE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_QUEUE) as u32;
    let op = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    // The kernel keeps the queue's number plus one, and zero for none. An index no socket has means that addresses decide.
    let mut program = [
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, QUEUE),
        op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 3, 0, 0),
        op(libc::BPF_ALU | libc::BPF_SUB | libc::BPF_K, 0, 0, 1),
        op(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, 0, 0, workers),
        op(libc::BPF_RET | libc::BPF_A, 0, 0, 0),
        op(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    attach(socket, &filter)
}

fn attach(socket: RawFd, filter: &libc::sock_fprog) -> io::Result<()> {
    let len = size_of::<libc::sock_fprog>() as libc::socklen_t;
    // SAFETY: the program has as many instructions as it says, and both live as long as the call, which copies them.
    check(unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            std::ptr::from_ref(filter).cast(),
            len,
        )
    })
    .map(drop)
}
