//! One peer connection's path to the server: socket, ICE, DTLS, SRTP and, inside DTLS, SCTP.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::srtp::rtcp_overhead;
use dataplane::SrtpProfile;
use dimpl::{Dtls, Output};
use is::stun::{StunMessage, StunPacket};
use is::{Candidate, IceAgent, IceAgentEvent, IceCreds, Protocol};
use wire::PacketKind;

use super::identity::{Identity, fingerprint};
use super::sctp::Sctp;
use super::sdp::{Description, Media, Setup};
use super::srtp::{Srtp, header_len};
use crate::net::Datagram;

/// Why a transport failed. All are final for it.
#[derive(Debug)]
pub enum TransportError {
    /// The machine refused a socket operation.
    Socket(io::Error),
    /// The server's DTLS failed or timed out.
    Dtls(dimpl::Error),
    /// The server's certificate is not the one its description announced.
    Fingerprint,
    /// The server chose an SRTP profile that this client does not have.
    Profile(dimpl::SrtpProfile),
}

/// What a datagram held, decrypted.
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
    identity: Arc<Identity>,
    ice: IceAgent,
    handshake: Option<Handshake>,
    srtp: Option<Srtp>,
    sctp: Option<Sctp>,
    wake_at: Instant,
    refused: u64,
}

struct Handshake {
    dtls: Dtls,
    client: bool,
    expected_fingerprint: String,
    wake_at: Instant,
}

/// How often timers that have no deadline of their own are looked at.
const IDLE_WAKE: Duration = Duration::from_millis(100);

