//! Data channels of one transport: SCTP over DTLS, and the handshake that names a channel (RFC 8832).
//!
//! Both sides may open channels; a label names one for the controller. A peer that floods costs itself its messages, a peer that
//! does not read costs itself its own: a channel that may lose messages drops the newest, one that may not ends its transport.
//!
//! Source: RFC 8831, RFC 8832.

mod dcep;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, EndpointEvent, Event,
    Payload, PayloadProtocolIdentifier, ReliabilityType, ServerConfig, StreamEvent, StreamId, TransportConfig,
};
use southbound::{Channel, DtlsRole};

use crate::Counter;
use crate::limits::{
    CHANNELS_MAX, LOSSY_BUFFER_MAX, MESSAGE_MAX, MESSAGES_PER_SECOND_MAX, RECEIVE_BUFFER_MAX, RELIABLE_BUFFER_MAX,
};

/// SCTP asks for the peer's address; under DTLS there is none, and one is as good as another.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5000);

/// All data channels of one transport.
pub(crate) struct Channels {
    role: DtlsRole,
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    /// Ours, until SCTP is up.
    to_open: Vec<Channel>,
    open: BTreeMap<StreamId, Open>,
    window: (Instant, u32),
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
    /// Both know it.
    Agreed,
}

/// What the channels want done.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Send this to the peer as DTLS application data.
    Send(Vec<u8>),
    /// A channel is open in both directions.
    Opened(Arc<str>),
    /// A message arrived.
    Received(Arc<str>, Arc<[u8]>),
    /// Something was refused.
    Count(Counter),
    /// The transport is to be closed: its peer does not take what it must.
    Overflow,
}

