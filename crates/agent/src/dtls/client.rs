//! Client.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::SrtpProfile;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::{ConfigBuilder, ExtendedMasterSecretType, HandshakeConfig};
use rtc_dtls::crypto_provider::providers::RingProvider;
use rtc_dtls::crypto_provider::{RTCCryptoProvider, SignatureScheme};
use rtc_dtls::endpoint::{Endpoint, EndpointEvent};
use rtc_dtls::extension::extension_use_srtp::SrtpProtectionProfile;
use rtc_shared::error::Error;
use zeroize::Zeroizing;

use super::{Engine, Failure, Identity, Output};
use crate::config::Certificate;

/// The library finds an association by its peer's address; there is one, and any address will do.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// The time after which the first flight is repeated. It doubles with each repetition (RFC 6347
/// section 4.2.4.1); the library repeats at equal intervals when asked, and is asked less often.
const INTERVAL: Duration = Duration::from_millis(500);

/// The longest interval.
const INTERVAL_MAX: Duration = Duration::from_secs(60);

/// Datagrams of one handshake. The library keeps early ones, and more than this is a flood.
const DATAGRAMS_MAX: u32 = 500;

pub(super) fn config(certificate: &Certificate) -> HandshakeConfig {
    use SrtpProtectionProfile::{Srtp_Aead_Aes_128_Gcm, Srtp_Aead_Aes_256_Gcm, Srtp_Aes128_Cm_Hmac_Sha1_80};
    let provider = Arc::new(RingProvider::new());
    let key = provider
        .crypto()
        .import_signing_key(SignatureScheme::EcdsaP256Sha256, &certificate.dtls.private_key)
        .expect("we made the key ourselves");
    let der = certificate.dtls.certificate.clone().into();
    ConfigBuilder::default()
        .with_crypto_provider(provider)
        .with_certificates(vec![rtc_dtls::crypto::Certificate::from_signing_key(vec![der], key)])
        .with_cipher_suites(vec![
            CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256,
            CipherSuiteId::Tls_Ecdhe_Ecdsa_With_ChaCha20_Poly1305_Sha256,
            CipherSuiteId::Tls_Ecdhe_Rsa_With_Aes_128_Gcm_Sha256,
        ])
        .with_srtp_protection_profiles(vec![
            Srtp_Aead_Aes_256_Gcm,
            Srtp_Aead_Aes_128_Gcm,
            Srtp_Aes128_Cm_Hmac_Sha1_80,
        ])
        .with_extended_master_secret(ExtendedMasterSecretType::Request)
        .with_flight_interval(INTERVAL)
        // No authority vouches for these certificates: the fingerprint in the description does.
        .with_insecure_skip_verify(true)
        // Peers have no names, but the library requires one.
        .with_server_name("localhost".to_owned())
        .build(true, None)
        .expect("the configuration is constant")
}

/// DTLS by `rtc-dtls`.
pub(super) struct Client {
    endpoint: Endpoint,
    config: Arc<HandshakeConfig>,
    state: State,
    /// When the flight under way is repeated, and the time since it was sent.
    repeat: Option<(Instant, Duration)>,
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug)]
enum State {
    /// The first flight is still to be sent.
    Idle { deadline: Instant },
    /// It is under way.
    Handshake { deadline: Instant, datagrams: u32 },
    /// It is over.
    Done,
}

impl Client {
    pub(super) fn new(identity: &Identity, now: Instant) -> Self {
        Client {
            endpoint: Endpoint::new(PEER, Default::default(), None),
            config: identity.client.clone(),
            state: State::Idle {
                deadline: now + identity.handshake_timeout,
            },
            repeat: None,
        }
    }

    /// Waits for an answer to the flight that was sent, if the library does.
    fn set_repeat(&mut self, now: Instant, interval: Duration) {
        let waits = self.endpoint.poll_timeout(&PEER).is_some();
        self.repeat = waits.then(|| (now + interval, interval));
    }

    fn drain(&mut self, output: &mut Vec<Output>) {
        while let Some(transmit) = self.endpoint.poll_transmit() {
            output.push(Output::Datagram(transmit.message.to_vec()));
        }
    }

