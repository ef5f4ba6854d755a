//! Offers: checks that the controller does not make, and the tracks that an offer announces.

use controller::{AddTrack, CodecRequest, TrackSource, VideoLayer, VideoQuality};
use wire::sdp::{Direction, LeftOut, MediaSection, SectionKind, SessionDescription, Setup};
use wire::{Codec, MediaKind};

use crate::answer::Answer;
use crate::choice::Slots;
use crate::limits::SECTIONS_MAX;
use crate::rids;
use crate::route::Protocol;

/// An offer that was read and may be answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    /// Its content.
    pub(crate) description: SessionDescription,
    /// The lines that were left out of it.
    pub(crate) left_out: LeftOut,
}

impl Offer {
    /// Reads an offer. `is_browser` is whether its sender has a certificate that any role in DTLS
    /// can check.
    ///
    /// Errors: 400 for a text that is no description, 422 for an offer that the protocol does not
    /// allow.
    pub(crate) fn read(protocol: Protocol, text: &str, is_browser: bool) -> Result<Self, Answer> {
        let read = SessionDescription::read(text);
        let (mut description, left_out) = read.map_err(|error| Answer::refusal(400, error.to_string()))?;
        check(protocol, &description).map_err(|why| Answer::refusal(422, why))?;
        for section in &mut description.sections {
            prepare(protocol, section, is_browser);
        }
        Ok(Self { description, left_out })
    }

    /// The tracks that it announces: one for each section that sends.
    pub(crate) fn tracks(&self, video: TrackSource) -> Vec<AddTrack> {
        let sections = self.description.sections.iter();
        sections
            .filter(|section| is_live(section))
            .filter_map(|section| track(section, video))
            .collect()
    }

    /// The number of sections of each kind.
    pub(crate) fn slots(&self) -> Slots {
        let count = |kind| {
            media(&self.description)
                .filter(|section| section.kind == SectionKind::Media(kind))
                .count()
        };
        Slots {
            audios: count(MediaKind::Audio),
            videos: count(MediaKind::Video),
        }
    }
}

fn is_live(section: &MediaSection) -> bool {
    !section.rejected
}

fn media(description: &SessionDescription) -> impl Iterator<Item = &MediaSection> {
    let live = description.sections.iter().filter(|section| is_live(section));
    live.filter(|section| matches!(section.kind, SectionKind::Media(_)))
}

fn check(protocol: Protocol, description: &SessionDescription) -> Result<(), &'static str> {
    if description.sections.len() > SECTIONS_MAX {
        return Err("the offer has too many media sections");
    }
    if media(description).next().is_none() {
        return Err("the offer has no audio and no video");
    }
    let mut live = description.sections.iter().filter(|section| is_live(section));
    let is_alone = live.clone().count() == 1 && description.bundle.is_empty();
    if !is_alone && !live.all(|section| description.bundle.contains(&section.mid)) {
        return Err("the offer does not put all media sections into one BUNDLE group");
    }
    let fits = |section: &MediaSection| match protocol {
        Protocol::Whip => section.direction.sends(),
        Protocol::Whep => section.direction.receives(),
    };
    if !media(description).all(fits) {
        return Err(match protocol {
            Protocol::Whip => "a publisher's media sections have to be sendonly",
            Protocol::Whep => "a player's media sections have to be recvonly",
        });
    }
    let count = |kind| {
        media(description)
            .filter(|section| section.kind == SectionKind::Media(kind))
            .count()
    };
    let is_one_each = count(MediaKind::Audio) <= 1 && count(MediaKind::Video) <= 1;
    match protocol {
        Protocol::Whip if !is_one_each => Err("a publisher has one audio and one video at most"),
        Protocol::Whip | Protocol::Whep => Ok(()),
    }
}

