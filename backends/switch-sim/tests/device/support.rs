//! A device with the small program, and messages written with names.

use std::time::Duration;

use p4runtime::config::P4Info;
use p4runtime::v1::entity::Entity;
use p4runtime::v1::field_match::{Exact, FieldMatchType, Lpm, Ternary};
use p4runtime::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::v1::replica::PortKind;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action as Push;
use p4runtime::v1::update::Type;
use p4runtime::v1::{
    self, CloneSessionEntry, ForwardingPipelineConfig, MulticastGroupEntry, PacketReplicationEngineEntry,
    SetForwardingPipelineConfigRequest, TableEntry,
};
use switch_sim::{Device, Options, Output, Refusal};

/// The program.
pub(crate) const JSON: &str = include_str!("../data/small.json");
/// Its description.
pub(crate) const INFO: &str = include_str!("../data/small.p4info.txtpb");

/// A device and the description of its program.
pub(crate) struct Bench {
    /// The device.
    pub(crate) device: Device,
    /// The description.
    pub(crate) info: P4Info,
}

/// The shortest form of a number.
pub(crate) fn bytes(value: u128) -> Vec<u8> {
    let all = value.to_be_bytes();
    let first = all.iter().position(|it| *it != 0).unwrap_or(15);
    all[first..].to_vec()
}

/// The match of a whole value.
pub(crate) fn exact(value: u128) -> FieldMatchType {
    FieldMatchType::Exact(Exact { value: bytes(value) })
}

/// The match of a prefix.
pub(crate) fn prefix(value: u128, prefix_len: i32) -> FieldMatchType {
    FieldMatchType::Lpm(Lpm {
        value: bytes(value),
        prefix_len,
    })
}

/// The match under a mask.
pub(crate) fn masked(value: u128, mask: u128) -> FieldMatchType {
    FieldMatchType::Ternary(Ternary {
        value: bytes(value),
        mask: bytes(mask),
    })
}

/// A multicast group.
pub(crate) fn group(id: u32, replicas: &[(u16, u32)]) -> Entity {
    let entry = MulticastGroupEntry {
        multicast_group_id: id,
        replicas: copies(replicas),
        metadata: Vec::new(),
    };
    engine(Engine::MulticastGroupEntry(entry))
}

/// A clone session.
pub(crate) fn session(id: u32, replicas: &[(u16, u32)]) -> Entity {
    let replicas = copies(replicas);
    let entry = CloneSessionEntry {
        session_id: id,
        replicas,
        class_of_service: 0,
        packet_length_bytes: 0,
    };
    engine(Engine::CloneSessionEntry(entry))
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

impl Bench {
    /// A device with the program.
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    /// The same, with options.
    pub(crate) fn with(options: Options) -> Self {
        let mut bench = Self {
            device: Device::new(options),
            info: p4runtime::p4info(INFO).unwrap(),
        };
        bench.push(Push::VerifyAndCommit).unwrap();
        bench
    }

    /// Sets the pipeline again.
    pub(crate) fn push(&mut self, action: Push) -> Result<(), Refusal> {
        let config = ForwardingPipelineConfig {
            p4info: Some(self.info.clone()),
            p4_device_config: JSON.as_bytes().to_vec(),
            cookie: Some(v1::forwarding_pipeline_config::Cookie { cookie: 77 }),
        };
        self.device.set_pipeline(&SetForwardingPipelineConfigRequest {
            device_id: 1,
            action: action as i32,
            config: Some(config),
            ..Default::default()
        })
    }

    /// An entry of a table, by names without their control.
    pub(crate) fn entry(
        &self,
        table: &str,
        keys: &[(&str, FieldMatchType)],
        action: &str,
        values: &[u128],
    ) -> TableEntry {
        let is_named = |preamble: &Option<p4runtime::config::Preamble>, name: &str| {
            preamble.as_ref().is_some_and(|it| it.alias == name)
        };
        let table = self
            .info
            .tables
            .iter()
            .find(|it| is_named(&it.preamble, table))
            .unwrap();
        let action = self
            .info
            .actions
            .iter()
            .find(|it| is_named(&it.preamble, action))
            .unwrap();
        let field = |(name, kind): &(&str, FieldMatchType)| v1::FieldMatch {
            field_id: table.match_fields.iter().find(|it| it.name == *name).unwrap().id,
            field_match_type: Some(kind.clone()),
        };
        let parameters = action.params.iter().zip(values);
        let params = parameters
            .map(|(form, value)| v1::action::Param {
                param_id: form.id,
                value: bytes(*value),
            })
            .collect();
        let action = v1::Action {
            action_id: action.preamble.as_ref().unwrap().id,
            params,
        };
        TableEntry {
            table_id: table.preamble.as_ref().unwrap().id,
            r#match: keys.iter().map(field).collect(),
            action: Some(v1::TableAction {
                r#type: Some(v1::table_action::Type::Action(action)),
            }),
            ..Default::default()
        }
    }

    /// One update.
    pub(crate) fn update(&mut self, kind: Type, entity: Entity) -> Result<(), Refusal> {
        let update = v1::Update {
            r#type: kind as i32,
            entity: Some(v1::Entity { entity: Some(entity) }),
        };
        let request = v1::WriteRequest {
            device_id: 1,
            updates: vec![update],
            ..Default::default()
        };
        self.device.write(&request)?.remove(0)
    }

    /// Inserts an entity.
    pub(crate) fn insert(&mut self, entity: impl Into<Wrapped>) -> Result<(), Refusal> {
        self.update(Type::Insert, entity.into().0)
    }

    /// Reads entities.
    pub(crate) fn read(&self, entity: Entity) -> Result<Vec<Entity>, Refusal> {
        let request = v1::ReadRequest {
            device_id: 1,
            entities: vec![v1::Entity { entity: Some(entity) }],
            ..Default::default()
        };
        Ok(self
            .device
            .read(&request)?
            .into_iter()
            .filter_map(|it| it.entity)
            .collect())
    }

    /// Sends a packet through the switch.
    pub(crate) fn packet(&mut self, port: u16, bytes: &[u8]) -> Vec<Output> {
        self.device.packet(Duration::from_millis(5), port, bytes)
    }
}

/// An entity, or the entry of a table.
pub(crate) struct Wrapped(Entity);

impl From<Entity> for Wrapped {
    fn from(entity: Entity) -> Self {
        Self(entity)
    }
}

impl From<TableEntry> for Wrapped {
    fn from(entry: TableEntry) -> Self {
        Self(Entity::TableEntry(entry))
    }
}

/// A packet of the small program: kind, high bits, address, elements, payload.
pub(crate) fn packet(kind: u8, high: u8, address: u128, elements: &[&[u8]], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, high << 4 | elements.len() as u8, 0, 0];
    bytes.extend(address.to_be_bytes());
    for element in elements {
        bytes.extend(*element);
    }
    bytes.extend(payload);
    bytes
}
