//! A relay, a proxy that talks to it, and a clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use sip::ng::value::{Dictionary, Value};
use sip::ng::{Encoding, split};
use sip::{CallController, Config, Counter, Input, Interface, Output, Request, RequestId, WallClock};
use southbound::relay::{Entry, Refusal, RelayCommand, RelayNotice, Traffic};

/// When the captured dialogue began.
pub(crate) const UNIX: Duration = Duration::from_micros(1_795_287_055_317_769);

/// A relay with the state of its data plane.
pub(crate) struct Setup {
    pub relay: CallController,
    pub now: Instant,
    pub config: Config,
    start: Instant,
    pub open: BTreeSet<SocketAddr>,
    pub entries: BTreeMap<SocketAddr, Entry>,
    pub notified: Vec<(String, String)>,
    /// The warnings that the operator was given.
    pub undone: Vec<String>,
    pub outputs: usize,
    /// Addresses that cannot be opened.
    pub taken: BTreeSet<SocketAddr>,
    /// How many ports the node can have.
    pub room: usize,
    /// No orders are answered while true.
    pub deaf: bool,
    counted: BTreeMap<SocketAddr, (Traffic, Option<Instant>)>,
    cookie: u64,
    asked: u64,
}

pub(crate) fn interface(name: &str, address: &str, ports: std::ops::RangeInclusive<u16>) -> Interface {
    Interface {
        name: name.to_owned(),
        address: ip(address),
        advertised: None,
        ports,
    }
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

pub(crate) fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address and a port")
}

/// A phone's description: one audio section there.
pub(crate) fn phone(address: &str, port: u16) -> String {
    described(
        address,
        &format!("m=audio {port} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n"),
    )
}

pub(crate) fn described(address: &str, sections: &str) -> String {
    format!("v=0\r\no=user1 53655765 2353687637 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\n{sections}")
}

