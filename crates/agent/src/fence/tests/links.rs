//! Messages between two nodes over links.

use std::collections::VecDeque;

use southbound::{DistantEndpoint, FailedLink, LinkMessage, MessageId, NodeId, Versions};

use super::endpoints::{Words, endpoint, received};
use super::*;

mod attacks;
mod hostile;
mod missed;
mod tracks;

const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);

/// Ada at A and Ben at B, in one room with one owner, and the links between their nodes.
struct Pair {
    nodes: [Fence; 2],
    /// The commands that each node's agent was given.
    commands: [Vec<Command>; 2],
    /// The notices that the owner was told by each node.
    told: [Vec<Notice>; 2],
    /// On the way from the node with this index.
    on_link: [VecDeque<LinkOutput>; 2],
    held: [Vec<MessageId>; 2],
    released: [Vec<MessageId>; 2],
    opened: [Vec<MessageId>; 2],
    messages: u64,
}

impl Pair {
    fn of_version(version: u32) -> Self {
        let fence = |node| Fence::new(node, Box::new(Words));
        let mut pair = Self {
            nodes: [fence(A), fence(B)],
            commands: Default::default(),
            told: Default::default(),
            on_link: Default::default(),
            held: Default::default(),
            released: Default::default(),
            opened: Default::default(),
            messages: 0,
        };
        for (node, own, other) in [(0, 1, 2), (1, 2, 1)] {
            let mut out = Output::default();
            pair.nodes[node].connect(OLD, version, &mut out);
            pair.note(node, out);
            pair.say(node, RoomContent::Claim);
            for transport in [own, own + 100] {
                pair.command(node, open(transport));
            }
            let set = |at: u64| Command::SetEndpoint(Box::new(endpoint(at, name(at), at)));
            pair.command(node, set(own));
            pair.command(node, distant(other, other));
            let number = 2;
            let other = NodeId(other);
            pair.command(node, Command::SetReach { node: other, number });
            pair.command(node, Command::SetElsewhere { elsewhere: false });
        }
        pair
    }

    /// With a link from A to B, whose owner has said that nothing is on its way.
    fn linked() -> Self {
        let mut pair = Self::of_version(Versions::OURS.newest);
        pair.link(0);
        pair.carry();
        let [Notice::Reaches { series, number, .. }] = &pair.told[0][..] else {
            panic!("one notice, and not {:?}", pair.told[0]);
        };
        let (series, number) = (*series, *number);
        pair.command(
            1,
            Command::SetSource {
                node: A,
                series,
                number,
            },
        );
        pair.clear();
        pair
    }

    fn clear(&mut self) {
        self.commands = Default::default();
        self.told = Default::default();
    }

    fn note(&mut self, node: usize, out: Output) {
        self.commands[node].extend(out.commands);
        self.held[node].extend(out.held);
        self.released[node].extend(out.released);
        self.opened[node].extend(out.opened.into_iter().map(|(message, _)| message));
        self.on_link[node].extend(out.links);
        for (_, message) in out.messages {
            if let NodeMessage::Notice { notice, .. } = message {
                self.told[node].push(notice);
            }
        }
    }

    fn say(&mut self, node: usize, content: RoomContent) {
        let mut out = Output::default();
        self.nodes[node]
            .take(OLD, message_of("lobby", 1, content), &mut out)
            .unwrap();
        self.note(node, out);
    }

    fn command(&mut self, node: usize, command: Command) {
        self.say(node, RoomContent::Command(command));
    }

    /// A message arrives at A from Ada.
    fn arrives(&mut self, label: &str, text: &str) -> MessageId {
        self.messages += 1;
        let message = MessageId {
            node: A,
            number: self.messages,
        };
        let mut out = Output::default();
        self.nodes[0].notice(received(1, label, text, message), &mut out);
        self.note(0, out);
        message
    }

    /// A node makes its link to the other one.
    fn link(&mut self, from: usize) {
        let to = [B, A][from];
        let mut out = Output::default();
        assert!(self.nodes[from].link_connected(to, &mut out));
        self.note(from, out);
    }

    /// Carries what is on links until nothing is.
    fn carry(&mut self) {
        while let Some(node) = (0..2).find(|node| !self.on_link[*node].is_empty()) {
            self.carry_one(node);
        }
    }

