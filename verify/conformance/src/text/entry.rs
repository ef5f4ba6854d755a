//! The words that describe a table entry.

use std::time::Duration;

use dataplane::{Leg, Protection, Replica, ReplicaFormat, Rewriting, SrtpProfile, Stream, StreamFormat};
use wire::codec::Layer;
use wire::extension::PlayoutDelay;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, Mid, NtpTime, PayloadType, RtpTimestamp, Ssrc};

use super::names::Names;
use super::words::{Problem, Words, number, problem, split};
use crate::step::protection;

pub(super) const PROFILES: [(&str, SrtpProfile); 12] = [
    ("gcm128", SrtpProfile::AeadAes128Gcm),
    ("gcm256", SrtpProfile::AeadAes256Gcm),
    ("cm", SrtpProfile::AesCm128HmacSha1_80),
    ("cm-32", SrtpProfile::AesCm128HmacSha1_32),
    ("cm192", SrtpProfile::AesCm192HmacSha1_80),
    ("cm192-32", SrtpProfile::AesCm192HmacSha1_32),
    ("cm256", SrtpProfile::AesCm256HmacSha1_80),
    ("cm256-32", SrtpProfile::AesCm256HmacSha1_32),
    ("f8", SrtpProfile::F8_128HmacSha1_80),
    ("f8-32", SrtpProfile::F8_128HmacSha1_32),
    ("null", SrtpProfile::NullHmacSha1_80),
    ("null-32", SrtpProfile::NullHmacSha1_32),
];

pub(super) const REWRITING: [(&str, Rewriting); 3] = [
    ("exact", Rewriting::Exact),
    ("s-lm", Rewriting::LowMemory),
    ("s-lr", Rewriting::LowRetransmission),
];

pub(super) const EXTENSIONS: [(&str, ExtensionKind); 16] = [
    ("mid", ExtensionKind::Mid),
    ("rid", ExtensionKind::Rid),
    ("repaired-rid", ExtensionKind::RepairedRid),
    ("audio-level", ExtensionKind::AudioLevel),
    ("abs-send-time", ExtensionKind::AbsSendTime),
    ("twcc", ExtensionKind::TransportSequence),
    ("abs-capture-time", ExtensionKind::AbsCaptureTime),
    ("dependency-descriptor", ExtensionKind::DependencyDescriptor),
    ("playout-delay", ExtensionKind::PlayoutDelay),
    ("orientation", ExtensionKind::VideoOrientation),
    ("content-type", ExtensionKind::VideoContentType),
    ("timing", ExtensionKind::VideoTiming),
    ("color-space", ExtensionKind::ColorSpace),
    ("toffset", ExtensionKind::TimestampOffset),
    ("frame-marking", ExtensionKind::FrameMarking),
    ("layers-allocation", ExtensionKind::VideoLayersAllocation),
];

pub(super) fn leg(mut leg: Leg, words: &mut Words<'_>, names: &mut Names) -> Result<Leg, Problem> {
    while let Some(word) = words.next() {
        match word {
            "clear" => leg.protection = Protection::Clear,
            "pending" => leg.protection = Protection::Pending,
            "srtp" => {
                let profile = find(&PROFILES, words.word("a profile")?, "an SRTP profile")?;
                leg.protection = protection(profile, words.number("a number to make keys of")?);
            }
            "from" => leg.paths = list(words.word("a list of peers")?, |peer| Ok(names.path(peer)))?,
            "shared" => leg.shared = optional(words.word("an SSRC")?, |text| Ok(Ssrc(number(text, "an SSRC")?)))?,
            "in" => leg.extensions_in = extensions(words.word("a list of extensions")?)?,
            "out" => leg.extensions_out = extensions(words.word("a list of extensions")?)?,
            _ => return problem(format!("`{word}` is not an attribute of a leg")),
        }
    }
    Ok(leg)
}

pub(super) fn stream(mut stream: Stream, words: &mut Words<'_>) -> Result<Stream, Problem> {
    while let Some(word) = words.next() {
        match word {
            "video" => stream.kind = MediaKind::Video,
            "audio" => stream.kind = MediaKind::Audio,
            "types" => stream.formats = list(words.word("a list of payload types")?, format)?,
            "rtx" => stream.rtx = optional(words.word("an SSRC")?, |text| Ok(Ssrc(number(text, "an SSRC")?)))?,
            "mid" => stream.mid = optional(words.word("a mid")?, mid)?,
            "report" => stream.reference = optional(words.word("a sender report")?, reference)?,
            _ => return problem(format!("`{word}` is not an attribute of a stream")),
        }
    }
    Ok(stream)
}

pub(super) fn replica(mut replica: Replica, words: &mut Words<'_>, names: &mut Names) -> Result<Replica, Problem> {
    while let Some(word) = words.next() {
        match word {
            "to" => replica.leg = names.leg(words.word("a leg")?),
            "ssrc" => replica.ssrc = Ssrc(words.number("an SSRC")?),
            "first" => replica.first_sequence = words.number("a sequence number")?,
            "from" => replica.source = optional(words.word("a stream")?, |text| names.stream(text))?,
            "types" => replica.formats = list(words.word("a list of payload types")?, mapping)?,
            "rtx" => replica.rtx = optional(words.word("SSRC/first")?, retransmission)?,
            "mid" => replica.mid = optional(words.word("a mid")?, mid)?,
            "playout" => replica.playout_delay = optional(words.word("a playout delay")?, playout_delay)?,
            "target" => replica.target = target(words.word("a layer")?)?,
            "fallback" => replica.fallback_spatial = optional(words.word("a size")?, size)?,
            "rewriting" => replica.rewriting = find(&REWRITING, words.word("a rewriter")?, "a rewriter")?,
            "paused" => replica.paused = true,
            "running" => replica.paused = false,
            _ => return problem(format!("`{word}` is not an attribute of a replica")),
        }
    }
    Ok(replica)
}

