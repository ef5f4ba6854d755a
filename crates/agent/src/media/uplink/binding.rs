//! Maps streams to encodings of tracks.
//!
//! A mid in the packets names their track; packets with a mid of no track belong to none. Within a
//! track, or without a mid, an encoding is found by its SSRC if the description names one,
//! otherwise by the rid in its packets. For a peer that sends none of these, it is found by a
//! payload type that only one track has. A stream that has a place gives it up to one that is named
//! by mid or SSRC at once, and to one that is found by its payload type when it is silent.
//!
//! Source: RFC 8843 section 9.2, RFC 8852.

use dataplane::{LegId, StreamKey, Update, WriteError};
use southbound::{TrackId, TransportId};
use wire::Ssrc;

use super::up_track::{Track, UpTrack};
use super::{StreamChange, UnmappedStream, Uplink};

use crate::context::Context;
use crate::counters::Counter;
use crate::limits::UNBOUND_STREAMS_MAX;
use crate::media::media_transport::{MediaTransport, MediaTransports};
use crate::timers::Timer;

/// By which sign a stream was found, the weaker first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    /// Only by its payload type, in place of another stream. No other track may have that payload
    /// type, and the other stream must be silent.
    Successor,
    /// Only by its payload type, and its rid if it has one: another track may have the same.
    PayloadType,
    /// By its mid or its SSRC.
    Name,
}

/// The role that a stream was found to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Media,
    Retransmissions,
}

impl Uplink {
    /// A stream arrives that is not in the table.
    pub(in crate::media) fn unknown_stream(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        leg: LegId,
        stream: UnmappedStream,
    ) {
        let Some(transport) = transports.with_leg(leg) else {
            return;
        };
        // All streams of a trunk are described: payload types of its publishers mean many things.
        let is_trunk = transports.get(transport).is_some_and(MediaTransport::is_direct);
        if !is_trunk && self.map_stream(cx, transports, transport, stream) {
            return;
        }
        cx.count(Counter::StreamUnexplained);
        let publisher = self.publishers.get_mut(&transport).filter(|_| !is_trunk);
        let Some(publisher) = publisher else { return };
        if publisher.unmapped.len() >= UNBOUND_STREAMS_MAX {
            publisher.unmapped.pop_front();
        }
        publisher.unmapped.push_back(stream);
    }

    /// Maps streams that arrived before their publication.
    pub(super) fn map_unmapped(&mut self, cx: &mut Context<'_>, transports: &MediaTransports, transport: TransportId) {
        let Some(publisher) = self.publishers.get_mut(&transport) else {
            return;
        };
        let remembered = std::mem::take(&mut publisher.unmapped);
        let left: Vec<_> = remembered
            .into_iter()
            .filter(|stream| !self.map_stream(cx, transports, transport, *stream))
            .collect();
        if let Some(publisher) = self.publishers.get_mut(&transport) {
            publisher.unmapped.extend(left);
        }
    }

    /// Binds the streams whose SSRCs the description names.
    pub(in crate::media) fn bind_described(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        track: TrackId,
    ) {
        let described = self.tracks[&track].publication.encodings.clone();
        for (encoding, description) in described.iter().enumerate() {
            if let Some(rtx) = description.rtx {
                self.bind(cx, transports, track, encoding, rtx, Role::Retransmissions);
            }
            if let Some(ssrc) = description.ssrc {
                self.bind(cx, transports, track, encoding, ssrc, Role::Media);
            }
        }
    }

    /// Takes the stream of an encoding out of the table.
    pub(super) fn unbind(&mut self, cx: &mut Context<'_>, track: TrackId, encoding: usize) {
        let Some(known) = self.tracks.get_mut(&track) else {
            return;
        };
        let Some(key) = known.encodings[encoding].stream.take() else {
            return;
        };
        known.encodings[encoding].active = None;
        known.offers.1 = None;
        self.streams.remove(&key);
        cx.write(Update::RemoveStream(key));
        cx.shared.timers.clear(Timer::Nack(key));
        cx.shared.timers.clear(Timer::KeyFrame(key));
        self.changes.push(StreamChange::Gone(track, key));
    }

    fn map_stream(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        transport: TransportId,
        stream: UnmappedStream,
    ) -> bool {
        let Some(publisher) = self.publishers.get(&transport) else {
            return false;
        };
        let matches = publisher.tracks.iter().filter_map(|track| {
            let (encoding, role, sign) = role_in(&self.tracks[track], &stream)?;
            Some((sign, *track, encoding, role))
        });
        let matches: Vec<_> = matches.collect();
        let best = matches.iter().map(|(sign, ..)| *sign).max();
        let mut best = matches.iter().filter(|(sign, ..)| Some(*sign) == best);
        let (Some((sign, track, encoding, role)), None) = (best.next(), best.next()) else {
            return false;
        };
        let state = self.tracks[track].encodings[*encoding];
        if *sign == Sign::Successor && state.active.is_some() {
            return false;
        }
        let replaced = match role {
            Role::Media => state.stream.map(|key| key.ssrc),
            Role::Retransmissions => state.rtx,
        };
        let ssrc = stream.ssrc;
        let own = transports.leg(transport).map(|leg| StreamKey { leg, ssrc });
        let gives_up_another = own.is_some_and(|own| self.streams.contains_key(&own));
        let is_change = gives_up_another || replaced.is_some_and(|replaced| replaced != ssrc);
        let publisher = self.publishers.get_mut(&transport).expect("found above");
        if is_change && !publisher.stream_changes.admit(cx.now, 1) {
            return false;
        }
        if *sign == Sign::Successor {
            // Its retransmissions have another SSRC as well, or come again under the same one.
            let known = self.tracks.get_mut(track).expect("found above");
            known.encodings[*encoding].rtx = None;
        }
        self.bind(cx, transports, *track, *encoding, stream.ssrc, *role);
        true
    }

