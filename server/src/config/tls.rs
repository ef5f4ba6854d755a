//! Settings of TLS on the HTTP port.

use serde::Deserialize;

use super::ConfigError;
use crate::tls::{CertificateFiles, acme};

/// The most certificates.
const CERTIFICATES_MAX: usize = 256;

/// Settings of TLS.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tls {
    /// The port of HTTPS and WSS.
    pub port: u16,
    /// Certificates in files.
    pub certificates: Vec<CertificateFiles>,
    /// A directory that issues a certificate.
    pub acme: Option<acme::Settings>,
    /// Whether HTTP is redirected to HTTPS.
    pub redirect: bool,
    /// How many seconds browsers remember to use HTTPS only; 0 does not ask them to.
    pub hsts: u64,
    /// Whether the certificate is made at the start, for development.
    #[serde(skip)]
    pub development: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Tls {
            port: 443,
            certificates: Vec::new(),
            acme: None,
            redirect: true,
            hsts: 31_536_000,
            development: false,
        }
    }
}

impl Tls {
    /// The settings of a file, or those of `--dev-tls`, which names a port.
    ///
    /// Errors: they contradict each other, or nothing can be served like this at `http_port`.
    pub(super) fn complete(
        file: Option<Tls>,
        dev: bool,
        dev_tls: Option<u16>,
        http_port: u16,
    ) -> Result<Option<Tls>, ConfigError> {
        let invalid = |why: &str| Err(ConfigError::Tls(why.to_owned()));
        let tls = match (file, dev_tls) {
            (Some(_), Some(_)) => return invalid("and `--dev-tls` exclude each other"),
            (None, Some(_)) if !dev => return invalid("is needed: `--dev-tls` is for `--dev` only"),
            (None, Some(port)) => Tls {
                port,
                hsts: 0,
                development: true,
                ..Tls::default()
            },
            (Some(tls), None) => tls,
            (None, None) => return Ok(None),
        };
        tls.check(http_port)?;
        Ok(Some(tls))
    }

    fn check(&self, http_port: u16) -> Result<(), ConfigError> {
        let invalid = |why: String| Err(ConfigError::Tls(why));
        if self.port == http_port {
            return invalid(format!(
                "needs a `port` of its own: {http_port} is that of HTTP without TLS"
            ));
        }
        if self.certificates.is_empty() && self.acme.is_none() && !self.development {
            return invalid("needs `certificates: [{chain: FILE, key: FILE}]` or `acme: {...}`".to_owned());
        }
        if self.certificates.len() > CERTIFICATES_MAX {
            return invalid(format!("takes {CERTIFICATES_MAX} `certificates` and no more"));
        }
        let acme = self.acme.as_ref().map_or(Ok(()), acme::Settings::check);
        acme.map_err(ConfigError::Tls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTP: u16 = 7880;

    fn file(text: &str) -> Result<Tls, String> {
        let tls: Tls = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let tls = Tls::complete(Some(tls), false, None, HTTP);
        tls.map(|tls| tls.expect("there are settings"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn certificates_come_from_files_or_from_a_directory() {
        let tls = file("{certificates: [{chain: a.pem, key: b.pem}]}").unwrap();
        assert_eq!((tls.port, tls.certificates.len()), (443, 1));
        let tls = file("{port: 8443, acme: {names: [weir.example], accept_terms: true}}").unwrap();
        assert_eq!(
            (tls.port, tls.acme.unwrap().names),
            (8443, vec!["weir.example".to_owned()])
        );
    }

    #[test]
    fn settings_that_cannot_be_meant_are_errors() {
        for (text, named) in [
            ("{}", "certificates"),
            ("{port: 7880, certificates: [{chain: a, key: b}]}", "7880"),
            ("{certificates: [{chain: a}]}", "key"),
            ("{acme: {names: [a.example]}}", "accept_terms"),
            ("{development: true}", "development"),
            ("{certificate: []}", "certificate"),
        ] {
            let error = file(text).map(|_| ()).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn a_certificate_is_made_in_development_on_request() {
        let complete = |file, dev, dev_tls| Tls::complete(file, dev, dev_tls, HTTP);
        assert!(complete(None, true, None).unwrap().is_none());
        let tls = complete(None, true, Some(7443)).unwrap().unwrap();
        assert_eq!((tls.port, tls.hsts, tls.development), (7443, 0, true));
        assert!(complete(None, false, Some(7443)).is_err(), "not in development");
        assert!(complete(None, true, Some(HTTP)).is_err(), "at the port of HTTP");
        assert!(complete(Some(Tls::default()), true, Some(7443)).is_err());
    }
}
