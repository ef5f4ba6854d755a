//! The commands.

use std::time::Instant;

use super::flags::table::is_command;
use super::value::{Dictionary, Value};
use super::{Encoding, Flags, features, report, statistics as told};
use crate::call::{Call, CallName, Context, Dialogue, Names, Refused, Role, Target};
use crate::calls::{Calls, Exchange};
use crate::counters::Counter;
use crate::limits::{LIST_DEFAULT, MESSAGE_MAX, NAME_MAX, WARNED_MAX};
use crate::messages::Output;
use crate::sdp::Description;
use crate::statistics::{self, Outcome};

/// Why a command failed.
enum Failure {
    /// For this reason.
    Error(&'static str),
    /// Another relay might take it.
    LoadLimit(&'static str),
}

/// Executes one payload; returns the reply and the kind of the request.
pub(crate) fn execute(calls: &mut Calls, now: Instant, payload: &[u8], out: &mut Vec<Output>) -> (Vec<u8>, Outcome) {
    let encoding = Encoding::of(payload).unwrap_or(Encoding::Bencode);
    let mut commands = Commands {
        calls,
        now,
        out,
        outcome: Outcome::default(),
    };
    let done = commands.read(payload).and_then(|request| commands.command(&request));
    let reply = done.unwrap_or_else(|failure| {
        commands.calls.counters.count(Counter::Errors);
        commands.outcome.failed = true;
        failure.reply()
    });
    let mut bytes = Vec::new();
    encoding.encode(&Value::Dictionary(reply), &mut bytes);
    (bytes, commands.outcome)
}

impl Failure {
    fn reply(&self) -> Dictionary {
        match self {
            Failure::Error(reason) => Dictionary::default()
                .with("result", "error")
                .with("error-reason", *reason),
            Failure::LoadLimit(reason) => Dictionary::default()
                .with("result", "load limit")
                .with("message", *reason),
        }
    }
}

/// The execution of one request.
struct Commands<'a> {
    calls: &'a mut Calls,
    now: Instant,
    out: &'a mut Vec<Output>,
    outcome: Outcome,
}

impl Commands<'_> {
    fn read(&mut self, payload: &[u8]) -> Result<Dictionary, Failure> {
        let reason = match Encoding::of(payload) {
            _ if payload.len() > MESSAGE_MAX => "Message too long",
            None if payload.is_empty() => "Invalid data (no payload)",
            None => "Invalid NG data format",
            Some(encoding) => match (encoding.decode(payload), encoding) {
                (Ok((Value::Dictionary(request), _)), _) => return Ok(request),
                (_, Encoding::Bencode) => "Could not decode bencode dictionary",
                (_, Encoding::Json) => "Failed to parse JSON document",
            },
        };
        self.calls.counters.count(Counter::NgMalformed);
        Err(Failure::Error(reason))
    }

    fn command(&mut self, request: &Dictionary) -> Result<Dictionary, Failure> {
        let Some(command) = request.text("command") else {
            return Err(self.incomplete("Dictionary contains no key \"command\""));
        };
        self.outcome.command = statistics::Command::ALL
            .into_iter()
            .find(|known| known.name().as_bytes() == command);
        let reply = match command {
            b"ping" => {
                self.calls.counters.count(Counter::Pings);
                return Ok(Dictionary::default().with("result", "pong"));
            }
            b"offer" => self.describe(request, Role::Offer),
            b"answer" => self.describe(request, Role::Answer),
            b"delete" => self.delete(request),
            b"query" => self.query(request),
            b"list" => self.list(request),
            b"statistics" => {
                self.calls.counters.count(Counter::StatisticsAsked);
                Ok(Dictionary::default().with("statistics", told::of(self.calls, self.now)))
            }
            _ if is_command(command) => {
                self.calls.counters.count(Counter::NgUnsupported);
                Err(Failure::Error("unsupported"))
            }
            _ => {
                self.calls.counters.count(Counter::NgUnknownCommand);
                Err(Failure::Error("Unrecognized command"))
            }
        };
        reply.map(|reply| reply.with("result", "ok"))
    }

    fn describe(&mut self, request: &Dictionary, role: Role) -> Result<Dictionary, Failure> {
        self.calls.counters.count(if role == Role::Offer {
            Counter::Offers
        } else {
            Counter::Answers
        });
        let mut flags = self.flags(request);
        if flags.fragment {
            // More candidates need no answer: packets from them are found without.
            return Ok(Dictionary::default());
        }
        let sdp = request
            .spelt("sdp")
            .ok_or_else(|| self.incomplete("No SDP body in message"))?;
        let call = self
            .name(request, "call-id")?
            .ok_or_else(|| self.incomplete("No call-id in message"))?;
        let from = self
            .name(request, "from-tag")?
            .ok_or_else(|| self.incomplete("No from-tag in message"))?;
        let to = self.name(request, "to-tag")?;
        if role == Role::Answer && to.is_none() {
            return Err(self.incomplete("No to-tag in message"));
        }
        let names = Names {
            from,
            to,
            branch: self.name(request, "via-branch")?,
        };
        let written = self.negotiate(CallName::from(call), names, role, sdp, &mut flags)?;
        Ok(warned(Dictionary::default().with("sdp", written), &flags))
    }

