//! API keys: in the configuration, in a file or a folder of keys, and in arguments.

use std::fs;
use std::path::{Path, PathBuf};

use super::secrets::{self, Keys};
use super::{ConfigError, DEV_KEY, DEV_SECRET, yaml};

/// The shortest secret, in bytes.
const SECRET_MIN: usize = 32;
/// The most keys in a folder, and the most bytes of each.
const FILES_MAX: usize = 10_000;
const FILE_MAX: u64 = 4_096;

/// The places where keys stand. A later place takes precedence.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeySources {
    /// Development mode, which brings a key along where there is no other.
    pub dev: bool,
    /// In the configuration file.
    pub configured: Keys,
    /// A file of keys, or a folder with a file for each.
    pub file: Option<PathBuf>,
    /// In arguments or the environment.
    pub given: Keys,
}

/// The keys at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApiSecrets {
    /// All of them.
    pub keys: Keys,
    /// The one that development mode brings along, if there is no other.
    pub dev_key: Option<String>,
}

impl KeySources {
    /// Reads them all.
    ///
    /// Errors: no file, a malformed one, no keys, a short secret.
    pub(crate) fn read(&self) -> Result<ApiSecrets, ConfigError> {
        let mut keys = self.configured.clone();
        keys.extend(self.file.as_deref().map(read).transpose()?.unwrap_or_default());
        keys.extend(self.given.clone());
        let dev_key = (self.dev && keys.is_empty()).then(|| DEV_KEY.to_owned());
        keys.extend(dev_key.iter().map(|key| (key.clone(), DEV_SECRET.into())));
        check(&keys, self.dev)?;
        Ok(ApiSecrets { keys, dev_key })
    }
}

/// Keys of arguments, each `key:secret`.
pub(super) fn given(pairs: &[String]) -> Result<Keys, ConfigError> {
    let pairs = pairs.iter().map(|pair| {
        let (key, secret) = pair.split_once(':').ok_or(ConfigError::Key)?;
        Ok((key.trim().to_owned(), secret.trim().into()))
    });
    pairs.collect()
}

fn check(keys: &Keys, dev: bool) -> Result<(), ConfigError> {
    if dev {
        return Ok(());
    }
    if keys.is_empty() {
        return Err(ConfigError::NoKeys);
    }
    let short = keys.iter().filter(|(_, secret)| secret.len() < SECRET_MIN);
    let short: Vec<String> = short.map(|(key, _)| key.clone()).collect();
    match short.is_empty() {
        true => Ok(()),
        false => Err(ConfigError::ShortSecrets(short)),
    }
}

/// The keys in a file, `key: secret` one a line, or in a folder of files.
///
/// Errors: it cannot be read, or is malformed.
pub(crate) fn read(path: &Path) -> Result<Keys, ConfigError> {
    if path.is_dir() {
        return read_folder(path);
    }
    let text = secrets::read(path)?;
    yaml::read(&text, &[""]).whole(&path.display().to_string())
}

/// The keys in a folder: a file's name is the key, and its contents the secret. This is the form of
/// a secret that Kubernetes mounts. Hidden files, by which Kubernetes replaces all files at once,
/// are no keys.
fn read_folder(folder: &Path) -> Result<Keys, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable(folder.display().to_string(), error);
    let mut keys = Keys::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let is_key = !name.starts_with('.') && path.is_file();
        if !is_key {
            continue;
        }
        let invalid = |why| ConfigError::Invalid(path.display().to_string(), why);
        if fs::metadata(&path).map_err(unreadable)?.len() > FILE_MAX {
            return Err(invalid("a secret has at most 4,096 bytes"));
        }
        if keys.len() == FILES_MAX {
            return Err(invalid("a folder has at most 10,000 keys"));
        }
        let secret = secrets::read(&path)?;
        keys.insert(name.to_owned(), secret.trim().into());
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    /// A folder that is removed with this.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("weir-keys-{}-{name}", std::process::id()));
            fs::create_dir(&path).expect("there is no such folder");
            Folder(path)
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.0.join(name), text).expect("it can be written");
        }

        fn keys(&self) -> Result<Vec<String>, String> {
            let sources = KeySources {
                file: Some(self.0.clone()),
                ..KeySources::default()
            };
            let read = sources.read().map_err(|error| error.to_string())?;
            Ok(read
                .keys
                .iter()
                .map(|(key, secret)| format!("{key} {}", &secret[..2]))
                .collect())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_folder_has_a_file_for_each_key() {
        let folder = Folder::new("files");
        assert!(folder.keys().unwrap_err().contains("no API keys"));
        folder.write("one", &format!("{ONE}\n"));
        folder.write("other", OTHER);
        folder.write(".hidden", "x");
        fs::create_dir(folder.0.join("..data")).unwrap();
        assert_eq!(folder.keys().unwrap(), ["one 01", "other fe"]);
        folder.write("short", "x");
        assert!(folder.keys().unwrap_err().contains("short"));
        folder.write("short", &"x".repeat(4_097));
        assert!(folder.keys().unwrap_err().contains("4,096 bytes"));
    }

    #[test]
    fn later_places_take_precedence_and_development_needs_no_key() {
        let keys = |key: &str, secret: &str| Keys::from([(key.to_owned(), secret.into())]);
        let sources = KeySources {
            configured: keys("a", ONE),
            given: keys("a", OTHER),
            ..KeySources::default()
        };
        assert_eq!(sources.read().unwrap().keys, keys("a", OTHER));
        let dev = KeySources {
            dev: true,
            ..KeySources::default()
        };
        let read = dev.read().unwrap();
        assert_eq!((read.keys.len(), read.dev_key.as_deref()), (1, Some(DEV_KEY)));
    }
}
