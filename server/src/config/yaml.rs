//! Files of settings in YAML, read into a type, with every error in the words of who wrote the
//! file.
//!
//! `serde` stops at the first error. So the setting with the error is left out and the rest is read
//! again. Lines and names of settings are those of the parsed file, in any notation of YAML.

mod error;
mod fault;
mod node;
mod reader;
mod schema;
mod words;

use serde::de::DeserializeOwned;

use error::Cause;
pub(super) use fault::Fault;

use super::ConfigError;

/// So many errors of a file are told.
const FAULTS_MAX: usize = 100;

/// The settings of a file, as far as it can be read.
#[derive(Debug)]
pub(super) struct Reading<T> {
    /// Its settings without those that have an error; `None` if nothing can be read.
    pub value: Option<T>,
    /// Its errors in the order of their lines.
    pub faults: Vec<Fault>,
}

impl<T: Default> Reading<T> {
    /// All that a file says.
    ///
    /// Errors: those of this file.
    pub(super) fn whole(self, file: &str) -> Result<T, ConfigError> {
        match self.faults.is_empty() {
            true => Ok(self.value.unwrap_or_default()),
            false => Err(ConfigError::Settings(file.to_owned(), self.faults)),
        }
    }
}

/// Reads a text. Values below these settings, by their dotted names, are not shown in errors; an
/// empty name stands for all.
pub(super) fn read<T: DeserializeOwned>(text: &str, secrets: &[&str]) -> Reading<T> {
    let (mut root, mut faults) = node::parse(text);
    let mut value = None;
    while faults.len() < FAULTS_MAX {
        let error = match T::deserialize(&root) {
            Ok(read) => {
                value = Some(read);
                break;
            }
            Err(error) => error,
        };
        let place = error.place();
        // A setting may be missing only because it was left out.
        let follows = match error.cause {
            Cause::Missing(name) => root.at(&place).is_some_and(|around| around.has_left_out(name)),
            _ => false,
        };
        if !follows {
            faults.push(words::fault::<T>(&error, &root, secrets));
        }
        if !root.leave_out(&place) {
            break;
        }
    }
    faults.sort_by_key(|fault| fault.line);
    Reading { value, faults }
}

/// The line of a setting, by its dotted name; of the mapping around it where it is not there
/// itself.
///
/// Shape: lines count from 1.
pub(super) fn line_of(text: &str, name: &str) -> Option<usize> {
    node::parse(text).0.line_of(name)
}

#[cfg(test)]
mod tests;
