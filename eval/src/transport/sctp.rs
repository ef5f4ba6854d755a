//! The data-channel side of a client: enough SCTP for the server to open its channels and count the
//! client as connected.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, ServerConfig, StreamEvent,
};

/// Leaves room for DTLS, UDP and IP headers on any path.
const PAYLOAD_MAX: u32 = 1100;
const DCEP_OPEN: u8 = 3;
const DCEP_ACK: u8 = 2;

/// One SCTP association inside a DTLS connection.
///
/// Messages on its channels are read and dropped: the bench measures media.
///
/// Source: RFC 8831, RFC 8832.
pub(crate) struct Sctp {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    peer: SocketAddr,
    established: bool,
    wanted: Vec<(u16, Vec<u8>)>,
    out: VecDeque<Vec<u8>>,
}

impl Sctp {
    /// An association that this end begins when `client`, and otherwise waits for. `channels` are
    /// opened by this end.
    pub(crate) fn new(client: bool, channels: &[(&str, bool)]) -> Self {
        let config = EndpointConfig::default().max_payload_size(PAYLOAD_MAX).clone();
        let mut endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(ServerConfig::default())));
        // Associations are distinguished by address; inside DTLS there is one peer without an
        // address.
        let peer = SocketAddr::from(([127, 0, 0, 1], 5000));
        let association = client
            .then(|| endpoint.connect(ClientConfig::default(), peer).ok())
            .flatten();
        // RFC 8832: the DTLS client's channels have even numbers.
        let first = u16::from(!client);
        let wanted = channels
            .iter()
            .enumerate()
            .map(|(index, (label, reliable))| (first + 2 * index as u16, open_message(label, *reliable)))
            .collect();
        Self {
            endpoint,
            association,
            peer,
            established: false,
            wanted,
            out: VecDeque::new(),
        }
    }

    /// Handles data that arrived inside DTLS.
    pub(crate) fn handle(&mut self, now: Instant, data: &[u8]) {
        let event = self
            .endpoint
            .handle(now, self.peer, None, None, Bytes::copy_from_slice(data));
        match event {
            Some((handle, DatagramEvent::NewAssociation(association))) if self.association.is_none() => {
                self.association = Some((handle, association));
            }
            Some((handle, DatagramEvent::AssociationEvent(event))) => {
                if let Some((known, association)) = &mut self.association
                    && *known == handle
                {
                    association.handle_event(event);
                }
            }
            _ => {}
        }
        self.run(now);
    }

    /// Lets its timers act.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some((_, association)) = &mut self.association
            && association.poll_timeout().is_some_and(|at| at <= now)
        {
            association.handle_timeout(now);
        }
        self.run(now);
    }

    /// A packet to be sent inside DTLS.
    pub(crate) fn poll(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    fn run(&mut self, now: Instant) {
        while let Some((handle, association)) = &mut self.association {
            let handle = *handle;
            let mut idle = true;
            while let Some(event) = association.poll_endpoint_event() {
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    association.handle_event(event);
                }
            }
            while let Some(event) = association.poll() {
                idle = false;
                match event {
                    Event::Connected => self.established = true,
                    Event::Stream(StreamEvent::Readable { id }) => read_stream(association, id),
                    _ => {}
                }
            }
            if self.established {
                for (id, open) in self.wanted.drain(..) {
                    idle = false;
                    if let Ok(mut stream) = association.open_stream(id, PayloadProtocolIdentifier::Dcep) {
                        let _ = stream.write_with_ppi(&open, PayloadProtocolIdentifier::Dcep);
                    }
                }
            }
            if idle {
                break;
            }
        }
        self.collect(now);
    }

    fn collect(&mut self, now: Instant) {
        let mut push = |payload| {
            if let Payload::RawEncode(parts) = payload {
                self.out.extend(parts.into_iter().map(|part| part.to_vec()));
            }
        };
        while let Some(transmit) = self.endpoint.poll_transmit() {
            push(transmit.payload);
        }
        if let Some((_, association)) = &mut self.association {
            while let Some(transmit) = association.poll_transmit(now) {
                push(transmit.payload);
            }
        }
    }
}

/// Reads a stream empty and accepts a channel that is opened on it.
fn read_stream(association: &mut Association, id: u16) {
    let Ok(mut stream) = association.stream(id) else { return };
    let mut opened = false;
    while let Ok(Some(chunks)) = stream.read() {
        let mut bytes = vec![0; chunks.len()];
        if chunks.read(&mut bytes).is_ok() && chunks.ppi == PayloadProtocolIdentifier::Dcep {
            opened |= bytes.first() == Some(&DCEP_OPEN);
        }
    }
    if opened {
        let _ = stream.write_with_ppi(&[DCEP_ACK], PayloadProtocolIdentifier::Dcep);
    }
}

/// DATA_CHANNEL_OPEN, RFC 8832 section 5.1.
fn open_message(label: &str, reliable: bool) -> Vec<u8> {
    // Channel type: reliable and ordered, or unordered with a limit (0) on retransmissions.
    let channel_type = if reliable { 0x00 } else { 0x81 };
    let mut message = vec![DCEP_OPEN, channel_type, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(&(label.len() as u16).to_be_bytes());
    message.extend_from_slice(&[0, 0]);
    message.extend_from_slice(label.as_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_establish_an_association_and_channels() {
        let now = crate::clock::now();
        let mut client = Sctp::new(true, &[("_reliable", true), ("_lossy", false)]);
        let mut server = Sctp::new(false, &[]);
        client.handle_timeout(now);
        for _ in 0..50 {
            while let Some(bytes) = client.poll() {
                server.handle(now, &bytes);
            }
            while let Some(bytes) = server.poll() {
                client.handle(now, &bytes);
            }
        }
        assert!(client.established && server.established && client.wanted.is_empty());
    }
}
