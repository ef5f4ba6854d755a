//! Certificates in files, which are read again when they change.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tracing::{error, info};
use zeroize::Zeroizing;

use super::certificate::Certificate;
use super::store::Certificates;
use crate::os::clock;

/// The longest file.
const FILE_MAX: u64 = 1 << 20;

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CertificateFiles {
    /// The certificate and those of its issuers, in PEM.
    pub chain: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
}

/// Keeps the certificates that are served as their files are.
pub(crate) struct Files {
    paths: Vec<CertificateFiles>,
    certificates: Certificates,
    /// The digest of the files that are served.
    served: Fingerprint,
    /// Why the files there are cannot be served, for the log.
    error: Option<String>,
}

type Fingerprint = [u8; 32];

impl Files {
    /// Serves the certificates in these files. Those that are not valid at this time are served as
    /// well, with an error in the log: a server with other certificates must start.
    ///
    /// Errors: the name of a file, and why it cannot be used.
    pub(super) fn open(paths: Vec<CertificateFiles>, certificates: Certificates) -> Result<Self, String> {
        let texts = read(&paths)?;
        let read = parse(&paths, &texts)?;
        if let Err(error) = check_times(&read) {
            error!("{error}");
        }
        certificates.set_own(read);
        Ok(Files {
            served: fingerprint(&texts),
            paths,
            certificates,
            error: None,
        })
    }

    /// Goes by these paths from now on. An error is logged even if it was before.
    pub(crate) async fn set_paths(&mut self, paths: Vec<CertificateFiles>) {
        self.paths = paths;
        self.error = None;
        self.follow().await;
    }

    /// Reads the files again. Some that cannot be used, or are not valid at this time, change
    /// nothing: they may be half written.
    pub(crate) async fn follow(&mut self) {
        let (paths, served) = (self.paths.clone(), self.served);
        let Ok(changed) = tokio::task::spawn_blocking(move || changed(&paths, served)).await else {
            return;
        };
        match changed {
            Ok(None) => self.error = None,
            Ok(Some((served, read))) => {
                self.error = None;
                self.served = served;
                let names: Vec<_> = read.iter().flat_map(|certificate| certificate.names.clone()).collect();
                self.certificates.set_own(read);
                info!(names = names.join(", "), "certificates reloaded");
            }
            Err(error) if self.error.as_ref() != Some(&error) => {
                error!(error, "the certificates stay as they were");
                self.error = Some(error);
            }
            Err(_) => {}
        }
    }
}

/// Reads these files as a server does when it starts. `Ok` has the reason why a certificate is not
/// valid at this time, if there is one that is not.
///
/// Errors: a file cannot be used.
pub(crate) fn check(paths: &[CertificateFiles]) -> Result<Option<String>, String> {
    let certificates = parse(paths, &read(paths)?)?;
    Ok(check_times(&certificates).err())
}

/// The certificates in files that are not those that are served; `None` if they are.
fn changed(paths: &[CertificateFiles], served: Fingerprint) -> Result<Option<(Fingerprint, Vec<Certificate>)>, String> {
    let texts = read(paths)?;
    let fingerprint = fingerprint(&texts);
    if fingerprint == served {
        return Ok(None);
    }
    let certificates = parse(paths, &texts)?;
    check_times(&certificates)?;
    Ok(Some((fingerprint, certificates)))
}

/// The contents of the two files of a certificate.
struct Texts {
    chain: Zeroizing<Vec<u8>>,
    key: Zeroizing<Vec<u8>>,
}

fn read(paths: &[CertificateFiles]) -> Result<Vec<Texts>, String> {
    let texts = paths.iter().map(|files| {
        Ok(Texts {
            chain: read_file(&files.chain)?,
            key: read_file(&files.key)?,
        })
    });
    texts.collect()
}

