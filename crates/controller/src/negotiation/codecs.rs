//! Which codecs are taken, and which of one peer's payload types mean the same as which of
//! another's.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

use southbound::PayloadFormat;
use wire::sdp::{Feedback, Format, Parameters};
use wire::{Codec, MediaKind, PayloadType};

use super::profiles::{self, Profile};
use super::{Flow, Ways};
use crate::limits::FORMATS_MAX;

/// Feedback of receivers of video: how much the downlink carries, and which packets are missing.
const VIDEO_FEEDBACK: [&str; 5] = ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"];
/// Feedback of receivers of audio: one report covers all streams of a bundle.
const AUDIO_FEEDBACK: [&str; 1] = ["transport-cc"];

/// The codecs that publishers may send, by their MIME types; clients choose their publishing codec
/// from them. Video comes first, and the most widely known of it: some clients look no further than
/// the first, as in LiveKit.
pub const MIME_TYPES: [(&str, Codec); 9] = [
    ("video/VP8", Codec::Vp8),
    ("video/H264", Codec::H264),
    ("video/VP9", Codec::Vp9),
    ("video/AV1", Codec::Av1),
    ("video/H265", Codec::H265),
    ("audio/opus", Codec::Opus),
    ("audio/red", Codec::Red),
    ("audio/PCMU", Codec::Pcmu),
    ("audio/PCMA", Codec::Pcma),
];

/// How an audio track wants to be encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AudioWish {
    /// Send nothing while nothing is heard.
    pub(crate) dtx: bool,
    /// Two channels, at a rate fit for music.
    pub(crate) stereo: bool,
    /// Each packet with the one before it again, so that a single loss is not heard (RFC 2198).
    pub(crate) red: bool,
}

/// Whether it is a codec of telephones, which is taken where it is announced or nothing else is
/// there.
pub(crate) fn is_g711(codec: Codec) -> bool {
    matches!(codec, Codec::Pcmu | Codec::Pcma)
}

/// The offered formats that we take, with their retransmission formats, in the offered order.
pub(crate) fn accept(offered: &[Format], ways: Ways, audio: AudioWish, announced: Option<Codec>) -> Vec<Format> {
    let mut accepted: Vec<Format> = Vec::new();
    let repairs = repairs(offered);
    let opus = offered.iter().filter(|format| format.codec() == Some(Codec::Opus));
    let opus: HashSet<PayloadType> = opus.map(|format| format.payload_type).collect();
    let receives = ways.contains(&Some(Flow::Down));
    let takes_red = receives || audio.red;
    // A publisher that has Opus sends it, unless it announced another codec. Each further format
    // would take entries in the tables of the data plane.
    let takes_g711 = receives || opus.is_empty() || announced.is_some_and(is_g711);
    // Browsers offer each profile of H.264 in both modes. The mode of single NAL units is taken
    // where there is no other.
    let is_single = |format: &Format| format.codec() == Some(Codec::H264) && profiles::is_single_nal(format);
    let takes_single = !offered
        .iter()
        .any(|format| format.codec() == Some(Codec::H264) && is_forwarded(format) && !is_single(format));
    let taken = |format: &&Format| match format.codec() {
        Some(codec) if is_g711(codec) => takes_g711,
        Some(Codec::Red) => takes_red && is_redundant_opus(format, &opus),
        _ => is_forwarded(format) && (takes_single || !is_single(format)),
    };
    for format in offered.iter().filter(taken).take(FORMATS_MAX) {
        let feedback = format.feedback.and(feedback(format, ways));
        accepted.push(Format {
            parameters: parameters(format, audio),
            feedback,
            ..format.clone()
        });
        let wants_repair = feedback.contains("nack") && format.codec().map(Codec::kind) == Some(MediaKind::Video);
        if let Some(repair) = repairs.get(&format.payload_type).filter(|_| wants_repair) {
            accepted.push(Format {
                feedback: Feedback::default(),
                ..(*repair).clone()
            });
        }
    }
    accepted
}

/// The formats that retransmit others, by what they retransmit.
fn repairs(formats: &[Format]) -> HashMap<PayloadType, &Format> {
    let mut repairs = HashMap::new();
    for format in formats {
        if let Some(of) = format.retransmits() {
            repairs.entry(of).or_insert(format);
        }
    }
    repairs
}

/// Redundancy of two-channel Opus, and of nothing else: its parameters are the payload types of its
/// blocks.
fn is_redundant_opus(format: &Format, opus: &HashSet<PayloadType>) -> bool {
    let blocks = format.parameters.0.split('/');
    let mut numbers = blocks.map(|block| block.trim().parse().ok().and_then(PayloadType::new));
    format.channels == 2 && numbers.all(|number| number.is_some_and(|number| opus.contains(&number)))
}

