//! Rooms and the participants in them, in pages: the answers of `/api/rooms` and
//! `/api/participants`.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::observation::TrackSource;
use crate::receivers::MediaKind;

/// A part of the rooms that a token gives access to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RoomPage {
    /// The rooms of this page, in the requested order.
    pub rooms: Vec<RoomSummary>,
    /// The number of rooms on all pages.
    pub total: usize,
}

/// One room without the texts of its application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RoomSummary {
    /// The name, by which clients join it.
    pub name: String,
    /// The number of participants, with agents and recorders.
    pub participants: usize,
    /// The number of participants that publish.
    pub publishers: usize,
    /// When it was created. Shape: milliseconds since the Unix epoch.
    pub created_at_ms: u64,
}

/// The order of rooms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RoomOrder {
    /// By the bytes of the name.
    #[default]
    Name,
    /// The most participants first.
    Participants,
    /// The room that was created last comes first.
    Created,
}

/// A part of the participants that a token gives access to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ParticipantPage {
    /// The participants of this page, by room and identity.
    pub participants: Vec<ParticipantSummary>,
    /// The number of participants on all pages.
    pub total: usize,
}

/// One participant without the texts of its application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ParticipantSummary {
    /// The name of its room.
    pub room: String,
    /// The identity, of which there is one in a room.
    pub identity: String,
    /// Its display name; may be empty.
    pub name: String,
    /// Whether its media is connected.
    pub is_connected: bool,
    /// When it joined. Shape: milliseconds since the Unix epoch.
    pub joined_at_ms: u64,
    /// The tracks that it publishes.
    pub tracks: Vec<PublishedTrack>,
}

/// One track, as its publisher announced it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PublishedTrack {
    /// The id that clients and the server API know the track by.
    pub id: String,
    /// The kind of its media.
    pub kind: MediaKind,
    /// The source, as the publisher says.
    pub source: TrackSource,
    /// Whether its publisher sends nothing now.
    pub is_muted: bool,
}

impl RoomOrder {
    /// Compares two rooms, those that are equal in this order by their names.
    pub fn compare(self, a: &RoomSummary, b: &RoomSummary) -> Ordering {
        let by_value = match self {
            RoomOrder::Name => Ordering::Equal,
            RoomOrder::Participants => Reverse(a.participants).cmp(&Reverse(b.participants)),
            RoomOrder::Created => Reverse(a.created_at_ms).cmp(&Reverse(b.created_at_ms)),
        };
        by_value.then_with(|| a.name.cmp(&b.name))
    }
}

impl RoomPage {
    /// One page of the first pages of several controllers. A room on its way from one to another
    /// is in it once, with the entry of more participants.
    #[must_use]
    pub fn merge(pages: Vec<RoomPage>, order: RoomOrder, range: Range<usize>) -> Self {
        let (mut total, mut by_name) = (0, BTreeMap::<String, RoomSummary>::new());
        for page in pages {
            total += page.total;
            for room in page.rooms {
                match by_name.get(&room.name) {
                    Some(known) => {
                        total -= 1;
                        if known.participants < room.participants {
                            by_name.insert(room.name.clone(), room);
                        }
                    }
                    None => drop(by_name.insert(room.name.clone(), room)),
                }
            }
        }
        let mut rooms: Vec<RoomSummary> = by_name.into_values().collect();
        rooms.sort_by(|a, b| order.compare(a, b));
        Self {
            rooms: cut(rooms, range),
            total,
        }
    }
}

impl ParticipantPage {
    /// One page of the first pages of several controllers.
    #[must_use]
    pub fn merge(pages: Vec<ParticipantPage>, range: Range<usize>) -> Self {
        let total = pages.iter().map(|page| page.total).sum();
        let mut participants: Vec<_> = pages.into_iter().flat_map(|page| page.participants).collect();
        participants.sort_by(|a, b| (&a.room, &a.identity).cmp(&(&b.room, &b.identity)));
        Self {
            participants: cut(participants, range),
            total,
        }
    }
}

fn cut<T>(items: Vec<T>, range: Range<usize>) -> Vec<T> {
    items.into_iter().skip(range.start).take(range.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(name: &str, participants: usize) -> RoomSummary {
        RoomSummary {
            name: name.to_owned(),
            participants,
            publishers: 0,
            created_at_ms: participants as u64,
        }
    }

    fn page(rooms: &[(&str, usize)]) -> RoomPage {
        RoomPage {
            rooms: rooms
                .iter()
                .map(|(name, participants)| room(name, *participants))
                .collect(),
            total: rooms.len(),
        }
    }

    #[test]
    fn rooms_of_several_controllers_are_in_one_order_and_once() {
        let pages = || vec![page(&[("c", 1), ("a", 0)]), page(&[("b", 2), ("a", 3)])];
        let names = |order, range| {
            let merged = RoomPage::merge(pages(), order, range);
            assert_eq!(merged.total, 3);
            let names = merged.rooms.into_iter().map(|room| (room.name, room.participants));
            names.collect::<Vec<_>>()
        };
        let owned = |rooms: &[(&str, usize)]| -> Vec<(String, usize)> {
            rooms
                .iter()
                .map(|(name, number)| ((*name).to_owned(), *number))
                .collect()
        };
        assert_eq!(names(RoomOrder::Name, 0..9), owned(&[("a", 3), ("b", 2), ("c", 1)]));
        assert_eq!(names(RoomOrder::Participants, 0..2), owned(&[("a", 3), ("b", 2)]));
        assert_eq!(names(RoomOrder::Created, 1..9), owned(&[("b", 2), ("c", 1)]));
        assert_eq!(names(RoomOrder::Name, 5..9), owned(&[]));
    }
}
