//! The rooms of several servers as one list.

use std::collections::BTreeMap;

use livekit_protocol as proto;
use prost::Message;

use super::error::{ApiError, Code};
use crate::form::Form;
use crate::infos;
use controller::RoomInfo;

/// Rooms of several servers, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoomList(BTreeMap<String, proto::Room>);

impl RoomList {
    /// The media type of requests to other servers, and of their answers.
    pub const CONTENT_TYPE: &str = Form::Protobuf.content_type();

    /// The rooms of this server.
    pub fn new(rooms: Vec<RoomInfo>) -> Self {
        let named = rooms.into_iter().map(|info| (info.name.clone(), infos::room(info)));
        Self(named.collect())
    }

    /// The body of a request to another server for rooms with these names; without any, for all.
    pub fn request(names: &[String]) -> Vec<u8> {
        let names = names.to_vec();
        proto::ListRoomsRequest { names }.encode_to_vec()
    }

    /// Adds the rooms in the answer of another server. Of a room that is on its way from one server
    /// to another, the entry with more participants stays.
    ///
    /// Errors: `internal` if the answer cannot be read.
    pub fn add(&mut self, answer: &[u8]) -> Result<(), ApiError> {
        let read = proto::ListRoomsResponse::decode(answer);
        let read = read.map_err(|_| ApiError::new(Code::Internal, "another server's rooms cannot be read"))?;
        for room in read.rooms {
            let known = self.0.get(&room.name);
            if known.is_none_or(|known| known.num_participants < room.num_participants) {
                self.0.insert(room.name.clone(), room);
            }
        }
        Ok(())
    }

    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_kept(name));
    }

    pub(super) fn told_len(&self) -> usize {
        self.0.values().map(proto::Room::encoded_len).sum()
    }

    pub(super) fn write(self, form: Form) -> Vec<u8> {
        form.write_list("rooms", "Room", self.0.into_values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rooms: &[(&str, u32)]) -> Vec<u8> {
        let room = |(name, num_participants): &(&str, u32)| proto::Room {
            name: (*name).to_owned(),
            num_participants: *num_participants,
            ..proto::Room::default()
        };
        let rooms = rooms.iter().map(room).collect();
        proto::ListRoomsResponse { rooms }.encode_to_vec()
    }

    #[test]
    fn rooms_of_all_servers_are_in_one_order_and_once() {
        let mut list = RoomList::default();
        list.add(&answer(&[("c", 1), ("a", 0)])).unwrap();
        list.add(&answer(&[("b", 2), ("a", 3)])).unwrap();
        list.add(&answer(&[("a", 1)])).unwrap();
        let written = list.write(Form::Protobuf);
        assert_eq!(written, answer(&[("a", 3), ("b", 2), ("c", 1)]));
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_an_error() {
        let error = RoomList::default().add(&[0xff]).unwrap_err();
        assert_eq!(error.code, Code::Internal);
    }

    #[test]
    fn a_request_to_another_server_names_the_rooms() {
        let names = ["a".to_owned(), "b".to_owned()];
        let read = proto::ListRoomsRequest::decode(&*RoomList::request(&names)).unwrap();
        assert_eq!(read.names, names);
    }
}
