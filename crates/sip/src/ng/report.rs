//! State of a call: the answer to `query` and `delete`.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use environment::WallClock;
use southbound::relay::{Keys, Traffic};

use super::value::{Dictionary, Value};
use crate::call::{Call, Component, Dialogue, End, Media, Side};
use crate::quality::{Quality, Sample};
use crate::sdp::suite_name;

/// State of a call, for all parties or for one and its partners: the one with tag `to`, or else the
/// one with tag `from`.
pub(super) fn of(clock: WallClock, call: &Call, from: Option<&[u8]>, to: Option<&[u8]>) -> Dictionary {
    let created = clock.unix(call.created);
    let mut report = Report {
        clock,
        call,
        totals: [Traffic::default(); 2],
        streams: Dictionary::default(),
    };
    let tags = report.tags(to.or(from));
    let mut reply = Dictionary::default()
        .with("created", created.as_secs())
        .with("created_us", u64::from(created.subsec_micros()))
        .with("last signal", clock.unix(call.last_signal).as_secs());
    if let Some(metadata) = &call.metadata {
        reply.push("metadata", metadata.as_slice());
    }
    let [rtp, rtcp] = report.totals.map(counted);
    reply
        .with("SSRC", report.streams)
        .with("tags", tags)
        .with("totals", Dictionary::default().with("RTP", rtp).with("RTCP", rtcp))
}

struct Report<'a> {
    clock: WallClock,
    call: &'a Call,
    totals: [Traffic; 2],
    streams: Dictionary,
}

/// A party: a tag, and where it takes part.
struct Party<'a> {
    name: Vec<u8>,
    tag: &'a [u8],
    places: Vec<(&'a Dialogue, usize)>,
}

impl<'a> Report<'a> {
    fn tags(&mut self, wanted: Option<&[u8]>) -> Dictionary {
        let mut parties = parties(self.call);
        if let Some(wanted) = wanted {
            let position = parties.iter().position(|party| {
                party
                    .places
                    .iter()
                    .any(|(dialogue, end)| dialogue.ends[*end].is(wanted))
            });
            let Some(position) = position else {
                return Dictionary::default();
            };
            let first = parties.remove(position);
            let meets = |party: &Party<'_>| {
                first.places.iter().any(|(dialogue, end)| {
                    party
                        .places
                        .iter()
                        .any(|(other, at)| std::ptr::eq(*dialogue, *other) && end != at)
                })
            };
            parties.retain(meets);
            parties.insert(0, first);
        }
        let mut tags = Dictionary::default();
        parties
            .iter()
            .for_each(|party| tags.push(party.name.clone(), self.party(party)));
        tags
    }

    fn party(&mut self, party: &Party<'a>) -> Dictionary {
        let ends: Vec<&End> = party
            .places
            .iter()
            .map(|(dialogue, end)| &dialogue.ends[*end])
            .collect();
        let created = ends.iter().map(|end| end.created).min().unwrap_or(self.call.created);
        let others: Vec<Value> = party
            .places
            .iter()
            .map(|(dialogue, end)| subscription(&dialogue.ends[1 - end]))
            .collect();
        let mut tag = Dictionary::default().with("tag", party.tag);
        if let Some(branch) = party.places.iter().find_map(|(dialogue, _)| dialogue.branch.as_deref()) {
            tag.push("via-branch", branch);
        }
        if let Some(label) = ends.iter().find_map(|end| end.label.as_deref()) {
            tag.push("label", label);
        }
        tag.push("created", self.clock.unix(created).as_secs());
        tag.push("subscriptions", others.clone());
        tag.push("subscribers", others);
        let mut medias = Vec::new();
        for (dialogue, end) in &party.places {
            let sections = dialogue.media.iter().enumerate();
            medias.extend(sections.map(|(index, media)| Value::from(self.media(index, media, *end))));
        }
        tag.with("medias", medias)
    }

    fn media(&mut self, index: usize, media: &Media, end: usize) -> Dictionary {
        let side = &media.sides[end];
        let components: &[Component] = if media.is_rtp {
            &[Component::Rtp, Component::Rtcp]
        } else {
            &[Component::Rtp]
        };
        let streams: Vec<Value> = components
            .iter()
            .map(|component| Value::from(self.stream(side, *component)))
            .collect();
        for quality in &side.qualities {
            self.streams.push(quality.ssrc.to_string(), rated(quality));
        }
        // As from rtpengine, a stream without reports has an entry without scores.
        let unrated = |ssrc: &u32| !side.qualities.iter().any(|quality| quality.ssrc == *ssrc);
        if let Some(ssrc) = side.traffic[0].ssrc.filter(unrated) {
            self.streams.push(ssrc.to_string(), Dictionary::default());
        }
        let mut section = Dictionary::default()
            .with("index", index as u64 + 1)
            .with("type", media.kind.as_str())
            .with("protocol", media.protocols[end].as_str());
        // As from rtpengine, once there are packets of it.
        if let Some(codec) = media.codec.as_ref().filter(|_| side.traffic[0].packets > 0) {
            section.push("codec", codec.as_str());
        }
        section.with("streams", streams).with("flags", media_flags(media, end))
    }

    fn stream(&mut self, side: &Side, component: Component) -> Dictionary {
        let mut stream = Dictionary::default();
        if let Some(pair) = &side.local {
            let local = if component == Component::Rtp {
                pair.rtp()
            } else {
                pair.rtcp()
            };
            stream.push("local port", u64::from(local.port()));
            stream.push("local address", local.ip().to_string());
            stream.push("family", family(local));
        }
        let advertised = side.heard.as_ref().map(|heard| heard.at(component));
        let learned = side.sources[component as usize].address();
        stream.push("endpoint", endpoint(learned.or(advertised)));
        stream.push("advertised endpoint", endpoint(advertised));
        if let Some(Keys::Srtp(key)) = side.security.ingress_protection() {
            stream.push("crypto suite", suite_name(key.profile()));
        }
        let last = side.last_packets[component as usize].unwrap_or(self.call.created);
        stream.push("last packet", self.seconds(last));
        let traffic = side.traffic[component as usize];
        let rated = || side.qualities.first().map(|quality| quality.ssrc);
        if let (Component::Rtp, Some(ssrc)) = (component, traffic.ssrc.or_else(rated)) {
            stream.push("SSRC", u64::from(ssrc));
        }
        stream.push("flags", stream_flags(side, component));
        let total = &mut self.totals[component as usize];
        total.packets += traffic.packets;
        total.bytes += traffic.bytes;
        total.errors += traffic.errors;
        stream.with("stats", counted(traffic))
    }

    fn seconds(&self, at: Instant) -> u64 {
        self.clock.unix(at).as_secs()
    }
}