/// Puts the formats of one codec first: a sender takes the first of our answer, and clients leave
/// the choice to us.
pub(crate) fn prefer(formats: &mut [Format], codec: Codec) {
    let preferred = numbers_of(formats, |known| known == codec);
    formats.sort_by_key(|format| {
        let of = format.retransmits().unwrap_or(format.payload_type);
        !preferred.contains(&of)
    });
}

/// Takes codecs out, and their retransmissions with them.
pub(crate) fn leave_out(formats: &mut Vec<Format>, is_out: impl Fn(Codec) -> bool) {
    let gone = numbers_of(formats, is_out);
    formats.retain(|format| {
        let of = format.retransmits().unwrap_or(format.payload_type);
        !gone.contains(&of)
    });
}

/// Puts codecs behind all others, each with its retransmissions.
pub(crate) fn put_last(formats: &mut [Format], is_last: impl Fn(Codec) -> bool) {
    let last = numbers_of(formats, is_last);
    formats.sort_by_key(|format| {
        let of = format.retransmits().unwrap_or(format.payload_type);
        last.contains(&of)
    });
}

fn numbers_of(formats: &[Format], fits: impl Fn(Codec) -> bool) -> Vec<PayloadType> {
    let fitting = formats.iter().filter(|format| format.codec().is_some_and(&fits));
    fitting.map(|format| format.payload_type).collect()
}

/// Profiles and levels are the peers' own matter: what is sent goes to those who offer to decode
/// it.
fn is_forwarded(format: &Format) -> bool {
    match format.codec() {
        Some(Codec::Opus | Codec::Vp8 | Codec::Vp9 | Codec::Av1) => true,
        // Not interleaved (RFC 6184 section 6.4), which nobody sends in calls.
        Some(Codec::H264) => matches!(format.parameters.value("packetization-mode"), None | Some("0" | "1")),
        // All layers on one stream (RFC 7798 section 7.1).
        Some(Codec::H265) => format.parameters.value("tx-mode").is_none_or(|mode| mode == "SRST"),
        _ => false,
    }
}

/// The feedback of a format in a section that is used both ways is the union of both directions.
fn feedback(format: &Format, ways: Ways) -> Feedback {
    let of_way = |flow: Flow| -> &[&str] {
        match (format.codec().map(Codec::kind), flow) {
            (Some(MediaKind::Video), Flow::Up) => &["transport-cc", "ccm fir", "nack", "nack pli"],
            (Some(MediaKind::Video), Flow::Down) => &VIDEO_FEEDBACK,
            (_, Flow::Up) => &["transport-cc", "nack"],
            (_, Flow::Down) => &AUDIO_FEEDBACK,
        }
    };
    ways.into_iter().flatten().flat_map(of_way).copied().collect()
}

/// Video parameters are echoed, what they limit being the client's own. Those of Opus say how *we*
/// want to receive.
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
    let repairs = repairs(formats);
    let media = formats.iter().filter_map(|format| Some((format, format.codec()?)));
    media
        .map(|(format, codec)| payload_format(&repairs, format, codec))
        .collect()
}

fn payload_format(repairs: &HashMap<PayloadType, &Format>, format: &Format, codec: Codec) -> PayloadFormat {
    PayloadFormat {
        payload_type: format.payload_type,
        codec,
        rtx: repairs.get(&format.payload_type).map(|repair| repair.payload_type),
        nack: format.has_feedback("nack"),
    }
}

/// The receiver's payload type for each of the publisher; those the receiver cannot decode are
/// missing. A receiver that does not know redundant audio gets the Opus in it.
pub(crate) fn translate(publisher: &[Format], receiver: &[Format]) -> Vec<(PayloadType, PayloadFormat)> {
    let repairs = repairs(receiver);
    let decoders: Vec<Coded<'_>> = receiver.iter().filter_map(Coded::of).collect();
    let primary = decoders.iter().find(|known| known.codec == Codec::Opus);
    let sent = publisher.iter().filter_map(Coded::of);
    sent.filter_map(|sent| {
        let found = match sent.codec {
            Codec::Red => sent.best_of(&decoders).or(primary)?,
            _ => sent.best_of(&decoders)?,
        };
        Some((
            sent.format.payload_type,
            payload_format(&repairs, found.format, found.codec),
        ))
    })
    .collect()
}

/// A format with what its parameters say, which are read once however often it is compared.
struct Coded<'a> {
    format: &'a Format,
    codec: Codec,
    profile: Profile,
}

