//! Offers and answers of the clients: VP8 with retransmission, Opus, and the header extensions of a
//! browser.

use crate::media::{Carries, Inbound, Negotiated, Outbound};
use crate::transport::Transport;
use crate::transport::sdp::{Description, Direction, Format, Kind, Media, Setup};

const MID: &str = "urn:ietf:params:rtp-hdrext:sdes:mid";
const TRANSPORT_SEQUENCE: &str = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";
const ABS_SEND_TIME: &str = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time";
const AUDIO_LEVEL: &str = "urn:ietf:params:rtp-hdrext:ssrc-audio-level";
const DEPENDENCY: &str = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension";
const KNOWN_EXTENSIONS: [&str; 5] = [MID, TRANSPORT_SEQUENCE, ABS_SEND_TIME, AUDIO_LEVEL, DEPENDENCY];
const KNOWN_FEEDBACK: [&str; 5] = ["nack", "nack pli", "ccm fir", "goog-remb", "transport-cc"];

/// A section that sends one source's media, announced under the track id `track`; packets describe
/// their place among the layers only if it is `layered`.
pub(crate) fn sending(kind: Kind, mid: &str, track: &str, source: u32, layered: bool) -> Media {
    let mut media = section(kind, mid, Direction::SendOnly);
    media.extensions.retain(|(_, uri)| layered || uri != DEPENDENCY);
    let (ssrc, repair) = (Outbound::ssrc_of(source), Outbound::repair_ssrc_of(source));
    media.extra.push(format!("msid:bench {track}"));
    if kind == Kind::Video {
        media.extra.push(format!("ssrc-group:FID {ssrc} {repair}"));
    }
    let announced = if kind == Kind::Video {
        vec![ssrc, repair]
    } else {
        vec![ssrc]
    };
    for ssrc in announced {
        media.extra.push(format!("ssrc:{ssrc} cname:bench-{source}"));
        media.extra.push(format!("ssrc:{ssrc} msid:bench {track}"));
    }
    media
}

/// A section in which the server may send.
pub(crate) fn receiving(kind: Kind, mid: &str) -> Media {
    section(kind, mid, Direction::RecvOnly)
}

/// The section of the data channels.
pub(crate) fn channels(mid: &str) -> Media {
    Media::new(Kind::Application, mid, Direction::SendRecv)
}

fn section(kind: Kind, mid: &str, direction: Direction) -> Media {
    let mut media = Media::new(kind, mid, direction);
    let format = |payload_type, mapping: &str, parameters: &str, feedback: &[&str]| Format {
        payload_type,
        mapping: mapping.into(),
        parameters: parameters.into(),
        feedback: feedback.iter().map(|value| (*value).into()).collect(),
    };
    if kind == Kind::Video {
        media.formats = vec![
            format(96, "VP8/90000", "", &KNOWN_FEEDBACK),
            format(97, "rtx/90000", "apt=96", &[]),
        ];
        media.extensions.push((5, DEPENDENCY.into()));
    } else {
        media.formats = vec![format(
            111,
            "opus/48000/2",
            "minptime=10;useinbandfec=1",
            &["transport-cc"],
        )];
        media.extensions.push((1, AUDIO_LEVEL.into()));
    }
    media.extensions.extend([
        (2, ABS_SEND_TIME.into()),
        (3, TRANSPORT_SEQUENCE.into()),
        (4, MID.into()),
    ]);
    media
}

/// The answer of a client that receives every offered format that it knows.
pub(crate) fn answer(transport: &Transport, offer: &Description, setup: Setup) -> Description {
    transport.describe(setup, offer.media.iter().map(answer_section).collect())
}

fn answer_section(offered: &Media) -> Media {
    let mut media = Media::new(offered.kind, &offered.mid, offered.direction.answered_by_receiver());
    media.protocol.clone_from(&offered.protocol);
    media.rejected = offered.rejected;
    let known = |format: &&Format| ["VP8", "opus"].iter().any(|codec| format.is(codec));
    let codecs: Vec<&Format> = offered.formats.iter().filter(known).collect();
    let repairs = codecs
        .iter()
        .filter_map(|format| offered.repair_format(format.payload_type));
    media.formats = codecs.iter().copied().chain(repairs).cloned().collect();
    for format in &mut media.formats {
        format.feedback.retain(|value| KNOWN_FEEDBACK.contains(&value.as_str()));
    }
    media.extensions = offered.extensions.clone();
    media
        .extensions
        .retain(|(_, uri)| KNOWN_EXTENSIONS.contains(&uri.as_str()));
    if media.formats.is_empty() && media.kind != Kind::Application {
        media.rejected = true;
        media.formats = offered.formats.clone();
    }
    media
}

