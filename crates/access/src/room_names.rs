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
        let Some(names) = &self.0 else { return true };
        names.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => room.starts_with(start),
            None => name == room,
        })
    }
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
