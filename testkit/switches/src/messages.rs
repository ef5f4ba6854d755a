//! Messages of P4Runtime, written with the names of a description.

use p4runtime::config::match_field::{Match, MatchType};
use p4runtime::config::{P4Info, Preamble};
use p4runtime::v1::entity::Entity;
use p4runtime::v1::field_match::{Exact, FieldMatchType, Lpm, Ternary};
use p4runtime::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::v1::replica::PortKind;
use p4runtime::v1::{
    self, CloneSessionEntry, MulticastGroupEntry, PacketMetadata, PacketOut, PacketReplicationEngineEntry, TableEntry,
};

/// A number in its shortest form.
#[must_use]
pub fn bytes(value: u128) -> Vec<u8> {
    let all = value.to_be_bytes();
    let first = all.iter().position(|it| *it != 0).unwrap_or(15);
    all[first..].to_vec()
}

fn is_named(preamble: Option<&Preamble>, name: &str) -> bool {
    preamble.is_some_and(|it| it.alias == name || it.name == name)
}

/// An entry of a table with its keys in order, by value; a prefix or a mask covers all bits. Names
/// are aliases or whole names.
///
/// # Panics
///
/// If the description lacks a name.
#[must_use]
pub fn entry(info: &P4Info, table: &str, keys: &[u128], action: &str, values: &[u128]) -> TableEntry {
    let found = info.tables.iter().find(|it| is_named(it.preamble.as_ref(), table));
    let table = found.unwrap_or_else(|| panic!("there is no table {table}"));
    let found = info.actions.iter().find(|it| is_named(it.preamble.as_ref(), action));
    let action = found.unwrap_or_else(|| panic!("there is no action {action}"));
    let field = |(form, value): (&p4runtime::config::MatchField, &u128)| {
        let value = bytes(*value);
        let kind = match &form.r#match {
            Some(Match::MatchType(kind)) if *kind == MatchType::Lpm as i32 => FieldMatchType::Lpm(Lpm {
                value,
                prefix_len: form.bitwidth,
            }),
            Some(Match::MatchType(kind)) if *kind == MatchType::Ternary as i32 => {
                let mask = bytes(u128::MAX >> (128 - form.bitwidth));
                FieldMatchType::Ternary(Ternary { value, mask })
            }
            _ => FieldMatchType::Exact(Exact { value }),
        };
        v1::FieldMatch {
            field_id: form.id,
            field_match_type: Some(kind),
        }
    };
    let parameter = |(form, value): (&p4runtime::config::action::Param, &u128)| v1::action::Param {
        param_id: form.id,
        value: bytes(*value),
    };
    let id = |preamble: Option<&Preamble>| preamble.map_or(0, |it| it.id);
    let bound = v1::Action {
        action_id: id(action.preamble.as_ref()),
        params: action.params.iter().zip(values).map(parameter).collect(),
    };
    TableEntry {
        table_id: id(table.preamble.as_ref()),
        r#match: table.match_fields.iter().zip(keys).map(field).collect(),
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(bound)),
        }),
        ..Default::default()
    }
}

/// A multicast group of (port, instance).
#[must_use]
pub fn group(id: u32, replicas: &[(u16, u32)]) -> Entity {
    engine(Engine::MulticastGroupEntry(MulticastGroupEntry {
        multicast_group_id: id,
        replicas: copies(replicas),
        metadata: Vec::new(),
    }))
}

/// A clone session of (port, instance).
#[must_use]
pub fn session(id: u32, replicas: &[(u16, u32)]) -> Entity {
    engine(Engine::CloneSessionEntry(CloneSessionEntry {
        session_id: id,
        replicas: copies(replicas),
        ..Default::default()
    }))
}

fn engine(entry: Engine) -> Entity {
    Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(entry) })
}

fn copies(replicas: &[(u16, u32)]) -> Vec<v1::Replica> {
    let copy = |(port, instance): &(u16, u32)| v1::Replica {
        port_kind: Some(PortKind::Port(bytes(u128::from(*port)))),
        instance: *instance,
        backup_replicas: Vec::new(),
    };
    replicas.iter().map(copy).collect()
}

/// An update of one entity.
#[must_use]
pub fn update(kind: v1::update::Type, entity: Entity) -> v1::Update {
    v1::Update {
        r#type: kind as i32,
        entity: Some(v1::Entity { entity: Some(entity) }),
    }
}

/// A packet of the controller, with its metadata in order.
#[must_use]
pub fn packet_out(info: &P4Info, values: &[u128], payload: Vec<u8>) -> PacketOut {
    let is_out = |it: &&p4runtime::config::ControllerPacketMetadata| is_named(it.preamble.as_ref(), "packet_out");
    let forms = info.controller_packet_metadata.iter().find(is_out);
    let forms = forms.map_or(&[][..], |it| &it.metadata);
    let metadata = forms.iter().zip(values).map(|(form, value)| PacketMetadata {
        metadata_id: form.id,
        value: bytes(*value),
    });
    PacketOut {
        payload,
        metadata: metadata.collect(),
    }
}
