//! The features of the kernel for AF_XDP rings and for forwarding by eBPF, and the privileges for
//! them.

use std::fs;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::finding::Finding;
use super::process::ProcessFiles;
use crate::config::Config;
use crate::dataplane::{Base, Offload};
use crate::os::port_owner::Process;

const RINGS: &str = "AF_XDP rings";
const EBPF: &str = "eBPF";
const CAPABILITIES: &str = "capabilities";

/// The oldest kernels: for AF_XDP rings, for relays of calls, and for copies of rooms.
const RINGS_SINCE: Version = Version(5, 9);
const RELAYS_SINCE: Version = Version(5, 11);
const ROOMS_SINCE: Version = Version(6, 6);

/// A version of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32);

impl Version {
    /// That of a release such as `6.1.0-28-amd64`.
    fn of(release: &str) -> Option<Self> {
        let mut numbers = release.split(|character: char| !character.is_ascii_digit());
        Some(Version(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

/// Whether the kernel gives sockets of AF_XDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sockets {
    Available,
    /// It has them, and this process lacks CAP_NET_RAW, or the sandbox of the service forbids them.
    Forbidden,
    Absent,
}

pub(super) fn check(
    config: Option<&Config>,
    capabilities: &[&'static str],
    server: Option<&Process>,
    findings: &mut Vec<Finding>,
) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let version = Version::of(release).unwrap_or(Version(0, 0));
    let dataplane = config.map(|config| &config.rtc.dataplane);
    let wants_rings = dataplane.is_some_and(|dataplane| dataplane.base == Base::Afxdp);
    let has_calls = config.is_some_and(|config| config.sip.is_some());
    let wants_ebpf = dataplane.is_some_and(|dataplane| match dataplane.offload {
        Offload::Ebpf => true,
        Offload::Auto => has_calls,
        Offload::None | Offload::P4 => false,
    });
    findings.push(rings(release, version, sockets(), wants_rings));
    findings.push(ebpf(release, version, wants_ebpf));
    let outlives = |config: &&Config| {
        let keeps_calls = config.sip.as_ref().is_some_and(|sip| sip.state.is_some());
        config.rtc.dataplane.offload == Offload::Ebpf || keeps_calls
    };
    if let Some(config) = config.filter(outlives).filter(|_| wants_ebpf) {
        findings.extend(pins(&config.rtc.dataplane.ebpf.pins));
    }
    if let Some(dataplane) = dataplane.filter(|_| wants_ebpf) {
        findings.extend(interfaces(&dataplane.ebpf.interfaces, "rtc.ebpf.interfaces"));
    }
    if let Some(dataplane) = dataplane.filter(|_| wants_rings) {
        findings.extend(interfaces(&dataplane.afxdp.interfaces, "rtc.afxdp.interfaces"));
    }
    findings.extend(privileges(capabilities, server));
}

/// Asks for a socket, which is closed at once and bound to nothing.
fn sockets() -> Sockets {
    match socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None) {
        Ok(_) => Sockets::Available,
        Err(Errno::PERM | Errno::ACCESS) => Sockets::Forbidden,
        Err(_) => Sockets::Absent,
    }
}

fn rings(release: &str, version: Version, sockets: Sockets, are_wanted: bool) -> Finding {
    let message = match sockets {
        Sockets::Absent => format!("Linux {release} has none: it is built without CONFIG_XDP_SOCKETS"),
        _ if version < RINGS_SINCE => format!("Linux {release} is older than 5.9, which they need"),
        Sockets::Available => return Finding::ok(RINGS, format!("Linux {release} has them")),
        Sockets::Forbidden => {
            return Finding::ok(
                RINGS,
                format!("Linux {release} has them, for processes with CAP_NET_RAW"),
            );
        }
    };
    match are_wanted {
        true => Finding::warning(
            RINGS,
            message,
            "boot another kernel, or leave out `rtc.dataplane`: packets go through sockets",
        ),
        false => Finding::info(RINGS, message + ", and the configuration asks for none"),
    }
}

fn ebpf(release: &str, version: Version, is_wanted: bool) -> Finding {
    match version {
        _ if version < RELAYS_SINCE && is_wanted => Finding::warning(
            EBPF,
            format!("Linux {release} is older than 5.11, which relays in the kernel need"),
            "boot a newer kernel, or set `rtc.offload: none`: calls are relayed by sockets",
        ),
        _ if version < RELAYS_SINCE => Finding::info(EBPF, format!("Linux {release} is too old for relays of calls")),
        _ if version < ROOMS_SINCE => Finding::ok(
            EBPF,
            format!("Linux {release} can relay calls; copies of rooms need 6.6"),
        ),
        _ => Finding::ok(EBPF, format!("Linux {release} can relay calls and copy for rooms")),
    }
}

/// Whether state can outlive the process in this folder.
fn pins(folder: &Path) -> Option<Finding> {
    if folder.as_os_str().is_empty() {
        return None;
    }
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    Some(match is_in_bpf(&mounts, folder) {
        true => Finding::ok(EBPF, format!("{} is in a BPF file system", folder.display())),
        false => Finding::warning(
            EBPF,
            format!(
                "{} is in no BPF file system: forwarding in the kernel ends with the process",
                folder.display()
            ),
            "mount -t bpf bpf /sys/fs/bpf, or set `rtc.ebpf.pins` to an empty path",
        ),
    })
}

fn is_in_bpf(mounts: &str, folder: &Path) -> bool {
    mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next(), fields.next());
        kind == Some("bpf") && point.is_some_and(|point| folder.starts_with(point))
    })
}

