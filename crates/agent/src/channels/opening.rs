//! Opening of channels, ours and the peer's, and of messages that wait for it.
//!
//! Source: RFC 8832 section 6.

use std::sync::Arc;
use std::time::Instant;

use sctp_proto::{PayloadProtocolIdentifier, ReliabilityType, StreamId};

use super::outbox::Standing;
use super::{Channels, Effect, Open, OpenState, dcep, give_up};
use crate::counters::Counter;
use crate::limits::{CHANNELS_MAX, OPENING_MAX};

impl Channels {
    /// The peer described itself, with a section for data channels or without one.
    pub(crate) fn described(&mut self, now: Instant, has_section: bool, effects: &mut Vec<Effect>) {
        self.has_none = !has_section;
        match (has_section, self.opening_until) {
            (true, None) if self.sctp.is_none() => self.opening_until = Some(now + OPENING_MAX),
            (false, Some(_)) if self.sctp.is_none() => self.stop_waiting(effects),
            _ => {}
        }
    }

    /// Opens our channels: even stream ids for the DTLS client, odd ones for the server (RFC 8832
    /// section 6).
    pub(super) fn open_ours(&mut self, effects: &mut Vec<Effect>) {
        let Some(sctp) = &mut self.sctp else { return };
        let first = sctp.first_stream();
        let Some(association) = sctp.association_mut() else {
            return;
        };
        for channel in self.to_open.drain(..) {
            let free = (first..)
                .step_by(2)
                .find(|id| !self.open.contains_key(id) && association.stream(*id).is_err());
            let opened = free.filter(|_| self.open.len() < CHANNELS_MAX).and_then(|id| {
                let mut stream = association.open_stream(id, PayloadProtocolIdentifier::Binary).ok()?;
                let (kind, value) = reliability(channel.retransmits_max);
                // Until the peer has agreed it may not know the channel's order; the handshake
                // itself is always ordered.
                stream
                    .set_reliability_params(false, ReliabilityType::Reliable, 0)
                    .ok()?;
                stream
                    .write_with_ppi(&dcep::open(&channel), PayloadProtocolIdentifier::Dcep)
                    .ok()?;
                stream.set_reliability_params(!channel.ordered, kind, value).ok()?;
                Some(id)
            });
            match opened {
                Some(id) => {
                    let lossy = channel.retransmits_max.is_some();
                    self.open.insert(
                        id,
                        Open {
                            label: channel.label,
                            state: OpenState::Asked,
                            lossy,
                        },
                    );
                }
                None => effects.push(Effect::Count(Counter::ChannelRefused)),
            }
        }
    }

    /// One message of the handshake that opens a channel.
    pub(super) fn handshake(&mut self, id: StreamId, message: &[u8], effects: &mut Vec<Effect>) {
        match dcep::parse(message) {
            Some(dcep::Message::Ack) => match self.open.get_mut(&id) {
                Some(open) if open.state == OpenState::Asked => {
                    open.state = OpenState::Agreed;
                    let (label, lossy) = (open.label.clone(), open.lossy);
                    self.opened(id, &label, lossy, effects);
                }
                _ => {}
            },
            Some(dcep::Message::Open(channel)) => match self.accept(id, channel) {
                Some((label, lossy)) => self.opened(id, &label, lossy, effects),
                None => effects.push(Effect::Count(Counter::ChannelRefused)),
            },
            None => effects.push(Effect::Count(Counter::ChannelRefused)),
        }
    }

    /// Sends the messages that waited for a channel. The first channel of a label is used for
    /// sending.
    fn opened(&mut self, id: StreamId, label: &Arc<str>, lossy: bool, effects: &mut Vec<Effect>) {
        effects.push(Effect::Opened(label.clone()));
        let Some(outbox) = self.outboxes.get_mut(label) else {
            return;
        };
        match outbox.standing {
            Standing::Open(_) => {}
            Standing::Opening if lossy => give_up(outbox, effects),
            Standing::Opening => outbox.standing = Standing::Open(id),
        }
    }

    /// Agrees to the peer's channel. The peer's ids are the ones that are not ours.
    fn accept(&mut self, id: StreamId, channel: dcep::Opened) -> Option<(Arc<str>, bool)> {
        let sctp = self.sctp.as_mut()?;
        if id % 2 == sctp.first_stream() || self.open.contains_key(&id) || self.open.len() >= CHANNELS_MAX {
            return None;
        }
        let association = sctp.association_mut()?;
        let mut stream = association.stream(id).ok()?;
        stream
            .write_with_ppi(&dcep::ACK, PayloadProtocolIdentifier::Dcep)
            .ok()?;
        stream
            .set_reliability_params(!channel.ordered, channel.reliability, channel.value)
            .ok()?;
        let lossy = channel.reliability != ReliabilityType::Reliable;
        self.open.insert(
            id,
            Open {
                label: channel.label.clone(),
                state: OpenState::Agreed,
                lossy,
            },
        );
        Some((channel.label, lossy))
    }
}

fn reliability(retransmits_max: Option<u16>) -> (ReliabilityType, u32) {
    match retransmits_max {
        None => (ReliabilityType::Reliable, 0),
        Some(max) => (ReliabilityType::Rexmit, max.into()),
    }
}
