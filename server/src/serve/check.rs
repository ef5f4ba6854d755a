//! `weir check-config`: whether a server would start with a configuration.

use std::error::Error;
use std::io::{self, Write};

use crate::cluster::tls::ClusterTls;
use crate::config::{Config, Problem, Report};
use crate::dataplane::{Base, Offload};
use crate::media::addresses::Addresses;
use crate::tls::{acme, files};
use crate::{cli, log, sip};

/// The lowest port that a process may open without a privilege.
const UNPRIVILEGED: u16 = 1_024;

/// Checks, and prints the report.
///
/// Errors: the configuration has any.
pub(crate) fn run(arguments: cli::CheckConfig) -> Result<(), Box<dyn Error>> {
    let (mut report, config) = Report::of(&arguments.serve);
    if let Some(config) = &config {
        let certificates = config.tls.iter().flat_map(|tls| &tls.certificates);
        let certificates = files::check(&certificates.cloned().collect::<Vec<_>>());
        report.errors = problems(config, &certificates, &arguments.serve);
        report.warnings.extend(certificates.ok().flatten());
        report.capabilities = capabilities(config);
    }
    match arguments.json {
        true => writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&report)?)?,
        false => write!(io::stdout(), "{}", text(&report))?,
    }
    match report.errors.len() {
        0 => Ok(()),
        1 => Err("the configuration has an error".into()),
        errors => Err(format!("the configuration has {errors} errors").into()),
    }
}

/// The configuration of `weir serve`.
///
/// Errors: all that reading it finds, in the lines of the report.
pub(crate) fn load(arguments: &cli::Serve) -> Result<Config, String> {
    let (report, config) = Report::of(arguments);
    config.ok_or_else(|| {
        let lines: String = report.errors.iter().map(line).collect();
        let lines = lines.trim_end();
        match report.errors.len() {
            1 => lines.to_owned(),
            errors => format!("the configuration has {errors} errors\n{lines}"),
        }
    })
}

/// Errors beyond those of reading: `weir serve` finds them while it starts.
fn problems(config: &Config, certificates: &Result<Option<String>, String>, arguments: &cli::Serve) -> Vec<Problem> {
    let sip = config.sip.as_ref();
    let acme = config.tls.as_ref().and_then(|tls| tls.acme.as_ref());
    let checks = [
        ("log.level", log::check(&config.log.level).err()),
        (
            "rtc.node_ip",
            Addresses::of(config).check().err().map(|error| error.to_string()),
        ),
        ("tls.certificates", certificates.as_ref().err().cloned()),
        ("tls.acme.root", acme.and_then(|acme| acme::check(acme).err())),
        (
            "cluster",
            config
                .cluster
                .as_ref()
                .and_then(|cluster| ClusterTls::load(&cluster.files).err()),
        ),
        ("sip.interfaces", sip.and_then(|sip| sip::check(sip).err())),
    ];
    let found = checks.into_iter().filter_map(|(key, error)| Some((key, error?)));
    found.map(|(key, error)| Problem::with(key, error, arguments)).collect()
}

/// The capabilities that the configuration can use.
fn capabilities(config: &Config) -> Vec<&'static str> {
    let dataplane = &config.rtc.dataplane;
    let control = config.sip.iter().flat_map(|sip| sip.control_addresses());
    let https = config.tls.as_ref().map(|tls| tls.port);
    let mut ports = [config.port, dataplane.ports.first()]
        .into_iter()
        .chain(https)
        .chain(dataplane.tcp.as_ref().map(|tcp| tcp.port))
        .chain(config.turn.as_ref().and_then(|turn| turn.port))
        .chain(control.map(|address| address.port()));
    let forwards_in_kernel = match dataplane.offload {
        Offload::Ebpf => true,
        Offload::Auto => config.sip.is_some(),
        Offload::None | Offload::P4 => false,
    };
    let has_rings = dataplane.base == Base::Afxdp;
    let wanted = [
        ("CAP_NET_BIND_SERVICE", ports.any(|port| port < UNPRIVILEGED)),
        ("CAP_NET_ADMIN", has_rings || forwards_in_kernel),
        ("CAP_BPF", has_rings || forwards_in_kernel),
        ("CAP_PERFMON", forwards_in_kernel),
        ("CAP_NET_RAW", has_rings),
        ("CAP_IPC_LOCK", has_rings),
    ];
    let wanted = wanted.into_iter().filter(|(_, is_wanted)| *is_wanted);
    wanted.map(|(name, _)| name).collect()
}

/// The report as lines.
fn text(report: &Report) -> String {
    let mut text: String = report.errors.iter().map(line).collect();
    for warning in &report.warnings {
        text += &format!("warning: {warning}\n");
    }
    if report.errors.is_empty() {
        text += "the configuration is good\n";
        if !report.capabilities.is_empty() {
            text += &format!("it can use the capabilities {}\n", report.capabilities.join(" "));
        }
    }
    text
}

/// An error as a line: its place, its setting, and how to mend it.
fn line(problem: &Problem) -> String {
    let line = problem.line.map(|line| line.to_string());
    let place = [problem.file.as_deref(), line.as_deref()].into_iter().flatten();
    let place = place.collect::<Vec<&str>>().join(":");
    let parts = [
        Some(place.as_str()).filter(|place| !place.is_empty()),
        problem.key.as_deref(),
    ];
    let parts = parts.into_iter().flatten().chain([problem.message.as_str()]);
    parts.collect::<Vec<&str>>().join(": ") + "\n"
}