    fn negotiate(
        &mut self,
        name: CallName,
        names: Names<'_>,
        role: Role,
        sdp: &[u8],
        flags: &mut Flags,
    ) -> Result<Vec<u8>, Failure> {
        let description = Description::parse(sdp).map_err(|_| {
            self.calls.counters.count(Counter::SdpMalformed);
            Failure::Error("Failed to parse SDP")
        })?;
        if flags.terms.loop_protect && description.is_marked(self.calls.instance()) {
            return Ok(sdp.to_vec());
        }
        let before = flags.undone.ignored.count;
        let refused = features::refused(role, &description, flags, &self.calls.config().tolerated);
        self.calls.counters[Counter::FlagIgnored] += flags.undone.ignored.count - before;
        if let Some(feature) = refused {
            self.calls.counters.count(Counter::NgUnsupported);
            return Err(Failure::Error(features::reason(feature)));
        }
        let party = description.address();
        let call = match role {
            Role::Offer => self.calls.take_or_begin(self.now, &name, party, self.out),
            Role::Answer => self.calls.take(&name).ok_or(Refused::Unknown),
        };
        let mut call = call.map_err(|refused| self.failure(refused, flags))?;
        let interfaces = match role {
            Role::Offer => self.interfaces(&description, flags),
            Role::Answer => [0; 2],
        };
        let exchange = Exchange {
            names,
            role,
            party,
            interfaces,
            target: match role {
                Role::Offer => Target::of(&description, &flags.terms, interfaces[1]),
                Role::Answer => None,
            },
            description: Some(&description),
        };
        let describe = |call: &mut Call, place, context: &mut Context<'_>| {
            call.describe(place, role, &description, &flags.terms, context)
        };
        let written = self.calls.exchange(self.now, &mut call, exchange, self.out, describe);
        tell_undone(&name, &mut call, flags, self.out);
        self.calls.put(name, call, self.out);
        written.map_err(|refused| self.failure(refused, flags))
    }

    /// On which interfaces the speaker and the other are.
    fn interfaces(&mut self, description: &Description<'_>, flags: &Flags) -> [usize; 2] {
        let speaks_v6 = description.address().is_some_and(|address| address.is_ipv6());
        let families = [speaks_v6, flags.terms.v6.unwrap_or(speaks_v6)];
        [0, 1].map(|end| {
            let v6 = families[end];
            let Some(name) = flags.terms.interfaces()[end] else {
                return self.calls.ports().default_interface(v6);
            };
            self.calls.ports().interface(name, v6).unwrap_or_else(|| {
                self.calls.counters.count(Counter::InterfaceUnknown);
                self.calls.ports().default_interface(v6)
            })
        })
    }

    fn delete(&mut self, request: &Dictionary) -> Result<Dictionary, Failure> {
        self.calls.counters.count(Counter::Deletes);
        let flags = self.flags(request);
        let name = self
            .name(request, "call-id")?
            .ok_or_else(|| self.incomplete("No call-id in message"))?;
        let from = self.name(request, "from-tag")?;
        let to = self.name(request, "to-tag")?.filter(|_| flags.to_tag);
        let branch = self.name(request, "via-branch")?;
        let delay = flags.delete_delay.unwrap_or(self.calls.config().delete_delay);
        let names = from.map(|from| Names { from, to, branch });
        let name = CallName::from(name);
        let Some(mut call) = self.calls.take(&name) else {
            return self.nothing_to_delete(&flags);
        };
        // A branch alone ends as well: rtpengine would end the whole call.
        let is_meant = |dialogue: &Dialogue| from.is_some() || dialogue.fits(branch);
        if !call.dialogues.iter().any(is_meant) {
            self.calls.put(name, call, self.out);
            return self.nothing_to_delete(&flags);
        }
        let found = self
            .calls
            .end(self.now, &mut call, names.as_ref(), self.now + delay, is_meant);
        let report = if flags.fast {
            Dictionary::default()
        } else {
            report::of(self.calls.clock(), &call, from, to)
        };
        if delay.is_zero() {
            self.calls.forget_ended(self.now, &mut call);
        }
        self.calls.put(name, call, self.out);
        if found.any {
            Ok(warned(report, &flags))
        } else {
            self.nothing_to_delete(&flags)
        }
    }

    fn nothing_to_delete(&mut self, flags: &Flags) -> Result<Dictionary, Failure> {
        const REASON: &str = "Call-ID not found or tags didn't match";
        self.calls.counters.count(Counter::CallUnknown);
        if flags.fatal {
            Err(Failure::Error(REASON))
        } else {
            Ok(Dictionary::default().with("warning", REASON))
        }
    }

    fn query(&mut self, request: &Dictionary) -> Result<Dictionary, Failure> {
        self.calls.counters.count(Counter::Queries);
        let name = self
            .name(request, "call-id")?
            .ok_or_else(|| self.incomplete("No call-id in message"))?;
        let from = self.name(request, "from-tag")?;
        let to = self.name(request, "to-tag")?;
        match self.calls.get(name) {
            Some(call) => Ok(report::of(self.calls.clock(), call, from, to)),
            None => {
                self.calls.counters.count(Counter::CallUnknown);
                Err(Failure::Error("Unknown call-id"))
            }
        }
    }

    fn list(&mut self, request: &Dictionary) -> Result<Dictionary, Failure> {
        self.calls.counters.count(Counter::Lists);
        let limit = request.value("limit").and_then(Value::integer);
        let limit = usize::try_from(limit.unwrap_or(LIST_DEFAULT as i64));
        let limit = limit.map_err(|_| Failure::Error("invalid limit, must be >= 0"))?;
        // The reply must fit a message.
        let mut room = MESSAGE_MAX / 2;
        let names = self.calls.iter().map(|(name, _)| name).take(limit).take_while(|name| {
            let takes = name.len() + 8;
            let fits = takes <= room;
            room = room.saturating_sub(takes);
            fits
        });
        let calls: Vec<Value> = names.map(|name| Value::from(&**name)).collect();
        Ok(Dictionary::default().with("calls", calls))
    }

    fn flags(&mut self, request: &Dictionary) -> Flags {
        let flags = Flags::of(request);
        self.calls.counters[Counter::FlagUnknown] += flags.undone.unknown.count;
        self.calls.counters[Counter::FlagIgnored] += flags.undone.ignored.count;
        flags
    }

    fn name<'a>(&mut self, request: &'a Dictionary, key: &str) -> Result<Option<&'a [u8]>, Failure> {
        match request.spelt(key) {
            Some(name) if name.len() > NAME_MAX => Err(self.incomplete("Name too long")),
            // Proxies send empty ones where they have none.
            name => Ok(name.filter(|name| !name.is_empty())),
        }
    }

    fn incomplete(&mut self, reason: &'static str) -> Failure {
        self.calls.counters.count(Counter::NgIncomplete);
        Failure::Error(reason)
    }

    fn failure(&mut self, refused: Refused, flags: &Flags) -> Failure {
        // Proxies take this very text for a reason to try another relay.
        const FULL: &str = "Parallel session limit reached";
        match refused {
            Refused::Unknown => {
                self.calls.counters.count(Counter::CallUnknown);
                Failure::Error("Unknown call-id")
            }
            Refused::NoAddress => Failure::Error("Incomplete SDP specification"),
            Refused::Address => Failure::Error("Media address not permitted"),
            Refused::Keys => Failure::Error("No usable SRTP keys"),
            Refused::NoPorts => Failure::Error("Ran out of ports"),
            Refused::Full if flags.supports_load_limit => Failure::LoadLimit(FULL),
            Refused::Full => Failure::Error(FULL),
        }
    }
}

