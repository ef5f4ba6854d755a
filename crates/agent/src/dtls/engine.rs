//! Both roles of DTLS by `rtc-dtls`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::SrtpProfile;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::{ClientAuthType, ConfigBuilder, ExtendedMasterSecretType, HandshakeConfig};
use rtc_dtls::crypto_provider::providers::RingProvider;
use rtc_dtls::crypto_provider::{RTCCryptoProvider, SignatureScheme};
use rtc_dtls::endpoint::{Endpoint, EndpointEvent};
use rtc_dtls::extension::extension_use_srtp::SrtpProtectionProfile;
use rtc_shared::error::Error;
use southbound::DtlsRole;
use zeroize::Zeroizing;

use super::{HandshakeFault, Identity, Output, signature};
use crate::config::Certificate;

/// The library finds an association by its peer's address; there is one, and any address will do.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// The time after which a flight is repeated. It doubles with each repetition (RFC 6347 section
/// 4.2.4.1); the library repeats at equal intervals when asked, and is asked less often.
const INTERVAL: Duration = Duration::from_millis(500);

/// The longest interval.
const INTERVAL_MAX: Duration = Duration::from_secs(60);

/// Datagrams of one handshake. The library keeps early ones, and more than this is a flood.
const DATAGRAMS_MAX: u32 = 500;

const ALERT: u8 = 21;
const FATAL: u8 = 2;
const BAD_CERTIFICATE: u8 = 42;

/// The configuration of one role, for all associations.
pub(super) fn config(certificate: &Certificate, role: DtlsRole) -> HandshakeConfig {
    use SrtpProtectionProfile::{Srtp_Aead_Aes_128_Gcm, Srtp_Aead_Aes_256_Gcm, Srtp_Aes128_Cm_Hmac_Sha1_80};
    let provider = Arc::new(RingProvider::new());
    let key = provider
        .crypto()
        .import_signing_key(SignatureScheme::EcdsaP256Sha256, &certificate.key)
        .expect("we made the key ourselves");
    let der = certificate.der.clone().into();
    ConfigBuilder::default()
        .with_crypto_provider(provider)
        .with_certificates(vec![rtc_dtls::crypto::Certificate::from_signing_key(vec![der], key)])
        .with_cipher_suites(vec![
            CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256,
            CipherSuiteId::Tls_Ecdhe_Ecdsa_With_ChaCha20_Poly1305_Sha256,
            CipherSuiteId::Tls_Ecdhe_Rsa_With_Aes_128_Gcm_Sha256,
            CipherSuiteId::Tls_Ecdhe_Rsa_With_ChaCha20_Poly1305_Sha256,
        ])
        .with_signature_schemes(signature::SCHEMES.to_vec())
        .with_signature_verifier(Arc::new(|algorithm, certificate, message, signature| {
            signature::verify(algorithm, certificate, message, signature).map_err(|fault| match fault {
                HandshakeFault::Kind(kind) => Error::Crypto(kind),
                _ => Error::ErrKeySignatureMismatch,
            })
        }))
        .with_srtp_protection_profiles(vec![
            Srtp_Aead_Aes_256_Gcm,
            Srtp_Aead_Aes_128_Gcm,
            Srtp_Aes128_Cm_Hmac_Sha1_80,
        ])
        .with_client_auth(ClientAuthType::RequireAnyClientCert)
        .with_extended_master_secret(ExtendedMasterSecretType::Request)
        .with_flight_interval(INTERVAL)
        // No authority vouches for these certificates: the fingerprint in the description does.
        .with_insecure_skip_verify(true)
        // The cookie proves a return path; ICE has done so before the first byte of DTLS is read.
        .with_insecure_skip_hello_verify(true)
        // Peers have no names, but the library requires one.
        .with_server_name("localhost".to_owned())
        .build(role == DtlsRole::Client, None)
        .expect("the configuration is constant")
}

/// One side of an association. After a fault it is not used again.
pub(super) struct Engine {
    endpoint: Endpoint,
    config: Arc<HandshakeConfig>,
    state: State,
    /// When the flight under way is repeated, and the time since it was sent.
    repeat: Option<(Instant, Duration)>,
    /// Whether the peer's certificate was reported.
    has_certificate: bool,
    /// The sequence number of the next record without encryption.
    sequence: u64,
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug)]
enum State {
    /// The client's first flight is still to be sent.
    Idle { deadline: Instant },
    /// It is under way.
    Handshake { deadline: Instant, datagrams: u32 },
    /// It is over.
    Done,
}

