//! One peer connection's path to the server: socket, ICE, DTLS, SRTP and, inside DTLS, SCTP.

mod error;
mod handshake;
mod identity;
mod media;
mod route;
mod sctp;
pub mod sdp;
mod srtp;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::srtp::rtp_overhead;
use dataplane::SrtpProfile;
use dimpl::Dtls;
use is::stun::{StunMessage, StunPacket};
use is::{Candidate, IceAgent, IceAgentEvent, IceCreds, Protocol};
use wire::PacketKind;

use crate::net::Datagram;
use handshake::Handshake;
use route::Forwarder;
use sctp::Sctp;
use sdp::{Description, Media, Setup};
use srtp::Srtp;

pub use error::TransportError;
pub use identity::Identity;
pub(crate) use route::Route;
pub use route::RouteKind;
pub use srtp::seal_rtcp;

/// The contents of a datagram, decrypted.
pub enum Incoming<'a> {
    /// An RTP packet.
    Rtp(&'a [u8]),
    /// A compound RTCP packet.
    Rtcp(&'a [u8]),
    /// Nothing for the media layer: it was the transport's own, or it was refused and counted.
    Nothing,
}

/// A transport from its first offer to its end.
pub struct Transport {
    socket: Arc<UdpSocket>,
    local: SocketAddr,
    remote: Option<SocketAddr>,
    route: Route,
    /// By the server's candidates.
    forwarders: Vec<(SocketAddr, Forwarder)>,
    identity: Arc<Identity>,
    ice: IceAgent,
    handshake: Option<Handshake>,
    srtp: Option<Srtp>,
    sctp: Option<Sctp>,
    wake_at: Instant,
    refused: u64,
}

/// How often timers that have no deadline of their own are looked at.
const IDLE_WAKE: Duration = Duration::from_millis(100);

impl Transport {
    /// Opens a socket on `local_ip` and prepares credentials. `offerer` controls ICE unless the
    /// server is an ICE-lite agent.
    pub fn new(identity: Arc<Identity>, local_ip: IpAddr, offerer: bool, now: Instant) -> Result<Self, TransportError> {
        let socket = Arc::new(crate::net::open(local_ip).map_err(TransportError::Socket)?);
        let local = socket.local_addr().map_err(TransportError::Socket)?;
        let mut ice = IceAgent::new(IceCreds::new());
        ice.set_controlling(offerer);
        if let Ok(candidate) = Candidate::host(local, "udp") {
            ice.add_local_candidate(candidate);
        }
        let (remote, handshake, srtp, sctp) = (None, None, None, None);
        Ok(Self {
            socket,
            local,
            remote,
            route: Route::Udp,
            forwarders: Vec::new(),
            identity,
            ice,
            handshake,
            srtp,
            sctp,
            wake_at: now,
            refused: 0,
        })
    }

    /// The same by another route than UDP.
    pub(super) fn over(self, route: Route) -> Self {
        Transport { route, ..self }
    }

    /// The socket, for waiting on it and reading from it while the transport handles read data.
    pub fn socket(&self) -> &Arc<UdpSocket> {
        &self.socket
    }

    /// The local port.
    pub fn local_port(&self) -> u16 {
        self.local.port()
    }

    /// The server's address, once one is nominated.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// The SRTP profile, once keys are there: media can flow.
    pub fn profile(&self) -> Option<SrtpProfile> {
        self.srtp.as_ref().map(|srtp| srtp.profile)
    }

    /// Bytes of the tag after an encrypted RTP packet, once there are keys.
    pub fn rtp_overhead(&self) -> Option<usize> {
        self.profile().map(rtp_overhead)
    }

    /// Datagrams that could not be read or decrypted.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// A description of this end with these media sections.
    pub fn describe(&self, setup: Setup, media: Vec<Media>) -> Description {
        let credentials = self.ice.local_credentials();
        Description {
            ufrag: credentials.ufrag.clone(),
            password: credentials.pass.clone(),
            ice_lite: false,
            fingerprint: self.identity.fingerprint.clone(),
            setup,
            candidates: self
                .ice
                .local_candidates()
                .map(|candidate| candidate.to_sdp_string())
                .collect(),
            media,
        }
    }

    /// Begins connecting to the end described by `remote`, as DTLS client or server. Later
    /// descriptions only add candidates.
    ///
    /// Errors: as those of [`add_candidate`](Self::add_candidate).
    pub fn start(
        &mut self,
        now: Instant,
        remote: &Description,
        client: bool,
        channels: &[(&str, bool)],
    ) -> Result<(), TransportError> {
        for candidate in &remote.candidates {
            self.add_candidate(candidate)?;
        }
        if self.handshake.is_some() {
            return Ok(());
        }
        if remote.ice_lite {
            self.ice.set_controlling(true);
        }
        self.ice.set_remote_credentials(IceCreds {
            ufrag: remote.ufrag.clone(),
            pass: remote.password.clone(),
        });
        let mut dtls = Dtls::new_12(self.identity.config.clone(), self.identity.certificate.clone(), now);
        dtls.set_active(client);
        let expected_fingerprint = remote.fingerprint.clone();
        self.handshake = Some(Handshake {
            dtls,
            client,
            expected_fingerprint,
            wake_at: now,
        });
        self.sctp = remote.carries_channels().then(|| Sctp::new(client, channels));
        self.wake_at = now;
        Ok(())
    }

    /// Adds one of the server's candidates; those of another protocol than the route's are left
    /// out.
    ///
    /// Errors: the route to it cannot be opened.
    pub fn add_candidate(&mut self, candidate: &str) -> Result<(), TransportError> {
        let Ok(candidate) = Candidate::from_sdp_string(candidate) else {
            return Ok(());
        };
        let server = candidate.addr();
        let is_known = self.forwarders.iter().any(|(other, _)| *other == server);
        if candidate.proto() != self.route.protocol() || server.is_ipv4() != self.local.is_ipv4() || is_known {
            return Ok(());
        }
        let opened = Forwarder::open(&self.route, self.local, server).map_err(TransportError::Route)?;
        let Some(forwarder) = opened else {
            self.ice.add_remote_candidate(candidate);
            return Ok(());
        };
        if let Ok(candidate) = Candidate::host(forwarder.address(), Protocol::Udp) {
            self.ice.add_remote_candidate(candidate);
        }
        self.forwarders.push((server, forwarder));
        Ok(())
    }

    /// Handles a datagram; RTP and RTCP are returned decrypted.
    pub fn handle<'a>(&mut self, now: Instant, datagram: Datagram<'a>) -> Result<Incoming<'a>, TransportError> {
        match wire::classify(datagram.bytes) {
            PacketKind::Rtp => return Ok(self.open_rtp(datagram.bytes)),
            PacketKind::Rtcp => return Ok(self.open_rtcp(datagram.bytes)),
            PacketKind::Stun => self.handle_stun(now, datagram),
            PacketKind::Dtls => self.handle_dtls(now, datagram.bytes)?,
            _ => self.refused += 1,
        }
        Ok(Incoming::Nothing)
    }

    fn handle_stun(&mut self, now: Instant, datagram: Datagram<'_>) {
        match StunMessage::parse(datagram.bytes) {
            Ok(message) => {
                let packet = StunPacket {
                    proto: Protocol::Udp,
                    source: datagram.from,
                    destination: self.local,
                    message,
                };
                self.ice.handle_packet(now, packet);
            }
            Err(_) => self.refused += 1,
        }
        self.run_ice(now);
    }

    /// Lets timers act, if one is due.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), TransportError> {
        if now < self.wake_at {
            return Ok(());
        }
        self.ice.handle_timeout(now);
        self.run_ice(now);
        if self.remote.is_some()
            && let Some(handshake) = &mut self.handshake
            && handshake.wake_at <= now
        {
            handshake.dtls.handle_timeout(now).map_err(TransportError::Dtls)?;
        }
        if self.srtp.is_some()
            && let Some(sctp) = &mut self.sctp
        {
            sctp.handle_timeout(now);
        }
        self.run_dtls(now)?;
        let ice_wake = self.ice.poll_timeout().unwrap_or(now + IDLE_WAKE);
        let dtls_wake = self
            .handshake
            .as_ref()
            .map_or(ice_wake, |handshake| handshake.wake_at.max(now));
        self.wake_at = ice_wake.min(dtls_wake).min(now + IDLE_WAKE);
        Ok(())
    }

    fn run_ice(&mut self, now: Instant) {
        while let Some(event) = self.ice.poll_event() {
            if let IceAgentEvent::NominatedSend { destination, .. } = event
                && self.remote != Some(destination)
                && self.socket.connect(destination).is_ok()
            {
                self.remote = Some(destination);
                self.wake_at = now;
            }
        }
        while let Some(transmit) = self.ice.poll_transmit() {
            // A check that cannot be sent is repeated by ICE itself.
            let _ = self.socket.send_to(&transmit.contents, transmit.destination);
        }
    }
}

#[cfg(test)]
mod tests;
