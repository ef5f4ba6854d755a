//! A loaded program beside its description: the numbers of the description as indices.

use std::collections::HashMap;

use p4runtime::config::action_ref::Scope;
use p4runtime::config::match_field::{Match, MatchType};
use p4runtime::config::{ControllerPacketMetadata, P4Info, Preamble};
use p4runtime::v1::ForwardingPipelineConfig;

use super::refusal::{Outcome, invalid};
use crate::program::{FieldPlace, MatchKind, Primitive, Program};
use crate::switch::Switch;

/// A program and its description.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) switch: Switch,
    pub(crate) config: ForwardingPipelineConfig,
    pub(crate) tables: HashMap<u32, TableForm>,
    /// Indirect counters.
    pub(crate) counters: HashMap<u32, usize>,
    pub(crate) packet_in: Option<ControllerPacketMetadata>,
    pub(crate) packet_out: Option<ControllerPacketMetadata>,
}

/// A table of the description.
#[derive(Debug)]
pub(crate) struct TableForm {
    pub(crate) name: String,
    pub(crate) index: usize,
    /// In the order of the program's key.
    pub(crate) fields: Vec<FieldForm>,
    pub(crate) actions: Vec<ActionForm>,
    pub(crate) size: usize,
    pub(crate) is_constant: bool,
    pub(crate) has_constant_default: bool,
    pub(crate) has_counter: bool,
    pub(crate) has_priority: bool,
}

/// A part of a table's key.
#[derive(Debug)]
pub(crate) struct FieldForm {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) kind: MatchKind,
    pub(crate) width: u32,
}

/// An action of a table.
#[derive(Debug)]
pub(crate) struct ActionForm {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// The action's place in the table's list.
    pub(crate) choice: usize,
    pub(crate) parameters: Vec<ParameterForm>,
    pub(crate) scope: Scope,
}

/// A parameter of an action.
#[derive(Debug)]
pub(crate) struct ParameterForm {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) width: u32,
    /// Whether it is the number of a multicast group, or zero for none. An action with a parameter
    /// `branches` that is not zero replicates in another way.
    pub(crate) is_group: bool,
}

impl Pipeline {
    /// Loads a program and compares it with its description.
    pub(crate) fn new(config: &ForwardingPipelineConfig) -> Outcome<Self> {
        let Some(info) = &config.p4info else {
            return invalid("there is no p4info");
        };
        let Ok(json) = str::from_utf8(&config.p4_device_config) else {
            return invalid("the device configuration is not JSON");
        };
        let switch = match Switch::load(json) {
            Ok(switch) => switch,
            Err(error) => return invalid(error.to_string()),
        };
        let mut tables = HashMap::new();
        for table in &info.tables {
            let preamble = preamble(table.preamble.as_ref())?;
            tables.insert(preamble.id, table_form(table, preamble, info, &switch.program)?);
        }
        let mut counters = HashMap::new();
        for counter in &info.counters {
            let preamble = preamble(counter.preamble.as_ref())?;
            let arrays = &switch.program.counters;
            let Some(index) = arrays.iter().position(|it| it.name == preamble.name) else {
                return invalid(format!("the program has no counter {}", preamble.name));
            };
            if usize::try_from(counter.size).ok() != Some(arrays[index].size) {
                return invalid(format!("the size of the counter {}", preamble.name));
            }
            counters.insert(preamble.id, index);
        }
        let metadata = |name: &str| {
            let is_it = |it: &&ControllerPacketMetadata| it.preamble.as_ref().is_some_and(|it| it.name == name);
            info.controller_packet_metadata.iter().find(is_it).cloned()
        };
        let (packet_in, packet_out) = (metadata("packet_in"), metadata("packet_out"));
        Ok(Self {
            switch,
            config: config.clone(),
            tables,
            counters,
            packet_in,
            packet_out,
        })
    }

    /// A table by its number.
    pub(crate) fn table(&self, id: u32) -> Outcome<&TableForm> {
        match self.tables.get(&id) {
            Some(table) => Ok(table),
            None => invalid(format!("there is no table {id:#010x}")),
        }
    }

    /// The numbers of all tables, in order.
    pub(crate) fn table_ids(&self) -> Vec<u32> {
        let mut ids: Vec<_> = self.tables.keys().copied().collect();
        ids.sort_unstable();
        ids
    }
}

