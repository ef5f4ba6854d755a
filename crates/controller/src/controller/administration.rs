//! Requests of administrators.

use std::collections::BTreeSet;
use std::time::Instant;

use super::Controller;
use crate::context::{Context, Core};
use crate::ids::{ParticipantKey, ParticipantRef, RoomKey};
use crate::limits::{DATA_PACKET_MAX, IDENTITY_MAX, METADATA_MAX, NAME_MAX, ROOMS_MAX};
use crate::participant::Participant;
use crate::room::Room;
use crate::{
    AdminError, AdminReply, AdminRequest, AdminRequestId, CreateRoom, DataContent, DataMessage, EndAction, EndReason,
    Output, ParticipantInfo, ParticipantSnapshot, PerformRpc, RoomChange, RoomInfo, SendData, UpdateParticipant,
    UpdateSubscription, UpdateSubscriptions, UserData,
};

type Reply = Result<AdminReply, AdminError>;

impl Controller {
    /// Does what an administrator asks for. Without an answer, it comes later.
    pub(super) fn administer(
        &mut self,
        now: Instant,
        request_id: AdminRequestId,
        request: AdminRequest,
        out: &mut Vec<Output>,
    ) -> Option<Reply> {
        match request {
            AdminRequest::PerformRpc(call) => self.perform_rpc(now, request_id, call, out).err().map(Err),
            request => Some(self.answer(now, request, out)),
        }
    }

    fn answer(&mut self, now: Instant, request: AdminRequest, out: &mut Vec<Output>) -> Reply {
        match request {
            AdminRequest::PerformRpc(_) => Err(AdminError::InvalidArgument("a call is answered later")),
            AdminRequest::ListRooms { names } => Ok(self.list_rooms(&names)),
            AdminRequest::CreateRoom(request) => self.create_room(now, request, out),
            AdminRequest::DeleteRoom { room } => self.delete_room(now, &room, out),
            AdminRequest::ListParticipants { room } => Ok(AdminReply::Participants(self.participants(&room))),
            AdminRequest::GetParticipant { room, identity } => self.get_participant(&room, &identity),
            AdminRequest::RemoveParticipant { room, identity } => {
                self.of_participant(now, &room, &identity, out, |room, ctx, key| {
                    room.dismiss(ctx, key, EndReason::ParticipantRemoved, EndAction::Disconnect);
                    Ok(AdminReply::Done)
                })
            }
            AdminRequest::MuteTrack {
                room,
                identity,
                track_sid,
                muted,
            } => self.of_participant(now, &room, &identity, out, |room, ctx, key| {
                room.mute_by_server(ctx, key, &track_sid, muted).map(AdminReply::Track)
            }),
            AdminRequest::UpdateParticipant(request) => self.update_participant(now, request, out),
            AdminRequest::UpdateRoomMetadata { room, metadata } => self.update_room(now, &room, metadata, out),
            AdminRequest::UpdateSubscriptions(request) => self.update_subscriptions(now, request, out),
            AdminRequest::SendData(request) => self.send_data(now, request, out),
        }
    }

    fn list_rooms(&self, names: &[String]) -> AdminReply {
        let keys: Vec<_> = match names.is_empty() {
            true => self.by_name.values().collect(),
            false => {
                let names: BTreeSet<_> = names.iter().collect();
                names.into_iter().filter_map(|name| self.by_name.get(name)).collect()
            }
        };
        let rooms = keys.into_iter().filter_map(|key| self.rooms.get(key));
        AdminReply::Rooms(rooms.map(Room::info).collect())
    }

