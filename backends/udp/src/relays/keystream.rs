//! The keystream of one key.

use std::sync::{Mutex, PoisonError};

use dataplane::limits::SSRCS_PER_KEY_MAX;
use dataplane::{Counter, MasterKey};

use crate::srtp::{Refused, Sealer, StreamIndexes};

/// Encrypts with one key, and never two packets with one index, from any of its relays.
///
/// Packets keep their numbers. Their roll-over counter is the one that puts them nearest to earlier
/// packets, which is the receiver's guess, too.
pub(super) struct Keystream(Mutex<Sealing>);

struct Sealing {
    sealer: Sealer,
    indexes: StreamIndexes,
}

impl Keystream {
    pub(super) fn new(key: &MasterKey) -> Self {
        Keystream(Mutex::new(Sealing {
            sealer: Sealer::new(key),
            indexes: StreamIndexes::with_limit(SSRCS_PER_KEY_MAX),
        }))
    }

    /// Protects the RTP packet in `buffer[..len]`, whose header was parsed. Returns the length of
    /// the whole, or why it must not be sent.
    pub(super) fn seal_rtp(&self, buffer: &mut [u8], len: usize, header_len: usize) -> Result<usize, Counter> {
        let sequence = u16::from_be_bytes([buffer[2], buffer[3]]);
        let ssrc = u32::from_be_bytes([buffer[8], buffer[9], buffer[10], buffer[11]]);
        self.with(|Sealing { sealer, indexes }| {
            let index = indexes.claim_nearest(ssrc, sequence).map_err(|refused| match refused {
                Refused::Used => Counter::Duplicate,
                Refused::TooOld => Counter::TooLate,
                Refused::TooManyStreams => Counter::UnknownStream,
                Refused::Exhausted => Counter::KeysExhausted,
            })?;
            Ok(sealer.seal_rtp(buffer, len, header_len, index))
        })
    }

    /// Seals the compound RTCP packet in `buffer[..len]`, of eight bytes at least.
    pub(super) fn seal_rtcp(&self, buffer: &mut [u8], len: usize) -> Result<usize, Counter> {
        self.with(|sealing| {
            sealing
                .sealer
                .seal_rtcp(buffer, len)
                .map_err(|_| Counter::KeysExhausted)
        })
    }

    fn with<T>(&self, seal: impl FnOnce(&mut Sealing) -> T) -> T {
        // A panic ends the process.
        seal(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
