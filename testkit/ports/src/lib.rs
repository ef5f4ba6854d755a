//! Free ports, for programs that a test starts.

#![forbid(unsafe_code)]

use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

use rustix::net::{Shutdown, connect_unspec, shutdown};

/// A port of 127.0.0.1 that no socket has, in UDP and in TCP.
///
/// Panics if there is none.
pub fn free_port() -> u16 {
    let [port] = free_ports();
    port
}

/// Several such ports, no two the same.
///
/// Panics if there are too few.
pub fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    // All are held until the last is found.
    let held = [(); COUNT].map(|()| Held::find().expect("there are ports"));
    held.map(|held| held.release().expect("a socket lets go of its port"))
}

/// The sockets that hold a port.
struct Held {
    udp: UdpSocket,
    tcp: TcpListener,
}

impl Held {
    fn find() -> io::Result<Self> {
        loop {
            let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            match TcpListener::bind(udp.local_addr()?) {
                Ok(tcp) => return Ok(Held { udp, tcp }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Lets go of the port, and returns it.
    ///
    /// A program that another test starts has, until it runs, a copy of all that this process had
    /// open. A socket that is only dropped here would keep its port until then.
    fn release(self) -> io::Result<u16> {
        let port = self.udp.local_addr()?.port();
        connect_unspec(&self.udp)?;
        shutdown(&self.tcp, Shutdown::Both)?;
        Ok(port)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_free_port_can_be_bound_while_other_programs_start() {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        Command::new("true").status().expect("it is everywhere");
                    }
                });
            }
            let taken = (0..1_000).find_map(|_| {
                let [one, two] = free_ports();
                let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, one)).map(drop);
                let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, two)).map(drop);
                udp.and(tcp).err()
            });
            is_over.store(true, Ordering::Relaxed);
            assert!(taken.is_none(), "{taken:?}");
        });
    }
}
