//! Data packets between participants.

use access::Permission;
use southbound::{MessageId, TransportId};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{DESTINATIONS_MAX, SIGNED_PACKET_MAX};
use crate::participant::Participant;
use crate::room::data::{Data, DataState, LOSSY};
use crate::room::roster::Roster;
use crate::{Counter, DataContent, DataMessage, PacketKind};

impl Data {
    /// A participant sent a message: it is checked, signed with the sender's name and passed on.
    pub(in crate::room) fn take(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        data: Option<Box<DataMessage>>,
        message: MessageId,
    ) {
        let data = match data {
            Some(data) if matches!(data.content, DataContent::Frame { .. }) => {
                return self.tracks.pass_on_frame(ctx, roster, key, *data, message);
            }
            data => data,
        };
        let Some(participant) = roster.get_mut(key) else {
            return;
        };
        let sender = Sender {
            sid: &participant.profile.sid,
            identity: &participant.profile.identity,
            permission: &participant.authorization.permission,
            data: &mut participant.data.packets,
        };
        let taken = sender
            .take(data)
            .and_then(|data| Ok((checked_destinations(roster, &data)?, data)));
        let (destinations, data) = match taken {
            Ok(taken) => taken,
            Err(counter) => return ctx.count(counter),
        };
        if let DataContent::RpcReply(reply) = &data.content
            && self.calls.take_reply(ctx, key, reply)
        {
            return;
        }
        pass_on(ctx, roster, Some(key), &destinations, &data, Some(message));
        if data.reliable && data.sequence > 0 {
            let participant = roster.get_mut(key).expect("it was there a moment ago");
            participant.data.packets.keep(ctx.now, destinations, *data);
        }
    }
}

/// A participant that has left sent a message before.
pub(super) fn take_last(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    transport: TransportId,
    data: Option<Box<DataMessage>>,
    message: MessageId,
) {
    let Some(leaver) = ctx.core.index.leavers.get_mut(ctx.now, transport) else {
        return;
    };
    let key = leaver.participant_ref.participant;
    let sender = Sender {
        sid: &leaver.sid,
        identity: &leaver.identity,
        permission: &leaver.permission,
        data: &mut leaver.data,
    };
    let taken = sender
        .take(data)
        .and_then(|data| Ok((checked_destinations(roster, &data)?, data)));
    match taken {
        Ok((destinations, data)) => pass_on(ctx, roster, Some(key), &destinations, &data, Some(message)),
        Err(counter) => ctx.count(counter),
    }
}

/// The receivers of a signed message, if it may have them.
fn checked_destinations(roster: &Roster, data: &DataMessage) -> Result<Vec<String>, Counter> {
    let destinations = destinations(roster, data);
    match destinations.len() > DESTINATIONS_MAX || data.signed_len() > SIGNED_PACKET_MAX {
        true => Err(Counter::BadDataPacket),
        false => Ok(destinations),
    }
}

/// An administrator sends a message.
pub(super) fn send(ctx: &mut Context<'_>, roster: &mut Roster, data: &DataMessage) {
    let destinations = destinations(roster, data);
    pass_on(ctx, roster, None, &destinations, data, None);
}

/// The server sends a message to one participant.
pub(super) fn send_to(ctx: &mut Context<'_>, roster: &mut Roster, identity: &str, data: &DataMessage) {
    pass_on(ctx, roster, None, &[identity.to_owned()], data, None);
}

/// Receivers by identity, in order; empty is everybody else. Clients from before messages had
/// destinations put them in the content, some by id.
fn destinations(roster: &Roster, data: &DataMessage) -> Vec<String> {
    let mut destinations = data.destinations.clone();
    if let (true, DataContent::User(user)) = (destinations.is_empty(), &data.content) {
        destinations.clone_from(&user.destinations);
        let mut sids: Vec<_> = user.destination_sids.iter().take(DESTINATIONS_MAX).cloned().collect();
        sids.sort_unstable();
        let is_named = |participant: &&Participant| sids.binary_search(&participant.profile.sid).is_ok();
        let named = roster.all().filter(is_named);
        destinations.extend(named.map(|participant| participant.profile.identity.clone()));
        // An id nobody has must not turn a message to one into a message to all.
        destinations.append(&mut sids);
    }
    destinations.sort_unstable();
    destinations.dedup();
    destinations
}

