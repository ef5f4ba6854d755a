//! A certificate from an ACME directory (RFC 8555), ordered and renewed by a task.
//!
//! There is one certificate for all names. It is renewed when two thirds of its life have passed.
//! An order that fails is repeated later and later, and the certificate there is stays.

mod account;
mod http;
mod order;
mod settings;
mod storage;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use instant_acme::Account;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::RootCertStore;
use tracing::{info, warn};

use self::order::Issued;
use self::storage::Storage;
use super::certificate::{Certificate, seconds};
use super::client;
use super::counters::OrderResult;
use super::store::Certificates;
use crate::os::clock;

pub(crate) use settings::Settings;

/// Anything that keeps an order from its certificate.
type Failure = Box<dyn Error + Send + Sync>;

/// How long an order may take.
const ORDER_MAX: Duration = Duration::from_secs(300);

/// The wait after the first order that fails. Directories allow few failures in an hour.
const BACKOFF_MIN: Duration = Duration::from_secs(300);

/// The longest wait.
const BACKOFF_MAX: Duration = Duration::from_secs(6 * 3600);

/// How often the clock is read while a certificate is valid. It may be set, and machines sleep.
const LOOK_EVERY: Duration = Duration::from_secs(3600);

/// Serves the stored certificate, and prepares the task.
///
/// Errors: the folder cannot be used, or the directory's own certificates cannot be read.
pub(super) fn open(settings: Settings, certificates: Certificates) -> Result<Task, Box<dyn Error>> {
    let storage = Storage::open(&settings.storage, &settings.directory)?;
    let roots = own_roots(&settings)?.unwrap_or_else(|| client::machine_roots("no certificate can be ordered"));
    let mut task = Task {
        connector: client::connector(roots),
        settings,
        storage,
        certificates,
        renewal: None,
    };
    task.serve_stored();
    Ok(task)
}

/// The file in which the certificate of a directory is stored, with its key.
pub(crate) fn stored_certificate(settings: &Settings) -> PathBuf {
    storage::certificate_file(&settings.storage, &settings.directory)
}

/// Reads the directory's own certificates as a server does when it starts.
///
/// Errors: they are in a file that cannot be used.
pub(crate) fn check(settings: &Settings) -> Result<(), String> {
    own_roots(settings).map(drop)
}

/// The certificates in a file that sign the directory's own.
fn own_roots(settings: &Settings) -> Result<Option<RootCertStore>, String> {
    let read =
        |path: &PathBuf| client::roots_in(path).map_err(|error| format!("cannot use {}: {error}", path.display()));
    settings.root.as_ref().map(read).transpose()
}

/// The task that orders and renews.
pub(crate) struct Task {
    settings: Settings,
    storage: Storage,
    connector: TlsConnector,
    certificates: Certificates,
    /// The Unix time from which the certificate that is served should be replaced.
    renewal: Option<i64>,
}

impl Task {
    /// Serves the certificate in the folder, if it is for all names.
    fn serve_stored(&mut self) {
        let stored = match self.storage.certificate() {
            Ok(Some(pem)) => Certificate::from_pem(&pem, &pem),
            Ok(None) => return,
            Err(error) => return warn!(%error, "the stored certificate cannot be read"),
        };
        match stored {
            Ok(certificate) if covers(&certificate, &self.settings.names) => self.serve(certificate),
            Ok(_) => info!("the stored certificate is not for all names"),
            Err(error) => warn!(%error, "the stored certificate cannot be used"),
        }
    }

    fn serve(&mut self, certificate: Certificate) {
        self.renewal = Some(certificate.renewal());
        self.certificates.set_ordered(Arc::new(certificate));
    }

    /// Runs it, once the ports are open at which the directory makes its checks. It does not end.
    pub(crate) async fn run(mut self) {
        let mut failures = 0;
        loop {
            let wait = wait(self.renewal, clock::unix());
            if !wait.is_zero() {
                tokio::time::sleep(wait.min(LOOK_EVERY)).await;
                continue;
            }
            let names = self.settings.names.join(", ");
            match self.order().await {
                Ok(certificate) => {
                    self.certificates.count_order(OrderResult::Issued);
                    self.serve(certificate);
                    info!(names, "a certificate was issued");
                    failures = 0;
                }
                Err(error) => {
                    failures += 1;
                    self.certificates.count_order(OrderResult::Failed);
                    let again = backoff(failures).as_secs();
                    warn!(
                        names,
                        %error,
                        again_in_seconds = again,
                        "no certificate was issued"
                    );
                }
            }
            // A certificate that should be renewed at once is no reason to hurry, either.
            tokio::time::sleep(backoff(failures.max(1))).await;
        }
    }

    /// Orders a certificate by the stored account, or by another if the directory does not know it.
    async fn obtain(&self) -> Result<Issued, Failure> {
        let connector = || self.connector.clone();
        let account = account::open(&self.settings, &self.storage, connector()).await?;
        match self.obtain_by(&account).await {
            Err(error) if account::is_unknown(&error) => {
                warn!(%error, "the directory does not know the stored ACME account");
                let account = account::make(&self.settings, &self.storage, connector()).await?;
                self.obtain_by(&account).await
            }
            obtained => obtained,
        }
    }

    async fn obtain_by(&self, account: &Account) -> Result<Issued, Failure> {
        let Settings { names, challenge, .. } = &self.settings;
        order::obtain(account, names, *challenge, self.certificates.challenges()).await
    }

    /// Orders a certificate, and stores it if that is possible.
    async fn order(&self) -> Result<Certificate, Failure> {
        let issued = match tokio::time::timeout(ORDER_MAX, self.obtain()).await {
            Ok(issued) => issued?,
            Err(_) => return Err("the directory did not issue it in time".into()),
        };
        let certificate = Certificate::from_pem(issued.chain.as_bytes(), issued.key.as_bytes())?;
        if !covers(&certificate, &self.settings.names) {
            return Err("the certificate is not for all names".into());
        }
        if let Err(error) = self.storage.save_certificate(issued.key, issued.chain).await {
            warn!(%error, "the certificate is served, but the next start has to order another");
        }
        Ok(certificate)
    }
}

/// Whether a certificate is for all of these names.
fn covers(certificate: &Certificate, names: &[String]) -> bool {
    names.iter().all(|name| certificate.names.contains(name))
}

/// The time until an order is due.
fn wait(renewal: Option<i64>, unix: Duration) -> Duration {
    let left = renewal.map_or(0, |renewal| renewal.saturating_sub(seconds(unix)));
    Duration::from_secs(u64::try_from(left).unwrap_or(0))
}

/// The wait after so many failures in a row: twice as long after each.
fn backoff(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    (BACKOFF_MIN * 2_u32.pow(doublings)).min(BACKOFF_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let minutes: Vec<u64> = (1..=9).map(|failures| backoff(failures).as_secs() / 60).collect();
        assert_eq!(minutes, [5, 10, 20, 40, 80, 160, 320, 360, 360]);
        assert_eq!(backoff(u32::MAX), BACKOFF_MAX);
    }

    #[test]
    fn an_order_is_due_without_a_certificate_and_at_its_renewal() {
        let now = Duration::from_secs(1_000);
        assert_eq!(wait(None, now), Duration::ZERO);
        assert_eq!(wait(Some(1_060), now), Duration::from_secs(60));
        assert_eq!(wait(Some(1_000), now), Duration::ZERO);
        assert_eq!(wait(Some(-5), now), Duration::ZERO);
    }
}