    /// Carries what A has sent, and not what it is answered.
    fn carry_from_a(&mut self) {
        while !self.on_link[0].is_empty() {
            self.carry_one(0);
        }
    }

    fn carry_one(&mut self, node: usize) {
        if let Some(output) = self.on_link[node].pop_front() {
            let (from, other) = ([A, B][node], 1 - node);
            let mut out = Output::default();
            match output {
                LinkOutput::Send(_, LinkMessage::Hello(hello)) => {
                    assert!(self.nodes[other].origin_connected(&hello, &mut out));
                }
                LinkOutput::Send(_, LinkMessage::Message(linked)) => {
                    self.nodes[other].take_linked(from, &linked, &mut out);
                }
                LinkOutput::Reply(_, reply) => self.nodes[other].link_replied(from, reply, &mut out),
                LinkOutput::Reset(_) | LinkOutput::Cut(_) => {}
            }
            self.note(other, out);
        }
    }

    /// The agent of B has given the messages to their receivers.
    fn deliver(&mut self) {
        let mut out = Output::default();
        let opened = std::mem::take(&mut self.opened[1]);
        self.nodes[1].delivered(opened, &mut out);
        self.note(1, out);
        self.carry();
    }

    /// The texts that Ben has got since this was asked last, with how often.
    fn heard(&mut self) -> Vec<String> {
        let commands = std::mem::take(&mut self.commands[1]).into_iter();
        let texts = commands.filter_map(|command| match command {
            Command::Send { to, payload, .. } => {
                assert_eq!(to, [TransportId(2)]);
                Some(String::from_utf8(payload.to_vec()).unwrap())
            }
            _ => None,
        });
        texts.collect()
    }

    fn count(&self, node: usize, counter: Counter) -> u64 {
        self.nodes[node].counters()[counter]
    }

    /// A loses its link to B.
    fn lose_link(&mut self) {
        let mut out = Output::default();
        self.nodes[0].link_disconnected(B, &mut out);
        self.note(0, out);
    }

    fn fail(&mut self) {
        let mut out = Output::default();
        self.nodes[0].fail_link(B, &mut out);
        self.note(0, out);
    }
}

fn name(number: u64) -> &'static str {
    ["", "ada", "ben", "cleo"][number as usize]
}

fn distant(node: u64, number: u64) -> Command {
    let name = name(number);
    Command::SetDistantEndpoint(Box::new(DistantEndpoint {
        node: NodeId(node),
        transport: TransportId(number),
        identity: name.into(),
        sid: format!("PA_{name}").into(),
        number,
    }))
}

/// The messages that the owner was told with a link that has failed.
fn failed(told: &[Notice]) -> Vec<(u64, FailedLink)> {
    let failed = told.iter().filter_map(|notice| match notice {
        Notice::MessageReceived { message, linked, .. } => Some((message.number, linked.failed?)),
        _ => None,
    });
    failed.collect()
}

#[test]
fn links_carry_messages_without_an_owner() {
    let mut pair = Pair::linked();
    for node in 0..2 {
        let mut out = Output::default();
        pair.nodes[node].disconnect(OLD, &mut out);
    }
    let messages = [
        ("_reliable", "1"),
        ("_lossy", "0"),
        ("_reliable", "2 ben"),
        ("_reliable", "3"),
    ];
    let names: Vec<_> = messages.iter().map(|(label, text)| pair.arrives(label, text)).collect();
    assert_eq!(pair.held[0], [names[0], names[2], names[3]]);
    let handled = |message: &MessageId| Command::MessageHandled { message: *message };
    assert_eq!(pair.commands[0], names.iter().map(handled).collect::<Vec<_>>());
    pair.carry();
    assert_eq!(pair.heard(), ["ada: 1", "ada: 0", "ada: 2 ben", "ada: 3"]);
    assert_eq!(pair.released[0], []);
    pair.deliver();
    assert_eq!(pair.released[0], pair.held[0]);
    assert_eq!(
        (pair.count(0, Counter::Linked), pair.count(1, Counter::LinkTaken)),
        (4, 4)
    );
    assert_eq!(pair.count(0, Counter::PassedOn), 4);
}

