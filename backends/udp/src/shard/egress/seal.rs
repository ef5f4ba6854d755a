//! Sealing of packets, each index once.

use dataplane::Counter;
use dataplane::limits::DATAGRAM_MAX;

use crate::shard::leg::LegState;
use crate::shard::rewrite::RtpIdentity;
use crate::srtp::{Bytes, RTP_OVERHEAD_MAX, Refused, rtcp_overhead};

/// The shortest RTCP packet that can be protected: a header and an SSRC.
const RTCP_MIN: usize = 8;

/// Claims the index of a packet. A (key, SSRC, index) must protect one packet, ever. The numbering
/// of replicas already ensures it, and this checks it.
pub(crate) fn claim_index(leg: &mut LegState, identity: RtpIdentity) -> Result<(), Counter> {
    if leg.keys_in_use().is_none() {
        return Ok(());
    }
    let claimed = leg.indexes.claim(identity.ssrc.0, identity.index, Bytes::New);
    debug_assert!(
        !matches!(claimed, Err(Refused::Used | Refused::TooOld)),
        "{identity:?} was numbered twice"
    );
    claimed.map_err(|_| Counter::KeysExhausted)
}

/// Seals the packet that `bytes` ends with, in place, if the leg has keys.
pub(crate) fn seal_rtp(leg: &mut LegState, bytes: &mut Vec<u8>, start: usize, header_len: usize, index: u64) {
    let Some(keys) = leg.keys_in_use() else { return };
    let clear_len = bytes.len() - start;
    bytes.extend_from_slice(&[0; RTP_OVERHEAD_MAX]);
    let sealed = keys.sealer.seal_rtp(&mut bytes[start..], clear_len, header_len, index);
    bytes.truncate(start + sealed);
}

/// Seals the compound RTCP packet that `bytes` ends with, in place, if the leg has keys.
pub(crate) fn seal_rtcp(leg: &mut LegState, bytes: &mut Vec<u8>, start: usize) -> Result<(), Counter> {
    let Some(keys) = leg.keys_in_use() else { return Ok(()) };
    let clear_len = bytes.len() - start;
    if !(RTCP_MIN..=DATAGRAM_MAX).contains(&clear_len) {
        return Err(Counter::Malformed);
    }
    bytes.resize(start + clear_len + rtcp_overhead(keys.egress_profile()), 0);
    let sealed = keys.sealer.seal_rtcp(&mut bytes[start..], clear_len);
    bytes.truncate(start + sealed.map_err(|_| Counter::KeysExhausted)?);
    Ok(())
}
