//! Open files, socket buffers, and the table of a firewall that tracks connections.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use backend_udp::UdpConfig;
use socket2::{Domain, Protocol, Socket, Type};

use super::finding::Finding;
use super::process::ProcessFiles;
use crate::config::Config;
use crate::os::port_owner::Process;

/// Files for everything that is neither a connection nor a port of a call.
const FILES_APART: u64 = 1_024;

/// Connections of media over TCP that a server takes.
const MEDIA_CONNECTIONS: u64 = 8_192;

/// The share of the table of tracked connections from which on it is nearly full, in percent.
const TRACKED_PERCENT: u64 = 80;

pub(super) fn check(config: Option<&Config>, server: Option<&Process>, findings: &mut Vec<Finding>) {
    let process = server.map_or(ProcessFiles::own(), |server| ProcessFiles::of(server.id));
    let of = server.map_or_else(|| "this shell".to_owned(), Process::to_string);
    if let Some(max) = process.open_files_max() {
        findings.push(open_files(max, config.map(files_wanted), &of));
    }
    let may_force = process.capabilities().is_some_and(|own| own.has("CAP_NET_ADMIN"));
    findings.extend(buffers(server.is_some() && may_force));
    findings.extend(tracked());
}

/// How many files a server may have open with this configuration.
fn files_wanted(config: &Config) -> u64 {
    let calls = config.sip.iter().flat_map(|sip| &sip.interfaces);
    let ports: usize = calls.map(|interface| interface.ports.0.len()).sum();
    let connections = u64::try_from(config.limits.connections + ports).unwrap_or(u64::MAX);
    let media = config.rtc.dataplane.tcp.map_or(0, |_| MEDIA_CONNECTIONS);
    connections.saturating_add(media + FILES_APART)
}

/// The limit of open files of a process beside what is wanted.
fn open_files(max: Option<u64>, wanted: Option<u64>, of: &str) -> Finding {
    const CHECK: &str = "open files";
    let wanted = wanted.unwrap_or(FILES_APART);
    match max {
        Some(max) if max < wanted => Finding::warning(
            CHECK,
            format!("{of} may have {max} open, and the limits of the configuration allow {wanted}"),
            "set LimitNOFILE=1048576 in weir.service (systemctl edit weir), or ulimit -Hn 1048576 before a start by hand",
        ),
        Some(max) => Finding::ok(CHECK, format!("{of} may have {max} open, {wanted} are enough")),
        None => Finding::ok(CHECK, format!("{of} may have any number open")),
    }
}

/// The largest buffers that a socket without a privilege gets here.
///
/// Errors: `None` if there can be no socket.
fn largest_buffers(wanted: &UdpConfig) -> Option<[usize; 2]> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).ok()?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).ok()?;
    socket.set_recv_buffer_size(wanted.receive_buffer).ok()?;
    socket.set_send_buffer_size(wanted.send_buffer).ok()?;
    // The kernel doubles what it is asked for, for its own use.
    Some([socket.recv_buffer_size().ok()? / 2, socket.send_buffer_size().ok()? / 2])
}

/// The buffers that workers get beside what they ask for.
fn buffers(may_force: bool) -> Vec<Finding> {
    let wanted = UdpConfig::default();
    let Some([receive, send]) = largest_buffers(&wanted) else {
        return Vec::new();
    };
    let of = |name: &str, direction: &str, got, wanted| buffer(name, direction, got, wanted, may_force);
    vec![
        of("rmem_max", "arriving", receive, wanted.receive_buffer),
        of("wmem_max", "leaving", send, wanted.send_buffer),
    ]
}

fn buffer(name: &str, direction: &str, got: usize, wanted: usize, may_force: bool) -> Finding {
    const CHECK: &str = "socket buffers";
    let (kib, wanted_kib) = (got >> 10, wanted >> 10);
    let message = format!("{kib} KiB for {direction} packets of a socket, of {wanted_kib} KiB that a worker asks for");
    match got < wanted && !may_force {
        true => Finding::warning(
            CHECK,
            message,
            format!(
                "sysctl -w net.core.{name}={wanted}, and for the next boot a file in /etc/sysctl.d with this setting; \
                 bursts are lost otherwise"
            ),
        ),
        false if got < wanted => Finding::ok(CHECK, message + "; the server has CAP_NET_ADMIN and takes them all"),
        false => Finding::ok(CHECK, message),
    }
}

/// How full the table is of a firewall that tracks connections.
fn tracked() -> Option<Finding> {
    let read = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/sys/net/netfilter/nf_conntrack_{name}")).ok()?;
        text.trim().parse().ok()
    };
    Some(table(read("count")?, read("max")?))
}

fn table(count: u64, max: u64) -> Finding {
    const CHECK: &str = "firewall";
    let message = format!("its table tracks {count} connections of {max} at most");
    match count.saturating_mul(100) >= max.saturating_mul(TRACKED_PERCENT) {
        true => Finding::warning(
            CHECK,
            message,
            "exempt the UDP ports of media by notrack (docs/operate/operations.md, Ports and firewall), or raise \
             net.netfilter.nf_conntrack_max: packets are dropped when it is full",
        ),
        false => Finding::ok(CHECK, message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    #[test]
    fn doctor_compares_the_limit_of_files_with_the_configuration() {
        let severity = |max, wanted| open_files(max, wanted, "weir (process 1)").severity;
        assert_eq!(severity(Some(4_096), Some(25_600)), Severity::Warning);
        assert_eq!(severity(Some(25_600), Some(25_600)), Severity::Ok);
        assert_eq!(severity(None, Some(u64::MAX)), Severity::Ok);
        assert_eq!(severity(Some(1_024), None), Severity::Ok);
    }

    #[test]
    fn doctor_names_the_setting_of_a_small_buffer() {
        let small = buffer("rmem_max", "arriving", 212_992, 8 << 20, false);
        assert_eq!(small.severity, Severity::Warning);
        assert!(small.message.starts_with("208 KiB") && small.message.contains("8192 KiB"));
        assert!(small.cure.unwrap().starts_with("sysctl -w net.core.rmem_max=8388608,"));
        for (got, may_force) in [(8 << 20, false), (212_992, true)] {
            assert_eq!(
                buffer("rmem_max", "arriving", got, 8 << 20, may_force).severity,
                Severity::Ok
            );
        }
        assert_eq!(buffers(false).len(), 2);
    }

    #[test]
    fn doctor_warns_before_the_table_of_a_firewall_is_full() {
        assert_eq!(table(79, 100).severity, Severity::Ok);
        assert_eq!(table(80, 100).severity, Severity::Warning);
        assert_eq!(table(0, u64::MAX).severity, Severity::Ok);
    }
}
