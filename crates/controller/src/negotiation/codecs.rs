//! Which codecs are taken, and which of one peer's payload types mean the same as which of another's.

use southbound::PayloadFormat;
use wire::sdp::{Format, Parameters};
use wire::{Codec, MediaKind, PayloadType};

use super::Flow;

/// What a receiver of video may tell us: how much its downlink carries, and what it misses.
const VIDEO_FEEDBACK: [&str; 5] = ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"];
/// What a receiver of audio may tell us: one report covers all that goes over a bundle.
const AUDIO_FEEDBACK: [&str; 1] = ["transport-cc"];

/// What a publisher may send, as the protocol names it; also what clients choose their publishing codec from.
pub(crate) const MIME_TYPES: [&str; 6] = [
    "audio/opus",
    "audio/red",
    "video/VP8",
    "video/H264",
    "video/VP9",
    "video/AV1",
];

/// How an audio track wants to be encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AudioWish {
    /// Send nothing while nothing is heard.
    pub(crate) dtx: bool,
    /// Two channels, at a rate fit for music.
    pub(crate) stereo: bool,
    /// Each packet with the one before it again, so that a single loss is not heard (RFC 2198).
    pub(crate) red: bool,
}

/// The offered formats that we take, with their retransmission formats, in the offered order.
pub(crate) fn accept(offered: &[Format], flow: Flow, audio: AudioWish) -> Vec<Format> {
    let mut accepted: Vec<Format> = Vec::new();
    let takes_red = flow == Flow::Down || audio.red;
    let taken = |format: &&Format| match format.codec() {
        Some(Codec::Red) => takes_red && is_redundant_opus(format, offered),
        _ => is_forwarded(format),
    };
    for format in offered.iter().filter(taken) {
        accepted.push(Format {
            parameters: parameters(format, audio),
            feedback: feedback(format, flow),
            ..format.clone()
        });
        let repair = offered
            .iter()
            .find(|repair| repair.retransmits() == Some(format.payload_type));
        let wants_repair = accepted.last().is_some_and(|format| format.has_feedback("nack"));
        if let Some(repair) =
            repair.filter(|_| wants_repair && format.codec().map(Codec::kind) == Some(MediaKind::Video))
        {
            accepted.push(Format {
                feedback: Vec::new(),
                ..repair.clone()
            });
        }
    }
    accepted
}

/// Redundancy of two-channel Opus, and of nothing else: its parameters are the payload types of its blocks.
fn is_redundant_opus(format: &Format, offered: &[Format]) -> bool {
    let mut blocks = format
        .parameters
        .0
        .split('/')
        .map(|block| block.trim().parse().ok().and_then(PayloadType::new));
    let is_opus = |number: PayloadType| {
        let block = offered.iter().find(|block| block.payload_type == number);
        block.and_then(Format::codec) == Some(Codec::Opus)
    };
    format.channels == 2 && blocks.all(|block| block.is_some_and(is_opus))
}

/// Puts the formats of one codec first: a sender takes the first of our answer, and clients leave the choice to us.
pub(crate) fn prefer(formats: &mut [Format], codec: Codec) {
    let preferred: Vec<_> = formats
        .iter()
        .filter(|format| format.codec() == Some(codec))
        .map(|format| format.payload_type)
        .collect();
    formats.sort_by_key(|format| {
        let of = format.retransmits().unwrap_or(format.payload_type);
        !preferred.contains(&of)
    });
}

fn is_forwarded(format: &Format) -> bool {
    match format.codec() {
        Some(Codec::Opus | Codec::Vp8 | Codec::Av1) => true,
        Some(Codec::Vp9) => matches!(profile(format), "0" | "2"),
        // Single-NAL packets (mode 0) cannot carry what browsers encode; High profile is not in everybody's decoder.
        Some(Codec::H264) => {
            format.parameters.value("packetization-mode") == Some("1")
                && matches!(h264_profile(format), Some(0x42 | 0x4d))
        }
        _ => false,
    }
}

fn feedback(format: &Format, flow: Flow) -> Vec<String> {
    let ours: &[&str] = match (format.codec().map(Codec::kind), flow) {
        (Some(MediaKind::Video), Flow::Up) => &["transport-cc", "ccm fir", "nack", "nack pli"],
        (Some(MediaKind::Video), Flow::Down) => &VIDEO_FEEDBACK,
        (_, Flow::Up) => &["transport-cc", "nack"],
        (_, Flow::Down) => &AUDIO_FEEDBACK,
    };
    ours.iter()
        .filter(|kind| format.has_feedback(kind))
        .map(|kind| (*kind).to_owned())
        .collect()
}

/// Video parameters are echoed, what they limit being the client's own. Those of Opus say how *we* want to receive.
fn parameters(format: &Format, audio: AudioWish) -> Parameters {
    if format.codec() != Some(Codec::Opus) {
        return format.parameters.clone();
    }
    let mut text = String::from("minptime=10;useinbandfec=1");
    if audio.dtx {
        text.push_str(";usedtx=1");
    }
    if audio.stereo {
        text.push_str(";stereo=1;maxaveragebitrate=510000");
    }
    Parameters(text)
}

