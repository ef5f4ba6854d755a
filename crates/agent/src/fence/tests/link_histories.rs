//! Random histories of two nodes, their owner and the link between them: each receiver gets all
//! messages once and in order, whatever is late, breaks or fails.

use std::collections::VecDeque;

use southbound::{DistantEndpoint, LinkMessage, MessageId, NodeId, Versions};

use super::endpoints::{Words, endpoint, received};
use super::*;

const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);
/// Ada is at A, and all others at either of them.
const ADA: u64 = 1;
const RECEIVERS: u64 = 4;

struct History {
    rng: StdRng,
    nodes: [Fence; 2],
    /// From a node to the owner, and from the owner to a node.
    to_owner: [VecDeque<Notice>; 2],
    from_owner: [VecDeque<Command>; 2],
    /// On the link from A to B, and back.
    on_link: [VecDeque<LinkOutput>; 2],
    is_linked: bool,
    /// The receivers that the owner has set, by their transports and numbers, with their nodes.
    told: Vec<(u64, usize)>,
    /// The first message that each of them has to get: A knew by then that somebody is coming, and
    /// the owner knew who.
    expected_from: Vec<u64>,
    /// The last message that the owner was told.
    owned: u64,
    newcomer: Newcomer,
    said: u64,
    heard: BTreeMap<TransportId, Vec<u64>>,
    held: i64,
}

/// Somebody who has no endpoint yet.
#[derive(PartialEq, Eq)]
enum Newcomer {
    None,
    /// A does not know.
    Announced,
    /// A knows that somebody is elsewhere.
    Known,
}

impl History {
    fn new(seed: u64) -> Self {
        let fence = |node| Fence::new(node, Box::new(Words));
        let mut history = Self {
            rng: StdRng::seed_from_u64(seed),
            nodes: [fence(A), fence(B)],
            to_owner: Default::default(),
            from_owner: Default::default(),
            on_link: Default::default(),
            is_linked: false,
            told: Vec::new(),
            expected_from: vec![1],
            owned: 0,
            newcomer: Newcomer::None,
            said: 0,
            heard: BTreeMap::new(),
            held: 0,
        };
        for node in 0..2 {
            let mut out = Output::default();
            history.nodes[node].connect(OLD, Versions::OURS.newest, &mut out);
            history.say(node, RoomContent::Claim);
        }
        for transport in [ADA, ADA + 100] {
            history.say(0, RoomContent::Command(open(transport)));
        }
        let ada = endpoint(ADA, "ada", 1);
        let distant = DistantEndpoint {
            node: A,
            transport: TransportId(ADA),
            identity: ada.identity.clone(),
            sid: ada.sid.clone(),
            number: 1,
        };
        history.say(0, RoomContent::Command(Command::SetEndpoint(Box::new(ada))));
        history.say(1, RoomContent::Command(Command::SetDistantEndpoint(Box::new(distant))));
        history
    }

    fn say(&mut self, node: usize, content: RoomContent) {
        if content == RoomContent::Command(Command::SetElsewhere { elsewhere: true }) {
            self.newcomer = Newcomer::Known;
            self.expected_from.push(self.said + 1);
        }
        let mut out = Output::default();
        self.nodes[node]
            .take(OLD, message_of("lobby", 1, content), &mut out)
            .unwrap();
        self.note(node, out);
    }

    fn note(&mut self, node: usize, out: Output) {
        self.held += out.held.len() as i64 - out.released.len() as i64;
        for command in out.commands {
            if let Command::Send { to, payload, .. } = command {
                let text = std::str::from_utf8(&payload).unwrap();
                let number = text.rsplit(' ').next().unwrap().parse().unwrap();
                to.iter().for_each(|to| self.heard.entry(*to).or_default().push(number));
            }
        }
        for (_, message) in out.messages {
            if let NodeMessage::Notice { notice, .. } = message {
                self.to_owner[node].push_back(notice);
            }
        }
        for output in out.links {
            match output {
                LinkOutput::Reset(_) | LinkOutput::Cut(_) => self.break_link(),
                output if self.is_linked => self.on_link[node].push_back(output),
                _ => {}
            }
        }
        let opened = out.opened.into_iter().map(|(message, _)| message).collect();
        let mut out = Output::default();
        self.nodes[node].delivered(opened, &mut out);
        if self.is_linked {
            self.on_link[node].extend(out.links);
        }
    }

    /// Somebody is about to join at B: the owner is told of all messages from now on.
    fn announce(&mut self) {
        self.newcomer = Newcomer::Announced;
        self.from_owner[0].push_back(Command::SetElsewhere { elsewhere: true });
    }

    /// Somebody joins at a node.
    fn join(&mut self, node: usize) {
        self.newcomer = Newcomer::None;
        let number = 2 + self.told.len() as u64;
        self.told.push((number, node));
        let expected_from = self.expected_from.last_mut().expect("one for each");
        *expected_from = (self.owned + 1).max(*expected_from);
        let name = format!("person-{number}");
        for transport in [number, number + 100] {
            self.from_owner[node].push_back(open(transport));
        }
        let entry = endpoint(number, &name, number);
        let distant = DistantEndpoint {
            node: B,
            transport: TransportId(number),
            identity: entry.identity.clone(),
            sid: entry.sid.clone(),
            number,
        };
        self.from_owner[node].push_back(Command::SetEndpoint(Box::new(entry)));
        if node == 1 {
            self.from_owner[0].extend([
                Command::SetDistantEndpoint(Box::new(distant)),
                Command::SetReach { node: B, number },
            ]);
        }
        self.from_owner[0].push_back(Command::SetElsewhere { elsewhere: false });
    }

