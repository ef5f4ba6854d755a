//! The commands.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use super::command::{Allocate, Command, ErrorCode, Names, Side};
use crate::call::{self, Allocation, Call, CallName, Component, Context, Dialogue, Refused, Role, SourceTerms, Terms};
use crate::calls::{Calls, Exchange};
use crate::config::Learning;
use crate::counters::Counter;
use crate::limits::{MESSAGE_MAX, NAME_MAX, SECTIONS_MAX};
use crate::messages::Output;
use crate::statistics::{Command as CommandKind, Outcome};
use crate::subject::Subject;

/// The protocol's version.
const VERSION: &str = "20040107";

/// Extensions that are there: several media sections, `6` and `E`/`I`, `L` options, payload lists,
/// notice of time-outs.
const FEATURES: [&str; 5] = ["20040107", "20050322", "20060704", "20081102", "20081224"];

/// The counters in a reply to `Q` without a list.
const COUNTERS: [&str; 5] = ["ttl", "npkts_ina", "npkts_ino", "nrelayed", "ndropped"];

/// Executes one command without its cookie; returns the reply and the kind of the command.
pub(crate) fn execute(calls: &mut Calls, now: Instant, command: &[u8], out: &mut Vec<Output>) -> (Vec<u8>, Outcome) {
    let text = std::str::from_utf8(command)
        .ok()
        .filter(|text| text.len() <= MESSAGE_MAX);
    let read = text.ok_or(ErrorCode::UnknownCommand).and_then(Command::parse);
    if read.is_err() {
        calls.counters.count(Counter::RtpproxyRefused);
    }
    let mut commands = Commands {
        calls,
        now,
        out,
        outcome: Outcome::default(),
    };
    let done = read.and_then(|command| commands.perform(command));
    let reply = done.unwrap_or_else(|code| {
        commands.calls.counters.count(Counter::Errors);
        commands.outcome.failed = true;
        code.reply()
    });
    (reply.into_bytes(), commands.outcome)
}

/// The call whose counts a command is about, if it is about any.
pub(crate) fn call_reported_on(command: &[u8]) -> Option<Vec<u8>> {
    match std::str::from_utf8(command).map(Command::parse) {
        Ok(Ok(Command::Delete { names, .. } | Command::Query { names, .. })) => Some(names.call.into()),
        _ => None,
    }
}

/// The call that a command is about, if it is one that needs or begins a call.
pub(crate) fn subject(command: &[u8]) -> Option<Subject> {
    let text = std::str::from_utf8(command)
        .ok()
        .filter(|text| text.len() <= MESSAGE_MAX)?;
    let (names, begins) = match Command::parse(text).ok()? {
        Command::Allocate(asked) => (asked.names, !asked.lookup),
        Command::Delete { names, .. } | Command::Query { names, .. } => (names, false),
        Command::Version | Command::Feature(_) | Command::DeleteAll | Command::Info => return None,
    };
    let call = names.call.into();
    Some(Subject { call, begins })
}

/// The execution of one command.
struct Commands<'a> {
    calls: &'a mut Calls,
    now: Instant,
    out: &'a mut Vec<Output>,
    outcome: Outcome,
}