/// A reply with a warning about unsupported flags.
fn warned(reply: Dictionary, flags: &Flags) -> Dictionary {
    match flags.undone.warning() {
        Some(warning) => reply.with("warning", warning),
        None => reply,
    }
}

/// Reports unsupported flags of a call to the operator, each once.
fn tell_undone(name: &CallName, call: &mut Call, flags: &Flags, out: &mut Vec<Output>) {
    let undone = [&flags.undone.ignored, &flags.undone.unknown];
    for what in undone.into_iter().flat_map(|names| &names.kept) {
        if call.warned.len() < WARNED_MAX && call.warned.insert(what.clone()) {
            out.push(Output::Undone {
                call: name.clone(),
                what: what.clone(),
            });
        }
    }
}

/// The answer to a request for which no port could be opened.
pub(crate) fn out_of_ports(payload: &[u8]) -> Vec<u8> {
    failed(payload, "Ran out of ports")
}

/// The answer to a request that failed for a reason.
pub(crate) fn failed(payload: &[u8], reason: &'static str) -> Vec<u8> {
    let reply = Failure::Error(reason).reply();
    let mut bytes = Vec::new();
    Encoding::of(payload)
        .unwrap_or(Encoding::Bencode)
        .encode(&Value::Dictionary(reply), &mut bytes);
    bytes
}
