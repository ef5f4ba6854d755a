//! Ports, sockets and files that the system refuses, and the cure.

use std::fs;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::port_owner::{self, Transport};

/// Remembers the outcome of something that is tried again and again. Returns its error, for the
/// log, unless the attempt before had the same.
pub(crate) fn new_error(last: &mut Option<String>, error: Option<String>) -> Option<&str> {
    let is_new = *last != error;
    *last = error;
    last.as_deref().filter(|_| is_new)
}

/// The lowest port that a process may open without a privilege.
const UNPRIVILEGED: u16 = 1_024;

/// The cure for a port that a process may not open.
pub(crate) const LOW_PORT: &str = "ports below 1024 need CAP_NET_BIND_SERVICE: for weir.service copy \
    /usr/share/doc/weir/examples/low-ports.conf to /etc/systemd/system/weir.service.d/, then systemctl daemon-reload";

/// Why a port that this setting names cannot be had, as a sentence for the operator.
pub(crate) fn port(transport: Transport, address: SocketAddr, setting: &str, error: &io::Error) -> String {
    let number = address.port();
    let cure = match error.kind() {
        io::ErrorKind::AddrInUse => {
            let by = port_owner::of_port(transport, address);
            let by = by.map(|owner| format!(" by {owner}")).unwrap_or_default();
            format!(": the port is in use{by}: end that, or set another port in `{setting}`")
        }
        io::ErrorKind::PermissionDenied if number < UNPRIVILEGED => format!(": {LOW_PORT}"),
        io::ErrorKind::PermissionDenied => {
            format!(": a policy of this machine forbids the port: permit it, or set another port in `{setting}`")
        }
        io::ErrorKind::AddrNotAvailable => {
            let named = if setting.starts_with("sip") { setting } else { "bind" };
            format!(": this machine has no such address: `{named}` names those to listen on")
        }
        _ => String::new(),
    };
    format!("cannot listen on {} {address}: {error}{cure}", transport.name())
}

/// The first of these ports that cannot be had, as a sentence for the operator. An address whose
/// family this machine lacks is passed over.
pub(crate) fn first_of<'a>(ports: impl IntoIterator<Item = (Transport, SocketAddr, &'a str)>) -> Option<String> {
    ports.into_iter().find_map(|(transport, address, setting)| {
        let error = try_out(transport, address).err()?;
        let is_absent = address.is_ipv6() && UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err();
        (!is_absent).then(|| port(transport, address, setting, &error))
    })
}

fn try_out(transport: Transport, address: SocketAddr) -> io::Result<()> {
    match transport {
        Transport::Udp => UdpSocket::bind(address).map(drop),
        Transport::Tcp => TcpListener::bind(address).map(drop),
    }
}

/// Why a Unix socket cannot be had, as a sentence for the operator.
pub(crate) fn unix_socket(path: &Path, setting: &str, error: &io::Error) -> String {
    let cure = match error.kind() {
        io::ErrorKind::AddrInUse => {
            let by = port_owner::of_unix_socket(path).map(|owner| format!(" by {owner}"));
            match path.exists() && by.is_none() && !is_socket(path) {
                true => ": a file of this name is in the way: remove it, or name another path".to_owned(),
                false => format!(
                    ": the socket is in use{}: end that, or name another path in `{setting}`",
                    by.unwrap_or_default()
                ),
            }
        }
        io::ErrorKind::InvalidInput => format!(": `{setting}` names a path of at most 107 bytes"),
        _ => in_folder(path.parent().unwrap_or(path), setting, error),
    };
    format!("cannot listen at {}: {error}{cure}", path.display())
}

/// Why a file cannot be read, as a sentence for the operator.
pub(crate) fn file(path: &Path, error: &io::Error) -> String {
    let name = path.display();
    let cure = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!(": give the user that runs Weir access (chown root:weir {name}; chmod 640 {name})")
        }
        io::ErrorKind::NotFound => ": correct the path, or put the file there".to_owned(),
        io::ErrorKind::IsADirectory => ": name a file".to_owned(),
        _ => String::new(),
    };
    format!("cannot read {name}: {error}{cure}")
}

