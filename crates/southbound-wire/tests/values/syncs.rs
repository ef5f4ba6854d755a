//! The messages of a connection.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use southbound::{
    ControllerHello, ControllerId, ControllerMessage, Epoch, NodeHello, NodeId, NodeMessage, Refusal, RoomContent,
    RoomMessage, RoomState, Versions,
};

use crate::{commands, notices, parts};

pub(crate) fn controller_message() -> impl Strategy<Value = ControllerMessage> {
    let hello = (versions(), any::<u32>()).prop_map(|(versions, number)| ControllerHello {
        versions,
        controller: ControllerId::new(number),
    });
    prop_oneof![
        hello.prop_map(ControllerMessage::Hello),
        room_message().prop_map(ControllerMessage::Room),
    ]
}

pub(crate) fn node_message() -> impl Strategy<Value = NodeMessage> {
    let hello = (versions(), any::<u64>()).prop_map(|(versions, node)| {
        NodeMessage::Hello(NodeHello {
            versions,
            node: NodeId(node),
        })
    });
    let room = (parts::label(), 0..1_u32 << 24, epoch(), any::<u64>(), any::<bool>()).prop_map(
        |(room, owner, epoch, revision, has_ended)| RoomState {
            room,
            owner: ControllerId::new(owner),
            epoch,
            revision,
            has_ended,
        },
    );
    let rooms = (vec(room, 0..5), any::<bool>()).prop_map(|(rooms, is_last)| NodeMessage::Rooms { rooms, is_last });
    let notice =
        (option::of(parts::label()), notices::notice()).prop_map(|(room, notice)| NodeMessage::Notice { room, notice });
    let saved = (parts::label(), epoch(), parts::label(), parts::payload()).prop_map(|(room, epoch, part, blob)| {
        NodeMessage::Saved {
            room,
            epoch,
            part,
            blob,
        }
    });
    let claimed = (parts::label(), epoch(), any::<u64>()).prop_map(|(room, epoch, revision)| NodeMessage::Claimed {
        room,
        epoch,
        revision,
    });
    let refused = (parts::label(), epoch(), any::<u64>(), refusal()).prop_map(|(room, epoch, revision, why)| {
        NodeMessage::Refused {
            room,
            epoch,
            revision,
            why,
        }
    });
    prop_oneof![hello, rooms, notice, saved, claimed, refused]
}

pub(crate) fn versions() -> impl Strategy<Value = Versions> {
    any::<(u32, u32)>().prop_map(|(one, other)| Versions {
        oldest: one.min(other),
        newest: one.max(other),
    })
}

fn epoch() -> impl Strategy<Value = Epoch> {
    any::<u64>().prop_map(Epoch)
}

const REFUSALS: [Refusal; 6] = [
    Refusal::Taken,
    Refusal::Unclaimed,
    Refusal::Full,
    Refusal::LongPart,
    Refusal::FullRoom,
    Refusal::FullNode,
];

fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![epoch().prop_map(Refusal::Outdated), select(&REFUSALS[..])]
}

fn room_message() -> impl Strategy<Value = RoomMessage> {
    let content = prop_oneof![
        Just(RoomContent::Claim),
        commands::command().prop_map(RoomContent::Command),
        Just(RoomContent::Complete),
        Just(RoomContent::End),
        (parts::label(), parts::payload()).prop_map(|(part, blob)| RoomContent::Save { part, blob }),
        parts::label().prop_map(|part| RoomContent::Forget { part }),
    ];
    (parts::label(), epoch(), any::<u64>(), content).prop_map(|(room, epoch, revision, content)| RoomMessage {
        room,
        epoch,
        revision,
        content,
    })
}
