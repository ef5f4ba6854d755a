//! Control messages (cmsg(3)): what the kernel passes with a datagram besides its bytes.

use std::mem;
use std::net::IpAddr;
use std::time::Duration;

use super::address::{Family, in_addr, in6_addr, ip_v4, ip_v6};

/// A buffer for every control message of one datagram, aligned as the kernel requires.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct CmsgBuffer(pub(super) [u8; 192]);

/// The control messages of a received datagram, or of several that the kernel merged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Received {
    /// The local address it was sent to.
    pub(super) local: Option<IpAddr>,
    /// The size of each but the last, when several were merged.
    pub(super) segment: Option<usize>,
    /// How many datagrams the socket has dropped so far for want of room.
    pub(super) overflows: Option<u32>,
    /// When it arrived, since 1970 by the system's clock.
    pub(super) at: Option<Duration>,
}

/// Reads the control messages of a message the kernel has filled.
///
/// # Safety
///
/// `header` must be as recvmsg left it, its control buffer still in place.
pub(super) unsafe fn read(header: &libc::msghdr) -> Received {
    let mut received = Received::default();
    // SAFETY: the caller vouches for the control buffer; the macros stay inside of it.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: the macros return null or a whole header inside the control buffer.
    while let Some(message) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        let data = unsafe { libc::CMSG_DATA(message) };
        match (message.cmsg_level, message.cmsg_type) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // SAFETY: the kernel wrote a structure of this type; it may not be aligned.
                let info = unsafe { data.cast::<libc::in_pktinfo>().read_unaligned() };
                received.local = Some(ip_v4(info.ipi_addr).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // SAFETY: as above.
                let info = unsafe { data.cast::<libc::in6_pktinfo>().read_unaligned() };
                received.local = Some(ip_v6(info.ipi6_addr));
            }
            (libc::SOL_UDP, libc::UDP_GRO) => {
                // SAFETY: as above.
                let size = unsafe { data.cast::<libc::c_int>().read_unaligned() };
                received.segment = usize::try_from(size).ok().filter(|size| *size > 0);
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                // SAFETY: as above.
                received.overflows = Some(unsafe { data.cast::<u32>().read_unaligned() });
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                // SAFETY: as above.
                let time = unsafe { data.cast::<libc::timespec>().read_unaligned() };
                received.at = u64::try_from(time.tv_sec)
                    .ok()
                    .map(|seconds| Duration::new(seconds, time.tv_nsec as u32));
            }
            _ => {}
        }
        // SAFETY: as for the first.
        next = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    received
}

/// Writes what a sent datagram needs into `buffer`: the address to send from, and the segment size
/// of a run. Returns the length.
pub(super) fn write(buffer: &mut CmsgBuffer, family: Family, local: IpAddr, segment: Option<u16>) -> usize {
    let mut len = match (family, local) {
        (_, ip) if ip.is_unspecified() => 0,
        (Family::V4, IpAddr::V4(ip)) => {
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: in_addr(ip),
                ipi_addr: in_addr(ip),
            };
            append(buffer, 0, libc::IPPROTO_IP, libc::IP_PKTINFO, info)
        }
        (Family::V6, ip) => {
            let ip = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            let info = libc::in6_pktinfo {
                ipi6_addr: in6_addr(ip),
                ipi6_ifindex: 0,
            };
            append(buffer, 0, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info)
        }
        // No socket is asked to send from the other family's address; if one were, the kernel
        // chooses.
        (Family::V4, IpAddr::V6(_)) => 0,
    };
    if let Some(segment) = segment {
        len = append(buffer, len, libc::SOL_UDP, libc::UDP_SEGMENT, segment);
    }
    len
}

/// Writes the differentiated services of a sent datagram into `buffer`. Returns the length.
pub(super) fn write_tos(buffer: &mut CmsgBuffer, family: Family, tos: u8) -> usize {
    let (level, kind) = match family {
        Family::V4 => (libc::IPPROTO_IP, libc::IP_TOS),
        Family::V6 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    };
    append(buffer, 0, level, kind, libc::c_int::from(tos))
}

/// Writes one control message behind `at` bytes of others; returns where it ends.
fn append<T: Copy>(buffer: &mut CmsgBuffer, at: usize, level: i32, kind: i32, value: T) -> usize {
    // SAFETY: these only calculate.
    let (space, len) = unsafe {
        let size = mem::size_of::<T>() as u32;
        (libc::CMSG_SPACE(size) as usize, libc::CMSG_LEN(size) as usize)
    };
    assert!(
        at + space <= buffer.0.len(),
        "the buffer is large enough for all messages there are"
    );
    let header = libc::cmsghdr {
        cmsg_len: len as _,
        cmsg_level: level,
        cmsg_type: kind,
    };
    // SAFETY: `space` bytes from `at` on were just found to be inside; header and data lie in them
    // where CMSG_LEN says. Writes need no alignment.
    unsafe {
        let start = buffer.0.as_mut_ptr().add(at);
        start.cast::<libc::cmsghdr>().write_unaligned(header);
        let data = start.add(len - mem::size_of::<T>());
        data.cast::<T>().write_unaligned(value);
    }
    at + space
}
