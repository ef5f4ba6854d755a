//! The rooms of an API key.

use std::sync::Arc;

/// Names of rooms; the default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomNames(Option<Arc<[String]>>);

impl RoomNames {
    /// Rooms by their names. A `*` at the end of a name stands for any rest.
    pub fn new(names: Vec<String>) -> Self {
        Self(Some(names.into()))
    }

    /// Whether a room is among them.
    pub fn admits(&self, room: &str) -> bool {
        self.0.as_ref().is_none_or(|names| is_room_among(names, room))
    }
}

/// Whether a room is among names. A `*` at the end of a name stands for any rest.
pub fn is_room_among(names: &[String], room: &str) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        Some(start) => room.starts_with(start),
        None => name == room,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_named_or_begins_with_a_name() {
        let names = RoomNames::new(vec!["lobby".to_owned(), "shop-*".to_owned()]);
        assert!(names.admits("lobby") && names.admits("shop-") && names.admits("shop-1"));
        assert!(!names.admits("lobby2") && !names.admits("shop") && !names.admits(""));
        assert!(RoomNames::default().admits("any"));
        assert!(!RoomNames::new(Vec::new()).admits("any"));
    }
}
