//! Bodies of calls of the server API.

use access::{Claims, VideoGrant};
use livekit::api::Call;

const METHODS: [&str; 14] = [
    "CreateRoom",
    "ListRooms",
    "DeleteRoom",
    "ListParticipants",
    "GetParticipant",
    "RemoveParticipant",
    "MutePublishedTrack",
    "UpdateParticipant",
    "UpdateSubscriptions",
    "SendData",
    "UpdateRoomMetadata",
    "ForwardParticipant",
    "MoveParticipant",
    "PerformRpc",
];

/// The first byte chooses the method, by its low half, and the form, by its high one. The rest is
/// the body.
pub fn api(data: &[u8]) {
    let Some((choice, body)) = data.split_first() else {
        return;
    };
    let method = METHODS[usize::from(choice & 0xf) % METHODS.len()];
    let form = match choice >> 4 {
        0..8 => "application/json",
        _ => "application/protobuf",
    };
    let path = format!("/twirp/livekit.RoomService/{method}");
    let call = Call::new("POST", &path, form).expect("a method of the service");
    let claims = Claims {
        video: VideoGrant {
            room: "lobby".to_owned(),
            room_admin: true,
            room_create: true,
            room_list: true,
            ..VideoGrant::default()
        },
        ..Claims::default()
    };
    if let Err(error) = call.read(&claims, body) {
        let json = error.json();
        assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
    }
}
