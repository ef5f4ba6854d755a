//! A switch that forwards on its own.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A switch, its program, and what it forwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// The address of its P4Runtime server.
    pub address: SocketAddr,
    /// Its device id there.
    pub device: u64,
    /// The state of the connection.
    pub state: SwitchState,
    /// The way it replicates.
    pub replication: String,
    /// Whether it copies packets of rooms.
    pub copies_rooms: bool,
    /// Its relays.
    pub relays: Forwarded,
    /// Its replicas.
    pub replicas: Forwarded,
    /// Its tables that hold something.
    pub tables: Vec<TableUse>,
}

/// The state of the connection to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SwitchState {
    /// It may be written.
    Connected {
        /// Without a lease it copies no rooms yet.
        has_lease: bool,
    },
    /// The connection begins.
    Connecting {
        /// For how long.
        seconds: u64,
    },
    /// It does not answer.
    Unreachable {
        /// For how long.
        seconds: u64,
    },
    /// Another controller may write it.
    NotPrimary {
        /// For how long.
        seconds: u64,
    },
}

/// Entries of one kind, and the packets they forwarded since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forwarded {
    /// How many there are.
    pub entries: u64,
    /// How many packets.
    pub packets: u64,
}

/// How full a table is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableUse {
    /// Its name in the program.
    pub name: String,
    /// Its entries.
    pub used: u64,
    /// Its size, where the switch has said it.
    pub size: Option<u64>,
}

impl Switch {
    pub(super) fn lines(&self) -> Vec<(String, String)> {
        let Switch {
            address,
            device,
            state,
            replication,
            copies_rooms,
            relays,
            replicas,
            tables,
        } = self;
        let rooms = if *copies_rooms { "copy_and_pass" } else { "none" };
        let tables: Vec<String> = tables.iter().map(ToString::to_string).collect();
        let lines = [
            ("switch", format!("{address} device {device}: {state}")),
            ("switch program", format!("replication {replication}, rooms {rooms}")),
            ("switch forwards", format!("relays {relays}, replicas {replicas}")),
            ("switch tables", tables.join(", ")),
        ];
        lines.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

impl fmt::Display for SwitchState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (why, seconds) = match self {
            SwitchState::Connected { has_lease: true } => return f.write_str("connected"),
            SwitchState::Connected { has_lease: false } => return f.write_str("connected, without a lease"),
            SwitchState::Connecting { seconds } => ("connecting", seconds),
            SwitchState::Unreachable { seconds } => ("unreachable", seconds),
            SwitchState::NotPrimary { seconds } => ("another controller has the mastership,", seconds),
        };
        write!(f, "{why} for {seconds} s")
    }
}

impl fmt::Display for Forwarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} packets)", self.entries, self.packets)
    }
}

impl fmt::Display for TableUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            Some(size) => write!(f, "{} {}/{size}", self.name, self.used),
            None => write!(f, "{} {}", self.name, self.used),
        }
    }
}
