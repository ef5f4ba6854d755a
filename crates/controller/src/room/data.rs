//! Data packets between participants.

use std::sync::Arc;

use livekit_protocol::data_packet::{Kind, Value};
use livekit_protocol::data_stream::header::ContentHeader;
use livekit_protocol::{DataPacket, UserPacket};
use prost::{DecodeError, Message};
use southbound::{Command, MessageId};

use super::Room;
use crate::Counter;
use crate::context::Context;
use crate::data::{DATA_TRACK, LOSSY, RELIABLE};
use crate::ids::ParticipantKey;
use crate::limits::{DATA_PACKET_MAX, DESTINATIONS_MAX, SIGNED_PACKET_MAX};
use crate::participant::Participant;

impl Room {
    /// A participant sent a packet: it is checked, signed with the sender's name and passed on.
    pub(super) fn take_data(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        label: &str,
        payload: &[u8],
        message: MessageId,
    ) {
        let kind = match label {
            RELIABLE => Kind::Reliable,
            LOSSY => Kind::Lossy,
            DATA_TRACK => return ctx.count(Counter::BadDataPacket),
            _ => Kind::Reliable,
        };
        if payload.len() > DATA_PACKET_MAX {
            return ctx.count(Counter::BadDataPacket);
        }
        let Ok(mut packet) = read(label, payload) else {
            return ctx.count(Counter::BadDataPacket);
        };
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        if !may_send(participant, &packet) {
            return ctx.count(Counter::DataNotAllowed);
        }
        if kind == Kind::Reliable && !participant.data.accept(packet.sequence) {
            return ctx.count(Counter::DuplicateDataPacket);
        }
        sign(&mut packet, kind, participant);
        let destinations = self.destinations(&packet);
        if destinations.len() > DESTINATIONS_MAX {
            return ctx.count(Counter::BadDataPacket);
        }
        let payload: Arc<[u8]> = packet.encode_to_vec().into();
        if payload.len() > SIGNED_PACKET_MAX {
            return ctx.count(Counter::BadDataPacket);
        }
        self.pass_on(ctx, key, kind, &destinations, &payload, message);
        if kind == Kind::Reliable && packet.sequence > 0 {
            let participant = self.participants.get_mut(&key).expect("it was there a moment ago");
            participant.data.keep(ctx.now, packet.sequence, destinations, payload);
        }
    }

    /// Receivers by identity, in order; empty is everybody else. Clients from before packets had destinations put them in the payload,
    /// some by id.
    fn destinations(&self, packet: &DataPacket) -> Vec<String> {
        let mut destinations = packet.destination_identities.clone();
        if let (true, Some(Value::User(user))) = (destinations.is_empty(), &packet.value) {
            destinations.clone_from(&user.destination_identities);
            let mut sids: Vec<_> = user.destination_sids.iter().take(DESTINATIONS_MAX).cloned().collect();
            sids.sort_unstable();
            let is_named = |participant: &&Participant| sids.binary_search(&participant.sid).is_ok();
            let named = self.participants.values().filter(is_named);
            destinations.extend(named.map(|participant| participant.identity.clone()));
            // An id nobody has must not turn a message to one into a message to all.
            destinations.append(&mut sids);
        }
        destinations.sort_unstable();
        destinations.dedup();
        destinations
    }

    fn pass_on(
        &mut self,
        ctx: &mut Context<'_>,
        from: ParticipantKey,
        kind: Kind,
        destinations: &[String],
        payload: &Arc<[u8]>,
        message: MessageId,
    ) {
        let is_addressed = |participant: &Participant| {
            destinations.is_empty() || destinations.binary_search(&participant.identity).is_ok()
        };
        let mut to = Vec::new();
        for participant in self.participants.values_mut() {
            if participant.key == from || !is_addressed(participant) {
                continue;
            }
            match (kind, participant.downlink()) {
                // A channel that is not open yet belongs to somebody who is still joining, and what must arrive waits for it.
                (Kind::Reliable, Some(peer)) => to.push(peer.transport),
                (Kind::Reliable, None) => {
                    if !participant.data.keep_early(ctx.now, payload.clone()) {
                        ctx.count(Counter::EarlyDataDropped);
                    }
                }
                (Kind::Lossy, Some(peer)) if peer.channels.iter().any(|open| **open == *LOSSY) => {
                    to.push(peer.transport);
                }
                (Kind::Lossy, _) => {}
            }
        }
        if !to.is_empty() {
            ctx.command(Command::Send {
                to,
                label: label(kind),
                payload: payload.clone(),
                reliable: kind == Kind::Reliable,
                message: Some(message),
            });
        }
    }

