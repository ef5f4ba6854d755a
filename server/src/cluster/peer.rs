//! The certificate that a machine of the cluster shows: its name and its roles.

use std::sync::Arc;

use tokio_rustls::rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

use crate::cli::Role;

/// The longest name of a machine in bytes. A longer one is taken for none.
const NAME_MAX: usize = 255;

/// A machine, as its certificate says. The issuer of the certificate was checked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The name of the machine. Machines that share a certificate have one name.
    pub name: Arc<str>,
    roles: Vec<Role>,
}

impl Peer {
    /// Reads a certificate; `None` if it is malformed.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = parse_x509_certificate(certificate).ok()?;
        let names = certificate.subject_alternative_name().ok()?;
        let names = names.iter().flat_map(|names| &names.value.general_names);
        let names = names.filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(*name),
            _ => None,
        });
        let role_of = |name: &str| Role::ALL.into_iter().find(|role| role.name() == name);
        let (roles, machines): (Vec<_>, Vec<_>) = names.partition(|name| role_of(name).is_some());
        Some(Self {
            name: name(&machines, &certificate).into(),
            roles: roles.into_iter().filter_map(role_of).collect(),
        })
    }

    /// Whether the certificate permits a role.
    pub(crate) fn has_role(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// The first name of a machine, or that of the subject. A certificate without one still has a
/// serial number, which its issuer gives to no other.
fn name(machines: &[&str], certificate: &X509Certificate<'_>) -> String {
    let subject = certificate.subject().iter_common_name();
    let subject = subject.filter_map(|name| name.as_str().ok());
    let mut names = machines.iter().copied().chain(subject);
    match names.find(|name| (1..=NAME_MAX).contains(&name.len())) {
        Some(name) => name.to_owned(),
        None => format!("serial number {}", certificate.raw_serial_as_string()),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn peer(names: &[&str], subject: Option<&str>) -> Peer {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = DistinguishedName::new();
        if let Some(subject) = subject {
            params.distinguished_name.push(DnType::CommonName, subject);
        }
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        Peer::of(certificate.der()).unwrap()
    }

    #[test]
    fn a_machine_has_the_first_name_that_is_no_role() {
        let both = peer(&["media.weir.internal", "one", "two"], Some("three"));
        assert_eq!(&*both.name, "one");
        assert!(both.has_role(Role::Media) && !both.has_role(Role::Controller));
        assert_eq!(&*peer(&["controller.weir.internal"], Some("three")).name, "three");
        let unnamed = [peer(&[], None), peer(&["media.weir.internal"], None)];
        assert!(unnamed.iter().all(|peer| peer.name.starts_with("serial number ")));
        assert_ne!(unnamed[0].name, unnamed[1].name);
    }

    #[test]
    fn no_certificate_has_no_peer() {
        assert_eq!(Peer::of(&CertificateDer::from(vec![0x30, 0x82, 0xff, 0xff])), None);
        assert_eq!(Peer::of(&CertificateDer::from(Vec::new())), None);
    }
}
