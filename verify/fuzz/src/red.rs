//! Redundant audio.

use wire::red::{self, RedPayload};

/// Redundant audio: every byte is in one block, and the blocks make the same payload again.
pub fn red(data: &[u8]) {
    let Ok(payload) = RedPayload::parse(data) else { return };
    let (redundant, primary) = (payload.redundant().collect::<Vec<_>>(), payload.primary());
    for block in redundant.iter().chain([&primary]) {
        crate::assert_inside(data, block.payload);
    }
    let mut out = vec![0; red::encoded_len(&redundant, primary.payload)];
    let written = red::write(&redundant, (primary.payload_type, primary.payload), &mut out);
    assert_eq!(written, Ok(data.len()));
    assert_eq!(out, data);
}
