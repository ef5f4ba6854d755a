//! Audiences of thousands on several nodes: the work of a join, counted.

use std::time::Duration;

use controller::{Config, ConnectionId, Counter, NodeStanding, Notification, Output, Visible};
use southbound::{Command, NodeId, Notice};

use crate::world::{World, joining, keys, node};

const NODES: [NodeId; 3] = [NodeId(1), NodeId(2), NodeId(3)];

/// So many publish a microphone.
const STAGE: usize = 5;

/// The work of a number of joins, with what follows within their time.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    /// Messages that all clients together are sent.
    messages: usize,
    /// Participants that are described in them.
    described: usize,
    /// Commands that all nodes together are sent.
    commands: usize,
}

/// Nodes of one room, whose clients connect at once.
struct Crowd {
    world: World,
    people: usize,
    /// Subscriptions that nodes were told of.
    subscribed: usize,
    /// Times that the way of a track was worked out.
    routed: usize,
}

impl Crowd {
    fn new(visible: Visible, size: usize) -> Self {
        let mut world = World::with(Config {
            visible,
            participants_max: size,
            ..Config::new(keys())
        });
        for id in &NODES[1..] {
            world.notice(*id, Notice::Node(node(*id)));
        }
        let mut crowd = Self {
            world,
            people: 0,
            subscribed: 0,
            routed: 0,
        };
        for number in 0..STAGE {
            let (name, mut work) = (format!("speaker{number}"), Work::default());
            let connection = crowd.arrive(&name, &mut work);
            crowd.world.publish(connection);
            crowd.settle(&mut work);
        }
        crowd
    }

    /// So many join, fifty a second.
    fn join(&mut self, number: usize) -> Work {
        let mut work = Work::default();
        for _ in 0..number {
            let name = format!("listener{}", self.people);
            self.arrive(&name, &mut work);
            self.world.advance(Duration::from_millis(20));
            self.settle(&mut work);
        }
        work
    }

    /// Somebody joins on the next node.
    fn arrive(&mut self, name: &str, work: &mut Work) -> ConnectionId {
        for (place, id) in NODES.into_iter().enumerate() {
            let is_next = place == self.people % NODES.len();
            let standing = NodeStanding {
                load: u32::from(!is_next),
                capacity: if is_next { u32::MAX } else { 1 },
                ..NodeStanding::default()
            };
            self.world
                .controller
                .placement()
                .set_standing(self.world.now, id, standing);
        }
        self.people += 1;
        let connection = self.world.join_with(joining(name));
        self.settle(work);
        connection
    }

    /// Clients connect their transports and answer offers. All outputs are counted.
    fn settle(&mut self, work: &mut Work) {
        while !self.world.out.is_empty() {
            let (mut opened, mut offered) = (Vec::new(), Vec::new());
            for output in &self.world.out {
                match output {
                    Output::Notify {
                        notification,
                        connection,
                    } => {
                        work.message(1, notification);
                        if matches!(notification, Notification::Offer(_)) {
                            offered.push(*connection);
                        }
                    }
                    Output::NotifyMany {
                        connections,
                        notification,
                    } => work.message(connections.len(), notification),
                    Output::Command { node, command, .. } => {
                        work.commands += 1;
                        match command {
                            Command::Open(open) => opened.push((*node, open.transport)),
                            Command::Subscribe(_) => self.subscribed += 1,
                            _ => {}
                        }
                    }
                    Output::Count(Counter::TrunkNeeds) => self.routed += 1,
                    _ => {}
                }
            }
            // Offers are answered from what was said.
            self.world.said = std::mem::take(&mut self.world.out);
            let counted = self.world.said.len();
            for connection in offered {
                self.world.answer(connection);
            }
            for (node, transport) in opened {
                self.world.notice(node, Notice::Connected { transport, srtp: None });
            }
            let mut next = self.world.said.split_off(counted);
            next.append(&mut self.world.out);
            self.world.said.clear();
            self.world.out = next;
        }
    }
}

impl Work {
    fn message(&mut self, receivers: usize, notification: &Notification) {
        let described = match notification {
            Notification::Participants(infos) => infos.len(),
            Notification::Joined(joined) => joined.others.len(),
            _ => 0,
        };
        self.messages += receivers;
        self.described += receivers * described;
    }
}

/// A hundred joins to a room of this size.
fn joins(visible: Visible, size: usize) -> Work {
    const JOINS: usize = 100;
    let mut crowd = Crowd::new(visible, size + JOINS);
    let before = size - crowd.people;
    crowd.join(before);
    crowd.join(JOINS)
}

#[test]
fn a_join_to_an_audience_costs_the_same_in_a_room_of_any_size() {
    let (small, large) = (joins(Visible::Publishers, 300), joins(Visible::Publishers, 5_000));
    assert_eq!((small.commands, small.described), (large.commands, large.described));
    // Everybody is told the number of participants once in five seconds: of a hundred joins in two
    // seconds at most once.
    assert!(large.messages <= small.messages + 5_200, "{small:?} {large:?}");
}

#[test]
fn a_join_that_everybody_sees_is_told_to_each_once() {
    for size in [300, 900] {
        let work = joins(Visible::Everybody, size);
        // Everybody is described to the newcomer, and the newcomer to everybody: once each.
        assert!(work.described <= 2 * 100 * (size + 100), "{size}: {work:?}");
        // News are gathered for 200 ms, and the numbers are told every five seconds.
        assert!(work.messages <= 100 * 5 + 12 * (size + 100), "{size}: {work:?}");
    }
}

#[test]
fn a_track_that_everybody_begins_to_receive_is_led_to_the_nodes_a_few_times() {
    const SIZE: usize = 600;
    let mut crowd = Crowd::new(Visible::Publishers, SIZE + 1);
    crowd.join(SIZE - STAGE);
    let (before, mut work) = (crowd.routed, Work::default());
    let speaker = crowd.arrive("late speaker", &mut work);
    crowd.world.publish(speaker);
    for _ in 0..50 {
        crowd.settle(&mut work);
        crowd.world.advance(Duration::from_millis(20));
    }
    crowd.settle(&mut work);
    let subscribed = crowd.subscribed - SIZE * STAGE;
    assert!(subscribed >= SIZE, "{subscribed} receive it");
    let counted = crowd.routed - before;
    assert!(counted <= 6 * (STAGE + 1), "{counted} times");
}
