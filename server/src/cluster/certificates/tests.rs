//! The files of `weir cluster-cert`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;
use crate::cluster::tls::ClusterTls;
use crate::config::ClusterFiles;

fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

fn arguments(directory: &Path, names: &[&str]) -> cli::ClusterCert {
    cli::ClusterCert {
        directory: directory.to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        roles: Vec::new(),
    }
}

#[test]
fn files_are_private_usable_and_never_overwritten() {
    let directory = directory("cluster-cert");
    run(arguments(&directory, &["one", "two.example"])).unwrap();
    for name in [
        "ca.pem",
        "ca.key",
        "secrets",
        "one.pem",
        "one.key",
        "two.example.pem",
        "two.example.key",
    ] {
        let mode = fs::metadata(directory.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let files = ClusterFiles {
        ca: directory.join("ca.pem"),
        certificate: directory.join("one.pem"),
        key: directory.join("one.key"),
    };
    assert!(ClusterTls::load(&files).is_ok());
    let mixed = ClusterFiles {
        key: directory.join("two.example.key"),
        ..files
    };
    assert!(ClusterTls::load(&mixed).is_err(), "the key is another one's");
    let before = fs::read(directory.join("one.pem")).unwrap();
    let error = run(arguments(&directory, &["one"])).unwrap_err().to_string();
    assert!(error.contains("there already"), "{error}");
    assert_eq!(fs::read(directory.join("one.pem")).unwrap(), before);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_machine_is_added_by_the_authority_that_is_there() {
    let directory = directory("cluster-cert-added");
    run(arguments(&directory, &["one"])).unwrap();
    let read = |name: &str| fs::read(directory.join(name)).unwrap();
    let before = ["ca.pem", "ca.key", "secrets", "one.pem"].map(read);
    run(arguments(&directory, &["two"])).unwrap();
    assert_eq!(["ca.pem", "ca.key", "secrets", "one.pem"].map(read), before);
    let der = |name: &str| CertificateDer::from_pem_slice(&read(name)).unwrap();
    let (authority, added) = (der("ca.pem"), der("two.pem"));
    let (_, authority) = parse_x509_certificate(&authority).unwrap();
    let (_, added) = parse_x509_certificate(&added).unwrap();
    added.verify_signature(Some(authority.public_key())).unwrap();
    assert_eq!(added.issuer(), authority.subject());
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn an_authority_in_pieces_is_refused_and_nothing_is_written() {
    let (directory, other) = (directory("cluster-cert-pieces"), directory("cluster-cert-other"));
    run(arguments(&directory, &["one"])).unwrap();
    run(arguments(&other, &["one"])).unwrap();
    let refusal = || run(arguments(&directory, &["two"])).unwrap_err().to_string();
    fs::copy(other.join("ca.key"), directory.join("ca.key")).unwrap();
    assert!(refusal().contains("with this key"));
    // A machine's certificate signs nothing.
    fs::copy(directory.join("one.pem"), directory.join("ca.pem")).unwrap();
    fs::copy(directory.join("one.key"), directory.join("ca.key")).unwrap();
    assert!(refusal().contains("authority"));
    fs::remove_file(directory.join("ca.key")).unwrap();
    assert!(refusal().contains("ca.key"));
    assert!(!directory.join("two.pem").exists());
    fs::remove_dir_all(directory).unwrap();
    fs::remove_dir_all(other).unwrap();
}

#[test]
fn a_name_that_leaves_the_directory_is_refused() {
    let directory = directory("cluster-cert-names");
    for name in ["../evil", "", "ca", "a b", "a..b", "-a", "media.weir.internal"] {
        assert!(run(arguments(&directory, &[name])).is_err(), "{name:?}");
    }
    assert!(!directory.exists());
}
