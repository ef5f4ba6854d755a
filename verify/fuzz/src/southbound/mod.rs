//! Messages between controllers and nodes.

mod seeds;

use prost::Message;
use southbound_wire::{decode_command, decode_hello, decode_notice, decode_room_message, v1};

pub(crate) use seeds::{HOSTILE, southbound as seeds};

/// A message that is read is the same after it is written and read again.
pub fn southbound(data: &[u8]) {
    if let Ok(command) = decode_command(data) {
        let again = v1::Command::from(command.clone()).encode_to_vec();
        assert_eq!(decode_command(&again), Ok(command));
    }
    if let Ok(notice) = decode_notice(data) {
        let again = v1::Notice::from(notice.clone()).encode_to_vec();
        assert_eq!(decode_notice(&again), Ok(notice));
    }
    if let Ok(hello) = decode_hello(data) {
        let again = v1::Hello::from(hello.clone()).encode_to_vec();
        assert_eq!(decode_hello(&again), Ok(hello));
    }
    if let Ok(message) = decode_room_message(data) {
        let again = v1::RoomMessage::from(message.clone()).encode_to_vec();
        assert_eq!(decode_room_message(&again), Ok(message));
    }
}
