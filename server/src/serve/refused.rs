//! Ports that the system refuses, and the cure.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// The lowest port that a process may open without a privilege.
const UNPRIVILEGED: u16 = 1_024;

const LOW_PORT: &str = "ports below 1024 need CAP_NET_BIND_SERVICE: for weir.service copy \
    /usr/share/doc/weir/examples/low-ports.conf to /etc/systemd/system/weir.service.d/, then systemctl daemon-reload";

/// Why a TCP port cannot be listened on, as a sentence for the operator.
pub(super) fn explain(address: SocketAddr, error: &io::Error) -> String {
    let port = address.port();
    let cure = match error.kind() {
        io::ErrorKind::AddrInUse => {
            let by = owner(port).map(|owner| format!(" by {owner}")).unwrap_or_default();
            format!("the port is in use{by}: end that, or set another port")
        }
        io::ErrorKind::PermissionDenied if port < UNPRIVILEGED => LOW_PORT.to_owned(),
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address: `bind` names those to listen on".to_owned()
        }
        _ => return format!("cannot listen on {address}: {error}"),
    };
    format!("cannot listen on {address}: {error}: {cure}")
}

/// The process that listens on a TCP port, as far as this one may see it.
fn owner(port: u16) -> Option<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inode = tables.iter().find_map(|table| inode_of(table, port))?;
    let socket = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let is_number = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok())
    };
    let mut processes = processes.map(|process| process.path()).filter(is_number);
    let found = processes.find(|process| {
        let open = fs::read_dir(process.join("fd"))
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        let mut targets = open.filter_map(|file| fs::read_link(file.path()).ok());
        targets.any(|target| target.to_str() == Some(&socket))
    })?;
    let name = fs::read_to_string(found.join("comm")).ok()?;
    Some(format!("{} (process {})", name.trim(), found.file_name()?.to_str()?))
}

/// The inode of the socket that listens on this port, in a table such as `/proc/net/tcp`.
fn inode_of(table: &str, port: u16) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(local, 16) == Ok(port) && *fields.get(3)? == LISTENING;
        if is_it { fields.get(9)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_in_use_names_the_program_that_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let error = TcpListener::bind(address).unwrap_err();
        let text = explain(address, &error);
        assert!(text.contains(&format!("(process {})", std::process::id())), "{text}");
    }

    #[test]
    fn each_refusal_has_a_cure() {
        for (port, kind, cure) in [
            (443, io::ErrorKind::PermissionDenied, "low-ports.conf"),
            (7880, io::ErrorKind::AddrNotAvailable, "`bind`"),
            (7880, io::ErrorKind::PermissionDenied, "permission denied"),
        ] {
            let text = explain(([192, 0, 2, 1], port).into(), &kind.into());
            assert!(text.contains(cure), "{text}");
        }
    }
}
