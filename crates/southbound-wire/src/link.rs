//! The messages of a link between media nodes.

use std::sync::Arc;

use bytes::Bytes;
use southbound::{LinkHello, LinkMessage, LinkReply, LinkWelcome, LinkedMessage, NodeId, TransportId};

use crate::fields::{label, narrow_optional, read, required};
use crate::sync::room_name;
use crate::v1::link_message::Message as Variant;
use crate::v1::link_reply::Reply;
use crate::{Error, v1};

impl From<LinkMessage> for v1::LinkMessage {
    fn from(message: LinkMessage) -> Self {
        Self {
            message: Some(match message {
                LinkMessage::Hello(LinkHello { versions, node, series }) => Variant::Hello(v1::LinkHello {
                    versions: Some(versions.into()),
                    node: node.0,
                    series,
                }),
                LinkMessage::Message(linked) => Variant::Linked((*linked).clone().into()),
            }),
        }
    }
}

impl TryFrom<v1::LinkMessage> for LinkMessage {
    type Error = Error;

    fn try_from(message: v1::LinkMessage) -> Result<Self, Error> {
        Ok(match required("LinkMessage.message", message.message)? {
            Variant::Hello(hello) => Self::Hello(LinkHello {
                versions: read("LinkHello.versions", hello.versions)?,
                node: NodeId(hello.node),
                series: hello.series,
            }),
            Variant::Linked(linked) => Self::Message(Arc::new(linked.try_into()?)),
        })
    }
}

impl From<LinkedMessage> for v1::LinkedMessage {
    fn from(linked: LinkedMessage) -> Self {
        Self {
            number: linked.number,
            room: label(&linked.room),
            reach: linked.reach,
            sender: label(&linked.sender),
            message: linked.message.map(Into::into),
            label: label(&linked.label),
            payload: Bytes::from_owner(linked.payload),
            identities: linked.identities,
            sids: linked.sids,
            only: linked.only.map(|only| only.0),
            track: linked.track.map(u32::from),
        }
    }
}

impl TryFrom<v1::LinkedMessage> for LinkedMessage {
    type Error = Error;

    fn try_from(message: v1::LinkedMessage) -> Result<Self, Error> {
        Ok(Self {
            number: message.number,
            room: room_name("LinkedMessage.room", message.room)?,
            reach: message.reach,
            sender: message.sender.into(),
            message: message.message.map(Into::into),
            label: message.label.into(),
            payload: message.payload.as_ref().into(),
            identities: message.identities,
            sids: message.sids,
            only: message.only.map(TransportId),
            track: narrow_optional("LinkedMessage.track", message.track)?,
        })
    }
}

impl From<LinkReply> for v1::LinkReply {
    fn from(reply: LinkReply) -> Self {
        Self {
            reply: Some(match reply {
                LinkReply::Welcome(LinkWelcome { versions, node, taken }) => Reply::Welcome(v1::LinkWelcome {
                    versions: Some(versions.into()),
                    node: node.0,
                    taken,
                }),
                LinkReply::Taken { number } => Reply::Taken(number),
                LinkReply::Delivered { messages } => Reply::Delivered(v1::Delivered {
                    messages: messages.into_iter().map(Into::into).collect(),
                }),
            }),
        }
    }
}

impl TryFrom<v1::LinkReply> for LinkReply {
    type Error = Error;

    fn try_from(message: v1::LinkReply) -> Result<Self, Error> {
        Ok(match required("LinkReply.reply", message.reply)? {
            Reply::Welcome(welcome) => Self::Welcome(LinkWelcome {
                versions: read("LinkWelcome.versions", welcome.versions)?,
                node: NodeId(welcome.node),
                taken: welcome.taken,
            }),
            Reply::Taken(number) => Self::Taken { number },
            Reply::Delivered(delivered) => Self::Delivered {
                messages: delivered.messages.into_iter().map(Into::into).collect(),
            },
        })
    }
}
