//! The indices of a program's names, while it is loaded.

use std::collections::HashMap;

use serde_json::Value;

use super::{Loaded, refused};
use crate::program::{Node, Word};

/// Indices by name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) headers: HashMap<String, usize>,
    /// Headers by the compiler's number.
    pub(crate) header_ids: HashMap<u64, usize>,
    pub(crate) fields: HashMap<(String, String), usize>,
    /// The width of each field.
    pub(crate) widths: Vec<u32>,
    /// The signed fields.
    pub(crate) signed: Vec<bool>,
    pub(crate) variable: Vec<bool>,
    pub(crate) stacks: HashMap<String, usize>,
    /// The headers of each stack.
    pub(crate) elements: Vec<Vec<usize>>,
    /// The first field of each header.
    pub(crate) firsts: Vec<usize>,
    pub(crate) counters: HashMap<String, usize>,
    pub(crate) registers: HashMap<String, usize>,
    pub(crate) calculations: HashMap<String, usize>,
    pub(crate) states: HashMap<String, usize>,
    /// Actions by the compiler's number.
    pub(crate) actions: HashMap<u64, usize>,
    /// Tables and conditions.
    pub(crate) nodes: HashMap<String, Node>,
}

impl Names {
    pub(crate) fn header(&self, name: &str) -> Loaded<usize> {
        find(&self.headers, name, "header")
    }

    pub(crate) fn stack(&self, name: &str) -> Loaded<usize> {
        find(&self.stacks, name, "header stack")
    }

    pub(crate) fn calculation(&self, name: &str) -> Loaded<usize> {
        find(&self.calculations, name, "computation")
    }

    pub(crate) fn state(&self, name: &str) -> Loaded<usize> {
        find(&self.states, name, "parser state")
    }

    pub(crate) fn node(&self, name: &str) -> Loaded<Node> {
        find(&self.nodes, name, "table or condition")
    }

    pub(crate) fn field(&self, header: &str, field: &str) -> Loaded<usize> {
        match self.fields.get(&(header.to_owned(), field.to_owned())) {
            Some(index) => Ok(*index),
            None => refused(format!("there is no field {header}.{field}")),
        }
    }

    /// The field that `["header", "field"]` names.
    pub(crate) fn field_of(&self, value: &Value) -> Loaded<usize> {
        let (header, field) = pair(value)?;
        self.field(header, field)
    }

    /// A stack, and the place of a field in its headers, of `["stack", "field"]`.
    pub(crate) fn stack_field_of(&self, value: &Value) -> Loaded<(usize, usize)> {
        let (name, field) = pair(value)?;
        let stack = self.stack(name)?;
        let Some(first) = self.elements[stack].first() else {
            return refused(format!("the empty header stack {name}"));
        };
        let header = self.headers.iter().find(|(_, index)| *index == first);
        let Some((header, _)) = header else {
            return refused(format!("stack {name}"));
        };
        Ok((stack, self.field(header, field)? - self.firsts[*first]))
    }

    pub(crate) fn header_of(&self, value: &Value) -> Loaded<usize> {
        self.header(text(value)?)
    }
}

fn find<T: Copy>(names: &HashMap<String, T>, name: &str, kind: &str) -> Loaded<T> {
    match names.get(name) {
        Some(index) => Ok(*index),
        None => refused(format!("there is no {kind} {name}")),
    }
}

/// A text.
pub(crate) fn text(value: &Value) -> Loaded<&str> {
    match value {
        Value::String(text) => Ok(text),
        other => refused(format!("{other} where a name was expected")),
    }
}

fn pair(value: &Value) -> Loaded<(&str, &str)> {
    match value.as_array().map(Vec::as_slice) {
        Some([Value::String(first), Value::String(second)]) => Ok((first, second)),
        _ => refused(format!("{value} where a field was expected")),
    }
}

/// A number that is written in hexadecimal, perhaps negative.
pub(crate) fn word_of(value: &Value) -> Loaded<Word> {
    word(text(value)?)
}

/// A number that is written in hexadecimal, perhaps negative.
pub(crate) fn word(text: &str) -> Loaded<Word> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    match Word::from_str_radix(digits, 16) {
        Ok(value) if is_negative => Ok(value.wrapping_neg()),
        Ok(value) => Ok(value),
        Err(_) => refused(format!("the constant {text}, of more than 128 bits")),
    }
}

/// The bytes that are written in hexadecimal.
pub(crate) fn bytes(text: &str) -> Loaded<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let digits = if digits.len() % 2 == 1 {
        format!("0{digits}")
    } else {
        digits.to_owned()
    };
    let read = |index: usize| u8::from_str_radix(digits.get(index..index + 2)?, 16).ok();
    match (0..digits.len()).step_by(2).map(read).collect() {
        Some(bytes) => Ok(bytes),
        None => refused(format!("{text} where bytes were expected")),
    }
}