impl Setup {
    /// One interface with a thousand ports.
    pub(crate) fn new() -> Self {
        Self::with(Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_999)]))
    }

    /// These interfaces, with a certificate for DTLS.
    pub(crate) fn certified(interfaces: Vec<Interface>) -> Self {
        let fingerprint = wire::sdp::Fingerprint {
            hash: wire::sdp::HashFunction::Sha256,
            digest: vec![7; 32],
        };
        Self::with(Config {
            fingerprints: vec![fingerprint],
            ..Config::new(interfaces)
        })
    }

    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    pub(crate) fn with(config: Config) -> Self {
        let now = Instant::now();
        let config = Config { saves: true, ..config };
        Self::at(config, now, now, [3; 32])
    }

    fn at(config: Config, start: Instant, now: Instant, seed: [u8; 32]) -> Self {
        let unix = UNIX + now.duration_since(start);
        let relay = CallController::new(config.clone(), WallClock { now, unix }, seed).expect("a usable configuration");
        Self {
            relay,
            now,
            config,
            start,
            open: BTreeSet::new(),
            entries: BTreeMap::new(),
            notified: Vec::new(),
            undone: Vec::new(),
            outputs: 0,
            taken: BTreeSet::new(),
            room: usize::MAX,
            deaf: false,
            counted: BTreeMap::new(),
            cookie: 0,
            asked: 0,
        }
    }

    /// The records of all calls for a next process.
    pub(crate) fn records(&mut self) -> Vec<String> {
        let changes = self.relay.take_changes();
        changes.into_iter().filter_map(|change| change.record).collect()
    }

    /// The process is killed, and another one resumes its calls.
    pub(crate) fn replace(&mut self) {
        let records = self.records();
        let cookie = self.cookie;
        *self = Self::at(self.config.clone(), self.start, self.now, [4; 32]);
        self.cookie = cookie;
        self.resume(&records);
    }

    /// Resumes an earlier process's calls.
    pub(crate) fn resume(&mut self, records: &[String]) {
        let mut outputs = Vec::new();
        self.relay
            .resume(self.now, records.iter().map(String::as_str), &mut outputs);
        self.take_in(outputs);
    }

    /// A proxy's request; returns the relay's reply, if there is one.
    pub(crate) fn say(&mut self, request: Request<'_>) -> Option<Vec<u8>> {
        self.asked += 1;
        let mut replies = self.tell(Input::Request(RequestId(self.asked), request));
        assert!(replies.len() <= 1, "a request has one reply");
        let (to, reply) = replies.pop()?;
        assert_eq!(to, RequestId(self.asked), "it is the request's");
        Some(reply)
    }

    /// Gives the relay an input, and then the media node's answers to its orders; returns the
    /// replies.
    ///
    /// Panics: when the outputs contradict each other, which no input may cause.
    pub(crate) fn tell(&mut self, input: Input<'_>) -> Vec<(RequestId, Vec<u8>)> {
        let mut outputs = Vec::new();
        if let Input::Notice(RelayNotice::Traffic { at, traffic, idle }) = input {
            self.counted.insert(at, (traffic, idle.map(|idle| self.now - idle)));
        }
        self.relay.handle(self.now, input, &mut outputs);
        self.outputs = outputs.len();
        self.take_in(outputs)
    }

    /// Gives the relay the time; returns the replies.
    pub(crate) fn time_out(&mut self) -> Vec<(RequestId, Vec<u8>)> {
        let mut outputs = Vec::new();
        self.relay.handle_timeout(self.now, &mut outputs);
        self.outputs = outputs.len();
        self.take_in(outputs)
    }

    /// Executes orders and everything that follows; returns the replies.
    fn take_in(&mut self, mut outputs: Vec<Output>) -> Vec<(RequestId, Vec<u8>)> {
        let (mut replies, mut seen) = (Vec::new(), VecDeque::new());
        loop {
            for output in outputs.drain(..) {
                match output {
                    Output::Command(command) => seen.extend(self.carry_out(command)),
                    Output::Notify { socket, tag } => self.notified.push((socket, tag)),
                    Output::Undone { what, .. } => self.undone.push(what),
                    Output::Reply { to, bytes } => replies.push((to, bytes.to_vec())),
                    Output::Unanswered(_) | Output::Elsewhere(_) | Output::Peer(..) => unreachable!("no cluster"),
                }
            }
            let Some(notice) = seen.pop_front() else { break };
            self.relay.handle(self.now, Input::Notice(notice), &mut outputs);
        }
        assert_eq!(
            self.open.len(),
            self.relay.port_pairs() * 2,
            "every port taken is known to be in use"
        );
        replies
    }

    /// A media node's answer to an order.
    fn carry_out(&mut self, command: RelayCommand) -> Option<RelayNotice> {
        match command {
            RelayCommand::Resume(entry) => {
                let at = entry.at;
                let opened = self.carry_out(RelayCommand::Open(at));
                if !self.taken.contains(&at) {
                    self.entries.insert(at, *entry);
                }
                return opened;
            }
            RelayCommand::Open(at) if self.taken.contains(&at) || self.open.len() >= self.room => {
                assert!(self.open.insert(at), "{at} is given twice");
                let why = if self.taken.contains(&at) {
                    Refusal::Taken
                } else {
                    Refusal::Full
                };
                return Some(RelayNotice::Refused { at, why });
            }
            RelayCommand::Open(at) => {
                assert!(self.open.insert(at), "{at} is given twice");
                return Some(RelayNotice::Opened { at }).filter(|_| !self.deaf);
            }
            RelayCommand::Close(at) => {
                assert!(self.open.remove(&at), "{at} was not in use");
                assert!(!self.entries.contains_key(&at), "{at} is still forwarded");
                self.counted.remove(&at);
            }
            // One that could not be opened forwards nothing.
            RelayCommand::Install(entry) if self.taken.contains(&entry.at) => {}
            RelayCommand::Install(entry) => {
                assert!(self.open.contains(&entry.at), "{} is not in use", entry.at);
                self.entries.insert(entry.at, *entry);
            }
            // A port that could not be resumed has no entry.
            RelayCommand::Silence(at) if self.taken.contains(&at) => {}
            RelayCommand::Silence(at) => _ = self.entries.remove(&at).expect("it was installed"),
            RelayCommand::Report(at) if self.taken.contains(&at) => {}
            RelayCommand::Report(at) => {
                assert!(self.entries.contains_key(&at), "{at} counts nothing");
                let (traffic, last) = self.counted.get(&at).copied().unwrap_or_default();
                let idle = last.map(|last| self.now.saturating_duration_since(last));
                return Some(RelayNotice::Traffic { at, traffic, idle }).filter(|_| !self.deaf);
            }
        }
        None
    }

    /// A port has relayed so much until now, which it reports when it is asked.
    pub(crate) fn relays(&mut self, at: SocketAddr, traffic: Traffic) {
        self.counted.insert(at, (traffic, Some(self.now)));
    }

    /// Sets a port's counts, which it reports when asked.
    pub(crate) fn counts(&mut self, at: SocketAddr, last: Option<Instant>) {
        self.counted.insert(at, (Traffic::default(), last));
    }

    pub(crate) fn count(&self, counter: Counter) -> u64 {
        self.relay.counters()[counter]
    }

    /// Lets time pass, with the relay's timeouts.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(timeout) = self.relay.poll_timeout().filter(|timeout| *timeout <= end) {
            self.now = self.now.max(timeout);
            self.time_out();
            assert!(
                self.relay.poll_timeout() > Some(self.now) || self.relay.poll_timeout().is_none(),
                "time passes"
            );
        }
        self.now = end;
        self.time_out();
    }

    pub(crate) fn source(&mut self, at: SocketAddr, from: &str) {
        let from = from.parse().expect("an address");
        self.tell(Input::Notice(RelayNotice::Source { at, from }));
    }

    /// One rtpproxy command under a fresh cookie.
    pub(crate) fn line(&mut self, command: &str) -> String {
        self.cookie += 1;
        let message = format!("{} {command}", self.cookie);
        let reply = self
            .say(Request::Rtpproxy {
                from: None,
                message: message.as_bytes(),
            })
            .expect("an answer");
        let reply = String::from_utf8(reply).expect("text");
        reply
            .strip_prefix(&format!("{} ", self.cookie))
            .expect("the same cookie")
            .to_owned()
    }

    /// One `ng` request under a fresh cookie.
    pub(crate) fn ask(&mut self, request: Dictionary) -> Dictionary {
        self.cookie += 1;
        let mut message = format!("{} ", self.cookie).into_bytes();
        Encoding::Bencode.encode(&request.into(), &mut message);
        let reply = self
            .say(Request::Ng {
                from: None,
                message: &message,
            })
            .expect("an answer");
        let (cookie, payload) = split(&reply).expect("a cookie");
        assert_eq!(cookie, self.cookie.to_string().as_bytes());
        match Encoding::Bencode.decode(payload) {
            Ok((Value::Dictionary(reply), used)) if used == payload.len() => reply,
            other => panic!("not a reply: {other:?}"),
        }
    }

    /// An offer or an answer: the rewritten description.
    pub(crate) fn describe(&mut self, command: &str, sdp: &str, more: Dictionary) -> String {
        let reply = self.ask(request(command, Some(sdp), more));
        assert_eq!(reply.text("result"), Some(&b"ok"[..]), "{}", reason(&reply));
        String::from_utf8_lossy(reply.text("sdp").expect("a description")).into_owned()
    }

    /// A change of the call that the other phone accepts: the offer that it got.
    pub(crate) fn change(&mut self, sdp: &str, more: Dictionary) -> String {
        let offer = self.describe("offer", sdp, more);
        self.describe("answer", &phone("192.0.2.2", 6000), answered());
        offer
    }

    /// A whole call between two phones: the description each of them got.
    pub(crate) fn call(&mut self) -> [String; 2] {
        let offer = self.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
        let answer = self.describe("answer", &phone("192.0.2.2", 6000), answered());
        [answer, offer]
    }
}

