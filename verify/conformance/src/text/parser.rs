//! Text to vectors.

mod event;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use dataplane::{
    Counter, Leg, LegId, Protection, Relay, Replica, ReplicaId, Rewriting, Stream, StreamKey, Update, WriteError,
};
use wire::codec::Layer;
use wire::{ExtensionMap, MediaKind, PayloadType, Ssrc};

use super::entry;
use super::names::Names;
use super::packet::{DTLS, RTCP, STUN, rtp_fields};
use super::relay;
use super::snapshot;
use super::words::{Problem, Words, number, problem};
use super::{Expected, Line, Statement, Vector};
use crate::{Injection, Send, Step};

/// Reads a vector; also gives the names in it, for reports.
///
/// Errors: the first line that is not understood, as `file:line: what`.
pub fn parse(file: &str, text: &str) -> Result<(Vector, Names), Problem> {
    let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
    let title = title.ok_or_else(|| Problem(format!("{file}:1: the first line is `# ` and the claim")))?;
    let mut vector = Vector {
        file: file.into(),
        title: title.into(),
        needs_virtual_time: false,
        needs_own_addresses: false,
        needs_forwarded_rtcp: false,
        lines: Vec::new(),
    };
    let mut parser = Parser::default();
    for (at, line) in text.lines().enumerate() {
        let words = line.split_once('#').map_or(line, |(words, _)| words).trim();
        if words == "needs virtual-time" {
            vector.needs_virtual_time = true;
        } else if words == "needs own-addresses" {
            vector.needs_own_addresses = true;
        } else if words == "needs forwarded-rtcp" {
            vector.needs_forwarded_rtcp = true;
        } else if !words.is_empty() {
            let number = at + 1;
            let statement = parser
                .line(words)
                .map_err(|error| Problem(format!("{file}:{number}: {error}\n  {line}")))?;
            let text = line.into();
            vector.lines.push(Line {
                number,
                text,
                statement,
            });
        }
    }
    Ok((vector, parser.names))
}

/// Names and entries so far.
#[derive(Default)]
struct Parser {
    names: Names,
    legs: BTreeMap<LegId, Leg>,
    streams: BTreeMap<StreamKey, Stream>,
    replicas: BTreeMap<ReplicaId, Replica>,
    relays: BTreeMap<SocketAddr, Relay>,
}

impl Parser {
    fn line(&mut self, line: &str) -> Result<Statement, Problem> {
        let mut words = Words::new(line);
        let statement = match words.word("a verb")? {
            verb @ ("leg" | "stream" | "replica" | "relay" | "pace" | "feedback" | "reports" | "copied" | "change"
            | "remove") => {
                let update = self.update(verb, &mut words)?;
                self.remember(&update);
                Statement::Do(Step::Write(update))
            }
            "refuse" => {
                let error = write_error(words.word("an error")?)?;
                let verb = words.word("an entry")?;
                Statement::Refuse(error, self.update(verb, &mut words)?)
            }
            "wait" => Statement::Do(Step::Wait(duration(words.word("a time")?)?)),
            "send" => Statement::Do(Step::Send(self.send(&mut words)?)),
            "receive" => Statement::Do(Step::Receive(self.send(&mut words)?)),
            "expect" if words.eat("nothing") => Statement::ExpectNothing,
            "expect" => {
                let path = self.names.path(words.word("a peer")?);
                Statement::Expect(path, expected(&mut words)?)
            }
            "event" if words.eat("none-selected") => Statement::NoneSelected,
            "event" => Statement::Event(self.event(&mut words)?),
            "count" => Statement::Count(counts(&mut words)?),
            verb => Statement::Do(Step::Inject(self.injection(verb, &mut words)?)),
        };
        words.end()?;
        Ok(statement)
    }

    fn update(&mut self, verb: &str, words: &mut Words<'_>) -> Result<Update, Problem> {
        let (table, remove, change) = match verb {
            "remove" => (words.word("a table")?, true, false),
            "change" => (words.word("a table")?, false, true),
            table => (table, false, false),
        };
        let name = words.word("a name")?;
        match (table, remove) {
            ("pace", false) => {
                let pace = entry::optional(words.word("bits per second")?, |text| number(text, "bits per second"))?;
                Ok(Update::SetPace(self.names.leg(name), pace))
            }
            ("feedback", false) => {
                let from = self.names.leg(name);
                let to = entry::optional(words.word("a leg")?, |name| Ok(self.names.leg(name)))?;
                Ok(Update::SetFeedback(from, to))
            }
            ("copied", false) => Ok(Update::SetCopied(self.names.stream(name)?, words.eat("by-offload"))),
            ("leg", true) => Ok(Update::RemoveLeg(self.names.leg(name))),
            ("stream", true) => Ok(Update::RemoveStream(self.names.stream(name)?)),
            ("replica", true) => Ok(Update::RemoveReplica(self.names.replica(name))),
            ("relay", true) => Ok(Update::RemoveRelay(self.names.relay(name))),
            ("relay", false) => {
                let at = self.names.relay(name);
                let start = starting_value(self.relays.get(&at), relay::SILENT, change)?;
                Ok(Update::SetRelay(
                    at,
                    Box::new(relay::relay(start, words, &mut self.names)?),
                ))
            }
            ("leg", false) => self.leg(name, change, words),
            ("stream", false) => self.stream(name, change, words),
            ("replica", false) => self.replica(name, change, words),
            (other, _) => problem(format!("`{other}` is not leg, stream, replica, relay or pace")),
        }
    }

