//! Hellos, and messages about rooms.

use std::sync::Arc;

use southbound::{Epoch, Hello, RoomContent, RoomMessage, RoomState, Versions};

use crate::fields::{label, read, read_all, required, write_all};
use crate::v1::room_message::Content;
use crate::{Error, v1};

/// The longest name of a room, in bytes; a message about one with a longer name is refused.
const ROOM_NAME_LEN_MAX: usize = 1024;

impl From<Hello> for v1::Hello {
    fn from(hello: Hello) -> Self {
        let Hello { versions, rooms } = hello;
        Self {
            versions: Some(versions.into()),
            rooms: write_all(rooms),
        }
    }
}

impl TryFrom<v1::Hello> for Hello {
    type Error = Error;

    fn try_from(message: v1::Hello) -> Result<Self, Error> {
        Ok(Self {
            versions: read("Hello.versions", message.versions)?,
            rooms: read_all(message.rooms)?,
        })
    }
}

impl From<Versions> for v1::Versions {
    fn from(versions: Versions) -> Self {
        let Versions { oldest, newest } = versions;
        Self { oldest, newest }
    }
}

impl TryFrom<v1::Versions> for Versions {
    type Error = Error;

    fn try_from(message: v1::Versions) -> Result<Self, Error> {
        let v1::Versions { oldest, newest } = message;
        match oldest <= newest {
            true => Ok(Self { oldest, newest }),
            false => Err(Error::OutOfRange {
                field: "Versions.newest",
                value: newest.into(),
            }),
        }
    }
}

impl From<RoomState> for v1::RoomState {
    fn from(state: RoomState) -> Self {
        let RoomState { room, epoch, revision } = state;
        Self {
            room: label(&room),
            epoch: epoch.0,
            revision,
        }
    }
}

impl TryFrom<v1::RoomState> for RoomState {
    type Error = Error;

    fn try_from(message: v1::RoomState) -> Result<Self, Error> {
        let v1::RoomState { room, epoch, revision } = message;
        Ok(Self {
            room: room_name("RoomState.room", room)?,
            epoch: Epoch(epoch),
            revision,
        })
    }
}

/// The name of a room, which a node keeps.
fn room_name(field: &'static str, name: String) -> Result<Arc<str>, Error> {
    match name.len() <= ROOM_NAME_LEN_MAX {
        true => Ok(name.into()),
        false => Err(Error::Length { field, len: name.len() }),
    }
}

impl From<RoomMessage> for v1::RoomMessage {
    fn from(message: RoomMessage) -> Self {
        let RoomMessage {
            room,
            epoch,
            revision,
            content,
        } = message;
        Self {
            room: label(&room),
            epoch: epoch.0,
            revision,
            content: Some(match content {
                RoomContent::Claim => Content::Claim(v1::Claim {}),
                RoomContent::Command(command) => Content::Command(command.into()),
                RoomContent::Complete => Content::Complete(v1::Complete {}),
                RoomContent::End => Content::End(v1::End {}),
            }),
        }
    }
}

impl TryFrom<v1::RoomMessage> for RoomMessage {
    type Error = Error;

    fn try_from(message: v1::RoomMessage) -> Result<Self, Error> {
        Ok(Self {
            room: room_name("RoomMessage.room", message.room)?,
            epoch: Epoch(message.epoch),
            revision: message.revision,
            content: match required("RoomMessage.content", message.content)? {
                Content::Claim(v1::Claim {}) => RoomContent::Claim,
                Content::Command(command) => RoomContent::Command(command.try_into()?),
                Content::Complete(v1::Complete {}) => RoomContent::Complete,
                Content::End(v1::End {}) => RoomContent::End,
            },
        })
    }
}
