//! Certificates of peers, with keys of every kind.

/// The certificates, keys and signatures of the agent's tests.
const FILE: &str = include_str!("../../../../crates/agent/src/dtls/tests/certificates.txt");

/// The certificate that the honest client shows (X.509, DER).
pub(super) fn honest() -> Vec<u8> {
    named("certificate P-256")
}

/// The key of that certificate (PKCS #8, DER).
pub(super) fn honest_key() -> Vec<u8> {
    named("key P-256")
}

/// Each certificate with each signature by its key, none of which is of a handshake.
pub(super) fn with_signatures() -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = lines().filter_map(|(name, bytes)| {
        let kind = name.strip_prefix("signature ")?.split(' ').next()?;
        Some((named(&format!("certificate {kind}")), bytes))
    });
    pairs.collect()
}

fn named(name: &str) -> Vec<u8> {
    let found = lines().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no line {name}")).1
}

fn lines() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let lines = FILE.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, hex)| (name, unhex(hex)))
}

fn unhex(text: &str) -> Vec<u8> {
    let octet = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("the file has hexadecimal digits");
    (0..text.len()).step_by(2).map(octet).collect()
}