/// Makes of a section what the protocol means.
fn prepare(protocol: Protocol, section: &mut MediaSection, is_browser: bool) {
    if matches!(section.kind, SectionKind::Media(_)) && is_live(section) {
        // Media flows one way, also where a client says both.
        section.direction = match protocol {
            Protocol::Whip => Direction::SendOnly,
            Protocol::Whep => Direction::RecvOnly,
        };
        if section.rids.len() > 1 {
            rids::sort(&mut section.rids);
        }
    }
    // A client that leaves the choice waits for the handshake, and our answer is `active`. As DTLS
    // server we could not take the RSA certificates that GStreamer has; as client we can.
    if section.setup == Some(Setup::ActPass) && !is_browser {
        section.setup = Some(Setup::Passive);
    }
}

fn track(section: &MediaSection, video: TrackSource) -> Option<AddTrack> {
    let SectionKind::Media(kind) = section.kind else {
        return None;
    };
    // Without a name of its own a track is found by its kind, of which there is one.
    let cid = section.msids.iter().find_map(|msid| msid.track.clone());
    let codec = section
        .formats
        .iter()
        .filter_map(|format| format.codec())
        .find(|codec| is_video(*codec));
    let codec = codec.filter(|_| kind == MediaKind::Video).map(|codec| CodecRequest {
        codec: format!("video/{codec}"),
        ..CodecRequest::default()
    });
    Some(AddTrack {
        cid: cid.unwrap_or_else(|| section.mid.to_string()),
        kind: Some(kind),
        source: match (kind, video) {
            (MediaKind::Video, source) => source,
            (MediaKind::Audio, TrackSource::ScreenShare) => TrackSource::ScreenShareAudio,
            (MediaKind::Audio, _) => TrackSource::Microphone,
        },
        stereo: kind == MediaKind::Audio && is_stereo(section),
        // A broadcast has music in it, and silence is part of it.
        disable_dtx: true,
        layers: layers(section),
        codecs: codec.into_iter().collect(),
        ..AddTrack::default()
    })
}

fn is_video(codec: Codec) -> bool {
    codec.kind() == MediaKind::Video
}

fn is_stereo(section: &MediaSection) -> bool {
    let says = |name: &str| {
        let mut formats = section.formats.iter();
        formats.any(|format| format.parameters.value(name) == Some("1"))
    };
    says("sprop-stereo") || says("stereo")
}