impl Commands<'_> {
    fn perform(&mut self, command: Command<'_>) -> Result<String, ErrorCode> {
        self.outcome.command = Some(match command {
            Command::Version | Command::Feature(_) => CommandKind::Ping,
            Command::Allocate(ref asked) if asked.lookup => CommandKind::Answer,
            Command::Allocate(_) => CommandKind::Offer,
            Command::Delete { .. } | Command::DeleteAll => CommandKind::Delete,
            Command::Query { .. } => CommandKind::Query,
            Command::Info => CommandKind::Statistics,
        });
        match command {
            Command::Version => Ok(format!("{VERSION}\n")),
            Command::Feature(feature) => Ok(format!("{}\n", u8::from(FEATURES.contains(&feature)))),
            Command::Allocate(asked) => self.allocate(&asked),
            Command::Delete { names, weak } => self.delete(&names, weak),
            Command::Query {
                names,
                verbose,
                counters,
            } => self.query(&names, verbose, &counters),
            Command::DeleteAll => Ok(self.delete_all()),
            Command::Info => Ok(self.info()),
        }
    }

    fn allocate(&mut self, asked: &Allocate<'_>) -> Result<String, ErrorCode> {
        self.calls.counters.count(if asked.lookup {
            Counter::Answers
        } else {
            Counter::Offers
        });
        self.calls.counters[Counter::FlagIgnored] += asked.ignored as u64;
        check(&asked.names)?;
        let role = if asked.lookup { Role::Answer } else { Role::Offer };
        let exchange = Exchange {
            names: names(&asked.names),
            role,
            party: asked.address,
            interfaces: self.interfaces(asked)?,
            target: None,
            description: None,
        };
        let name = CallName::from(asked.names.call.as_bytes());
        let mut call = match role {
            Role::Offer => self
                .calls
                .take_or_begin(self.now, &name, asked.address, self.out)
                .map_err(code)?,
            Role::Answer => match self.calls.take(&name) {
                Some(call) => call,
                None => return Ok(self.nothing_there()),
            },
        };
        let (allocation, terms) = (asked.allocation(), asked.terms(self.calls.config().learning));
        let allocate = |call: &mut Call, place, context: &mut Context<'_>| {
            call.allocate(place, role, &allocation, &terms, context)
        };
        let ours = self.calls.exchange(self.now, &mut call, exchange, self.out, allocate);
        self.calls.put(name, call, self.out);
        match ours {
            Err(Refused::Unknown) => Ok(self.nothing_there()),
            Err(refused) => Err(code(refused)),
            Ok(ours) => {
                let family = if ours.is_ipv6() { " 6" } else { "" };
                Ok(format!("{} {}{family}\n", ours.port(), ours.ip()))
            }
        }
    }

    /// The reply to an answer in an unknown call: port 0, which is no error.
    fn nothing_there(&mut self) -> String {
        self.calls.counters.count(Counter::CallUnknown);
        "0\n".to_owned()
    }

    /// On which interfaces the speaker and the other are.
    fn interfaces(&self, asked: &Allocate<'_>) -> Result<[usize; 2], ErrorCode> {
        if let Some(local) = asked.local {
            let interface = self.calls.ports().interface_at(local).ok_or(ErrorCode::Local)?;
            return Ok([interface; 2]);
        }
        let v6 = asked.v6 || asked.address.is_some_and(|address| address.is_ipv6());
        let mut interfaces = [self.calls.ports().default_interface(v6); 2];
        for (interface, side) in interfaces.iter_mut().zip(&asked.sides) {
            let name = match side {
                Side::Internal => "internal",
                Side::External => "external",
            };
            *interface = self.calls.ports().interface(name, v6).ok_or(ErrorCode::Sides)?;
        }
        Ok(interfaces)
    }

    fn delete(&mut self, asked: &Names<'_>, weak: bool) -> Result<String, ErrorCode> {
        self.calls.counters.count(Counter::Deletes);
        check(asked)?;
        let name = CallName::from(asked.call.as_bytes());
        let mut call = self.calls.take(&name).ok_or_else(|| self.unknown())?;
        for place in call.places(&names(asked)) {
            let dialogue = &mut call.dialogues[place.dialogue];
            if weak {
                dialogue.weak[place.end] = false
            } else {
                dialogue.strong = false
            }
        }
        let kept_until = self.now + self.calls.config().delete_delay;
        let may_end = |dialogue: &Dialogue| !dialogue.strong && dialogue.weak == [false; 2];
        let found = self
            .calls
            .end(self.now, &mut call, Some(&names(asked)), kept_until, may_end);
        self.calls.put(name, call, self.out);
        if found.any {
            Ok("0\n".to_owned())
        } else {
            Err(self.unknown())
        }
    }

    fn query(&mut self, asked: &Names<'_>, verbose: bool, wanted: &[&str]) -> Result<String, ErrorCode> {
        self.calls.counters.count(Counter::Queries);
        check(asked)?;
        let call = self.calls.get(asked.call.as_bytes());
        let found = call.and_then(|call| {
            let place = *call.places(&names(asked)).first()?;
            let media = call.dialogues[place.dialogue].media.get(usize::from(asked.media) - 1)?;
            Some((call, media, place.end))
        });
        let Some((call, media, end)) = found else {
            return Err(self.unknown());
        };
        let idle = self.now.saturating_duration_since(call.last_activity());
        let ttl = call.idle_limit(self.calls.config()).0.saturating_sub(idle).as_secs();
        let [speaker, other] = [end, 1 - end].map(|end| media.sides[end].traffic[Component::Rtp as usize]);
        let value = |counter: &str| match counter {
            "ttl" => Ok(ttl),
            "npkts_ina" => Ok(speaker.packets + speaker.errors),
            "npkts_ino" => Ok(other.packets + other.errors),
            "nrelayed" => Ok(speaker.packets + other.packets),
            "ndropped" => Ok(speaker.errors + other.errors),
            _ => Err(ErrorCode::Query),
        };
        let wanted = if wanted.is_empty() { &COUNTERS } else { wanted };
        let say = |counter: &&str| {
            let value = value(counter)?;
            Ok(if verbose {
                format!("{counter}={value}")
            } else {
                value.to_string()
            })
        };
        let said: Vec<String> = wanted.iter().map(say).collect::<Result<_, ErrorCode>>()?;
        Ok(format!("{}\n", said.join(" ")))
    }

    fn delete_all(&mut self) -> String {
        self.calls.end_all(self.now, self.out);
        "0\n".to_owned()
    }

    fn info(&self) -> String {
        let alive = |call: &&Call| call.dialogues.iter().any(|dialogue| !dialogue.is_over());
        let calls = || self.calls.iter().map(|(_, call)| call);
        let relayed = self.calls.statistics.total();
        let streams = calls()
            .flat_map(|call| &call.dialogues)
            .flat_map(|dialogue| &dialogue.media)
            .count()
            * 2;
        format!(
            "sessions created: {}\nactive sessions: {}\nactive streams: {streams}\npackets received: {}\npackets transmitted: {}\n",
            self.calls.counters[Counter::CallsBegun],
            calls().filter(alive).count(),
            relayed.packets + relayed.errors,
            relayed.packets,
        )
    }

    fn unknown(&mut self) -> ErrorCode {
        self.calls.counters.count(Counter::CallUnknown);
        ErrorCode::UnknownSession
    }
}