    fn bind(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        track: TrackId,
        encoding: usize,
        ssrc: Ssrc,
        role: Role,
    ) {
        let Some(known) = self.tracks.get_mut(&track) else {
            return;
        };
        let transport = known.publication.transport;
        let Some(leg) = transports.leg(transport) else {
            return;
        };
        let (key, state) = (StreamKey { leg, ssrc }, known.encodings[encoding]);
        match role {
            Role::Media if state.stream != Some(key) => {
                self.release(cx, transport, key);
                self.bind_media(cx, track, encoding, key);
            }
            Role::Retransmissions if state.rtx != Some(ssrc) => {
                self.release(cx, transport, key);
                let known = self.tracks.get_mut(&track).expect("found above");
                known.encodings[encoding].rtx = Some(ssrc);
                self.write_stream(cx, track, encoding);
            }
            _ => {}
        }
    }

    /// An SSRC is of another encoding than before, or has another part in it.
    fn release(&mut self, cx: &mut Context<'_>, transport: TransportId, key: StreamKey) {
        if let Some((track, encoding)) = self.streams.get(&key).map(|stream| (stream.track, stream.encoding)) {
            self.unbind(cx, track, encoding);
        }
        let tracks: Vec<_> = self.publishers[&transport].tracks.iter().copied().collect();
        for track in tracks {
            let Some(known) = self.tracks.get_mut(&track) else {
                continue;
            };
            let mut encodings = known.encodings.iter_mut();
            if let Some(encoding) = encodings.position(|state| state.rtx == Some(key.ssrc)) {
                known.encodings[encoding].rtx = None;
                self.write_stream(cx, track, encoding);
            }
        }
    }

    /// Puts a stream into the table, in place of the earlier stream of its encoding.
    fn bind_media(&mut self, cx: &mut Context<'_>, track: TrackId, encoding: usize, key: StreamKey) {
        self.unbind(cx, track, encoding);
        let known = self.tracks.get_mut(&track).expect("the caller found it");
        let transport = known.publication.transport;
        let is_full = self.streams.len() >= cx.plane.capabilities().streams_max;
        let written = match is_full {
            true => Err(WriteError::TableFull),
            false => cx.try_write(Update::SetStream(key, known.stream(encoding, None))),
        };
        if let Err(error) = written {
            cx.count_many(Counter::StreamsFull, u64::from(error == WriteError::TableFull));
            return cx.refused(transport, error, "the data plane holds all the streams it can");
        }
        known.encodings[encoding].stream = Some(key);
        self.streams
            .insert(key, UpTrack::new(track, encoding, known.has_nack()));
        self.changed(track);
    }

    /// Writes the entry of an encoding's stream again, if it has one.
    fn write_stream(&mut self, cx: &mut Context<'_>, track: TrackId, encoding: usize) {
        let known = &self.tracks[&track];
        let Some(key) = known.encodings[encoding].stream else {
            return;
        };
        let reference = self.streams.get(&key).and_then(UpTrack::table_reference);
        cx.write(Update::SetStream(key, known.stream(encoding, reference)));
    }
}

