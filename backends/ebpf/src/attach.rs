//! Programs on interfaces, and what holds them there.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path;

use aya::programs::links::{FdLink, LinkError, PinnedLink};
use aya::programs::tc::{SchedClassifierLink, SchedClassifierLinkId};
use aya::programs::xdp::{XdpLink, XdpLinkId, XdpMode};
use aya::programs::{ProgramError, SchedClassifier, Xdp};
use bpf_retry::{errno, unless_interrupted, unless_taken};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use operator::places::KernelPath;

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

/// The place in the kernel where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// In the driver, before the packet has become the stack's.
    Native,
    /// At the entry of the stack, after the driver (TC).
    Stack,
    /// In the stack as if it were in the driver, for drivers that know no XDP: it works, and saves
    /// little.
    Generic,
    /// In the place where an earlier process attached it; the program was replaced there without a
    /// gap.
    Adopted,
}

/// The place in the kernel where packets are handled, in the words of `weir inspect`. Later places
/// save less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Path {
    /// In the driver.
    Driver,
    /// In the stack.
    Stack,
    /// In the stack, on a copy in the form that the driver would have used (generic XDP).
    Generic,
}

impl Path {
    /// As operators see it.
    pub(crate) fn view(self) -> KernelPath {
        match self {
            Path::Driver => KernelPath::Driver,
            Path::Stack => KernelPath::Stack,
            Path::Generic => KernelPath::Generic,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

/// A program that a link holds on an interface.
pub(crate) trait Linked {
    /// The id of a link that ends with the program.
    type Id;

    /// The link in a form that can outlive the program.
    fn take(&mut self, link: Self::Id) -> Result<FdLink, ProgramError>;

    /// Takes the place of whatever such a thing holds, with no packet in between.
    fn replace(&mut self, held: FdLink) -> Option<()>;
}

impl Linked for Xdp {
    type Id = XdpLinkId;

    fn take(&mut self, link: XdpLinkId) -> Result<FdLink, ProgramError> {
        self.take_link(link)?.try_into().map_err(unpinnable)
    }

    fn replace(&mut self, held: FdLink) -> Option<()> {
        self.attach_to_link(XdpLink::try_from(held).ok()?).ok().map(drop)
    }
}

impl Linked for SchedClassifier {
    type Id = SchedClassifierLinkId;

    fn take(&mut self, link: SchedClassifierLinkId) -> Result<FdLink, ProgramError> {
        self.take_link(link)?.try_into().map_err(unpinnable)
    }

    fn replace(&mut self, held: FdLink) -> Option<()> {
        self.attach_to_link(SchedClassifierLink::try_from(held).ok()?)
            .ok()
            .map(drop)
    }
}

/// An old kernel's link is nothing that can be held otherwise.
fn unpinnable(_: LinkError) -> ProgramError {
    ProgramError::IOError(std::io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Has `put` put a program on an interface; or puts it in the place of an earlier version, if that
/// is held by a link pinned at `link`, where it is then held as well.
pub(crate) fn attach<P: Linked>(
    program: &mut P,
    name: &str,
    link: Option<&path::Path>,
    mut put: impl FnMut(&mut P) -> Result<(P::Id, Attached), ProgramError>,
) -> Result<Attached, EbpfError> {
    let failed = |error: ProgramError| EbpfError::inside(Step::Attach(name.to_owned()), error);
    let Some(path) = link else {
        return Ok(unless_taken(|| unless_interrupted(|| put(program)).map_err(failed), is_taken)?.1);
    };
    if let Ok(pinned) = PinnedLink::from_pin(path)
        && program.replace(pinned.into()).is_some()
    {
        return Ok(Attached::Adopted);
    }
    // Its interface is gone, and another may have its name.
    let _ = fs::remove_file(path);
    let (id, attached) = unless_taken(|| unless_interrupted(|| put(program)).map_err(failed), is_taken)?;
    let held = program.take(id).map_err(failed)?;
    held.pin(path)
        .map_err(|error| EbpfError::inside(Step::Pin(path.to_owned()), error))?;
    Ok(attached)
}

fn is_taken(error: &EbpfError) -> bool {
    matches!(error, EbpfError::Taken(_))
}

/// Puts an XDP program on an interface, in the driver.
pub(crate) fn in_driver(program: &mut Xdp, number: u32) -> Result<(XdpLinkId, Attached), ProgramError> {
    Ok((program.attach_to_if_index(number, XdpMode::Driver)?, Attached::Native))
}

/// Attaches an XDP program to an interface whose driver does not support XDP.
pub(crate) fn generic(program: &mut Xdp, number: u32) -> Result<(XdpLinkId, Attached), ProgramError> {
    Ok((program.attach_to_if_index(number, XdpMode::Skb)?, Attached::Generic))
}

/// Whether the kernel runs the program of an interface in the driver, by the link's attributes
/// (rtnetlink).
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
        // The highest bits are flags of nesting and byte order.
        if u16::from_ne_bytes([kind0, kind1]) & 0x3fff == wanted {
            return attributes.get(4..len);
        }
        attributes = attributes.get(len.max(4).next_multiple_of(4)..)?;
    }
}

/// Whether an error means that this kind of attachment is not supported.
pub(crate) fn is_unsupported(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(errno(error), Some(libc::EOPNOTSUPP | libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pass;

    #[test]
    fn the_kernel_reports_where_it_runs_a_program() {
        let Some(pair) = veth::pair_or_skip(1) else { return };
        pair.near.run(|| {
            assert!(!is_native("near0").unwrap(), "there is none");
            let pass = Pass::start("near0").unwrap();
            assert!(is_native("near0").unwrap());
            drop(pass);
            assert!(!is_native("near0").unwrap());
            assert!(is_native("near1").is_err(), "there is no such interface");
        });
    }
}
