//! The commands.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use super::command::{Allocate, Command, ErrorCode, Names, Side};
use crate::call::{self, Allocation, Call, CallName, Component, Refused, Role, SourceTerms, Terms};
use crate::config::Learning;
use crate::limits::{MESSAGE_MAX, NAME_MAX, SECTIONS_MAX};
use crate::relay::Output;
use crate::statistics::Command as Asked;
use crate::{Counter, Relay};

/// The protocol's version.
const VERSION: &str = "20040107";

/// Extensions that are there: several media sections, `6` and `E`/`I`, `L` options, payload lists,
/// notice of time-outs.
const FEATURES: [&str; 5] = ["20040107", "20050322", "20060704", "20081102", "20081224"];

/// The counters in a reply to `Q` without a list.
const COUNTERS: [&str; 5] = ["ttl", "npkts_ina", "npkts_ino", "nrelayed", "ndropped"];

impl Relay {
    /// Handles one command without its cookie, and returns the reply.
    pub(crate) fn rtpproxy_command(&mut self, now: Instant, command: &[u8], out: &mut Vec<Output>) -> String {
        let text = std::str::from_utf8(command)
            .ok()
            .filter(|text| text.len() <= MESSAGE_MAX);
        let read = text.ok_or(ErrorCode::UnknownCommand).and_then(Command::parse);
        if read.is_err() {
            self.counters.count(Counter::RtpproxyRefused);
        }
        let outcome = read.and_then(|command| self.perform(now, command, out));
        outcome.unwrap_or_else(|code| {
            self.counters.count(Counter::Errors);
            self.outcome.failed = true;
            code.reply()
        })
    }

    fn perform(&mut self, now: Instant, command: Command<'_>, out: &mut Vec<Output>) -> Result<String, ErrorCode> {
        self.outcome.command = Some(match command {
            Command::Version | Command::Feature(_) => Asked::Ping,
            Command::Allocate(ref asked) if asked.lookup => Asked::Answer,
            Command::Allocate(_) => Asked::Offer,
            Command::Delete { .. } | Command::DeleteAll => Asked::Delete,
            Command::Query { .. } => Asked::Query,
            Command::Info => Asked::Statistics,
        });
        match command {
            Command::Version => Ok(format!("{VERSION}\n")),
            Command::Feature(feature) => Ok(format!("{}\n", u8::from(FEATURES.contains(&feature)))),
            Command::Allocate(asked) => self.allocate(now, &asked, out),
            Command::Delete { names, weak } => self.delete_by_line(now, &names, weak, out),
            Command::Query {
                names,
                verbose,
                counters,
            } => self.query_by_line(now, &names, verbose, &counters),
            Command::DeleteAll => Ok(self.delete_all(now, out)),
            Command::Info => Ok(self.info()),
        }
    }

    fn allocate(&mut self, now: Instant, asked: &Allocate<'_>, out: &mut Vec<Output>) -> Result<String, ErrorCode> {
        self.counters.count(if asked.lookup {
            Counter::Answers
        } else {
            Counter::Offers
        });
        self.counters[Counter::FlagIgnored] += asked.ignored as u64;
        check(&asked.names)?;
        let interfaces = self.interfaces_by_line(asked)?;
        let name = CallName::from(asked.names.call.as_bytes());
        let mut call = match asked.lookup {
            false => self.take_or_begin(now, &name, asked.address, out).map_err(code)?,
            true => match self.calls.remove(&name) {
                Some(call) => call,
                None => return Ok(self.nothing_there()),
            },
        };
        let done = self.allocate_in(now, &mut call, asked, interfaces, out);
        self.put(name, call, out);
        match done {
            Err(Refused::Unknown) => Ok(self.nothing_there()),
            done => done.map_err(code),
        }
    }

    fn allocate_in(
        &mut self,
        now: Instant,
        call: &mut Call,
        asked: &Allocate<'_>,
        interfaces: [usize; 2],
        out: &mut Vec<Output>,
    ) -> Result<String, Refused> {
        let before = call.dialogues.len();
        let names = names(&asked.names);
        let place = match asked.lookup {
            false => self.with(now, |context| call.place_of_offer(&names, interfaces, None, context))?,
            true => call.place_of_answer(&names, None).ok_or(Refused::Unknown)?,
        };
        let (allocation, terms) = (asked.allocation(), asked.terms(self.config.learning));
        let role = if asked.lookup { Role::Answer } else { Role::Offer };
        let done = self.with_ports(now, asked.address, out, |context| {
            call.allocate(place, role, &allocation, &terms, context)
        });
        if done.is_err() && call.dialogues.len() > before {
            // A dialogue that this command began ends with it.
            call.dialogues[place.dialogue].kept_until = Some(now);
            call.forget(&mut self.ports, |dialogue| dialogue.kept_until == Some(now));
        }
        done.map(|ours| {
            let family = if ours.is_ipv6() { " 6" } else { "" };
            format!("{} {}{family}\n", ours.port(), ours.ip())
        })
    }

