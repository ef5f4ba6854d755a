//! Programs on interfaces, and what holds them there.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::xdp::{XdpLink, XdpMode};
use aya::programs::{ProgramError, Xdp};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

use crate::error::code;
use crate::{EbpfError, Step};

/// `struct nlmsghdr` and `struct ifinfomsg`.
const HEADER: usize = 16;
const LINK: usize = 16;
const ANSWER_MAX: usize = 1 << 16;
const RTM_GETLINK: u16 = 18;
const NLM_F_REQUEST: u16 = 1;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const XDP_ATTACHED_DRV: u8 = 1;

/// Where the kernel runs an XDP program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// In the driver, before the packet has become the stack's.
    Native,
    /// In the stack, for drivers that know no XDP: it works, and saves little.
    Generic,
    /// Where an earlier process put it; it has been replaced there without a gap.
    Adopted,
}

/// Puts a program on an interface, in the driver if that can; or in the place of an earlier version, if that is held by a link pinned at `link`, where it
/// is then held as well.
pub(crate) fn attach(program: &mut Xdp, name: &str, number: u32, link: Option<&Path>) -> Result<Attached, EbpfError> {
    let failed = |error: ProgramError| EbpfError::inside(Step::Attach(name.to_owned()), error);
    if let Some(link) = link {
        if adopt(program, link).is_some() {
            return Ok(Attached::Adopted);
        }
        // Its interface is gone, and another may have its name.
        let _ = fs::remove_file(link);
    }
    let (id, attached) = match program.attach_to_if_index(number, XdpMode::Driver) {
        Ok(id) => (id, Attached::Native),
        Err(error) if !is_unsupported(&error) => return Err(failed(error)),
        Err(_) => {
            let id = program.attach_to_if_index(number, XdpMode::Skb).map_err(failed)?;
            (id, Attached::Generic)
        }
    };
    if let Some(path) = link {
        let attached = program.take_link(id).map_err(failed)?;
        let pinned =
            FdLink::try_from(attached).map_err(|error| EbpfError::inside(Step::Pin(path.to_owned()), error))?;
        pinned
            .pin(path)
            .map_err(|error| EbpfError::inside(Step::Pin(path.to_owned()), error))?;
    }
    Ok(attached)
}

/// Replaces whatever program is held by a pinned link, with no packet in between.
fn adopt(program: &mut Xdp, link: &Path) -> Option<()> {
    let held = FdLink::from(PinnedLink::from_pin(link).ok()?);
    program.attach_to_link(XdpLink::try_from(held).ok()?).ok()?;
    Some(())
}

/// Whether the kernel runs the program of an interface in the driver, by what it says of the link (rtnetlink).
pub(crate) fn is_native(interface: &str) -> io::Result<bool> {
    let number = if_nametoindex(interface)?;
    let flags = SockFlag::SOCK_CLOEXEC;
    let route = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    let mut request = Vec::new();
    request.extend(((HEADER + LINK) as u32).to_ne_bytes());
    request.extend(RTM_GETLINK.to_ne_bytes());
    request.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence and sender, family and kind of the link.
    request.extend([0; 12]);
    request.extend(number.to_ne_bytes());
    request.extend([0; 8]);
    send(route.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut answer = vec![0; ANSWER_MAX];
    let len = recv(route.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let attributes = answer[..len].get(HEADER + LINK..).unwrap_or_default();
    let mode = attribute(attributes, IFLA_XDP).and_then(|xdp| attribute(xdp, IFLA_XDP_ATTACHED));
    Ok(mode.and_then(|mode| mode.first()) == Some(&XDP_ATTACHED_DRV))
}

/// The value of the attribute of this kind.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let [len0, len1, kind0, kind1] = *attributes.first_chunk()?;
        let len = usize::from(u16::from_ne_bytes([len0, len1]));
        // The highest bits say that there are more inside.
        if u16::from_ne_bytes([kind0, kind1]) & 0x3fff == wanted {
            return attributes.get(4..len);
        }
        attributes = attributes.get(len.max(4).next_multiple_of(4)..)?;
    }
}

pub(crate) fn is_unsupported(error: &ProgramError) -> bool {
    matches!(code(error), Some(libc::EOPNOTSUPP | libc::EINVAL))
}
