//! Writes to tables.

use p4runtime::config::action_ref::Scope;
use p4runtime::v1::field_match::FieldMatchType;
use p4runtime::v1::update::Type;
use p4runtime::v1::{self, TableEntry};
use tonic::Code;

use super::Device;
use super::pipeline::{ActionForm, FieldForm, TableForm};
use super::refusal::{Outcome, invalid, refuse};
use super::values;
use crate::entries::{Bound, Entry, EntryKey};
use crate::load::prefix;
use crate::program::{MatchKind, Word, mask};
use crate::statistics::Count;

impl Device {
    pub(super) fn write_entry(&mut self, kind: Type, entry: &TableEntry) -> Outcome<()> {
        let table = self.pipeline()?.table(entry.table_id)?;
        check_unused(entry, table)?;
        if table.is_constant {
            return refuse(Code::PermissionDenied, format!("{} is constant", table.name));
        }
        if entry.is_default_action {
            return self.write_default(kind, entry);
        }
        let (key, priority) = self.key(entry, table)?;
        let index = table.index;
        let size = table.size;
        let name = &table.name;
        let held = &self.pipeline()?.switch.state.tables[index];
        let found = held.get(&key, priority);
        match kind {
            Type::Insert if found.is_some() => {
                refuse(Code::AlreadyExists, format!("{name} has an entry with this key"))
            }
            Type::Modify | Type::Delete if found.is_none() => {
                refuse(Code::NotFound, format!("{name} has no entry with this key"))
            }
            Type::Insert if held.all.len() >= size => {
                let code = if self.options.is_lenient {
                    Code::Unknown
                } else {
                    Code::ResourceExhausted
                };
                refuse(code, format!("{name} is full, with {size} entries"))
            }
            Type::Insert => {
                let entry = Entry {
                    bound: self.bound(entry, table)?,
                    key,
                    priority,
                    count: count(entry).unwrap_or_default(),
                    metadata: entry.metadata.clone(),
                    is_constant: false,
                };
                self.pipeline_mut()?.switch.state.tables[index].insert(entry);
                Ok(())
            }
            Type::Modify => {
                let bound = self.bound(entry, table)?;
                let tables = &mut self.pipeline_mut()?.switch.state.tables;
                if let Some(held) = tables[index].get_mut(&key, priority) {
                    held.bound = bound;
                    held.metadata.clone_from(&entry.metadata);
                    held.count = count(entry).unwrap_or(held.count);
                }
                Ok(())
            }
            Type::Delete => {
                self.pipeline_mut()?.switch.state.tables[index].remove(&key, priority);
                Ok(())
            }
            Type::Unspecified => invalid("the update has no type"),
        }
    }

