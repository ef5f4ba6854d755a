//! The protobuf form of [`southbound`], in which a controller and a node on two machines exchange
//! it.
//!
//! The files under `proto` define the messages, and [`v1`] has them as types. Each value of
//! `southbound` becomes a message by `From`, and each message a value or an [`Error`] by `TryFrom`.
//! [`decode_controller_message`] and its like read bytes; [`v1::southbound_client`] and
//! [`v1::southbound_server`] are the ends of a connection. A value survives the way to bytes and
//! back, a field that a newer version adds is ignored, and reading takes time in proportion to the
//! length.
//!
//! Messages contain secrets: ICE passwords and SRTP keys. They are left out of `Debug`, and the
//! connection has to encrypt them.

#![forbid(unsafe_code)]

/// The output of the build script.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::allow_attributes_without_reason,
    clippy::large_enum_variant,
    reason = "generated: the files under `proto` document it and determine its form"
)]
mod protocol {
    include!(concat!(env!("OUT_DIR"), "/protocol.rs"));
}

mod command;
mod control;
mod enums;
mod error;
mod fields;
mod keys;
mod link;
mod media;
mod messages;
mod notice;
mod observation;
mod relay;
mod relay_notice;
mod sync;
mod transport;

/// Messages of `weir.southbound.v1`.
pub use protocol::weir::southbound::v1;

pub use error::Error;

use prost::Message;
use southbound::{Command, ControllerMessage, LinkMessage, LinkReply, NodeMessage, Notice};

/// The longest message, in bytes; a longer one is refused unread. A message of a data channel to
/// 10,000 transports has 144 kB.
pub const MESSAGE_LEN_MAX: usize = 4 << 20;

/// Reads a command.
///
/// Errors: any [`Error`].
pub fn decode_command(bytes: &[u8]) -> Result<Command, Error> {
    decode::<v1::Command>(bytes)?.try_into()
}

/// Reads a notice.
///
/// Errors: any [`Error`].
pub fn decode_notice(bytes: &[u8]) -> Result<Notice, Error> {
    decode::<v1::Notice>(bytes)?.try_into()
}

/// Reads a message of a controller.
///
/// Errors: any [`Error`].
pub fn decode_controller_message(bytes: &[u8]) -> Result<ControllerMessage, Error> {
    decode::<v1::ControllerMessage>(bytes)?.try_into()
}

/// Reads a message of a node.
///
/// Errors: any [`Error`].
pub fn decode_node_message(bytes: &[u8]) -> Result<NodeMessage, Error> {
    decode::<v1::NodeMessage>(bytes)?.try_into()
}

/// Reads a message of the node that has made a link.
///
/// Errors: any [`Error`].
pub fn decode_link_message(bytes: &[u8]) -> Result<LinkMessage, Error> {
    decode::<v1::LinkMessage>(bytes)?.try_into()
}

/// Reads an answer of the node that a link was made to.
///
/// Errors: any [`Error`].
pub fn decode_link_reply(bytes: &[u8]) -> Result<LinkReply, Error> {
    decode::<v1::LinkReply>(bytes)?.try_into()
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Error> {
    match bytes.len() > MESSAGE_LEN_MAX {
        true => Err(Error::TooLong(bytes.len())),
        false => M::decode(bytes).map_err(Error::Malformed),
    }
}
