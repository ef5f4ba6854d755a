//! Server.

use std::time::{Duration, Instant};

use dataplane::SrtpProfile;
use dimpl::Dtls;
use zeroize::Zeroizing;

use super::{Engine, Failure, Identity, Output};

/// The largest datagram or message of the library, unless it asks for more.
const OUTPUT_MAX: usize = 2_048;

pub(super) fn config(handshake_timeout: Duration) -> dimpl::Config {
    dimpl::Config::builder()
        // The cookie proves a return path; ICE has done so before the first byte of DTLS is read.
        .use_server_cookie(false)
        .handshake_timeout(handshake_timeout)
        .flight_start_rto(Duration::from_millis(500))
        .flight_retries(6)
        .build()
        .expect("the configuration is constant")
}

/// DTLS by `dimpl`.
pub(super) struct Any {
    dtls: Dtls,
    next: Option<Instant>,
}

impl Any {
    pub(super) fn new(identity: &Identity, now: Instant) -> Self {
        let mut dtls = Dtls::new_12(identity.any.clone(), identity.certificate.dtls.clone(), now);
        dtls.set_active(false);
        Any { dtls, next: None }
    }

    fn drain(&mut self, output: &mut Vec<Output>) -> Result<(), Failure> {
        // The buffer is not kept: there are thousands of associations, and they rarely have output.
        let mut buffer = vec![0; OUTPUT_MAX];
        loop {
            let next = match self.dtls.poll_output(&mut buffer) {
                dimpl::Output::Timeout(at) => {
                    self.next = Some(at);
                    return Ok(());
                }
                dimpl::Output::BufferTooSmall { needed } => {
                    buffer.resize(needed, 0);
                    continue;
                }
                dimpl::Output::PeerCert(certificate) => Output::Certificate(certificate.to_vec()),
                dimpl::Output::Packet(datagram) => Output::Datagram(datagram.to_vec()),
                dimpl::Output::ApplicationData(data) => Output::Data(data.to_vec()),
                dimpl::Output::CloseNotify => Output::Closed,
                dimpl::Output::KeyingMaterial(material, profile) => Output::Keys(
                    known_profile(profile).ok_or(Failure::Handshake)?,
                    Zeroizing::new(material.to_vec()),
                ),
                _ => continue,
            };
            output.push(next);
        }
    }
}

impl Engine for Any {
    fn receive(&mut self, now: Instant, datagram: &[u8], output: &mut Vec<Output>) -> Result<(), Failure> {
        self.dtls.handle_timeout(now).map_err(fatal)?;
        self.dtls.handle_packet(datagram).map_err(fatal)?;
        self.drain(output)
    }

    fn handle_timeout(&mut self, now: Instant, output: &mut Vec<Output>) -> Result<(), Failure> {
        self.dtls.handle_timeout(now).map_err(fatal)?;
        self.drain(output)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    fn send(&mut self, now: Instant, data: &[u8], output: &mut Vec<Output>) -> Result<(), Failure> {
        self.dtls.handle_timeout(now).map_err(fatal)?;
        self.dtls.send_application_data(data).map_err(fatal)?;
        self.drain(output)
    }

    fn close(&mut self, _now: Instant, output: &mut Vec<Output>) {
        if self.dtls.close().is_ok() {
            // The goodbye is the last thing that is wanted of it.
            let _ = self.drain(output);
        }
    }
}

/// Noise is dropped inside the library; any error that it returns ends the association.
fn fatal(_: dimpl::Error) -> Failure {
    Failure::Handshake
}

fn known_profile(profile: dimpl::SrtpProfile) -> Option<SrtpProfile> {
    match profile {
        dimpl::SrtpProfile::AEAD_AES_256_GCM => Some(SrtpProfile::AeadAes256Gcm),
        dimpl::SrtpProfile::AEAD_AES_128_GCM => Some(SrtpProfile::AeadAes128Gcm),
        dimpl::SrtpProfile::AES128_CM_SHA1_80 => Some(SrtpProfile::AesCm128HmacSha1_80),
        _ => None,
    }
}
