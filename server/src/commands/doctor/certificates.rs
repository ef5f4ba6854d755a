//! The certificates: how long they are valid, who has signed them, and whether their names lead
//! here.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::timeout;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{CertificateError, Error, RootCertStore};

use super::finding::Finding;
use crate::config::Config;
use crate::media::addresses::{self, Addresses, Known};
use crate::os::clock;
use crate::tls::certificate::{Validity, seconds, validity};
use crate::tls::{CertificateFiles, acme, client, files};

const CHECK: &str = "certificates";

/// How long before its end a certificate should have been renewed. Shape: seconds.
const SOON: i64 = 14 * DAY;

const DAY: i64 = 86_400;

/// How long the address of a name may take to be found.
const LOOK_UP: Duration = Duration::from_secs(3);

/// How many names are looked up.
const NAMES_MAX: usize = 16;

pub(super) async fn check(config: &Config, findings: &mut Vec<Finding>) {
    let Some(tls) = &config.tls else {
        let message = "there is no section `tls`: browsers permit cameras only by https, from a proxy in front";
        findings.push(Finding::info(CHECK, message));
        check_cluster(config, findings);
        return;
    };
    let roots = client::machine_roots("no certificate can be checked");
    let mut names = BTreeSet::new();
    for files in &tls.certificates {
        check_files(files, &roots, &mut names, findings);
    }
    if let Some(acme) = &tls.acme {
        check_stored(acme, findings);
        names.extend(acme.names.iter().cloned());
    }
    check_cluster(config, findings);
    check_names(config, &names, findings).await;
}

/// A certificate in files. Files that cannot be used are findings of the configuration.
fn check_files(
    files: &CertificateFiles,
    roots: &RootCertStore,
    names: &mut BTreeSet<String>,
    findings: &mut Vec<Finding>,
) {
    let (Ok(certificate), Some(chain)) = (files::load(files), chain(&files.chain)) else {
        return;
    };
    let path = files.chain.display();
    let shown = format!("{path} for {}", certificate.names.join(", "));
    let validity = Validity {
        begin: certificate.not_before,
        end: certificate.not_after,
    };
    let cure = format!("renew it, and put the new one into {path}");
    findings.push(time(&shown, validity, seconds(clock::unix()), &cure));
    if let Some(name) = certificate.names.first() {
        findings.push(signatures(&shown, &chain, name, roots));
    }
    names.extend(certificate.names.iter().cloned());
}

/// The certificate that the server has from a directory.
fn check_stored(settings: &acme::Settings, findings: &mut Vec<Finding>) {
    let path = acme::stored_certificate(settings);
    let validity = chain(&path).and_then(|chain| validity(chain.first()?));
    findings.push(match validity {
        Some(validity) => time(
            &path.display().to_string(),
            validity,
            seconds(clock::unix()),
            "the log of the server says why it is not renewed",
        ),
        None => Finding::info(
            CHECK,
            format!(
                "no certificate of {} is in {}, or this user may not read it",
                settings.directory,
                path.display()
            ),
        ),
    });
}

/// The certificate by which the machines of a cluster know this one.
fn check_cluster(config: &Config, findings: &mut Vec<Finding>) {
    let Some(cluster) = &config.cluster else { return };
    let path = &cluster.files.certificate;
    if let Some(validity) = chain(path).and_then(|chain| validity(chain.first()?)) {
        let cure = "weir cluster-cert writes another one of the same authority";
        findings.push(time(
            &path.display().to_string(),
            validity,
            seconds(clock::unix()),
            cure,
        ));
    }
}

fn chain(path: &Path) -> Option<Vec<CertificateDer<'static>>> {
    let certificates = CertificateDer::pem_file_iter(path).ok()?;
    certificates.collect::<Result<Vec<_>, _>>().ok()
}

/// How the time of a certificate stands.
fn time(shown: &str, validity: Validity, now: i64, cure: &str) -> Finding {
    let Validity { begin, end } = validity;
    let days = |seconds: i64| seconds / DAY;
    match () {
        () if now > end => {
            let message = format!("{shown} has ended {} days ago", days(now - end));
            Finding::error(CHECK, message, cure)
        }
        () if now < begin => Finding::error(
            CHECK,
            format!("{shown} is valid in {} days", days(begin - now)),
            "correct the clock of this machine, or wait",
        ),
        () if end - now < SOON => {
            let message = format!("{shown} ends in {} days", days(end - now));
            Finding::warning(CHECK, message, cure)
        }
        () => Finding::ok(CHECK, format!("{shown} is valid for {} days", days(end - now))),
    }
}

