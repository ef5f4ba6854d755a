//! The promises of messages: every value survives, and bad bytes are refused.

mod commands;
mod links;
mod notices;
mod parts;
mod refusals;
mod relays;
mod syncs;

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use southbound_wire::{
    Error, decode_command, decode_controller_message, decode_link_message, decode_link_reply, decode_node_message,
    decode_notice, v1,
};

/// A field with a number that no message has, of each wire type: a varint, 8 bytes, a text and 4
/// bytes.
const NEWER_FIELDS: [u8; 23] = [
    0xf8, 0x7f, 0x05, 0xf9, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8, 0xfa, 0x7f, 2, b'h', b'i', 0xfd, 0x7f, 1, 2, 3,
];

/// Those fields, whole.
fn newer_fields() -> Vec<u8> {
    [&NEWER_FIELDS[..], &[4]].concat()
}

proptest! {
    #[test]
    fn a_command_survives_the_way_to_bytes_and_back(command in commands::command()) {
        let bytes = v1::Command::from(command.clone()).encode_to_vec();
        prop_assert_eq!(decode_command(&bytes), Ok(command));
    }

    #[test]
    fn a_notice_survives_the_way_to_bytes_and_back(notice in notices::notice()) {
        let bytes = v1::Notice::from(notice.clone()).encode_to_vec();
        prop_assert_eq!(decode_notice(&bytes), Ok(notice));
    }

    #[test]
    fn a_message_of_a_controller_survives_the_way_to_bytes_and_back(message in syncs::controller_message()) {
        let mut bytes = v1::ControllerMessage::from(message.clone()).encode_to_vec();
        prop_assert_eq!(decode_controller_message(&bytes), Ok(message.clone()));
        bytes.extend(newer_fields());
        prop_assert_eq!(decode_controller_message(&bytes), Ok(message));
    }

    #[test]
    fn a_message_of_a_node_survives_the_way_to_bytes_and_back(message in syncs::node_message()) {
        let mut bytes = v1::NodeMessage::from(message.clone()).encode_to_vec();
        prop_assert_eq!(decode_node_message(&bytes), Ok(message.clone()));
        bytes.extend(newer_fields());
        prop_assert_eq!(decode_node_message(&bytes), Ok(message));
    }

    #[test]
    fn a_message_of_a_link_survives_the_way_to_bytes_and_back(message in links::message(), reply in links::reply()) {
        let mut bytes = v1::LinkMessage::from(message.clone()).encode_to_vec();
        prop_assert_eq!(decode_link_message(&bytes), Ok(message.clone()));
        bytes.extend(newer_fields());
        prop_assert_eq!(decode_link_message(&bytes), Ok(message));
        let mut bytes = v1::LinkReply::from(reply.clone()).encode_to_vec();
        prop_assert_eq!(decode_link_reply(&bytes), Ok(reply.clone()));
        bytes.extend(newer_fields());
        prop_assert_eq!(decode_link_reply(&bytes), Ok(reply));
    }

    #[test]
    fn fields_of_a_newer_version_are_ignored(command in commands::command(), notice in notices::notice()) {
        let mut bytes = v1::Command::from(command.clone()).encode_to_vec();
        bytes.extend(newer_fields());
        prop_assert_eq!(decode_command(&bytes), Ok(command));
        let mut bytes = v1::Notice::from(notice.clone()).encode_to_vec();
        bytes.extend(newer_fields());
        prop_assert_eq!(decode_notice(&bytes), Ok(notice));
    }

    #[test]
    fn a_truncated_command_is_another_one_or_refused(command in commands::command(), cut in any::<prop::sample::Index>()) {
        let bytes = v1::Command::from(command.clone()).encode_to_vec();
        let cut = &bytes[..cut.index(bytes.len())];
        // A oneof is one field of the outer message, so there is no shorter command.
        prop_assert!(decode_command(cut).is_err());
    }

    #[test]
    fn bytes_at_random_are_read_or_refused(bytes in vec(any::<u8>(), 0..512)) {
        if let Ok(command) = decode_command(&bytes) {
            let again = v1::Command::from(command.clone()).encode_to_vec();
            prop_assert_eq!(decode_command(&again), Ok(command));
        }
        if let Ok(notice) = decode_notice(&bytes) {
            let again = v1::Notice::from(notice.clone()).encode_to_vec();
            prop_assert_eq!(decode_notice(&again), Ok(notice));
        }
        if let Ok(message) = decode_controller_message(&bytes) {
            let again = v1::ControllerMessage::from(message.clone()).encode_to_vec();
            prop_assert_eq!(decode_controller_message(&again), Ok(message));
        }
        if let Ok(message) = decode_link_message(&bytes) {
            let again = v1::LinkMessage::from(message.clone()).encode_to_vec();
            prop_assert_eq!(decode_link_message(&again), Ok(message));
        }
        if let Ok(message) = decode_node_message(&bytes) {
            let again = v1::NodeMessage::from(message.clone()).encode_to_vec();
            prop_assert_eq!(decode_node_message(&again), Ok(message));
        }
    }
}

#[test]
fn a_field_of_a_newer_version_inside_of_a_command_is_ignored() {
    let publication = [&[0x09, 7, 0, 0, 0, 0, 0, 0, 0, 0x18, 1, 0x40, 1][..], &newer_fields()].concat();
    let mut bytes = vec![0x22, publication.len() as u8];
    bytes.extend(publication);
    let Ok(southbound::Command::Publish(publication)) = decode_command(&bytes) else {
        panic!("{:?}", decode_command(&bytes));
    };
    assert_eq!(publication.track, southbound::TrackId(7));
}

#[test]
fn a_message_that_is_too_long_is_refused_unread() {
    let bytes = vec![0xff; southbound_wire::MESSAGE_LEN_MAX + 1];
    assert_eq!(decode_command(&bytes), Err(Error::TooLong(bytes.len())));
    assert!(matches!(decode_command(&bytes[1..]), Err(Error::Malformed(_))));
}
