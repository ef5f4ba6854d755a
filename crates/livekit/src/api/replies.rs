//! Replies of the controller in the form of the API.

use controller::AdminReply;
use livekit_protocol as proto;

use crate::form::Form;
use crate::infos;

pub(super) fn write(reply: AdminReply, form: Form) -> Vec<u8> {
    match reply {
        AdminReply::Rooms(rooms) => form.write_list("rooms", "Room", rooms.into_iter().map(infos::room)),
        AdminReply::Room(room) => form.write("Room", &infos::room(room)),
        AdminReply::Participants(participants) => {
            let participants = participants.iter();
            let told = participants.map(|snapshot| infos::participant((**snapshot).clone()));
            form.write_list("participants", "ParticipantInfo", told)
        }
        AdminReply::Participant(participant) => form.write("ParticipantInfo", &infos::participant(participant)),
        AdminReply::Track(track) => {
            let track = Some(infos::track(track));
            form.write("MuteRoomTrackResponse", &proto::MuteRoomTrackResponse { track })
        }
        AdminReply::RpcResult(payload) => form.write("PerformRpcResponse", &proto::PerformRpcResponse { payload }),
        // All messages without a field are the same.
        AdminReply::Done => form.write("DeleteRoomResponse", &proto::DeleteRoomResponse {}),
    }
}
