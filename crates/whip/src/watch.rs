//! The rooms that anybody may watch.

/// The rooms that are played to viewers without a token. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch(Vec<String>);

impl Watch {
    /// Rooms by their names. A `*` at the end of a name stands for any rest.
    pub fn new(rooms: Vec<String>) -> Self {
        Self(rooms)
    }

    /// Whether a room is among them.
    pub fn admits(&self, room: &str) -> bool {
        access::is_room_among(&self.0, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_named_or_begins_with_a_name() {
        let watch = Watch::new(vec!["lobby".to_owned(), "show-*".to_owned()]);
        assert!(watch.admits("lobby") && watch.admits("show-1") && watch.admits("show-"));
        assert!(!watch.admits("lobby2") && !watch.admits("show") && !watch.admits(""));
        assert!(!Watch::default().admits("lobby"));
        assert!(Watch::new(vec!["*".to_owned()]).admits("any"));
    }
}
