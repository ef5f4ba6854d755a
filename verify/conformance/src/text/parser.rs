//! Text to vectors.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use dataplane::{
    Counter, Leg, LegId, Protection, PuntKind, Relay, Replica, ReplicaId, Rewriting, Stream, StreamKey, Update,
    WriteError,
};
use wire::codec::Layer;
use wire::{ExtensionMap, MediaKind, Mid, PayloadType, Rid, Ssrc};

use super::continuation;
use super::entry;
use super::names::Names;
use super::packet::{DTLS, RTCP, STUN, rtp_fields};
use super::relay;
use super::words::{Problem, Words, number, problem};
use super::{EventPattern, Expected, Line, Statement, Vector};
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
        lines: Vec::new(),
    };
    let mut parser = Parser::default();
    for (at, line) in text.lines().enumerate() {
        let words = line.split_once('#').map_or(line, |(words, _)| words).trim();
        if words == "needs virtual-time" {
            vector.needs_virtual_time = true;
        } else if words == "needs own-addresses" {
            vector.needs_own_addresses = true;
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

/// What was said so far.
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
            verb @ ("leg" | "stream" | "replica" | "relay" | "pace" | "change" | "remove") => {
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
            keeps: None,
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
            | Update::RemoveLeg(_)
            | Update::RemoveStream(_)
            | Update::RemoveReplica(_)
            | Update::RemoveRelay(_) => {}
        }
    }

    fn send(&mut self, words: &mut Words<'_>) -> Result<Send, Problem> {
        let path = self.names.path(words.word("a peer")?);
        let tampered = words.eat("tampered");
        let bytes = match words.word("what to send")? {
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
            "go-on" => {
                let replica = self.names.replica(words.word("a replica")?);
                Ok(Injection::GoOn(
                    replica,
                    continuation::continuation(words, &mut self.names)?,
                ))
            }
            "fill" => self.fill(words),
            "let-go" => Ok(Injection::LetGo(self.names.replica(words.word("a replica")?))),
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

    fn event(&mut self, words: &mut Words<'_>) -> Result<EventPattern, Problem> {
        match words.word("an event")? {
            "punt" => self.punt(words),
            "unknown" => self.unknown(words),
            "switched" => {
                let replica = self.names.replica(words.word("a replica")?);
                if !words.eat("to") {
                    return problem("a replica is switched `to` a stream");
                }
                let source = self.names.stream(words.word("a stream")?)?;
                Ok(EventPattern::Selected {
                    replica,
                    source,
                    layer: None,
                })
            }
            "selected" => {
                let replica = self.names.replica(words.word("a replica")?);
                let source = self.names.stream(words.word("a stream")?)?;
                let layer = entry::target(words.word("a layer")?)?;
                Ok(EventPattern::Selected {
                    replica,
                    source,
                    layer: Some((layer, words.eat("awaits"))),
                })
            }
            "arrival" => self.arrival(words),
            "departure" => {
                let leg = self.names.leg(words.word("a leg")?);
                if !words.eat("twcc") {
                    return problem("a departure has a number: `twcc`");
                }
                let transport_sequence = words.number("a transport-wide number")?;
                let size = words.eat("size").then(|| words.number("a size")).transpose()?;
                let probe = words.eat("probe").then(|| words.number("a probe")).transpose()?;
                Ok(EventPattern::Departure {
                    leg,
                    transport_sequence,
                    size,
                    probe,
                })
            }
            "stream" => self.stream_statistics(words),
            "replica" => self.replica_statistics(words),
            "stands" => {
                let replica = self.names.replica(words.word("a replica")?);
                let from = match words.eat("nowhere") {
                    true => None,
                    false => Some(continuation::continuation(words, &mut self.names)?),
                };
                Ok(EventPattern::Stands { replica, from })
            }
            "wanted" => {
                let stream = self.names.stream(words.word("a stream")?)?;
                let sequences = std::iter::from_fn(|| words.next()).map(|word| number(word, "a sequence number"));
                Ok(EventPattern::Wanted {
                    stream,
                    sequences: sequences.collect::<Result<_, _>>()?,
                })
            }
            "source" => Ok(EventPattern::RelaySource {
                at: self.names.relay(words.word("a relay")?),
                from: self.names.party(words.word("a peer")?),
            }),
            "traffic" => self.relay_traffic(words),
            other => problem(format!("`{other}` is not an event")),
        }
    }

    fn punt(&mut self, words: &mut Words<'_>) -> Result<EventPattern, Problem> {
        let (kind, usual) = match words.word("what was punted")? {
            "stun" => (PuntKind::Stun, &STUN[..]),
            "dtls" => (PuntKind::Dtls, &DTLS[..]),
            "rtcp" => (PuntKind::Rtcp, &RTCP[..]),
            other => return problem(format!("`{other}` is not stun, dtls or rtcp")),
        };
        let path = self.names.path(words.word("a peer")?);
        let leg = words.eat("leg").then(|| words.word("a leg")).transpose()?;
        let leg = leg.map(|leg| self.names.leg(leg));
        let bytes = match words.peek() {
            None => usual.to_vec(),
            Some(_) => words.rest_as_bytes()?,
        };
        Ok(EventPattern::Punt {
            kind,
            path,
            leg,
            bytes: Some(bytes),
        })
    }

    fn unknown(&mut self, words: &mut Words<'_>) -> Result<EventPattern, Problem> {
        let key = self.names.stream(words.word("leg:ssrc")?)?;
        let (mut payload_type, mut mid, mut rid, mut repaired_rid) = (None, None, None, None);
        while let Some(word) = words.next() {
            match word {
                "pt" => payload_type = Some(words.number("a payload type")?),
                "mid" => mid = Mid::new(words.word("a mid")?),
                "rid" => rid = Rid::new(words.word("a rid")?),
                "repaired" => repaired_rid = Rid::new(words.word("a rid")?),
                _ => return problem(format!("`{word}` is not an attribute of an unknown stream")),
            }
        }
        Ok(EventPattern::Unknown {
            leg: key.leg,
            ssrc: key.ssrc.0,
            payload_type,
            mid,
            rid,
            repaired_rid,
        })
    }

    fn arrival(&mut self, words: &mut Words<'_>) -> Result<EventPattern, Problem> {
        let leg = self.names.leg(words.word("a leg")?);
        let (mut ssrc, mut sequence, mut recovered) = (None, None, false);
        let (mut transport_sequence, mut size, mut audio_level) = (None, None, None);
        let (mut layer, mut ends_frame, mut needed_above) = (None, None, None);
        while let Some(word) = words.next() {
            match word {
                "ssrc" => ssrc = Some(words.number("an SSRC")?),
                "seq" => sequence = Some(words.number("a sequence number")?),
                "recovered" => recovered = true,
                "twcc" => transport_sequence = Some(words.number("a transport-wide number")?),
                "size" => size = Some(words.number("a size")?),
                "level" => audio_level = Some((words.number("a level")?, words.eat("voice"))),
                "layer" if words.eat("none") => layer = Some(None),
                "layer" => layer = Some(Some(entry::layer(words.word("a layer")?)?)),
                "ends" => ends_frame = Some(true),
                "goes-on" => ends_frame = Some(false),
                "needed-above" => needed_above = Some(true),
                "not-above" => needed_above = Some(false),
                _ => return problem(format!("`{word}` is not an attribute of an arrival")),
            }
        }
        Ok(EventPattern::Arrival {
            leg,
            ssrc,
            sequence,
            recovered,
            transport_sequence,
            size,
            audio_level,
            layer,
            ends_frame,
            needed_above,
        })
    }

    fn stream_statistics(&mut self, words: &mut Words<'_>) -> Result<EventPattern, Problem> {
        let key = self.names.stream(words.word("leg:ssrc")?)?;
        let (mut packets, mut octets, mut first, mut highest, mut jitter) = (None, None, None, None, None);
        while let Some(word) = words.next() {
            match word {
                "packets" => packets = Some(words.number("a count")?),
                "octets" => octets = Some(words.number("a count")?),
                "first" => first = Some(words.number("an extended number")?),
                "highest" => highest = Some(words.number("an extended number")?),
                "jitter" => jitter = Some(words.number("a jitter")?),
                _ => return problem(format!("`{word}` is not a statistic of a stream")),
            }
        }
        Ok(EventPattern::Stream {
            key,
            packets,
            octets,
            first,
            highest,
            jitter,
        })
    }

    fn relay_traffic(&mut self, words: &mut Words<'_>) -> Result<EventPattern, Problem> {
        let at = self.names.relay(words.word("a relay")?);
        let (mut packets, mut bytes, mut dropped) = (None, None, None);
        while let Some(word) = words.next() {
            match word {
                "packets" => packets = Some(words.number("a count")?),
                "bytes" => bytes = Some(words.number("a count")?),
                "dropped" => dropped = Some(words.number("a count")?),
                _ => return problem(format!("`{word}` is not a statistic of a relay")),
            }
        }
        Ok(EventPattern::RelayTraffic {
            at,
            packets,
            bytes,
            dropped,
        })
    }

    fn replica_statistics(&mut self, words: &mut Words<'_>) -> Result<EventPattern, Problem> {
        let replica = self.names.replica(words.word("a replica")?);
        let (mut packets, mut octets, mut resent, mut source, mut timestamp_offset) = (None, None, None, None, None);
        while let Some(word) = words.next() {
            match word {
                "packets" => packets = Some(words.number("a count")?),
                "octets" => octets = Some(words.number("a count")?),
                "resent" => resent = Some(words.number("a count")?),
                "from" if words.eat("none") => source = Some(None),
                "from" => source = Some(Some(self.names.stream(words.word("a stream")?)?)),
                "offset" => timestamp_offset = Some(words.number("an offset")?),
                _ => return problem(format!("`{word}` is not a statistic of a replica")),
            }
        }
        Ok(EventPattern::Replica {
            replica,
            packets,
            octets,
            resent,
            source,
            timestamp_offset,
        })
    }
}

/// What a line's attributes are applied to: what was written last, or a fresh value.
fn starting_value<T: Clone>(last: Option<&T>, fresh: T, change: bool) -> Result<T, Problem> {
    match (change, last) {
        (true, Some(last)) => Ok(last.clone()),
        (true, None) => problem("there is nothing to change: it was not written before"),
        (false, _) => Ok(fresh),
    }
}

fn expected(words: &mut Words<'_>) -> Result<Expected, Problem> {
    match words.word("what is expected")? {
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
