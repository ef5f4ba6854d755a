//! Clients as Chromium makes them: three sections to receive on of each kind, one to send on, and
//! more once they are asked for.

use access::{Claims, VideoGrant};
use controller::{AddTrack, ClientTraits, CreateRoom, Description, Join, PeerMode, TrackSource, VideoLayer};
use wire::MediaKind;

const OFFER: &str = include_str!("../../../crates/livekit/tests/calls/fixtures/chromium-single-2-publish.sdp");

/// The names of the tracks in the offer.
const MICROPHONE: &str = "d733ffa1-f72c-4c5e-b8f8-38e61d48c54d";
const CAMERA: &str = "bb0540d3-0ad8-49ae-b4cf-ab78ccda00bd";

/// An offer, by the number of sections of each kind that it has beside those that it begins with.
#[derive(Debug)]
pub(crate) struct Offers(Vec<Description>);

impl Offers {
    /// Reads them once for all clients.
    pub(crate) fn new(more_max: usize) -> Self {
        let (head, sections) = OFFER.split_once("\r\nm=").unwrap_or_else(|| split(OFFER));
        let sections: Vec<String> = sections
            .split("\nm=")
            .map(|section| format!("m={}", section.trim_end()))
            .collect();
        let offers = (0..=more_max).map(|more| {
            let mut sections = sections.clone();
            for template in [0, 3].repeat(more) {
                let mid = sections.len();
                let section = sections[template].replace(&format!("a=mid:{template}"), &format!("a=mid:{mid}"));
                sections.push(section);
            }
            let mids: Vec<_> = (0..sections.len()).map(|mid| mid.to_string()).collect();
            let head = head.lines().map(|line| match line.starts_with("a=group:") {
                true => format!("a=group:BUNDLE {}", mids.join(" ")),
                false => line.to_owned(),
            });
            let text = format!(
                "{}\r\n{}\r\n",
                head.collect::<Vec<_>>().join("\r\n"),
                sections.join("\r\n")
            );
            Description::read(more as u32 + 1, &text)
        });
        Self(offers.collect())
    }

    pub(crate) fn with_more(&self, more: usize) -> Description {
        self.0[more.min(self.0.len() - 1)].clone()
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_once("\nm=").expect("an offer has sections")
}

/// A participant who publishes a microphone and a camera.
pub(crate) fn join(room: &str, identity: &str) -> Join {
    let track = |cid: &str, kind, source| AddTrack {
        cid: cid.to_owned(),
        kind: Some(kind),
        source,
        ..AddTrack::default()
    };
    let layers = [(320, 180), (640, 360), (1280, 720)];
    let layers = layers.map(|(width, height)| VideoLayer {
        width,
        height,
        ..VideoLayer::default()
    });
    let camera = AddTrack {
        width: 1280,
        height: 720,
        layers: layers.to_vec(),
        ..track(CAMERA, MediaKind::Video, TrackSource::Camera)
    };
    Join {
        claims: Claims {
            iss: "devkey".to_owned(),
            sub: identity.to_owned(),
            name: format!("Person {identity}"),
            video: VideoGrant {
                room_join: true,
                room: room.to_owned(),
                ..VideoGrant::default()
            },
            ..Claims::default()
        },
        mode: PeerMode::Single,
        traits: ClientTraits::default(),
        auto_subscribe: true,
        auto_subscribe_data: false,
        attributes: [("role".to_owned(), "guest".to_owned())].into(),
        metadata: "{\"avatar\": \"https://app.example/avatars/1234.png\"}".to_owned(),
        tracks: vec![track(MICROPHONE, MediaKind::Audio, TrackSource::Microphone), camera],
        offer: None,
        room: CreateRoom::default(),
        region: None,
    }
}