fn read_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut bytes = Zeroizing::new(Vec::new());
    let outcome = File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes));
    outcome.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    match u64::try_from(bytes.len()) {
        Ok(0..=FILE_MAX) => Ok(bytes),
        _ => Err(format!("{} is longer than {FILE_MAX} bytes", path.display())),
    }
}

fn fingerprint(texts: &[Texts]) -> Fingerprint {
    let mut digest = Sha256::new();
    for Texts { chain, key } in texts {
        for text in [chain, key] {
            digest.update(text.len().to_be_bytes());
            digest.update(text.as_slice());
        }
    }
    digest.finalize().into()
}

fn parse(paths: &[CertificateFiles], texts: &[Texts]) -> Result<Vec<Certificate>, String> {
    let pairs = paths.iter().zip(texts);
    let certificates = pairs.map(|(files, texts)| {
        let (chain, key) = (files.chain.display(), files.key.display());
        let certificate = Certificate::from_pem(&texts.chain, &texts.key);
        certificate.map_err(|error| format!("{chain} with {key}: {error}"))
    });
    certificates.collect()
}

fn check_times(certificates: &[Certificate]) -> Result<(), String> {
    let unix = clock::unix();
    let late = certificates.iter().find(|certificate| !certificate.is_valid_at(unix));
    match late {
        Some(certificate) => {
            let names = certificate.names.join(", ");
            Err(format!("the certificate for {names} is not valid at this time"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    /// A folder that is removed with this.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("weir-tls-files-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn paths(&self) -> Vec<CertificateFiles> {
            let [chain, key] = ["chain.pem", "key.pem"].map(|name| self.0.join(name));
            vec![CertificateFiles { chain, key }]
        }

        /// Writes a certificate for a name, which is valid through a year.
        fn write(&self, name: &str, last_year: i32) {
            let mut params = CertificateParams::new([name.to_owned()]).unwrap();
            params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
            let key = KeyPair::generate().unwrap();
            fs::write(self.0.join("chain.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
            fs::write(self.0.join("key.pem"), key.serialize_pem()).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn names(certificates: &Certificates) -> Vec<String> {
        certificates.expiries().into_keys().collect()
    }

    #[tokio::test]
    async fn changed_files_are_served_if_they_can_be() {
        let folder = Folder::new("changed");
        folder.write("one.example", 4000);
        let certificates = Certificates::default();
        let mut files = Files::open(folder.paths(), certificates.clone()).unwrap();
        assert_eq!(names(&certificates), ["one.example"]);
        files.follow().await;
        assert_eq!(
            (names(&certificates), &files.error),
            (vec!["one.example".to_owned()], &None)
        );

        folder.write("expired.example", 2001);
        files.follow().await;
        assert!(files.error.as_ref().unwrap().contains("expired.example"));
        folder.write("two.example", 4000);
        fs::write(folder.0.join("key.pem"), KeyPair::generate().unwrap().serialize_pem()).unwrap();
        files.follow().await;
        assert!(files.error.as_ref().unwrap().contains("key.pem"), "another's key");
        fs::remove_file(folder.0.join("chain.pem")).unwrap();
        files.follow().await;
        assert!(files.error.as_ref().unwrap().contains("cannot read"));
        assert_eq!(names(&certificates), ["one.example"]);

        folder.write("two.example", 4000);
        files.follow().await;
        assert_eq!(
            (names(&certificates), &files.error),
            (vec!["two.example".to_owned()], &None)
        );
        files.set_paths(Vec::new()).await;
        assert!(names(&certificates).is_empty());
    }

    #[test]
    fn at_the_start_files_must_be_usable() {
        let folder = Folder::new("start");
        let open = || Files::open(folder.paths(), Certificates::default()).map(|_| ());
        assert!(open().unwrap_err().contains("chain.pem"));
        folder.write("expired.example", 2001);
        assert_eq!(open(), Ok(()), "it is served with an error in the log");
        fs::write(folder.0.join("key.pem"), vec![b'x'; 2 << 20]).unwrap();
        assert!(open().unwrap_err().contains("longer"));
    }
}
