//! The SCTP association of one transport, by `sctp-proto`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, EndpointEvent,
    PayloadProtocolIdentifier, ServerConfig, TransportConfig,
};
use southbound::DtlsRole;

use crate::counters::Counter;
use crate::limits::{MESSAGE_MAX, RECEIVE_BUFFER_MAX, STREAMS_MAX};

/// SCTP asks for the peer's address; under DTLS there is none, and one is as good as another.
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5000);

/// At most one association at a time.
pub(super) struct Sctp {
    role: DtlsRole,
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
}

impl Sctp {
    /// Our side starts the association, or waits for the peer to do it.
    pub(super) fn new(role: DtlsRole, starts: bool, port: u16) -> Self {
        let transport = Arc::new(
            TransportConfig::default()
                .with_max_receive_buffer_size(RECEIVE_BUFFER_MAX)
                .with_max_receive_message_size(MESSAGE_MAX as u32)
                .with_max_send_message_size(MESSAGE_MAX as u32)
                .with_max_num_inbound_streams(STREAMS_MAX)
                .with_max_num_outbound_streams(STREAMS_MAX)
                .with_max_init_retransmits(None)
                .with_rto_initial_ms(500)
                .with_rto_min_ms(200)
                .with_rto_max_ms(10_000)
                .with_remote_port(port),
        );
        let mut server = ServerConfig::default();
        server.transport = transport.clone();
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::new()), Some(Arc::new(server)));
        let association = starts.then(|| {
            let mut config = ClientConfig::default();
            config.transport = transport;
            let association = endpoint.connect(config, PEER).ok();
            endpoint.reject_new_associations();
            association
        });
        Sctp {
            role,
            endpoint,
            association: association.flatten(),
        }
    }

    pub(super) fn association(&self) -> Option<&Association> {
        self.association.as_ref().map(|(_, association)| association)
    }

    pub(super) fn association_mut(&mut self) -> Option<&mut Association> {
        self.association.as_mut().map(|(_, association)| association)
    }

    /// The first of our stream ids: even ones are the DTLS client's, odd ones the server's (RFC
    /// 8832 section 6).
    pub(super) fn first_stream(&self) -> u16 {
        u16::from(self.role == DtlsRole::Server)
    }

    /// Takes in one packet.
    pub(super) fn receive(&mut self, now: Instant, packet: Vec<u8>) -> Result<(), Counter> {
        match self.endpoint.handle(now, PEER, None, None, Bytes::from(packet)) {
            // Nothing but the start of an association has meaning without one.
            None if self.association.is_none() => Err(Counter::SctpUnexpected),
            None => Err(Counter::SctpMalformed),
            Some((handle, DatagramEvent::NewAssociation(association))) => self.adopt(handle, association),
            Some((handle, DatagramEvent::AssociationEvent(event))) => match &mut self.association {
                Some((ours, association)) if *ours == handle => {
                    association.handle_event(event);
                    Ok(())
                }
                _ => Err(Counter::SctpMalformed),
            },
        }
    }

    /// Forgets the association. The peer may start another one.
    pub(super) fn drop_association(&mut self) {
        if let Some((handle, _)) = self.association.take() {
            self.endpoint.handle_event(handle, EndpointEvent::drained());
        }
    }

    /// The peer starts SCTP. Only an association that is closed is replaced.
    fn adopt(&mut self, handle: AssociationHandle, association: Association) -> Result<(), Counter> {
        if self.association().is_some_and(|old| !old.is_closed()) {
            self.endpoint.handle_event(handle, EndpointEvent::drained());
            return Err(Counter::SctpMalformed);
        }
        self.drop_association();
        self.association = Some((handle, association));
        Ok(())
    }
}

/// SCTP cannot send an empty message, so it is one byte with a type for that (RFC 8831 section
/// 6.6).
pub(super) fn write(stream: &mut sctp_proto::Stream<'_>, payload: &[u8]) -> Result<(), sctp_proto::Error> {
    match payload {
        [] => stream.write_with_ppi(&[0], PayloadProtocolIdentifier::BinaryEmpty),
        _ => stream.write_with_ppi(payload, PayloadProtocolIdentifier::Binary),
    }
    .map(drop)
}
