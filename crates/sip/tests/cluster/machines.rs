//! Several relays of one cluster, with a network between them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use sip::ng::value::{Dictionary, Value};
use sip::ng::{Encoding, split};
use sip::{
    CallController, Config, Counter, Input, Interface, Output, PassOutcome, PeerEvent, PeerMessage, Request, RequestId,
    WallClock,
};
use southbound::NodeId;
use southbound::relay::{RelayCommand, RelayNotice, Traffic};

/// The calendar time of the start.
const UNIX: Duration = Duration::from_secs(1_800_000_000);

/// A machine: its place, from 0.
pub(super) type Place = usize;

struct Machine {
    relay: CallController,
    /// The requests that others have passed on, with their own numbers of them.
    passed: HashMap<RequestId, (Place, RequestId)>,
    /// It neither reads nor says anything.
    is_frozen: bool,
    is_dead: bool,
}

enum Delivery {
    /// Bytes from one machine to another.
    Said(Place, Place, Vec<u8>),
    /// Something that a machine notices.
    Event(Place, PeerEvent),
}

/// All machines, each of which is connected to all others.
pub(super) struct Cluster {
    pub(super) now: Instant,
    machines: Vec<Machine>,
    way: BTreeMap<(Instant, u64), Delivery>,
    /// The last arrival from one machine at another: a connection keeps the order.
    last: HashMap<(Place, Place), Instant>,
    /// The delay of the next message, in turn. Shape: milliseconds.
    delays: Vec<u64>,
    serial: u64,
    replies: HashMap<RequestId, Vec<u8>>,
    unanswered: BTreeSet<RequestId>,
    frozen: Vec<Delivery>,
}

impl Cluster {
    /// So many machines that know each other.
    pub(super) fn new(machines: usize) -> Self {
        let mut cluster = Self::unconnected(machines);
        for one in 0..machines {
            let others = (0..machines).filter(|other| *other != one);
            let others: Vec<_> = others.collect();
            let known = others.iter().map(|other| id(*other)).collect();
            cluster.event(one, PeerEvent::Known(known));
            for other in others {
                cluster.event(one, PeerEvent::Joined(id(other)));
            }
        }
        cluster
    }

    /// So many machines, none of which knows anything of others.
    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    pub(super) fn unconnected(machines: usize) -> Self {
        let now = Instant::now();
        let machine = |place: Place| {
            let address = format!("127.0.0.{}", place + 1);
            let config = Config {
                cluster: Some(id(place)),
                ..Config::new(vec![interface(&address)])
            };
            let clock = WallClock { now, unix: UNIX };
            Machine {
                relay: CallController::new(config, clock, [place as u8; 32]).expect("a usable configuration"),
                passed: HashMap::new(),
                is_frozen: false,
                is_dead: false,
            }
        };
        Self {
            now,
            machines: (0..machines).map(machine).collect(),
            way: BTreeMap::new(),
            last: HashMap::new(),
            delays: vec![1],
            serial: 0,
            replies: HashMap::new(),
            unanswered: BTreeSet::new(),
            frozen: Vec::new(),
        }
    }

    /// The delays of messages from now on, in turn. Shape: milliseconds.
    pub(super) fn delay(&mut self, delays: Vec<u64>) {
        self.delays = delays;
    }

    /// A proxy asks a machine for something, under this cookie.
    pub(super) fn ask(&mut self, place: Place, cookie: &str, request: Dictionary) -> RequestId {
        let mut message = format!("{cookie} ").into_bytes();
        Encoding::Bencode.encode(&Value::Dictionary(request), &mut message);
        self.ask_raw(place, &message)
    }

    /// The same with these bytes.
    pub(super) fn ask_raw(&mut self, place: Place, message: &[u8]) -> RequestId {
        let from = Some([192, 0, 2, 9].into());
        self.serial += 1;
        let id = RequestId(self.serial);
        self.input(place, Input::Request(id, Request::Ng { from, message }));
        id
    }

    /// The same in rtpproxy's protocol.
    pub(super) fn command(&mut self, place: Place, command: &str) -> RequestId {
        self.serial += 1;
        let id = RequestId(self.serial);
        self.input(place, Input::Request(id, Request::RtpproxyPlain(command.as_bytes())));
        id
    }

