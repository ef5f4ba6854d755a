//! Timelines: what happened to one participant and what the server decided for it, with times.
//!
//! The agent and the controller report observations, and the flight recorder (`crates/timeline`)
//! keeps them. Every observation has a fixed size, so a recorder needs no memory for a new one.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::receivers::{Limit, MediaKind, Target, Usage};

/// The observations of one participant, the oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Timeline {
    /// The name of the room.
    pub room: String,
    /// The identity of the participant.
    pub participant: String,
    /// Whether the participant has left.
    pub has_left: bool,
    /// How many observations were overwritten by newer ones, since the timeline began.
    pub overwritten: u64,
    /// The observations, as many as there are.
    pub entries: Vec<TimelineEntry>,
}

/// One observation with its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimelineEntry {
    /// When. Shape: milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The track that it is about; `null` for one about the participant itself.
    pub track: Option<TimelineTrack>,
    /// The observation and its fields.
    #[serde(flatten)]
    pub observation: Observation,
}

/// The track of an observation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimelineTrack {
    /// The id of the track.
    pub id: String,
    /// The identity of its publisher. In a request for a key frame of the participant's own track:
    /// of the receiver.
    pub peer: String,
    /// Whether it is audio or video.
    pub kind: MediaKind,
    /// The source, as the publisher says.
    pub source: TrackSource,
}

/// The source of a track, as its publisher says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TrackSource {
    /// The publisher does not say.
    #[default]
    Unknown,
    /// A camera of the publisher.
    Camera,
    /// A microphone of the publisher.
    Microphone,
    /// A screen or a window.
    ScreenShare,
    /// The sound of a screen or a window.
    ScreenShareAudio,
}

/// An observation, the participant that it is about, and the track. It is the form in which the
/// controller hands observations out.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticipantObservation {
    /// The identity of the participant.
    pub participant: String,
    /// The track, if it is about one.
    pub track: Option<TimelineTrack>,
    /// The observation and its fields.
    pub observation: Observation,
}

/// One thing that happened to a participant. Rates are in bits per second of UDP payload, and
/// [`u32::MAX`] stands for higher ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "observation", rename_all = "snake_case")]
pub enum Observation {
    /// The participant joined.
    Join,
    /// The participant left.
    Leave {
        /// The reason that the session ended.
        reason: LeaveReason,
    },
    /// The participant came back on a new signalling connection.
    Reconnect,
    /// The signalling connection ended, and the participant may come back.
    Detach,
    /// The participant may do this from now on.
    Permission {
        /// Publish tracks of its own.
        publish: bool,
        /// Subscribe to tracks of others.
        subscribe: bool,
        /// Send data to others.
        data: bool,
    },
    /// The participant publishes the track.
    Publish,
    /// The participant publishes the track no longer.
    Unpublish,
    /// The track was muted or unmuted by its publisher.
    Mute {
        /// Whether it is muted now.
        muted: bool,
    },
    /// The encodings of the participant's own track that arrive at the server changed.
    Arrival {
        /// Bit `i` is set while encoding `i` arrives, in rising quality from 0.
        encodings: u8,
    },
    /// The participant gets the track from now on.
    Subscribe,
    /// The participant gets the track no longer.
    Unsubscribe,
    /// The downlink no longer carries the track, or does again.
    Pause {
        /// Whether nothing of it is sent now.
        paused: bool,
    },
    /// The participant is sent another layer of the track.
    LayerSwitch {
        /// The layer before; `null` for the first.
        from: Option<Target>,
        /// The layer now.
        to: Target,
        /// The reason of the switch.
        cause: SwitchCause,
    },
    /// The estimate of the participant's downlink, and the rates that were divided by it.
    Estimate {
        /// The estimated capacity of the downlink.
        target_bps: u32,
        /// The rate of everything granted.
        allocated_bps: u32,
        /// The rate of everything wanted.
        wanted_bps: u32,
        /// The reason that the estimate is not higher.
        limit: Limit,
        /// The use of the path, as seen from delay.
        usage: Usage,
        /// The part of the packets that is lost, in thousandths.
        loss_permille: u16,
        /// To the receiver and back, where it is measured.
        round_trip_ms: Option<u16>,
        /// The delay in the queue of the path.
        queue_ms: u16,
    },
    /// The downlink is probed for more room.
    Probe {
        /// The rate of the burst.
        rate_bps: u32,
        /// The least number of its bytes.
        bytes: u32,
    },
    /// Packets were lost in the last round of reports, which is a second long.
    Loss {
        /// The way they were lost on.
        direction: Direction,
        /// The packets that were expected.
        expected: u32,
        /// Those of them that did not arrive, before repair.
        lost: u32,
    },
    /// The decoder of a receiver asked for a key frame of the track.
    KeyFrameRequest,
    /// The server asked the participant for a key frame of its track.
    KeyFrameQuery {
        /// How often it has asked without a use for a receiver, this time included.
        attempt: u16,
    },
    /// The state of ICE and DTLS changed.
    Transport {
        /// The transport that media arrives on from the participant, or that it is sent on.
        direction: Direction,
        /// The state now.
        state: TransportState,
    },
    /// The transport uses another ICE pair: this is the participant's address.
    Path {
        /// As the server sees it.
        remote: SocketAddr,
        /// Whether it is a connection over TCP.
        protocol: PathProtocol,
    },
    /// ICE begins again.
    Restart,
    /// The participant moves to another media node.
    Move,
    /// Something was refused because a limit was reached; the log says which.
    Refusal,
}

