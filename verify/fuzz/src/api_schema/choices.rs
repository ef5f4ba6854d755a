//! Bytes as choices.

use super::BODY_MAX;

/// One way to make a field, in variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// It is left out.
    Absent,
    /// As the protocol says.
    Right,
    /// Of another type.
    Wrong,
    /// Too long, or too many.
    Large,
    /// Values within each other.
    Deep,
    /// Text that is not UTF-8.
    Garbled,
    /// It is there two times.
    Twice,
    /// Its value is missing, or shorter than it says.
    Cut,
}

/// The byte of [`Shape::Right`].
pub(super) const RIGHT: u8 = 1;

/// The bytes of every way but the right one, in the variants that differ.
pub(super) fn wrong() -> impl Iterator<Item = u8> {
    let variants = [(0, 1), (2, 12), (3, 2), (4, 2), (5, 1), (6, 1), (7, 3)];
    let bytes = |(shape, variants): (u8, u8)| (0..variants).map(move |variant| shape + 8 * variant);
    variants.into_iter().flat_map(bytes)
}

/// Fields that are refused whatever is in them. A call with all others right should succeed.
const REFUSED: [&str; 2] = ["egress", "room_preset"];

/// How one field is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) shape: Shape,
    /// Below 32.
    pub(super) variant: usize,
}

impl Choice {
    /// How often the field is made in a body that is this long so far.
    pub(super) fn times(self, body: &[u8]) -> usize {
        match self.shape {
            Shape::Absent => 0,
            _ if body.len() > BODY_MAX => 0,
            Shape::Twice => 2,
            _ => 1,
        }
    }
}

/// The bytes that are left to choose by. When there are none, fields are left out.
pub(super) struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// How many of these bytes were used.
    pub(super) fn taken(&self, of: &[u8]) -> usize {
        of.len() - self.0.len()
    }

    /// How a field of this name is made.
    pub(super) fn choose(&mut self, field: &str) -> Choice {
        let byte = match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        };
        Choice {
            shape: match byte % 8 {
                0 => Shape::Absent,
                RIGHT if byte == RIGHT && REFUSED.contains(&field) => Shape::Absent,
                RIGHT => Shape::Right,
                2 => Shape::Wrong,
                3 => Shape::Large,
                4 => Shape::Deep,
                5 => Shape::Garbled,
                6 => Shape::Twice,
                _ => Shape::Cut,
            },
            variant: usize::from(byte / 8),
        }
    }
}

/// A text for a field of this name that means something to the server.
pub(super) fn word(field: &str) -> &'static str {
    match field {
        "room" | "name" | "names" => super::ROOM,
        "destination_room" => "cellar",
        _ if field.contains("identit") => "mallory",
        _ => "x",
    }
}
