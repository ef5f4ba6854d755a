//! Settings of the log.

use serde::Deserialize;

/// Log settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Log {
    /// A level, or filters.
    pub level: String,
    /// One JSON object a line.
    pub json: bool,
}

impl Default for Log {
    fn default() -> Self {
        Log {
            level: "info".to_owned(),
            json: false,
        }
    }
}
