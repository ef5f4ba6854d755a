//! The certificates that are served.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio_rustls::rustls::ServerConfig;

use super::certificate::Certificate;
use super::challenges::Challenges;
use super::counters::{Counts, HandshakeResult, OrderResult};
use crate::os::clock;

/// The certificates that are served, and their counts. Cheap to clone; all clones change together.
#[derive(Clone, Default)]
pub(crate) struct Certificates(Arc<Shared>);

#[derive(Default)]
struct Shared {
    set: RwLock<Set>,
    challenges: Challenges,
    handshakes: Counts<HandshakeResult>,
    orders: Counts<OrderResult>,
}

#[derive(Default)]
struct Set {
    /// From files, in the order of the configuration, or made for development.
    own: Vec<Arc<Certificate>>,
    /// From the ACME directory.
    ordered: Option<Arc<Certificate>>,
    /// Each name with the certificates that are for it, in the order of all.
    by_name: HashMap<String, Vec<Arc<Certificate>>>,
    /// Whether the first certificate is for all names, as in development.
    is_for_all: bool,
}

impl Certificates {
    /// Serves these from files from now on.
    pub(super) fn set_own(&self, certificates: Vec<Arc<Certificate>>) {
        let mut set = self.write();
        set.own = certificates;
        set.index();
    }

    /// Serves this one from an ACME directory from now on.
    pub(super) fn set_ordered(&self, certificate: Arc<Certificate>) {
        let mut set = self.write();
        set.ordered = Some(certificate);
        set.index();
    }

    /// Serves this one for all names.
    pub(super) fn set_for_all(&self, certificate: Arc<Certificate>) {
        self.set_own(vec![certificate]);
        self.write().is_for_all = true;
    }

    /// The handshake for a client that asks for a name, or for none; `None` if no certificate is
    /// for that name.
    pub(super) fn choose(&self, name: Option<&str>) -> Option<Arc<ServerConfig>> {
        let set = self.read();
        set.choose(name, clock::unix()).map(|certificate| certificate.config())
    }

    /// Answers to the checks of the ACME directory.
    pub(crate) fn challenges(&self) -> &Challenges {
        &self.0.challenges
    }

    /// The fingerprint of the first one.
    pub(crate) fn fingerprint(&self) -> Option<String> {
        self.read().all().next().map(|certificate| certificate.fingerprint())
    }

    /// The last Unix time of validity, by the first name of a certificate. The earliest, if several
    /// have the same first name.
    pub(crate) fn expiries(&self) -> BTreeMap<String, i64> {
        let mut expiries = BTreeMap::new();
        for certificate in self.read().all() {
            let name = certificate.names.first().cloned().unwrap_or_default();
            let expiry = expiries.entry(name).or_insert(certificate.not_after);
            *expiry = certificate.not_after.min(*expiry);
        }
        expiries
    }

    /// Whether one of them is valid at this time.
    pub(crate) fn has_valid_at(&self, unix: Duration) -> bool {
        self.read().all().any(|certificate| certificate.is_valid_at(unix))
    }

    /// Counts the end of a handshake.
    pub(crate) fn count(&self, handshake: HandshakeResult) {
        self.0.handshakes.count(handshake);
    }

    /// How many handshakes ended like this.
    pub(crate) fn handshakes(&self, handshake: HandshakeResult) -> u64 {
        self.0.handshakes.get(handshake)
    }

    /// Counts the end of an order.
    pub(super) fn count_order(&self, ordered: OrderResult) {
        self.0.orders.count(ordered);
    }

    /// How many orders ended like this.
    pub(crate) fn orders(&self, ordered: OrderResult) -> u64 {
        self.0.orders.get(ordered)
    }

