//! Actions and their primitives.

use serde_json::Value;

use super::expressions::{expression, header, stack, target};
use super::names::{Names, text};
use super::{Loaded, refused};
use crate::json::{self, Call};
use crate::program::{Action, Expression, FieldPlace, Primitive, Program};

pub(crate) fn load(actions: &[json::Action], program: &mut Program, names: &mut Names) -> Loaded<()> {
    for action in actions {
        let mut primitives = Vec::new();
        for call in &action.primitives {
            match primitive(call, names) {
                Ok(primitive) => primitives.push(primitive),
                Err(error) => return refused(format!("{} in action {}", error.0, action.name)),
            }
        }
        let mut parameters = Vec::new();
        for parameter in &action.runtime_data {
            if parameter.bitwidth > 128 {
                return refused(format!("parameter {} of {}", parameter.name, action.name));
            }
            parameters.push((parameter.name.clone(), parameter.bitwidth));
        }
        names.actions.insert(action.id, program.actions.len());
        program.actions.push(Action {
            name: action.name.clone(),
            parameters,
            primitives,
        });
    }
    Ok(())
}

/// One primitive.
pub(crate) fn primitive(call: &Call, names: &Names) -> Loaded<Primitive> {
    let name = call.op.as_str();
    let given = |index: usize| match call.parameters.get(index) {
        Some(value) => Ok(value),
        None => refused(format!("the primitive {name} with too few parameters")),
    };
    let value = |index: usize| expression(given(index)?, names);
    let object = |index: usize| text(given(index)?.get("value").unwrap_or(&Value::Null));
    let register = |index: usize| match names.registers.get(object(index)?) {
        Some(register) => Ok(*register),
        None => refused(format!("there is no register {}", object(index)?)),
    };
    Ok(match name {
        "assign" | "modify_field" => assignment(given(0)?, given(1)?, names)?,
        "assign_VL" => Primitive::AssignVariable(target(given(0)?, names)?, variable(given(1)?, names)?),
        "assign_header" | "copy_header" => {
            Primitive::AssignHeader(header(given(0)?, names)?, header(given(1)?, names)?)
        }
        "assign_header_stack" => Primitive::AssignStack(stack(given(0)?, names)?, stack(given(1)?, names)?),
        "push" => Primitive::Push(stack(given(0)?, names)?, value(1)?),
        "pop" => Primitive::Pop(stack(given(0)?, names)?, value(1)?),
        "add_header" => Primitive::SetValid(header(given(0)?, names)?),
        "remove_header" => Primitive::SetInvalid(header(given(0)?, names)?),
        "mark_to_drop" | "drop" => Primitive::Drop,
        "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => Primitive::Clone(value(0)?, value(1)?),
        "resubmit" => Primitive::Resubmit(value(0)?),
        "recirculate" => Primitive::Recirculate(value(0)?),
        "count" => match names.counters.get(object(0)?) {
            Some(counter) => Primitive::Count(*counter, value(1)?),
            None => return refused(format!("there is no counter {}", object(0)?)),
        },
        "register_read" => Primitive::ReadRegister(target(given(0)?, names)?, register(1)?, value(2)?),
        "register_write" => Primitive::WriteRegister(register(0)?, value(1)?, value(2)?),
        "modify_field_with_hash_based_offset" => Primitive::Hash(
            target(given(0)?, names)?,
            value(1)?,
            names.calculation(object(2)?)?,
            value(3)?,
        ),
        "truncate" => Primitive::Truncate(value(0)?),
        "assert" | "assume" => Primitive::Assert(value(0)?),
        "_jump" => Primitive::Jump(offset(given(0)?, names)?),
        "_jump_if_zero" => Primitive::JumpIfZero(value(0)?, offset(given(1)?, names)?),
        "exit" => Primitive::Exit,
        "no_op" | "log_msg" => Primitive::Nothing,
        other => return refused(format!("the primitive {other}")),
    })
}

/// An assignment of a value. Fields of variable length are copied whole.
pub(crate) fn assignment(to: &Value, from: &Value, names: &Names) -> Loaded<Primitive> {
    let to = target(to, names)?;
    if let FieldPlace::Fixed(field) = to
        && names.variable[field]
    {
        return Ok(Primitive::AssignVariable(to, variable(from, names)?));
    }
    Ok(Primitive::Assign(to, expression(from, names)?))
}

fn variable(value: &Value, names: &Names) -> Loaded<FieldPlace> {
    if value.get("type").and_then(Value::as_str) == Some("expression") {
        let inner = value.get("value").unwrap_or(&Value::Null);
        if inner.get("op").is_none() {
            return variable(inner, names);
        }
    }
    target(value, names)
}

fn offset(value: &Value, names: &Names) -> Loaded<usize> {
    match expression(value, names)? {
        Expression::Constant(offset) => Ok(usize::try_from(offset).unwrap_or(usize::MAX)),
        _ => refused("a jump to a computed place"),
    }
}