fn pass_on(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    from: Option<ParticipantKey>,
    destinations: &[String],
    data: &DataMessage,
    message: Option<MessageId>,
) {
    let is_addressed = |participant: &Participant| {
        destinations.is_empty() || destinations.binary_search(&participant.profile.identity).is_ok()
    };
    let mut to = Vec::new();
    for participant in roster.all_mut() {
        if Some(participant.key) == from || !is_addressed(participant) {
            continue;
        }
        match (data.reliable, participant.media.downlink()) {
            // A channel that is not open yet belongs to somebody who is still joining, and what
            // must arrive waits for it.
            (true, Some(peer)) => to.push((participant.media.node, peer.transport)),
            (true, None) => {
                if !participant.data.packets.keep_early(ctx.now, data.clone()) {
                    ctx.count(Counter::EarlyDataDropped);
                }
            }
            (false, Some(peer)) if peer.channels.iter().any(|open| **open == *LOSSY) => {
                to.push((participant.media.node, peer.transport));
            }
            (false, _) => {}
        }
    }
    if !to.is_empty() {
        ctx.send(to, message, data);
    }
}

/// A participant that came back gets the reliable packets it says it has not received.
pub(in crate::room) fn replay(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let received = std::mem::take(&mut participant.data.packets.received);
    let participant = &roster[key];
    for publisher in roster.all().filter(|publisher| publisher.key != key) {
        let Some(last) = received.get(&publisher.profile.sid) else {
            continue;
        };
        for sent in publisher.data.packets.missed_by(&participant.profile.identity, *last) {
            send_reliable(ctx, participant, &sent.message);
        }
    }
}

/// A participant that has just got its connection gets what was for it before.
pub(in crate::room) fn send_early(ctx: &mut Context<'_>, participant: &mut Participant) {
    let early: Vec<_> = participant.data.packets.take_early(ctx.now).collect();
    for data in early {
        send_reliable(ctx, participant, &data);
    }
}

fn send_reliable(ctx: &mut Context<'_>, to: &Participant, data: &DataMessage) {
    let Some(peer) = to.media.downlink() else { return };
    ctx.send([(to.media.node, peer.transport)], None, data);
}

/// The sender of messages.
struct Sender<'a> {
    sid: &'a str,
    identity: &'a str,
    permission: &'a Permission,
    data: &'a mut DataState,
}

impl Sender<'_> {
    /// Checks a message and signs it with the sender's name.
    fn take(self, data: Option<Box<DataMessage>>) -> Result<Box<DataMessage>, Counter> {
        let mut data = data.ok_or(Counter::BadDataPacket)?;
        if !may_send(self.permission, &data.content) {
            return Err(Counter::DataNotAllowed);
        }
        if data.reliable && !self.data.accept(data.sequence) {
            return Err(Counter::DuplicateDataPacket);
        }
        self.sign(&mut data);
        Ok(data)
    }

    /// Names the sender of a message, whatever the message says, except that agents may speak for
    /// others.
    fn sign(&self, data: &mut DataMessage) {
        let is_hidden = self.permission.hidden;
        let named = |name: &str| if is_hidden { String::new() } else { name.to_owned() };
        data.sender_sid = named(self.sid);
        data.generated = self.speaks_for_another(data);
        if !data.generated {
            data.sender_identity = named(self.identity);
        }
    }

    /// A chat message or a text stream header that an agent writes for somebody keeps that identity
    /// and is marked as generated.
    fn speaks_for_another(&self, data: &DataMessage) -> bool {
        let is_text = matches!(
            data.content,
            DataContent::Packet {
                kind: PacketKind::Text,
                ..
            }
        );
        let named = &data.sender_identity;
        is_text && self.permission.agent && !named.is_empty() && *named != self.identity
    }
}

/// Metrics are for those allowed to see them, transcriptions come from agents, and speakers are
/// told by the server alone. Frames belong to data tracks, which end when their publisher leaves.
fn may_send(permission: &Permission, content: &DataContent) -> bool {
    let kind = match content {
        DataContent::Packet { kind, .. } => kind,
        DataContent::Frame { .. } => return false,
        _ => return permission.publish_data,
    };
    match kind {
        PacketKind::Transcription => permission.agent && permission.publish_data,
        PacketKind::Metrics | PacketKind::Speakers | PacketKind::Unknown => false,
        PacketKind::Text | PacketKind::Other => permission.publish_data,
    }
}
