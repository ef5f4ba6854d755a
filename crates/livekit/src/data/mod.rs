//! Data packets: the protocol's form of the controller's messages.

mod passing;
pub(crate) mod tracks;

use std::sync::Arc;

use bytes::Bytes;
use controller::{
    DATA_TRACK, DataContent, DataMessage, Input, LOSSY, PacketKind, RELIABLE, RpcCall, RpcContent, RpcError, RpcReply,
    UserData,
};
use livekit_protocol::data_packet::{Kind, Value};
use livekit_protocol::data_stream::header::ContentHeader;
use livekit_protocol::rpc_response::Value as Outcome;
use livekit_protocol::{DataPacket, RpcRequest, UserPacket};
use prost::Message;
use southbound::{Command, MessageId, NodeId, Notice, TransportId};

use crate::limits::DATA_PACKET_MAX;
pub use passing::Messages;

/// The controller's input for a notice of a node: a message of a data channel is read.
pub fn notice_input(node: NodeId, notice: Notice) -> Input {
    match notice {
        Notice::MessageReceived {
            transport,
            label,
            payload,
            message,
            passed_on,
            linked,
            ..
        } => Input::Data {
            transport,
            message,
            passed_on,
            linked,
            data: read(&label, &payload).map(Box::new),
        },
        notice => Input::Notice { node, notice },
    }
}

/// The command that sends a message of the controller's on data channels. `message` is the agent's
/// name for the one that is passed on by it.
pub fn data_command(to: Vec<TransportId>, message: Option<MessageId>, data: DataMessage) -> Command {
    let (label, reliable) = (channel(&data), data.reliable);
    Command::Send {
        to,
        label: Arc::from(label),
        payload: write(data).into(),
        reliable,
        message,
    }
}

/// The channel that a message is sent on.
pub(crate) fn channel(data: &DataMessage) -> &'static str {
    match data.content {
        DataContent::Frame { .. } => DATA_TRACK,
        _ if data.reliable => RELIABLE,
        _ => LOSSY,
    }
}

/// Reads what came on a channel; `None` for what is no message or is too long.
///
/// On the protocol's own channels it is a packet. On a channel that an application opened itself it
/// is bytes for everybody else, who get them as clients know user data: in a reliable packet.
pub(crate) fn read(label: &str, payload: &[u8]) -> Option<DataMessage> {
    if payload.len() > DATA_PACKET_MAX {
        return None;
    }
    if label == DATA_TRACK {
        return tracks::handle(payload).map(|handle| frame(handle, payload));
    }
    if matches!(label, RELIABLE | LOSSY) {
        let packet = DataPacket::decode(payload).ok()?;
        return Some(message(packet, label == RELIABLE, payload));
    }
    let user = UserPacket {
        payload: payload.to_vec(),
        ..UserPacket::default()
    };
    let packet = DataPacket {
        value: Some(Value::User(user)),
        ..DataPacket::default()
    };
    Some(message(packet, true, payload))
}

fn message(packet: DataPacket, reliable: bool, payload: &[u8]) -> DataMessage {
    let passed = |kind| DataContent::Packet {
        kind,
        encoded: Bytes::copy_from_slice(payload),
    };
    let content = match packet.value {
        Some(Value::User(user)) => DataContent::User(user_data(user)),
        Some(Value::RpcAck(ack)) => reply(ack.request_id, RpcContent::Received, payload),
        Some(Value::RpcResponse(response)) => {
            let result = match response.value {
                Some(Outcome::Payload(payload)) => Ok(payload),
                Some(Outcome::Error(error)) => Err(RpcError {
                    code: error.code,
                    message: error.message,
                    data: error.data,
                }),
                // Nobody asked for a compressed answer.
                Some(Outcome::CompressedPayload(_)) => Err(RpcError::new(RpcError::RESPONSE_PAYLOAD_TOO_LARGE)),
                None => Ok(String::new()),
            };
            reply(response.request_id, RpcContent::Done(result), payload)
        }
        Some(Value::Transcription(_)) => passed(PacketKind::Transcription),
        Some(Value::Metrics(_)) => passed(PacketKind::Metrics),
        Some(Value::Speaker(_)) => passed(PacketKind::Speakers),
        Some(Value::ChatMessage(_)) => passed(PacketKind::Text),
        Some(Value::StreamHeader(header)) => match header.content_header {
            Some(ContentHeader::TextHeader(_)) => passed(PacketKind::Text),
            _ => passed(PacketKind::Other),
        },
        Some(_) => passed(PacketKind::Other),
        None => passed(PacketKind::Unknown),
    };
    DataMessage {
        reliable,
        sequence: packet.sequence,
        sender_sid: String::new(),
        sender_identity: packet.participant_identity,
        generated: false,
        destinations: packet.destination_identities,
        content,
        len: payload.len(),
    }
}