impl<'a> Coded<'a> {
    fn of(format: &'a Format) -> Option<Self> {
        let codec = format.codec()?;
        let profile = Profile::of(format, codec);
        Some(Self { format, codec, profile })
    }

    /// The decoder that serves best what is sent in this format.
    fn best_of<'b>(&self, decoders: &'b [Coded<'b>]) -> Option<&'b Coded<'b>> {
        let same = decoders.iter().filter(|known| known.codec == self.codec);
        let fitting = same.filter_map(|known| Some((self.profile.fit(&known.profile)?, known)));
        // Of equals the first, which its receiver prefers.
        fitting.rev().max_by_key(|(fit, _)| *fit).map(|(_, known)| known)
    }
}

/// The formats that we offer to a receiver of a track that is sent in `sent`. The numbers are the
/// customary ones; a retransmission is one above its media.
pub(crate) fn offered(kind: MediaKind, stereo: bool, sent: &[Format]) -> Vec<Format> {
    match kind {
        MediaKind::Audio => {
            // Stereo is only played as such by receivers that are told in advance.
            let channels = if stereo { ";sprop-stereo=1" } else { "" };
            let parameters = format!("minptime=10;useinbandfec=1{channels}");
            vec![
                format(111, "opus", 48_000, 2, &parameters, &AUDIO_FEEDBACK),
                format(63, "red", 48_000, 2, "111/111", &[]),
                format(0, "PCMU", 8_000, 1, "", &AUDIO_FEEDBACK),
                format(8, "PCMA", 8_000, 1, "", &AUDIO_FEEDBACK),
            ]
        }
        MediaKind::Video => {
            let usual = USUAL_VIDEO.iter().flat_map(video_formats);
            let rare = RARE_VIDEO.iter().map(video_formats);
            let rare = rare.filter(|formats| is_sent(&formats[0], sent));
            usual.chain(rare.flatten()).collect()
        }
    }
}

/// Those of a publisher that receivers are offered only if they are sent.
pub(crate) fn rare<'a>(sent: impl Iterator<Item = &'a Format>) -> Vec<Format> {
    let is_rare = |format: &&Format| RARE_VIDEO.iter().any(|row| is_sent(format, &video_formats(row)[..1]));
    sent.filter(is_rare).cloned().collect()
}

fn is_sent(format: &Format, sent: &[Format]) -> bool {
    let Some(decoder) = Coded::of(format) else { return false };
    let sent = sent.iter().filter_map(Coded::of);
    sent.filter(|sent| sent.codec == decoder.codec)
        .any(|sent| sent.profile.is_of_class(&decoder.profile))
}

fn video_formats((number, name, parameters): &(u8, &str, &str)) -> [Format; 2] {
    [
        format(*number, name, 90_000, 1, parameters, &VIDEO_FEEDBACK),
        format(number + 1, "rtx", 90_000, 1, &format!("apt={number}"), &[]),
    ]
}

/// The video that each receiver is offered.
const USUAL_VIDEO: [(u8, &str, &str); 8] = [
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
    // Level 6, so that it is the receiver's that limits.
    (49, "H265", "level-id=180;profile-id=1;tier-flag=0;tx-mode=SRST"),
];

/// The video that receivers of a track in one of these profiles are offered besides.
const RARE_VIDEO: [(u8, &str, &str); 13] = [
    (
        108,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640034",
    ),
    (
        112,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640c34",
    ),
    (
        114,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f40034",
    ),
    (
        116,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=6e0034",
    ),
    (
        118,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=7a0034",
    ),
    (120, "VP9", "profile-id=1"),
    (122, "VP9", "profile-id=3"),
    (124, "AV1", "level-idx=19;profile=1;tier=0"),
    (126, "AV1", "level-idx=19;profile=2;tier=0"),
    (37, "H265", "level-id=180;profile-id=2;tier-flag=0;tx-mode=SRST"),
    (39, "H265", "level-id=180;profile-id=1;tier-flag=1;tx-mode=SRST"),
    (41, "H265", "level-id=180;profile-id=2;tier-flag=1;tx-mode=SRST"),
    (43, "H265", "level-id=180;profile-id=4;tier-flag=0;tx-mode=SRST"),
];

fn format(number: u8, name: &str, clock_rate: u32, channels: u8, parameters: &str, feedback: &[&str]) -> Format {
    Format {
        payload_type: PayloadType::new(number).expect("the table has seven-bit numbers"),
        name: name.to_owned(),
        clock_rate,
        channels,
        parameters: Parameters(parameters.to_owned()),
        feedback: feedback.iter().copied().collect(),
    }
}