/// Whether clients that trust what this machine trusts would take a chain. The time of the
/// certificate is left out: another finding tells it.
fn signatures(shown: &str, chain: &[CertificateDer<'static>], name: &str, roots: &RootCertStore) -> Finding {
    // The verifier takes a name and no pattern.
    let name = name.replacen("*.", "any.", 1);
    let (Some((leaf, rest)), Ok(name)) = (chain.split_first(), ServerName::try_from(name.clone())) else {
        return Finding::info(CHECK, format!("{shown} is for {name}, which cannot be checked"));
    };
    if roots.is_empty() {
        return Finding::info(CHECK, "this machine trusts no authority: the chains are not checked");
    }
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots.clone()), Arc::new(ring::default_provider()));
    let Ok(verifier) = verifier.build() else {
        return Finding::info(CHECK, format!("{shown}: the chain cannot be checked"));
    };
    match verifier.verify_server_cert(leaf, rest, &name, &[], UnixTime::since_unix_epoch(clock::unix())) {
        Ok(_) => Finding::ok(
            CHECK,
            format!("{shown} is signed by an authority that this machine trusts"),
        ),
        Err(Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        )) => Finding::info(
            CHECK,
            format!("{shown}: the chain is not checked, as it is not valid at this time"),
        ),
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => Finding::warning(
            CHECK,
            format!("{shown} is signed by no authority that this machine trusts"),
            "append the certificates of its issuers (fullchain.pem of ACME clients has them); one of your own \
             authority needs that authority on every client",
        ),
        Err(error) => Finding::warning(
            CHECK,
            format!("{shown} is refused by clients: {error}"),
            "order another one",
        ),
    }
}

/// Whether the names lead to an address of this machine.
async fn check_names(config: &Config, names: &BTreeSet<String>, findings: &mut Vec<Finding>) {
    let known = without_servers(config).now(&Known::default()).await;
    let mut own = known.map_or_else(|_| Vec::new(), |known| addresses::advertised(&known.reached));
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    own.extend(interfaces.iter().map(|interface| interface.ip()));
    let is_name = |name: &&String| name.parse::<IpAddr>().is_err() && !name.contains('*');
    for name in names.iter().filter(is_name).take(NAMES_MAX) {
        let found = timeout(LOOK_UP, lookup_host((name.as_str(), 0))).await;
        let found: Vec<IpAddr> = match found {
            Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
            _ => Vec::new(),
        };
        findings.push(name_finding(name, &found, &own));
    }
}

/// The addresses of a configuration, without the STUN servers that it names.
fn without_servers(config: &Config) -> Addresses {
    Addresses::of(config).without_stun_servers()
}

fn name_finding(name: &str, found: &[IpAddr], own: &[IpAddr]) -> Finding {
    const CHECK: &str = "names";
    let list = |addresses: &[IpAddr]| {
        let addresses: BTreeSet<&IpAddr> = addresses.iter().collect();
        let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        texts.join(", ")
    };
    match found {
        [] => Finding::warning(
            CHECK,
            format!("{name} has no address"),
            "enter the address of this machine, or of the proxy in front of it, in DNS",
        ),
        _ if found.iter().any(|address| own.contains(address)) => {
            Finding::ok(CHECK, format!("{name} leads to {}", list(found)))
        }
        _ => Finding::warning(
            CHECK,
            format!("{name} leads to {}, and this machine is at {}", list(found), list(own)),
            "correct DNS; behind a NAT or a proxy it is right like this if that passes connections on",
        ),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::super::finding::Severity;
    use super::*;

    const NOW: i64 = 1_800_000_000;

    #[test]
    fn doctor_tells_the_time_of_a_certificate() {
        let found = |begin, end| {
            let found = time("a.pem", Validity { begin, end }, NOW, "renew it");
            (found.severity, found.message)
        };
        let of = |severity, message: &str| (severity, message.to_owned());
        assert_eq!(
            found(0, NOW - 3 * DAY),
            of(Severity::Error, "a.pem has ended 3 days ago")
        );
        assert_eq!(
            found(NOW + 2 * DAY, NOW + 9 * DAY),
            of(Severity::Error, "a.pem is valid in 2 days")
        );
        assert_eq!(found(0, NOW + 13 * DAY), of(Severity::Warning, "a.pem ends in 13 days"));
        assert_eq!(found(0, NOW + 14 * DAY), of(Severity::Ok, "a.pem is valid for 14 days"));
    }

    #[test]
    fn doctor_notices_a_missing_issuer() {
        let ca_key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = ca.self_signed(&ca_key).unwrap().der().clone();
        let issuer = Issuer::new(ca, ca_key);
        let middle_key = KeyPair::generate().unwrap();
        let mut middle = CertificateParams::new(Vec::new()).unwrap();
        middle.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        middle.distinguished_name.push(rcgen::DnType::CommonName, "middle");
        let middle_certificate = middle.signed_by(&middle_key, &issuer).unwrap().der().clone();
        let middle_issuer = Issuer::new(middle, middle_key);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["*.weir.example".to_owned()]).unwrap();
        let leaf = params.signed_by(&key, &middle_issuer).unwrap().der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(root).unwrap();
        let severity =
            |chain: &[CertificateDer<'static>]| signatures("a.pem", chain, "*.weir.example", &roots).severity;
        assert_eq!(severity(&[leaf.clone(), middle_certificate]), Severity::Ok);
        assert_eq!(
            severity(std::slice::from_ref(&leaf)),
            Severity::Warning,
            "without the one between"
        );
        let other = signatures("a.pem", &[leaf], "other.example", &roots);
        assert_eq!(other.severity, Severity::Warning);
        assert_eq!(signatures("a.pem", &[], "a.example", &roots).severity, Severity::Info);
    }

    #[test]
    fn doctor_compares_a_name_with_the_addresses_of_the_machine() {
        let [here, there]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let severity = |found: &[IpAddr]| name_finding("a.example", found, &[here]).severity;
        assert_eq!(severity(&[]), Severity::Warning);
        assert_eq!(severity(&[there, here]), Severity::Ok);
        assert_eq!(severity(&[there]), Severity::Warning);
    }
}
