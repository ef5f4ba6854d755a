//! Data channels of one transport: SCTP over DTLS, and the handshake that names a channel (RFC
//! 8832).
//!
//! Both sides may open channels; a label names one for the controller. A reliable channel stays
//! reliable here: its incoming messages wait in the inbox until they can be passed on, and the
//! peer's window shrinks by their size. Its outgoing messages wait in an outbox. A peer that reads
//! nothing for too long loses its SCTP association and keeps its call. A channel that may lose
//! messages drops the newest.
//!
//! Source: RFC 8831, RFC 8832.

pub mod dcep;
mod guard;
mod opening;
mod outbox;
pub mod packets;
mod sctp;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use sctp_proto::{Event, Payload, PayloadProtocolIdentifier, StreamEvent, StreamId};
use southbound::{Channel, ChannelEnd, DtlsRole, MessageId};

use crate::counters::Counter;
use crate::limits::{
    INBOX_MAX, LOSSY_BUFFER_MAX, MESSAGE_COST, MESSAGE_MAX, OPENING_MAX, RECEIVE_BUFFER_MAX, SCTP_BUFFER_MAX,
};
use guard::{Finding, Guard};
use outbox::{Outbox, Standing, Waiting};
use packets::Said;
use sctp::{Sctp, write};

/// All data channels of one transport.
pub(crate) struct Channels {
    sctp: Option<Sctp>,
    /// Ours, until SCTP is up.
    to_open: Vec<Channel>,
    open: BTreeMap<StreamId, Open>,
    /// Streams that may have a message to read, and the first whose turn it is.
    unread: BTreeSet<StreamId>,
    turn: StreamId,
    /// Messages that arrived on reliable channels.
    inbox: VecDeque<(Arc<str>, Arc<[u8]>)>,
    inbox_cost: usize,
    outboxes: BTreeMap<Arc<str>, Outbox>,
    /// Bytes that SCTP may have of one of them.
    share: usize,
    /// Until when messages wait for channels that are not open yet.
    opening_until: Option<Instant>,
    /// The peer's description has no section for data channels.
    has_none: bool,
    said: Said,
    guard: Guard,
    /// Since when there may be something to send.
    unsent: Option<Instant>,
    /// Whether the peer has said that it ends the association.
    goodbye: bool,
}

/// A channel with its stream.
#[derive(Debug)]
struct Open {
    label: Arc<str>,
    state: OpenState,
    lossy: bool,
}

/// Whether the peer has agreed to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenState {
    /// We asked.
    Asked,
    /// Both sides know it.
    Agreed,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Letter<'a> {
    pub(crate) label: &'a Arc<str>,
    pub(crate) payload: Arc<[u8]>,
    /// Whether it waits for a channel that is not open yet.
    pub(crate) reliable: bool,
    /// The name by which the ledger hears that SCTP has it or that it will not be sent.
    pub(crate) message: Option<MessageId>,
    /// How many bytes of its kind may wait for the receiver, if its sender cannot wait.
    pub(crate) unpaced_max: Option<usize>,
}

/// Actions that the channels ask of their transport.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Send this to the peer as DTLS application data.
    Send(Vec<u8>),
    /// A channel is open in both directions.
    Opened(Arc<str>),
    /// A channel is not open any more.
    Closed(Arc<str>, ChannelEnd),
    /// A message arrived on a channel that may lose messages.
    Received(Arc<str>, Arc<[u8]>),
    /// This receiver's part of a message is done.
    Taken(MessageId),
    /// Something was refused.
    Count(Counter),
}

impl Channels {
    /// Channels of a transport that is not connected yet. `to_open` are opened as soon as SCTP is
    /// up.
    pub(crate) fn new(to_open: Vec<Channel>, now: Instant) -> Self {
        Channels {
            sctp: None,
            to_open,
            open: BTreeMap::new(),
            unread: BTreeSet::new(),
            turn: 0,
            inbox: VecDeque::new(),
            inbox_cost: 0,
            outboxes: BTreeMap::new(),
            share: SCTP_BUFFER_MAX,
            opening_until: Some(now + OPENING_MAX),
            has_none: false,
            said: Said::default(),
            guard: Guard::default(),
            unsent: None,
            goodbye: false,
        }
    }

    pub(crate) fn has_started(&self) -> bool {
        self.sctp.is_some()
    }

    /// SCTP starts, over DTLS in which we have `role`.
    pub(crate) fn start(&mut self, role: DtlsRole, port: u16, now: Instant, effects: &mut Vec<Effect>) {
        self.sctp = Some(Sctp::new(role, self.begins(role), port));
        self.pump(now, effects);
    }

