//! The API key that signs the tokens of a command.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use zeroize::Zeroizing;

use crate::cli::SignerArgs;
use crate::config::{DEV_KEY, DEV_SECRET, read_keys};

/// The file of keys that the package makes.
const PACKAGE_KEYS: &str = "/etc/weir/keys";

/// The key that signs, and its secret.
///
/// Errors: there is a file of keys and it cannot be read, or it lacks the key.
pub(crate) fn key(arguments: &SignerArgs) -> Result<(String, Zeroizing<String>), Box<dyn Error>> {
    signer(arguments, Path::new(PACKAGE_KEYS))
}

/// The same, with the file of keys that the package may have made.
fn signer(arguments: &SignerArgs, package: &Path) -> Result<(String, Zeroizing<String>), Box<dyn Error>> {
    let (key, secret) = (arguments.api_key.clone(), arguments.api_secret.clone());
    if let Some(secret) = secret {
        return Ok((key.unwrap_or_else(|| DEV_KEY.to_owned()), Zeroizing::new(secret)));
    }
    if key.as_deref() == Some(DEV_KEY) && arguments.key_file.is_none() {
        return Ok((DEV_KEY.to_owned(), Zeroizing::new(DEV_SECRET.to_owned())));
    }
    let file = arguments.key_file.as_deref().or(package.exists().then_some(package));
    let Some(file) = file else {
        if let Some(key) = key {
            return Err(format!("the secret of {key} is missing: give --api-secret or --key-file").into());
        }
        complain("signed with the key \"devkey\", which only `weir serve --dev` takes: give --key-file for another");
        return Ok((DEV_KEY.to_owned(), Zeroizing::new(DEV_SECRET.to_owned())));
    };
    let keys = read_keys(file).map_err(|error| format!("{error}; for `weir serve --dev` give --api-key {DEV_KEY}"))?;
    let found = match &key {
        Some(key) => keys.get_key_value(key),
        None => keys.first_key_value(),
    };
    let (found, secret) = found.ok_or_else(|| match &key {
        Some(key) => format!("{} has no API key {key}", file.display()),
        None => format!("{} has no API key", file.display()),
    })?;
    if key.is_none() && keys.len() > 1 {
        complain(&format!(
            "signed with the key {found}, the first one: --api-key names another"
        ));
    }
    Ok((found.clone(), Zeroizing::new(secret.to_string())))
}

/// Tells the user something beside the token.
fn complain(text: &str) {
    // An error is ignored: the line is only for readers.
    let _ = writeln!(io::stderr(), "weir: {text}");
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli;

    fn signed(package: &Path, more: &[&str]) -> Result<(String, String), String> {
        let arguments = ["weir", "token", "--room", "lobby", "--identity", "ada"];
        let parsed = cli::Cli::try_parse_from(arguments.iter().chain(more));
        let cli::Command::Token(arguments) = parsed.expect("they are arguments").command else {
            panic!("another command");
        };
        let signed = signer(&arguments.signer, package).map_err(|error| error.to_string())?;
        Ok((signed.0, signed.1.to_string()))
    }

    #[test]
    fn the_key_of_the_package_signs_where_there_is_one() {
        let file = std::env::temp_dir().join(format!("weir-token-{}", std::process::id()));
        std::fs::write(&file, "main: one\nother: two\n").unwrap();
        let (named, none) = (file.to_str().unwrap(), Path::new("/nonexistent/keys"));
        let of = |key: &str, secret: &str| Ok((key.to_owned(), secret.to_owned()));
        assert_eq!(signed(&file, &[]), of("main", "one"));
        assert_eq!(signed(&file, &["--api-key", "other"]), of("other", "two"));
        assert_eq!(signed(&file, &["--api-key", "devkey"]), of("devkey", "secret"));
        assert_eq!(signed(&file, &["--api-key", "x", "--api-secret", "y"]), of("x", "y"));
        assert!(
            signed(&file, &["--api-key", "third"])
                .unwrap_err()
                .contains("no API key third")
        );
        assert_eq!(signed(none, &["--key-file", named]), of("main", "one"));
        assert_eq!(signed(none, &[]), of("devkey", "secret"));
        assert!(signed(none, &["--api-key", "x"]).unwrap_err().contains("--key-file"));
        assert!(signed(none, &["--key-file", "/nonexistent/keys"]).is_err());
        std::fs::remove_file(&file).unwrap();
        assert!(signed(&file, &[]).is_ok(), "without the package it is development");
    }
}
