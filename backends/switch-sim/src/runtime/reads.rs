//! Reads, with wildcards.

use p4runtime::v1::entity::Entity;
use p4runtime::v1::field_match::{Exact, FieldMatchType, Lpm, Ternary};
use p4runtime::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::v1::replica::PortKind;
use p4runtime::v1::{
    self, CloneSessionEntry, CounterEntry, DirectCounterEntry, MulticastGroupEntry, PacketReplicationEngineEntry,
    TableEntry,
};
use tonic::Code;

use super::Device;
use super::counters::data;
use super::pipeline::{Pipeline, TableForm};
use super::refusal::{Outcome, Refusal, invalid, refuse};
use super::values;
use crate::entries::{Bound, Entry};
use crate::program::MatchKind;
use crate::replication::Replica;

impl Device {
    /// Answers a read. The first entity that cannot be read refuses all.
    pub fn read(&self, request: &v1::ReadRequest) -> Result<Vec<v1::Entity>, Refusal> {
        self.check_device(request.device_id)?;
        if !request.role.is_empty() {
            return refuse(Code::Unimplemented, "roles");
        }
        let pipeline = self.pipeline()?;
        let mut found = Vec::new();
        for entity in &request.entities {
            match &entity.entity {
                Some(Entity::TableEntry(wanted)) => self.entries(pipeline, wanted, &mut found)?,
                Some(Entity::CounterEntry(wanted)) => counters(pipeline, wanted, &mut found)?,
                Some(Entity::DirectCounterEntry(wanted)) => {
                    self.direct_counters(pipeline, wanted, &mut found)?;
                }
                Some(Entity::PacketReplicationEngineEntry(wanted)) => {
                    self.engine(wanted, &mut found)?;
                }
                Some(_) => return refuse(Code::Unimplemented, "reads of this kind"),
                None => return invalid("an entity without a kind"),
            }
        }
        Ok(found.into_iter().map(|it| v1::Entity { entity: Some(it) }).collect())
    }

    fn entries(&self, pipeline: &Pipeline, wanted: &TableEntry, found: &mut Vec<Entity>) -> Outcome<()> {
        if wanted.time_since_last_hit.is_some() {
            return invalid("no table has idle time-outs");
        }
        let ids = match wanted.table_id {
            0 => pipeline.table_ids(),
            id => vec![id],
        };
        if wanted.table_id == 0 && !wanted.r#match.is_empty() {
            return invalid("a key without a table");
        }
        for id in ids {
            let table = pipeline.table(id)?;
            let held = &pipeline.switch.state.tables[table.index];
            let write =
                |entry: &Entry| Entity::TableEntry(entry_message(id, table, entry, wanted.counter_data.is_some()));
            if wanted.is_default_action {
                let action = held.default.as_ref().and_then(|it| action_message(table, it));
                let is_default_action = true;
                let entry = TableEntry {
                    table_id: id,
                    action,
                    is_default_action,
                    ..Default::default()
                };
                found.push(Entity::TableEntry(entry));
            } else if wanted.r#match.is_empty() {
                found.extend(held.all.iter().map(write));
            } else {
                let (key, priority) = self.key(wanted, table)?;
                found.extend(held.get(&key, priority).map(write));
            }
        }
        Ok(())
    }

    fn direct_counters(
        &self,
        pipeline: &Pipeline,
        wanted: &DirectCounterEntry,
        found: &mut Vec<Entity>,
    ) -> Outcome<()> {
        let Some(of) = &wanted.table_entry else {
            return invalid("a counter without an entry");
        };
        if of.table_id == 0 {
            return refuse(Code::Unimplemented, "direct counters of all tables");
        }
        let table = pipeline.table(of.table_id)?;
        if !table.has_counter {
            return invalid(format!("{} has no counters", table.name));
        }
        let held = &pipeline.switch.state.tables[table.index];
        let write = |entry: &Entry| {
            let key = key_message(table, entry);
            let priority = i32::try_from(entry.priority).unwrap_or(0);
            let of = TableEntry {
                table_id: of.table_id,
                r#match: key,
                priority,
                ..Default::default()
            };
            let data = Some(data(entry.count));
            Entity::DirectCounterEntry(DirectCounterEntry {
                table_entry: Some(of),
                data,
            })
        };
        if of.r#match.is_empty() {
            found.extend(held.all.iter().map(write));
            return Ok(());
        }
        let (key, priority) = self.key(of, table)?;
        let Some(entry) = held.get(&key, priority) else {
            return refuse(Code::NotFound, "there is no entry with this key");
        };
        found.push(write(entry));
        Ok(())
    }

    fn engine(&self, wanted: &PacketReplicationEngineEntry, found: &mut Vec<Entity>) -> Outcome<()> {
        let engine = |it| Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(it) });
        match &wanted.r#type {
            Some(Engine::MulticastGroupEntry(wanted)) => {
                let id = wanted.multicast_group_id;
                if id != 0 && !self.groups.contains(&id) {
                    return refuse(Code::NotFound, format!("there is no multicast group {id}"));
                }
                let is_wanted = |it: &&u32| id == 0 || **it == id;
                found.extend(self.groups.iter().filter(is_wanted).map(|id| {
                    engine(Engine::MulticastGroupEntry(MulticastGroupEntry {
                        multicast_group_id: *id,
                        replicas: replicas_message(self.replication.groups.get(id)),
                        metadata: Vec::new(),
                    }))
                }));
                Ok(())
            }
            Some(Engine::CloneSessionEntry(wanted)) => {
                let id = wanted.session_id;
                if id != 0 && !self.sessions.iter().any(|it| u32::from(*it) == id) {
                    return refuse(Code::NotFound, format!("there is no clone session {id}"));
                }
                let is_wanted = |it: &&u16| id == 0 || u32::from(**it) == id;
                found.extend(self.sessions.iter().filter(is_wanted).map(|id| {
                    engine(Engine::CloneSessionEntry(CloneSessionEntry {
                        session_id: u32::from(*id),
                        replicas: replicas_message(self.replication.sessions.get(id)),
                        class_of_service: 0,
                        packet_length_bytes: 0,
                    }))
                }));
                Ok(())
            }
            None => invalid("neither a multicast group nor a clone session"),
        }
    }
}

