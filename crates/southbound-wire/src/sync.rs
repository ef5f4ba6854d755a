//! The states of rooms, and messages about rooms.

use std::sync::Arc;

use bytes::Bytes;
use southbound::{ControllerId, Epoch, RoomContent, RoomMessage, RoomState, Versions};

use crate::fields::{label, required};
use crate::v1::room_message::Content;
use crate::{Error, v1};

/// The longest name of a room, in bytes; a message about one with a longer name is refused.
const ROOM_NAME_LEN_MAX: usize = 1024;

/// The longest name of a part of a room's snapshot, in bytes; a message with a longer one is
/// refused.
const PART_NAME_LEN_MAX: usize = 256;

/// The longest part of a room's snapshot, in bytes; a message with a longer one is refused.
const PART_LEN_MAX: usize = 1 << 20;

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
        let RoomState {
            room,
            owner,
            epoch,
            revision,
            has_ended,
        } = state;
        Self {
            room: label(&room),
            owner: owner.number(),
            epoch: epoch.0,
            revision,
            has_ended,
        }
    }
}

impl TryFrom<v1::RoomState> for RoomState {
    type Error = Error;

    fn try_from(message: v1::RoomState) -> Result<Self, Error> {
        let v1::RoomState {
            room,
            epoch,
            revision,
            owner,
            has_ended,
        } = message;
        Ok(Self {
            room: room_name("RoomState.room", room)?,
            owner: controller_id("RoomState.owner", owner)?,
            epoch: Epoch(epoch),
            revision,
            has_ended,
        })
    }
}

/// The id of a controller, which has fewer bits than its field.
pub(crate) fn controller_id(field: &'static str, number: u32) -> Result<ControllerId, Error> {
    let controller = ControllerId::new(number);
    match controller.number() == number {
        true => Ok(controller),
        false => Err(Error::OutOfRange {
            field,
            value: number.into(),
        }),
    }
}

/// The name of a room, which a node keeps.
pub(crate) fn room_name(field: &'static str, name: String) -> Result<Arc<str>, Error> {
    match name.len() <= ROOM_NAME_LEN_MAX {
        true => Ok(name.into()),
        false => Err(Error::Length { field, len: name.len() }),
    }
}

/// The name of a part of a room's snapshot, which a node keeps.
pub(crate) fn part_name(field: &'static str, name: String) -> Result<Arc<str>, Error> {
    match name.len() <= PART_NAME_LEN_MAX {
        true => Ok(name.into()),
        false => Err(Error::Length { field, len: name.len() }),
    }
}

/// A part of a room's snapshot, which a node keeps.
pub(crate) fn part(field: &'static str, blob: &Bytes) -> Result<Arc<[u8]>, Error> {
    match blob.len() <= PART_LEN_MAX {
        true => Ok(blob.as_ref().into()),
        false => Err(Error::Length { field, len: blob.len() }),
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
                RoomContent::Save { part, blob } => Content::Save(v1::Save {
                    part: label(&part),
                    blob: Bytes::from_owner(blob),
                }),
                RoomContent::Forget { part } => Content::Forget(v1::Forget { part: label(&part) }),
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
                Content::Save(save) => RoomContent::Save {
                    part: part_name("Save.part", save.part)?,
                    blob: part("Save.blob", &save.blob)?,
                },
                Content::Forget(forget) => RoomContent::Forget {
                    part: part_name("Forget.part", forget.part)?,
                },
            },
        })
    }
}
