//! The ids and widths of the program, and entries in the form of the protocol.
//!
//! Ids are those of the p4info, which names everything. A program that lacks something is refused
//! before the switch is reached.

mod ids;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;
use std::fmt;

use p4runtime::config::P4Info;
use p4runtime::v1;
use sha2::{Digest, Sha256};

use crate::cells::Cell;
use crate::core::{PacketIn, Sizes};
use crate::counter::VERDICTS;
use crate::entry::{Action, Key, Op, Table, Value, Write};
use ids::{action_of, counter_of, metadata_of, table_of};

/// Names a field of the packets to and from the controller.
const PACKET_IN: [&str; 9] = [
    "reason",
    "port",
    "index",
    "epoch",
    "source_number",
    "sent_number",
    "frame",
    "layer",
    "stream",
];
const PACKET_OUT: [&str; 3] = ["type", "port", "lease"];

/// The controller's requests with a packet, in the program.
const OUT_SEND: u128 = 1;
const OUT_LEASE: u128 = 2;

/// The reason why a program is not one for this driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// Its description cannot be read.
    Unreadable(String),
    /// It has no such thing: what kind, and its name.
    Missing(&'static str, String),
    /// A table has another form of key.
    Form(String),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => f.write_str(why),
            Self::Missing(kind, name) => write!(f, "the program has no {kind} {name}"),
            Self::Form(name) => write!(f, "the key of {name} is not of the form that is written here"),
        }
    }
}

impl std::error::Error for ProgramError {}

/// An id and a width in bits.
#[derive(Clone, Copy, Debug)]
struct Field {
    id: u32,
    width: u32,
}

#[derive(Clone, Debug)]
struct Fields {
    id: u32,
    fields: Vec<Field>,
    /// How many entries a table has room for.
    size: i64,
}

/// Of one program.
#[derive(Debug)]
pub(crate) struct Schema {
    tables: HashMap<Table, Fields>,
    by_id: HashMap<u32, Table>,
    actions: HashMap<Action, Fields>,
    relayed: u32,
    sent: u32,
    verdicts: HashMap<&'static str, u32>,
    packet_in: Vec<Field>,
    packet_out: Vec<Field>,
    sizes: Sizes,
}

impl Schema {
    /// That of a program with this description.
    ///
    /// Errors: the first thing that is missing.
    pub(crate) fn new(info: &P4Info) -> Result<Self, ProgramError> {
        let mut tables = HashMap::new();
        for table in Table::ALL {
            tables.insert(*table, table_of(info, *table)?);
        }
        let mut actions = HashMap::new();
        for action in Action::ALL {
            actions.insert(*action, action_of(info, *action)?);
        }
        let (relayed, relays) = counter_of(info, "relayed")?;
        let (sent, replicas) = counter_of(info, "sent")?;
        let mut verdicts = HashMap::new();
        for name in VERDICTS {
            verdicts.insert(name, counter_of(info, name)?.0);
        }
        // As many as the fields have values for.
        let values = |field: &Field| 1_u32.checked_shl(field.width).unwrap_or(u32::MAX);
        let sizes = Sizes {
            relays,
            replicas: replicas.min(values(&actions[&Action::Send].fields[0])),
            streams: values(&tables[&Table::Format].fields[0]),
        };
        Ok(Schema {
            by_id: tables.iter().map(|(table, fields)| (fields.id, *table)).collect(),
            tables,
            actions,
            relayed,
            sent,
            verdicts,
            packet_in: metadata_of(info, "packet_in", &PACKET_IN)?,
            packet_out: metadata_of(info, "packet_out", &PACKET_OUT)?,
            sizes,
        })
    }

    /// The sizes of its arrays.
    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// How many entries a table has room for, if that is known.
    pub(crate) fn size(&self, table: Table) -> Option<i64> {
        self.tables.get(&table).map(|fields| fields.size)
    }

    /// A write in the form of the protocol.
    pub(crate) fn update(&self, write: &Write) -> v1::Update {
        let kind = match write.op {
            Op::Insert => v1::update::Type::Insert,
            Op::Modify => v1::update::Type::Modify,
            Op::Delete => v1::update::Type::Delete,
        };
        let value = (write.op != Op::Delete).then_some(&write.value);
        v1::Update {
            r#type: kind.into(),
            entity: Some(self.entity(&write.key, value)),
        }
    }