    fn leg(&mut self, name: &str, change: bool, words: &mut Words<'_>) -> Result<Update, Problem> {
        let id = self.names.leg(name);
        let fresh = Leg {
            paths: vec![self.names.path(name)],
            shared: None,
            protection: Protection::Clear,
            extensions_in: ExtensionMap::default(),
            extensions_out: ExtensionMap::default(),
        };
        let start = starting_value(self.legs.get(&id), fresh, change)?;
        Ok(Update::SetLeg(id, entry::leg(start, words, &mut self.names)?))
    }

    fn stream(&mut self, name: &str, change: bool, words: &mut Words<'_>) -> Result<Update, Problem> {
        let key = self.names.stream(name)?;
        let fresh = Stream {
            kind: MediaKind::Video,
            formats: Vec::new(),
            rtx: None,
            mid: None,
            reference: None,
        };
        let start = starting_value(self.streams.get(&key), fresh, change)?;
        Ok(Update::SetStream(key, entry::stream(start, words)?))
    }

    fn replica(&mut self, name: &str, change: bool, words: &mut Words<'_>) -> Result<Update, Problem> {
        let id = self.names.replica(name);
        let fresh = Replica {
            leg: LegId(u32::MAX),
            ssrc: Ssrc(0),
            first_sequence: 0,
            rtx: None,
            formats: Vec::new(),
            mid: None,
            playout_delay: None,
            source: None,
            target: Layer::HIGHEST,
            fallback_spatial: None,
            rewriting: Rewriting::Exact,
            paused: false,
        };
        let start = starting_value(self.replicas.get(&id), fresh, change)?;
        Ok(Update::SetReplica(id, entry::replica(start, words, &mut self.names)?))
    }

    fn remember(&mut self, update: &Update) {
        match update {
            Update::SetLeg(id, leg) => drop(self.legs.insert(*id, leg.clone())),
            Update::SetStream(key, stream) => drop(self.streams.insert(*key, stream.clone())),
            Update::SetReplica(id, replica) => drop(self.replicas.insert(*id, replica.clone())),
            Update::SetRelay(at, relay) => drop(self.relays.insert(*at, (**relay).clone())),
            Update::SetPace(..)
            | Update::SetFeedback(..)
            | Update::SetCopied(..)
            | Update::RemoveLeg(_)
            | Update::RemoveStream(_)
            | Update::RemoveReplica(_)
            | Update::RemoveRelay(_) => {}
        }
    }

    fn send(&mut self, words: &mut Words<'_>) -> Result<Send, Problem> {
        let path = self.names.path(words.word("a peer")?);
        let tampered = words.eat("tampered");
        let bytes = match words.word("the packet to send")? {
            "stun" => STUN.to_vec(),
            "dtls" => DTLS.to_vec(),
            "rtcp" if words.peek().is_none() => RTCP.to_vec(),
            "rtcp" | "hex" => words.rest_as_bytes()?,
            "rtp" => rtp_fields(words)?.encode(),
            other => return problem(format!("`{other}` is not stun, dtls, rtcp, rtp or hex")),
        };
        Ok(Send { path, bytes, tampered })
    }

