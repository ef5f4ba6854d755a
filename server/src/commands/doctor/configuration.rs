//! The configuration, as `weir check-config` checks it.

use super::finding::{Finding, Severity};
use crate::cli::{Role, Serve};
use crate::config::Config;
use crate::serve::check;

const CHECK: &str = "configuration";

/// The outcome for the other checks.
pub(super) struct Examined {
    /// The configuration, if it can be read.
    pub config: Option<Config>,
    /// The capabilities of Linux that it can use.
    pub capabilities: Vec<&'static str>,
}

pub(super) fn check(serve: &mut Serve, role: Option<Role>, findings: &mut Vec<Finding>) -> Examined {
    let (report, config) = check::examine(serve, role);
    let file = serve.config.as_ref().map(|file| file.display().to_string());
    let name = file.unwrap_or_else(|| "the configuration of arguments and environment".to_owned());
    for problem in &report.errors {
        let message = check::line(problem).trim_end().to_owned();
        findings.push(Finding::new(CHECK, Severity::Error, message, None));
    }
    for warning in &report.warnings {
        findings.push(Finding::new(CHECK, Severity::Warning, warning, None));
    }
    if report.errors.is_empty() {
        findings.push(Finding::ok(CHECK, format!("{name} is valid")));
    }
    if config.is_none() {
        let message = "ports, certificates and addresses are not checked: the configuration cannot be read";
        findings.push(Finding::info(CHECK, message));
    }
    Examined {
        config,
        capabilities: report.capabilities,
    }
}
