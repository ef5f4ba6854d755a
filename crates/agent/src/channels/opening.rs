//! Opening of channels, ours and the peer's, and of messages that wait for it.
//!
//! Source: RFC 8832 section 6.

use std::sync::Arc;
use std::time::Instant;

use sctp_proto::{Association, PayloadProtocolIdentifier, ReliabilityType, StreamId};
use southbound::{Channel, DtlsRole};

use super::outbox::Standing;
use super::{Channels, Effect, Open, OpenState, dcep, give_up};
use crate::counters::Counter;
use crate::limits::{CHANNELS_MAX, OPENING_MAX, STREAMS_MAX};

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

    /// Whether our side starts the association. A peer that takes it for one that goes on says
    /// nothing by itself.
    pub(super) fn begins(&self, role: DtlsRole) -> bool {
        role == DtlsRole::Client || self.to_open.iter().any(|channel| channel.stream.is_some())
    }

    /// Opens our channels: even stream ids for the DTLS client, odd ones for the server (RFC 8832
    /// section 6).
    pub(super) fn open_ours(&mut self, effects: &mut Vec<Effect>) {
        let Some(sctp) = &mut self.sctp else { return };
        let first = sctp.first_stream();
        let Some(association) = sctp.association_mut() else {
            return;
        };
        let mut known = Vec::new();
        // Streams that the peer knows are taken before others are chosen.
        self.to_open.sort_by_key(|channel| channel.stream.is_none());
        for channel in self.to_open.drain(..) {
            let free = |id: &StreamId| !self.open.contains_key(id) && association.stream(*id).is_err();
            let id = match channel.stream {
                Some(id) => Some(id).filter(|id| !self.open.contains_key(id) && *id < STREAMS_MAX),
                None => (first..).step_by(2).find(free),
            };
            let id = id.filter(|_| self.open.len() < CHANNELS_MAX);
            let Some(id) = id.filter(|id| begin(association, *id, &channel).is_some()) else {
                effects.push(Effect::Count(Counter::ChannelRefused));
                continue;
            };
            let lossy = channel.retransmits_max.is_some();
            let state = match channel.stream {
                Some(_) => OpenState::Agreed,
                None => OpenState::Asked,
            };
            if state == OpenState::Agreed {
                known.push((id, channel.label.clone(), lossy));
            }
            let label = channel.label;
            self.open.insert(id, Open { label, state, lossy });
        }
        for (id, label, lossy) in known {
            self.opened(id, &label, lossy, effects);
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

/// Opens the stream of a channel, and asks the peer to agree where it does not know the channel.
/// Messages of such an association may have come on the stream already.
fn begin(association: &mut Association, id: StreamId, channel: &Channel) -> Option<()> {
    let is_there = association.stream(id).is_ok();
    let mut stream = match is_there {
        true => association.stream(id).ok()?,
        false => association.open_stream(id, PayloadProtocolIdentifier::Binary).ok()?,
    };
    if channel.stream.is_none() {
        // Until the peer has agreed it may not know the channel's order; the handshake itself is
        // always ordered.
        stream
            .set_reliability_params(false, ReliabilityType::Reliable, 0)
            .ok()?;
        stream
            .write_with_ppi(&dcep::open(channel), PayloadProtocolIdentifier::Dcep)
            .ok()?;
    }
    let (kind, value) = reliability(channel.retransmits_max);
    stream.set_reliability_params(!channel.ordered, kind, value).ok()
}

fn reliability(retransmits_max: Option<u16>) -> (ReliabilityType, u32) {
    match retransmits_max {
        None => (ReliabilityType::Reliable, 0),
        Some(max) => (ReliabilityType::Rexmit, max.into()),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::channels::Letter;

    /// A channel that the peer knows by a stream.
    fn known(label: &str, stream: u16) -> Channel {
        Channel {
            label: label.into(),
            ordered: true,
            retransmits_max: None,
            stream: Some(stream),
        }
    }

    /// Delivers packets until none is left. Returns what else both ends want done.
    fn settle(ends: &mut [Channels; 2], now: Instant, mut effects: [Vec<Effect>; 2]) -> [Vec<Effect>; 2] {
        let mut others = [Vec::new(), Vec::new()];
        while effects.iter().any(|effects| !effects.is_empty()) {
            for end in 0..2 {
                for effect in std::mem::take(&mut effects[end]) {
                    match effect {
                        Effect::Send(packet) => ends[1 - end].receive(now, packet, &mut effects[1 - end]),
                        other => others[end].push(other),
                    }
                }
            }
        }
        others
    }

    #[test]
    fn channels_that_the_peer_knows_are_open_at_once() {
        let now = Instant::now();
        let channels = vec![known("_reliable", 6), known("_far", STREAMS_MAX), known("_twice", 6)];
        let mut ends = [Channels::new(channels, now), Channels::new(Vec::new(), now)];
        let mut effects = [Vec::new(), Vec::new()];
        // The peer says nothing by itself: it takes its association for one that goes on.
        for (end, effects) in ends.iter_mut().zip(&mut effects) {
            end.start(DtlsRole::Server, 5000, now, effects);
        }
        let others = settle(&mut ends, now, effects);
        let opened = others[0]
            .iter()
            .filter(|effect| matches!(effect, Effect::Opened(label) if &**label == "_reliable"));
        assert_eq!(opened.count(), 1);
        let refused = others[0]
            .iter()
            .filter(|effect| matches!(effect, Effect::Count(Counter::ChannelRefused)));
        assert_eq!(refused.count(), 2, "a stream beyond the limit, and one that is taken");
        let label: Arc<str> = "_reliable".into();
        let there = Open {
            label: label.clone(),
            state: OpenState::Agreed,
            lossy: false,
        };
        ends[1].open.insert(6, there);
        for from in 0..2 {
            let mut effects = [Vec::new(), Vec::new()];
            let letter = Letter {
                label: &label,
                payload: b"hello"[..].into(),
                reliable: true,
                message: None,
                unpaced_max: None,
            };
            ends[from].send(now, letter, &mut effects[from]);
            ends[from].handle_timeout(now, &mut effects[from]);
            settle(&mut ends, now, effects);
            assert_eq!(ends[1 - from].take().map(|(label, _)| label), Some(label.clone()));
        }
    }
}
