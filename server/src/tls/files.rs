//! Certificates in files, which are read again when they change.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tracing::{error, info};
use zeroize::Zeroizing;

use super::certificate::Certificate;
use super::store::Certificates;
use crate::os::{clock, refused};

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
    /// The certificates that are served, in the order of their paths.
    served: Vec<Served>,
    /// Why files there are not served, for the log.
    error: Option<String>,
}

/// A certificate that is served, with its files as they were read.
#[derive(Clone)]
struct Served {
    files: CertificateFiles,
    digest: Digest,
    certificate: Arc<Certificate>,
}

/// The SHA-256 digest of the two files of a certificate.
type Digest = [u8; 32];

impl Files {
    /// Serves the certificates in these files. Those that are not valid at this time are served as
    /// well, with an error in the log: a server with other certificates must start.
    ///
    /// Errors: the name of a file, and why it cannot be used.
    pub(super) fn open(paths: Vec<CertificateFiles>, certificates: Certificates) -> Result<Self, String> {
        let served = paths.iter().map(read).collect::<Result<Vec<Served>, String>>()?;
        if let Err(error) = served.iter().try_for_each(check_time) {
            error!("{error}");
        }
        let files = Files {
            paths,
            certificates,
            served,
            error: None,
        };
        files.serve();
        Ok(files)
    }

    /// Goes by these paths from now on. An error is logged even if it was before.
    pub(crate) async fn set_paths(&mut self, paths: Vec<CertificateFiles>) {
        self.paths = paths;
        self.error = None;
        self.follow().await;
    }

    /// Reads the files again. Two that cannot be used, or that are not valid at this time while the
    /// served certificate is, keep that certificate: they may be half written. Others are served.
    pub(crate) async fn follow(&mut self) {
        let (paths, served) = (self.paths.clone(), self.served.clone());
        let Ok(changed) = tokio::task::spawn_blocking(move || changed(&paths, &served)).await else {
            return;
        };
        let error = match changed {
            Ok(Changed { served, error }) => {
                self.replace(served);
                error
            }
            Err(error) => Some(error),
        };
        if let Some(error) = refused::new_error(&mut self.error, error) {
            error!(error, "the certificates stay as they were");
        }
    }

    fn replace(&mut self, served: Vec<Served>) {
        let id = |served: &Served| (served.files.clone(), served.digest);
        if served.iter().map(id).eq(self.served.iter().map(id)) {
            return;
        }
        self.served = served;
        self.serve();
        let names = self.served.iter().flat_map(|served| served.certificate.names.clone());
        info!(names = names.collect::<Vec<_>>().join(", "), "certificates reloaded");
    }

    fn serve(&self) {
        let certificates = self.served.iter().map(|served| served.certificate.clone());
        self.certificates.set_own(certificates.collect());
    }
}

/// Reads these files as a server does when it starts. `Ok` has the reason why a certificate is not
/// valid at this time, if there is one that is not.
///
/// Errors: a file cannot be used.
pub(crate) fn check(paths: &[CertificateFiles]) -> Result<Option<String>, String> {
    let served = paths.iter().map(read).collect::<Result<Vec<Served>, String>>()?;
    Ok(served.iter().try_for_each(check_time).err())
}

/// The certificate in two files.
///
/// Errors: the name of a file, and why it cannot be used.
pub(crate) fn load(files: &CertificateFiles) -> Result<Arc<Certificate>, String> {
    read(files).map(|served| served.certificate)
}

/// The certificates to serve.
struct Changed {
    served: Vec<Served>,
    /// Why one of them is not the one in its files.
    error: Option<String>,
}

/// The certificates in files, or the served ones where the files cannot take their places.
///
/// Errors: files of which no certificate is served cannot be used.
fn changed(paths: &[CertificateFiles], served: &[Served]) -> Result<Changed, String> {
    let mut errors = Vec::new();
    let followed = paths.iter().map(|files| {
        let old = served.iter().find(|served| served.files == *files);
        match (successor(files, old), old) {
            (Ok(new), _) => Ok(new),
            (Err(error), Some(old)) => {
                errors.push(error);
                Ok(old.clone())
            }
            (Err(error), None) => Err(error),
        }
    });
    let served = followed.collect::<Result<Vec<Served>, String>>()?;
    let error = Some(errors.join("; ")).filter(|error| !error.is_empty());
    Ok(Changed { served, error })
}

