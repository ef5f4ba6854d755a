//! The plan of a participant, and its form in the request to join.

use std::time::Duration;

use livekit_protocol::{ClientInfo, ConnectionSettings, JoinRequest, WrappedJoinRequest, client_info};
use prost::Message as _;

use crate::impairment::Impairment;
use crate::media::{PublishPlan, Speech};
use crate::transport::RouteKind;

/// The protocol of a client: one of LiveKit's two forms, or another server's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `/rtc`: one peer connection to publish, one to subscribe.
    V0,
    /// `/rtc/v1`: one peer connection, offered by the client.
    V1,
    /// Not LiveKit's but that of Janus' VideoRoom: likewise one to publish, one to subscribe.
    Janus,
}

/// The plan of a participant.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its number in the run; its sources are [`video_source`](Self::video_source) and
    /// `audio_source`.
    pub number: u32,
    /// The room to join.
    pub room: String,
    /// The media that it publishes.
    pub publish: Option<PublishPlan>,
    /// The sources it is to hear and see.
    pub hears: Vec<u32>,
    /// The sources it subscribes to and does not show; the server must not send them.
    pub disables: Vec<u32>,
    /// Whether it reads its media every few milliseconds instead of at once, so that one thread can
    /// be a thousand clients.
    pub light: bool,
    /// The times when the owner of its microphone speaks.
    pub speech: Speech,
    /// Its protocol with the server.
    pub mode: Mode,
    /// Whether it takes the DTLS client's part where it may choose, as browsers do.
    pub dtls_client: bool,
    /// Whether its sockets get each datagram of a run by itself.
    pub single_datagrams: bool,
    /// The route of its media.
    pub route: RouteKind,
    /// Loss and delay in its network.
    pub impairment: Impairment,
    /// When in each frame interval its frames are due, so that publishers do not send all at once.
    pub phase: Duration,
}

impl Plan {
    /// Tracks it subscribes to.
    pub fn subscriptions(&self) -> usize {
        self.hears.len() + self.disables.len()
    }

    /// The source number of the participant's camera.
    pub fn video_source(&self) -> u32 {
        2 * self.number
    }

    /// Whether the source with this number is a microphone.
    pub fn is_audio(source: u32) -> bool {
        source % 2 == 1
    }

    /// The source number of the participant's microphone.
    pub fn audio_source(&self) -> u32 {
        2 * self.number + 1
    }
}

/// The path and query by which a client of the LiveKit protocol joins.
pub(crate) fn signalling_path(plan: &Plan) -> (&'static str, String) {
    let (subscribes, adapts) = (!plan.hears.is_empty(), !plan.disables.is_empty());
    if plan.mode == Mode::V0 {
        let (auto, adaptive) = (u8::from(subscribes), u8::from(adapts));
        return (
            "/rtc",
            format!("&auto_subscribe={auto}&adaptive_stream={adaptive}&sdk=rust&version=1.0.0&protocol=16"),
        );
    }
    let mut client_info = ClientInfo {
        version: "1.0.0".into(),
        protocol: 16,
        ..ClientInfo::default()
    };
    client_info.set_sdk(client_info::Sdk::Rust);
    let request = JoinRequest {
        client_info: Some(client_info),
        connection_settings: Some(ConnectionSettings {
            auto_subscribe: subscribes,
            adaptive_stream: adapts,
            ..Default::default()
        }),
        ..JoinRequest::default()
    };
    let wrapped = WrappedJoinRequest {
        join_request: request.encode_to_vec(),
        ..Default::default()
    };
    (
        "/rtc/v1",
        format!("&join_request={}", base64_url::encode(&wrapped.encode_to_vec())),
    )
}

/// Base64 for URLs (RFC 4648 section 5), padded as this protocol requires.
mod base64_url {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    /// Encodes; `=` is written as the URL escape of itself.
    pub(crate) fn encode(bytes: &[u8]) -> String {
        let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
        for chunk in bytes.chunks(3) {
            let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
            for index in 0..4 {
                if index <= chunk.len() {
                    out.push(char::from(ALPHABET[(word >> (18 - 6 * index) & 63) as usize]));
                } else {
                    out.push_str("%3D");
                }
            }
        }
        out
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_vectors_of_the_standard() {
            for (plain, encoded) in [
                ("f", "Zg%3D%3D"),
                ("fo", "Zm8%3D"),
                ("foo", "Zm9v"),
                ("foobar", "Zm9vYmFy"),
            ] {
                assert_eq!(super::encode(plain.as_bytes()), encoded);
            }
            assert_eq!(super::encode(&[0xfb, 0xff]), "-_8%3D");
        }
    }
}