    fn injection(&mut self, verb: &str, words: &mut Words<'_>) -> Result<Injection, Problem> {
        match verb {
            "resume" => {
                let replica = self.names.replica(words.word("a replica")?);
                Ok(Injection::Resume(replica, snapshot::snapshot(words, &mut self.names)?))
            }
            "fill" => self.fill(words),
            "release" => Ok(Injection::Release {
                replica: self.names.replica(words.word("a replica")?),
                at_key_frame: words.eat("at-key-frame"),
            }),
            "resend" => {
                let replica = self.names.replica(words.word("a replica")?);
                let sequences = std::iter::from_fn(|| words.next()).map(|word| number(word, "a sequence number"));
                Ok(Injection::Resend(replica, sequences.collect::<Result<_, _>>()?))
            }
            "inject" => match words.word("rtcp or datagram")? {
                "rtcp" => Ok(Injection::Rtcp(
                    self.names.leg(words.word("a leg")?),
                    words.rest_as_bytes()?,
                )),
                "datagram" => Ok(Injection::Datagram(
                    self.names.path(words.word("a peer")?),
                    words.rest_as_bytes()?,
                )),
                other => problem(format!("`{other}` is not rtcp or datagram")),
            },
            "probe" => {
                let leg = self.names.leg(words.word("a leg")?);
                let probe = words.number("the probe's name")?;
                let (mut rate, mut bytes, mut packets) = (1_000_000, 0, 0);
                while let Some(word) = words.next() {
                    match word {
                        "rate" => rate = words.number("bits per second")?,
                        "bytes" => bytes = words.number("a count of bytes")?,
                        "packets" => packets = words.number("a count of packets")?,
                        other => return problem(format!("`{other}` is not an attribute of a probe")),
                    }
                }
                Ok(Injection::Probe {
                    leg,
                    probe,
                    rate,
                    bytes,
                    packets,
                })
            }
            "report-relay" => Ok(Injection::ReportRelay(self.names.relay(words.word("a relay")?))),
            "report" => Ok(Injection::Report(self.names.leg(words.word("a leg")?))),
            other => problem(format!("`{other}` is not a verb")),
        }
    }

    fn fill(&mut self, words: &mut Words<'_>) -> Result<Injection, Problem> {
        let replica = self.names.replica(words.word("a replica")?);
        let (mut number, mut clock_rate) = (None, 90_000);
        while let Some(word) = words.peek() {
            match word {
                "pt" => {
                    words.next();
                    number = Some(words.number("a payload type")?);
                }
                "rate" => {
                    words.next();
                    clock_rate = words.number("units per second")?;
                }
                _ => break,
            }
        }
        let Some(payload_type) = number.and_then(PayloadType::new) else {
            return problem("a payload type `pt` of seven bits is missing");
        };
        Ok(Injection::Fill {
            replica,
            payload_type,
            clock_rate,
            payload: words.rest_as_bytes()?,
        })
    }
}

/// The value that a line's attributes change: the last one written, or a fresh one.
fn starting_value<T: Clone>(last: Option<&T>, fresh: T, change: bool) -> Result<T, Problem> {
    match (change, last) {
        (true, Some(last)) => Ok(last.clone()),
        (true, None) => problem("there is nothing to change: it was not written before"),
        (false, _) => Ok(fresh),
    }
}

fn expected(words: &mut Words<'_>) -> Result<Expected, Problem> {
    match words.word("the expected result")? {
        "rtp" => Ok(Expected::Rtp(rtp_fields(words)?)),
        "hex" | "rtcp" => Ok(Expected::Bytes(words.rest_as_bytes()?)),
        other => problem(format!("`{other}` is not rtp, rtcp or hex")),
    }
}

/// `forwarded 2, no_replica 1`
fn counts(words: &mut Words<'_>) -> Result<Vec<(Counter, u64)>, Problem> {
    let mut counts = Vec::new();
    while let Some(name) = words.next() {
        let counter = Counter::ALL.iter().find(|counter| counter.name() == name);
        let counter = *counter.ok_or_else(|| Problem(format!("`{name}` is not a counter")))?;
        let count = words.word("a count")?;
        counts.push((counter, number(count.trim_end_matches(','), "a count")?));
    }
    Ok(counts)
}

fn duration(text: &str) -> Result<Duration, Problem> {
    let units = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000_u64)];
    let found = units
        .iter()
        .find_map(|(unit, nanos)| Some((text.strip_suffix(unit)?, nanos)));
    let (count, nanos) = found.ok_or_else(|| Problem(format!("`{text}` is not a time: 5us, 5ms or 5s")))?;
    Ok(Duration::from_nanos(number::<u64>(count, "a time")? * nanos))
}

fn write_error(name: &str) -> Result<WriteError, Problem> {
    let table = [
        ("unknown_leg", WriteError::UnknownLeg),
        ("unknown_stream", WriteError::UnknownStream),
        ("unknown_replica", WriteError::UnknownReplica),
        ("table_full", WriteError::TableFull),
        ("ssrc_used", WriteError::SsrcUsed),
        ("ssrc_taken", WriteError::SsrcTaken),
        ("path_taken", WriteError::PathTaken),
        ("first_sequence", WriteError::FirstSequence),
        ("fixed", WriteError::Fixed),
        ("unknown_relay", WriteError::UnknownRelay),
        ("port_taken", WriteError::PortTaken),
        ("unsupported", WriteError::Unsupported),
    ];
    entry::find(&table, name, "a write error")
}
