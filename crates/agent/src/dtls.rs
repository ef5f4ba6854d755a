//! One DTLS association: handshake, fingerprint, SRTP keys, and SCTP's datagrams as application data.
//!
//! [`Association`] is self-contained and `Send`: a handshake costs a signature and two key agreements, and may move to a thread of its own.
//!
//! DTLS 1.2 with an AEAD cipher suite; ECDSA P-256 on our side. As server we choose the SRTP profile: AES-256-GCM, then
//! AES-128-GCM, then AES-CM with HMAC-SHA1. As client we offer them in that order and the server chooses.
//!
//! Source: RFC 5763, RFC 5764, RFC 8122, RFC 8842.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{MasterKey, Protection, SrtpProfile};
use dimpl::{Dtls, Output};
use ring::digest;
use southbound::{DtlsRole, Fingerprint, HashFunction};

use crate::Certificate;

/// The largest datagram or message that comes out of the association.
const OUTPUT_MAX: usize = 4096;

/// What all associations of a node have in common.
#[derive(Clone)]
pub(crate) struct Identity {
    certificate: Certificate,
    config: Arc<dimpl::Config>,
}

impl Identity {
    pub(crate) fn new(certificate: Certificate, handshake_timeout: Duration) -> Self {
        let config = dimpl::Config::builder()
            // The cookie proves a return path; ICE has done so before the first byte of DTLS is read.
            .use_server_cookie(false)
            .handshake_timeout(handshake_timeout)
            .flight_start_rto(Duration::from_millis(500))
            .flight_retries(6)
            .build()
            .expect("the configuration is constant");
        Identity {
            certificate,
            config: Arc::new(config),
        }
    }
}

/// One side of a DTLS association.
pub(crate) struct Association {
    dtls: Dtls,
    role: DtlsRole,
    promised: Vec<Fingerprint>,
    peer: Peer,
    next: Option<Instant>,
    buffer: Vec<u8>,
}

/// How far the peer has proved to be who its description says.
enum Peer {
    Unknown,
    /// The certificate is one of the promised ones; DTLS itself verifies that the peer holds its key.
    Verified(Vec<u8>),
}

/// What an association wants done.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Send this datagram to the peer.
    Send(Vec<u8>),
    /// The handshake is over; these are the keys.
    Keys(SrtpProfile, Protection),
    /// The peer sent this.
    Data(Vec<u8>),
    /// The peer said goodbye.
    Closed,
}

/// Why an association ended. Nothing more comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The peer's certificate is not the promised one.
    Fingerprint,
    /// The handshake failed, took too long, or agreed on no SRTP profile.
    Handshake,
}

impl Association {
    /// Begins a handshake with the peer that promised one of these certificates.
    pub(crate) fn new(identity: &Identity, role: DtlsRole, promised: Vec<Fingerprint>, now: Instant) -> Self {
        let mut dtls = Dtls::new_12(identity.config.clone(), identity.certificate.dtls.clone(), now);
        dtls.set_active(role == DtlsRole::Client);
        Association {
            dtls,
            role,
            promised,
            peer: Peer::Unknown,
            next: None,
            buffer: vec![0; OUTPUT_MAX],
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
    pub(crate) fn receive(&mut self, now: Instant, datagram: &[u8], effects: &mut Vec<Effect>) -> Result<(), Failure> {
        self.advance(now)?;
        self.dtls.handle_packet(datagram).map_err(|_| Failure::Handshake)?;
        self.drain(effects)
    }

    /// Does what is due: the client's first flight, retransmissions, giving up.
    pub(crate) fn handle_timeout(&mut self, now: Instant, effects: &mut Vec<Effect>) -> Result<(), Failure> {
        self.advance(now)?;
        self.drain(effects)
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Sends application data.
    pub(crate) fn send(&mut self, now: Instant, data: &[u8], effects: &mut Vec<Effect>) -> Result<(), Failure> {
        self.advance(now)?;
        self.dtls.send_application_data(data).map_err(|_| Failure::Handshake)?;
        self.drain(effects)
    }

    /// Says goodbye, if there is anybody to say it to.
    pub(crate) fn close(&mut self, effects: &mut Vec<Effect>) {
        if self.dtls.close().is_ok() {
            let _ = self.drain(effects);
        }
    }

    fn advance(&mut self, now: Instant) -> Result<(), Failure> {
        self.dtls.handle_timeout(now).map_err(|_| Failure::Handshake)
    }

    fn drain(&mut self, effects: &mut Vec<Effect>) -> Result<(), Failure> {
        loop {
            let effect = match self.dtls.poll_output(&mut self.buffer) {
                Output::Timeout(at) => {
                    self.next = Some(at);
                    return Ok(());
                }
                Output::BufferTooSmall { needed } => {
                    self.buffer.resize(needed, 0);
                    continue;
                }
                Output::PeerCert(certificate) => {
                    if !matches_any(certificate, &self.promised) {
                        return Err(Failure::Fingerprint);
                    }
                    self.peer = Peer::Verified(certificate.to_vec());
                    continue;
                }
                Output::Packet(datagram) => Effect::Send(datagram.to_vec()),
                Output::ApplicationData(data) => Effect::Data(data.to_vec()),
                Output::CloseNotify => Effect::Closed,
                Output::KeyingMaterial(material, profile) => {
                    let profile = known_profile(profile).ok_or(Failure::Handshake)?;
                    let protection = split_keys(profile, &material, self.role).ok_or(Failure::Handshake)?;
                    Effect::Keys(profile, protection)
                }
                _ => continue,
            };
            if !matches!(
                (&effect, &self.peer),
                (Effect::Keys(..) | Effect::Data(_), Peer::Unknown)
            ) {
                effects.push(effect);
            } else {
                return Err(Failure::Fingerprint);
            }
        }
    }
}

fn known_profile(profile: dimpl::SrtpProfile) -> Option<SrtpProfile> {
    match profile {
        dimpl::SrtpProfile::AEAD_AES_256_GCM => Some(SrtpProfile::AeadAes256Gcm),
        dimpl::SrtpProfile::AEAD_AES_128_GCM => Some(SrtpProfile::AeadAes128Gcm),
        dimpl::SrtpProfile::AES128_CM_SHA1_80 => Some(SrtpProfile::AesCm128HmacSha1_80),
        _ => None,
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
    fingerprints.iter().any(|fingerprint| {
        let algorithm = match fingerprint.hash {
            HashFunction::Sha256 => &digest::SHA256,
            HashFunction::Sha384 => &digest::SHA384,
            HashFunction::Sha512 => &digest::SHA512,
        };
        digest::digest(algorithm, certificate).as_ref() == fingerprint.digest
    })
}