fn preamble(preamble: Option<&Preamble>) -> Outcome<&Preamble> {
    match preamble {
        Some(preamble) if preamble.id != 0 => Ok(preamble),
        _ => invalid("an object of the p4info has no number"),
    }
}

fn table_form(
    table: &p4runtime::config::Table,
    preamble: &Preamble,
    info: &P4Info,
    program: &Program,
) -> Outcome<TableForm> {
    let name = preamble.name.clone();
    let Some(index) = program.tables.iter().position(|it| it.name == name) else {
        return invalid(format!("the program has no table {name}"));
    };
    let form = &program.tables[index];
    if form.keys.len() != table.match_fields.len() {
        return invalid(format!("the number of keys of the table {name}"));
    }
    let mut fields = Vec::new();
    for (field, key) in table.match_fields.iter().zip(&form.keys) {
        let kind = match &field.r#match {
            Some(Match::MatchType(kind)) => match MatchType::try_from(*kind) {
                Ok(MatchType::Exact) => MatchKind::Exact,
                Ok(MatchType::Lpm) => MatchKind::Lpm,
                Ok(MatchType::Ternary) => MatchKind::Ternary,
                _ => return invalid(format!("the kind of the key {} of {name}", field.name)),
            },
            _ => return invalid(format!("the kind of the key {} of {name}", field.name)),
        };
        let width = u32::try_from(field.bitwidth).unwrap_or(0);
        if kind != key.kind || width != key.width {
            return invalid(format!("the key {} of the table {name}", field.name));
        }
        fields.push(FieldForm {
            id: field.id,
            name: field.name.clone(),
            kind,
            width,
        });
    }
    let mut actions = Vec::new();
    for action in &table.action_refs {
        let scope = Scope::try_from(action.scope).unwrap_or(Scope::TableAndDefault);
        actions.push(action_form(action.id, scope, info, form, program)?);
    }
    Ok(TableForm {
        name,
        index,
        has_priority: fields.iter().any(|it| it.kind == MatchKind::Ternary),
        fields,
        actions,
        size: usize::try_from(table.size).unwrap_or(0),
        is_constant: table.is_const_table,
        has_constant_default: table.const_default_action_id != 0 || form.is_default_constant,
        has_counter: form.has_counters,
    })
}

fn action_form(
    id: u32,
    scope: Scope,
    info: &P4Info,
    table: &crate::program::Table,
    program: &Program,
) -> Outcome<ActionForm> {
    let is_it = |it: &&p4runtime::config::Action| it.preamble.as_ref().is_some_and(|it| it.id == id);
    let Some(action) = info.actions.iter().find(is_it) else {
        return invalid(format!("the p4info has no action {id:#010x}"));
    };
    let name = preamble(action.preamble.as_ref())?.name.clone();
    let is_choice = |it: &crate::program::Choice| program.actions[it.action].name == name;
    let Some(choice) = table.actions.iter().position(is_choice) else {
        return invalid(format!("the table {} of the program has no action {name}", table.name));
    };
    let loaded = &program.actions[table.actions[choice].action].parameters;
    if loaded.len() != action.params.len() {
        return invalid(format!("the number of parameters of the action {name}"));
    }
    let multicasts = multicasts(program);
    let mut parameters = Vec::new();
    for (parameter, (loaded_name, loaded_width)) in action.params.iter().zip(loaded) {
        let width = u32::try_from(parameter.bitwidth).unwrap_or(0);
        if parameter.name != *loaded_name || width != *loaded_width {
            return invalid(format!("the parameter {} of the action {name}", parameter.name));
        }
        let refers = |it: &String| it.contains("builtin::multicast_group_table");
        let is_group = multicasts && parameter.name == "group" || parameter.annotations.iter().any(refers);
        let name = parameter.name.clone();
        parameters.push(ParameterForm {
            id: parameter.id,
            name,
            width,
            is_group,
        });
    }
    Ok(ActionForm {
        id,
        name,
        choice,
        parameters,
        scope,
    })
}

/// Whether a program sends packets to multicast groups at all.
fn multicasts(program: &Program) -> bool {
    let group = program.standard.mcast_grp;
    program
        .actions
        .iter()
        .flat_map(|it| &it.primitives)
        .any(|it| matches!(it, Primitive::Assign(FieldPlace::Fixed(field), _) if *field == group))
}