/// Which encoding of `track` a stream is, and which part in it it has.
fn role_in(track: &Track, stream: &UnmappedStream) -> Option<(usize, Role, Sign)> {
    let publication = &track.publication;
    let named = stream.mid.zip(publication.mid);
    if named.is_some_and(|(said, ours)| said != ours) {
        return None;
    }
    let by_ssrc = publication.encodings.iter().enumerate().find_map(|(index, encoding)| {
        let role = if encoding.ssrc == Some(stream.ssrc) {
            Role::Media
        } else if encoding.rtx == Some(stream.ssrc) {
            Role::Retransmissions
        } else {
            return None;
        };
        Some((index, role))
    });
    if let Some((encoding, role)) = by_ssrc {
        return Some((encoding, role, Sign::Name));
    }
    let is_media = publication
        .formats
        .iter()
        .any(|format| format.payload_type == stream.payload_type);
    let is_rtx = publication
        .formats
        .iter()
        .any(|format| format.rtx == Some(stream.payload_type));
    let role = match (is_media, is_rtx) {
        (true, _) => Role::Media,
        (false, true) => Role::Retransmissions,
        (false, false) => return None,
    };
    let rid = if role == Role::Media {
        stream.rid
    } else {
        stream.repaired_rid.or(stream.rid)
    };
    let encoding = match (rid, publication.encodings.as_slice()) {
        (_, [only]) if only.rid.is_none() || rid.is_none() || only.rid == rid => 0,
        (Some(_), encodings) => encodings.iter().position(|encoding| encoding.rid == rid)?,
        (None, _) => return None,
    };
    // Without a mid the payload type is all there is, and a stream that is already there explains
    // itself as long as it arrives.
    let is_taken = match role {
        Role::Media => track.encodings[encoding].stream.is_some(),
        Role::Retransmissions => track.encodings[encoding].rtx.is_some(),
    };
    match named {
        Some(_) => Some((encoding, role, Sign::Name)),
        None if !is_taken => Some((encoding, role, Sign::PayloadType)),
        None => (role == Role::Media).then_some((encoding, role, Sign::Successor)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use southbound::{Encoding, PayloadFormat, Publication};
    use wire::{Codec, MediaKind, Mid, PayloadType, Rid};

    fn track(mid: Option<&str>, rids: &[Option<&str>]) -> Track {
        let payload_type = |value| PayloadType::new(value).unwrap();
        let format = PayloadFormat {
            payload_type: payload_type(96),
            codec: Codec::Vp8,
            rtx: Some(payload_type(97)),
            nack: true,
        };
        let encoding = |rid: &Option<&str>| Encoding {
            rid: rid.map(|rid| Rid::new(rid).unwrap()),
            ssrc: None,
            rtx: None,
            width: 0,
            height: 0,
            layers: Vec::new(),
        };
        Track::new(Publication {
            track: TrackId(1),
            transport: TransportId(1),
            kind: MediaKind::Video,
            mid: mid.map(|mid| Mid::new(mid).unwrap()),
            formats: vec![format],
            encodings: rids.iter().map(encoding).collect(),
            muted: false,
            source: Default::default(),
        })
    }

    fn stream(payload_type: u8, mid: &str, rid: &str, repaired: &str) -> UnmappedStream {
        UnmappedStream {
            ssrc: Ssrc(5),
            payload_type: PayloadType::new(payload_type).unwrap(),
            mid: Mid::new(mid),
            rid: Rid::new(rid),
            repaired_rid: Rid::new(repaired),
        }
    }

    fn found(track: &Track, stream: &UnmappedStream) -> Option<(usize, Role)> {
        role_in(track, stream).map(|(encoding, role, _)| (encoding, role))
    }

    #[test]
    fn a_mid_counts_before_an_ssrc_and_an_ssrc_before_a_payload_type() {
        let mut described = track(Some("0"), &[None]);
        described.publication.encodings[0].ssrc = Some(Ssrc(5));
        let sign = |stream: &UnmappedStream| role_in(&described, stream).map(|(.., sign)| sign);
        assert_eq!(sign(&stream(96, "1", "", "")), None, "the packets say whose they are");
        assert_eq!(sign(&stream(96, "0", "", "")), Some(Sign::Name));
        assert_eq!(sign(&stream(96, "", "", "")), Some(Sign::Name));
        let mut other = stream(96, "", "", "");
        other.ssrc = Ssrc(6);
        assert_eq!(sign(&other), Some(Sign::PayloadType));
        assert!(Sign::Name > Sign::PayloadType);
    }

    #[test]
    fn simulcast_is_told_apart_by_mid_and_rid() {
        let simulcast = track(Some("2"), &[Some("q"), Some("h"), Some("f")]);
        assert_eq!(found(&simulcast, &stream(96, "2", "h", "")), Some((1, Role::Media)));
        assert_eq!(
            found(&simulcast, &stream(97, "2", "", "f")),
            Some((2, Role::Retransmissions))
        );
        assert_eq!(found(&simulcast, &stream(96, "3", "h", "")), None);
        assert_eq!(found(&simulcast, &stream(96, "2", "x", "")), None);
        assert_eq!(found(&simulcast, &stream(96, "2", "", "")), None);
        assert_eq!(found(&simulcast, &stream(98, "2", "h", "")), None);
    }

    #[test]
    fn a_single_encoding_needs_no_rid_and_a_single_track_no_mid() {
        let single = track(Some("0"), &[None]);
        assert_eq!(found(&single, &stream(96, "0", "", "")), Some((0, Role::Media)));
        assert_eq!(
            found(&single, &stream(97, "0", "", "")),
            Some((0, Role::Retransmissions))
        );
        assert_eq!(found(&single, &stream(96, "", "", "")), Some((0, Role::Media)));
        let mut taken = single;
        taken.encodings[0].stream = Some(StreamKey {
            leg: dataplane::LegId(1),
            ssrc: Ssrc(9),
        });
        let sign = role_in(&taken, &stream(96, "", "", "")).map(|(.., sign)| sign);
        assert_eq!(sign, Some(Sign::Successor), "once the other one is silent");
        assert!(Sign::Successor < Sign::PayloadType);
        assert_eq!(
            found(&taken, &stream(96, "0", "", "")),
            Some((0, Role::Media)),
            "its SSRC changed"
        );
    }
}