    fn entity(&self, key: &Key, value: Option<&Value>) -> v1::Entity {
        let entity = match key {
            Key::Entry(table, fields) => v1::entity::Entity::TableEntry(self.table_entry(*table, fields, value)),
            Key::Group(id) => replication(v1::packet_replication_engine_entry::Type::MulticastGroupEntry(
                v1::MulticastGroupEntry {
                    multicast_group_id: (*id).into(),
                    replicas: values::copies(value),
                    ..Default::default()
                },
            )),
            Key::Session(id) => replication(v1::packet_replication_engine_entry::Type::CloneSessionEntry(
                v1::CloneSessionEntry {
                    session_id: (*id).into(),
                    replicas: values::copies(value),
                    ..Default::default()
                },
            )),
        };
        v1::Entity { entity: Some(entity) }
    }

    fn table_entry(&self, table: Table, key: &[u128], value: Option<&Value>) -> v1::TableEntry {
        let ids = &self.tables[&table];
        let is_prefix = is_prefix(table);
        let prefix = key.last().filter(|_| is_prefix).map(|length| *length as i32);
        let fields = ids.fields.iter().zip(key).map(|(field, value)| {
            let value = values::bytes(*value, field.width);
            let kind = match prefix {
                Some(prefix_len) => v1::field_match::FieldMatchType::Lpm(v1::field_match::Lpm { value, prefix_len }),
                None => v1::field_match::FieldMatchType::Exact(v1::field_match::Exact { value }),
            };
            v1::FieldMatch {
                field_id: field.id,
                field_match_type: Some(kind),
            }
        });
        // A prefix of no bits matches everything, and is left out (P4Runtime section 9.1.1).
        let fields = fields.filter(|_| prefix != Some(0));
        let action = match value {
            Some(Value::Data(data)) => Some(self.action(table.action(), data)),
            _ => None,
        };
        v1::TableEntry {
            table_id: ids.id,
            r#match: fields.collect(),
            action,
            ..Default::default()
        }
    }