/// The parties of a call, in the order of joining.
fn parties(call: &Call) -> Vec<Party<'_>> {
    let mut parties: Vec<Party<'_>> = Vec::new();
    for dialogue in &call.dialogues {
        for end in [0, 1] {
            let known = dialogue.ends[end].tag();
            let tag = known.unwrap_or_default();
            match parties.iter_mut().find(|party| known.is_some() && party.tag == tag) {
                Some(party) => party.places.push((dialogue, end)),
                None => {
                    let untagged = || format!("<untagged {}>", parties.len() + 1).into_bytes();
                    let name = known.map_or_else(untagged, <[u8]>::to_vec);
                    parties.push(Party {
                        name,
                        tag,
                        places: vec![(dialogue, end)],
                    });
                }
            }
        }
    }
    parties
}

fn subscription(other: &End) -> Value {
    let tag = other.tag().unwrap_or_default();
    Dictionary::default()
        .with("tag", tag)
        .with("type", "offer/answer")
        .into()
}

fn endpoint(address: Option<SocketAddr>) -> Dictionary {
    let Some(address) = address else {
        return Dictionary::default();
    };
    Dictionary::default()
        .with("family", family(address))
        .with("address", address.ip().to_string())
        .with("port", u64::from(address.port()))
}

const fn family(address: SocketAddr) -> &'static str {
    if address.is_ipv6() { "IPv6" } else { "IPv4" }
}

fn counted(traffic: Traffic) -> Dictionary {
    Dictionary::default()
        .with("packets", traffic.packets)
        .with("bytes", traffic.bytes)
        .with("errors", traffic.errors)
}

fn stream_flags(side: &Side, component: Component) -> Vec<Value> {
    let source = &side.sources[component as usize];
    let flags = [
        ("RTP", component == Component::Rtp),
        ("RTCP", component == Component::Rtcp || side.mux),
        ("filled", side.heard.is_some()),
        ("confirmed", source.is_settled()),
        ("strict source address", side.policy.strict),
        ("media handover", side.policy.handover),
    ];
    set(&flags)
}

fn media_flags(media: &Media, end: usize) -> Vec<Value> {
    let side = &media.sides[end];
    let heard = side.heard.as_ref();
    let keys = side.security.ingress_protection();
    let dtls = match keys {
        Some(Keys::Dtls { active, .. }) => Some(active),
        _ => None,
    };
    let flags = [
        ("initialized", heard.is_some()),
        ("asymmetric", side.policy.asymmetric),
        // The direction as seen from us: we send when the party receives.
        ("send", heard.is_some_and(|heard| heard.direction.receives())),
        ("recv", heard.is_some_and(|heard| heard.direction.sends())),
        ("rtcp-mux", side.mux),
        ("DTLS-SRTP", dtls.is_some()),
        ("DTLS role active", dtls == Some(true)),
        ("DTLS role passive", dtls == Some(false)),
        ("SDES", matches!(keys, Some(Keys::Srtp(_)))),
        ("ICE", side.ice.is_some()),
        // The role towards an offerer, which rtpengine reports of every party that got an offer,
        // with ICE or without.
        ("ICE controlling", end == 1),
    ];
    set(&flags)
}

fn set(flags: &[(&str, bool)]) -> Vec<Value> {
    flags
        .iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(name, _)| Value::from(*name))
        .collect()
}

/// The quality of a stream.
fn rated(quality: &Quality) -> Dictionary {
    let average = sample(&quality.average()).with("samples", u64::from(quality.samples));
    let at = |rated: &Sample| sample(rated).with("reported at", rated.at.as_secs());
    Dictionary::default()
        .with("average MOS", average)
        .with("lowest MOS", at(&quality.lowest))
        .with("highest MOS", at(&quality.highest))
}

/// Shape: the score in tenths, round trips in microseconds, jitter in milliseconds, loss in
/// percent.
fn sample(sample: &Sample) -> Dictionary {
    let micros = |time: Option<Duration>| u64::try_from(time.unwrap_or_default().as_micros()).unwrap_or(u64::MAX);
    let report = sample.report;
    Dictionary::default()
        .with("MOS", (sample.score * 10.0).round() as u64)
        .with("round-trip time", micros(report.round_trip))
        .with("round-trip time leg", micros(report.round_trip_leg))
        .with("jitter", report.jitter.as_millis() as u64)
        .with("packet loss", (report.loss.clamp(0.0, 1.0) * 100.0).round() as u64)
}