/// Tells the receiving side the agreed formats of sections in which the server, by its description,
/// sends. A section in which only the client sends may belong to another connection, with other
/// numbers for the same formats.
pub(crate) fn agree(inbound: &mut Inbound, agreed: &Description, server: &Description) {
    let sends = |mid: &str| {
        server
            .media
            .iter()
            .any(|media| media.mid == mid && media.direction.sends())
    };
    let receiving = |media: &&Media| media.kind != Kind::Application && !media.rejected && sends(&media.mid);
    for media in agreed.media.iter().filter(receiving) {
        if let Some(format) = media.format("opus") {
            inbound.agree(format.payload_type, Carries::Audio, format.has_feedback("nack"));
        }
        if let Some(format) = media.format("VP8") {
            inbound.agree(format.payload_type, Carries::Video, format.has_feedback("nack"));
            if let Some(repair) = media.repair_format(format.payload_type) {
                inbound.agree(repair.payload_type, Carries::Repair, false);
            }
        }
        let wants = |feedback| media.formats.iter().any(|format| format.has_feedback(feedback));
        if let Some(id) = media.extension(TRANSPORT_SEQUENCE).filter(|_| wants("transport-cc")) {
            inbound.agree_transport_sequence(id);
        }
        if wants("goog-remb") {
            inbound.agree_estimates();
        }
    }
    for (primary, repair) in server.media.iter().flat_map(|media| &media.repair_ssrcs) {
        inbound.pair(*primary, *repair);
    }
}

/// The formats in the server's answer for a section that sends, or `None` if the server refused it.
pub(crate) fn negotiated(answer: &Description, mid: &str) -> Option<Negotiated> {
    let media = answer.media.iter().find(|media| media.mid == mid && !media.rejected)?;
    let format = media.format("VP8").or_else(|| media.format("opus"))?;
    Some(Negotiated {
        payload_type: format.payload_type,
        repair: media
            .repair_format(format.payload_type)
            .map(|repair| repair.payload_type),
        mid: media.extension(MID),
        transport_sequence: media.extension(TRANSPORT_SEQUENCE),
        dependency: media.extension(DEPENDENCY),
        audio_level: (media.kind == Kind::Audio)
            .then(|| media.extension(AUDIO_LEVEL))
            .flatten(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_of_many_codecs_is_answered_with_those_known() {
        let mut offered = section(Kind::Video, "3", Direction::SendOnly);
        offered.formats.extend([
            Format {
                payload_type: 98,
                mapping: "VP9/90000".into(),
                ..Format::default()
            },
            Format {
                payload_type: 99,
                mapping: "rtx/90000".into(),
                parameters: "apt=98".into(),
                feedback: vec![],
            },
        ]);
        offered.extensions.push((9, "urn:unknown".into()));
        let answered = answer_section(&offered);
        let payload_types: Vec<u8> = answered.formats.iter().map(|format| format.payload_type).collect();
        assert_eq!(payload_types, [96, 97]);
        assert_eq!(answered.direction, Direction::RecvOnly);
        assert!(answered.extensions.iter().all(|(id, _)| *id != 9));
    }

    #[test]
    fn the_answer_to_a_sending_section_does_not_change_reception() {
        let description = |direction, transport_sequence| {
            let mut media = section(Kind::Video, "0", direction);
            media.extensions = vec![(transport_sequence, TRANSPORT_SEQUENCE.into())];
            Description {
                ufrag: String::new(),
                password: String::new(),
                ice_lite: true,
                fingerprint: String::new(),
                setup: Setup::Passive,
                candidates: vec![],
                media: vec![media],
            }
        };
        let mut inbound = Inbound::default();
        let (offered, answer) = (description(Direction::SendOnly, 7), description(Direction::RecvOnly, 3));
        agree(&mut inbound, &offered, &offered);
        agree(&mut inbound, &answer, &answer);
        assert_eq!(inbound.transport_sequence(), Some(7));
    }

    #[test]
    fn a_section_of_unknown_codecs_is_refused() {
        let mut offered = section(Kind::Video, "3", Direction::SendOnly);
        offered.formats = vec![Format {
            payload_type: 35,
            mapping: "AV1/90000".into(),
            ..Format::default()
        }];
        assert!(answer_section(&offered).rejected);
    }
}
