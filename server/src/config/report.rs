//! All that can be said about a configuration without starting a server.

use serde::Serialize;

use super::{Config, ConfigError, places, secrets};
use crate::cli;

/// The report about a configuration.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// Reasons why no server starts with it.
    pub errors: Vec<Problem>,
    /// Settings that are legal and unwise. Those of a configuration with errors are not known.
    pub warnings: Vec<String>,
    /// The capabilities of Linux that it can use, by their names.
    pub capabilities: Vec<&'static str>,
}

/// One error.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    /// The file that it is in, unless it is in the arguments or the environment.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<usize>,
    /// The setting, by its dotted name.
    pub key: Option<String>,
    /// The error and its cure, as a sentence.
    pub message: String,
}

impl Report {
    /// The report about what `weir serve` would read, and the configuration if it has no errors.
    pub(crate) fn of(arguments: &cli::Serve) -> (Self, Option<Config>) {
        match Config::read(arguments) {
            Ok(config) => {
                let warnings = config.warnings.clone();
                let report = Report {
                    warnings,
                    ..Report::default()
                };
                (report, Some(config))
            }
            Err(errors) => {
                let errors = errors.iter().map(|error| Problem::of(error, arguments));
                let report = Report {
                    errors: errors.collect(),
                    ..Report::default()
                };
                (report, None)
            }
        }
    }
}

impl Problem {
    /// A problem with a setting of the configuration's file.
    pub(crate) fn with(key: &str, message: String, arguments: &cli::Serve) -> Self {
        let file = arguments.config.as_deref();
        let text = file.and_then(|file| secrets::read(file).ok());
        let line = text.and_then(|text| places::line_of(&text, key));
        Problem {
            file: file.map(|file| file.display().to_string()),
            line,
            key: Some(key.to_owned()),
            message,
        }
    }

    fn of(error: &ConfigError, arguments: &cli::Serve) -> Self {
        let (file, line, message) = match error {
            ConfigError::Invalid(file, line, why) => (file, *line, why.clone()),
            ConfigError::Unreadable(file, _) => (file, None, error.to_string()),
            _ => match error.key() {
                Some(key) => return Self::with(key, error.to_string(), arguments),
                None => {
                    return Problem {
                        file: None,
                        line: None,
                        key: None,
                        message: error.to_string(),
                    };
                }
            },
        };
        let text = secrets::read(file.as_ref()).ok();
        let key = line.and_then(|line| places::key_at(&text?, line));
        Problem {
            file: Some(file.clone()),
            line,
            key,
            message,
        }
    }
}