impl Channels {
    /// Channels over DTLS in which we have `role`; `to_open` are opened as soon as SCTP is up. The DTLS client starts SCTP.
    pub(crate) fn new(role: DtlsRole, port: u16, to_open: Vec<Channel>, now: Instant) -> Self {
        let transport = TransportConfig::default()
            .with_max_receive_buffer_size(RECEIVE_BUFFER_MAX)
            .with_max_receive_message_size(MESSAGE_MAX as u32)
            .with_max_send_message_size(MESSAGE_MAX as u32)
            .with_max_num_inbound_streams(1024)
            .with_max_num_outbound_streams(1024)
            .with_max_init_retransmits(None)
            .with_rto_initial_ms(500)
            .with_rto_min_ms(200)
            .with_rto_max_ms(10_000)
            .with_remote_port(port);
        let transport = Arc::new(transport);
        let mut server = ServerConfig::default();
        server.transport = transport.clone();
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::new()), Some(Arc::new(server)));
        let association = (role == DtlsRole::Client).then(|| {
            let mut config = ClientConfig::default();
            config.transport = transport;
            let association = endpoint.connect(config, PEER).ok();
            endpoint.reject_new_associations();
            association
        });
        let (open, window) = (BTreeMap::new(), (now, 0));
        Channels {
            role,
            endpoint,
            association: association.flatten(),
            to_open,
            open,
            window,
        }
    }

    /// Takes in one SCTP packet.
    pub(crate) fn receive(&mut self, now: Instant, packet: Vec<u8>, effects: &mut Vec<Effect>) {
        match self.endpoint.handle(now, PEER, None, None, Bytes::from(packet)) {
            None => effects.push(Effect::Count(Counter::SctpMalformed)),
            Some((handle, DatagramEvent::NewAssociation(association))) => self.adopt(handle, association, effects),
            Some((handle, DatagramEvent::AssociationEvent(event))) => match &mut self.association {
                Some((ours, association)) if *ours == handle => association.handle_event(event),
                _ => effects.push(Effect::Count(Counter::SctpMalformed)),
            },
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
            .association
            .as_ref()
            .is_some_and(|(_, association)| !association.is_handshaking())
        {
            self.open_ours(effects);
            self.pump(now, effects);
        }
    }

    /// Sends one binary message.
    pub(crate) fn send(&mut self, now: Instant, label: &str, payload: &[u8], effects: &mut Vec<Effect>) {
        if let Err(effect) = self.write(label, payload) {
            effects.push(effect);
        }
        self.pump(now, effects);
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
        self.pump(now, effects);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.association
            .as_ref()
            .and_then(|(_, association)| association.poll_timeout())
    }

    /// The peer starts SCTP. One association is enough for a lifetime; only one that is closed is replaced.
    fn adopt(&mut self, handle: AssociationHandle, association: Association, effects: &mut Vec<Effect>) {
        match self.association.take_if(|(_, old)| old.is_closed()) {
            None if self.association.is_some() => {
                self.endpoint.handle_event(handle, EndpointEvent::drained());
                effects.push(Effect::Count(Counter::SctpMalformed));
            }
            closed => {
                if let Some((old, _)) = closed {
                    self.endpoint.handle_event(old, EndpointEvent::drained());
                }
                self.association = Some((handle, association));
            }
        }
    }

    fn pump(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        while let Some(event) = self
            .association
            .as_mut()
            .and_then(|(_, association)| association.poll())
        {
            self.handle_event(now, event, effects);
        }
        let Some((_, association)) = &mut self.association else {
            return;
        };
        while let Some(transmit) = association.poll_transmit(now) {
            if let Payload::RawEncode(packets) = transmit.payload {
                effects.extend(packets.into_iter().map(|packet| Effect::Send(packet.to_vec())));
            }
        }
    }

    fn handle_event(&mut self, now: Instant, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Connected => self.open_ours(effects),
            Event::Stream(StreamEvent::Readable { id }) => self.read(now, id, effects),
            Event::Stream(StreamEvent::Finished { id }) => {
                self.open.remove(&id);
            }
            Event::HandshakeFailed { .. } | Event::AssociationLost { .. } => {
                self.open.clear();
                effects.push(Effect::Count(Counter::SctpFailed));
            }
            _ => {}
        }
    }

    /// Opens our channels: even stream ids for the DTLS client, odd ones for the server (RFC 8832 section 6).
    fn open_ours(&mut self, effects: &mut Vec<Effect>) {
        let Some((_, association)) = &mut self.association else {
            return;
        };
        for channel in self.to_open.drain(..) {
            let first = u16::from(self.role == DtlsRole::Server);
            let free = (first..)
                .step_by(2)
                .find(|id| !self.open.contains_key(id) && association.stream(*id).is_err());
            let opened = free.filter(|_| self.open.len() < CHANNELS_MAX).and_then(|id| {
                let mut stream = association.open_stream(id, PayloadProtocolIdentifier::Binary).ok()?;
                let (kind, value) = reliability(channel.retransmits_max);
                // Until the peer has agreed it may not know the channel's order; the handshake itself is always ordered.
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

    fn read(&mut self, now: Instant, id: StreamId, effects: &mut Vec<Effect>) {
        loop {
            let Some((_, association)) = &mut self.association else {
                return;
            };
            let Ok(mut stream) = association.stream(id) else { return };
            let Ok(Some(chunks)) = stream.read_sctp() else { return };
            let mut message = vec![0; chunks.len()];
            if chunks.read(&mut message).is_err() {
                return;
            }
            match chunks.ppi {
                PayloadProtocolIdentifier::Dcep => self.handshake(id, &message, effects),
                PayloadProtocolIdentifier::StringEmpty | PayloadProtocolIdentifier::BinaryEmpty => {
                    self.deliver(now, id, &[], effects);
                }
                _ => self.deliver(now, id, &message, effects),
            }
        }
    }

    fn deliver(&mut self, now: Instant, id: StreamId, message: &[u8], effects: &mut Vec<Effect>) {
        if now.saturating_duration_since(self.window.0) >= Duration::from_secs(1) {
            self.window = (now, 0);
        }
        self.window.1 += 1;
        let effect = match self.open.get(&id) {
            None => Effect::Count(Counter::ChannelNotOpen),
            Some(_) if self.window.1 > MESSAGES_PER_SECOND_MAX => Effect::Count(Counter::MessageFlood),
            Some(_) if message.len() > MESSAGE_MAX => Effect::Count(Counter::MessageOversized),
            Some(open) => Effect::Received(open.label.clone(), message.into()),
        };
        effects.push(effect);
    }

    /// One message of the handshake that opens a channel.
    fn handshake(&mut self, id: StreamId, message: &[u8], effects: &mut Vec<Effect>) {
        match dcep::parse(message) {
            Some(dcep::Message::Ack) => match self.open.get_mut(&id) {
                Some(open) if open.state == OpenState::Asked => {
                    open.state = OpenState::Agreed;
                    effects.push(Effect::Opened(open.label.clone()));
                }
                _ => {}
            },
            Some(dcep::Message::Open(channel)) => match self.accept(id, channel) {
                Some(label) => effects.push(Effect::Opened(label)),
                None => effects.push(Effect::Count(Counter::ChannelRefused)),
            },
            None => effects.push(Effect::Count(Counter::ChannelRefused)),
        }
    }

    /// Agrees to the peer's channel. The peer's ids are those that are not ours.
    fn accept(&mut self, id: StreamId, channel: dcep::Opened) -> Option<Arc<str>> {
        let ours = u16::from(self.role == DtlsRole::Server);
        if id % 2 == ours || self.open.contains_key(&id) || self.open.len() >= CHANNELS_MAX {
            return None;
        }
        let (_, association) = self.association.as_mut()?;
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
        Some(channel.label)
    }

    fn write(&mut self, label: &str, payload: &[u8]) -> Result<(), Effect> {
        let refuse = |counter| Err(Effect::Count(counter));
        let agreed = |open: &&Open| open.state == OpenState::Agreed && &*open.label == label;
        let Some((id, open)) = self.open.iter().find(|(_, open)| agreed(open)) else {
            return refuse(Counter::ChannelNotOpen);
        };
        if payload.len() > MESSAGE_MAX {
            return refuse(Counter::MessageOversized);
        }
        let Some((_, association)) = &mut self.association else {
            return refuse(Counter::ChannelNotOpen);
        };
        let Ok(mut stream) = association.stream(*id) else {
            return refuse(Counter::ChannelNotOpen);
        };
        let waiting = stream.buffered_amount().unwrap_or(0) + payload.len();
        if open.lossy && waiting > LOSSY_BUFFER_MAX {
            return refuse(Counter::ChannelCongested);
        }
        if waiting > RELIABLE_BUFFER_MAX {
            return Err(Effect::Overflow);
        }
        // SCTP cannot carry nothing: an empty message is one byte with a type that says so (RFC 8831 section 6.6).
        let written = match payload {
            [] => stream.write_with_ppi(&[0], PayloadProtocolIdentifier::BinaryEmpty),
            _ => stream.write_with_ppi(payload, PayloadProtocolIdentifier::Binary),
        };
        written.map(|_| ()).map_err(|_| Effect::Count(Counter::ChannelNotOpen))
    }
}

fn reliability(retransmits_max: Option<u16>) -> (ReliabilityType, u32) {
    match retransmits_max {
        None => (ReliabilityType::Reliable, 0),
        Some(max) => (ReliabilityType::Rexmit, max.into()),
    }
}