    /// A participant that came back gets the reliable packets it says it has not received.
    pub(super) fn replay_data(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let received = std::mem::take(&mut participant.data.received);
        let participant = &self.participants[&key];
        for publisher in self.participants.values().filter(|publisher| publisher.key != key) {
            let Some(last) = received.get(&publisher.sid) else {
                continue;
            };
            for sent in publisher.data.missed_by(&participant.identity, *last) {
                send_reliable(ctx, participant, &sent.payload);
            }
        }
    }
}

/// A participant that has just got its connection gets what was for it before.
pub(super) fn send_early(ctx: &mut Context<'_>, participant: &mut Participant) {
    let early: Vec<_> = participant.data.take_early(ctx.now).collect();
    for payload in early {
        send_reliable(ctx, participant, &payload);
    }
}

fn send_reliable(ctx: &mut Context<'_>, to: &Participant, payload: &Arc<[u8]>) {
    let Some(peer) = to.downlink() else { return };
    ctx.command(Command::Send {
        to: vec![peer.transport],
        label: label(Kind::Reliable),
        payload: payload.clone(),
        reliable: true,
        message: None,
    });
}

fn label(kind: Kind) -> Arc<str> {
    match kind {
        Kind::Reliable => RELIABLE.into(),
        Kind::Lossy => LOSSY.into(),
    }
}

/// Reads a message. On the protocol's own channels it is a packet. On a channel that an application opened itself it is bytes for everybody
/// else, who get them as LiveKit's clients know user data: in a reliable packet.
fn read(label: &str, payload: &[u8]) -> Result<DataPacket, DecodeError> {
    if matches!(label, RELIABLE | LOSSY) {
        return DataPacket::decode(payload);
    }
    Ok(DataPacket {
        value: Some(Value::User(UserPacket {
            payload: payload.to_vec(),
            ..UserPacket::default()
        })),
        ..DataPacket::default()
    })
}

/// Metrics are for those allowed to see them, transcriptions come from agents, and speakers are told by the server alone.
fn may_send(participant: &Participant, packet: &DataPacket) -> bool {
    let permission = &participant.permission;
    match &packet.value {
        Some(Value::Transcription(_)) => permission.agent && permission.publish_data,
        Some(Value::Metrics(_) | Value::Speaker(_)) | None => false,
        Some(_) => permission.publish_data,
    }
}

/// The server names the sender of a packet, whatever the packet says, except that agents may speak for others. Clients from before packets had
/// senders look in the payload.
fn sign(packet: &mut DataPacket, kind: Kind, participant: &Participant) {
    packet.kind = kind.into();
    let hidden = participant.permission.hidden;
    let (sid, identity) = if hidden {
        ("", "")
    } else {
        (participant.sid.as_str(), participant.identity.as_str())
    };
    packet.participant_sid = sid.to_owned();
    if !speaks_for_another(packet, participant) {
        packet.participant_identity = identity.to_owned();
    }
    if let Some(Value::User(user)) = &mut packet.value {
        user.participant_sid = sid.to_owned();
        user.participant_identity = identity.to_owned();
    }
}

/// A chat message or a text stream header that an agent writes for somebody keeps that identity and is marked as generated.
fn speaks_for_another(packet: &mut DataPacket, participant: &Participant) -> bool {
    let named = &packet.participant_identity;
    if !participant.permission.agent || named.is_empty() || *named == participant.identity {
        return false;
    }
    match &mut packet.value {
        Some(Value::ChatMessage(message)) => message.generated = true,
        Some(Value::StreamHeader(header)) => match &mut header.content_header {
            Some(ContentHeader::TextHeader(text)) => text.generated = true,
            _ => return false,
        },
        _ => return false,
    }
    true
}