    /// Takes in one SCTP packet.
    pub(crate) fn receive(&mut self, now: Instant, packet: Vec<u8>, effects: &mut Vec<Effect>) {
        let room = self.room();
        let Some(sctp) = &mut self.sctp else {
            return effects.push(Effect::Count(Counter::SctpUnexpected));
        };
        self.goodbye |= packets::is_goodbye(&packet);
        let is_full = self.inbox_cost >= INBOX_MAX && packets::has_data(&packet);
        let finding = match sctp.association() {
            Some(_) => self.guard.look(&packet),
            None => Finding::Fine,
        };
        let packet = match finding {
            Finding::Fragments => {
                effects.push(Effect::Count(Counter::SctpMalformed));
                return self.abort(ChannelEnd::Peer, effects);
            }
            Finding::Fine if !is_full => Some(packet),
            Finding::Fine | Finding::Ahead => {
                effects.push(Effect::Count(Counter::SctpPutOff));
                effects.extend(self.said.again(room).map(Effect::Send));
                packets::without_data(&packet)
            }
        };
        if let Some(Err(counter)) = packet.map(|packet| sctp.receive(now, packet)) {
            effects.push(Effect::Count(counter));
        }
        self.pump(now, effects);
    }

    /// Opens more channels.
    pub(crate) fn open(&mut self, now: Instant, channels: &[Channel], effects: &mut Vec<Effect>) {
        let known = |channel: &Channel, this: &Self| {
            this.to_open.contains(channel) || this.open.values().any(|open| open.label == channel.label)
        };
        let new: Vec<_> = channels
            .iter()
            .filter(|channel| !known(channel, self))
            .cloned()
            .collect();
        self.to_open.extend(new);
        if self
            .association()
            .is_some_and(|association| !association.is_handshaking())
        {
            self.open_ours(effects);
            self.pump(now, effects);
        }
    }

    /// Takes one binary message to send. It is sent together with the others of the same input, so
    /// that small ones share packets, or as soon as it can be.
    pub(crate) fn send(&mut self, now: Instant, letter: Letter<'_>, effects: &mut Vec<Effect>) {
        let agreed = |open: &&Open| open.state == OpenState::Agreed && open.label == *letter.label;
        let channel = self
            .open
            .iter()
            .find(|(_, open)| agreed(open))
            .map(|(id, open)| (*id, open.lossy));
        let refused = match channel {
            _ if letter.payload.len() > MESSAGE_MAX => Some(Counter::MessageOversized),
            Some((id, true)) => self.write_lossy(id, &letter.payload).err(),
            Some((id, false)) => self.keep(now, &letter, Standing::Open(id)).err(),
            None if letter.reliable && self.opening_until.is_some() => self.keep(now, &letter, Standing::Opening).err(),
            None => Some(Counter::ChannelNotOpen),
        };
        if self.has_none && refused == Some(Counter::ChannelNotOpen) {
            // It is as if the message were not for this peer.
            return effects.extend(letter.message.map(Effect::Taken));
        }
        let is_kept = refused.is_none() && channel.is_none_or(|(_, lossy)| !lossy);
        effects.extend(refused.map(Effect::Count));
        if !is_kept {
            effects.extend(letter.message.map(Effect::Taken));
        }
        self.unsent.get_or_insert(now);
    }

    /// The oldest message that arrived on a reliable channel.
    pub(crate) fn take(&mut self) -> Option<(Arc<str>, Arc<[u8]>)> {
        let (label, payload) = self.inbox.pop_front()?;
        self.inbox_cost -= payload.len() + MESSAGE_COST;
        Some((label, payload))
    }

