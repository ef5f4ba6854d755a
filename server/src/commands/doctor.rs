//! `weir doctor`: whether this machine and its configuration are fit for a server, and the cure for
//! each thing that is not.
//!
//! It runs beside a server without disturbing it. Ports are looked up in the tables of the kernel
//! and not opened, and no program is loaded into the kernel. Nobody outside this machine is asked
//! but name servers, and the STUN servers that the operator names.

mod certificates;
mod clock;
mod configuration;
mod finding;
mod kernel;
mod limits;
mod ports;
mod process;
mod reach;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::output::{print, print_json};
use super::terminal::escaped;
use crate::cli::{Doctor, Serve};
use crate::config::StunServer;
use finding::{Finding, Severity};

/// The configuration of the package.
const PACKAGE_CONFIG: &str = "/etc/weir/weir.yaml";

/// The report as JSON.
#[derive(Serialize)]
struct DoctorReport<'a> {
    errors: usize,
    warnings: usize,
    findings: &'a [Finding],
}

/// Examines, and prints the findings.
///
/// Errors: a finding is an error.
pub(crate) fn run(mut arguments: Doctor) -> Result<(), Box<dyn Error>> {
    let servers = arguments.stun.iter().map(|text| text.parse::<StunServer>());
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    use_package(&mut arguments.serve, Path::new(PACKAGE_CONFIG));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(examine(&mut arguments, &servers));
    // A look-up of a name that takes longer than it may must not keep the process.
    runtime.shutdown_background();
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    match arguments.json {
        true => print_json(&DoctorReport {
            errors,
            warnings,
            findings: &findings,
        })?,
        false => print(&findings.iter().map(line).collect::<String>())?,
    }
    match errors {
        0 => Ok(()),
        1 => Err("one finding is an error".into()),
        errors => Err(format!("{errors} findings are errors").into()),
    }
}

/// Takes the configuration of the package where the operator names none.
fn use_package(serve: &mut Serve, package: &Path) {
    let is_configured = serve.config.is_some() || serve.dev || !serve.keys.is_empty() || serve.key_file.is_some();
    if !is_configured && package.exists() {
        serve.config = Some(PathBuf::from(package));
    }
}

async fn examine(arguments: &mut Doctor, servers: &[StunServer]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let examined = configuration::check(&mut arguments.serve, arguments.role, &mut findings);
    let config = examined.config.as_ref();
    let server = match config {
        Some(config) => ports::check(config, arguments.role, &mut findings).await,
        None => None,
    };
    let server = server.as_ref();
    limits::check(config, server, &mut findings);
    kernel::check(config, &examined.capabilities, server, &mut findings);
    clock::check(&mut findings);
    if let Some(config) = config {
        certificates::check(config, &mut findings).await;
    }
    reach::check(config, servers, &mut findings).await;
    findings
}

/// A finding as a line.
fn line(finding: &Finding) -> String {
    let Finding {
        check,
        severity,
        message,
        cure,
    } = finding;
    let cure = cure.as_ref().map(|cure| format!(": {cure}")).unwrap_or_default();
    format!(
        "{:<7}  {check}: {}\n",
        severity.name(),
        escaped(&format!("{message}{cure}"))
    )
}
