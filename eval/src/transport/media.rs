//! Media over a transport that has keys: received packets are decrypted, sent ones encrypted.

use super::srtp::{header_len, seal_rtcp};
use super::{Incoming, Transport};

impl Transport {
    pub(super) fn open_rtp<'a>(&mut self, bytes: &'a mut [u8]) -> Incoming<'a> {
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

    pub(super) fn open_rtcp<'a>(&mut self, bytes: &'a mut [u8]) -> Incoming<'a> {
        match self.srtp.as_mut().and_then(|srtp| srtp.opener.open_rtcp(bytes).ok()) {
            Some(len) => Incoming::Rtcp(&bytes[..len]),
            None => self.refuse(),
        }
    }

    fn refuse(&mut self) -> Incoming<'static> {
        self.refused += 1;
        Incoming::Nothing
    }

    /// Protects an RTP packet in `packet[..len]`; returns its length on the wire, or `None` before
    /// there are keys.
    pub fn seal_rtp(&mut self, packet: &mut [u8], len: usize, header_len: usize, index: u64) -> Option<usize> {
        self.srtp
            .as_mut()
            .map(|srtp| srtp.sealer.seal_rtp(packet, len, header_len, index))
    }

    /// Sends a compound RTCP packet, protected; it is dropped before there are keys.
    pub fn send_rtcp(&mut self, packet: &mut Vec<u8>) {
        let Some(srtp) = &mut self.srtp else { return };
        if let Some(sealed) = seal_rtcp(&mut srtp.sealer, srtp.profile, packet) {
            // Lost feedback is repeated by the next.
            let _ = self.socket.send(sealed);
        }
    }
}
