//! State that outlives the process: folders of a BPF file system with tables, and with the links
//! that attach a program to each interface.

use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use bpf_retry::unless_taken;

use crate::{EbpfError, Step, look_ups};

/// Rooms are kept in a folder of this name beside the relays.
const ROOMS: &str = "rooms";

/// The names of the programs' folders, each followed by its layout.
const PREFIXES: [&str; 2] = ["relay-", "fanout-"];
const LINK_PREFIX: &str = "link-";

/// A folder of this process, locked while this lives.
#[derive(Debug)]
pub(crate) struct Pins {
    folder: PathBuf,
    /// The lock ends with the process, even after a crash.
    _lock: fs::File,
}

impl Pins {
    /// Takes the folder of this name below `parent`. Pins of another layout are taken down, and so
    /// are pins that do not fit.
    pub(crate) fn open(parent: &Path, name: &str, fits: impl FnOnce(&Path) -> bool) -> Result<Self, EbpfError> {
        debug_assert!(is_ours(Path::new(name)));
        let folder = parent.join(name);
        let failed = |error| EbpfError::of(Step::Pin(folder.clone()), error);
        fs::create_dir_all(parent).map_err(failed)?;
        let lock = lock(parent).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => EbpfError::InUse(parent.to_owned()),
            _ => failed(error),
        })?;
        let fits = fits(&folder);
        detach_but(parent, fits.then_some(folder.as_path())).map_err(failed)?;
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Pins { folder, _lock: lock })
    }

    /// The path where a table is pinned.
    pub(crate) fn table(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The path where the link to an interface is pinned.
    pub(crate) fn link(&self, interface: &str) -> PathBuf {
        // The file system has no dots in names, interfaces may.
        self.folder
            .join(format!("{LINK_PREFIX}{}", interface.replace('.', "~")))
    }

    /// Takes the program off all other interfaces.
    pub(crate) fn remove_other_links(&self, interfaces: &[String]) {
        let ours: Vec<_> = interfaces.iter().map(|name| self.link(name)).collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_link = entry.file_name().to_string_lossy().starts_with(LINK_PREFIX);
            if is_link && !ours.contains(&entry.path()) {
                // A link that cannot be removed forwards nothing: its interface is not in the table
                // of interfaces that packets may be sent through.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The folder of rooms below the configured one. They have one of their own because the relays'
/// folder has its own lock.
pub(crate) fn of_rooms(parent: &Path) -> PathBuf {
    parent.join(ROOMS)
}

/// Ends forwarding that was left behind in `parent`: detaches programs, frees their tables, and
/// resets the settings of `lo` that they needed.
///
/// Errors: the file system's, also where there is no such folder; `WouldBlock` where a process is
/// at work there.
pub fn detach(parent: &Path) -> io::Result<()> {
    let _lock = lock(parent)?;
    detach_rooms(parent)?;
    detach_but(parent, None)?;
    look_ups::restore(parent)
}

/// The same of rooms alone, if there are any.
///
/// Errors: as above.
pub fn detach_rooms(parent: &Path) -> io::Result<()> {
    let rooms = of_rooms(parent);
    let lock = match lock(&rooms) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        lock => lock?,
    };
    detach_but(&rooms, None)?;
    drop(lock);
    fs::remove_dir(rooms)
}

fn lock(parent: &Path) -> io::Result<fs::File> {
    let folder = fs::File::open(parent)?;
    unless_taken(|| folder.try_lock(), |error| matches!(error, TryLockError::WouldBlock))?;
    Ok(folder)
}

fn detach_but(parent: &Path, kept: Option<&Path>) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if is_ours(&path) && Some(path.as_path()) != kept {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
