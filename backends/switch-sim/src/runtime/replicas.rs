//! Writes to multicast groups and clone sessions.

use p4runtime::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::v1::replica::PortKind;
use p4runtime::v1::update::Type;
use p4runtime::v1::{self, CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry};
use tonic::Code;

use super::Device;
use super::refusal::{Outcome, invalid, refuse};
use super::values;
use crate::replication::Replica;

/// Numbers of groups and sessions are below it.
const NUMBERS_MAX: u32 = 1 << 15;

/// Output ports are below it.
const PORTS_MAX: u16 = 512;

impl Device {
    pub(super) fn write_replicas(&mut self, kind: Type, entry: &PacketReplicationEngineEntry) -> Outcome<()> {
        match &entry.r#type {
            Some(Engine::MulticastGroupEntry(group)) => self.write_group(kind, group),
            Some(Engine::CloneSessionEntry(session)) => self.write_session(kind, session),
            None => invalid("neither a multicast group nor a clone session"),
        }
    }

    fn write_group(&mut self, kind: Type, entry: &MulticastGroupEntry) -> Outcome<()> {
        let id = entry.multicast_group_id;
        if id == 0 {
            return invalid("0 is not a multicast group");
        }
        if id >= NUMBERS_MAX {
            return refuse(Code::OutOfRange, format!("the multicast group {id}"));
        }
        let what = format!("the multicast group {id}");
        let is_known = self.groups.contains(&id);
        let left = self.replication.groups.get(&id).cloned();
        match self.replicas(kind, &entry.replicas, is_known, left, &what)? {
            Some(replicas) => {
                self.groups.insert(id);
                self.replication.groups.insert(id, replicas);
            }
            None => {
                self.groups.remove(&id);
                self.replication.groups.remove(&id);
            }
        }
        Ok(())
    }

    fn write_session(&mut self, kind: Type, entry: &CloneSessionEntry) -> Outcome<()> {
        let id = match u16::try_from(entry.session_id) {
            Ok(id) if id != 0 && u32::from(id) < NUMBERS_MAX => id,
            _ => return invalid(format!("{} is not a clone session", entry.session_id)),
        };
        if entry.class_of_service != 0 {
            return refuse(Code::Unimplemented, "a class of service");
        }
        if entry.packet_length_bytes != 0 && !self.options.is_lenient {
            return refuse(Code::Unimplemented, "truncated clones: BMv2 sends them whole");
        }
        let what = format!("the clone session {id}");
        let is_known = self.sessions.contains(&id);
        let left = self.replication.sessions.get(&id).cloned();
        match self.replicas(kind, &entry.replicas, is_known, left, &what)? {
            Some(replicas) => {
                self.sessions.insert(id);
                self.replication.sessions.insert(id, replicas);
            }
            None => {
                self.sessions.remove(&id);
                self.replication.sessions.remove(&id);
            }
        }
        Ok(())
    }

    /// The replicas after a write; `None` removes them.
    fn replicas(
        &self,
        kind: Type,
        given: &[v1::Replica],
        is_known: bool,
        held: Option<Vec<Replica>>,
        what: &str,
    ) -> Outcome<Option<Vec<Replica>>> {
        match kind {
            Type::Insert if is_known => refuse(Code::AlreadyExists, format!("{what} exists")),
            Type::Modify | Type::Delete if !is_known => refuse(Code::NotFound, format!("{what} does not exist")),
            Type::Insert if held.is_some() && !self.options.is_lenient => {
                let reason = format!(
                    "{what} is left of an earlier pipeline: packets would be sent twice. Delete \
                     groups before a pipeline is pushed, or restart the switch"
                );
                refuse(Code::AlreadyExists, reason)
            }
            Type::Insert | Type::Modify => {
                let mut replicas = self.read_replicas(given, what)?;
                let before = if is_known { held.as_ref().map_or(0, Vec::len) } else { 0 };
                let after = self.replication.replicas() - before + replicas.len();
                if after > self.options.replicas_max {
                    let code = if self.options.is_lenient {
                        Code::Unknown
                    } else {
                        Code::ResourceExhausted
                    };
                    let max = self.options.replicas_max;
                    return refuse(code, format!("{what}: more than {max} replicas"));
                }
                if !is_known {
                    replicas.extend(held.into_iter().flatten());
                }
                Ok(Some(replicas))
            }
            Type::Delete => Ok(None),
            Type::Unspecified => invalid("the update has no type"),
        }
    }

    /// The replicas of a message, sorted.
    fn read_replicas(&self, given: &[v1::Replica], what: &str) -> Outcome<Vec<Replica>> {
        let mut replicas = Vec::with_capacity(given.len());
        for replica in given {
            if !replica.backup_replicas.is_empty() {
                return refuse(Code::Unimplemented, "backup replicas");
            }
            #[allow(deprecated, reason = "BMv2 and older controllers know only the number")]
            let port = match &replica.port_kind {
                Some(PortKind::Port(bytes)) => values::read(bytes, 32, true)?,
                Some(PortKind::EgressPort(port)) => u128::from(*port),
                None => return invalid(format!("{what}: a replica has no port")),
            };
            let port = match u16::try_from(port) {
                Ok(port) if (port != 0 || self.options.is_lenient) && port < PORTS_MAX => port,
                _ => return invalid(format!("{what}: the port {port}")),
            };
            let Ok(instance) = u16::try_from(replica.instance) else {
                return invalid(format!("{what}: the instance {}", replica.instance));
            };
            replicas.push(Replica { port, instance });
        }
        replicas.sort_unstable_by_key(|it| (it.instance, it.port));
        if replicas.windows(2).any(|it| it[0] == it[1]) {
            return invalid(format!("{what}: a replica is there twice"));
        }
        Ok(replicas)
    }
}
