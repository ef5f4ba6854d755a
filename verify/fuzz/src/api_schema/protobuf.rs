//! Bodies in protobuf.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use super::choices::{Choice, Choices, Shape, word};
use super::{DEEP, LONG, MANY};

/// Types of fields on the wire (the encoding of Protocol Buffers).
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const WITH_LENGTH: u64 = 2;
const GROUP: u64 = 3;
const FOUR_BYTES: u64 = 5;

/// Appends a message. Messages in it are empty below `depth`.
pub(super) fn message(message: &MessageDescriptor, choices: &mut Choices<'_>, depth: usize, out: &mut Vec<u8>) {
    for field in message.fields().filter(|_| depth > 0) {
        let choice = choices.choose(field.name());
        for _ in 0..choice.times(out) {
            value(&field, choice, choices, depth, out);
        }
    }
}

fn value(field: &FieldDescriptor, choice: Choice, choices: &mut Choices<'_>, depth: usize, out: &mut Vec<u8>) {
    let Choice { shape, variant } = choice;
    let number = field.number();
    match shape {
        // Two of the eight types are not in use.
        Shape::Wrong => {
            key(number, variant as u64 % 8, out);
            out.extend([1; 9]);
        }
        Shape::Large if field.is_list() => {
            let mut one = Vec::new();
            right(field, &mut Choices::new(&[]), depth, &mut one);
            out.extend(one.repeat(MANY));
        }
        Shape::Large => match field.kind() {
            Kind::String | Kind::Bytes | Kind::Message(_) => {
                key(number, WITH_LENGTH, out);
                with_length(&vec![b'x'; LONG], out);
            }
            // One byte more than a number has.
            _ => {
                key(number, VARINT, out);
                out.extend([0xff; 10]);
                out.push(1);
            }
        },
        Shape::Deep if variant.is_multiple_of(2) => {
            (0..DEEP).for_each(|_| key(number, GROUP, out));
        }
        Shape::Deep => {
            let mut inner = Vec::new();
            for _ in 0..DEEP {
                let mut outer = Vec::new();
                key(number, WITH_LENGTH, &mut outer);
                with_length(&inner, &mut outer);
                inner = outer;
            }
            out.extend(inner);
        }
        Shape::Garbled => {
            key(number, WITH_LENGTH, out);
            with_length(b"\xff\xc0\xaf", out);
        }
        Shape::Cut => {
            key(number, WITH_LENGTH, out);
            varint([1000, u64::from(u32::MAX), u64::MAX][variant % 3], out);
        }
        Shape::Absent | Shape::Right | Shape::Twice => right(field, choices, depth, out),
    }
}

/// Appends a field with one value of its type. A pair of a map is a message.
fn right(field: &FieldDescriptor, choices: &mut Choices<'_>, depth: usize, out: &mut Vec<u8>) {
    let number = field.number();
    match field.kind() {
        Kind::Message(kind) => {
            let mut inner = Vec::new();
            message(&kind, choices, depth - 1, &mut inner);
            key(number, WITH_LENGTH, out);
            with_length(&inner, out);
        }
        Kind::String => {
            key(number, WITH_LENGTH, out);
            with_length(word(field.name()).as_bytes(), out);
        }
        Kind::Bytes => {
            key(number, WITH_LENGTH, out);
            with_length(b"hello weir tests", out);
        }
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => {
            key(number, EIGHT_BYTES, out);
            out.extend([1; 8]);
        }
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => {
            key(number, FOUR_BYTES, out);
            out.extend([1; 4]);
        }
        _ => {
            key(number, VARINT, out);
            varint(1, out);
        }
    }
}

fn key(number: u32, kind: u64, out: &mut Vec<u8>) {
    varint((u64::from(number) << 3) | kind, out);
}

fn with_length(content: &[u8], out: &mut Vec<u8>) {
    varint(content.len() as u64, out);
    out.extend(content);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
