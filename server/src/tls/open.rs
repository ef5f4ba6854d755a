//! Puts the certificates of a configuration together.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use super::acme;
use super::development;
use super::files::{CertificateFiles, Files};
use super::store::Certificates;
use crate::os::clock;

/// The sources of certificates.
pub(crate) struct Settings {
    /// Files.
    pub files: Vec<CertificateFiles>,
    /// An ACME directory.
    pub acme: Option<acme::Settings>,
    /// In development, the addresses of a certificate that is made now.
    pub development: Option<Vec<IpAddr>>,
}

/// The certificates, and the parts that change them.
pub(crate) struct Opened {
    /// The certificates.
    pub certificates: Certificates,
    /// Those of them in files.
    pub files: Files,
    /// The task that orders and renews, if there is a directory.
    pub acme: Option<acme::Task>,
}

/// Reads or makes certificates.
///
/// Errors: a file cannot be used, or nothing can be stored for the directory.
pub(crate) fn open(settings: Settings) -> Result<Opened, Box<dyn Error>> {
    let certificates = Certificates::default();
    let files = Files::open(settings.files, certificates.clone())?;
    if let Some(addresses) = settings.development {
        let made = development::certificate(&addresses, clock::unix());
        certificates.set_for_all(Arc::new(made.map_err(|error| error.to_string())?));
    }
    let acme = settings.acme.map(|settings| acme::open(settings, certificates.clone()));
    Ok(Opened {
        certificates,
        files,
        acme: acme.transpose()?,
    })
}
