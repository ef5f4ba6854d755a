//! `weir cluster-cert`: the certificates by which the machines of a cluster know each other, and
//! the key by which controllers keep snapshots of rooms from media nodes.
//!
//! Roles are names in a certificate. So the usual check of a server's name tells a controller that
//! it has reached a media node, whatever the node's address is.

use std::error::Error;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use x509_parser::parse_x509_certificate;
use zeroize::Zeroizing;

use crate::cli::{self, Role};
use crate::os::{clock, refused};

/// How long the certificates are valid.
const LIFE: Duration = Duration::from_secs(10 * 365 * 86_400);

/// How far the clock of a machine may be behind.
const SLACK: Duration = Duration::from_secs(86_400);

/// The name of the file that `cluster: {secrets}` is to name.
const SECRETS: &str = "secrets";

/// The longest name of a machine.
const NAME_MAX: usize = 63;

/// The certificate of a cluster's authority, with its key. It signs those of the machines.
pub(crate) struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
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
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self {
            certificate,
            issuer,
            unix,
        })
    }

    /// One that was issued before, at a Unix time.
    ///
    /// Errors: the certificate or the key is malformed, or they do not belong together.
    pub(crate) fn load(issued: &Issued, unix: Duration) -> Result<Self, String> {
        let key = KeyPair::from_pem(&issued.key).map_err(|error| error.to_string())?;
        let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes());
        let certificate = certificate.map_err(|error| error.to_string())?;
        let (_, parsed) = parse_x509_certificate(&certificate).map_err(|error| error.to_string())?;
        if !parsed.is_ca() || parsed.public_key().raw != key.subject_public_key_info() {
            return Err("the certificate is not that of an authority with this key".to_owned());
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|error| error.to_string())?;
        Ok(Self {
            certificate: issued.certificate.clone(),
            issuer,
            unix,
        })
    }

    /// The certificate, and the key that signs. With the key anybody can join the cluster.
    pub(crate) fn issued(&self) -> Issued {
        Issued {
            certificate: self.certificate.clone(),
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

/// The file of a new key that controllers seal with.
///
/// Errors: the operating system gives no randomness.
fn secrets() -> Result<String, getrandom::Error> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(key.as_mut_slice())?;
    let key = Zeroizing::new(STANDARD.encode(key.as_slice()));
    Ok(format!(
        "# Keys of the cluster, for controllers only. The first one seals, and all of them open.\n{}\n",
        *key
    ))
}

/// Writes a certificate and a key for each name. An authority that the directory has already signs
/// them, so that machines can be added; else it gets a new one, and a key that controllers share.
///
/// Errors: a name is not one of a host, the authority cannot be used, or one of the files is there
/// already or cannot be written.
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
        true => Role::ALL.to_vec(),
        false => roles,
    };
    for name in &names {
        check_name(name)?;
    }
    let mut files = Vec::new();
    let authority = match existing(&directory)? {
        Some(authority) => authority,
        None => {
            let authority = Authority::new(clock::unix())?;
            files.extend(self::files("ca", authority.issued()));
            files.push((SECRETS.to_owned(), secrets()?));
            authority
        }
    };
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
        "Each machine needs {directory}/ca.pem, and NAME.pem and NAME.key of its own. Controllers need {directory}/{SECRETS}, too,\n\
         and media nodes must not have it. Keep {directory}/ca.key elsewhere: with it anybody can join the cluster."
    )?;
    Ok(())
}

/// The authority whose files are in a directory.
///
/// Errors: one of the files is missing or cannot be used.
fn existing(directory: &Path) -> Result<Option<Authority>, String> {
    let (certificate, key) = (directory.join("ca.pem"), directory.join("ca.key"));
    if !certificate.exists() && !key.exists() {
        return Ok(None);
    }
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| refused::file(path, &error));
    let issued = Issued {
        certificate: read(&certificate)?,
        key: read(&key)?,
    };
    let authority = Authority::load(&issued, clock::unix());
    authority
        .map(Some)
        .map_err(|error| format!("{}: {error}", certificate.display()))
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
