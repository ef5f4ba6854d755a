//! Values, places and expressions.

use serde_json::Value;

use super::names::{Names, text, word_of};
use super::{Loaded, refused};
use crate::program::{Expression, FieldPlace, HeaderPlace, Operator};

/// A value of any type, as an expression.
pub(crate) fn expression(value: &Value, names: &Names) -> Loaded<Expression> {
    let Some(object) = value.as_object() else {
        return refused(format!("the value {value}"));
    };
    if object.contains_key("op") {
        return operation(value, names);
    }
    let inner = object.get("value").unwrap_or(&Value::Null);
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
    Ok(match kind {
        "expression" => return expression(inner, names),
        "field" => match validity(inner, names)? {
            Some(header) => Expression::Valid(HeaderPlace::Fixed(header)),
            None => {
                let field = names.field_of(inner)?;
                if names.variable[field] {
                    return refused(format!("arithmetic on the variable field {inner}"));
                }
                Expression::Field(field)
            }
        },
        "hexstr" => Expression::Constant(word_of(inner)?),
        "bool" => Expression::Constant(u128::from(inner.as_bool().unwrap_or(false))),
        "runtime_data" | "local" => match inner.as_u64().and_then(|it| usize::try_from(it).ok()) {
            Some(index) => Expression::Parameter(index),
            None => return refused(format!("the parameter {inner}")),
        },
        "stack_field" => {
            let (stack, offset) = names.stack_field_of(inner)?;
            Expression::Of(HeaderPlace::Last(stack), offset)
        }
        "register" => {
            let parts = inner.as_array().map(Vec::as_slice);
            let Some([name, index]) = parts else {
                return refused(format!("register {inner}"));
            };
            let Some(&register) = names.registers.get(text(name)?) else {
                return refused(format!("there is no register {name}"));
            };
            Expression::Register(register, Box::new(expression(index, names)?))
        }
        other => return refused(format!("a value of the type {other}")),
    })
}

/// The header of `["header", "$valid$"]`.
pub(crate) fn validity(value: &Value, names: &Names) -> Loaded<Option<usize>> {
    match value.as_array().map(Vec::as_slice) {
        Some([header, Value::String(field)]) if field == "$valid$" => names.header_of(header).map(Some),
        _ => Ok(None),
    }
}

fn operation(value: &Value, names: &Names) -> Loaded<Expression> {
    let part = |name: &str| value.get(name).unwrap_or(&Value::Null);
    let (left, right) = (part("left"), part("right"));
    let unary = || expression(right, names).map(Box::new);
    let two = |operator| {
        let both = [expression(left, names)?, expression(right, names)?];
        Ok(Expression::Two(operator, Box::new(both)))
    };
    let swapped = |operator| {
        let both = [expression(right, names)?, expression(left, names)?];
        Ok(Expression::Two(operator, Box::new(both)))
    };
    let is_signed = signed(left, names) || signed(right, names);
    let by_sign = |plain, signed| if is_signed { signed } else { plain };
    let (less, less_or_equal) = (
        by_sign(Operator::Less, Operator::LessSigned),
        by_sign(Operator::LessOrEqual, Operator::LessOrEqualSigned),
    );
    match part("op").as_str().unwrap_or_default() {
        "+" => two(Operator::Add),
        "-" => two(Operator::Subtract),
        "*" => two(Operator::Multiply),
        "/" => two(Operator::Divide),
        "%" => two(Operator::Modulo),
        "<<" => two(Operator::ShiftLeft),
        ">>" if signed(left, names) => two(Operator::ShiftRightSigned),
        ">>" => two(Operator::ShiftRight),
        "&" => two(Operator::And),
        "|" => two(Operator::Or),
        "^" => two(Operator::Xor),
        "==" | "==b" => two(Operator::Equal),
        "!=" | "!=b" => two(Operator::NotEqual),
        "<" => two(less),
        ">" => swapped(less),
        "<=" => two(less_or_equal),
        ">=" => swapped(less_or_equal),
        "and" => two(Operator::BothTrue),
        "or" => two(Operator::EitherTrue),
        "not" => Ok(Expression::Not(unary()?)),
        "~" => Ok(Expression::Complement(unary()?)),
        "d2b" => Ok(Expression::IsNotZero(unary()?)),
        "b2d" => expression(right, names),
        "valid" => Ok(Expression::Valid(header(right, names)?)),
        "==h" => Ok(Expression::Same(header(left, names)?, header(right, names)?)),
        "!=h" => {
            let same = Expression::Same(header(left, names)?, header(right, names)?);
            Ok(Expression::Not(Box::new(same)))
        }
        "last_stack_index" => Ok(Expression::LastIndex(stack(right, names)?)),
        "size_stack" => Ok(Expression::Size(stack(right, names)?)),
        "access_field" => {
            let Some(offset) = right.as_u64().and_then(|it| usize::try_from(it).ok()) else {
                return refused(format!("the field {right} of a header"));
            };
            Ok(Expression::Of(header(left, names)?, offset))
        }
        "?" => {
            let all = [
                expression(part("cond"), names)?,
                expression(left, names)?,
                expression(right, names)?,
            ];
            Ok(Expression::Choice(Box::new(all)))
        }
        "two_comp_mod" => Ok(Expression::Extend(
            Box::new(expression(left, names)?),
            width(right, names)?,
        )),
        "usat_cast" => {
            let inner = match expression(left, names)? {
                Expression::Two(Operator::Subtract, both) => Expression::Two(Operator::SubtractSaturating, both),
                other => other,
            };
            Ok(Expression::Saturate(Box::new(inner), width(right, names)?))
        }
        other => refused(format!("the operator {other}")),
    }
}