pub(super) fn find<T: Copy>(table: &[(&str, T)], name: &str, what: &str) -> Result<T, Problem> {
    let found = table.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| Problem(format!("`{name}` is not {what}")))
}

/// The name of a value in a table; every value is listed.
pub(super) fn name_of<T: PartialEq>(table: &[(&'static str, T)], value: T) -> &'static str {
    let found = table.iter().find(|(_, known)| *known == value);
    found.expect("all are listed").0
}

fn list<T>(text: &str, mut item: impl FnMut(&str) -> Result<T, Problem>) -> Result<Vec<T>, Problem> {
    match text {
        "none" => Ok(Vec::new()),
        text => text.split(',').map(&mut item).collect(),
    }
}

pub(super) fn optional<T>(text: &str, item: impl FnOnce(&str) -> Result<T, Problem>) -> Result<Option<T>, Problem> {
    match text {
        "none" => Ok(None),
        text => item(text).map(Some),
    }
}

fn mid(text: &str) -> Result<Mid, Problem> {
    Mid::new(text).ok_or_else(|| Problem(format!("`{text}` is not a mid")))
}

fn payload_type(text: &str) -> Result<PayloadType, Problem> {
    PayloadType::new(number(text, "a payload type")?).ok_or_else(|| Problem(format!("`{text}` is more than 127")))
}

/// `mid=1,twcc=5`
fn extensions(text: &str) -> Result<ExtensionMap, Problem> {
    let mut map = ExtensionMap::default();
    let pairs = list(text, |pair| {
        let (name, id) = split(pair, '=', "an extension with its id")?;
        Ok((
            find(&EXTENSIONS, name, "a header extension")?,
            number(id, "an extension id")?,
        ))
    })?;
    for (kind, id) in pairs {
        map.insert(kind, id).map_err(|error| Problem(error.to_string()))?;
    }
    Ok(map)
}

/// `96=VP8` or `96=VP8/97`
fn format(text: &str) -> Result<StreamFormat, Problem> {
    let (source, codec) = split(text, '=', "a payload type with its codec")?;
    let (codec, rtx) = codec
        .split_once('/')
        .map_or((codec, None), |(codec, rtx)| (codec, Some(rtx)));
    Ok(StreamFormat {
        payload_type: payload_type(source)?,
        codec: Codec::from_name(codec).ok_or_else(|| Problem(format!("`{codec}` is not a codec")))?,
        rtx: rtx.map(payload_type).transpose()?,
    })
}

/// `S1T2`, or `all`
pub(super) fn target(text: &str) -> Result<Layer, Problem> {
    match text {
        "all" => Ok(Layer::HIGHEST),
        text => layer(text),
    }
}

/// `S1`
fn size(text: &str) -> Result<u8, Problem> {
    let size = text.strip_prefix('S');
    number(
        size.ok_or_else(|| Problem(format!("`{text}` is not a size: S1")))?,
        "a spatial layer",
    )
}

/// `S1T2`
pub(super) fn layer(text: &str) -> Result<Layer, Problem> {
    let parts = text.strip_prefix('S').and_then(|text| text.split_once('T'));
    let (spatial, temporal) = parts.ok_or_else(|| Problem(format!("`{text}` is not a layer: S1T2")))?;
    Ok(Layer {
        spatial: number(spatial, "a spatial layer")?,
        temporal: number(temporal, "a temporal layer")?,
    })
}

/// `96>102`, `96>102/103`, or `63>111:primary`
fn mapping(text: &str) -> Result<ReplicaFormat, Problem> {
    let (text, primary_only) = text.strip_suffix(":primary").map_or((text, false), |text| (text, true));
    let (source, own) = split(text, '>', "a payload type with the replica's")?;
    let (own, rtx) = own.split_once('/').map_or((own, None), |(own, rtx)| (own, Some(rtx)));
    Ok(ReplicaFormat {
        source: payload_type(source)?,
        payload_type: payload_type(own)?,
        rtx: rtx.map(payload_type).transpose()?,
        primary_only,
    })
}

/// `150ms`: the minimum.
fn playout_delay(text: &str) -> Result<PlayoutDelay, Problem> {
    let millis = text.strip_suffix("ms").unwrap_or(text);
    Ok(PlayoutDelay::at_least(Duration::from_millis(number(millis, "a time")?)))
}

/// `0x23/200`
fn retransmission(text: &str) -> Result<(Ssrc, u16), Problem> {
    let (ssrc, first) = split(text, '/', "an SSRC with its first sequence number")?;
    Ok((Ssrc(number(ssrc, "an SSRC")?), number(first, "a sequence number")?))
}

/// `12.5s=9000`, or the NTP time in 64 bits: `0x0000000c80000000=9000`
fn reference(text: &str) -> Result<(NtpTime, RtpTimestamp), Problem> {
    let (time, timestamp) = split(text, '=', "a sender report: time=timestamp")?;
    let ntp = match time.strip_suffix('s') {
        None => number(time, "an NTP time")?,
        Some(seconds) => {
            let seconds: f64 = seconds
                .parse()
                .map_err(|_| Problem(format!("`{time}` is not a time")))?;
            (seconds * 4_294_967_296.0) as u64
        }
    };
    Ok((NtpTime(ntp), RtpTimestamp(number(timestamp, "a timestamp")?)))
}
