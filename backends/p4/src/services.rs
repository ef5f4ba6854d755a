//! The local addresses and ports whose packets the switch looks at. Packets to others are routed.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::P4Config;
use crate::address::pair;
use crate::entry::{Key, Table, Value};
use crate::table_writer::TableWriter;

/// Each with the number of its users. The host gets its copies of their packets with the hardware
/// addresses of the host's port and of the host.
#[derive(Debug, Default)]
pub(crate) struct Services(BTreeMap<SocketAddr, usize>);

impl Services {
    /// Another entry is about packets to an address.
    pub(crate) fn hold(&mut self, writer: &mut TableWriter, config: &P4Config, at: SocketAddr) {
        let users = self.0.entry(at).or_default();
        *users += 1;
        if *users == 1
            && let Some(hop) = config.next_hop(at.ip())
        {
            writer.want(key(at), Value::Data(vec![hop.src_mac.bits(), hop.dst_mac.bits()]));
        }
    }

    /// One of them is gone.
    pub(crate) fn release(&mut self, writer: &mut TableWriter, at: SocketAddr) {
        let Some(users) = self.0.get_mut(&at) else { return };
        *users -= 1;
        if *users == 0 {
            self.0.remove(&at);
            writer.unwant(&key(at));
        }
    }
}

/// The entry of an address.
pub(crate) fn key(at: SocketAddr) -> Key {
    Key::Entry(Table::Service, pair(at).to_vec())
}