    /// The reply to a request, once everything has had its time.
    pub(super) fn reply(&mut self, request: RequestId) -> Option<Dictionary> {
        self.run(Duration::from_secs(3));
        let bytes = self.bytes(request)?;
        let (_, payload) = split(&bytes).expect("a cookie");
        match Encoding::Bencode.decode(payload) {
            Ok((Value::Dictionary(reply), _)) => Some(reply),
            other => panic!("{other:?}"),
        }
    }

    /// The bytes of a reply that has come by now.
    pub(super) fn bytes(&self, request: RequestId) -> Option<Vec<u8>> {
        self.replies.get(&request).cloned()
    }

    /// Whether a request got no answer, on purpose.
    pub(super) fn is_unanswered(&self, request: RequestId) -> bool {
        self.unanswered.contains(&request)
    }

    /// A machine notices something.
    pub(super) fn event(&mut self, place: Place, event: PeerEvent) {
        self.input(place, Input::Peer(event));
    }

    /// A machine is sent this by another, which did not mean it so.
    pub(super) fn say(&mut self, from: Place, to: Place, message: PeerMessage) {
        self.send(from, to, message);
    }

    /// A machine ends. The others notice it a moment later.
    pub(super) fn kill(&mut self, place: Place) {
        self.machines[place].is_dead = true;
        for other in (0..self.machines.len()).filter(|other| *other != place) {
            self.deliver(place, other, Delivery::Event(other, PeerEvent::Left(id(place))));
        }
    }

    /// A machine stops, or goes on.
    pub(super) fn freeze(&mut self, place: Place, is_frozen: bool) {
        self.machines[place].is_frozen = is_frozen;
        if !is_frozen {
            let now = self.now;
            for delivery in std::mem::take(&mut self.frozen) {
                self.serial += 1;
                self.way.insert((now, self.serial), delivery);
            }
        }
    }

    /// The machines that have a call.
    pub(super) fn owners(&mut self, call: &str) -> Vec<Place> {
        let has = |machine: &mut Machine, now| {
            let request = Dictionary::default().with("command", "query").with("call-id", call);
            let mut message = b"o ".to_vec();
            Encoding::Bencode.encode(&Value::Dictionary(request), &mut message);
            let mut out = Vec::new();
            let question = PeerMessage::Ask {
                question: 0,
                call: call.as_bytes().into(),
                begins: false,
            };
            let asked = PeerEvent::Said(NodeId(u64::MAX), question);
            machine.relay.handle(now, Input::Peer(asked), &mut out);
            out.iter()
                .any(|output| matches!(output, Output::Peer(_, PeerMessage::Answer { has: true, .. })))
        };
        let now = self.now;
        let machines = self
            .machines
            .iter_mut()
            .enumerate()
            .filter(|(_, machine)| !machine.is_dead);
        let owners = machines.filter_map(|(place, machine)| has(machine, now).then_some(place));
        owners.collect()
    }

    /// A counter of one machine.
    pub(super) fn count(&self, place: Place, counter: Counter) -> u64 {
        self.machines[place].relay.counters()[counter]
    }

    /// The requests of a machine that still wait for something.
    pub(super) fn waits(&self, place: Place) -> bool {
        (1..=self.serial).any(|number| self.machines[place].relay.is_waiting(RequestId(number)))
    }

