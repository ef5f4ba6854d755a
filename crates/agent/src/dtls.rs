//! One DTLS association: handshake, fingerprint, SRTP keys, and SCTP's datagrams as application
//! data.
//!
//! [`Association`] is self-contained and `Send`: a handshake costs a signature and two key
//! agreements, and is computed on any thread.
//!
//! DTLS 1.2 with an AEAD cipher suite; ECDSA P-256 on our side. The peer's certificate may have any
//! kind of key that [`signature`] verifies, in either role. SRTP gets the best profile that the
//! server's side chooses:
//!
//! - As server we choose: AES-256-GCM, then AES-128-GCM, then AES-CM with HMAC-SHA1.
//! - As client we offer all three in this order, and the server chooses. We are the client of peers
//!   that insist on waiting: FFmpeg and GStreamer, whose only profile is AES-CM, and which try
//!   once.
//!
//! Source: RFC 5763, RFC 5764, RFC 8122, RFC 8842.

mod cause;
mod engine;
mod signature;

use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{MasterKey, Protection, SrtpProfile};
use rtc_dtls::config::HandshakeConfig;
use southbound::{DtlsRole, Fingerprint};
use zeroize::Zeroizing;

use crate::config::Certificate;
pub use cause::{HandshakeFailure, HandshakeFault};
use engine::Engine;
pub use engine::is_whole_records;

/// State that all associations of a node share.
#[derive(Clone)]
pub(crate) struct Identity {
    client: Arc<HandshakeConfig>,
    server: Arc<HandshakeConfig>,
    handshake_timeout: Duration,
}

impl Identity {
    pub(crate) fn new(certificate: &Certificate, handshake_timeout: Duration) -> Self {
        Identity {
            client: Arc::new(engine::config(certificate, DtlsRole::Client)),
            server: Arc::new(engine::config(certificate, DtlsRole::Server)),
            handshake_timeout,
        }
    }
}

/// One side of a DTLS association.
pub(crate) struct Association {
    engine: Engine,
    role: DtlsRole,
    promised: Vec<Fingerprint>,
    peer: Peer,
}

/// How far the peer's identity is proved.
enum Peer {
    Unknown,
    /// The certificate is one of the promised ones. Keys follow only if the peer proves that it has
    /// the certificate's key.
    Verified(Vec<u8>),
}

/// Actions that an association asks of its owner.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Send this datagram to the peer.
    Send(Vec<u8>),
    /// The handshake is over; these are the keys.
    Keys(SrtpProfile, Protection),
    /// The peer sent this.
    Data(Vec<u8>),
    /// The peer closed the association.
    Closed,
}

/// Output of the library.
enum Output {
    Datagram(Vec<u8>),
    /// DER.
    Certificate(Vec<u8>),
    /// Keying material as RFC 5764 section 4.2 lays it out.
    Keys(SrtpProfile, Zeroizing<Vec<u8>>),
    Data(Vec<u8>),
    Closed,
}

impl Association {
    /// Begins a handshake with the peer that promised one of these certificates.
    pub(crate) fn new(identity: &Identity, role: DtlsRole, promised: Vec<Fingerprint>, now: Instant) -> Self {
        Association {
            engine: Engine::new(identity, role, now),
            role,
            promised,
            peer: Peer::Unknown,
        }
    }

    /// Which side of the handshake we are.
    pub(crate) fn role(&self) -> DtlsRole {
        self.role
    }

    /// Whether a description that promises `fingerprints` is still about the peer at the other end.
    pub(crate) fn is_with(&self, fingerprints: &[Fingerprint]) -> bool {
        match &self.peer {
            Peer::Unknown => self.promised == fingerprints,
            Peer::Verified(certificate) => matches_any(certificate, fingerprints),
        }
    }

    /// Takes in one datagram.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        datagram: &[u8],
        effects: &mut Vec<Effect>,
    ) -> Result<(), HandshakeFault> {
        let mut output = Vec::new();
        let result = self.engine.receive(now, datagram, &mut output);
        self.judge(output, effects)?;
        result
    }

    /// Handles timeouts: the client's first flight, retransmissions, giving up.
    pub(crate) fn handle_timeout(&mut self, now: Instant, effects: &mut Vec<Effect>) -> Result<(), HandshakeFault> {
        let mut output = Vec::new();
        let result = self.engine.handle_timeout(now, &mut output);
        self.judge(output, effects)?;
        result
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.engine.poll_timeout()
    }

    /// Sends application data.
    pub(crate) fn send(&mut self, now: Instant, data: &[u8], effects: &mut Vec<Effect>) -> Result<(), HandshakeFault> {
        let mut output = Vec::new();
        let result = self.engine.send(now, data, &mut output);
        self.judge(output, effects)?;
        result
    }

    /// Closes the association.
    pub(crate) fn close(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let mut output = Vec::new();
        self.engine.close(now, &mut output);
        // After a close, other output does not matter.
        let _ = self.judge(output, effects);
    }

    /// Drops output for a peer that is not the promised one, which gets a fatal alert. Datagrams
    /// come first: the peer drops media that arrives before the last flight of the handshake.
    fn judge(&mut self, output: Vec<Output>, effects: &mut Vec<Effect>) -> Result<(), HandshakeFault> {
        let before = effects.len();
        for output in output {
            let effect = match (output, &self.peer) {
                (Output::Certificate(certificate), _) => {
                    if !matches_any(&certificate, &self.promised) {
                        effects.push(Effect::Send(self.engine.refusal()));
                        return Err(HandshakeFault::Fingerprint);
                    }
                    self.peer = Peer::Verified(certificate);
                    continue;
                }
                (Output::Datagram(datagram), _) => Effect::Send(datagram),
                (Output::Closed, _) => Effect::Closed,
                (Output::Keys(..) | Output::Data(_), Peer::Unknown) => return Err(HandshakeFault::NoCertificate),
                (Output::Data(data), Peer::Verified(_)) => Effect::Data(data),
                (Output::Keys(profile, material), Peer::Verified(_)) => {
                    let protection = split_keys(profile, &material, self.role).ok_or(HandshakeFault::Profile)?;
                    Effect::Keys(profile, protection)
                }
            };
            effects.push(effect);
        }
        effects[before..].sort_by_key(|effect| !matches!(effect, Effect::Send(_)));
        Ok(())
    }
}

/// The client's key, the server's key, the client's salt, the server's salt (RFC 5764 section 4.2).
fn split_keys(profile: SrtpProfile, material: &[u8], role: DtlsRole) -> Option<Protection> {
    let (keys, salts) = material.split_at_checked(2 * profile.key_len())?;
    let (client_key, server_key) = keys.split_at(profile.key_len());
    let (client_salt, server_salt) = salts.split_at_checked(profile.salt_len())?;
    let client = MasterKey::new(profile, client_key, client_salt)?;
    let server = MasterKey::new(profile, server_key, server_salt)?;
    Some(match role {
        DtlsRole::Server => Protection::Srtp {
            ingress: client,
            egress: server,
        },
        DtlsRole::Client => Protection::Srtp {
            ingress: server,
            egress: client,
        },
    })
}

fn matches_any(certificate: &[u8], fingerprints: &[Fingerprint]) -> bool {
    fingerprints
        .iter()
        .any(|fingerprint| crate::digest::digest(fingerprint.hash, certificate) == fingerprint.digest)
}

#[cfg(test)]
mod tests;