    fn speak(&mut self) {
        self.said += 1;
        let message = MessageId {
            node: A,
            number: self.said,
        };
        let mut out = Output::default();
        let notice = received(ADA, "_reliable", &self.said.to_string(), message);
        self.nodes[0].notice(notice, &mut out);
        self.note(0, out);
    }

    /// The owner takes a notice, as `crates/controller` does.
    fn own(&mut self, notice: Notice) {
        match notice {
            Notice::MessageReceived {
                payload,
                message,
                passed_on,
                linked,
                ..
            } => {
                let upto = linked.nodes.first().map_or(0, |(_, number)| *number);
                let upto = [passed_on.unwrap_or(0), upto];
                let missing = |(number, node): &(u64, usize)| match linked.failed {
                    Some(failed) => *node == 1 && *number <= failed.number,
                    None => *number > upto[*node],
                };
                if linked.failed.is_none() {
                    self.owned = message.number;
                }
                if let Some(failed) = linked.failed {
                    self.from_owner[1].push_back(Command::SetSource {
                        node: A,
                        series: failed.series,
                        number: 0,
                    });
                }
                for (number, node) in self.told.iter().filter(|told| missing(told)) {
                    self.from_owner[*node].push_back(Command::Send {
                        to: vec![TransportId(*number)],
                        label: "_reliable".into(),
                        payload: payload.clone(),
                        reliable: true,
                        message: Some(message),
                    });
                }
                self.from_owner[0].push_back(Command::MessageHandled { message });
            }
            Notice::Reaches { series, number, .. } => {
                self.from_owner[1].push_back(Command::SetSource {
                    node: A,
                    series,
                    number,
                });
            }
            other => panic!("{other:?}"),
        }
    }

    fn make_link(&mut self) {
        let mut out = Output::default();
        if !self.is_linked && self.nodes[0].link_connected(B, &mut out) {
            self.is_linked = true;
            self.note(0, out);
        }
    }

    /// The connection is lost, with what is on it.
    fn break_link(&mut self) {
        self.is_linked = false;
        self.on_link = Default::default();
        let mut out = Output::default();
        self.nodes[0].link_disconnected(B, &mut out);
        self.held -= out.released.len() as i64;
        self.nodes[1].origin_disconnected(A);
    }

    fn fail_link(&mut self) {
        self.break_link();
        let mut out = Output::default();
        self.nodes[0].fail_link(B, &mut out);
        self.note(0, out);
    }

    /// Carries one thing that is on its way, if there is any on the way of this number.
    fn carry(&mut self, way: usize) -> bool {
        let node = way % 2;
        match way / 2 {
            0 => self.to_owner[node].pop_front().map(|notice| self.own(notice)),
            1 => self.from_owner[node]
                .pop_front()
                .map(|command| self.say(node, RoomContent::Command(command))),
            _ => self.on_link[node]
                .pop_front()
                .map(|output| self.carry_link(node, output)),
        }
        .is_some()
    }

    fn carry_link(&mut self, node: usize, output: LinkOutput) {
        let mut out = Output::default();
        let other = 1 - node;
        match output {
            LinkOutput::Send(_, LinkMessage::Hello(hello)) => {
                if !self.nodes[1].origin_connected(&hello, &mut out) {
                    self.break_link();
                }
            }
            LinkOutput::Send(_, LinkMessage::Message(linked)) => self.nodes[1].take_linked(A, &linked, &mut out),
            LinkOutput::Reply(_, reply) => self.nodes[0].link_replied(B, reply, &mut out),
            LinkOutput::Reset(_) | LinkOutput::Cut(_) => {}
        }
        self.note(other, out);
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..20 => self.speak(),
            20..23 if self.newcomer == Newcomer::Known => {
                let node = self.rng.random_range(0..2);
                self.join(node);
            }
            20..23 if self.newcomer == Newcomer::None && (self.told.len() as u64) < RECEIVERS => self.announce(),
            23..26 => self.make_link(),
            26 => self.break_link(),
            27 => self.fail_link(),
            _ => {
                let way = self.rng.random_range(0..6);
                self.carry(way);
            }
        }
    }

    fn settle(&mut self) {
        self.make_link();
        while (0..6).any(|way| self.carry(way)) {}
    }
}

#[test]
fn links_lose_and_repeat_nothing_in_any_history() {
    let mut linked = 0;
    for seed in 0..400 {
        let mut history = History::new(seed);
        history.join(1);
        for _ in 0..1_000 {
            history.step();
        }
        history.settle();
        // The link is up, and messages arrive over it as well.
        history.speak();
        history.settle();
        assert_eq!(history.told.is_empty(), history.heard.is_empty(), "seed {seed}");
        for ((number, _), expected_from) in history.told.iter().zip(&history.expected_from) {
            let heard = history.heard.get(&TransportId(*number)).cloned().unwrap_or_default();
            assert!(
                heard.is_sorted_by(|a, b| a < b),
                "seed {seed}, receiver {number}: {heard:?}"
            );
            let since = heard.iter().copied().filter(|number| number >= expected_from);
            let expected: Vec<_> = (*expected_from..=history.said).collect();
            assert_eq!(since.collect::<Vec<_>>(), expected, "seed {seed}, receiver {number}");
        }
        assert_eq!(history.held, 0, "seed {seed}: senders are held back");
        assert_eq!(history.nodes[1].links.waiting.all(), 0, "seed {seed}: messages wait");
        linked += history.nodes[1].counters()[Counter::LinkTaken];
    }
    assert!(linked > 5_000, "{linked} messages came over links");
}
