//! DTLS: the handshake that makes the keys, and SCTP inside it.

use std::time::Instant;

use dimpl::{Dtls, Output};

use super::Transport;
use super::error::TransportError;
use super::identity::fingerprint;
use super::srtp::Srtp;

/// The DTLS connection, from its first flight to its end.
pub(super) struct Handshake {
    pub(super) dtls: Dtls,
    pub(super) client: bool,
    pub(super) expected_fingerprint: String,
    pub(super) wake_at: Instant,
}

impl Transport {
    pub(super) fn handle_dtls(&mut self, now: Instant, bytes: &[u8]) -> Result<(), TransportError> {
        let Some(handshake) = &mut self.handshake else {
            return Ok(());
        };
        handshake.dtls.handle_timeout(now).map_err(TransportError::Dtls)?;
        handshake.dtls.handle_packet(bytes).map_err(TransportError::Dtls)?;
        self.run_dtls(now)
    }

    pub(super) fn run_dtls(&mut self, now: Instant) -> Result<(), TransportError> {
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
                    // DTLS repeats lost packets.
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
}