    fn action(&self, action: Action, data: &[u128]) -> v1::TableAction {
        let ids = &self.actions[&action];
        let params = ids.fields.iter().zip(data).map(|(field, value)| v1::action::Param {
            param_id: field.id,
            value: values::bytes(*value, field.width),
        });
        v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(v1::Action {
                action_id: ids.id,
                params: params.collect(),
            })),
        }
    }

    /// An entry that the switch has; `None` where it is of a kind that is never written here.
    pub(crate) fn entry(&self, entity: &v1::Entity) -> Option<(Key, Value)> {
        use v1::packet_replication_engine_entry::Type;
        match entity.entity.as_ref()? {
            v1::entity::Entity::TableEntry(entry) => self.read_table_entry(entry),
            v1::entity::Entity::PacketReplicationEngineEntry(entry) => match entry.r#type.as_ref()? {
                Type::MulticastGroupEntry(group) => {
                    let id = u16::try_from(group.multicast_group_id).ok()?;
                    Some((Key::Group(id), values::read_copies(&group.replicas)))
                }
                Type::CloneSessionEntry(session) => {
                    let id = u16::try_from(session.session_id).ok()?;
                    Some((Key::Session(id), values::read_copies(&session.replicas)))
                }
            },
            _ => None,
        }
    }

    fn read_table_entry(&self, entry: &v1::TableEntry) -> Option<(Key, Value)> {
        let table = *self.by_id.get(&entry.table_id)?;
        if entry.is_default_action {
            return None;
        }
        let ids = &self.tables[&table];
        let mut key = Vec::new();
        let mut prefix = 0;
        for field in &ids.fields {
            let found = entry.r#match.iter().find(|found| found.field_id == field.id);
            match found.and_then(|found| found.field_match_type.as_ref()) {
                Some(v1::field_match::FieldMatchType::Exact(exact)) => key.push(values::read(&exact.value)?),
                Some(v1::field_match::FieldMatchType::Lpm(lpm)) => {
                    prefix = lpm.prefix_len.try_into().ok()?;
                    key.push(values::read(&lpm.value)?);
                }
                None if is_prefix(table) => key.push(0),
                _ => return None,
            }
        }
        if is_prefix(table) {
            key.push(prefix);
        }
        Some((Key::Entry(table, key), self.read_action(table, entry)))
    }

    fn read_action(&self, table: Table, entry: &v1::TableEntry) -> Value {
        let Some(v1::table_action::Type::Action(action)) =
            entry.action.as_ref().and_then(|action| action.r#type.as_ref())
        else {
            return Value::Foreign;
        };
        let ids = &self.actions[&table.action()];
        let param = |field: &Field| {
            let found = action.params.iter().find(|param| param.param_id == field.id)?;
            values::read(&found.value)
        };
        let data: Option<Vec<u128>> = ids.fields.iter().map(param).collect();
        let data = data.filter(|_| action.action_id == ids.id);
        data.map_or(Value::Foreign, Value::Data)
    }

    /// A cell of a counter, to be read.
    pub(crate) fn counter(&self, cell: Cell) -> v1::Entity {
        let (counter_id, index) = match cell {
            Cell::Relayed(index) => (self.relayed, index.into()),
            Cell::Sent(index) => (self.sent, index),
            Cell::Verdict(name) => (self.verdicts[name], 0),
        };
        let entry = v1::CounterEntry {
            counter_id,
            index: Some(v1::Index { index: index.into() }),
            data: None,
        };
        v1::Entity {
            entity: Some(v1::entity::Entity::CounterEntry(entry)),
        }
    }

    /// A cell that was read, and what it counted: packets and bytes.
    pub(crate) fn counted(&self, entity: &v1::Entity) -> Option<(Cell, u64, u64)> {
        let Some(v1::entity::Entity::CounterEntry(entry)) = &entity.entity else {
            return None;
        };
        let index = u32::try_from(entry.index.as_ref()?.index).ok()?;
        let cell = match entry.counter_id {
            id if id == self.relayed => Cell::Relayed(u16::try_from(index).ok()?),
            id if id == self.sent => Cell::Sent(index),
            id => Cell::Verdict(self.verdicts.iter().find(|(_, verdict)| **verdict == id)?.0),
        };
        let data = entry.data.as_ref()?;
        let count = |value: i64| u64::try_from(value).ok();
        Some((cell, count(data.packet_count)?, count(data.byte_count)?))
    }

    /// A packet of the switch; `None` where its metadata is not the program's.
    pub(crate) fn packet_in(&self, packet: v1::PacketIn) -> Option<PacketIn> {
        let value = |place: usize| {
            let id = self.packet_in[place].id;
            let found = packet.metadata.iter().find(|found| found.metadata_id == id)?;
            values::read(&found.value)
        };
        let number = |place| value(place).and_then(|value| u16::try_from(value).ok());
        let long = |place| value(place).and_then(|value| u32::try_from(value).ok());
        let byte = |place| value(place).and_then(|value| u8::try_from(value).ok());
        Some(PacketIn {
            reason: byte(0)?,
            port: number(1)?,
            index: long(2)?,
            epoch: byte(3)?,
            source_number: number(4)?,
            sent_number: number(5)?,
            frame_number: number(6)?,
            layer: byte(7)?,
            stream: long(8)?,
            frame: packet.payload,
        })
    }

    /// A frame that the switch is to send by a port.
    pub(crate) fn send(&self, port: u16, frame: Vec<u8>) -> v1::PacketOut {
        self.packet_out([OUT_SEND, port.into(), 0], frame)
    }

    /// A lease of so many microseconds.
    pub(crate) fn lease(&self, microseconds: u32) -> v1::PacketOut {
        // The program reads an Ethernet header behind its own.
        self.packet_out([OUT_LEASE, 0, microseconds.into()], vec![0; 60])
    }

    fn packet_out(&self, data: [u128; 3], payload: Vec<u8>) -> v1::PacketOut {
        let metadata = self
            .packet_out
            .iter()
            .zip(data)
            .map(|(field, value)| v1::PacketMetadata {
                metadata_id: field.id,
                value: values::bytes(value, field.width),
            });
        v1::PacketOut {
            payload,
            metadata: metadata.collect(),
        }
    }
}

/// A number that tells one program from another: a hash of its compiled form.
pub(crate) fn cookie(program: &[u8], description: &[u8]) -> u64 {
    let mut hash = Sha256::new();
    hash.update((program.len() as u64).to_be_bytes());
    hash.update(program);
    hash.update(description);
    let digest = hash.finalize();
    let first: [u8; 8] = digest[..8].try_into().expect("a digest has 32 bytes");
    u64::from_be_bytes(first)
}

fn replication(entry: v1::packet_replication_engine_entry::Type) -> v1::entity::Entity {
    v1::entity::Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(entry) })
}

fn is_prefix(table: Table) -> bool {
    table == Table::Nexthop
}
