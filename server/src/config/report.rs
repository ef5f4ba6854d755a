//! All that can be said about a configuration without starting a server.

use serde::Serialize;

use super::{Config, ConfigError, secrets, yaml};
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
                let errors = errors.iter().flat_map(|error| Problem::of(error, arguments));
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
        let line = text.and_then(|text| yaml::line_of(&text, key));
        Problem {
            file: file.map(|file| file.display().to_string()),
            line,
            key: Some(key.to_owned()),
            message,
        }
    }

    fn of(error: &ConfigError, arguments: &cli::Serve) -> Vec<Self> {
        let of_file = |file: Option<&String>| Problem {
            file: file.cloned(),
            line: None,
            key: None,
            message: error.to_string(),
        };
        match error {
            ConfigError::Settings(file, faults) => {
                let faults = faults.iter().map(|fault| Problem {
                    file: Some(file.clone()),
                    line: Some(fault.line),
                    key: fault.key.clone(),
                    message: fault.message.clone(),
                });
                faults.collect()
            }
            ConfigError::Unreadable(file, _) | ConfigError::Invalid(file, _) => vec![of_file(Some(file))],
            _ => vec![match error.key() {
                Some(key) => Self::with(key, error.to_string(), arguments),
                None => of_file(None),
            }],
        }
    }
}
