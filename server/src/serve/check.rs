//! `weir check-config`: whether a server would start with a configuration.

use std::error::Error;
use std::io::{self, Write};

use crate::cli::Role;
use crate::cluster::secrets;
use crate::cluster::tls::ClusterTls;
use crate::config::{Cluster, Config, Problem, Report};
use crate::dataplane::{Base, Offload};
use crate::media::addresses::Addresses;
use crate::tls::{acme, files};
use crate::{cli, log, roles, sip};

/// The lowest port that a process may open without a privilege.
const UNPRIVILEGED: u16 = 1_024;

/// Checks, and prints the report.
///
/// Errors: the configuration has any.
pub(crate) fn run(mut arguments: cli::CheckConfig) -> Result<(), Box<dyn Error>> {
    let (mut report, config) = examine(&mut arguments.serve, arguments.role);
    let certificates = config.as_ref().map(certificates);
    report
        .warnings
        .extend(certificates.and_then(|certificates| certificates.ok().flatten()));
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

/// The report about what a server of this role would read, and the configuration if it can be read.
/// Certificates that are not valid at this time are left to the caller.
pub(crate) fn examine(serve: &mut cli::Serve, role: Option<Role>) -> (Report, Option<Config>) {
    serve.is_keyless = role == Some(Role::Media);
    let (mut report, config) = Report::of(serve);
    if let Some(config) = &config {
        report.errors = problems(config, &certificates(config), serve);
        let error = role.and_then(|role| cluster(config, role).err());
        let of_role = error.map(|(key, error)| Problem::with(key, error, serve));
        report.errors.extend(of_role);
        report.capabilities = capabilities(config);
    }
    (report, config)
}

/// Reads the certificates in files as a server does when it starts. `Ok` has the reason why one is
/// not valid at this time.
///
/// Errors: a file cannot be used.
fn certificates(config: &Config) -> Result<Option<String>, String> {
    let files = config.tls.iter().flat_map(|tls| &tls.certificates);
    files::check(&files.cloned().collect::<Vec<_>>())
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

/// The cluster in which a machine has a role.
///
/// Errors: a setting, and why the machine cannot have that role.
pub(super) fn cluster(config: &Config, role: Role) -> Result<&Cluster, (&'static str, String)> {
    let command = match role {
        Role::Controller => "weir controller",
        Role::Media => "weir media",
        Role::Sip => "a relay of SIP calls in a cluster",
    };
    let Some(cluster) = &config.cluster else {
        let error =
            format!("`{command}` needs a section `cluster:` in the configuration: it has the way to the others");
        return Err(("cluster", error));
    };
    match cluster.store {
        stores::Config::Memory => Err((
            "cluster.store",
            format!(
                "`{command}` needs a store that all machines reach: name `etcd` or `redis` in `store:` of `cluster:`"
            ),
        )),
        stores::Config::Etcd(_) | stores::Config::Redis(_) => Ok(cluster),
    }
}

/// Errors beyond those of reading: `weir serve` finds them while it starts.
fn problems(config: &Config, certificates: &Result<Option<String>, String>, arguments: &cli::Serve) -> Vec<Problem> {
    let sip = config.sip.as_ref();
    let cluster = config.cluster.as_ref();
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
            cluster.and_then(|cluster| ClusterTls::load(&cluster.files).err()),
        ),
        (
            "cluster.secrets",
            // A media node has none.
            cluster
                .filter(|cluster| cluster.secrets.is_some())
                .and_then(|cluster| secrets::load(cluster.secrets.as_deref()).err()),
        ),
        (
            "cluster.certificate",
            cluster.filter(|_| sip.is_some()).and_then(|cluster| {
                // One that cannot be read is an error above.
                let tls = ClusterTls::load(&cluster.files).ok()?;
                roles::sip::check_role(&tls).err()
            }),
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
pub(crate) fn line(problem: &Problem) -> String {
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
