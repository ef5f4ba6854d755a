//! Look-ups of routes by programs: the kernel does them for interfaces that forward.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FAMILIES: [&str; 2] = ["ipv4", "ipv6"];

fn setting(family: &str) -> String {
    format!("/proc/sys/net/{family}/conf/lo/forwarding")
}

/// Says that the setting was 0. A folder, as a BPF file system has no files of its own.
fn mark(pins: &Path, family: &str) -> PathBuf {
    pins.join(format!("lo-{family}"))
}

/// Allows the kernel to look up routes for packets of this machine. It does so only where their
/// input interface has forwarding enabled. No packets arrive at the loopback interface from
/// elsewhere, so nothing else changes. A change is recorded among the pins, if there are any, for
/// [`restore`].
pub(crate) fn allow(pins: Option<&Path>) -> io::Result<()> {
    for family in FAMILIES {
        let path = setting(family);
        match fs::read_to_string(&path) {
            Ok(value) if value.trim() == "1" => {}
            Ok(_) => {
                // An error will occur again when the pins are opened.
                let _ = pins.map(|pins| fs::create_dir_all(mark(pins, family)));
                fs::write(&path, "1")?;
            }
            // A machine without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sets back what [`allow`] changed and recorded.
pub(crate) fn restore(pins: &Path) -> io::Result<()> {
    for family in FAMILIES {
        let mark = mark(pins, family);
        if mark.exists() {
            fs::write(setting(family), "0")?;
            fs::remove_dir(mark)?;
        }
    }
    Ok(())
}
