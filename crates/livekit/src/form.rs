//! The two forms of messages: protobuf, and JSON by the rules of `protojson` as Twirp's servers in
//! Go apply them.
//!
//! Names in JSON are read in both forms and written as in the protocol's files. Unknown fields are
//! left out. Fields with their default value are written, 64-bit numbers as text, enums by name.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde::Serialize;

/// The form of a request's message and of the answer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Protobuf,
}

impl Form {
    /// The form that a `Content-Type` names; parameters after it are not looked at.
    pub(crate) fn of(content_type: &str) -> Option<Self> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        match kind.to_ascii_lowercase().as_str() {
            "application/json" => Some(Self::Json),
            "application/protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/protobuf",
        }
    }

    /// Reads a message of this name; `None` if it is none.
    pub(crate) fn read<T: Message + Default>(self, name: &str, body: &[u8]) -> Option<T> {
        match self {
            Self::Json => read_json(name, body),
            Self::Protobuf => T::decode(body).ok(),
        }
    }

    /// Writes a message of this name.
    pub(crate) fn write<T: Message>(self, name: &str, message: &T) -> Vec<u8> {
        match self {
            Self::Json => write_json(name, message),
            Self::Protobuf => message.encode_to_vec(),
        }
    }
}

impl Form {
    /// Writes a message whose only field, the first, is a list of messages of this name. They are
    /// written one by one, so that a long list does not take several times its length.
    pub(crate) fn write_list<T: Message>(self, field: &str, name: &str, list: impl Iterator<Item = T>) -> Vec<u8> {
        let mut written = Vec::new();
        match self {
            Self::Json => {
                written.extend_from_slice(format!("{{\"{field}\":[").as_bytes());
                for (place, message) in list.enumerate() {
                    if place > 0 {
                        written.push(b',');
                    }
                    written.append(&mut write_json(name, &message));
                }
                written.extend_from_slice(b"]}");
            }
            Self::Protobuf => list.for_each(|message| prost::encoding::message::encode(1, &message, &mut written)),
        }
        written
    }
}

/// The services of the API and their messages: an encoded `google.protobuf.FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

static MESSAGES: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).expect("the descriptors were written by the build"));

fn descriptor(name: &str) -> MessageDescriptor {
    let name = format!("livekit.{name}");
    let found = MESSAGES.get_message_by_name(&name);
    found.unwrap_or_else(|| panic!("{name} is a message of the API"))
}

/// Reads the first JSON value of a text. The rest of the text is not read.
fn read_json<T: Message + Default>(name: &str, json: &[u8]) -> Option<T> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let message = DynamicMessage::deserialize_with_options(descriptor(name), &mut reader, &options);
    message.ok()?.transcode_to().ok()
}

/// A message as JSON in the form that `protojson` writes by default: names in camel case, and no
/// fields with their default value.
pub(crate) fn json_value<T: Message>(name: &str, message: &T) -> serde_json::Value {
    let written = dynamic(name, message).serialize(serde_json::value::Serializer);
    written.expect("messages are maps with text for keys")
}

fn dynamic<T: Message>(name: &str, message: &T) -> DynamicMessage {
    let mut dynamic = DynamicMessage::new(descriptor(name));
    dynamic
        .transcode_from(message)
        .expect("both are made of the same protocol files");
    dynamic
}

fn write_json<T: Message>(name: &str, message: &T) -> Vec<u8> {
    let options = SerializeOptions::new()
        .skip_default_fields(false)
        .use_proto_field_name(true);
    let mut writer = serde_json::Serializer::new(Vec::new());
    dynamic(name, message)
        .serialize_with_options(&mut writer, &options)
        .expect("messages are maps with text for keys");
    writer.into_inner()
}