    /// The reply to an answer in an unknown call: port 0, which is no error.
    fn nothing_there(&mut self) -> String {
        self.counters.count(Counter::CallUnknown);
        "0\n".to_owned()
    }

    /// On which interfaces the speaker and the other are.
    fn interfaces_by_line(&mut self, asked: &Allocate<'_>) -> Result<[usize; 2], ErrorCode> {
        if let Some(local) = asked.local {
            let interface = self.ports.interface_at(local).ok_or(ErrorCode::Local)?;
            return Ok([interface; 2]);
        }
        let v6 = asked.v6 || asked.address.is_some_and(|address| address.is_ipv6());
        let mut interfaces = [self.ports.default_interface(v6); 2];
        for (interface, side) in interfaces.iter_mut().zip(&asked.sides) {
            let name = match side {
                Side::Internal => "internal",
                Side::External => "external",
            };
            *interface = self.ports.interface(name, v6).ok_or(ErrorCode::Sides)?;
        }
        Ok(interfaces)
    }

    fn delete_by_line(
        &mut self,
        now: Instant,
        asked: &Names<'_>,
        weak: bool,
        out: &mut Vec<Output>,
    ) -> Result<String, ErrorCode> {
        self.counters.count(Counter::Deletes);
        check(asked)?;
        let name = CallName::from(asked.call.as_bytes());
        let mut call = self.calls.remove(&name).ok_or_else(|| self.unknown_by_line())?;
        for place in call.places(&names(asked)) {
            let dialogue = &mut call.dialogues[place.dialogue];
            if weak {
                dialogue.weak[place.end] = false
            } else {
                dialogue.strong = false
            }
        }
        let kept_until = now + self.config.delete_delay;
        let found = call.end_where(Some(&names(asked)), kept_until, |dialogue| {
            !dialogue.strong && dialogue.weak == [false; 2]
        });
        if found.ended {
            self.counters.count(Counter::CallsEnded);
            self.statistics.ended(now, &call, self.calls.len());
        }
        self.put(name, call, out);
        if found.any {
            Ok("0\n".to_owned())
        } else {
            Err(self.unknown_by_line())
        }
    }

    fn query_by_line(
        &mut self,
        now: Instant,
        asked: &Names<'_>,
        verbose: bool,
        wanted: &[&str],
    ) -> Result<String, ErrorCode> {
        self.counters.count(Counter::Queries);
        check(asked)?;
        let call = self.calls.get(asked.call.as_bytes());
        let found = call.and_then(|call| {
            let place = *call.places(&names(asked)).first()?;
            let media = call.dialogues[place.dialogue].media.get(usize::from(asked.media) - 1)?;
            Some((call, media, place.end))
        });
        let Some((call, media, end)) = found else {
            return Err(self.unknown_by_line());
        };
        let idle = now.saturating_duration_since(call.last_activity());
        let ttl = call.patience(&self.config).0.saturating_sub(idle).as_secs();
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

    fn delete_all(&mut self, now: Instant, out: &mut Vec<Output>) -> String {
        let names: Vec<CallName> = self.calls.keys().cloned().collect();
        for name in names {
            let mut call = self.calls.remove(&name).expect("it was just there");
            self.statistics.ended(now, &call, self.calls.len());
            call.forget(&mut self.ports, |_| true);
            self.counters.count(Counter::CallsEnded);
            self.put(name, call, out);
        }
        "0\n".to_owned()
    }

    fn info(&self) -> String {
        let alive = |call: &&Call| call.dialogues.iter().any(|dialogue| !dialogue.is_over());
        let streams = self
            .calls
            .values()
            .flat_map(|call| &call.dialogues)
            .flat_map(|dialogue| &dialogue.media)
            .count()
            * 2;
        format!(
            "sessions created: {}\nactive sessions: {}\nactive streams: {streams}\npackets received: {}\npackets transmitted: {}\n",
            self.counters[Counter::CallsBegun],
            self.calls.values().filter(alive).count(),
            self.relayed.packets + self.relayed.errors,
            self.relayed.packets,
        )
    }

    fn unknown_by_line(&mut self) -> ErrorCode {
        self.unknown_call();
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
