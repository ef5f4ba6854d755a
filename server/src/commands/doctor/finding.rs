//! The findings of checks.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// As it should be.
    Ok,
    /// Nothing to mend: a check that was not made, or a fact worth knowing.
    Info,
    /// The server runs, and less well than it could.
    Warning,
    /// The server does not start, or clients do not reach it.
    Error,
}

/// One finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The name of the check.
    pub check: &'static str,
    pub severity: Severity,
    /// The state of what was checked, as one line.
    pub message: String,
    /// The cure, as one line; none where nothing has to be done, or the message says it.
    pub cure: Option<String>,
}

impl Severity {
    /// The word in front of a line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Finding {
    pub(super) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Severity::Ok, message, None)
    }

    pub(super) fn info(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Severity::Info, message, None)
    }

    pub(super) fn warning(check: &'static str, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::new(check, Severity::Warning, message, Some(cure.into()))
    }

    pub(super) fn error(check: &'static str, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::new(check, Severity::Error, message, Some(cure.into()))
    }

    /// One whose message already has the cure in it, if it needs any.
    pub(super) fn new(
        check: &'static str,
        severity: Severity,
        message: impl Into<String>,
        cure: Option<String>,
    ) -> Self {
        Finding {
            check,
            severity,
            message: message.into(),
            cure,
        }
    }
}