/// The interfaces of a setting, with their drivers.
fn interfaces(names: &[String], setting: &str) -> Vec<Finding> {
    let check = if setting.contains("ebpf") { EBPF } else { RINGS };
    let found = names.iter().map(|name| {
        let folder = Path::new("/sys/class/net").join(name);
        let is_name = !name.contains('/') && !name.starts_with('.');
        if !is_name || !folder.exists() {
            let message = format!("this machine has no interface {name}");
            return Finding::warning(
                check,
                message,
                format!("name others in `{setting}`; ip link lists them"),
            );
        }
        let driver = fs::read_link(folder.join("device/driver")).ok();
        let driver = driver
            .as_deref()
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy());
        Finding::ok(
            check,
            match driver {
                Some(driver) => format!("{name} has the driver {driver}"),
                None => format!("{name} is a virtual interface"),
            },
        )
    });
    found.collect()
}

/// Whether the server has the capabilities that the configuration can use.
fn privileges(wanted: &[&'static str], server: Option<&Process>) -> Option<Finding> {
    if wanted.is_empty() {
        return None;
    }
    let all = wanted.join(" ");
    let Some(server) = server else {
        return Some(Finding::info(
            CAPABILITIES,
            format!("the configuration can use {all}; whether weir.service has them is seen while it runs"),
        ));
    };
    let has = ProcessFiles::of(server.id).capabilities()?;
    let missing: Vec<&str> = wanted.iter().copied().filter(|name| !has.has(name)).collect();
    Some(match missing.is_empty() {
        true => Finding::ok(CAPABILITIES, format!("{server} has {all}")),
        false => Finding::warning(
            CAPABILITIES,
            format!("{server} lacks {}, which the configuration can use", missing.join(" ")),
            "copy kernel.conf, afxdp.conf or low-ports.conf from /usr/share/doc/weir/examples to \
             /etc/systemd/system/weir.service.d/, then systemctl daemon-reload and restart weir",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    #[test]
    fn doctor_compares_versions_of_the_kernel() {
        assert_eq!(Version::of("6.1.0-28-amd64"), Some(Version(6, 1)));
        assert_eq!(Version::of("5.15"), Some(Version(5, 15)));
        assert_eq!(Version::of("rolling"), None);
        assert!(Version(5, 15) < Version(6, 1) && Version(5, 9) < Version(5, 11));
        let rings = |version, sockets, are_wanted| rings("x", version, sockets, are_wanted).severity;
        assert_eq!(rings(Version(6, 1), Sockets::Available, true), Severity::Ok);
        assert_eq!(rings(Version(6, 1), Sockets::Forbidden, true), Severity::Ok);
        assert_eq!(rings(Version(6, 1), Sockets::Absent, true), Severity::Warning);
        assert_eq!(rings(Version(5, 4), Sockets::Available, true), Severity::Warning);
        assert_eq!(rings(Version(5, 4), Sockets::Absent, false), Severity::Info);
        let ebpf = |version, is_wanted| ebpf("x", version, is_wanted).severity;
        assert_eq!(ebpf(Version(5, 10), true), Severity::Warning);
        assert_eq!(ebpf(Version(5, 10), false), Severity::Info);
        assert_eq!(ebpf(Version(6, 6), true), Severity::Ok);
    }

    #[test]
    fn doctor_finds_file_systems_and_interfaces() {
        let mounts = "proc /proc proc rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\n";
        assert!(is_in_bpf(mounts, Path::new("/sys/fs/bpf/weir")));
        assert!(!is_in_bpf(mounts, Path::new("/sys/fs/bpfx")));
        assert!(!is_in_bpf(mounts, Path::new("/proc")));
        let names = ["lo", "no-such-link", "../net/lo"].map(str::to_owned);
        let severities: Vec<Severity> = interfaces(&names, "rtc.afxdp.interfaces")
            .iter()
            .map(|finding| finding.severity)
            .collect();
        assert_eq!(severities, [Severity::Ok, Severity::Warning, Severity::Warning]);
    }
}
