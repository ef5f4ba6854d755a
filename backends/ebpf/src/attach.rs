//! Programs on interfaces, and what holds them there.

use std::fs;
use std::path::Path;

use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::xdp::{XdpLink, XdpMode};
use aya::programs::{ProgramError, Xdp};

use crate::error::code;
use crate::{EbpfError, Step};

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

fn is_unsupported(error: &ProgramError) -> bool {
    matches!(code(error), Some(libc::EOPNOTSUPP | libc::EINVAL))
}