    /// Completes the handshake: the peer's certificate, and the keys.
    fn complete(&mut self, output: &mut Vec<Output>) -> Result<(), Failure> {
        let state = self.endpoint.get_connection_state(PEER).ok_or(Failure::Handshake)?;
        let certificate = state.peer_certificates.first().ok_or(Failure::Fingerprint)?;
        let profile = match state.srtp_protection_profile() {
            SrtpProtectionProfile::Srtp_Aead_Aes_256_Gcm => SrtpProfile::AeadAes256Gcm,
            SrtpProtectionProfile::Srtp_Aead_Aes_128_Gcm => SrtpProfile::AeadAes128Gcm,
            SrtpProtectionProfile::Srtp_Aes128_Cm_Hmac_Sha1_80 => SrtpProfile::AesCm128HmacSha1_80,
            _ => return Err(Failure::Handshake),
        };
        let len = 2 * (profile.key_len() + profile.salt_len());
        let material = state
            .export_keying_material("EXTRACTOR-dtls_srtp", &[], len)
            .map_err(failure)?;
        output.push(Output::Certificate(certificate.clone()));
        output.push(Output::Keys(profile, Zeroizing::new(material.as_ref().to_vec())));
        self.state = State::Done;
        Ok(())
    }
}

impl Engine for Client {
    fn receive(&mut self, now: Instant, datagram: &[u8], output: &mut Vec<Output>) -> Result<(), Failure> {
        if let State::Handshake { datagrams, .. } = &mut self.state {
            *datagrams += 1;
            if *datagrams > DATAGRAMS_MAX {
                return Err(Failure::Handshake);
            }
        }
        // The library takes a datagram that cannot be cut into records for the end; it is noise.
        if !is_whole_records(datagram) {
            return Ok(());
        }
        let events = self.endpoint.read(now, PEER, None, datagram.into()).map_err(failure)?;
        let before = output.len();
        self.drain(output);
        if output.len() > before {
            self.set_repeat(now, INTERVAL);
        }
        for event in events {
            match event {
                EndpointEvent::HandshakeComplete => self.complete(output)?,
                EndpointEvent::ApplicationData(data) => output.push(Output::Data(data.to_vec())),
                EndpointEvent::PeerClosed => output.push(Output::Closed),
                _ => {}
            }
        }
        Ok(())
    }

    fn handle_timeout(&mut self, now: Instant, output: &mut Vec<Output>) -> Result<(), Failure> {
        match self.state {
            State::Idle { deadline } => {
                self.endpoint
                    .connect(now, PEER, self.config.clone(), None)
                    .map_err(failure)?;
                self.state = State::Handshake { deadline, datagrams: 0 };
                self.set_repeat(now, INTERVAL);
            }
            State::Handshake { deadline, .. } if deadline <= now => return Err(Failure::Handshake),
            State::Handshake { .. } | State::Done => {
                if let Some((_, interval)) = self.repeat.filter(|(at, _)| *at <= now) {
                    self.endpoint.handle_timeout(PEER, now).map_err(failure)?;
                    self.set_repeat(now, INTERVAL_MAX.min(interval * 2));
                }
            }
        }
        self.drain(output);
        Ok(())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let deadline = match self.state {
            State::Idle { deadline } | State::Handshake { deadline, .. } => Some(deadline),
            State::Done => None,
        };
        let repeat = self.repeat.map(|(at, _)| at);
        repeat.into_iter().chain(deadline).min()
    }

    fn send(&mut self, now: Instant, data: &[u8], output: &mut Vec<Output>) -> Result<(), Failure> {
        self.endpoint.write(now, PEER, data).map_err(failure)?;
        self.drain(output);
        Ok(())
    }

    fn close(&mut self, now: Instant, output: &mut Vec<Output>) {
        if self.endpoint.close(now).is_ok() {
            self.drain(output);
        }
    }
}

/// Any error of the library ends the association.
fn failure(_: Error) -> Failure {
    Failure::Handshake
}

/// Whether a datagram is a sequence of DTLS records: 13 bytes of header, the last two of which are
/// the length of the rest (RFC 6347 section 4.1).
pub fn is_whole_records(datagram: &[u8]) -> bool {
    let mut rest = datagram;
    while !rest.is_empty() {
        let Some((header, body)) = rest.split_first_chunk::<13>() else {
            return false;
        };
        let len = usize::from(u16::from_be_bytes([header[11], header[12]]));
        let Some((_, next)) = body.split_at_checked(len) else {
            return false;
        };
        rest = next;
    }
    true
}