/// The sizes of the layers, where the offer says all of them.
fn layers(section: &MediaSection) -> Vec<VideoLayer> {
    let sizes: Option<Vec<_>> = section.rids.iter().map(rids::size).collect();
    let Some(sizes) = sizes.filter(|sizes| sizes.len() > 1) else {
        return Vec::new();
    };
    let qualities = match sizes.len() {
        2 => &[VideoQuality::Low, VideoQuality::High][..],
        _ => &[VideoQuality::Low, VideoQuality::Medium, VideoQuality::High][..],
    };
    let layers = sizes.iter().zip(&section.rids).enumerate();
    layers
        .map(|(position, ((width, height), line))| VideoLayer {
            quality: qualities.get(position).copied().unwrap_or(VideoQuality::High),
            width: *width,
            height: *height,
            rid: line.rid.to_string(),
            ..VideoLayer::default()
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An offer of these sections: the kind, the direction, and further lines of each.
    pub(crate) fn sdp(sections: &[(&str, &str, &str)]) -> String {
        let mids: Vec<_> = (0..sections.len()).map(|mid| mid.to_string()).collect();
        let mut text = format!(
            "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE {}\r\n",
            mids.join(" ")
        );
        let fingerprint = ["AB"; 32].join(":");
        for (mid, (kind, direction, lines)) in mids.iter().zip(sections) {
            let (number, format) = match *kind {
                "audio" => (111, "opus/48000/2"),
                _ => (
                    96,
                    "H264/90000\r\na=fmtp:96 packetization-mode=1;profile-level-id=42e01f",
                ),
            };
            text += &format!(
                "m={kind} 9 UDP/TLS/RTP/SAVPF {number}\r\nc=IN IP4 0.0.0.0\r\na=mid:{mid}\r\na=ice-ufrag:abcd\r\n\
                 a=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 {fingerprint}\r\na=setup:actpass\r\n\
                 a={direction}\r\na=rtcp-mux\r\na=rtpmap:{number} {format}\r\n{lines}"
            );
        }
        text
    }

    fn status(protocol: Protocol, text: &str) -> u16 {
        Offer::read(protocol, text, false).map_or_else(|answer| answer.status, |_| 201)
    }

    #[test]
    fn an_offer_of_one_audio_and_one_video_is_taken() {
        let whip = sdp(&[("audio", "sendonly", ""), ("video", "sendrecv", "")]);
        assert_eq!(status(Protocol::Whip, &whip), 201);
        let whep = sdp(&[
            ("audio", "recvonly", ""),
            ("video", "recvonly", ""),
            ("video", "recvonly", ""),
        ]);
        assert_eq!(status(Protocol::Whep, &whep), 201);
        let alone = sdp(&[("audio", "sendonly", "")]).replace("a=group:BUNDLE 0\r\n", "");
        assert_eq!(status(Protocol::Whip, &alone), 201);
    }

    #[test]
    fn an_offer_that_the_protocol_does_not_allow_is_refused() {
        assert_eq!(status(Protocol::Whip, "hello"), 400);
        assert_eq!(status(Protocol::Whip, "v=0\r\n"), 422, "no media");
        let both = sdp(&[("audio", "sendonly", ""), ("video", "sendonly", "")]);
        assert_eq!(status(Protocol::Whip, &both.replace("BUNDLE 0 1", "BUNDLE 0")), 422);
        assert_eq!(status(Protocol::Whip, &both.replace("a=group:BUNDLE 0 1\r\n", "")), 422);
        let videos = sdp(&[("video", "sendonly", ""), ("video", "sendonly", "")]);
        assert_eq!(status(Protocol::Whip, &videos), 422);
        assert_eq!(status(Protocol::Whip, &sdp(&[("audio", "recvonly", "")])), 422);
        assert_eq!(status(Protocol::Whep, &sdp(&[("audio", "sendonly", "")])), 422);
        let many = vec![("audio", "recvonly", ""); SECTIONS_MAX + 1];
        assert_eq!(status(Protocol::Whep, &sdp(&many)), 422);
    }

    #[test]
    fn a_publishers_sections_announce_tracks() {
        let simulcast =
            "a=msid:stream picture\r\na=rid:0 send\r\na=rid:1 send\r\na=rid:2 send\r\na=simulcast:send 0;1;2\r\n";
        let stereo = "a=fmtp:111 minptime=10;sprop-stereo=1\r\n";
        let text = sdp(&[("audio", "sendonly", stereo), ("video", "sendonly", simulcast)]);
        let offer = Offer::read(Protocol::Whip, &text, false).unwrap();
        let tracks = offer.tracks(TrackSource::Camera);
        let [audio, video] = &tracks[..] else {
            panic!("two tracks and not {tracks:?}");
        };
        assert_eq!(
            (audio.cid.as_str(), audio.source, audio.stereo),
            ("0", TrackSource::Microphone, true)
        );
        assert_eq!((video.cid.as_str(), video.source), ("picture", TrackSource::Camera));
        assert_eq!(video.codecs[0].codec, "video/H264");
        let names = offer.description.sections[1]
            .rids
            .iter()
            .map(|line| line.rid.to_string());
        assert_eq!(names.collect::<Vec<_>>(), ["2", "1", "0"]);
        assert_eq!(
            offer.tracks(TrackSource::ScreenShare)[0].source,
            TrackSource::ScreenShareAudio
        );
    }

    #[test]
    fn only_browsers_get_to_begin_the_handshake() {
        let text = sdp(&[("audio", "sendonly", "")]);
        let setup = |text: &str, is_browser| {
            Offer::read(Protocol::Whip, text, is_browser)
                .unwrap()
                .description
                .sections[0]
                .setup
        };
        assert_eq!(setup(&text, true), Some(Setup::ActPass));
        assert_eq!(setup(&text, false), Some(Setup::Passive));
        assert_eq!(setup(&text.replace("actpass", "active"), false), Some(Setup::Active));
    }
}
