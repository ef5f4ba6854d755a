//! The client's end of one transport: it checks, nominates, and shakes hands where the history has
//! DTLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dimpl::{Dtls, DtlsCertificate, Output};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use rand::Rng;
use rand::rngs::StdRng;
use wire::PacketKind;
use wire::sdp::IceCredentials;

/// Between two checks before there is an answer, and after.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
const CONSENT_INTERVAL: Duration = Duration::from_millis(2_000);

/// One transport of a client.
pub(crate) struct Transport {
    /// Its address as the node sees it.
    pub(crate) address: SocketAddr,
    pub(crate) local: IceCredentials,
    pub(crate) remote: Option<IceCredentials>,
    /// Whether the node has answered a check with the newest credentials.
    answered: bool,
    check_at: Instant,
    security: Security,
    /// Numbers of the transport-wide sequence.
    pub(crate) transport_sequence: u16,
}

enum Security {
    /// The node's description has not come yet.
    Waiting,
    /// The history is in clear.
    Clear,
    /// The handshake, and whether it is over.
    Dtls(Box<Dtls>, bool),
}

/// The effect of a datagram.
pub(crate) enum Arrived {
    Nothing,
    Rtp,
    Rtcp,
}

impl Transport {
    pub(crate) fn new(address: SocketAddr, rng: &mut StdRng, now: Instant) -> Self {
        Self {
            address,
            local: credentials(rng),
            remote: None,
            answered: false,
            check_at: now,
            security: Security::Waiting,
            transport_sequence: 0,
        }
    }

    /// The node described itself. `active` is whether the client starts the handshake; without a
    /// certificate there is none.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        remote: &IceCredentials,
        active: bool,
        certificate: Option<&DtlsCertificate>,
    ) {
        if self.remote.as_ref() != Some(remote) {
            self.remote = Some(remote.clone());
            (self.answered, self.check_at) = (false, now);
        }
        if let Security::Waiting = self.security {
            self.security = match certificate {
                None => Security::Clear,
                Some(certificate) => {
                    let mut dtls = Dtls::new_12(Arc::new(dimpl::Config::default()), certificate.clone(), now);
                    dtls.set_active(active);
                    Security::Dtls(Box::new(dtls), false)
                }
            };
        }
    }

    /// New credentials, for the next description.
    pub(crate) fn restart(&mut self, rng: &mut StdRng) {
        self.local = credentials(rng);
    }

    /// It is somewhere else from now on, and does not know.
    pub(crate) fn rebind(&mut self) {
        self.address.set_port(self.address.port() + 1);
    }

    /// Whether media can be sent.
    pub(crate) fn is_ready(&self) -> bool {
        self.answered && matches!(self.security, Security::Clear | Security::Dtls(_, true))
    }

    pub(crate) fn tick(&mut self, now: Instant, rng: &mut StdRng, out: &mut Vec<Vec<u8>>) {
        let Some(remote) = &self.remote else { return };
        if self.check_at <= now {
            self.check_at = now
                + if self.answered {
                    CONSENT_INTERVAL
                } else {
                    CHECK_INTERVAL
                };
            out.push(check(&self.local, remote, rng));
        }
        if let (true, Security::Dtls(dtls, _)) = (self.answered, &mut self.security) {
            let _ = dtls.handle_timeout(now);
            self.drain(out);
        }
    }

    /// A datagram came. RTP in it is left to the caller.
    pub(crate) fn receive(&mut self, now: Instant, bytes: &[u8], out: &mut Vec<Vec<u8>>) -> Arrived {
        match wire::classify(bytes) {
            PacketKind::Stun => self.receive_stun(bytes, out),
            PacketKind::Dtls => {
                if let Security::Dtls(dtls, _) = &mut self.security {
                    let _ = dtls.handle_timeout(now);
                    let _ = dtls.handle_packet(bytes);
                    self.drain(out);
                }
            }
            PacketKind::Rtp => return Arrived::Rtp,
            PacketKind::Rtcp => return Arrived::Rtcp,
            PacketKind::TurnChannel | PacketKind::Unknown => {}
        }
        Arrived::Nothing
    }

    fn receive_stun(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        if let Some(answer) = virtual_device::answer(bytes, self.address, &self.local.password) {
            return out.push(answer);
        }
        let Some(remote) = &self.remote else { return };
        let Ok(message) = StunMessage::parse(bytes) else { return };
        if message.is_successful_binding_response() && message.verify(remote.password.as_bytes(), hmac) {
            self.answered = true;
        }
    }

    fn drain(&mut self, out: &mut Vec<Vec<u8>>) {
        let Security::Dtls(dtls, done) = &mut self.security else {
            return;
        };
        let mut buffer = vec![0; 4_096];
        loop {
            match dtls.poll_output(&mut buffer) {
                Output::Timeout(_) => return,
                Output::Packet(packet) => out.push(packet.to_vec()),
                Output::KeyingMaterial(..) => *done = true,
                _ => {}
            }
        }
    }
}

fn credentials(rng: &mut StdRng) -> IceCredentials {
    let mut text = |len: usize| (0..len).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect();
    IceCredentials {
        ufrag: text(8),
        password: text(24),
    }
}

/// A check that nominates, as a browser's do towards a lite agent.
fn check(local: &IceCredentials, remote: &IceCredentials, rng: &mut StdRng) -> Vec<u8> {
    let username = format!("{}:{}", remote.ufrag, local.ufrag);
    let message = StunMessage::binding_request(&username, TransId::new(), true, rng.random(), 100, true);
    let mut bytes = vec![0; 256];
    let len = message
        .to_bytes(Some(remote.password.as_bytes()), &mut bytes, hmac)
        .expect("it fits");
    bytes.truncate(len);
    bytes
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    DefaultSha1HmacProvider.sha1_hmac(key, parts)
}
