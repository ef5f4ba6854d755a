//! Entries in the timeline of a room or a participant.

use serde::{Deserialize, Serialize};

use crate::receivers::{Limit, MediaKind, Target};

/// One observation, with its time and its subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimelineEntry {
    /// When. Shape: milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Its room, participant and track.
    #[serde(flatten)]
    pub subject: Subject,
    /// The observation.
    #[serde(flatten)]
    pub observation: Observation,
}

/// The room of an observation, and the participant and track in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Subject {
    /// The name of the room.
    pub room: String,
    /// The identity of the participant, where it is about one.
    pub participant: Option<String>,
    /// The id of the track, where it is about one.
    pub track: Option<String>,
}

/// One thing that happened. Rates are in bits per second of UDP payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "observation", rename_all = "snake_case")]
pub enum Observation {
    /// The participant joined.
    Join,
    /// The participant left.
    Leave {
        /// Why, in the controller's word.
        reason: String,
    },
    /// The participant publishes the track.
    Publish {
        /// Audio or video.
        kind: MediaKind,
        /// `camera`, `microphone`, `screen_share` or `screen_share_audio`.
        source: String,
    },
    /// The participant publishes the track no longer.
    Unpublish,
    /// The publisher muted or unmuted the track.
    Mute {
        /// Whether it is muted now.
        muted: bool,
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
    },
    /// The estimate of the participant's downlink.
    Estimate {
        /// The estimated capacity.
        target_bps: u64,
        /// The reason that it is not higher.
        limit: Limit,
    },
    /// The downlink is probed for more room.
    Probe {
        /// The rate of the burst.
        rate_bps: u64,
        /// The least number of its bytes.
        bytes: u32,
    },
    /// Packets were lost in the last round of reports.
    Loss {
        /// The way they were lost on.
        direction: Direction,
        /// The packets that were expected.
        expected: u64,
        /// Those of them that did not arrive, before repair.
        lost: u64,
    },
    /// The state of ICE and DTLS changed.
    Transport {
        /// The state now.
        state: TransportState,
    },
    /// ICE begins again.
    Restart,
    /// Something was refused, because a limit was reached.
    Refusal {
        /// Which limit, in a sentence.
        why: String,
    },
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

/// The state of a transport.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TransportState {
    /// ICE and DTLS are done.
    Connected,
    /// The peer's consent expired (RFC 7675).
    Disconnected,
    /// It has ended.
    Closed {
        /// Why, in one word.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_a_timeline_is_one_flat_object() {
        let entry = TimelineEntry {
            at_ms: 1_750_000_000_123,
            subject: Subject {
                room: "lobby".to_owned(),
                participant: Some("ada".to_owned()),
                track: Some("TR_1".to_owned()),
            },
            observation: Observation::LayerSwitch {
                from: None,
                to: Target {
                    encoding: 1,
                    spatial: None,
                    temporal: Some(2),
                },
            },
        };
        let json = serde_json::json!({
            "at_ms": 1_750_000_000_123u64,
            "room": "lobby", "participant": "ada", "track": "TR_1",
            "observation": "layer_switch",
            "from": null, "to": {"encoding": 1, "spatial": null, "temporal": 2},
        });
        assert_eq!(serde_json::to_value(&entry).unwrap(), json);
        assert_eq!(serde_json::from_value::<TimelineEntry>(json).unwrap(), entry);
    }
}
