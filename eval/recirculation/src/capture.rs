//! Packets at the SFU's own interface, in and out, with the kernel's time of each.

use std::io::{self, IoSliceMut};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use harness::Stamp;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType, bind,
    recvmmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use veth::Side;

use crate::matching::{Direction, Seen};

/// Frames read by one system call.
const BATCH_MAX: usize = 64;
/// Headers and the stamp.
const BUFFER_LEN: usize = 96;
/// The burst is read after it is over, so that nothing but the SFU works meanwhile. The longest has
/// 55,000 packets of less than 4 kB in the kernel.
const RECEIVE_BUFFER_BYTES: usize = 256 << 20;
/// `sll_pkttype` of a frame that leaves (linux/if_packet.h).
const OUTGOING: u8 = 4;

const IPV4: usize = 14;
const UDP: usize = IPV4 + 20;
const RTP: usize = UDP + 8;
const STAMP: usize = RTP + 12;

/// A socket on one interface.
///
/// The kernel stamps packets only while a socket wants it, and begins a moment after that.
/// A packet without a stamp gets the time of its reading. So the socket has to be open for a while
/// before the packets that are measured.
pub(crate) struct Capture {
    socket: OwnedFd,
    dropped: u32,
}

impl Capture {
    /// From here on.
    ///
    /// Errors: no permission.
    pub(crate) fn start(side: &Side) -> io::Result<Self> {
        side.run(|| open(side.interface))
    }

    /// Everything that was captured of the burst with this source; other packets are passed over.
    /// Viewer 0 has the address `first`, and the others those after it.
    ///
    /// Errors: packets were missed.
    pub(crate) fn read(&mut self, source: u32, first: Ipv4Addr) -> io::Result<Vec<Seen>> {
        let mut seen = Vec::new();
        while self.read_batch(|frame, is_outgoing, at_ns| {
            if let Some((stamp, to)) = parse(frame).filter(|(stamp, _)| stamp.source == source) {
                let direction = match is_outgoing {
                    true => Direction::To(u32::from(to).wrapping_sub(first.into())),
                    false => Direction::Arriving,
                };
                seen.push(Seen {
                    number: u32::try_from(stamp.number).unwrap_or(u32::MAX),
                    at_ns,
                    direction,
                });
            }
        })? {}
        if self.dropped > 0 {
            return Err(io::Error::other(format!("the capture missed {} packets", self.dropped)));
        }
        Ok(seen)
    }

    /// Whether there was anything to read.
    fn read_batch(&mut self, mut handle: impl FnMut(&[u8], bool, u64)) -> io::Result<bool> {
        let control = nix::cmsg_space!(TimeSpec, u32);
        let mut headers = MultiHeaders::<LinkAddr>::preallocate(BATCH_MAX, Some(control));
        let mut buffers = [[0; BUFFER_LEN]; BATCH_MAX];
        let mut read = Vec::with_capacity(BATCH_MAX);
        {
            let mut slices: Vec<[IoSliceMut<'_>; 1]> =
                buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
            let flags = MsgFlags::MSG_DONTWAIT;
            let results = match recvmmsg(self.socket.as_raw_fd(), &mut headers, slices.iter_mut(), flags, None) {
                Ok(results) => results,
                Err(Errno::EAGAIN) => return Ok(false),
                Err(Errno::EINTR) => return Ok(true),
                Err(error) => return Err(error.into()),
            };
            for result in results {
                let mut at_ns = 0;
                for control in result.cmsgs()? {
                    match control {
                        ControlMessageOwned::ScmTimestampns(at) => at_ns = Duration::from(at).as_nanos() as u64,
                        ControlMessageOwned::RxqOvfl(dropped) => self.dropped = dropped,
                        _ => {}
                    }
                }
                let is_outgoing = result.address.is_some_and(|address| address.pkttype() == OUTGOING);
                read.push((result.bytes.min(BUFFER_LEN), is_outgoing, at_ns));
            }
        }
        for (buffer, (len, is_outgoing, at_ns)) in buffers.iter().zip(read) {
            handle(&buffer[..len], is_outgoing, at_ns);
        }
        Ok(true)
    }
}

/// In the namespace of the thread.
fn open(interface: &str) -> io::Result<Capture> {
    let link = getifaddrs()?
        .filter(|it| it.interface_name == interface)
        .find_map(|it| it.address?.as_link_addr().copied());
    let link: LinkAddr = link.ok_or_else(|| io::Error::other(format!("there is no interface {interface}")))?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?;
    bind(socket.as_raw_fd(), &link)?;
    setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&socket, sockopt::RxqOvfl, &1)?;
    Ok(Capture { socket, dropped: 0 })
}

/// The stamp in a packet of the burst, and the packet's destination.
fn parse(frame: &[u8]) -> Option<(Stamp, Ipv4Addr)> {
    // IPv4 without options, UDP, RTP without CSRCs and extension: all SFUs keep these.
    let is_ours = frame.get(12..15)? == [0x08, 0x00, 0x45] && *frame.get(IPV4 + 9)? == 17 && *frame.get(RTP)? == 0x80;
    let to: [u8; 4] = *frame.get(IPV4 + 16..)?.first_chunk()?;
    let stamp = Stamp::read(frame.get(STAMP..)?)?;
    is_ours.then(|| (stamp, to.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use veth::frame::Frame;

    fn frame(payload: &[u8]) -> Vec<u8> {
        Frame::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into(), payload).bytes()
    }

    #[test]
    fn a_packet_is_known_by_its_stamp() {
        let stamp = Stamp {
            source: 3,
            number: 7,
            sent_ns: 9,
        };
        let mut payload = vec![0x80; 60];
        stamp.write(&mut payload[12..]);
        let found = parse(&frame(&payload));
        assert_eq!(found, Some((stamp, Ipv4Addr::new(10, 0, 0, 2))));
        payload[0] = 0x90;
        assert_eq!(parse(&frame(&payload)), None, "an extension moves the stamp");
    }

    #[test]
    fn other_packets_are_passed_over() {
        assert_eq!(parse(&frame(&[0x80; 60])), None);
        assert_eq!(parse(&frame(&[0x80; 14])), None);
        assert_eq!(parse(&[0; 14]), None);
    }
}
