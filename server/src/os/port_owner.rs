//! The processes that have ports and Unix sockets, as the tables of the kernel name them.
//!
//! Nothing is opened: a port that is looked at stays free for the program that starts meanwhile.

use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Udp,
    Tcp,
}

/// A process of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// Its number, the PID.
    pub id: u32,
}

/// The owner of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PortOwner {
    /// Nobody: it is free.
    Nobody,
    /// A process that this one may not see, of another user or another container.
    Hidden,
    /// A process that this one may see.
    Process(Process),
}

impl Transport {
    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::Udp => "UDP",
            Transport::Tcp => "TCP",
        }
    }

    /// The tables of the kernel's sockets, and the state of one that has a port for all peers.
    fn tables(self) -> ([&'static str; 2], &'static str) {
        match self {
            Transport::Udp => (["/proc/net/udp", "/proc/net/udp6"], "07"),
            Transport::Tcp => (["/proc/net/tcp", "/proc/net/tcp6"], "0A"),
        }
    }
}

impl PortOwner {
    /// The owner of a port at an address; at an unspecified one, of the port at any address.
    pub(crate) fn of(transport: Transport, address: SocketAddr) -> Self {
        let (tables, state) = transport.tables();
        let tables = tables.map(|path| fs::read_to_string(path).unwrap_or_default());
        match tables.iter().find_map(|table| inode_of(table, address, state)) {
            None => PortOwner::Nobody,
            Some(inode) => process_of(inode).map_or(PortOwner::Hidden, PortOwner::Process),
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.id)
    }
}

/// The process that has a port, as far as this one may see it.
pub(crate) fn of_port(transport: Transport, address: SocketAddr) -> Option<Process> {
    match PortOwner::of(transport, address) {
        PortOwner::Process(process) => Some(process),
        PortOwner::Nobody | PortOwner::Hidden => None,
    }
}

/// The process that listens at a Unix socket.
pub(crate) fn of_unix_socket(path: &Path) -> Option<Process> {
    let table = fs::read_to_string("/proc/net/unix").ok()?;
    let path = path.to_str()?;
    // Connections that wait there have its path, too, and no process.
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(6);
        let inode = fields.next()?.parse().ok()?;
        if fields.next()? == path {
            process_of(inode)
        } else {
            None
        }
    })
}

/// The process that has a socket. A service manager keeps sockets of a service that runs; it is
/// process 1, and the service is named.
fn process_of(inode: u64) -> Option<Process> {
    let socket = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let processes = processes.filter_map(|process| {
        let path = process.path();
        let id: u32 = path.file_name()?.to_str()?.parse().ok()?;
        has_open(&path, &socket).then_some((path, id))
    });
    let (path, id) = processes.max_by_key(|(_, id)| *id)?;
    let name = fs::read_to_string(path.join("comm")).ok()?.trim().to_owned();
    Some(Process { name, id })
}

fn has_open(process: &Path, socket: &str) -> bool {
    let open = fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let mut targets = open.filter_map(|file| fs::read_link(file.path()).ok());
    targets.any(|target: PathBuf| target.to_str() == Some(socket))
}

/// The inode of the socket in this state that is in the way of a port, in a table such as
/// `/proc/net/tcp`.
fn inode_of(table: &str, wanted: SocketAddr, state: &str) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (address, port) = fields.get(1)?.rsplit_once(':')?;
        let address = address_of(address)?;
        let is_in_the_way = address.is_unspecified() || wanted.ip().is_unspecified() || address == wanted.ip();
        let is_it = u16::from_str_radix(port, 16) == Ok(wanted.port()) && *fields.get(3)? == state && is_in_the_way;
        if is_it { fields.get(9)?.parse().ok() } else { None }
    })
}

/// An address in hexadecimal digits, each group of four bytes in the machine's order.
fn address_of(digits: &str) -> Option<IpAddr> {
    let group = |at: usize| Some(u32::from_str_radix(digits.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    match digits.len() {
        8 => Some(Ipv4Addr::from(group(0)?).into()),
        32 => {
            let bytes = [group(0)?, group(8)?, group(16)?, group(24)?].concat();
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_of_another_address_is_not_in_the_way() {
        let table = "head\n 0: 0100007F:1EC9 00000000:0000 07 0:0 0:0 0 0 0 77 2\n";
        let inode = |address: [u8; 4]| inode_of(table, (address, 7_881).into(), "07");
        assert_eq!(inode([127, 0, 0, 1]), Some(77));
        assert_eq!(inode([0, 0, 0, 0]), Some(77));
        assert_eq!(inode([127, 0, 0, 2]), None);
        let six = address_of("00000000000000000000000001000000");
        assert_eq!(six, Some(Ipv6Addr::LOCALHOST.into()));
    }
}
