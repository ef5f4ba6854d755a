//! Bodies in JSON.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use super::choices::{Choice, Choices, Shape, word};
use super::{DEEP, LONG, MANY};

/// Values of every type that JSON has, and some that no field takes.
const WRONG: [&str; 12] = [
    "null",
    "true",
    "-1",
    "0.5",
    "1e999",
    "18446744073709551616",
    "\"18446744073709551615\"",
    "\"x\"",
    "\"\\ud800\"",
    "[]",
    "{}",
    "[[null, {\"x\": [1]}], \"x\"]",
];

/// Appends a message. Messages in it are empty below `depth`.
pub(super) fn message(message: &MessageDescriptor, choices: &mut Choices<'_>, depth: usize, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut is_first = true;
    for field in message.fields().filter(|_| depth > 0) {
        let choice = choices.choose(field.name());
        for _ in 0..choice.times(out) {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            // Both names are read.
            let name = match choice.variant % 2 {
                0 => field.json_name(),
                _ => field.name(),
            };
            out.extend(format!("\"{name}\":").bytes());
            value(&field, choice, choices, depth, out);
        }
    }
    out.push(b'}');
}

fn value(field: &FieldDescriptor, choice: Choice, choices: &mut Choices<'_>, depth: usize, out: &mut Vec<u8>) {
    let Choice { shape, variant } = choice;
    match shape {
        Shape::Wrong => out.extend(WRONG[variant % WRONG.len()].bytes()),
        Shape::Large if field.is_list() => {
            let mut one = Vec::new();
            one_value(
                &field.kind(),
                field.name(),
                variant,
                &mut Choices::new(&[]),
                depth,
                &mut one,
            );
            out.push(b'[');
            (0..MANY).for_each(|_| out.extend([&one[..], b","].concat()));
            out.extend(&one);
            out.push(b']');
        }
        Shape::Large if field.is_map() => {
            let pairs: Vec<_> = (0..MANY).map(|at| format!("\"{at}\":\"\"")).collect();
            out.extend(format!("{{{}}}", pairs.join(",")).bytes());
        }
        Shape::Large => {
            let letter = if variant.is_multiple_of(2) { "x" } else { "1" };
            out.extend(format!("\"{}\"", letter.repeat(LONG)).bytes());
        }
        Shape::Deep if variant.is_multiple_of(2) => {
            out.extend(format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP)).bytes())
        }
        Shape::Deep => out.extend(format!("{}1{}", "{\"x\":".repeat(DEEP), "}".repeat(DEEP)).bytes()),
        Shape::Garbled => out.extend(b"\"\xff\xc0\xaf\""),
        Shape::Cut => {}
        Shape::Absent | Shape::Right | Shape::Twice if field.is_map() => {
            out.extend(b"{\"x\":");
            if let Kind::Message(entry) = field.kind() {
                let value = entry.map_entry_value_field();
                one_value(&value.kind(), value.name(), variant, choices, depth, out);
            }
            out.push(b'}');
        }
        Shape::Absent | Shape::Right | Shape::Twice if field.is_list() => {
            out.push(b'[');
            one_value(&field.kind(), field.name(), variant, choices, depth, out);
            out.push(b']');
        }
        Shape::Absent | Shape::Right | Shape::Twice => {
            one_value(&field.kind(), field.name(), variant, choices, depth, out);
        }
    }
}

/// Appends one value of this kind.
fn one_value(kind: &Kind, name: &str, variant: usize, choices: &mut Choices<'_>, depth: usize, out: &mut Vec<u8>) {
    match kind {
        Kind::Message(inner) => message(inner, choices, depth - 1, out),
        Kind::String => out.extend(format!("\"{}\"", word(name)).bytes()),
        Kind::Bytes => out.extend(b"\"aGVsbG8gd2VpciB0ZXN0cw==\""),
        Kind::Bool => out.extend(b"true"),
        Kind::Double | Kind::Float => out.extend(b"0.5"),
        Kind::Enum(names) => {
            let values: Vec<_> = names.values().collect();
            let value = &values[variant / 2 % values.len()];
            match variant % 2 {
                0 => out.extend(format!("\"{}\"", value.name()).bytes()),
                _ => out.extend(value.number().to_string().bytes()),
            }
        }
        // Numbers may be text.
        _ if variant.is_multiple_of(2) => out.extend(b"2"),
        _ => out.extend(b"\"2\""),
    }
}
