//! Settings of an ACME directory.

use std::net::IpAddr;
use std::path::PathBuf;

use axum::http::Uri;
use instant_acme::{ChallengeType, LetsEncrypt};
use serde::Deserialize;

/// The most names of a certificate; Let's Encrypt takes no more.
const NAMES_MAX: usize = 100;

/// The longest name (RFC 1035 section 2.3.4).
const NAME_MAX: usize = 253;

/// Settings of an ACME directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The names of the certificate.
    pub names: Vec<String>,
    /// Whether the operator agrees to the directory's terms of service.
    pub accept_terms: bool,
    /// An e-mail address for the directory to write to.
    pub contact: Option<String>,
    /// The URL of the directory.
    pub directory: String,
    /// The certificates that the directory's own is signed by, in PEM; otherwise this machine's.
    pub root: Option<PathBuf>,
    /// How the directory checks that a name is this server's.
    pub challenge: ChallengeKind,
    /// The folder for the account and the certificate.
    pub storage: PathBuf,
}

/// The kind of challenge by which a directory checks a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum ChallengeKind {
    /// By a handshake at port 443 (RFC 8737).
    #[default]
    #[serde(rename = "tls-alpn-01")]
    Tls,
    /// By a request at port 80 (RFC 8555 section 8.3).
    #[serde(rename = "http-01")]
    Http,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            names: Vec::new(),
            accept_terms: false,
            contact: None,
            directory: LetsEncrypt::Production.url().to_owned(),
            root: None,
            challenge: ChallengeKind::default(),
            storage: PathBuf::from("/var/lib/weir/acme"),
        }
    }
}

impl Settings {
    /// Whether a certificate can be ordered like this.
    ///
    /// Errors: the sentence for the operator, to go on from the name of the section.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.names.is_empty() || self.names.len() > NAMES_MAX {
            return Err(format!("`acme: {{names: [...]}}` lists 1 to {NAMES_MAX} names"));
        }
        if let Some(name) = self.names.iter().find(|name| !is_name(name)) {
            return Err(format!(
                "{name} is no name for `acme`: a name in DNS, in lower case and without `*`"
            ));
        }
        let uri = self.directory.parse::<Uri>().ok();
        let is_https = uri.is_some_and(|uri| uri.scheme_str() == Some("https") && uri.host().is_some());
        if !is_https {
            return Err(format!("{} is no `https:` URL of a directory", self.directory));
        }
        let is_contact = |contact: &String| contact.contains('@') && !contact.contains([':', ' ', ',']);
        if let Some(contact) = self.contact.as_ref().filter(|contact| !is_contact(contact)) {
            return Err(format!("{contact} is no e-mail address"));
        }
        if !self.accept_terms {
            return Err(format!(
                "`acme: {{accept_terms: true}}` is needed: it agrees to the terms of service of {}",
                self.directory
            ));
        }
        Ok(())
    }
}

impl ChallengeKind {
    /// The same in the protocol.
    pub(super) fn challenge_type(self) -> ChallengeType {
        match self {
            ChallengeKind::Tls => ChallengeType::TlsAlpn01,
            ChallengeKind::Http => ChallengeType::Http01,
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let mut bytes = label.bytes();
        let is_plain = bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        is_plain && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= NAME_MAX && name.split('.').all(is_label) && name.parse::<IpAddr>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Settings, String> {
        let settings: Settings = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        settings.check().map(|()| settings)
    }

    #[test]
    fn names_and_agreement_suffice() {
        let settings = check("{names: [weir.example, xn--wehr-4qa.example], accept_terms: true}").unwrap();
        assert_eq!(settings.directory, "https://acme-v02.api.letsencrypt.org/directory");
        assert_eq!(settings.challenge, ChallengeKind::Tls);
        let text = "{names: [a.b], accept_terms: true, challenge: http-01, directory: 'https://[::1]:14000/dir', contact: a@b.example}";
        assert_eq!(check(text).unwrap().challenge, ChallengeKind::Http);
    }

    #[test]
    fn settings_that_cannot_be_meant_are_errors() {
        for (text, named) in [
            ("{accept_terms: true}", "names"),
            ("{names: [a.example]}", "accept_terms"),
            ("{names: ['*.example'], accept_terms: true}", "*.example"),
            ("{names: [A.example], accept_terms: true}", "A.example"),
            ("{names: [a..example], accept_terms: true}", "a..example"),
            ("{names: [192.0.2.1], accept_terms: true}", "192.0.2.1"),
            (
                "{names: [a.b], accept_terms: true, directory: 'http://a/'}",
                "http://a/",
            ),
            ("{names: [a.b], accept_terms: true, contact: nobody}", "nobody"),
            ("{names: [a.b], accept_terms: true, challenge: dns-01}", "dns-01"),
            ("{names: [a.b], terms: true}", "terms"),
        ] {
            let error = check(text).map(|_| ()).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
