//! Pages of rooms and participants, for operators.

use std::ops::Range;

use access::RoomNames;
use controller::{Selection, participant_page, room_page};
use operator::RoomOrder;

use crate::world::{World, joining};

fn selection(search: &str, range: Range<usize>) -> Selection {
    Selection {
        room: None,
        key_rooms: RoomNames::default(),
        identity: None,
        search: search.to_owned(),
        range,
    }
}

/// A world of rooms `room-000` and so on with `people` participants each, and one more in the last.
fn crowd(rooms: usize, people: usize) -> World {
    let mut world = World::new();
    let mut enter = |room: usize, identity: String| {
        let mut join = joining(&identity);
        join.claims.video.room = format!("room-{room:03}");
        world.join_with(join);
    };
    for room in 0..rooms {
        for person in 0..people {
            enter(room, format!("person-{room:03}-{person}"));
        }
    }
    enter(rooms - 1, "Zoë".to_owned());
    world
}

#[test]
fn overview_of_many_rooms_is_in_pages() {
    let world = crowd(1000, 10);

    let page = room_page(&world.controller, &selection("", 990..1040), RoomOrder::Name);

    let names: Vec<_> = page.rooms.iter().map(|room| &*room.name).collect();
    assert_eq!((page.total, names.len(), names[0]), (1000, 10, "room-990"));
    let largest = room_page(&world.controller, &selection("", 0..1), RoomOrder::Participants);
    assert_eq!(
        (&*largest.rooms[0].name, largest.rooms[0].participants),
        ("room-999", 11)
    );

    let page = participant_page(&world.controller, &selection("", 9_990..10_040));

    let identities: Vec<_> = page.participants.iter().map(|person| &*person.identity).collect();
    assert_eq!(page.total, 10_001);
    let last: Vec<String> = (0..10).map(|person| format!("person-999-{person}")).collect();
    assert_eq!(identities[0], "Zoë", "capitals come first");
    assert_eq!(identities[1..], last[..]);
}

#[test]
fn overview_finds_by_identity_and_leaves_out_rooms_of_other_keys() {
    let world = crowd(20, 2);
    let found = |selection: &Selection| {
        let page = participant_page(&world.controller, selection);
        let names = page
            .participants
            .into_iter()
            .map(|person| (person.room, person.identity));
        (page.total, names.collect::<Vec<_>>())
    };
    let one = |room: &str, identity: &str| (1, vec![(room.to_owned(), identity.to_owned())]);
    assert_eq!(found(&selection("ZOË", 0..50)), one("room-019", "Zoë"));
    assert_eq!(found(&selection("007-1", 0..50)), one("room-007", "person-007-1"));
    let exact = Selection {
        room: Some("room-003".to_owned()),
        identity: Some("person-003-0".to_owned()),
        ..selection("", 0..50)
    };
    assert_eq!(found(&exact), one("room-003", "person-003-0"));
    let of_key = Selection {
        key_rooms: RoomNames::new(vec!["room-00*".to_owned()]),
        ..selection("", 0..50)
    };
    assert_eq!(found(&of_key).0, 20);
    assert_eq!(room_page(&world.controller, &of_key, RoomOrder::Created).total, 10);
    let other = Selection {
        room: Some("room-019".to_owned()),
        ..of_key
    };
    assert_eq!(found(&other), (0, Vec::new()));
    assert_eq!(found(&selection("nobody", 0..50)), (0, Vec::new()));
}