/// Why a folder that this setting names cannot be written, as a sentence for the operator.
pub(crate) fn folder(path: &Path, setting: &str, error: &io::Error) -> String {
    format!(
        "cannot write to the folder {}: {error}{}",
        path.display(),
        in_folder(path, setting, error)
    )
}

/// The cure for a folder that refuses a file.
fn in_folder(path: &Path, setting: &str, error: &io::Error) -> String {
    let name = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!(
                ": there is no folder {name}: make it (install -d -o weir -g weir -m 750 {name}), or set another path in `{setting}`"
            )
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            let owner = fs::metadata(path).map(|metadata| format!(", which user {} has", metadata.uid()));
            format!(
                ": this process may not write to {name}{}: give it to the user that runs Weir (chown weir:weir {name}; \
                 for weir.service a path outside of /var/lib/weir and /run/weir also needs ReadWritePaths={name}), or \
                 set another path in `{setting}`",
                owner.unwrap_or_default()
            )
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            format!(": {name} is no folder: set another path in `{setting}`")
        }
        io::ErrorKind::StorageFull => ": the disk is full: make room".to_owned(),
        _ => String::new(),
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn named(text: &str) -> bool {
        text.contains(&format!("(process {})", std::process::id()))
    }

    #[test]
    fn a_port_in_use_names_the_program_that_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let text = first_of([(Transport::Tcp, address, "port")]).unwrap();
        assert!(named(&text) && text.contains("`port`"), "{text}");
        for own in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(socket) = UdpSocket::bind(own) else { continue };
            let address = socket.local_addr().unwrap();
            let text = first_of([(Transport::Udp, address, "rtc.port")]).unwrap();
            assert!(
                named(&text) && text.contains("UDP") && text.contains("`rtc.port`"),
                "{text}"
            );
        }
        assert_eq!(
            first_of([(Transport::Udp, ([127, 0, 0, 1], 0).into(), "rtc.port")]),
            None
        );
    }

    #[test]
    fn each_refusal_of_a_port_has_a_cure() {
        for (number, kind, setting, cure) in [
            (443, io::ErrorKind::PermissionDenied, "tls.port", "low-ports.conf"),
            (7880, io::ErrorKind::AddrNotAvailable, "port", "`bind`"),
            (
                2223,
                io::ErrorKind::AddrNotAvailable,
                "sip.ng.listen",
                "`sip.ng.listen`",
            ),
            (7880, io::ErrorKind::PermissionDenied, "port", "policy"),
            (7880, io::ErrorKind::AddrInUse, "turn.port", "`turn.port`"),
        ] {
            let text = port(Transport::Tcp, ([192, 0, 2, 1], number).into(), setting, &kind.into());
            assert!(text.contains(cure), "{text}");
        }
    }

    #[test]
    fn each_refusal_of_a_path_has_a_cure() {
        let folder_of_test = std::env::temp_dir().join(format!("weir-refused-{}", std::process::id()));
        fs::create_dir_all(&folder_of_test).unwrap();
        let path = folder_of_test.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let _waiting = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let error = UnixListener::bind(&path).unwrap_err();
        let text = unix_socket(&path, "sip.rtpproxy.unix", &error);
        assert!(named(&text), "{text}");
        drop(listener);
        let absent = Path::new("/nonexistent/weir/socket");
        let error = UnixListener::bind(absent).unwrap_err();
        let text = unix_socket(absent, "sip.rtpproxy.unix", &error);
        assert!(
            text.contains("install -d") && text.contains("`sip.rtpproxy.unix`"),
            "{text}"
        );
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(folder(&folder_of_test, "sip.state", &denied).contains("ReadWritePaths="));
        assert!(file(&path, &denied).contains("chmod 640"));
        assert!(file(&path, &io::ErrorKind::NotFound.into()).contains("correct the path"));
        fs::remove_dir_all(&folder_of_test).unwrap();
    }
}
