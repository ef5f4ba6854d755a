//! One controller and two nodes that it commands.

use std::collections::BTreeSet;

use controller::{
    AdminReply, AdminRequest, ConnectionId, Counter, EndAction, EndReason, Input, JoinError, NoNode, Notification,
    Output, SendData,
};
use southbound::{Command, NodeId, Notice, TransportId};

use crate::world::{NODE, World, claims, joining, node};

const OTHER: NodeId = NodeId(2);

/// A call in each of two rooms, and a world that remembers who was commanded.
struct Calls {
    world: World,
    /// Two people in each room.
    lobby: [ConnectionId; 2],
    attic: [ConnectionId; 2],
    commanded: Vec<(NodeId, Command)>,
}

impl Calls {
    fn new() -> Self {
        let mut calls = Self {
            world: World::new(),
            lobby: [ConnectionId(0); 2],
            attic: [ConnectionId(0); 2],
            commanded: Vec::new(),
        };
        calls.world.notice(OTHER, Notice::Node(node(OTHER)));
        calls.lobby = ["ada", "bob"].map(|identity| calls.join("lobby", identity));
        calls.attic = ["cyd", "dan"].map(|identity| calls.join("attic", identity));
        calls
    }

    fn join(&mut self, room: &str, identity: &str) -> ConnectionId {
        let mut join = joining(identity);
        join.claims.video.room = room.to_owned();
        let connection = self.world.join_with(join);
        self.note();
        self.world.publish(connection);
        self.note();
        connection
    }

    /// Takes note of the commands of the last input.
    fn note(&mut self) {
        let commands = self.world.out.iter().filter_map(|output| match output {
            Output::Command { node, command, .. } => Some((*node, command.clone())),
            _ => None,
        });
        self.commanded.extend(commands);
    }

    fn opened_on(&self, node: NodeId) -> BTreeSet<TransportId> {
        let opened = self.commanded.iter().filter_map(|(at, command)| match command {
            Command::Open(open) if *at == node => Some(open.transport),
            _ => None,
        });
        opened.collect()
    }

    fn population(&self) -> (usize, usize) {
        let population = self.world.controller.population();
        (population.rooms, population.participants)
    }
}

/// Which transports and tracks a command is about.
fn transport_of(command: &Command) -> Option<TransportId> {
    match command {
        Command::Open(open) => Some(open.transport),
        Command::Connect { transport, .. }
        | Command::Close { transport }
        | Command::SetDownlinkLimit { transport, .. } => Some(*transport),
        Command::Publish(publication) => Some(publication.transport),
        Command::Subscribe(subscription) => Some(subscription.transport),
        _ => None,
    }
}

fn told_to_come_back(told: &[Notification]) -> bool {
    told.contains(&Notification::Ended {
        reason: EndReason::ConnectionTimeout,
        action: EndAction::Reconnect,
    })
}

#[test]
fn each_room_is_on_one_node_and_commands_go_there() {
    let calls = Calls::new();
    let (first, second) = (calls.opened_on(NODE), calls.opened_on(OTHER));
    assert_eq!(
        (first.len(), second.len()),
        (4, 4),
        "two peer connections for each person"
    );
    for (at, command) in &calls.commanded {
        if let Some(transport) = transport_of(command) {
            let mine = if *at == NODE { &first } else { &second };
            assert!(mine.contains(&transport), "{command:?} at {at:?}");
        }
    }
    let published = |node| {
        let is_one = |(at, command): &&(NodeId, Command)| *at == node && matches!(command, Command::Publish(_));
        calls.commanded.iter().filter(is_one).count()
    };
    assert_eq!((published(NODE), published(OTHER)), (2, 2));
}

