//! Hellos, and messages about rooms.

use southbound::{Epoch, Hello, RoomContent, RoomMessage, RoomState, Versions};

use crate::fields::{label, read, required, write_all};
use crate::v1::room_message::Content;
use crate::{Error, v1};

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
            rooms: message.rooms.into_iter().map(RoomState::from).collect(),
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

impl From<v1::RoomState> for RoomState {
    fn from(message: v1::RoomState) -> Self {
        let v1::RoomState { room, epoch, revision } = message;
        Self {
            room: room.into(),
            epoch: Epoch(epoch),
            revision,
        }
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
            room: message.room.into(),
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