    fn create_room(&mut self, now: Instant, request: CreateRoom, out: &mut Vec<Output>) -> Reply {
        if request.name.is_empty() {
            return Err(AdminError::InvalidArgument("room name is empty"));
        }
        if request.name.len() > IDENTITY_MAX {
            return Err(AdminError::InvalidArgument("room name length exceeds limits"));
        }
        check_metadata(&request.metadata)?;
        // A room that is there stays as it is, as in LiveKit.
        if let Some(room) = self.named(&request.name) {
            return Ok(AdminReply::Room(room.info()));
        }
        if self.core.is_draining {
            return Err(AdminError::Draining);
        }
        if self.rooms.len() >= ROOMS_MAX {
            return Err(AdminError::TooManyRooms);
        }
        let Core {
            config, usage, storage, ..
        } = &mut self.core;
        let takes_room = usage.takes_room(&config.quotas, &request.api_key);
        if !takes_room || !usage.leaves_rooms(self.rooms.len(), config.keys.len(), &request.api_key) {
            return Err(AdminError::TooManyRoomsOfKey);
        }
        let len = request.metadata.len();
        if !storage.account(&request.api_key).takes(len, len) {
            return Err(AdminError::StoreFull);
        }
        let key = self.room_named(now, &request.api_key, &request.name, out);
        let created = self.in_room(now, key, out, |room, ctx| {
            let agents = request.agents.clone();
            let info = room.set_up(ctx, request);
            room.emit(ctx, || Some(RoomChange::Started(agents)));
            info
        });
        created.map(AdminReply::Room).ok_or(AdminError::RoomNotFound)
    }

    fn delete_room(&mut self, now: Instant, name: &str, out: &mut Vec<Output>) -> Reply {
        let key = self.key_of(name)?;
        self.in_room(now, key, out, |room, ctx| room.close(ctx, EndReason::RoomDeleted));
        self.forget_room(now, key, out);
        Ok(AdminReply::Done)
    }

    /// The participants of a room in the order they joined, hidden ones as well. A room that is not
    /// there has none.
    pub fn participants(&self, room: &str) -> Vec<ParticipantSnapshot> {
        let room = self.named(room);
        let participants = room.into_iter().flat_map(|room| room.roster().all());
        participants.map(Participant::snapshot).collect()
    }

    fn get_participant(&self, room: &str, identity: &str) -> Reply {
        let participant_ref = self.find(room, identity).ok_or(AdminError::ParticipantNotFound)?;
        let room = self.rooms.get(&participant_ref.room).ok_or(AdminError::RoomNotFound)?;
        let participant = room.roster().get(participant_ref.participant);
        let participant = participant.ok_or(AdminError::ParticipantNotFound)?;
        Ok(AdminReply::Participant(participant.info()))
    }

    fn update_participant(&mut self, now: Instant, request: UpdateParticipant, out: &mut Vec<Output>) -> Reply {
        check_metadata(&request.metadata)?;
        if request.name.len() > NAME_MAX {
            return Err(AdminError::InvalidArgument("name length exceeds limits"));
        }
        let (room, identity) = (request.room.clone(), request.identity.clone());
        self.of_participant(now, &room, &identity, out, |room, ctx, key| {
            room.update_by_server(ctx, key, request).map(AdminReply::Participant)
        })
    }

    fn update_room(&mut self, now: Instant, name: &str, metadata: String, out: &mut Vec<Output>) -> Reply {
        check_metadata(&metadata)?;
        let key = self.key_of(name)?;
        let updated = self.in_room(now, key, out, |room, ctx| {
            room.update_metadata_by_server(ctx, metadata).map(AdminReply::Room)
        });
        updated.unwrap_or(Err(AdminError::RoomNotFound))
    }

    fn update_subscriptions(&mut self, now: Instant, request: UpdateSubscriptions, out: &mut Vec<Output>) -> Reply {
        let UpdateSubscriptions {
            room,
            identity,
            track_sids,
            subscribe,
        } = request;
        self.of_participant(now, &room, &identity, out, |room, ctx, key| {
            room.update_subscription(ctx, key, UpdateSubscription { track_sids, subscribe });
            Ok(AdminReply::Done)
        })
    }

