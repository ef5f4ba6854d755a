//! Data packets between participants.

use southbound::{Command, MessageId, TransportId};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::DESTINATIONS_MAX;
use crate::own_data::{DataState, MessageAuthor, message_rights};
use crate::participant::Participant;
use crate::room::data::endpoints::Endpoints;
use crate::room::data::{Arrived, Data, LOSSY};
use crate::room::roster::Roster;
use crate::{Counter, DataContent, DataMessage};

impl Data {
    /// A participant sent a message: it is checked, signed with the sender's name and passed on.
    pub(in crate::room) fn take(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        data: Option<Box<DataMessage>>,
        message: Arrived,
    ) {
        let data = match data {
            Some(data) if matches!(data.content, DataContent::Frame { .. }) => {
                return self.pass_on_frame(ctx, roster, key, *data, &message);
            }
            data => data,
        };
        let Some(participant) = roster.get_mut(key) else {
            return;
        };
        let sender = Sender {
            author: MessageAuthor {
                sid: &participant.profile.sid,
                identity: &participant.profile.identity,
                rights: message_rights(&participant.authorization.permission),
            },
            data: &mut participant.data.packets,
            is_new: message.linked.failed.is_none(),
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
        self.endpoints.end_series(ctx, &message);
        let has = |other: &Participant| self.endpoints.has(other, &message);
        pass_on(
            ctx,
            roster,
            (Some(key), &has),
            &destinations,
            &data,
            Some(message.message),
        );
        if data.reliable && data.sequence > 0 && message.linked.failed.is_none() {
            let participant = roster.get_mut(key).expect("it was there a moment ago");
            participant.data.packets.keep(ctx.now, destinations, *data);
        }
    }
}

/// A participant that has left sent a message before.
pub(super) fn take_last(
    ctx: &mut Context<'_>,
    (endpoints, roster): (&Endpoints, &mut Roster),
    transport: TransportId,
    data: Option<Box<DataMessage>>,
    arrived: &Arrived,
) {
    let Some(leaver) = ctx.core.index.leavers.get_mut(ctx.now, transport) else {
        return;
    };
    let key = leaver.participant_ref.participant;
    let sender = Sender {
        author: MessageAuthor {
            sid: &leaver.sid,
            identity: &leaver.identity,
            rights: message_rights(&leaver.permission),
        },
        data: &mut leaver.data,
        is_new: arrived.linked.failed.is_none(),
    };
    let taken = sender
        .take(data)
        .and_then(|data| Ok((checked_destinations(roster, &data)?, data)));
    match taken {
        Ok((destinations, data)) => {
            endpoints.end_series(ctx, arrived);
            let has = |other: &Participant| endpoints.has(other, arrived);
            pass_on(
                ctx,
                roster,
                (Some(key), &has),
                &destinations,
                &data,
                Some(arrived.message),
            );
        }
        Err(counter) => ctx.count(counter),
    }
}

/// The receivers of a signed message, if it may have them.
fn checked_destinations(roster: &Roster, data: &DataMessage) -> Result<Vec<String>, Counter> {
    let destinations = destinations(roster, data);
    match destinations.len() > DESTINATIONS_MAX || !data.fits() {
        true => Err(Counter::BadDataPacket),
        false => Ok(destinations),
    }
}

/// An administrator sends a message.
pub(super) fn send(ctx: &mut Context<'_>, roster: &mut Roster, data: &DataMessage) {
    let destinations = destinations(roster, data);
    pass_on(ctx, roster, (None, &nobody), &destinations, data, None);
}

/// The server sends a message to one participant.
pub(super) fn send_to(ctx: &mut Context<'_>, roster: &mut Roster, identity: &str, data: &DataMessage) {
    pass_on(ctx, roster, (None, &nobody), &[identity.to_owned()], data, None);
}

/// Receivers by identity, in order; empty is everybody else.
fn destinations(roster: &Roster, data: &DataMessage) -> Vec<String> {
    let (identities, sids) = data.receivers();
    let mut destinations = identities.to_vec();
    let mut sids: Vec<_> = sids.iter().take(DESTINATIONS_MAX).cloned().collect();
    if !sids.is_empty() {
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

/// Whether a participant has a message already.
type Has<'a> = &'a dyn Fn(&Participant) -> bool;

/// For messages that no node has passed on.
fn nobody(_: &Participant) -> bool {
    false
}

/// Passes a message on to all that it is for but its sender and those who have it.
fn pass_on(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    (from, has): (Option<ParticipantKey>, Has<'_>),
    destinations: &[String],
    data: &DataMessage,
    message: Option<MessageId>,
) {
    let is_addressed = |participant: &Participant| {
        destinations.is_empty() || destinations.binary_search(&participant.profile.identity).is_ok()
    };
    let mut to = Vec::new();
    for participant in roster.all_in_passing() {
        if Some(participant.key) == from || !is_addressed(participant) || has(participant) {
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

impl Data {
    /// A participant that came back gets the reliable packets it says it has not received. Its node
    /// has those of others who are there.
    pub(in crate::room) fn replay(&self, ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
        let Some(participant) = roster.get_mut(key) else {
            return;
        };
        let received = std::mem::take(&mut participant.data.packets.received);
        let participant = &roster[key];
        let node = self.endpoints.node_of(key);
        if let (Some(node), Some(peer)) = (node, participant.media.downlink()) {
            let transport = peer.transport;
            let received = received.iter().map(|(sid, sequence)| (sid.as_str().into(), *sequence));
            let received: Vec<_> = received.collect();
            for node in self.endpoints.linked_to(node).chain([node]) {
                let received = received.clone();
                ctx.command(node, Command::Resend { transport, received });
            }
        }
        for publisher in roster.all().filter(|publisher| publisher.key != key) {
            let at = self.endpoints.node_of(publisher.key);
            if node.is_some() && (at == node || self.endpoints.is_linked(at, node)) {
                continue;
            }
            let Some(last) = received.get(&publisher.profile.sid) else {
                continue;
            };
            for sent in publisher.data.packets.missed_by(&participant.profile.identity, *last) {
                send_reliable(ctx, participant, &sent.message);
            }
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
    author: MessageAuthor<'a>,
    data: &'a mut DataState,
    /// The message was not passed on to others before.
    is_new: bool,
}

impl Sender<'_> {
    /// Checks a message and signs it with the sender's name.
    fn take(self, data: Option<Box<DataMessage>>) -> Result<Box<DataMessage>, Counter> {
        let mut data = data.ok_or(Counter::BadDataPacket)?;
        self.author.sign(&mut data)?;
        if self.is_new && data.reliable && !self.data.accept(data.sequence) {
            return Err(Counter::DuplicateDataPacket);
        }
        Ok(data)
    }
}