fn counters(pipeline: &Pipeline, wanted: &CounterEntry, found: &mut Vec<Entity>) -> Outcome<()> {
    let mut ids: Vec<_> = match wanted.counter_id {
        0 => pipeline.counters.keys().copied().collect(),
        id => vec![id],
    };
    ids.sort_unstable();
    for id in ids {
        let Some(counter) = pipeline.counters.get(&id) else {
            return invalid(format!("there is no counter {id:#010x}"));
        };
        let cells = &pipeline.switch.state.counters[*counter];
        let message = |index: usize| {
            let cell = cells[index];
            let index = Some(v1::Index {
                index: i64::try_from(index).unwrap_or(i64::MAX),
            });
            Entity::CounterEntry(CounterEntry {
                counter_id: id,
                index,
                data: Some(data(cell)),
            })
        };
        match &wanted.index {
            None => found.extend((0..cells.len()).map(message)),
            Some(index) => match usize::try_from(index.index) {
                Ok(index) if index < cells.len() => found.push(message(index)),
                _ => return invalid(format!("the counter has no cell {}", index.index)),
            },
        }
    }
    Ok(())
}

fn entry_message(id: u32, table: &TableForm, entry: &Entry, with_counter: bool) -> TableEntry {
    TableEntry {
        table_id: id,
        r#match: key_message(table, entry),
        action: action_message(table, &entry.bound),
        priority: if entry.is_constant {
            0
        } else {
            i32::try_from(entry.priority).unwrap_or(0)
        },
        counter_data: (with_counter && table.has_counter).then(|| data(entry.count)),
        metadata: entry.metadata.clone(),
        is_const: entry.is_constant,
        ..Default::default()
    }
}

fn key_message(table: &TableForm, entry: &Entry) -> Vec<v1::FieldMatch> {
    let parts = table.fields.iter().zip(&entry.key);
    let message = |(field, (value, mask)): (&super::pipeline::FieldForm, &(u128, u128))| {
        let (value, mask) = (*value, *mask);
        let kind = match field.kind {
            MatchKind::Exact => FieldMatchType::Exact(Exact {
                value: values::write(value),
            }),
            MatchKind::Lpm | MatchKind::Ternary if mask == 0 => return None,
            MatchKind::Lpm => FieldMatchType::Lpm(Lpm {
                value: values::write(value),
                prefix_len: mask.count_ones().cast_signed(),
            }),
            MatchKind::Ternary => FieldMatchType::Ternary(Ternary {
                value: values::write(value),
                mask: values::write(mask),
            }),
        };
        Some(v1::FieldMatch {
            field_id: field.id,
            field_match_type: Some(kind),
        })
    };
    parts.filter_map(message).collect()
}

fn action_message(table: &TableForm, bound: &Bound) -> Option<v1::TableAction> {
    let form = table.actions.iter().find(|it| it.choice == bound.choice)?;
    let parameters = form.parameters.iter().zip(bound.data.iter());
    let params = parameters
        .map(|(form, value)| v1::action::Param {
            param_id: form.id,
            value: values::write(*value),
        })
        .collect();
    let action = v1::Action {
        action_id: form.id,
        params,
    };
    Some(v1::TableAction {
        r#type: Some(v1::table_action::Type::Action(action)),
    })
}

fn replicas_message(replicas: Option<&Vec<Replica>>) -> Vec<v1::Replica> {
    let message = |it: &Replica| v1::Replica {
        port_kind: Some(PortKind::Port(values::write(u128::from(it.port)))),
        instance: u32::from(it.instance),
        backup_replicas: Vec::new(),
    };
    replicas.into_iter().flatten().map(message).collect()
}
