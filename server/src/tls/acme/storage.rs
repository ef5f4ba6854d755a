//! The folder with the account and the certificate of one directory.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::os::refused;

use super::Failure;

/// The folder of a directory. Only the account of the server may read it.
#[derive(Clone, Debug)]
pub(super) struct Storage(PathBuf);

const ACCOUNT: &str = "account.json";
/// The private key, then the certificates.
const CERTIFICATE: &str = "certificate.pem";

impl Storage {
    /// The folder for what a directory of this URL issues. Each directory has its own, so that
    /// nothing of a directory for tests is used with another one.
    ///
    /// Errors: it cannot be made or written.
    pub(super) fn open(folder: &Path, directory: &str) -> Result<Self, String> {
        let path = folder_of(folder, directory);
        let cannot = |error: io::Error| refused::folder(&path, "tls.acme.storage", &error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(cannot)?;
        let storage = Storage(path.clone());
        storage.write(".probe", b"").map_err(cannot)?;
        fs::remove_file(path.join(".probe")).map_err(cannot)?;
        Ok(storage)
    }

    /// The stored certificate with its key.
    pub(super) fn certificate(&self) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        self.read(CERTIFICATE)
    }

    /// Stores a certificate with its key, both in PEM.
    pub(super) async fn save_certificate(&self, key: Zeroizing<String>, chain: String) -> Result<(), Failure> {
        let text = Zeroizing::new(format!("{}{chain}", &*key));
        self.save(CERTIFICATE, text).await
    }

    /// The stored account.
    pub(super) async fn account(&self) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        let storage = self.clone();
        let read = tokio::task::spawn_blocking(move || storage.read(ACCOUNT)).await?;
        read.map_err(|error| format!("cannot read the account: {error}").into())
    }

    /// Stores an account.
    pub(super) async fn save_account(&self, text: Zeroizing<String>) -> Result<(), Failure> {
        self.save(ACCOUNT, text).await
    }

    async fn save(&self, name: &'static str, text: Zeroizing<String>) -> Result<(), Failure> {
        let storage = self.clone();
        let wrote = tokio::task::spawn_blocking(move || storage.write(name, text.as_bytes())).await?;
        wrote.map_err(|error| format!("cannot store {name}: {error}").into())
    }

    fn read(&self, name: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        match fs::read(self.0.join(name)) {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces a file as a whole, also if the machine stops meanwhile.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = self.0.join(format!("{name}.new"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(new, self.0.join(name))?;
        File::open(&self.0)?.sync_all()
    }
}

/// The file of the certificate that a directory of this URL has issued.
pub(super) fn certificate_file(folder: &Path, directory: &str) -> PathBuf {
    folder_of(folder, directory).join(CERTIFICATE)
}

fn folder_of(folder: &Path, directory: &str) -> PathBuf {
    folder.join(name_of(directory))
}

/// A file's name out of a URL.
fn name_of(directory: &str) -> String {
    let address = directory.split_once("://").map_or(directory, |(_, address)| address);
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-');
    let plain = address.chars().map(|character| match is_plain(character) {
        true => character,
        false => '_',
    });
    // The first is no dot: such a name may be that of another folder.
    format!("acme_{}", plain.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn stored_files_are_private_and_read_again() {
        let folder = std::env::temp_dir().join(format!("weir-acme-{}", std::process::id()));
        let url = "https://[::1]:14000/dir";
        let storage = Storage::open(&folder, url).unwrap();
        assert!(storage.certificate().unwrap().is_none() && storage.account().await.unwrap().is_none());
        let key = Zeroizing::new("key\n".to_owned());
        storage.save_certificate(key, "chain\n".to_owned()).await.unwrap();
        storage
            .save_account(Zeroizing::new("account".to_owned()))
            .await
            .unwrap();
        let again = Storage::open(&folder, url).unwrap();
        assert_eq!(&*again.certificate().unwrap().unwrap(), b"key\nchain\n");
        assert_eq!(&*again.account().await.unwrap().unwrap(), b"account");
        let other = Storage::open(&folder, "https://[::1]:14000/other").unwrap();
        assert!(other.certificate().unwrap().is_none());
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(again.0.clone()), 0o700);
        assert_eq!(mode(again.0.join(CERTIFICATE)), 0o600);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let error = Storage::open(Path::new("/proc/weir"), "https://a.example/").unwrap_err();
        assert!(error.contains("/proc/weir"), "{error}");
    }

    #[test]
    fn the_name_of_a_folder_has_no_path_in_it() {
        assert_eq!(name_of("https://a.example:1/../b?c"), "acme_a.example_1_.._b_c");
    }
}