/// The same in the terms of the agent.
pub(crate) fn payload_formats(formats: &[Format]) -> Vec<PayloadFormat> {
    let media = formats.iter().filter_map(|format| Some((format, format.codec()?)));
    media
        .map(|(format, codec)| payload_format(formats, format, codec))
        .collect()
}

fn payload_format(formats: &[Format], format: &Format, codec: Codec) -> PayloadFormat {
    let repair = formats
        .iter()
        .find(|repair| repair.retransmits() == Some(format.payload_type));
    PayloadFormat {
        payload_type: format.payload_type,
        codec,
        rtx: repair.map(|repair| repair.payload_type),
        nack: format.has_feedback("nack"),
    }
}

/// For each payload type of a publisher, what a receiver calls it; those the receiver cannot decode are missing. Who does not know redundant
/// audio gets the Opus in it.
pub(crate) fn translate(publisher: &[Format], receiver: &[Format]) -> Vec<(PayloadType, PayloadFormat)> {
    let media = publisher.iter().filter_map(|format| Some((format, format.codec()?)));
    media
        .filter_map(|(format, codec)| {
            let best = best_for(format, receiver);
            let primary = || receiver.iter().find(|known| known.codec() == Some(Codec::Opus));
            let found = match codec {
                Codec::Red => best.or_else(primary)?,
                _ => best?,
            };
            Some((format.payload_type, payload_format(receiver, found, found.codec()?)))
        })
        .collect()
}

fn best_for<'a>(format: &Format, receiver: &'a [Format]) -> Option<&'a Format> {
    let same = receiver.iter().filter(|known| known.codec() == format.codec());
    let fitting = same.filter(|known| closeness(format, known) > 0);
    fitting.max_by_key(|known| closeness(format, known))
}

/// How well a decoder of `receiver` serves what `publisher` sends of the same codec: 0 is not at all.
fn closeness(publisher: &Format, receiver: &Format) -> u8 {
    match publisher.codec() {
        Some(Codec::Vp9 | Codec::Av1) => u8::from(profile(publisher) == profile(receiver)),
        Some(Codec::H264) => h264_closeness(publisher, receiver),
        Some(_) => 1,
        None => 0,
    }
}

fn profile(format: &Format) -> &str {
    let name = if format.codec() == Some(Codec::Av1) {
        "profile"
    } else {
        "profile-id"
    };
    format.parameters.value(name).unwrap_or("0")
}

/// `profile_idc`, the first byte of `profile-level-id` (RFC 6184 section 8.1).
fn h264_profile(format: &Format) -> Option<u8> {
    let id = format.parameters.value("profile-level-id").unwrap_or("42e01f");
    u8::from_str_radix(id.get(..2)?, 16).ok()
}

fn h264_closeness(publisher: &Format, receiver: &Format) -> u8 {
    let mode = |format: &Format| format.parameters.value("packetization-mode").unwrap_or("0").to_owned();
    let constraints = |format: &Format| {
        let id = format.parameters.value("profile-level-id").unwrap_or("42e01f");
        id.get(2..4).map(str::to_ascii_lowercase)
    };
    if mode(publisher) != mode(receiver) || h264_profile(publisher) != h264_profile(receiver) {
        return 0;
    }
    // Encoders of browsers use the constrained part of Baseline whatever they call it, so either name will do.
    if constraints(publisher) == constraints(receiver) {
        2
    } else {
        1
    }
}

/// What we offer to a receiver. The numbers are the protocol's customary ones; a retransmission is one above its media.
pub(crate) fn offered(kind: MediaKind, stereo: bool) -> Vec<Format> {
    match kind {
        MediaKind::Audio => {
            // What comes in stereo is only played so by who is told in advance.
            let channels = if stereo { ";sprop-stereo=1" } else { "" };
            let parameters = format!("minptime=10;useinbandfec=1{channels}");
            vec![
                format(111, "opus", 48_000, 2, &parameters, &AUDIO_FEEDBACK),
                format(63, "red", 48_000, 2, "111/111", &[]),
            ]
        }
        MediaKind::Video => {
            let mut formats = Vec::new();
            for (number, name, parameters) in [
                (96, "VP8", ""),
                (98, "VP9", "profile-id=0"),
                (100, "VP9", "profile-id=2"),
                (
                    102,
                    "H264",
                    "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
                ),
                (
                    104,
                    "H264",
                    "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f",
                ),
                (
                    106,
                    "H264",
                    "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f",
                ),
                (35, "AV1", ""),
            ] {
                formats.push(format(number, name, 90_000, 1, parameters, &VIDEO_FEEDBACK));
                formats.push(format(number + 1, "rtx", 90_000, 1, &format!("apt={number}"), &[]));
            }
            formats
        }
    }
}

fn format(number: u8, name: &str, clock_rate: u32, channels: u8, parameters: &str, feedback: &[&str]) -> Format {
    Format {
        payload_type: PayloadType::new(number).expect("the table has seven-bit numbers"),
        name: name.to_owned(),
        clock_rate,
        channels,
        parameters: Parameters(parameters.to_owned()),
        feedback: feedback.iter().map(|kind| (*kind).to_owned()).collect(),
    }
}
