//! Tables, conditions and the order in which a pipeline visits them.

use serde_json::Value;

use super::expressions::{expression, validity};
use super::names::{Names, word};
use super::{Loaded, refused};
use crate::json::{self, Pipeline};
use crate::program::{Choice, Condition, ConstantEntry, Key, KeySource, MatchKind, Node, Program, Table, Word, mask};

pub(crate) fn load(pipelines: &[Pipeline], program: &mut Program, names: &mut Names) -> Loaded<()> {
    let (mut tables, mut conditions) = (0, 0);
    for pipeline in pipelines {
        if !pipeline.action_profiles.is_empty() {
            return refused("action profiles");
        }
        if !pipeline.action_calls.is_empty() {
            return refused("action calls outside of tables");
        }
        for table in &pipeline.tables {
            names.nodes.insert(table.name.clone(), Node::Table(tables));
            tables += 1;
        }
        for condition in &pipeline.conditionals {
            names.nodes.insert(condition.name.clone(), Node::Condition(conditions));
            conditions += 1;
        }
    }
    for pipeline in pipelines {
        for table in &pipeline.tables {
            match load_table(table, program, names) {
                Ok(table) => program.tables.push(table),
                Err(error) => return refused(format!("{} in table {}", error.0, table.name)),
            }
        }
        for condition in &pipeline.conditionals {
            program.conditions.push(Condition {
                expression: expression(&condition.expression, names)?,
                yes: next(condition.true_next.as_deref(), names)?,
                no: next(condition.false_next.as_deref(), names)?,
            });
        }
        let first = next(pipeline.init_table.as_deref(), names)?;
        match pipeline.name.as_str() {
            "ingress" => program.ingress = first,
            "egress" => program.egress = first,
            other => return refused(format!("the pipeline {other}")),
        }
    }
    Ok(())
}

fn next(name: Option<&str>, names: &Names) -> Loaded<Option<Node>> {
    name.map(|it| names.node(it)).transpose()
}

fn load_table(table: &json::Table, program: &Program, names: &Names) -> Loaded<Table> {
    if table.kind != "simple" {
        return refused(format!("the type {}", table.kind));
    }
    if table.support_timeout {
        return refused("idle time-outs");
    }
    if !table.direct_meters.is_null() {
        return refused("direct meters");
    }
    let mut keys = Vec::new();
    for key in &table.key {
        keys.push(load_key(key, names)?);
    }
    if keys.iter().filter(|it| it.kind == MatchKind::Lpm).count() > 1 {
        return refused("two longest prefixes");
    }
    let follows = |name: &str| match table.next_tables.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(node)) => names.node(node).map(Some),
        Some(other) => refused(format!("the next table {other}")),
    };
    let by_hit = if table.next_tables.keys().any(|it| it == "__HIT__" || it == "__MISS__") {
        Some((follows("__HIT__")?, follows("__MISS__")?))
    } else {
        None
    };
    let mut actions = Vec::new();
    for (id, name) in table.action_ids.iter().zip(&table.actions) {
        let Some(&action) = names.actions.get(id) else {
            return refused(format!("the unknown action {name}"));
        };
        actions.push(Choice {
            action,
            next: follows(name)?,
        });
    }
    let mut entries = Vec::new();
    for entry in &table.entries {
        let (choice, data) = entry_action(&entry.action_entry, table, program, names)?;
        let mut parts = Vec::new();
        for (key, form) in entry.match_key.iter().zip(&keys) {
            parts.push(constant_key(key, form)?);
        }
        entries.push(ConstantEntry {
            parts,
            priority: entry.priority,
            choice,
            data,
        });
    }
    let default = table.default_entry.as_ref();
    Ok(Table {
        name: table.name.clone(),
        keys,
        has_counters: table.with_counters,
        actions,
        by_hit,
        without: next(table.base_default_next.as_deref(), names)?,
        default: default.map(|it| entry_action(it, table, program, names)).transpose()?,
        is_default_constant: default.is_some_and(|it| it.action_const),
        entries,
    })
}

fn load_key(key: &json::Key, names: &Names) -> Loaded<Key> {
    let kind = match key.match_type.as_str() {
        "exact" => MatchKind::Exact,
        "lpm" => MatchKind::Lpm,
        "ternary" => MatchKind::Ternary,
        other => return refused(format!("a key of the kind {other}")),
    };
    let (header, field) = &key.target;
    let target = Value::from(vec![header.clone(), field.clone()]);
    let (source, width) = match validity(&target, names)? {
        Some(header) => (KeySource::Validity(header), 1),
        None => {
            let field = names.field(header, field)?;
            (KeySource::Field(field), names.widths[field])
        }
    };
    let mask = match &key.mask {
        Some(mask) => word(mask)?,
        None => mask(width),
    };
    Ok(Key {
        source,
        kind,
        width,
        mask,
    })
}

/// The place of an entry's action in the table's list, and its parameters.
fn entry_action(
    entry: &json::DefaultEntry,
    table: &json::Table,
    program: &Program,
    names: &Names,
) -> Loaded<(usize, Vec<Word>)> {
    let Some(choice) = table.action_ids.iter().position(|it| *it == entry.action_id) else {
        return refused("an entry with an action of another table");
    };
    let data = entry
        .action_data
        .iter()
        .map(|it| word(it))
        .collect::<Loaded<Vec<_>>>()?;
    let action = &program.actions[names.actions[&entry.action_id]];
    if data.len() != action.parameters.len() {
        return refused(format!("an entry with {} parameters", data.len()));
    }
    Ok((choice, data))
}

fn constant_key(key: &json::ConstantKey, form: &Key) -> Loaded<(Word, Word)> {
    let value = match &key.key {
        Value::Bool(value) => Word::from(*value),
        Value::String(text) => word(text)?,
        other => return refused(format!("the key {other}")),
    };
    let mask = match form.kind {
        MatchKind::Exact => mask(form.width),
        MatchKind::Lpm => prefix(key.prefix_length.unwrap_or(0), form.width),
        MatchKind::Ternary => key.mask.as_deref().map_or(Ok(0), word)?,
    };
    Ok((value & mask, mask))
}

/// The mask of a prefix.
pub(crate) fn prefix(length: u32, width: u32) -> Word {
    let length = length.min(width);
    if length == 0 {
        0
    } else {
        mask(length) << (width - length)
    }
}
