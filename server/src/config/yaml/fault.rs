//! An error of a file: its line, its setting, and a message for who wrote the file.

use serde_saphyr::granit_parser::{ErrorKind, ScanError};

/// An error of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Its line, from 1.
    pub line: usize,
    /// The setting, by its dotted name; `None` if it is of no setting.
    pub key: Option<String>,
    /// The error and its cure.
    pub message: String,
}

impl Fault {
    pub(super) fn syntax(line: usize, message: String) -> Self {
        Fault {
            line,
            key: None,
            message,
        }
    }

    /// Whether a bracket or a quote is not closed.
    pub(super) fn is_unclosed(&self) -> bool {
        self.message.contains("is not closed")
    }

    /// A key at two lines.
    pub(super) fn twice(key: &str, name: String, [first, line]: [usize; 2]) -> Self {
        Fault {
            line,
            key: Some(name),
            message: format!("`{key}` is given twice, at lines {first} and {line}: keep one of them"),
        }
    }

    /// An error of YAML itself.
    pub(super) fn of_yaml(error: &ScanError) -> Self {
        let mut line = error.marker().line();
        let message = match error.kind() {
            ErrorKind::UnclosedQuotedScalar => "a quote that opens here is not closed: add the other one".to_owned(),
            ErrorKind::UnclosedFlowCollection { .. } => {
                "a bracket that opens here is not closed: add the other one".to_owned()
            }
            ErrorKind::MisplacedFlowCollectionEnd => {
                "a bracket closes here that was not opened: leave it out".to_owned()
            }
            // The line after an open quote ends it.
            ErrorKind::InvalidQuotedScalarIndent => {
                line = line.saturating_sub(1).max(1);
                "a quote that opens here or above is not closed: add the other one".to_owned()
            }
            ErrorKind::InvalidFlowScalarIndent
            | ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::ExpectedFlowSequenceSeparator => {
                line = line.saturating_sub(usize::from(error.marker().col() == 0)).max(1);
                "a bracket that opens here or above is not closed, or a comma is missing in it: add it".to_owned()
            }
            ErrorKind::MappingValueNotAllowed => "a second `: ` stands in this setting: indent the line as the others \
                 of its section, or put the text in quotes"
                .to_owned(),
            ErrorKind::UnknownAnchor => "this alias (`*`) has no anchor (`&`): put texts with `*` in quotes".to_owned(),
            _ => format!(
                "this is no YAML ({}): write `setting: value`, indent the settings of one section alike, and put \
                 texts with signs in quotes",
                error.info()
            ),
        };
        Self::syntax(line, message)
    }
}