/// Whether a value is a signed number.
fn signed(value: &Value, names: &Names) -> bool {
    let value = match value.get("type").and_then(Value::as_str) {
        Some("expression") => return value.get("value").is_some_and(|it| signed(it, names)),
        Some("field") => {
            let field = value.get("value").and_then(|it| names.field_of(it).ok());
            return field.is_some_and(|it| names.signed[it]);
        }
        Some("hexstr") => {
            return value
                .get("value")
                .and_then(Value::as_str)
                .is_some_and(|it| it.starts_with('-'));
        }
        _ => value,
    };
    match value.get("op").and_then(Value::as_str) {
        Some("two_comp_mod") => true,
        Some("+" | "-" | "*" | "|" | "^" | "?") => ["left", "right"]
            .iter()
            .any(|side| value.get(side).is_some_and(|it| signed(it, names))),
        Some("<<" | ">>") => value.get("left").is_some_and(|it| signed(it, names)),
        _ => false,
    }
}

fn width(value: &Value, names: &Names) -> Loaded<u32> {
    match expression(value, names)? {
        Expression::Constant(width) if width <= 128 => Ok(u32::try_from(width).unwrap_or(128)),
        _ => refused(format!("a cast to the width {value}")),
    }
}

/// The header that a value names.
pub(crate) fn header(value: &Value, names: &Names) -> Loaded<HeaderPlace> {
    let inner = value.get("value").unwrap_or(&Value::Null);
    if let Some(op) = value.get("op").and_then(Value::as_str) {
        if !matches!(op, "dereference_header_stack" | "dereference_stack") {
            return refused(format!("the operator {op} where a header was expected"));
        }
        let index = expression(value.get("right").unwrap_or(&Value::Null), names)?;
        let stack = stack(value.get("left").unwrap_or(&Value::Null), names)?;
        return Ok(HeaderPlace::Element(stack, Box::new(index)));
    }
    match value.get("type").and_then(Value::as_str).unwrap_or_default() {
        "expression" => header(inner, names),
        "header" | "regular" => Ok(HeaderPlace::Fixed(names.header_of(inner)?)),
        other => refused(format!("{other} where a header was expected")),
    }
}

/// The stack that a value names.
pub(crate) fn stack(value: &Value, names: &Names) -> Loaded<usize> {
    let inner = value.get("value").unwrap_or(&Value::Null);
    match value.get("type").and_then(Value::as_str).unwrap_or_default() {
        "expression" => stack(inner, names),
        "header_stack" | "stack" => names.stack(text(inner)?),
        other => refused(format!("{other} where a header stack was expected")),
    }
}

/// The field that a value names, to write to it.
pub(crate) fn target(value: &Value, names: &Names) -> Loaded<FieldPlace> {
    let inner = value.get("value").unwrap_or(&Value::Null);
    if value.get("type").and_then(Value::as_str) == Some("field") {
        return Ok(FieldPlace::Fixed(names.field_of(inner)?));
    }
    match expression(value, names)? {
        Expression::Field(field) => Ok(FieldPlace::Fixed(field)),
        Expression::Of(header, offset) => Ok(FieldPlace::Of(header, offset)),
        _ => refused(format!("{value} where a field was expected")),
    }
}