/// The additional keys of an answer.
pub(crate) fn answered() -> Dictionary {
    Dictionary::default().with("to-tag", "b")
}

/// A request about call `c`, from the party with tag `a` unless `more` overrides it.
pub(crate) fn request(command: &str, sdp: Option<&str>, more: Dictionary) -> Dictionary {
    let mut request = Dictionary::default().with("command", command);
    for (key, value) in [("call-id", "c"), ("from-tag", "a")] {
        if more.value(key).is_none() {
            request.push(key, value);
        }
    }
    sdp.into_iter().for_each(|sdp| request.push("sdp", sdp));
    more.iter().for_each(|(key, value)| request.push(key, value.clone()));
    request
}

pub(crate) fn flags(flags: &[&str]) -> Dictionary {
    Dictionary::default().with("flags", list(flags))
}

pub(crate) fn list(words: &[&str]) -> Value {
    Value::List(words.iter().map(|word| Value::from(*word)).collect())
}

pub(crate) fn reason(reply: &Dictionary) -> String {
    String::from_utf8_lossy(reply.text("error-reason").unwrap_or_default()).into_owned()
}

/// Our address in a description: that of its first section.
pub(crate) fn local(sdp: &str) -> SocketAddr {
    let after = |prefix: &str| sdp.lines().find_map(|line| line.strip_prefix(prefix));
    let address = after("c=IN IP4 ").or(after("c=IN IP6 ")).expect("a connection");
    let port = after("m=audio ").expect("a section").split(' ').next().expect("a port");
    SocketAddr::new(ip(address), port.parse().expect("a port"))
}

/// The address above.
pub(crate) fn above(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port() + 1)
}

pub(crate) fn dictionary<'a>(value: &'a Dictionary, path: &[&str]) -> &'a Dictionary {
    path.iter().fold(value, |value, key| match value.value(key) {
        Some(Value::Dictionary(inner)) => inner,
        other => panic!("{key}: {other:?}"),
    })
}