#[test]
fn descriptions_have_the_addresses_of_the_rooms_node() {
    let mut calls = Calls::new();
    let answer_in = |calls: &mut Calls, room: &str, identity: &str| {
        let connection = calls.join(room, identity);
        let told = calls.world.told(connection);
        let answer = told.into_iter().find_map(|told| match told {
            Notification::Answer(answer) => Some(answer.sdp),
            _ => None,
        });
        answer.expect("an offer is answered")
    };
    assert!(answer_in(&mut calls, "lobby", "eve").contains("192.0.2.1 7882"));
    assert!(answer_in(&mut calls, "attic", "fay").contains("192.0.2.2 7882"));
}

#[test]
fn a_node_that_is_lost_ends_its_own_participants_only() {
    let mut calls = Calls::new();
    calls.world.handle(Input::NodeLost { node: OTHER });
    for connection in calls.attic {
        assert!(told_to_come_back(&calls.world.told(connection)));
    }
    for connection in calls.lobby {
        assert_eq!(calls.world.told(connection), []);
    }
    let commands = |output: &&Output| matches!(output, Output::Command { .. });
    assert_eq!(
        calls.world.out.iter().filter(commands).count(),
        0,
        "nobody listens there"
    );
    assert_eq!(calls.population(), (2, 2));
    calls.commanded.clear();
    calls.join("attic", "cyd");
    assert_eq!((calls.opened_on(NODE).len(), calls.opened_on(OTHER).len()), (2, 0));
}

#[test]
fn a_node_that_starts_again_has_another_id_and_no_participants() {
    let mut calls = Calls::new();
    let again = NodeId(3);
    let mut announced = node(again);
    announced.addresses = node(OTHER).addresses;
    calls.world.notice(again, Notice::Node(announced));
    assert!(
        calls
            .attic
            .iter()
            .all(|connection| told_to_come_back(&calls.world.told(*connection)))
    );
    assert_eq!(calls.population(), (2, 2));
    calls.join("attic", "cyd");
    assert_eq!(calls.opened_on(again).len(), 2, "it is the emptiest");
}

#[test]
fn a_node_that_has_other_addresses_keeps_its_participants() {
    let mut calls = Calls::new();
    let mut moved = node(OTHER);
    moved.addresses = vec![([198, 51, 100, 7], 7882).into()];
    calls.world.notice(OTHER, Notice::Node(moved));
    assert_eq!(calls.population(), (2, 4));
}

#[test]
fn nobody_joins_when_the_last_node_is_lost() {
    let mut calls = Calls::new();
    for node in [NODE, OTHER] {
        calls.world.handle(Input::NodeLost { node });
    }
    assert_eq!(calls.population(), (2, 0));
    let check = calls.world.controller.check_claims(calls.world.now, &claims("ada"));
    assert_eq!(check, Err(JoinError::NoMediaNode(NoNode::Empty)));
    assert!(!calls.world.controller.has_node());
}

#[test]
fn a_node_speaks_only_of_its_own_transports() {
    let mut calls = Calls::new();
    let transport = *calls.opened_on(NODE).first().expect("somebody is there");
    let reason = southbound::CloseReason::Handshake;
    let closed = Notice::Closed { transport, reason };
    calls.world.notice(OTHER, closed.clone());
    assert_eq!(calls.world.out, [Output::Count(Counter::StaleNotice)]);
    assert_eq!(calls.population(), (2, 4));
    calls.world.notice(NODE, closed);
    assert_eq!(calls.population(), (2, 3));
    calls.world.notice(NODE, Notice::Node(node(NodeId(9))));
    assert_eq!(calls.world.out, [Output::Count(Counter::StaleNotice)]);
}

#[test]
fn a_message_goes_to_the_node_of_its_receivers() {
    let mut calls = Calls::new();
    let request = AdminRequest::SendData(SendData {
        room: "attic".to_owned(),
        payload: b"hello".as_slice().into(),
        reliable: true,
        ..SendData::default()
    });
    assert_eq!(calls.world.ask(request), Ok(AdminReply::Done));
    let sent = calls.world.out.iter().filter_map(|output| match output {
        Output::Data { node, to, .. } => Some((*node, to.len())),
        _ => None,
    });
    assert_eq!(sent.collect::<Vec<_>>(), [(OTHER, 2)]);
}