    fn send_data(&mut self, now: Instant, request: SendData, out: &mut Vec<Output>) -> Reply {
        const NONCE_LEN: usize = 16;
        const TAGS: usize = 64;
        if !matches!(request.nonce.len(), 0 | NONCE_LEN) {
            return Err(AdminError::InvalidArgument("nonce should be 16 bytes or not present"));
        }
        let names = request
            .destinations
            .iter()
            .chain(&request.destination_sids)
            .chain(&request.topic);
        let len = request.payload.len() + names.map(|name| name.len() + 4).sum::<usize>() + TAGS;
        if len > DATA_PACKET_MAX {
            return Err(AdminError::InvalidArgument("data is too large"));
        }
        let key = self.key_of(&request.room)?;
        let data = DataMessage {
            reliable: request.reliable,
            sequence: 0,
            sender_sid: String::new(),
            sender_identity: String::new(),
            generated: false,
            destinations: request.destinations,
            content: DataContent::User(UserData {
                payload: request.payload,
                topic: request.topic,
                nonce: request.nonce,
                destination_sids: request.destination_sids,
                ..UserData::default()
            }),
            len,
        };
        self.in_room(now, key, out, |room, ctx| room.messages().send(ctx, &data));
        Ok(AdminReply::Done)
    }

    fn perform_rpc(
        &mut self,
        now: Instant,
        request_id: AdminRequestId,
        call: PerformRpc,
        out: &mut Vec<Output>,
    ) -> Result<(), AdminError> {
        if call.identity.is_empty() {
            return Err(AdminError::InvalidArgument("destination identity is required"));
        }
        let key = self.key_of(&call.room)?;
        let found = self
            .find(&call.room, &call.identity)
            .ok_or(AdminError::ParticipantNotFound)?;
        let called = self.in_room(now, key, out, |room, ctx| {
            room.messages().call(ctx, found.participant, request_id, call)
        });
        called.unwrap_or(Err(AdminError::RoomNotFound))
    }

    /// Tells everybody that the server goes away: clients come back to whichever takes its place.
    pub fn shut_down(&mut self, now: Instant, out: &mut Vec<Output>) {
        let rooms: Vec<_> = self.rooms.keys().copied().collect();
        for key in rooms {
            self.in_room(now, key, out, |room, ctx| {
                let everybody: Vec<_> = room.roster().keys().collect();
                for participant in everybody {
                    room.dismiss(ctx, participant, EndReason::ServerShutdown, EndAction::Reconnect);
                }
            });
            self.forget_room(now, key, out);
        }
    }

    fn key_of(&self, room: &str) -> Result<RoomKey, AdminError> {
        self.by_name.get(room).copied().ok_or(AdminError::RoomNotFound)
    }

    /// Does something to one participant.
    fn of_participant(
        &mut self,
        now: Instant,
        room: &str,
        identity: &str,
        out: &mut Vec<Output>,
        act: impl FnOnce(&mut Room, &mut Context<'_>, ParticipantKey) -> Reply,
    ) -> Reply {
        let participant_ref = self.find(room, identity).ok_or(AdminError::ParticipantNotFound)?;
        let reply = self.in_room(now, participant_ref.room, out, |room, ctx| {
            act(room, ctx, participant_ref.participant)
        });
        reply.unwrap_or(Err(AdminError::RoomNotFound))
    }

    pub(super) fn find(&self, room: &str, identity: &str) -> Option<ParticipantRef> {
        let key = *self.by_name.get(room)?;
        let participant = self.rooms.get(&key)?.roster().by_identity(identity)?;
        Some(ParticipantRef { room: key, participant })
    }
}

fn check_metadata(metadata: &str) -> Result<(), AdminError> {
    match metadata.len() > METADATA_MAX {
        true => Err(AdminError::InvalidArgument("metadata size exceeds limits")),
        false => Ok(()),
    }
}

/// A room with everybody in it, hidden ones as well.
pub fn room_with_participants(controller: &Controller, room: &str) -> Option<(RoomInfo, Vec<ParticipantInfo>)> {
    let room = controller.named(room)?;
    Some((room.info(), room.roster().all().map(Participant::info).collect()))
}
