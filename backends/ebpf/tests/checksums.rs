//! Relaying in the stack whatever state a packet's checksum is in: right when it leaves, for
//! whoever looks.

#![allow(clippy::disallowed_methods, reason = "tests wait in real time")]

mod support;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use backend_ebpf::{Counter, Hook, RelayConfig, RelayOffload};
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, recv, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};
use skip::skipped;
use support::*;
use veth::frame::{Frame, checksum};
use veth::{Pair, pair_or_skip};

/// The party that completes checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finished {
    /// The sender, before its device: nobody else has to.
    BySender,
    /// The device that packets leave through.
    ByDevice,
    /// Nobody: neither device needs them on a cable.
    Never,
}

/// All that passes an interface, as it is there.
struct Capture(OwnedFd);

impl Capture {
    fn start(pair: &Pair) -> Self {
        let raw = pair.far.run(|| {
            socket(
                AddressFamily::Packet,
                SockType::Raw,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::EthAll,
            )
        });
        let raw = raw.expect("this takes no more privilege than namespaces");
        setsockopt(&raw, ReceiveTimeout, &TimeVal::seconds(PATIENCE.as_secs() as i64)).expect("a socket can");
        Capture(raw)
    }

    /// The next datagram from one of these to the other, and the bytes it stands in.
    fn next(&self, source: SocketAddr, destination: SocketAddr) -> (Frame, Vec<u8>) {
        loop {
            let mut bytes = vec![0; 2_000];
            let len = recv(self.0.as_raw_fd(), &mut bytes, nix::sys::socket::MsgFlags::empty()).expect("it passes");
            bytes.truncate(len);
            match Frame::read(&bytes) {
                Some(frame) if (frame.source, frame.destination) == (source, destination) => return (frame, bytes),
                _ => {}
            }
        }
    }
}

/// Relays packets of all lengths and contents, and looks at them on the cable and where they
/// arrive.
fn looks_right(pair: &Pair, offload: &RelayOffload, parties: &Parties, finished: Finished) {
    let before = offload.statistics().read()[Counter::Relayed];
    let capture = Capture::start(pair);
    let mut buffer = [0; 2_000];
    for (number, len) in (0..300).zip((12..).step_by(3)) {
        let packet = rtp(number, len.max(16));
        parties.sockets[0].send_to(&packet, parties.ours[0]).unwrap();
        let (len, source) = parties.sockets[1].recv_from(&mut buffer).expect("it arrives");
        assert_eq!((&buffer[..len], source), (&packet[..], parties.ours[1]));
        let (frame, bytes) = capture.next(parties.ours[1], parties.theirs[1]);
        assert_eq!(frame.payload, packet);
        let found = u16::from_be_bytes(*bytes[frame.udp_at() + 6..].first_chunk().unwrap());
        let wanted = match finished {
            // The sum of the pseudo header is left to go on from.
            Finished::Never => !checksum(&[&frame.pseudo_header()]),
            Finished::BySender | Finished::ByDevice => {
                u16::from_be_bytes(*frame.bytes()[frame.udp_at() + 6..].first_chunk().unwrap())
            }
        };
        assert_eq!(found, wanted, "{finished:?}");
    }
    assert_eq!(offload.statistics().read()[Counter::Relayed] - before, 300);
}

/// Has packets between the two relayed, both ways.
fn relay_in_stack(pair: &Pair, parties: &Parties) -> RelayOffload {
    let config = RelayConfig {
        interfaces: vec!["near0".to_owned()],
        hook: Hook::Tc,
        ..RelayConfig::default()
    };
    let started = pair.near.run(|| RelayOffload::start(&config, Instant::now()));
    let mut offload = started.expect("this takes no more privilege than namespaces");
    for from in [0, 1] {
        offload
            .set(Instant::now(), parties.ours[from], &parties.relay(from))
            .expect("it is taken");
    }
    offload
}

#[test]
fn a_checksum_is_right_whoever_completes_it() {
    let Some(pair) = pair_or_skip(1) else { return };
    for (far, near, finished) in [
        ("off", "on", Finished::BySender),
        ("on", "off", Finished::ByDevice),
        ("on", "on", Finished::Never),
    ] {
        for (side, words) in [
            (&pair.far, format!("-K far0 tx {far}")),
            (&pair.near, format!("-K near0 tx {near}")),
        ] {
            if let Err(reason) = side.command("ethtool", &words) {
                skipped("nothing was tested", reason);
                return;
            }
        }
        for like in [IpAddr::from(pair.near.v4), pair.near.v6.into()] {
            let parties = Parties::new(&pair, like);
            looks_right(&pair, &relay_in_stack(&pair, &parties), &parties, finished);
        }
    }
}

fn send_without_checksums(socket: &UdpSocket) {
    let on: libc::c_int = 1;
    let (option, len) = ((&raw const on).cast(), size_of_val(&on) as u32);
    // SAFETY: the value is an integer, which outlives the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, option, len) };
    assert_eq!(result, 0, "a socket can");
}

#[test]
fn no_checksum_stays_none() {
    let Some(pair) = pair_or_skip(1) else { return };
    let parties = Parties::new(&pair, pair.near.v4.into());
    let offload = relay_in_stack(&pair, &parties);
    let capture = Capture::start(&pair);
    send_without_checksums(&parties.sockets[0]);
    for number in 0..20 {
        let packet = rtp(number, 172);
        parties.sockets[0].send_to(&packet, parties.ours[0]).unwrap();
        let (frame, _) = capture.next(parties.ours[1], parties.theirs[1]);
        assert!(frame.unchecked && frame.payload == packet, "{frame:?}");
        let len = parties.sockets[1].recv(&mut [0; 2_000]).expect("it arrives");
        assert_eq!(len, packet.len());
    }
    assert_eq!(offload.statistics().read()[Counter::Relayed], 20);
}