impl Allocate<'_> {
    fn allocation(&self) -> Allocation<'_> {
        let address = self.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        Allocation {
            section: usize::from(self.names.media) - 1,
            rtp: SocketAddr::new(address, self.port),
            new_port: self.new_port,
            weak: self.weak,
            notify: self.notify,
        }
    }

    /// Sources are learned as the operator has set it, whatever the party says of itself.
    fn terms(&self, learning: Learning) -> Terms {
        Terms {
            sources: SourceTerms {
                learning: Some(learning),
                asymmetric: self.asymmetric,
                ..SourceTerms::default()
            },
            ..Terms::default()
        }
    }
}

fn names<'a>(asked: &Names<'a>) -> call::Names<'a> {
    call::Names {
        from: asked.from.as_bytes(),
        to: asked.to.map(str::as_bytes),
        branch: asked.branch.map(str::as_bytes),
    }
}

/// Names and numbers must be within bounds.
fn check(asked: &Names<'_>) -> Result<(), ErrorCode> {
    let longest = [
        asked.call,
        asked.from,
        asked.to.unwrap_or_default(),
        asked.branch.unwrap_or_default(),
    ];
    let fits = longest.iter().all(|name| name.len() <= NAME_MAX) && usize::from(asked.media) <= SECTIONS_MAX;
    if fits { Ok(()) } else { Err(ErrorCode::Arguments) }
}

const fn code(refused: Refused) -> ErrorCode {
    match refused {
        Refused::Unknown => ErrorCode::UnknownSession,
        Refused::NoAddress | Refused::Address | Refused::Keys => ErrorCode::Remote,
        Refused::NoPorts => ErrorCode::NoPorts,
        Refused::Full => ErrorCode::Overload,
    }
}