impl Engine {
    pub(super) fn new(identity: &Identity, role: DtlsRole, now: Instant) -> Self {
        let deadline = now + identity.handshake_timeout;
        let (config, server, state) = match role {
            DtlsRole::Client => (&identity.client, None, State::Idle { deadline }),
            DtlsRole::Server => (
                &identity.server,
                Some(identity.server.clone()),
                State::Handshake { deadline, datagrams: 0 },
            ),
        };
        Engine {
            endpoint: Endpoint::new(PEER, Default::default(), server),
            config: config.clone(),
            state,
            repeat: None,
            has_certificate: false,
            sequence: 0,
        }
    }

    pub(super) fn receive(
        &mut self,
        now: Instant,
        datagram: &[u8],
        output: &mut Vec<Output>,
    ) -> Result<(), HandshakeFault> {
        if let State::Handshake { datagrams, .. } = &mut self.state {
            *datagrams += 1;
            if *datagrams > DATAGRAMS_MAX {
                return Err(HandshakeFault::Other("it sent too many datagrams".to_owned()));
            }
        }
        // The library takes a datagram that cannot be cut into records for the end; it is noise.
        if !is_whole_records(datagram) {
            return Ok(());
        }
        let result = self.endpoint.read(now, PEER, None, datagram.into());
        self.show_certificate(output);
        let before = output.len();
        self.drain(output);
        let events = result.map_err(|error| fault(error, datagram))?;
        if output.len() > before {
            self.set_repeat(now, INTERVAL);
        }
        for event in events {
            match event {
                EndpointEvent::HandshakeComplete => self.complete(now, output)?,
                EndpointEvent::ApplicationData(data) => output.push(Output::Data(data.to_vec())),
                EndpointEvent::PeerClosed => output.push(Output::Closed),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, output: &mut Vec<Output>) -> Result<(), HandshakeFault> {
        match self.state {
            State::Idle { deadline } => {
                self.endpoint
                    .connect(now, PEER, self.config.clone(), None)
                    .map_err(other)?;
                self.state = State::Handshake { deadline, datagrams: 0 };
                self.set_repeat(now, INTERVAL);
            }
            State::Handshake { deadline, .. } if deadline <= now => return Err(HandshakeFault::Timeout),
            State::Handshake { .. } | State::Done => {
                if let Some((_, interval)) = self.repeat.filter(|(at, _)| *at <= now) {
                    self.endpoint.handle_timeout(PEER, now).map_err(other)?;
                    self.set_repeat(now, INTERVAL_MAX.min(interval * 2));
                }
            }
        }
        self.drain(output);
        Ok(())
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let deadline = match self.state {
            State::Idle { deadline } | State::Handshake { deadline, .. } => Some(deadline),
            State::Done => None,
        };
        let repeat = self.repeat.map(|(at, _)| at);
        repeat.into_iter().chain(deadline).min()
    }

    pub(super) fn send(&mut self, now: Instant, data: &[u8], output: &mut Vec<Output>) -> Result<(), HandshakeFault> {
        self.endpoint.write(now, PEER, data).map_err(other)?;
        self.drain(output);
        Ok(())
    }

    pub(super) fn close(&mut self, now: Instant, output: &mut Vec<Output>) {
        if self.endpoint.close(now).is_ok() {
            self.drain(output);
        }
    }

    /// The fatal alert that refuses the peer's certificate. It is not encrypted: the peer waits for
    /// a flight that begins without encryption.
    pub(super) fn refusal(&self) -> Vec<u8> {
        let mut record = vec![ALERT, 0xfe, 0xfd];
        // The epoch 0 is above the 48 bits of the number.
        record.extend(self.sequence.to_be_bytes());
        record.extend([0, 2, FATAL, BAD_CERTIFICATE]);
        record
    }

    /// Waits for an answer to the flight that was sent, if the library does.
    fn set_repeat(&mut self, now: Instant, interval: Duration) {
        let waits = self.endpoint.poll_timeout(&PEER).is_some();
        self.repeat = waits.then(|| (now + interval, interval));
    }

    fn drain(&mut self, output: &mut Vec<Output>) {
        while let Some(transmit) = self.endpoint.poll_transmit() {
            let datagram = transmit.message.to_vec();
            let numbers = records(&datagram).flatten().filter_map(unencrypted_number);
            self.sequence = numbers.fold(self.sequence, |next, number| next.max(number + 1));
            output.push(Output::Datagram(datagram));
        }
    }

    /// Reports the peer's certificate as soon as it is known. Keys come only after a proof that the
    /// peer has its key.
    fn show_certificate(&mut self, output: &mut Vec<Output>) {
        if self.has_certificate {
            return;
        }
        let state = self.endpoint.get_connection_state(PEER);
        if let Some(certificate) = state.and_then(|state| state.peer_certificates.first()) {
            self.has_certificate = true;
            output.push(Output::Certificate(certificate.clone()));
        }
    }

    /// Completes the handshake with the keys.
    fn complete(&mut self, now: Instant, output: &mut Vec<Output>) -> Result<(), HandshakeFault> {
        let state = self
            .endpoint
            .get_connection_state(PEER)
            .ok_or(HandshakeFault::NoCertificate)?;
        let profile = match state.srtp_protection_profile() {
            SrtpProtectionProfile::Srtp_Aead_Aes_256_Gcm => SrtpProfile::AeadAes256Gcm,
            SrtpProtectionProfile::Srtp_Aead_Aes_128_Gcm => SrtpProfile::AeadAes128Gcm,
            SrtpProtectionProfile::Srtp_Aes128_Cm_Hmac_Sha1_80 => SrtpProfile::AesCm128HmacSha1_80,
            _ => {
                self.close(now, output);
                return Err(HandshakeFault::Profile);
            }
        };
        let len = 2 * (profile.key_len() + profile.salt_len());
        let material = state
            .export_keying_material("EXTRACTOR-dtls_srtp", &[], len)
            .map_err(other)?;
        output.push(Output::Keys(profile, Zeroizing::new(material.as_ref().to_vec())));
        self.state = State::Done;
        Ok(())
    }
}

/// The fault by which the library ended on this datagram.
fn fault(error: Error, datagram: &[u8]) -> HandshakeFault {
    match error {
        Error::Crypto(kind) => HandshakeFault::Kind(kind),
        Error::ErrNoAvailableSignatureSchemes => HandshakeFault::Kind("a signature that was not offered".to_owned()),
        Error::ErrKeySignatureMismatch => HandshakeFault::Signature,
        Error::ErrClientCertificateRequired | Error::ErrCertificateVerifyNoCertificate => HandshakeFault::NoCertificate,
        Error::ErrCipherSuiteNoIntersection => HandshakeFault::CipherSuite,
        Error::ErrServerNoMatchingSrtpProfile | Error::ErrClientNoMatchingSrtpProfile => HandshakeFault::Profile,
        Error::Other(name) if datagram.first() == Some(&ALERT) => HandshakeFault::Alert(name),
        error => other(error),
    }
}

fn other(error: Error) -> HandshakeFault {
    HandshakeFault::Other(error.to_string())
}

/// The number of a record without encryption.
fn unencrypted_number(record: &[u8]) -> Option<u64> {
    let epoch_and_number = record.get(3..11)?;
    let number = u64::from_be_bytes(epoch_and_number.try_into().ok()?);
    (number >> 48 == 0).then_some(number)
}

/// Whether a datagram is a sequence of DTLS records.
pub fn is_whole_records(datagram: &[u8]) -> bool {
    records(datagram).all(|record| record.is_some())
}

/// The records of a datagram: 13 bytes of header, the last two of which are the length of the rest
/// (RFC 6347 section 4.1). `None` is a rest that is none.
fn records(datagram: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let len = rest
            .get(11..13)
            .map(|len| 13 + usize::from(u16::from_be_bytes([len[0], len[1]])));
        match len.and_then(|len| rest.split_at_checked(len)) {
            Some((record, next)) => {
                rest = next;
                Some(Some(record))
            }
            None => {
                rest = &[];
                Some(None)
            }
        }
    })
}
