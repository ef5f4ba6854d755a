//! Messages between controllers and nodes, and the sealed parts in them.

mod links;
mod sealed;
mod seeds;

use prost::Message;
use southbound_wire::{decode_command, decode_controller_message, decode_node_message, decode_notice, v1};

pub use links::links;
pub(crate) use links::{HOSTILE as HOSTILE_LINKS, seeds as link_seeds};
pub use sealed::sealed;
pub(crate) use sealed::seeds as sealed_seeds;
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
    if let Ok(message) = decode_controller_message(data) {
        let again = v1::ControllerMessage::from(message.clone()).encode_to_vec();
        assert_eq!(decode_controller_message(&again), Ok(message));
    }
    if let Ok(message) = decode_node_message(data) {
        let again = v1::NodeMessage::from(message.clone()).encode_to_vec();
        assert_eq!(decode_node_message(&again), Ok(message));
    }
}
