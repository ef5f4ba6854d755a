//! The body of a webhook.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use controller::{ParticipantInfo, Publisher, RoomChange, RoomEvent, RoomInfo, TrackInfo};
use livekit_protocol as proto;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::form::json_value;
use crate::infos;

/// The names of all events that there are.
pub const EVENTS: [&str; 7] = [
    "room_started",
    "room_finished",
    "participant_joined",
    "participant_left",
    "participant_connection_aborted",
    "track_published",
    "track_unpublished",
];

/// The names of the protocol's other events. Their services are absent, so they do not occur.
pub const ABSENT_EVENTS: [&str; 5] = [
    "egress_started",
    "egress_updated",
    "egress_ended",
    "ingress_started",
    "ingress_ended",
];

/// One event as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The event's name, one of [`EVENTS`].
    pub event: &'static str,
    /// The event's id, the same for all receivers and all attempts.
    pub id: String,
    /// The name of the room. Messages of one room are delivered in order.
    pub room: String,
    /// When it happened, since 1970-01-01 UTC.
    pub at: Duration,
    /// A `WebhookEvent` in JSON.
    pub body: Bytes,
}

/// A message in a form that another process can go on with.
#[derive(Serialize, Deserialize)]
struct SavedMessage<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    room: Cow<'a, str>,
    at: Duration,
    #[serde(borrow)]
    body: Cow<'a, str>,
}

/// `livekit.WebhookEvent` in JSON: fields with their default value are left out, and 64-bit numbers
/// are text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WebhookEvent<'a> {
    event: &'static str,
    room: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    participant: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    track: Option<Value>,
    id: &'a str,
    created_at: String,
}

impl Message {
    /// The message for an event.
    pub fn new(event: RoomEvent) -> Self {
        let RoomEvent { id, room, at, change } = event;
        let name = room.name.clone();
        let (event, room, participant, track) = match change {
            RoomChange::Started(_) => ("room_started", whole(room), None, None),
            RoomChange::Finished => ("room_finished", whole(room), None, None),
            RoomChange::ParticipantJoined(info) => ("participant_joined", whole(room), Some(participant(info)), None),
            RoomChange::ParticipantLeft(info) => ("participant_left", whole(room), Some(participant(info)), None),
            RoomChange::ParticipantAborted(info) => (
                "participant_connection_aborted",
                whole(room),
                Some(participant(info)),
                None,
            ),
            RoomChange::TrackPublished(publisher, info) => (
                "track_published",
                names(room),
                Some(publisher_names(publisher)),
                Some(track_value(*info)),
            ),
            RoomChange::TrackUnpublished(publisher, info) => (
                "track_unpublished",
                names(room),
                Some(publisher_names(publisher)),
                Some(track_value(*info)),
            ),
        };
        let body = WebhookEvent {
            event,
            room,
            participant,
            track,
            id: &id,
            created_at: at.as_secs().to_string(),
        };
        let body = serde_json::to_vec(&body).expect("a map with text for keys");
        Self {
            event,
            id,
            room: name,
            at,
            body: body.into(),
        }
    }

    /// In a form that another process can go on with.
    pub fn save(&self) -> Vec<u8> {
        let saved = SavedMessage {
            event: self.event.into(),
            id: self.id.as_str().into(),
            room: self.room.as_str().into(),
            at: self.at,
            body: String::from_utf8_lossy(&self.body),
        };
        serde_json::to_vec(&saved).unwrap_or_default()
    }

    /// The message that was saved; `None` if these bytes are none.
    pub fn restore(saved: &[u8]) -> Option<Self> {
        let saved: SavedMessage<'_> = serde_json::from_slice(saved).ok()?;
        Some(Self {
            event: EVENTS.into_iter().find(|event| *event == saved.event)?,
            id: saved.id.into_owned(),
            room: saved.room.into_owned(),
            at: saved.at,
            body: saved.body.into_owned().into(),
        })
    }
}

fn whole(info: RoomInfo) -> Value {
    json_value("Room", &infos::room(info))
}

/// Events of tracks have the room's names and nothing else of it, as LiveKit's have.
fn names(info: RoomInfo) -> Value {
    let room = proto::Room {
        sid: info.sid,
        name: info.name,
        ..proto::Room::default()
    };
    json_value("Room", &room)
}

fn participant(info: ParticipantInfo) -> Value {
    json_value("ParticipantInfo", &infos::participant(info))
}

fn publisher_names(publisher: Publisher) -> Value {
    let participant = proto::ParticipantInfo {
        sid: publisher.sid,
        identity: publisher.identity,
        ..proto::ParticipantInfo::default()
    };
    json_value("ParticipantInfo", &participant)
}

fn track_value(info: TrackInfo) -> Value {
    json_value("TrackInfo", &infos::track(info))
}
