//! Replies of the controller in the form of the API.

use controller::AdminReply;
use livekit_protocol as proto;

use crate::form::Form;
use crate::infos;

pub(super) fn write(reply: AdminReply, form: Form) -> Vec<u8> {
    match reply {
        AdminReply::Rooms(rooms) => {
            let rooms = rooms.into_iter().map(infos::room).collect();
            form.write("ListRoomsResponse", &proto::ListRoomsResponse { rooms })
        }
        AdminReply::Room(room) => form.write("Room", &infos::room(room)),
        AdminReply::Participants(participants) => {
            let participants = infos::participants(participants);
            form.write(
                "ListParticipantsResponse",
                &proto::ListParticipantsResponse { participants },
            )
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
