//! An SFU as the thesis has it in Python (section 2.3), in Rust: one thread and one port, a list of
//! viewers for each presenter, and a loop that sends each packet to one viewer after another.
//!
//! It knows nothing of RTP: copies are the packet as it came. It shows the part of a delay that any
//! SFU by sockets has.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The viewers of each presenter.
pub(crate) type Groups = BTreeMap<SocketAddr, Vec<SocketAddr>>;

/// The longest wait before the thread sees that it is to end.
const PATIENCE: Duration = Duration::from_millis(20);
/// The largest datagram (RFC 768).
const DATAGRAM_MAX: usize = 65_535;

/// A naive SFU, which ends when it is dropped.
pub(crate) struct Naive {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Naive {
    /// Starts it on a bound socket.
    ///
    /// Errors: the socket cannot wait for a limited time, or there is no thread.
    pub(crate) fn start(socket: UdpSocket, groups: Groups) -> io::Result<Self> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let is_seen = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("naive".into()).spawn(move || {
            while !is_seen.load(Ordering::Relaxed) {
                copy_one(&socket, &groups);
            }
        })?;
        Ok(Self {
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for Naive {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Copies the next packet, if one arrives in time. One that no presenter sent goes to nobody, and a
/// copy that cannot be sent is lost.
fn copy_one(socket: &UdpSocket, groups: &Groups) {
    let mut packet = [0; DATAGRAM_MAX];
    let Ok((length, presenter)) = socket.recv_from(&mut packet) else {
        return;
    };
    for viewer in groups.get(&presenter).into_iter().flatten() {
        let _ = socket.send_to(&packet[..length], viewer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        socket
            .set_read_timeout(Some(Duration::from_secs(5)))
            .expect("it can wait");
        socket
    }

    fn received(socket: &UdpSocket) -> Vec<u8> {
        let mut packet = [0; 64];
        let length = socket.recv(&mut packet).expect("a packet arrives");
        packet[..length].to_vec()
    }

    #[test]
    fn naive_sfu_copies_a_presenters_packets_to_all_viewers_and_no_others() {
        let [presenter, stranger, one, other, sfu] = [(); 5].map(|()| socket());
        let [from, first, second, at] = [&presenter, &one, &other, &sfu].map(|it| it.local_addr().expect("bound"));
        let naive = Naive::start(sfu, Groups::from([(from, vec![first, second])])).expect("it starts");
        stranger.send_to(b"stranger", at).expect("sent");
        presenter.send_to(b"", at).expect("sent");
        presenter.send_to(b"packet", at).expect("sent");
        for viewer in [&one, &other] {
            assert_eq!(received(viewer), b"");
            assert_eq!(received(viewer), b"packet");
        }
        drop(naive);
        UdpSocket::bind(at).expect("its port is free once it has ended");
    }
}
