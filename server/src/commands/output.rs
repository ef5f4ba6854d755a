//! The output of a command: lines, or JSON.

use std::io::{self, Write};

use serde::Serialize;

use super::refusal::Refusal;
use super::terminal::escaped;

/// Writes a text. That nobody reads the rest of it is no error.
///
/// Errors: it cannot be written.
pub(crate) fn print(text: &str) -> Result<(), Refusal> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Refusal::Failed(error.to_string())),
    }
}

/// Writes a value as JSON.
///
/// Errors: it cannot be written.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Refusal> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Refusal::Failed(error.to_string()))?;
    print(&(text + "\n"))
}

/// The lines of fields with their names. A field without a value is left out.
pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let known = || fields.iter().filter(|(_, value)| !value.is_empty());
    let width = known().map(|(name, _)| name.len()).max().unwrap_or_default();
    known()
        .map(|(name, value)| format!("{name:<width$}  {}\n", escaped(value)))
        .collect()
}
