//! Two parties at the far end of a cable, and the program at the near end.
#![allow(dead_code, reason = "every user has its own part")]

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::Deref;
use std::time::Duration;

use backend_ebpf::Pass;
use dataplane::{Accept, Hop, Path, Relay, RelayProtection};
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
use skip::skipped;
use veth::{Pair, pair_or_skip};

/// How long to wait for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// A cable on which programs can send: its far end takes frames from them, and sends frames whose
/// checksums are finished.
pub(crate) fn cable_or_skip() -> Option<Cable> {
    let pair = pair_or_skip(1)?;
    if let Err(reason) = pair.far.command("ethtool", "-K far0 tx off") {
        skipped("nothing was tested", reason);
        return None;
    }
    let taking = pair
        .far
        .run(|| Pass::start(pair.far.interface))
        .expect("this takes no more privilege than namespaces");
    Some(Cable { pair, _taking: taking })
}

/// Two namespaces, and what makes the far one take frames.
pub(crate) struct Cable {
    pair: Pair,
    _taking: Pass,
}

impl Deref for Cable {
    type Target = Pair;

    fn deref(&self) -> &Pair {
        &self.pair
    }
}

/// Caller and called, and our port for each.
pub(crate) struct Parties {
    pub sockets: [UdpSocket; 2],
    pub theirs: [SocketAddr; 2],
    pub ours: [SocketAddr; 2],
}

impl Parties {
    /// At the far end, known to the near one.
    pub(crate) fn new(pair: &Pair, like: IpAddr) -> Self {
        Self::between(pair, pair.near.address(like), pair.far.address(like))
    }

    /// At this address of the far end, with ports of ours at that of the near one.
    pub(crate) fn between(pair: &Pair, near: IpAddr, far: IpAddr) -> Self {
        let sockets = [0, 1].map(|_| pair.far.run(|| UdpSocket::bind((far, 0)).expect("there are ports")));
        for socket in &sockets {
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket can");
            // A reader that waits for a processor misses no packet meanwhile.
            setsockopt(socket, RcvBufForce, &(4 << 20)).expect("root may");
        }
        let theirs = [0, 1].map(|at: usize| sockets[at].local_addr().expect("it is bound"));
        // A datagram makes the kernel resolve the receiver's hardware address.
        let asking = pair.near.run(|| UdpSocket::bind((near, 0)).expect("there are ports"));
        asking.send_to(b"hello", theirs[0]).expect("the way is open");
        sockets[0].recv(&mut [0; 9]).expect("it arrives");
        Parties {
            sockets,
            theirs,
            ours: [40_000, 40_002].map(|port| SocketAddr::new(near, port)),
        }
    }

    /// On the near end, as our ports are.
    pub(crate) fn beside(pair: &Pair, near: IpAddr) -> Self {
        let sockets = [0, 1].map(|_| pair.near.run(|| UdpSocket::bind((near, 0)).expect("there are ports")));
        for socket in &sockets {
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket can");
        }
        let theirs = [0, 1].map(|at: usize| sockets[at].local_addr().expect("it is bound"));
        Parties {
            sockets,
            theirs,
            ours: [40_000, 40_002].map(|port| SocketAddr::new(near, port)),
        }
    }

    /// The relay of the packets of one of them.
    pub(crate) fn relay(&self, from: usize) -> Relay {
        relay(self.theirs[from], self.ours[1 - from], self.theirs[1 - from])
    }
}

pub(crate) fn relay(accept: SocketAddr, local: SocketAddr, remote: SocketAddr) -> Relay {
    let hop = Hop {
        path: Path { local, remote },
        egress_protection: RelayProtection::Clear,
        tos: None,
    };
    Relay {
        accept: Accept::Only(accept),
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: Some(hop.clone()),
        rtcp: Some(hop),
    }
}

/// RTP, with its number also at its end.
pub(crate) fn rtp(number: u32, len: usize) -> Vec<u8> {
    let mut packet = vec![0x80, 0];
    packet.extend((number as u16).to_be_bytes());
    packet.extend((160 * number).to_be_bytes());
    packet.extend(7u32.to_be_bytes());
    packet.resize(len - 4, 0xd5);
    packet.extend(number.to_be_bytes());
    packet
}

/// The number at a packet's end.
pub(crate) fn number(packet: &[u8]) -> u32 {
    u32::from_be_bytes(*packet.last_chunk().expect("longer than that"))
}
