//! Hellos, and messages about rooms.

use proptest::collection::vec;
use proptest::prelude::*;
use southbound::{Epoch, Hello, RoomContent, RoomMessage, RoomState, Versions};

use crate::{commands, parts};

pub(crate) fn hello() -> impl Strategy<Value = Hello> {
    let versions = any::<(u32, u32)>().prop_map(|(one, other)| Versions {
        oldest: one.min(other),
        newest: one.max(other),
    });
    let room = (parts::label(), any::<(u64, u64)>()).prop_map(|(room, (epoch, revision))| RoomState {
        room,
        epoch: Epoch(epoch),
        revision,
    });
    (versions, vec(room, 0..5)).prop_map(|(versions, rooms)| Hello { versions, rooms })
}

pub(crate) fn room_message() -> impl Strategy<Value = RoomMessage> {
    let content = prop_oneof![
        Just(RoomContent::Claim),
        commands::command().prop_map(RoomContent::Command),
        Just(RoomContent::Complete),
        Just(RoomContent::End),
    ];
    (parts::label(), any::<(u64, u64)>(), content).prop_map(|(room, (epoch, revision), content)| RoomMessage {
        room,
        epoch: Epoch(epoch),
        revision,
        content,
    })
}
