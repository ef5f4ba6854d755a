//! The states of the parser.

use serde_json::Value;

use super::actions::{assignment, primitive};
use super::expressions::expression;
use super::names::{Names, bytes, text};
use super::{Loaded, refused};
use crate::json::{Call, Json, ParseState, Typed};
use crate::program::{Ahead, Case, KeyPart, Operation, Program, State, Word, mask};

pub(crate) fn load(json: &Json, program: &mut Program, names: &Names) -> Loaded<()> {
    let [parser] = json.parsers.as_slice() else {
        return refused("more than one parser");
    };
    let mut local = Names::default();
    for (index, state) in parser.parse_states.iter().enumerate() {
        local.states.insert(state.name.clone(), index);
    }
    for state in &parser.parse_states {
        match load_state(state, names, &local) {
            Ok(state) => program.states.push(state),
            Err(error) => {
                return refused(format!("{} in state {} of {}", error.0, state.name, parser.name));
            }
        }
    }
    program.first_state = Some(local.state(&parser.init_state)?);
    Ok(())
}

fn load_state(state: &ParseState, names: &Names, states: &Names) -> Loaded<State> {
    let mut loaded = State {
        operations: Vec::new(),
        key: Vec::new(),
        cases: Vec::new(),
        default: None,
    };
    for call in &state.parser_ops {
        loaded.operations.push(operation(call, names)?);
    }
    let mut widths = Vec::new();
    for part in &state.transition_key {
        let (part, width) = key_part(part, names)?;
        loaded.key.push(part);
        widths.push(width);
    }
    for transition in &state.transitions {
        let next = transition
            .next_state
            .as_deref()
            .map(|it| states.state(it))
            .transpose()?;
        let value = transition.value.as_deref().unwrap_or("default");
        let kind = transition.kind.as_deref();
        if kind == Some("default") || (kind.is_none() && value == "default") {
            loaded.default = next;
            continue;
        }
        if kind.is_some_and(|it| it != "hexstr") {
            return refused(format!("a transition of the type {}", kind.unwrap_or_default()));
        }
        let values = split(value, &widths)?;
        let masks = match &transition.mask {
            Some(mask) => split(mask, &widths)?,
            None => widths.iter().map(|it| mask(*it)).collect(),
        };
        let parts = values.into_iter().zip(masks).map(|(value, mask)| (value & mask, mask));
        loaded.cases.push(Case {
            parts: parts.collect(),
            next,
        });
    }
    Ok(loaded)
}

/// The parts of a transition's value, each padded to bytes.
fn split(value: &str, widths: &[u32]) -> Loaded<Vec<Word>> {
    let bytes = bytes(value)?;
    let needed = widths.iter().map(|it| it.div_ceil(8) as usize).sum::<usize>();
    if bytes.len() > needed {
        return refused(format!("a transition on {value}, of more than {needed} bytes"));
    }
    let mut padded = vec![0; needed - bytes.len()];
    padded.extend(bytes);
    let mut rest = padded.as_slice();
    let mut parts = Vec::new();
    for width in widths {
        let (part, after) = rest.split_at(width.div_ceil(8) as usize);
        parts.push(part.iter().fold(0, |all, byte| all << 8 | Word::from(*byte)));
        rest = after;
    }
    Ok(parts)
}

fn key_part(part: &Typed, names: &Names) -> Loaded<(KeyPart, u32)> {
    match part.kind.as_str() {
        "field" => {
            let field = names.field_of(&part.value)?;
            Ok((KeyPart::Field(field), names.widths[field]))
        }
        "stack_field" => {
            let (stack, offset) = names.stack_field_of(&part.value)?;
            let first = names.firsts[names.elements[stack][0]];
            Ok((KeyPart::Last(stack, offset), names.widths[first + offset]))
        }
        "lookahead" => {
            let ahead = ahead(&part.value)?;
            Ok((KeyPart::Ahead(ahead), ahead.width))
        }
        other => refused(format!("a transition by {other}")),
    }
}

fn ahead(value: &Value) -> Loaded<Ahead> {
    let number = |index: usize| value.get(index).and_then(Value::as_u64);
    match (number(0), number(1)) {
        (Some(offset), Some(width @ 0..=128)) => Ok(Ahead {
            offset: usize::try_from(offset).unwrap_or(usize::MAX),
            width: u32::try_from(width).unwrap_or(128),
        }),
        _ => refused(format!("the look-ahead {value}")),
    }
}

fn operation(call: &Call, names: &Names) -> Loaded<Operation> {
    let name = call.op.as_str();
    let given = |index: usize| match call.parameters.get(index) {
        Some(value) => Ok(value),
        None => refused(format!("the operation {name} with too few parameters")),
    };
    let kind_of = |value: &Value| value.get("type").and_then(Value::as_str).map(str::to_owned);
    let value_of = |value: &Value| value.get("value").cloned().unwrap_or(Value::Null);
    Ok(match name {
        "extract" | "extract_VL" => {
            let (kind, value) = (kind_of(given(0)?), value_of(given(0)?));
            let length = || expression(given(1)?, names);
            let is_variable = name == "extract_VL";
            match kind.as_deref() {
                Some("regular") if is_variable => Operation::ExtractVariable(names.header_of(&value)?, length()?),
                Some("regular") => Operation::Extract(names.header_of(&value)?),
                Some("stack") if is_variable => Operation::ExtractNextVariable(names.stack(text(&value)?)?, length()?),
                Some("stack") => Operation::ExtractNext(names.stack(text(&value)?)?),
                other => return refused(format!("extract to {}", other.unwrap_or("nothing"))),
            }
        }
        "set" => {
            if kind_of(given(1)?).as_deref() == Some("lookahead") {
                let target = given(0)?;
                let field = names.field_of(&value_of(target))?;
                Operation::SetAhead(field, ahead(&value_of(given(1)?))?)
            } else {
                Operation::Primitive(assignment(given(0)?, given(1)?, names)?)
            }
        }
        "advance" => Operation::Advance(expression(given(0)?, names)?),
        "verify" => Operation::Verify(expression(given(0)?, names)?, expression(given(1)?, names)?),
        "primitive" => match serde_json::from_value::<Call>(given(0)?.clone()) {
            Ok(call) => Operation::Primitive(primitive(&call, names)?),
            Err(error) => return refused(format!("a primitive: {error}")),
        },
        other => return refused(format!("the operation {other}")),
    })
}
