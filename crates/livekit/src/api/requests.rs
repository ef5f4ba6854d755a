//! From messages of the API to an administrator's requests.

use std::time::Duration;

use access::{Claims, Permission};
use controller::limits::{DESTINATIONS_MAX, REQUEST_TRACKS_MAX, ROOMS_MAX};
use controller::{AdminRequest, CreateRoom, PerformRpc, SendData, UpdateParticipant, UpdateSubscriptions};
use livekit_protocol as proto;
use livekit_protocol::data_packet::Kind;
use prost::Message;

use super::Request;
use super::error::{ApiError, Code};
use super::route::RoomMethod;
use crate::agents::agent_requests;
use crate::convert::values;
use crate::form::Form;
use crate::limits::{METADATA_MAX, TEXT_MAX};

/// A request: its token and its body.
pub(super) struct ApiRequest<'a> {
    pub(super) claims: &'a Claims,
    pub(super) form: Form,
    pub(super) body: &'a [u8],
}

impl ApiRequest<'_> {
    /// The request of a method of the room service.
    pub(super) fn read(&self, method: RoomMethod) -> Result<Request, ApiError> {
        let request = match method {
            RoomMethod::CreateRoom => {
                let request: proto::CreateRoomRequest = self.message("CreateRoomRequest")?;
                self.check_key(&request.name)?;
                return create_room(&self.claims.iss, request);
            }
            RoomMethod::ListRooms => {
                let proto::ListRoomsRequest { names } = self.message("ListRoomsRequest")?;
                at_most(names.len(), ROOMS_MAX, "room names")?;
                Ok(AdminRequest::ListRooms { names })
            }
            RoomMethod::DeleteRoom => {
                let proto::DeleteRoomRequest { room } = self.message("DeleteRoomRequest")?;
                self.check_key(&room)?;
                Ok(AdminRequest::DeleteRoom { room })
            }
            RoomMethod::ListParticipants => {
                let proto::ListParticipantsRequest { room } = self.message("ListParticipantsRequest")?;
                self.check_room(&room)?;
                Ok(AdminRequest::ListParticipants { room })
            }
            RoomMethod::GetParticipant => {
                let (room, identity) = self.participant()?;
                Ok(AdminRequest::GetParticipant { room, identity })
            }
            RoomMethod::RemoveParticipant => {
                let (room, identity) = self.participant()?;
                Ok(AdminRequest::RemoveParticipant { room, identity })
            }
            RoomMethod::MutePublishedTrack => self.mute_track(),
            RoomMethod::UpdateParticipant => self.update_participant(),
            RoomMethod::UpdateSubscriptions => self.update_subscriptions(),
            RoomMethod::SendData => self.send_data(),
            RoomMethod::UpdateRoomMetadata => {
                let proto::UpdateRoomMetadataRequest { room, metadata } = self.message("UpdateRoomMetadataRequest")?;
                self.check_room(&room)?;
                Ok(AdminRequest::UpdateRoomMetadata { room, metadata })
            }
            RoomMethod::ForwardParticipant => {
                let request: proto::ForwardParticipantRequest = self.message("ForwardParticipantRequest")?;
                Err(self.only_in_the_cloud(&request.room, &request.destination_room))
            }
            RoomMethod::MoveParticipant => {
                let request: proto::MoveParticipantRequest = self.message("MoveParticipantRequest")?;
                Err(self.only_in_the_cloud(&request.room, &request.destination_room))
            }
            RoomMethod::PerformRpc => self.perform_rpc(),
        };
        request.map(Request::from)
    }

    /// The message of the body, which has this name in the protocol.
    pub(super) fn message<T: Message + Default>(&self, name: &str) -> Result<T, ApiError> {
        let form = match self.form {
            Form::Json => "json",
            Form::Protobuf => "protobuf",
        };
        let malformed = || ApiError::new(Code::Malformed, format!("the {form} request could not be decoded"));
        self.form.read(name, self.body).ok_or_else(malformed)
    }

    /// Whether this room is one of the token's API key.
    fn check_key(&self, room: &str) -> Result<(), ApiError> {
        let is_of_key = room.is_empty() || self.claims.key_rooms.admits(room);
        is_of_key.then_some(()).ok_or_else(ApiError::denied)
    }

    /// Whether the token is for this room.
    pub(super) fn check_room(&self, room: &str) -> Result<(), ApiError> {
        let is_granted = self.claims.video.room_admin && self.claims.video.room == room;
        is_granted.then_some(()).ok_or_else(ApiError::denied)
    }

    fn participant(&self) -> Result<(String, String), ApiError> {
        let request: proto::RoomParticipantIdentity = self.message("RoomParticipantIdentity")?;
        self.check_room(&request.room)?;
        Ok((request.room, request.identity))
    }

    fn mute_track(&self) -> Result<AdminRequest, ApiError> {
        let request: proto::MuteRoomTrackRequest = self.message("MuteRoomTrackRequest")?;
        self.check_room(&request.room)?;
        Ok(AdminRequest::MuteTrack {
            room: request.room,
            identity: request.identity,
            track_sid: request.track_sid,
            muted: request.muted,
        })
    }

    fn update_participant(&self) -> Result<AdminRequest, ApiError> {
        let request: proto::UpdateParticipantRequest = self.message("UpdateParticipantRequest")?;
        self.check_room(&request.room)?;
        Ok(AdminRequest::UpdateParticipant(UpdateParticipant {
            room: request.room,
            identity: request.identity,
            name: request.name,
            metadata: request.metadata,
            attributes: request.attributes.into_iter().collect(),
            permission: request.permission.map(permission),
        }))
    }

    fn update_subscriptions(&self) -> Result<AdminRequest, ApiError> {
        let request: proto::UpdateSubscriptionsRequest = self.message("UpdateSubscriptionsRequest")?;
        self.check_room(&request.room)?;
        let mut track_sids = request.track_sids;
        let of_participants = request.participant_tracks.into_iter();
        track_sids.extend(of_participants.flat_map(|tracks| tracks.track_sids));
        at_most(track_sids.len(), REQUEST_TRACKS_MAX, "tracks")?;
        Ok(AdminRequest::UpdateSubscriptions(UpdateSubscriptions {
            room: request.room,
            identity: request.identity,
            track_sids,
            subscribe: request.subscribe,
        }))
    }

    fn send_data(&self) -> Result<AdminRequest, ApiError> {
        let request: proto::SendDataRequest = self.message("SendDataRequest")?;
        self.check_room(&request.room)?;
        let destinations = request.destination_identities.len() + request.destination_sids.len();
        at_most(destinations, DESTINATIONS_MAX, "destinations")?;
        Ok(AdminRequest::SendData(SendData {
            reliable: request.kind != i32::from(Kind::Lossy),
            room: request.room,
            payload: request.data.into(),
            destinations: request.destination_identities,
            destination_sids: request.destination_sids,
            topic: request.topic,
            nonce: request.nonce,
        }))
    }

    fn perform_rpc(&self) -> Result<AdminRequest, ApiError> {
        let request: proto::PerformRpcRequest = self.message("PerformRpcRequest")?;
        self.check_room(&request.room)?;
        if request.method.len() > TEXT_MAX {
            return Err(ApiError::invalid(format!(
                "a method name of more than {TEXT_MAX} bytes"
            )));
        }
        let timeout = Duration::from_millis(request.response_timeout_ms.into());
        Ok(AdminRequest::PerformRpc(PerformRpc {
            room: request.room,
            identity: request.destination_identity,
            method: request.method,
            payload: request.payload,
            response_timeout: (!timeout.is_zero()).then_some(timeout),
        }))
    }

    /// The answer to a method that only LiveKit's cloud has: that of LiveKit's own server.
    fn only_in_the_cloud(&self, room: &str, destination: &str) -> ApiError {
        if self.check_room(room).is_err() || self.claims.video.destination_room != destination {
            return ApiError::denied();
        }
        match room == destination {
            true => ApiError::invalid("destination room cannot be the same as source room"),
            false => ApiError::new(Code::Unknown, "not implemented"),
        }
    }
}

