//! Lines about events.

use dataplane::PuntKind;
use wire::{Mid, Rid, Ssrc};

use super::Parser;
use crate::text::packet::{DTLS, RTCP, STUN};
use crate::text::words::{Problem, Words, number, problem};
use crate::text::{EventPattern, entry, snapshot};

impl Parser {
    pub(super) fn event(&mut self, words: &mut Words<'_>) -> Result<EventPattern, Problem> {
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
            "released" => {
                let replica = self.names.replica(words.word("a replica")?);
                let from = match words.eat("nowhere") {
                    true => None,
                    false => Some(snapshot::snapshot(words, &mut self.names)?),
                };
                Ok(EventPattern::Released { replica, from })
            }
            "nack" => {
                let stream = self.names.stream(words.word("a stream")?)?;
                let sequences = std::iter::from_fn(|| words.next()).map(|word| number(word, "a sequence number"));
                Ok(EventPattern::Nack {
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
        let (kind, usual) = match words.word("the kind of the punted packet")? {
            "stun" => (PuntKind::Stun, &STUN[..]),
            "dtls" => (PuntKind::Dtls, &DTLS[..]),
            "rtcp" => (PuntKind::Rtcp, &RTCP[..]),
            "protected" => (PuntKind::Protected, &RTCP[..]),
            other => return problem(format!("`{other}` is not stun, dtls, rtcp or protected")),
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
        let (mut packets, mut bytes, mut dropped, mut ssrc) = (None, None, None, None);
        while let Some(word) = words.next() {
            match word {
                "packets" => packets = Some(words.number("a count")?),
                "bytes" => bytes = Some(words.number("a count")?),
                "dropped" => dropped = Some(words.number("a count")?),
                "ssrc" if words.eat("none") => ssrc = Some(None),
                "ssrc" => ssrc = Some(Some(Ssrc(words.number("an SSRC")?))),
                _ => return problem(format!("`{word}` is not a statistic of a relay")),
            }
        }
        Ok(EventPattern::RelayTraffic {
            at,
            packets,
            bytes,
            dropped,
            ssrc,
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
