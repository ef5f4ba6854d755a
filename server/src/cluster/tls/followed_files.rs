//! The files of a machine's certificate, which are read again when they change.

use tracing::{error, info, warn};

use super::{ClusterTls, now};
use crate::config::ClusterFiles;
use crate::metrics::Metrics;
use crate::os::refused;

/// How long before the end of its certificate a machine warns. Shape: seconds.
const WARNED: i64 = 14 * 86_400;

/// Keeps the certificate of this machine as its files are.
pub(crate) struct FollowedFiles {
    files: ClusterFiles,
    tls: ClusterTls,
    metrics: Metrics,
    /// Why the files there are not used, for the log.
    error: Option<String>,
    /// The time that was told of the certificate.
    told: Time,
}

/// How the time of a certificate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Valid,
    EndsSoon,
    Invalid,
}

impl FollowedFiles {
    /// Follows the files that a certificate was read from.
    pub(crate) fn new(files: ClusterFiles, tls: ClusterTls, metrics: Metrics) -> Self {
        let mut followed = Self {
            files,
            tls,
            metrics,
            error: None,
            told: Time::Valid,
        };
        followed.tell_time();
        followed
    }

    /// Goes by these files from now on. An error is logged even if it was before.
    pub(crate) async fn set_files(&mut self, files: ClusterFiles) {
        self.files = files;
        self.error = None;
        self.follow().await;
    }

    /// Reads the files again. Those that cannot be used keep the certificate: they may be half
    /// written.
    pub(crate) async fn follow(&mut self) {
        let (files, tls) = (self.files.clone(), self.tls.clone());
        let Ok(read) = tokio::task::spawn_blocking(move || tls.reload(&files)).await else {
            return;
        };
        if read == Ok(true) {
            info!("the certificate of this machine in the cluster is replaced");
        }
        if let Some(error) = refused::new_error(&mut self.error, read.err()) {
            error!(error, "the certificate of this machine in the cluster stays as it was");
        }
        self.tell_time();
    }

    fn tell_time(&mut self) {
        let validity = self.tls.validity();
        self.metrics
            .of_cluster(|counts| counts.set_certificate_end(validity.end));
        let left = validity.end.saturating_sub(now());
        let time = match validity.contains(now()) {
            false => Time::Invalid,
            true if left < WARNED => Time::EndsSoon,
            true => Time::Valid,
        };
        if time == std::mem::replace(&mut self.told, time) {
            return;
        }
        let path = self.files.certificate.display();
        match time {
            Time::Valid => {}
            Time::EndsSoon => warn!(%path, hours = left / 3_600, "the certificate for the cluster ends soon"),
            Time::Invalid => error!(%path, "the certificate for the cluster is not valid at this time"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::rustls::pki_types::ServerName;

    use super::*;
    use crate::cli::Role;
    use crate::cluster::certificates::Authority;
    use crate::cluster::peer::Peer;
    use crate::os::clock;

    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("weir-followed-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn files(&self) -> ClusterFiles {
            let path = |name: &str| self.0.join(name);
            ClusterFiles {
                ca: path("ca.pem"),
                certificate: path("one.pem"),
                key: path("one.key"),
            }
        }

        fn write(&self, authority: &Authority, name: &str) {
            let issued = authority.issue(name, &[Role::Media, Role::Controller]).unwrap();
            fs::write(self.0.join("ca.pem"), authority.issued().certificate).unwrap();
            fs::write(self.0.join("one.pem"), issued.certificate).unwrap();
            fs::write(self.0.join("one.key"), issued.key).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// The names of both ends of a new connection of a machine with itself, which carries a byte.
    async fn names(tls: &ClusterTls) -> [String; 2] {
        let (near, far) = tokio::io::duplex(1 << 16);
        let name = ServerName::try_from(Role::Media.name()).unwrap();
        let connected = async {
            let mut stream = tls.connector().connect(name, near).await.unwrap();
            stream.write_all(b"x").await.unwrap();
            stream.flush().await.unwrap();
            stream
        };
        let accepted = async {
            let mut stream = tls.acceptor().accept(far).await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), b'x');
            stream
        };
        let (connected, accepted) = tokio::join!(connected, accepted);
        let name = |certificates: Option<&[_]>| Peer::of(&certificates.unwrap()[0]).unwrap().name.to_string();
        [
            name(connected.get_ref().1.peer_certificates()),
            name(accepted.get_ref().1.peer_certificates()),
        ]
    }

    #[tokio::test]
    async fn a_certificate_is_replaced_by_one_that_can_be_used() {
        let folder = Folder::new("replaced");
        let authority = Authority::new(clock::unix()).unwrap();
        folder.write(&authority, "one");
        let tls = ClusterTls::load(&folder.files()).unwrap();
        let metrics = Metrics::default();
        let mut followed = FollowedFiles::new(folder.files(), tls.clone(), metrics.clone());
        assert_eq!(names(&tls).await, ["one", "one"]);

        let key = fs::read(folder.files().key).unwrap();
        folder.write(&authority, "two");
        let new_key = fs::read(folder.files().key).unwrap();
        fs::write(folder.files().key, key).unwrap();
        followed.follow().await;
        assert!(followed.error.is_some(), "the key is still the earlier one");
        fs::write(folder.files().certificate, "").unwrap();
        followed.follow().await;
        assert!(followed.error.as_ref().unwrap().contains("one.pem"));
        fs::remove_file(folder.files().ca).unwrap();
        followed.follow().await;
        assert!(followed.error.as_ref().unwrap().contains("ca.pem"));
        assert_eq!(names(&tls).await, ["one", "one"]);
        fs::write(folder.files().key, new_key).unwrap();

        // Everything is new, the authority too.
        folder.write(&Authority::new(clock::unix()).unwrap(), "three");
        followed.follow().await;
        assert_eq!(followed.error, None);
        assert_eq!(names(&tls).await, ["three", "three"]);
        assert_eq!(followed.told, Time::Valid);
    }

    #[tokio::test]
    async fn an_expired_certificate_replaces_none_that_is_valid() {
        let folder = Folder::new("expired");
        let year = std::time::Duration::from_secs(365 * 86_400);
        let expired = Authority::new(clock::unix() - 11 * year).unwrap();
        let ends_soon = Authority::new(clock::unix() - 10 * year + year / 365).unwrap();
        folder.write(&expired, "one");
        let tls = ClusterTls::load(&folder.files()).unwrap();
        let mut followed = FollowedFiles::new(folder.files(), tls.clone(), Metrics::default());
        assert_eq!(followed.told, Time::Invalid);
        folder.write(&ends_soon, "two");
        followed.follow().await;
        assert_eq!(
            (names(&tls).await, followed.told),
            (["two".into(), "two".into()], Time::EndsSoon)
        );
        folder.write(&expired, "three");
        followed.follow().await;
        assert!(followed.error.as_ref().unwrap().contains("not valid"));
        assert_eq!(names(&tls).await, ["two", "two"]);
    }
}
