//! Participants that move from one node to another while their media flows.

use std::time::Duration;

use controller::{
    ClientTraits, ConnectionId, EndAction, EndReason, Input, Join, NodeStanding, Notification, Request, Resume,
    SyncState,
};
use southbound::{Channel, Command, NodeId, Notice, TransportId};

use super::{Cluster, NODES};
use crate::world::{claims, joining, offer_by};

/// The time that a node has to become empty.
const WITHIN: Duration = Duration::from_secs(60);
/// Longer than a move is prepared for.
const PAUSE: Duration = Duration::from_millis(750);

fn mover(identity: &str) -> Join {
    Join {
        traits: ClientTraits {
            can_move: true,
            ..ClientTraits::default()
        },
        ..joining(identity)
    }
}

/// A room whose participants are on the first node.
struct Call {
    cluster: Cluster,
    people: Vec<(String, ConnectionId)>,
}

impl Call {
    fn of(people: impl IntoIterator<Item = Join>) -> Self {
        let mut call = Self {
            cluster: Cluster::new(),
            people: Vec::new(),
        };
        for join in people {
            let identity = join.claims.sub.clone();
            let (connection, _) = call.cluster.join_with(NODES[0], join);
            call.people.push((identity, connection));
        }
        let connections: Vec<_> = call.people.iter().map(|(_, connection)| *connection).collect();
        call.cluster.answer(connections);
        for transport in call.at(NODES[0]) {
            call.connect(NODES[0], transport);
            let label = "_reliable".into();
            call.cluster
                .notice(NODES[0], Notice::ChannelOpened { transport, label });
        }
        call.cluster.check();
        call
    }

    fn at(&self, node: NodeId) -> Vec<TransportId> {
        self.cluster.tables[&node].transports.iter().copied().collect()
    }

    fn connect(&mut self, node: NodeId, transport: TransportId) {
        self.cluster.notice(node, Notice::Connected { transport, srtp: None });
    }

    /// The first node drains; the second one takes those who leave, with connections or without.
    fn drain(&mut self, takes_moves: bool) {
        for id in NODES {
            let standing = NodeStanding {
                draining: (id == NODES[0]).then_some(WITHIN),
                load: u32::from(id == NODES[2]),
                capacity: if id == NODES[2] { 1 } else { u32::MAX },
                takes_moves,
                ..NodeStanding::default()
            };
            let world = &mut self.cluster.world;
            world.controller.placement().set_standing(world.now, id, standing);
        }
    }

    fn advance(&mut self, by: Duration) {
        self.cluster.world.advance(by);
        self.cluster.note();
    }

    /// The connections that are told to do this.
    fn told(&self, action: EndAction) -> Vec<ConnectionId> {
        let reason = EndReason::Migration;
        let ended = Notification::Ended { reason, action };
        let people = self.people.iter().map(|(_, connection)| *connection);
        people
            .filter(|it| self.cluster.world.told(*it).contains(&ended))
            .collect()
    }

    /// A client comes back on another connection, with the streams of its channels.
    fn resume(&mut self, from: ConnectionId, channels: Vec<(String, u16)>) -> ConnectionId {
        let (identity, connection) = self.people.iter_mut().find(|(_, it)| *it == from).expect("it is there");
        let participants = self.cluster.world.controller.takeover().participants("lobby");
        let sid = participants
            .iter()
            .find(|it| it.identity == *identity)
            .expect("it is there")
            .sid
            .clone();
        *connection = ConnectionId(connection.0 + 100);
        let connection = *connection;
        let resume = Box::new(Resume {
            claims: claims(identity),
            mode: controller::PeerMode::Dual,
            sid,
            sync_state: Some(SyncState {
                channels,
                ..SyncState::default()
            }),
            offer: None,
        });
        self.cluster.input(Input::Resume { connection, resume });
        connection
    }

    /// A client restarts ICE, and answers.
    fn restart(&mut self, connection: ConnectionId) {
        let request = Box::new(Request::Offer(offer_by("microphone", "efgh")));
        self.cluster.input(Input::Request { connection, request });
        self.cluster.answer([connection]);
    }

    fn moves(&mut self, told: ConnectionId) {
        let back = self.resume(told, Vec::new());
        self.restart(back);
        for transport in self.at(NODES[1]) {
            self.connect(NODES[1], transport);
        }
    }
}

