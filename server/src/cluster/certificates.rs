//! `weir cluster-cert`: the certificates by which the machines of a cluster know each other.
//!
//! Roles are names in a certificate. So the usual check of a server's name tells a controller that
//! it has reached a media node, whatever the node's address is.

use std::error::Error;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

use crate::cli::{self, Role};
use crate::os::{clock, refused};

/// How long the certificates are valid.
const LIFE: Duration = Duration::from_secs(10 * 365 * 86_400);

/// How far the clock of a machine may be behind.
const SLACK: Duration = Duration::from_secs(86_400);

/// The longest name of a machine.
const NAME_MAX: usize = 63;

/// The certificate of a cluster's authority, with its key. It signs those of the machines.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    unix: Duration,
}

/// A certificate with its key, both in PEM.
pub(crate) struct Issued {
    /// The certificate, of one issuer.
    pub certificate: String,
    /// The key of the certificate.
    pub key: String,
}

impl Authority {
    /// A new one, at a Unix time.
    ///
    /// Errors: the operating system gives no randomness.
    pub(crate) fn new(unix: Duration) -> Result<Self, rcgen::Error> {
        let mut params = params(Vec::new(), "Weir cluster", unix)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { issuer, unix })
    }

    /// The certificate, and the key that signs. With the key anybody can join the cluster.
    pub(crate) fn issued(&self) -> Issued {
        Issued {
            certificate: self.issuer.pem(),
            key: self.issuer.key().serialize_pem(),
        }
    }

    /// A certificate of a machine with these roles.
    ///
    /// Errors: the name is not one of a host, or the operating system gives no randomness.
    pub(crate) fn issue(&self, name: &str, roles: &[Role]) -> Result<Issued, rcgen::Error> {
        let roles = roles.iter().map(|role| role.name().to_owned());
        let names = roles.chain([name.to_owned()]).collect();
        let mut params = params(names, name, self.unix)?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let signed = params.signed_by(&key, &self.issuer)?;
        Ok(Issued {
            certificate: signed.pem(),
            key: key.serialize_pem(),
        })
    }
}

fn params(names: Vec<String>, name: &str, unix: Duration) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + unix.saturating_sub(SLACK);
    params.not_after = epoch + unix + LIFE;
    Ok(params)
}

/// Writes an authority, and a certificate and a key for each name.
///
/// Errors: a name is not one of a host, one of the files is there already, or cannot be written.
pub(crate) fn run(arguments: cli::ClusterCert) -> Result<(), Box<dyn Error>> {
    let cli::ClusterCert {
        directory,
        names,
        roles,
    } = arguments;
    let names = match names.is_empty() {
        true => vec!["weir".to_owned()],
        false => names,
    };
    let roles = match roles.is_empty() {
        true => vec![Role::Controller, Role::Media],
        false => roles,
    };
    for name in &names {
        check_name(name)?;
    }
    let authority = Authority::new(clock::unix())?;
    let mut files = files("ca", authority.issued());
    for name in &names {
        let issued = authority
            .issue(name, &roles)
            .map_err(|error| format!("{name}: {error}"))?;
        files.extend(self::files(name, issued));
    }
    let paths = files.iter().map(|(name, _)| directory.join(name));
    if let Some(path) = paths.clone().find(|path| path.symlink_metadata().is_ok()) {
        return Err(format!(
            "{} is there already: name another directory, or remove it",
            path.display()
        )
        .into());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .map_err(|error| refused::file(&directory, &error))?;
    for (path, (_, text)) in paths.zip(&files) {
        write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let directory = directory.display();
    writeln!(
        io::stdout(),
        "Each machine needs {directory}/ca.pem, and NAME.pem and NAME.key of its own. Keep {directory}/ca.key elsewhere:\n\
         whoever has it can join the cluster."
    )?;
    Ok(())
}

/// The files of a certificate, by their names.
fn files(name: &str, issued: Issued) -> Vec<(String, String)> {
    vec![
        (format!("{name}.pem"), issued.certificate),
        (format!("{name}.key"), issued.key),
    ]
}

fn check_name(name: &str) -> Result<(), String> {
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '.';
    let is_name = (1..=NAME_MAX).contains(&name.len())
        && name.chars().all(is_usual)
        && name
            .split('.')
            .all(|label| !label.is_empty() && !label.starts_with('-'));
    match is_name && name != "ca" && !Role::ALL.iter().any(|role| role.name() == name) {
        true => Ok(()),
        false => Err(format!(
            "--name {name:?}: a name has up to {NAME_MAX} letters, digits, hyphens and dots, and is not \"ca\""
        )),
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests;