impl Transport {
    /// Opens a socket on `local_ip` and prepares credentials. `offerer` controls ICE unless the server is an ICE-lite agent.
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
            identity,
            ice,
            handshake,
            srtp,
            sctp,
            wake_at: now,
            refused: 0,
        })
    }

    /// The socket, for waiting on it and reading from it while the transport handles what was read.
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

    /// Begins connecting to the end described by `remote`, as DTLS client or server. Later descriptions only add
    /// candidates.
    pub fn start(&mut self, now: Instant, remote: &Description, client: bool, channels: &[(&str, bool)]) {
        remote
            .candidates
            .iter()
            .for_each(|candidate| self.add_candidate(candidate));
        if self.handshake.is_some() {
            return;
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
        self.sctp = Some(Sctp::new(client, channels));
        self.wake_at = now;
    }

    /// Adds one of the server's candidates; those other than UDP are left out.
    pub fn add_candidate(&mut self, candidate: &str) {
        if let Ok(candidate) = Candidate::from_sdp_string(candidate)
            && candidate.proto() == Protocol::Udp
            && candidate.addr().is_ipv4() == self.local.is_ipv4()
        {
            self.ice.add_remote_candidate(candidate);
        }
    }

    /// Takes a datagram; RTP and RTCP come back decrypted.
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

    fn open_rtp<'a>(&mut self, bytes: &'a mut [u8]) -> Incoming<'a> {
        let header_len = header_len(bytes);
        let opened = match (&mut self.srtp, header_len) {
            (Some(srtp), Some(header_len)) => srtp.opener.open_rtp(bytes, header_len).ok(),
            _ => None,
        };
        match opened {
            Some(opened) => Incoming::Rtp(&bytes[..opened.len]),
            None => self.refuse(),
        }
    }

    fn open_rtcp<'a>(&mut self, bytes: &'a mut [u8]) -> Incoming<'a> {
        match self.srtp.as_mut().and_then(|srtp| srtp.opener.open_rtcp(bytes).ok()) {
            Some(len) => Incoming::Rtcp(&bytes[..len]),
            None => self.refuse(),
        }
    }

    fn refuse(&mut self) -> Incoming<'static> {
        self.refused += 1;
        Incoming::Nothing
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

    fn handle_dtls(&mut self, now: Instant, bytes: &[u8]) -> Result<(), TransportError> {
        let Some(handshake) = &mut self.handshake else {
            return Ok(());
        };
        handshake.dtls.handle_timeout(now).map_err(TransportError::Dtls)?;
        handshake.dtls.handle_packet(bytes).map_err(TransportError::Dtls)?;
        self.run_dtls(now)
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

    fn run_dtls(&mut self, now: Instant) -> Result<(), TransportError> {
        if self.remote.is_none() {
            return Ok(());
        }
        let Some(handshake) = &mut self.handshake else {
            return Ok(());
        };
        let mut buffer = [0u8; 4096];
        loop {
            if self.srtp.is_some()
                && let Some(sctp) = &mut self.sctp
            {
                while let Some(message) = sctp.poll() {
                    let _ = handshake.dtls.send_application_data(&message);
                }
            }
            match handshake.dtls.poll_output(&mut buffer) {
                Output::Packet(bytes) => {
                    // DTLS repeats what is lost.
                    let _ = self.socket.send(bytes);
                }
                Output::PeerCert(certificate)
                    if !fingerprint(certificate).eq_ignore_ascii_case(&handshake.expected_fingerprint) =>
                {
                    return Err(TransportError::Fingerprint);
                }
                Output::KeyingMaterial(material, profile) => {
                    self.srtp = Some(Srtp::new(&material, profile, handshake.client)?);
                    if let Some(sctp) = &mut self.sctp {
                        sctp.handle_timeout(now);
                    }
                }
                Output::ApplicationData(data) => {
                    if let Some(sctp) = &mut self.sctp {
                        sctp.handle(now, data);
                    }
                }
                Output::Timeout(at) => {
                    handshake.wake_at = at;
                    self.wake_at = self.wake_at.min(at);
                    break;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Protects an RTP packet in `packet[..len]`; returns its length on the wire, or `None` before there are keys.
    pub fn seal_rtp(&mut self, packet: &mut [u8], len: usize, header_len: usize, index: u64) -> Option<usize> {
        self.srtp
            .as_mut()
            .map(|srtp| srtp.sealer.seal_rtp(packet, len, header_len, index))
    }

    /// Sends a compound RTCP packet, protected; it is dropped before there are keys.
    pub fn send_rtcp(&mut self, packet: &mut Vec<u8>) {
        let Some(srtp) = &mut self.srtp else { return };
        let len = packet.len();
        packet.resize(len + rtcp_overhead(srtp.profile), 0);
        if let Ok(sealed) = srtp.sealer.seal_rtcp(packet, len) {
            // Lost feedback is repeated by the next.
            let _ = self.socket.send(&packet[..sealed]);
        }
    }
}

impl std::fmt::Display for TransportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(error) => write!(f, "socket: {error}"),
            Self::Dtls(error) => write!(f, "DTLS: {error}"),
            Self::Fingerprint => write!(f, "the server's certificate is not the announced one"),
            Self::Profile(profile) => write!(f, "SRTP profile {profile} is not supported"),
        }
    }
}

impl std::error::Error for TransportError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::net::Inbox;

    fn pump(now: Instant, transport: &mut Transport, inbox: &mut Inbox, rtp: &mut Vec<Vec<u8>>) {
        transport.handle_timeout(now).expect("no failure");
        let socket = transport.socket().clone();
        let read = |datagram: Datagram<'_>| {
            if let Incoming::Rtp(packet) = transport.handle(now, datagram).expect("no failure") {
                rtp.push(packet.to_vec());
            }
        };
        inbox.read(&socket, read).expect("readable");
    }

    #[test]
    fn two_ends_connect_and_carry_media() {
        let identity = Arc::new(Identity::new().expect("a certificate"));
        let local = IpAddr::from([127, 0, 0, 1]);
        let now = clock::now();
        let mut offerer = Transport::new(identity.clone(), local, true, now).expect("a socket");
        let mut answerer = Transport::new(identity, local, false, now).expect("a socket");
        let offer = offerer.describe(Setup::ActPass, Vec::new());
        let answer = answerer.describe(Setup::Active, Vec::new());
        offerer.start(now, &answer, false, &[]);
        answerer.start(now, &offer, true, &[]);

        let (mut inbox, mut received, mut unexpected) = (Inbox::default(), Vec::new(), Vec::new());
        let mut packet = [0u8; 60];
        packet[..12].copy_from_slice(&[0x80, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]);
        let plain = packet[..40].to_vec();
        let mut sent = false;
        while received.is_empty() {
            assert!(now.elapsed() < Duration::from_secs(10), "no media within ten seconds");
            pump(clock::now(), &mut offerer, &mut inbox, &mut unexpected);
            pump(clock::now(), &mut answerer, &mut inbox, &mut received);
            if !sent && offerer.profile().is_some() && answerer.profile().is_some() {
                let len = offerer.seal_rtp(&mut packet, 40, 12, 1).expect("keys");
                offerer.socket().send(&packet[..len]).expect("sent");
                sent = true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((received, unexpected), (vec![plain], vec![]));
        assert_eq!(offerer.profile(), Some(SrtpProfile::AeadAes256Gcm));
    }

    #[test]
    fn another_certificate_than_the_announced_is_refused() {
        let local = IpAddr::from([127, 0, 0, 1]);
        let now = clock::now();
        let [one, other] = [(); 2].map(|()| Arc::new(Identity::new().expect("a certificate")));
        let mut client = Transport::new(one, local, true, now).expect("a socket");
        let mut server = Transport::new(other, local, false, now).expect("a socket");
        let mut announced = server.describe(Setup::Passive, Vec::new());
        announced.fingerprint = client.identity.fingerprint.clone();
        client.start(now, &announced, true, &[]);
        server.start(now, &client.describe(Setup::Active, Vec::new()), false, &[]);
        let (mut inbox, mut rtp) = (Inbox::default(), Vec::new());
        let mut failed = false;
        while !failed {
            assert!(now.elapsed() < Duration::from_secs(10), "no refusal within ten seconds");
            pump(clock::now(), &mut server, &mut inbox, &mut rtp);
            let at = clock::now();
            let socket = client.socket().clone();
            failed = client.handle_timeout(at).is_err();
            inbox
                .read(&socket, |datagram| failed |= client.handle(at, datagram).is_err())
                .expect("readable");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(client.profile(), None);
    }
}