#[test]
fn a_participant_is_at_its_next_node_before_it_leaves_the_one_before() {
    let mut call = Call::of([mover("ada"), mover("bob")]);
    let before = call.at(NODES[0]);
    let tracks: Vec<_> = call.cluster.tables[&NODES[0]].publications.keys().copied().collect();
    call.drain(true);
    call.advance(PAUSE);
    let [ada] = call.told(EndAction::Resume)[..] else {
        panic!("the first one is told");
    };
    assert!(call.cluster.trunk(NODES[0], NODES[1]).is_some(), "there is a trunk");
    assert_eq!(
        call.cluster.tables[&NODES[1]].publications.len(),
        1,
        "what it receives is there"
    );
    assert_eq!(call.at(NODES[0]), before);

    let ada = call.resume(ada, vec![("_reliable".to_owned(), 6), ("_other".to_owned(), 8)]);
    assert!(call.at(NODES[1]).is_empty(), "its client has yet to restart ICE");
    call.restart(ada);
    call.cluster.check();
    let there = call.at(NODES[1]);
    assert_eq!((there.len(), call.at(NODES[0])), (2, before.clone()), "it is at both");
    let published: Vec<_> = call.cluster.tables[&NODES[1]].publications.keys().copied().collect();
    assert_eq!(published, tracks, "its track, and that of the other one over the trunk");
    let over_trunks = call.cluster.tables[&NODES[0]].publications.values();
    let transports = call.at(NODES[0]);
    let over_trunks = over_trunks.filter(|publication| !transports.contains(&publication.transport));
    assert_eq!(over_trunks.count(), 1, "its track comes back to those who are left");
    let streams = call
        .cluster
        .commanded
        .iter()
        .filter_map(|(node, command)| match command {
            Command::Open(open) if *node == NODES[1] => Some(open.channels.clone()),
            _ => None,
        });
    let streams: Vec<_> = streams
        .flatten()
        .filter_map(|Channel { label, stream, .. }| Some((label, stream?)))
        .collect();
    let expected = [("_reliable", 6), ("_reliable", 1)];
    assert!(
        expected
            .iter()
            .all(|(label, stream)| streams.contains(&((*label).into(), *stream))),
        "{streams:?}"
    );
    assert!(streams.iter().all(|(label, _)| &**label == "_reliable"), "{streams:?}");

    for transport in there {
        assert_eq!(call.at(NODES[0]).len(), 4);
        call.connect(NODES[1], transport);
    }
    call.cluster.check();
    assert_eq!(call.at(NODES[0]).len(), 2, "the other one is left");
    call.advance(WITHIN / 2);
    let [bob] = call.told(EndAction::Resume)[..] else {
        panic!("the other one is told");
    };
    call.moves(bob);
    call.cluster.check();
    assert!(call.at(NODES[0]).is_empty() && call.at(NODES[1]).len() == 4);
    assert_eq!(call.cluster.trunks(), 0, "the trunk is not needed any more");
    call.advance(2 * WITHIN);
    assert_eq!(call.cluster.world.controller.population().participants, 2);
}

#[test]
fn an_offer_without_a_restart_moves_nobody() {
    let mut call = Call::of([mover("ada")]);
    call.drain(true);
    call.advance(PAUSE);
    let ada = call.told(EndAction::Resume)[0];
    let request = |ufrag| Box::new(Request::Offer(offer_by("microphone", ufrag)));
    call.cluster.input(Input::Request {
        connection: ada,
        request: request("efgh"),
    });
    assert!(call.at(NODES[1]).is_empty(), "its client is not back");
    let connection = call.resume(ada, Vec::new());
    call.cluster.input(Input::Request {
        connection,
        request: request("efgh"),
    });
    assert!(call.at(NODES[1]).is_empty(), "these are the credentials of before");
    call.cluster.input(Input::Request {
        connection,
        request: request("ijkl"),
    });
    assert_eq!(call.at(NODES[1]).len(), 2);
}

#[test]
fn those_who_do_not_move_in_time_join_again() {
    for step in 0..3 {
        let mut call = Call::of([mover("ada"), mover("bob")]);
        call.drain(true);
        call.advance(PAUSE);
        let mut ada = call.told(EndAction::Resume)[0];
        if step > 0 {
            ada = call.resume(ada, Vec::new());
        }
        if step > 1 {
            call.restart(ada);
        }
        call.advance(Duration::from_secs(5));
        let ended = call.told(EndAction::Reconnect);
        assert!(ended.contains(&ada), "after step {step}");
        assert_eq!(call.at(NODES[1]), [], "after step {step}");
        call.cluster.check();
    }
}

#[test]
fn a_node_that_drains_is_empty_in_time_although_nobody_comes_back() {
    let everybody = (0..40).map(|number| mover(&format!("p-{number}")));
    let mut call = Call::of(everybody);
    call.drain(true);
    let mut on_their_way = 0;
    for _ in 0..WITHIN.as_secs() * 2 {
        call.advance(Duration::from_millis(500));
        on_their_way += call.told(EndAction::Resume).len();
        on_their_way -= call.told(EndAction::Reconnect).len();
        assert!(on_their_way <= 4, "{on_their_way} at a time");
    }
    call.advance(Duration::from_secs(6));
    assert_eq!(call.cluster.world.controller.population().participants, 0);
    assert_eq!((call.at(NODES[0]), call.at(NODES[1])), (Vec::new(), Vec::new()));
}

#[test]
fn a_participant_joins_again_where_it_cannot_move() {
    let mut call = Call::of([mover("ada")]);
    call.drain(false);
    call.advance(PAUSE);
    assert_eq!(
        call.told(EndAction::Reconnect).len(),
        1,
        "the next node does not take moves"
    );
    let mut call = Call::of([mover("ada"), mover("bob")]);
    call.drain(true);
    call.advance(PAUSE);
    let ada = call.told(EndAction::Resume)[0];
    call.cluster.input(Input::NodeLost { node: NODES[1] });
    let ended = Notification::Ended {
        reason: EndReason::ConnectionTimeout,
        action: EndAction::Reconnect,
    };
    assert!(call.cluster.world.told(ada).contains(&ended), "the next node is lost");
    let mut call = Call::of([joining("ada")]);
    call.drain(true);
    call.advance(PAUSE);
    assert_eq!(call.told(EndAction::Reconnect).len(), 1, "its client cannot");
}
