//! What outlives the process: a folder of a BPF file system with the tables, and with what holds the program to each interface.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::kernel::{TABLES, fits};
use crate::layout::relay::RELAY_LAYOUT;
use crate::{EbpfError, Step};

/// What a relay program's folder is called, with its layout behind it.
const PREFIX: &str = "relay-";
const LINK_PREFIX: &str = "link-";

/// A folder of ours, locked while this lives.
#[derive(Debug)]
pub(super) struct Pins {
    folder: PathBuf,
    /// The lock goes with the process, however that ends.
    _lock: fs::File,
}

impl Pins {
    /// Takes the folder for this layout below `parent`. What another layout left is taken down, and so is what was left with tables of another size.
    pub(super) fn open(parent: &Path, relays_max: u32) -> Result<Self, EbpfError> {
        let folder = parent.join(format!("{PREFIX}{RELAY_LAYOUT}"));
        let failed = |error| EbpfError::of(Step::Pin(folder.clone()), error);
        fs::create_dir_all(parent).map_err(failed)?;
        let lock = lock(parent).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => EbpfError::InUse(parent.to_owned()),
            _ => failed(error),
        })?;
        let fits = fits(&folder, relays_max);
        take_down_but(parent, fits.then_some(folder.as_path())).map_err(failed)?;
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Pins { folder, _lock: lock })
    }

    /// Where a table is pinned.
    pub(super) fn table(&self, name: &str) -> PathBuf {
        debug_assert!(TABLES.contains(&name));
        self.folder.join(name)
    }

    /// Where it is pinned that the program is on an interface.
    pub(super) fn link(&self, interface: &str) -> PathBuf {
        // The file system has no dots in names, interfaces may.
        self.folder
            .join(format!("{LINK_PREFIX}{}", interface.replace('.', "~")))
    }

    /// Takes the program off all other interfaces.
    pub(super) fn remove_other_links(&self, interfaces: &[String]) {
        let ours: Vec<_> = interfaces.iter().map(|name| self.link(name)).collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_link = entry.file_name().to_string_lossy().starts_with(LINK_PREFIX);
            if is_link && !ours.contains(&entry.path()) {
                // One that stays forwards to nowhere: its interface is not in the table of those packets may leave through.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Ends forwarding that was left behind in `parent`: takes programs off interfaces and frees their tables.
///
/// Errors: the file system's, also where there is no such folder; `WouldBlock` where a process is at work there.
pub fn take_down(parent: &Path) -> io::Result<()> {
    let _lock = lock(parent)?;
    take_down_but(parent, None)
}

fn lock(parent: &Path) -> io::Result<fs::File> {
    let folder = fs::File::open(parent)?;
    folder.try_lock()?;
    Ok(folder)
}

fn take_down_but(parent: &Path, kept: Option<&Path>) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        let is_ours = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        if is_ours && Some(path.as_path()) != kept {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}
