//! The file of the keys that controllers seal the snapshots of rooms with.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cluster::seal::SealKeys;
use zeroize::Zeroizing;

use crate::config::Cluster;
use crate::os::refused;

/// The longest file that is read. Shape: bytes.
const FILE_MAX: usize = 64 << 10;

// A part that controllers seal is one that nodes keep.
const _: () = assert!(cluster::limits::PART_LEN_MAX <= agent::limits::PART_LEN_MAX);

/// Reads the keys of a controller.
///
/// Errors: the configuration names no file, or the file cannot be read or has no usable keys.
pub(crate) fn load(cluster: &Cluster) -> Result<SealKeys, String> {
    let Some(path) = &cluster.secrets else {
        return Err("a controller needs `secrets: FILE` with the keys of the cluster: \
                    `weir cluster-cert` writes one, and all controllers have the same"
            .to_owned());
    };
    let text = read(path).map_err(|error| refused::file(path, &error))?;
    SealKeys::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> io::Result<Zeroizing<String>> {
    // With room for all of it, so that no copy stays behind when it grows.
    let mut text = Zeroizing::new(String::with_capacity(FILE_MAX + 1));
    let len = File::open(path)?.take(FILE_MAX as u64 + 1).read_to_string(&mut text)?;
    match len <= FILE_MAX {
        true => Ok(text),
        false => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the file is longer than {FILE_MAX} bytes"),
        )),
    }
}