#[test]
fn links_carry_nothing_for_those_whom_it_does_not_concern() {
    let mut pair = Pair::linked();
    pair.arrives("_lossy", "0 ada");
    assert_eq!((pair.on_link[0].len(), pair.told[0].len()), (0, 0));
    pair.arrives("_lossy", "0 ben dora");
    assert_eq!(pair.on_link[0].len(), 1);
    let [Notice::MessageReceived { passed_on, linked, .. }] = &pair.told[0][..] else {
        panic!("one notice, and not {:?}", pair.told[0]);
    };
    assert_eq!((*passed_on, &linked.nodes[..]), (Some(1), &[(B, 2)][..]));
}

#[test]
fn links_wait_for_what_went_by_the_owner() {
    let mut pair = Pair::of_version(Versions::OURS.newest);
    let earlier = pair.arrives("_reliable", "1");
    pair.link(0);
    pair.carry();
    pair.arrives("_reliable", "2");
    pair.arrives("_lossy", "0");
    pair.carry();
    assert_eq!(pair.heard(), [""; 0]);
    let Some(Notice::Reaches { series, number, .. }) = pair.told[0].last().cloned() else {
        panic!("the last notice, and not {:?}", pair.told[0]);
    };
    pair.command(
        1,
        Command::Send {
            to: vec![TransportId(2)],
            label: "_reliable".into(),
            payload: b"ada: 1"[..].into(),
            reliable: true,
            message: Some(earlier),
        },
    );
    pair.command(
        1,
        Command::SetSource {
            node: A,
            series,
            number,
        },
    );
    assert_eq!(pair.heard(), ["ada: 1", "ada: 2"]);
    // A newcomer waits as well, while the others get the next message at once.
    pair.command(1, open(3));
    pair.command(1, Command::SetEndpoint(Box::new(endpoint(3, "cleo", 3))));
    pair.command(0, distant(2, 3));
    pair.command(0, Command::SetReach { node: B, number: 3 });
    pair.arrives("_reliable", "3");
    pair.carry();
    assert_eq!(pair.heard(), ["ada: 3"]);
    pair.command(
        1,
        Command::SetSource {
            node: A,
            series,
            number: 3,
        },
    );
    let to = |command: &Command| match command {
        Command::Send { to, .. } => to.clone(),
        _ => Vec::new(),
    };
    let to: Vec<_> = pair.commands[1].iter().flat_map(to).collect();
    assert_eq!(to, [TransportId(3)]);
}

#[test]
fn a_link_that_breaks_repeats_what_was_lost() {
    let mut pair = Pair::linked();
    pair.arrives("_reliable", "1");
    pair.carry();
    pair.arrives("_reliable", "2");
    pair.on_link[0].clear();
    pair.lose_link();
    pair.nodes[1].origin_disconnected(A);
    pair.arrives("_reliable", "3");
    pair.arrives("_lossy", "0");
    assert_eq!((pair.on_link[0].len(), pair.told[0].len()), (0, 0));
    assert_eq!(
        (pair.count(0, Counter::LinkCongested), pair.count(0, Counter::Linked)),
        (1, 3)
    );
    pair.link(0);
    pair.carry();
    assert_eq!(pair.heard(), ["ada: 1", "ada: 2", "ada: 3"]);
    // The answer to the third is lost, and it is taken once.
    pair.arrives("_reliable", "4");
    let sent = pair.on_link[0].clone();
    pair.carry();
    pair.lose_link();
    pair.on_link[0].extend(sent);
    pair.link(0);
    pair.carry();
    assert_eq!(pair.heard(), ["ada: 4"]);
    assert_eq!(pair.count(1, Counter::LinkRepeated), 1);
    assert!(failed(&pair.told[0]).is_empty());
}

#[test]
fn somebody_who_comes_back_gets_what_it_missed_of_other_nodes() {
    let mut pair = Pair::linked();
    for text in ["1", "2", "3 ada", "4 ben"] {
        pair.arrives("_reliable", text);
    }
    pair.carry();
    pair.heard();
    let resend = Command::Resend {
        transport: TransportId(2),
        received: vec![("PA_ada".into(), 1)],
    };
    pair.command(0, resend);
    pair.carry();
    assert_eq!(pair.heard(), ["ada: 2", "ada: 4 ben"]);
}