    /// Lets everything happen that happens within this time.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let message = self.way.first_key_value().map(|((at, _), _)| *at);
            let running = self
                .machines
                .iter()
                .filter(|machine| !machine.is_dead && !machine.is_frozen);
            let timeout = running.filter_map(|machine| machine.relay.poll_timeout()).min();
            let Some(next) = message.into_iter().chain(timeout).min().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            if message.is_some_and(|at| at <= next) {
                let (_, delivery) = self.way.pop_first().expect("it was there");
                self.arrive(delivery);
            } else {
                for place in 0..self.machines.len() {
                    let mut out = Vec::new();
                    let machine = &mut self.machines[place];
                    if !machine.is_dead && !machine.is_frozen {
                        machine.relay.handle_timeout(self.now, &mut out);
                        self.take_in(place, out);
                    }
                }
            }
        }
        self.now = end;
    }

    fn arrive(&mut self, delivery: Delivery) {
        let (Delivery::Said(_, to, _) | Delivery::Event(to, _)) = delivery;
        if self.machines[to].is_frozen {
            return self.frozen.push(delivery);
        }
        match delivery {
            Delivery::Event(to, event) => self.input(to, Input::Peer(event)),
            Delivery::Said(from, to, bytes) => match PeerMessage::decode(&bytes).expect("a message") {
                PeerMessage::Pass { request, passed } => {
                    self.serial += 1;
                    let own = RequestId(self.serial);
                    self.machines[to].passed.insert(own, (from, request));
                    self.input(to, Input::Passed(own, id(from), passed.request()));
                }
                message => self.input(to, Input::Peer(PeerEvent::Said(id(from), message))),
            },
        }
    }

    fn input(&mut self, place: Place, input: Input<'_>) {
        let machine = &mut self.machines[place];
        if machine.is_dead {
            return;
        }
        let mut out = Vec::new();
        machine.relay.handle(self.now, input, &mut out);
        self.take_in(place, out);
    }

    fn take_in(&mut self, place: Place, out: Vec<Output>) {
        for output in out {
            match output {
                Output::Command(RelayCommand::Open(at)) => {
                    self.input(place, Input::Notice(RelayNotice::Opened { at }));
                }
                Output::Command(RelayCommand::Report(at)) => {
                    let traffic = Traffic::default();
                    let idle = None;
                    self.input(place, Input::Notice(RelayNotice::Traffic { at, traffic, idle }));
                }
                Output::Command(_) | Output::Notify { .. } | Output::Undone { .. } => {}
                Output::Peer(peer, message) => self.send(place, peer.0 as Place, message),
                Output::Reply { to, bytes } => self.answered(place, to, PassOutcome::Reply(bytes)),
                Output::Unanswered(to) => self.answered(place, to, PassOutcome::Unanswered),
                Output::Elsewhere(to) => self.answered(place, to, PassOutcome::Elsewhere),
            }
        }
    }

    fn answered(&mut self, place: Place, to: RequestId, outcome: PassOutcome) {
        if let Some((peer, request)) = self.machines[place].passed.remove(&to) {
            return self.send(place, peer, PeerMessage::Passed { request, outcome });
        }
        match outcome {
            PassOutcome::Reply(bytes) => {
                let before = self.replies.insert(to, bytes.to_vec());
                assert!(before.is_none(), "a request is answered once");
            }
            PassOutcome::Unanswered => assert!(self.unanswered.insert(to), "it is given up once"),
            other => panic!("{other:?} is for another machine"),
        }
    }

    fn send(&mut self, from: Place, to: Place, message: PeerMessage) {
        if to < self.machines.len() && !self.machines[from].is_dead {
            self.deliver(from, to, Delivery::Said(from, to, message.encode()));
        }
    }

    fn deliver(&mut self, from: Place, to: Place, delivery: Delivery) {
        self.serial += 1;
        let delay = Duration::from_millis(self.delays[self.serial as usize % self.delays.len()]);
        let last = self.last.entry((from, to)).or_insert(self.now);
        *last = (*last).max(self.now + delay);
        self.way.insert((*last, self.serial), delivery);
    }
}

/// The id of the machine at a place.
pub(super) fn id(place: Place) -> NodeId {
    NodeId(place as u64)
}

/// An offer of a call.
pub(super) fn offer(call: &str) -> Dictionary {
    request("offer", call).with("sdp", phone("192.0.2.1", 6000).as_str())
}

/// The answer to it.
pub(super) fn answer(call: &str) -> Dictionary {
    let request = request("answer", call).with("sdp", phone("192.0.2.2", 7000).as_str());
    request.with("to-tag", "b")
}

/// A request about a call.
pub(super) fn request(command: &str, call: &str) -> Dictionary {
    let request = Dictionary::default().with("command", command).with("call-id", call);
    request.with("from-tag", "a")
}

/// The result in a reply.
pub(super) fn result(reply: Option<Dictionary>) -> String {
    let reply = reply.expect("a reply");
    let text = |name| reply.text(name).map(|text| String::from_utf8_lossy(text).into_owned());
    match (text("error-reason"), text("warning")) {
        (Some(reason), _) | (None, Some(reason)) => reason,
        (None, None) => text("result").expect("a result"),
    }
}

fn interface(address: &str) -> Interface {
    Interface {
        name: "default".to_owned(),
        address: address.parse().expect("an address"),
        advertised: None,
        ports: 40_000..=40_999,
    }
}

/// A phone's description: one audio section there.
fn phone(address: &str, port: u16) -> String {
    format!(
        "v=0\r\no=- 1 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\n\
         m=audio {port} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n"
    )
}