fn at_most(count: usize, max: usize, what: &str) -> Result<(), ApiError> {
    match count > max {
        true => Err(ApiError::invalid(format!("more than {max} {what}"))),
        false => Ok(()),
    }
}

fn create_room(api_key: &str, request: proto::CreateRoomRequest) -> Result<Request, ApiError> {
    if !request.room_preset.is_empty() {
        return Err(ApiError::invalid("unknown room configuration in create room request"));
    }
    if request.egress.is_some() {
        return Err(ApiError::new(Code::Unimplemented, "egress is not implemented"));
    }
    let request = AdminRequest::CreateRoom(CreateRoom {
        api_key: api_key.to_owned(),
        name: request.name,
        empty_timeout: seconds(request.empty_timeout),
        departure_timeout: seconds(request.departure_timeout),
        max_participants: (request.max_participants > 0).then_some(request.max_participants),
        metadata: request.metadata,
        agents: agent_requests(request.agents).map_err(ApiError::invalid)?,
    });
    Ok(request.into())
}

/// How a token sets up the room that joining creates: the claim `roomConfig`. Recordings and
/// playout delays in it have no effect.
///
/// Errors: it cannot be read, or exceeds a limit.
pub fn set_up(claims: &Claims) -> Result<CreateRoom, &'static str> {
    // There are no presets, so that each is unknown.
    if !claims.room_preset.is_empty() {
        return Err("the token's roomPreset is unknown");
    }
    let Some(claim) = &claims.room_config else {
        return Ok(CreateRoom::default());
    };
    let json = serde_json::to_vec(claim).map_err(|_| "roomConfig cannot be read")?;
    let said: Option<proto::RoomConfiguration> = Form::Json.read("RoomConfiguration", &json);
    let said = said.ok_or("roomConfig cannot be read")?;
    if said.metadata.len() > METADATA_MAX {
        return Err("the metadata in roomConfig is too long");
    }
    Ok(CreateRoom {
        api_key: String::new(),
        name: String::new(),
        empty_timeout: seconds(said.empty_timeout),
        departure_timeout: seconds(said.departure_timeout),
        max_participants: (said.max_participants > 0).then_some(said.max_participants),
        metadata: said.metadata,
        agents: agent_requests(said.agents)?,
    })
}

fn seconds(seconds: u32) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

fn permission(said: proto::ParticipantPermission) -> Permission {
    Permission {
        publish: said.can_publish,
        subscribe: said.can_subscribe,
        publish_data: said.can_publish_data,
        sources: (!said.can_publish_sources.is_empty()).then(|| values(said.can_publish_sources)),
        update_metadata: said.can_update_metadata,
        hidden: said.hidden,
        recorder: said.recorder,
        agent: said.agent,
        subscribe_metrics: said.can_subscribe_metrics,
        manage_agent_session: said.can_manage_agent_session,
    }
}
