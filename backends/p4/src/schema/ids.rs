//! Looks up ids and widths by name.

use p4runtime::config::{P4Info, Preamble, match_field};

use super::{Field, Fields, ProgramError, is_prefix};
use crate::entry::{Action, Table};

pub(super) fn table_of(info: &P4Info, table: Table) -> Result<Fields, ProgramError> {
    let name = table.name();
    let missing = || ProgramError::Missing("table", name.to_owned());
    let is_it = |preamble: &Option<Preamble>| preamble.as_ref().is_some_and(|preamble| preamble.alias == name);
    let found = info
        .tables
        .iter()
        .find(|found| is_it(&found.preamble))
        .ok_or_else(missing)?;
    let kind = match is_prefix(table) {
        true => match_field::MatchType::Lpm,
        false => match_field::MatchType::Exact,
    };
    let kind = Some(match_field::Match::MatchType(kind.into()));
    let mut fields = Vec::new();
    for field in table.fields() {
        let known = found.match_fields.iter().find(|known| known.name == *field);
        let known = known.ok_or_else(|| ProgramError::Missing("key field", format!("{name}.{field}")))?;
        if known.r#match != kind {
            return Err(ProgramError::Form(name.to_owned()));
        }
        fields.push(Field {
            id: known.id,
            width: known.bitwidth.unsigned_abs(),
        });
    }
    if found.match_fields.len() != fields.len() {
        return Err(ProgramError::Form(name.to_owned()));
    }
    let id = found.preamble.as_ref().ok_or_else(missing)?.id;
    Ok(Fields {
        id,
        fields,
        size: found.size,
    })
}

pub(super) fn action_of(info: &P4Info, action: Action) -> Result<Fields, ProgramError> {
    let name = action.name();
    let found = info.actions.iter().find_map(|found| {
        let preamble = found.preamble.as_ref().filter(|preamble| preamble.alias == name)?;
        Some((preamble.id, &found.params))
    });
    let (id, params) = found.ok_or_else(|| ProgramError::Missing("action", name.to_owned()))?;
    let fields = action.fields().iter().map(|param| {
        let known = params.iter().find(|known| known.name == *param);
        let known = known.ok_or_else(|| ProgramError::Missing("parameter", format!("{name}.{param}")))?;
        Ok(Field {
            id: known.id,
            width: known.bitwidth.unsigned_abs(),
        })
    });
    let fields: Vec<Field> = fields.collect::<Result<_, _>>()?;
    match params.len() == fields.len() {
        true => Ok(Fields { id, fields, size: 0 }),
        false => Err(ProgramError::Form(name.to_owned())),
    }
}

pub(super) fn counter_of(info: &P4Info, name: &str) -> Result<(u32, u32), ProgramError> {
    let found = info.counters.iter().find_map(|found| {
        let preamble = found.preamble.as_ref().filter(|preamble| preamble.alias == name)?;
        Some((preamble.id, u32::try_from(found.size).ok()?))
    });
    found.ok_or_else(|| ProgramError::Missing("counter", name.to_owned()))
}

pub(super) fn metadata_of(info: &P4Info, name: &str, fields: &[&str]) -> Result<Vec<Field>, ProgramError> {
    let found = info
        .controller_packet_metadata
        .iter()
        .find(|found| found.preamble.as_ref().is_some_and(|preamble| preamble.alias == name));
    let found = found.ok_or_else(|| ProgramError::Missing("controller header", name.to_owned()))?;
    let fields = fields.iter().map(|field| {
        let known = found.metadata.iter().find(|known| known.name == *field);
        let known = known.ok_or_else(|| ProgramError::Missing("field", format!("{name}.{field}")))?;
        Ok(Field {
            id: known.id,
            width: known.bitwidth.unsigned_abs(),
        })
    });
    fields.collect()
}