    pub(crate) fn has_messages(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// After messages were taken: reads more, and tells the peer of the room there is.
    pub(crate) fn resume(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.pump(now, effects);
        let room = self.room();
        if self.association().is_some_and(|association| !association.is_closed()) {
            effects.extend(self.said.update(room, RECEIVE_BUFFER_MAX).map(Effect::Send));
        }
    }

    /// Bytes of messages that must arrive and that the peer has not acknowledged.
    #[cfg(test)]
    pub(crate) fn unsent(&self) -> usize {
        self.outboxes.values().map(Outbox::unsent).sum()
    }

    /// SCTP may have so many bytes of a channel from now on.
    pub(crate) fn set_share(&mut self, bytes: usize) {
        self.share = bytes;
    }

    /// Bytes that SCTP has of messages that must arrive.
    pub(crate) fn buffered(&self) -> usize {
        self.outboxes.values().map(Outbox::buffered).sum()
    }

    /// Handles timeouts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.opening_until.is_some_and(|until| until <= now) {
            self.stop_waiting(effects);
        }
        if let Some(association) = self.sctp.as_mut().and_then(Sctp::association_mut) {
            association.handle_timeout(now);
        }
        self.pump(now, effects);
        if self.too_slow_at().is_some_and(|at| at <= now) {
            effects.push(Effect::Count(Counter::ChannelTooSlow));
            self.abort(ChannelEnd::TooSlow, effects);
        }
    }

    /// Ends the association, because the memory that SCTP holds for it cannot be freed otherwise.
    pub(crate) fn abort(&mut self, why: ChannelEnd, effects: &mut Vec<Effect>) {
        effects.extend(self.said.abort().map(Effect::Send));
        self.end(why, effects);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let association = self.association().and_then(|association| association.poll_timeout());
        let waits = self
            .outboxes
            .values()
            .any(|outbox| outbox.standing == Standing::Opening && !outbox.is_empty());
        let opening = self.opening_until.filter(|_| waits);
        let due = [self.unsent, association, self.too_slow_at(), opening];
        due.into_iter().flatten().min()
    }

    /// Ends the association, whichever side ended it: nothing more can be sent. Messages that
    /// arrived earlier can still be passed on.
    pub(crate) fn end(&mut self, why: ChannelEnd, effects: &mut Vec<Effect>) {
        self.opening_until = None;
        self.unread.clear();
        self.said = Said::default();
        self.guard = Guard::default();
        let open = std::mem::take(&mut self.open).into_values();
        effects.extend(
            open.filter(|open| open.state == OpenState::Agreed)
                .map(|open| Effect::Closed(open.label, why)),
        );
        for mut outbox in std::mem::take(&mut self.outboxes).into_values() {
            give_up(&mut outbox, effects);
        }
        if let Some(sctp) = &mut self.sctp {
            sctp.drop_association();
        }
    }

    fn association(&self) -> Option<&sctp_proto::Association> {
        self.sctp.as_ref().and_then(Sctp::association)
    }

    /// When the peer has taken too long.
    fn too_slow_at(&self) -> Option<Instant> {
        let open = self
            .outboxes
            .values()
            .filter(|outbox| matches!(outbox.standing, Standing::Open(_)));
        open.filter_map(Outbox::deadline).min()
    }

    /// No channel will open soon that is not open.
    fn stop_waiting(&mut self, effects: &mut Vec<Effect>) {
        self.opening_until = None;
        let opening = self
            .outboxes
            .values_mut()
            .filter(|outbox| outbox.standing == Standing::Opening);
        opening.for_each(|outbox| give_up(outbox, effects));
    }

    /// The most that the peer's window may be.
    fn room(&self) -> u32 {
        RECEIVE_BUFFER_MAX.saturating_sub(self.inbox_cost as u32)
    }

    fn pump(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.unsent = None;
        loop {
            let association = self.sctp.as_mut().and_then(Sctp::association_mut);
            let Some(event) = association.and_then(|association| association.poll()) else {
                break;
            };
            self.handle_event(event, effects);
        }
        self.read(effects);
        self.flush(now, effects);
        let room = self.room();
        let Some(association) = self.sctp.as_mut().and_then(Sctp::association_mut) else {
            return;
        };
        while let Some(transmit) = association.poll_transmit(now) {
            if let Payload::RawEncode(packets) = transmit.payload {
                let packets = packets.iter().map(|packet| self.said.limit(packet, room));
                effects.extend(packets.map(Effect::Send));
            }
        }
        if let Some((cumulative, window)) = self.said.news.take() {
            self.guard.acknowledged(cumulative, window == RECEIVE_BUFFER_MAX);
        }
    }

    fn handle_event(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Connected => self.open_ours(effects),
            Event::Stream(StreamEvent::Readable { id }) => drop(self.unread.insert(id)),
            Event::Stream(StreamEvent::Finished { id }) => self.finished(id, effects),
            Event::HandshakeFailed { .. } | Event::AssociationLost { .. } => {
                if !std::mem::take(&mut self.goodbye) {
                    effects.push(Effect::Count(Counter::SctpFailed));
                }
                self.end(ChannelEnd::Peer, effects);
            }
            _ => {}
        }
    }

    /// The peer closed a channel.
    fn finished(&mut self, id: StreamId, effects: &mut Vec<Effect>) {
        let Some(Open { label, state, .. }) = self.open.remove(&id) else {
            return;
        };
        if self
            .outboxes
            .get(&label)
            .is_some_and(|outbox| outbox.standing == Standing::Open(id))
            && let Some(mut outbox) = self.outboxes.remove(&label)
        {
            give_up(&mut outbox, effects);
        }
        if state == OpenState::Agreed {
            effects.push(Effect::Closed(label, ChannelEnd::Peer));
        }
    }

    /// Reads whole messages as long as there is room for them.
    fn read(&mut self, effects: &mut Vec<Effect>) {
        while self.inbox_cost < INBOX_MAX {
            let next = self.unread.range(self.turn..).next().or(self.unread.first());
            let Some(id) = next.copied() else { return };
            self.turn = id.wrapping_add(1);
            let association = self.sctp.as_mut().and_then(Sctp::association_mut);
            let mut stream = association.and_then(|association| association.stream(id).ok());
            let Some(chunks) = stream.as_mut().and_then(|stream| stream.read_sctp().ok().flatten()) else {
                self.unread.remove(&id);
                continue;
            };
            self.guard.read(chunks.chunks.len());
            let mut message = vec![0; chunks.len()];
            if chunks.read(&mut message).is_err() {
                continue;
            }
            match chunks.ppi {
                PayloadProtocolIdentifier::Dcep => self.handshake(id, &message, effects),
                PayloadProtocolIdentifier::StringEmpty | PayloadProtocolIdentifier::BinaryEmpty => {
                    self.deliver(id, &[], effects);
                }
                _ => self.deliver(id, &message, effects),
            }
        }
    }

    fn deliver(&mut self, id: StreamId, message: &[u8], effects: &mut Vec<Effect>) {
        match self.open.get(&id) {
            None => effects.push(Effect::Count(Counter::ChannelNotOpen)),
            Some(_) if message.len() > MESSAGE_MAX => effects.push(Effect::Count(Counter::MessageOversized)),
            Some(open) if open.lossy => effects.push(Effect::Received(open.label.clone(), message.into())),
            Some(open) => {
                self.inbox_cost += message.len() + MESSAGE_COST;
                self.inbox.push_back((open.label.clone(), message.into()));
            }
        }
    }

    /// Appends a reliable message to its outbox.
    fn keep(&mut self, now: Instant, letter: &Letter<'_>, standing: Standing) -> Result<(), Counter> {
        let outbox = self.outboxes.entry(letter.label.clone()).or_default();
        if outbox.standing == Standing::Opening {
            outbox.standing = standing;
        }
        let waiting = Waiting {
            message: letter.message,
            payload: letter.payload.clone(),
            since: now,
            is_unpaced: letter.unpaced_max.is_some(),
        };
        outbox.push(waiting, letter.unpaced_max)
    }

    fn write_lossy(&mut self, id: StreamId, payload: &[u8]) -> Result<(), Counter> {
        let association = self.sctp.as_mut().and_then(Sctp::association_mut);
        let mut stream = association
            .and_then(|association| association.stream(id).ok())
            .ok_or(Counter::ChannelNotOpen)?;
        if stream.buffered_amount().unwrap_or(0) + payload.len() > LOSSY_BUFFER_MAX {
            return Err(Counter::ChannelCongested);
        }
        write(&mut stream, payload).map_err(|_| Counter::ChannelNotOpen)
    }

    /// Gives SCTP as many waiting messages as it can take.
    fn flush(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let Some(association) = self.sctp.as_mut().and_then(Sctp::association_mut) else {
            return;
        };
        for outbox in self.outboxes.values_mut() {
            let Standing::Open(id) = outbox.standing else { continue };
            let Ok(mut stream) = association.stream(id) else {
                give_up(outbox, effects);
                continue;
            };
            outbox.acknowledged(now, stream.buffered_amount().unwrap_or(0));
            while let Some(next) = outbox.pop(self.share) {
                effects.extend(next.message.map(Effect::Taken));
                if write(&mut stream, &next.payload).is_err() {
                    effects.push(Effect::Count(Counter::MessageUnsent));
                    give_up(outbox, effects);
                }
            }
        }
    }
}

/// Drops the messages of a channel on which nothing more can be sent.
fn give_up(outbox: &mut Outbox, effects: &mut Vec<Effect>) {
    for unsent in outbox.close() {
        effects.push(Effect::Count(Counter::MessageUnsent));
        effects.extend(unsent.message.map(Effect::Taken));
    }
}