/// Why a participant left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LeaveReason {
    /// The client left by itself.
    ClientInitiated,
    /// The same identity joined elsewhere.
    DuplicateIdentity,
    /// The server shut down.
    ServerShutdown,
    /// An administrator removed the participant.
    ParticipantRemoved,
    /// An administrator deleted the room.
    RoomDeleted,
    /// Client and server disagreed about the session.
    StateMismatch,
    /// The participant could not join.
    JoinFailure,
    /// The participant moved to another server.
    Migration,
    /// The signalling connection was gone, and the participant did not come back.
    SignalClose,
    /// Media was not connected any more, or never was.
    ConnectionTimeout,
    /// Media could not be secured.
    MediaFailure,
}

/// Why a receiver is sent another layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SwitchCause {
    /// Nothing was sent before.
    Start,
    /// The downlink's estimate fell, or rose again.
    Downlink,
    /// The receiver asked for another size, rate or priority.
    Request,
    /// The publisher stopped or began to send a layer.
    Publisher,
}

/// A way between the server and a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the participant.
    Uplink,
    /// To the participant.
    Downlink,
}

/// The protocol of an ICE pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PathProtocol {
    /// Datagrams between two addresses.
    Udp,
    /// Frames on a TCP connection (RFC 4571).
    Tcp,
}

/// The state of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TransportState {
    /// ICE and DTLS are done.
    Connected,
    /// The peer's consent expired (RFC 7675).
    Disconnected,
    /// It ended: nobody proved to be at the other end in time.
    NeverConnected,
    /// It ended: consent expired and no restart followed.
    ConsentExpired,
    /// It ended: the DTLS handshake failed.
    Handshake,
    /// It ended: the peer's certificate is not the one of its description.
    Fingerprint,
    /// It ended: the peer closed it.
    Peer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_a_timeline_is_an_object_with_its_track() {
        let entry = TimelineEntry {
            at_ms: 1_750_000_000_123,
            track: Some(TimelineTrack {
                id: "TR_1".to_owned(),
                peer: "ada".to_owned(),
                kind: MediaKind::Video,
                source: TrackSource::Camera,
            }),
            observation: Observation::LayerSwitch {
                from: None,
                to: Target {
                    encoding: 1,
                    spatial: None,
                    temporal: Some(2),
                },
                cause: SwitchCause::Start,
            },
        };
        let json = serde_json::json!({
            "at_ms": 1_750_000_000_123u64,
            "track": {"id": "TR_1", "peer": "ada", "kind": "video", "source": "camera"},
            "observation": "layer_switch",
            "from": null, "to": {"encoding": 1, "spatial": null, "temporal": 2}, "cause": "start",
        });
        assert_eq!(serde_json::to_value(&entry).unwrap(), json);
        assert_eq!(serde_json::from_value::<TimelineEntry>(json).unwrap(), entry);
    }
}