/// The certificate in files, to serve in the place of the one that was in them.
fn successor(files: &CertificateFiles, old: Option<&Served>) -> Result<Served, String> {
    let texts = Texts::read(files)?;
    if let Some(old) = old.filter(|old| old.digest == texts.digest()) {
        return Ok(old.clone());
    }
    let new = texts.parse(files)?;
    // A certificate that is not valid itself is lost to nobody.
    match old.is_some_and(|old| check_time(old).is_err()) {
        true => Ok(new),
        false => check_time(&new).map(|()| new),
    }
}

fn read(files: &CertificateFiles) -> Result<Served, String> {
    Texts::read(files)?.parse(files)
}

/// The contents of the two files of a certificate.
struct Texts {
    chain: Zeroizing<Vec<u8>>,
    key: Zeroizing<Vec<u8>>,
}

impl Texts {
    fn read(files: &CertificateFiles) -> Result<Self, String> {
        Ok(Texts {
            chain: read_file(&files.chain)?,
            key: read_file(&files.key)?,
        })
    }

    fn digest(&self) -> Digest {
        let mut digest = Sha256::new();
        for text in [&self.chain, &self.key] {
            digest.update(text.len().to_be_bytes());
            digest.update(text.as_slice());
        }
        digest.finalize().into()
    }

    fn parse(&self, files: &CertificateFiles) -> Result<Served, String> {
        let certificate = Certificate::from_pem(&self.chain, &self.key)
            .map_err(|error| format!("{} with {}: {error}", files.chain.display(), files.key.display()))?;
        Ok(Served {
            files: files.clone(),
            digest: self.digest(),
            certificate: Arc::new(certificate),
        })
    }
}

fn read_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut bytes = Zeroizing::new(Vec::new());
    let cannot = |error| refused::file(path, &error);
    // Opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(format!("{} is no regular file", path.display()));
    }
    let outcome = File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes));
    outcome.map_err(cannot)?;
    match u64::try_from(bytes.len()) {
        Ok(0..=FILE_MAX) => Ok(bytes),
        _ => Err(format!("{} is longer than {FILE_MAX} bytes", path.display())),
    }
}

fn check_time(served: &Served) -> Result<(), String> {
    match served.certificate.is_valid_at(clock::unix()) {
        true => Ok(()),
        false => {
            let names = served.certificate.names.join(", ");
            Err(format!("the certificate for {names} is not valid at this time"))
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[tokio::test]
    async fn an_expired_certificate_does_not_keep_others_from_their_renewal() {
        let [expired, renewed] = ["expired", "renewed"].map(Folder::new);
        expired.write("expired.example", 2001);
        renewed.write("first.example", 4000);
        let paths = [expired.paths(), renewed.paths()].concat();
        let certificates = Certificates::default();
        let mut files = Files::open(paths.clone(), certificates.clone()).unwrap();
        renewed.write("second.example", 4000);
        files.follow().await;
        assert_eq!(names(&certificates), ["expired.example", "second.example"]);

        expired.write("valid.example", 4000);
        files.follow().await;
        assert_eq!(names(&certificates), ["second.example", "valid.example"]);
        expired.write("expired.example", 2001);
        renewed.write("third.example", 4000);
        files.set_paths(paths).await;
        assert!(files.error.as_ref().unwrap().contains("expired.example"));
        assert_eq!(names(&certificates), ["third.example", "valid.example"]);
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
        fs::remove_file(folder.0.join("key.pem")).unwrap();
        std::os::unix::fs::symlink("/dev/null", folder.0.join("key.pem")).unwrap();
        assert!(open().unwrap_err().contains("is no regular file"));
    }
}