    fn read(&self) -> RwLockReadGuard<'_, Set> {
        self.0.set.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Set> {
        self.0.set.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Set {
    fn all(&self) -> impl Iterator<Item = &Arc<Certificate>> + Clone {
        self.own.iter().chain(&self.ordered)
    }

    fn index(&mut self) {
        let mut by_name: HashMap<String, Vec<Arc<Certificate>>> = HashMap::new();
        for certificate in self.all() {
            for name in &certificate.names {
                by_name.entry(name.clone()).or_default().push(certificate.clone());
            }
        }
        self.by_name = by_name;
    }

    /// A client that asks for no name gets one of all: it has connected to an address.
    fn choose(&self, name: Option<&str>, unix: Duration) -> Option<&Arc<Certificate>> {
        let Some(name) = name else {
            return first_valid(self.all(), unix);
        };
        let name = name.to_ascii_lowercase();
        let wildcard = name.split_once('.').map(|(_, domain)| format!("*.{domain}"));
        let of = |name: &String| self.by_name.get(name).into_iter().flatten();
        let named = of(&name).chain(wildcard.iter().flat_map(of));
        first_valid(named, unix).or_else(|| self.all().next().filter(|_| self.is_for_all))
    }
}

/// The first certificate that is valid at this time, or the first one if none is.
fn first_valid<'a>(
    mut certificates: impl Iterator<Item = &'a Arc<Certificate>> + Clone,
    unix: Duration,
) -> Option<&'a Arc<Certificate>> {
    let valid = certificates.clone().find(|certificate| certificate.is_valid_at(unix));
    valid.or_else(|| certificates.next())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn certificate(names: &[&str], last_year: i32) -> Arc<Certificate> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Arc::new(Certificate::from_pem(pem.as_bytes(), key.serialize_pem().as_bytes()).unwrap())
    }

    /// 2030-01-01.
    const NOW: Duration = Duration::from_secs(1_893_456_000);

    fn chosen(certificates: &Certificates, name: Option<&str>) -> Option<String> {
        let set = certificates.read();
        set.choose(name, NOW).map(|certificate| certificate.names[0].clone())
    }

    #[test]
    fn the_certificate_of_a_name_is_chosen() {
        let certificates = Certificates::default();
        assert_eq!(chosen(&certificates, None), None);
        certificates.set_own(vec![
            certificate(&["a.example", "also-a.example"], 2030),
            certificate(&["*.b.example", "b.example"], 2030),
            certificate(&["a.example"], 2031),
        ]);
        certificates.set_ordered(certificate(&["c.example"], 2030));
        for (name, expected) in [
            (None, Some("a.example")),
            (Some("A.Example"), Some("a.example")),
            (Some("also-a.example"), Some("a.example")),
            (Some("b.example"), Some("*.b.example")),
            (Some("any.b.example"), Some("*.b.example")),
            (Some("c.example"), Some("c.example")),
            (Some("far.away.b.example"), None),
            (Some("x.a.example"), None),
            (Some("localhost"), None),
        ] {
            assert_eq!(chosen(&certificates, name).as_deref(), expected, "{name:?}");
        }
        certificates.set_own(Vec::new());
        assert_eq!(chosen(&certificates, None).as_deref(), Some("c.example"));
    }

    #[test]
    fn the_first_valid_certificate_of_a_name_is_chosen() {
        let certificates = Certificates::default();
        certificates.set_own(vec![
            certificate(&["old.example", "a.b.example"], 2029),
            certificate(&["older.example", "a.b.example"], 2028),
        ]);
        for name in [None, Some("a.b.example")] {
            assert_eq!(
                chosen(&certificates, name).as_deref(),
                Some("old.example"),
                "none is valid"
            );
        }
        certificates.set_ordered(certificate(&["*.b.example"], 2031));
        for name in [None, Some("a.b.example")] {
            assert_eq!(chosen(&certificates, name).as_deref(), Some("*.b.example"));
        }
        assert_eq!(
            chosen(&certificates, Some("old.example")).as_deref(),
            Some("old.example")
        );
    }

    #[test]
    fn one_for_development_is_for_all_names() {
        let certificates = Certificates::default();
        certificates.set_for_all(certificate(&["localhost"], 2030));
        for name in [None, Some("localhost"), Some("phone.example")] {
            assert_eq!(chosen(&certificates, name).as_deref(), Some("localhost"));
        }
    }

    #[test]
    fn one_valid_certificate_is_enough() {
        let certificates = Certificates::default();
        let is_valid_in_2030 = || certificates.has_valid_at(NOW);
        assert!(!is_valid_in_2030());
        certificates.set_own(vec![certificate(&["a.example"], 2029)]);
        assert!(!is_valid_in_2030());
        certificates.set_ordered(certificate(&["b.example"], 2031));
        assert!(is_valid_in_2030());
    }

    #[test]
    fn the_earliest_expiry_of_a_name_counts() {
        let certificates = Certificates::default();
        certificates.set_own(vec![
            certificate(&["a.example"], 2031),
            certificate(&["a.example"], 2030),
            certificate(&["b.example"], 2040),
        ]);
        let expiries: Vec<_> = certificates.expiries().into_iter().collect();
        assert_eq!(
            expiries,
            [
                ("a.example".to_owned(), 1_893_456_000),
                ("b.example".to_owned(), 2_208_988_800)
            ]
        );
    }
}
