//! The file of the keys that controllers seal the snapshots of rooms with.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cluster::seal::{SealKeys, SharedSealKeys};
use tracing::{error, info};
use zeroize::Zeroizing;

use crate::os::refused;

/// The longest file that is read. Shape: bytes.
const FILE_MAX: usize = 64 << 10;

// A part that controllers seal is one that nodes keep.
const _: () = assert!(cluster::limits::PART_LEN_MAX <= agent::limits::PART_LEN_MAX);

/// Reads the keys of a controller.
///
/// Errors: the configuration names no file, or the file cannot be read or has no usable keys.
pub(crate) fn load(path: Option<&Path>) -> Result<SealKeys, String> {
    let Some(path) = path else {
        return Err("a controller needs `secrets: FILE` with the keys of the cluster: \
                    `weir cluster-cert` writes one, and all controllers have the same"
            .to_owned());
    };
    let text = read(path).map_err(|error| refused::file(path, &error))?;
    SealKeys::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Keeps the keys of a controller as their file is.
pub(crate) struct FollowedSecrets {
    path: Option<PathBuf>,
    keys: SharedSealKeys,
    /// Why the file there is not used, for the log.
    error: Option<String>,
}

impl FollowedSecrets {
    /// Reads the keys of a controller, and follows their file.
    ///
    /// Errors: those of [`load`].
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, String> {
        Ok(Self {
            keys: load(path)?.into(),
            path: path.map(Path::to_owned),
            error: None,
        })
    }

    /// The keys, as they are at any time.
    pub(crate) fn keys(&self) -> SharedSealKeys {
        self.keys.clone()
    }

    /// Reads the file again. One that cannot be used keeps the keys: it may be half written.
    pub(crate) async fn follow(&mut self) {
        let (path, keys) = (self.path.clone(), self.keys.clone());
        let read = tokio::task::spawn_blocking(move || load(path.as_deref()).map(|read| keys.replace(read)));
        let Ok(read) = read.await else {
            return;
        };
        if read == Ok(true) {
            info!("the keys that seal what media nodes have of rooms are replaced");
        }
        if let Some(error) = refused::new_error(&mut self.error, read.err()) {
            error!(
                error,
                "the keys that seal what media nodes have of rooms stay as they were"
            );
        }
    }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = "q9vK1p3Qm0T4cJ0yq1m3Qe5d7XoZVh2mB8u9sGfLr2A=";
    const TWO: &str = "5f2c1a9be07d43688c11f0d2a4b6e79835cb20fd618e4a97b3c5d1e0f2a48697";

    #[tokio::test]
    async fn secrets_are_replaced_by_those_that_can_be_used() {
        let path = std::env::temp_dir().join(format!("weir-secrets-{}", std::process::id()));
        fs::write(&path, ONE).unwrap();
        let mut followed = FollowedSecrets::open(Some(&path)).unwrap();
        let keys = followed.keys();
        fs::write(&path, &TWO[..40]).unwrap();
        followed.follow().await;
        assert!(followed.error.is_some(), "half of a key");
        assert!(!keys.replace(SealKeys::parse(ONE).unwrap()));
        fs::write(&path, format!("{TWO}\n{ONE}")).unwrap();
        followed.follow().await;
        assert_eq!(followed.error, None);
        assert!(!keys.replace(SealKeys::parse(&format!("{TWO}\n{ONE}")).unwrap()));
        fs::remove_file(&path).unwrap();
        followed.follow().await;
        assert!(followed.error.is_some());
    }
}