fn frame(handle: u16, payload: &[u8]) -> DataMessage {
    DataMessage {
        reliable: false,
        sequence: 0,
        sender_sid: String::new(),
        sender_identity: String::new(),
        generated: false,
        destinations: Vec::new(),
        content: DataContent::Frame {
            handle,
            packet: Bytes::copy_from_slice(payload),
        },
        len: payload.len(),
    }
}

fn reply(call_id: String, content: RpcContent, payload: &[u8]) -> DataContent {
    DataContent::RpcReply(RpcReply {
        call_id,
        content,
        encoded: Bytes::copy_from_slice(payload),
    })
}

fn user_data(user: UserPacket) -> UserData {
    UserData {
        payload: user.payload.into(),
        topic: user.topic,
        id: user.id,
        start_time: user.start_time,
        end_time: user.end_time,
        nonce: user.nonce,
        destinations: user.destination_identities,
        destination_sids: user.destination_sids,
    }
}

fn rpc_request(call: RpcCall) -> RpcRequest {
    RpcRequest {
        id: call.id,
        method: call.method,
        payload: call.payload,
        response_timeout_ms: call.response_timeout.as_millis() as u32,
        // Of an argument and an answer that are text.
        version: 1,
        compressed_payload: Vec::new(),
    }
}

/// Writes a message as a packet, or as one of a data track.
pub(crate) fn write(data: DataMessage) -> Vec<u8> {
    let mut packet = match data.content {
        DataContent::User(user) => DataPacket {
            sequence: data.sequence,
            destination_identities: data.destinations,
            // Clients from before packets had senders look in the payload.
            value: Some(Value::User(UserPacket {
                participant_sid: data.sender_sid.clone(),
                participant_identity: data.sender_identity.clone(),
                payload: user.payload.into(),
                destination_sids: user.destination_sids,
                destination_identities: user.destinations,
                topic: user.topic,
                id: user.id,
                start_time: user.start_time,
                end_time: user.end_time,
                nonce: user.nonce,
            })),
            ..DataPacket::default()
        },
        DataContent::RpcCall(call) => DataPacket {
            value: Some(Value::RpcRequest(rpc_request(call))),
            ..DataPacket::default()
        },
        DataContent::Frame { handle, packet } => return tracks::with_handle(&packet, handle),
        DataContent::RpcReply(RpcReply { encoded, .. }) | DataContent::Packet { encoded, .. } => {
            DataPacket::decode(encoded).unwrap_or_default()
        }
    };
    let kind = if data.reliable { Kind::Reliable } else { Kind::Lossy };
    packet.kind = kind.into();
    packet.participant_sid = data.sender_sid;
    packet.participant_identity = data.sender_identity;
    match &mut packet.value {
        Some(Value::ChatMessage(message)) if data.generated => message.generated = true,
        Some(Value::StreamHeader(header)) if data.generated => {
            if let Some(ContentHeader::TextHeader(text)) = &mut header.content_header {
                text.generated = true;
            }
        }
        _ => {}
    }
    packet.encode_to_vec()
}