    /// Sets or resets the action of a miss.
    fn write_default(&mut self, kind: Type, entry: &TableEntry) -> Outcome<()> {
        let table = self.pipeline()?.table(entry.table_id)?;
        if kind != Type::Modify {
            return invalid("a default entry can only be modified");
        }
        if !entry.r#match.is_empty() || entry.priority != 0 {
            return invalid("a default entry has neither a key nor a priority");
        }
        if table.has_constant_default {
            let reason = format!("the default action of {} is constant", table.name);
            return refuse(Code::PermissionDenied, reason);
        }
        let bound = entry.action.as_ref().map(|_| self.bound(entry, table)).transpose()?;
        let index = table.index;
        let entries = &mut self.pipeline_mut()?.switch.state.tables[index];
        match bound {
            Some(bound) => entries.default = Some(bound),
            None => entries.reset_default(),
        }
        Ok(())
    }

    /// The key and the priority of an entry.
    pub(super) fn key(&self, entry: &TableEntry, table: &TableForm) -> Outcome<(EntryKey, i64)> {
        let is_known = |it: &v1::FieldMatch| table.fields.iter().any(|form| form.id == it.field_id);
        if let Some(unknown) = entry.r#match.iter().find(|it| !is_known(it)) {
            return invalid(format!("{} has no key {}", table.name, unknown.field_id));
        }
        if entry.r#match.len() > table.fields.len() {
            return invalid(format!("a key of {} is there twice", table.name));
        }
        let mut key = Vec::with_capacity(table.fields.len());
        for field in &table.fields {
            let mut given = entry.r#match.iter().filter(|it| it.field_id == field.id);
            let first = given.next().and_then(|it| it.field_match_type.as_ref());
            if given.next().is_some() {
                return invalid(format!("the key {} is there twice", field.name));
            }
            key.push(self.part(first, field)?);
        }
        if table.has_priority && entry.priority <= 0 {
            return invalid(format!("an entry of {} needs a priority", table.name));
        }
        if !table.has_priority && entry.priority != 0 {
            return invalid(format!("an entry of {} has no priority", table.name));
        }
        Ok((key, i64::from(entry.priority)))
    }

    fn part(&self, given: Option<&FieldMatchType>, field: &FieldForm) -> Outcome<(Word, Word)> {
        let read = |bytes: &[u8]| values::read(bytes, field.width, self.options.is_lenient);
        match (field.kind, given) {
            (MatchKind::Exact, Some(FieldMatchType::Exact(it))) => Ok((read(&it.value)?, mask(field.width))),
            (MatchKind::Lpm, Some(FieldMatchType::Lpm(it))) => {
                let length = u32::try_from(it.prefix_len).unwrap_or(0);
                if length == 0 || length > field.width {
                    return invalid(format!("a prefix of {} bits", it.prefix_len));
                }
                let (value, mask) = (read(&it.value)?, prefix(length, field.width));
                if value & !mask != 0 {
                    return invalid("a prefix has bits beyond its length");
                }
                Ok((value, mask))
            }
            (MatchKind::Ternary, Some(FieldMatchType::Ternary(it))) => {
                let (value, mask) = (read(&it.value)?, read(&it.mask)?);
                if mask == 0 {
                    return invalid("a mask is zero: leave the key out instead");
                }
                if value & !mask != 0 {
                    return invalid("a value has bits outside of its mask");
                }
                Ok((value, mask))
            }
            (MatchKind::Lpm | MatchKind::Ternary, None) => Ok((0, 0)),
            (MatchKind::Exact, None) => invalid(format!("the key {} is missing", field.name)),
            _ => invalid(format!("the key {} is of another kind", field.name)),
        }
    }

    /// The action of an entry.
    fn bound(&self, entry: &TableEntry, table: &TableForm) -> Outcome<Bound> {
        use v1::table_action::Type;
        let action = match entry.action.as_ref().and_then(|it| it.r#type.as_ref()) {
            Some(Type::Action(action)) => action,
            Some(_) => return invalid(format!("{} has no action profile", table.name)),
            None => return invalid("an entry has no action"),
        };
        let Some(form) = table.actions.iter().find(|it| it.id == action.action_id) else {
            let id = action.action_id;
            return invalid(format!("{} has no action {id:#010x}", table.name));
        };
        match form.scope {
            Scope::DefaultOnly if !entry.is_default_action => {
                return refuse(Code::PermissionDenied, format!("{} is for misses", form.name));
            }
            Scope::TableOnly if entry.is_default_action => {
                return refuse(Code::PermissionDenied, format!("{} is for entries", form.name));
            }
            _ => {}
        }
        let data = self.parameters(action, form)?;
        Ok(Bound {
            choice: form.choice,
            data: data.into(),
        })
    }

    fn parameters(&self, action: &v1::Action, form: &ActionForm) -> Outcome<Vec<Word>> {
        if action.params.len() != form.parameters.len() {
            let count = form.parameters.len();
            return invalid(format!("{} has {count} parameters", form.name));
        }
        let mut data = Vec::with_capacity(form.parameters.len());
        for parameter in &form.parameters {
            let mut given = action.params.iter().filter(|it| it.param_id == parameter.id);
            let (Some(first), None) = (given.next(), given.next()) else {
                return invalid(format!("the parameter {} is not there once", parameter.name));
            };
            let value = values::read(&first.value, parameter.width, self.options.is_lenient)?;
            data.push(value);
        }
        let with_values = || form.parameters.iter().zip(&data);
        let is_known = |group| u32::try_from(group).is_ok_and(|it| self.groups.contains(&it));
        let is_absent = |value: Word| value != 0 && !is_known(value);
        let absent = with_values().find(|(form, value)| form.is_group && is_absent(**value));
        let has_branches = with_values().any(|(form, value)| form.name == "branches" && *value != 0);
        match absent {
            Some((_, group)) if !has_branches && !self.options.is_lenient => {
                refuse(Code::NotFound, format!("there is no multicast group {group}"))
            }
            _ => Ok(data),
        }
    }
}

/// Refuses parts of an entry that its table does not have.
fn check_unused(entry: &TableEntry, table: &TableForm) -> Outcome<()> {
    if entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some() {
        return invalid(format!("{} has no idle time-outs", table.name));
    }
    if entry.meter_config.is_some() || entry.meter_counter_data.is_some() {
        return invalid(format!("{} has no meters", table.name));
    }
    if entry.counter_data.is_some() && !table.has_counter {
        return invalid(format!("{} has no counters", table.name));
    }
    if entry.is_const {
        return invalid("an entry cannot be written as constant");
    }
    Ok(())
}

fn count(entry: &TableEntry) -> Option<Count> {
    entry.counter_data.map(|it| super::counters::count(&it))
}
