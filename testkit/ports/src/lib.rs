//! Free ports, for programs and devices that a test starts.
//!
//! They lie below those that the kernel gives out. A port that the kernel gave out and got back may
//! be given to any other socket. A connection to it, while nobody listens, may be made from that
//! very port: it is connected to itself then.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{iter, process};

const FIRST: u16 = 22_000;
const COUNT: u16 = 8_000;

/// The distance between the first ports of processes whose numbers follow each other.
const STRIDE: u32 = 1_009;

/// A port that no socket of this thread's network namespace has, on any address, in UDP or in TCP.
/// No two calls of a process return the same one, until all were returned.
///
/// Panics if there is none.
pub fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let ports = iter::repeat_with(|| {
        let nth = process::id()
            .wrapping_mul(STRIDE)
            .wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed));
        FIRST + (nth % u32::from(COUNT)) as u16
    });
    // A socket that looked for a free port would take it: a program that another test starts has,
    // until it runs, a copy of all that this process has open.
    let taken: BTreeSet<u16> = ["udp", "udp6", "tcp", "tcp6"]
        .into_iter()
        .flat_map(local_ports)
        .collect();
    let mut free = ports.take(COUNT.into()).filter(|port| !taken.contains(port));
    free.next().expect("a port is free")
}

/// Several of them.
///
/// Panics if there are too few.
pub fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    [(); COUNT].map(|()| free_port())
}

/// The local ports of all sockets of this thread's network namespace, of one of the kernel's lists:
/// `udp`, `udp6`, `tcp`, `tcp6`. The list is empty where the machine does not have the protocol.
pub fn local_ports(list: &str) -> BTreeSet<u16> {
    let sockets = fs::read_to_string(format!("/proc/thread-self/net/{list}")).unwrap_or_default();
    sockets.lines().filter_map(local_port).collect()
}

/// The port in a line about a socket, whose second column is the local address and port, in hex.
fn local_port(line: &str) -> Option<u16> {
    let (_, port) = line.split_whitespace().nth(1)?.split_once(':')?;
    u16::from_str_radix(port, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn each_port_is_free_and_another_one() {
        let ports = free_ports::<100>();
        assert_eq!(ports.into_iter().collect::<BTreeSet<_>>().len(), ports.len());
        for port in ports {
            UdpSocket::bind(("127.0.0.1", port)).expect("it is free");
            TcpListener::bind(("127.0.0.1", port)).expect("it is free");
        }
    }

    #[test]
    fn ports_of_sockets_are_listed_and_not_given_out() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let listener = TcpListener::bind("[::]:0").expect("a port");
        let [udp, tcp] = [socket.local_addr(), listener.local_addr()].map(|address| address.expect("bound").port());
        assert!(local_ports("udp").contains(&udp) && local_ports("tcp6").contains(&tcp));
        // The next ones are held.
        let next = free_port() + 1;
        let held: Vec<_> = (next..next + 3)
            .filter_map(|port| UdpSocket::bind(("127.0.0.1", port)).ok())
            .collect();
        let given = free_ports::<10>();
        let is_held = |socket: &UdpSocket| given.contains(&socket.local_addr().expect("bound").port());
        assert!(!held.iter().any(is_held), "{held:?} of {given:?}");
    }
}
