//! Streams of TURN clients that are expensive to read.

use super::Family;

/// The longest message, in attributes without a value.
const ATTRIBUTES: usize = 500;

/// Messages of the greatest length: attributes that are unknown, each another one, in a Binding
/// request and in one for an allocation; peers; and proofs.
pub const TURN: &[Family] = &[
    ("unknown attributes of a Binding", |len| stream(len, 0x01, unknown)),
    ("unknown attributes of an Allocate", |len| stream(len, 0x03, unknown)),
    ("peers", |len| stream(len, 0x08, |_| vec![0x00, 0x12, 0, 0])),
    ("proofs", |len| {
        stream(len, 0x03, |_| [&[0x00, 0x1c, 0, 16][..], &[7; 16]].concat())
    }),
];

fn unknown(number: usize) -> Vec<u8> {
    let [high, low] = (0x0100 + number as u16).to_be_bytes();
    vec![high, low, 0, 0]
}

/// Messages of this method, whose attributes are written one after the other.
fn stream(len: usize, method: u8, attribute: fn(usize) -> Vec<u8>) -> Vec<u8> {
    let mut attributes = Vec::new();
    for number in 0..ATTRIBUTES {
        let next = attribute(number);
        if attributes.len() + next.len() > 4 * ATTRIBUTES {
            break;
        }
        attributes.extend(next);
    }
    let [high, low] = (attributes.len() as u16).to_be_bytes();
    let header = [
        0, method, high, low, 0x21, 0x12, 0xa4, 0x42, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    ];
    let message = [&header[..], &attributes].concat();
    message.repeat(len / message.len() + 1)
}
