//! The end of sources.

use super::{BYE, ssrcs, write_packet};
use crate::Ssrc;
use crate::bytes::Reader;

/// Sources that send no more.
///
/// Source: RFC 3550 section 6.6.
#[derive(Clone, Copy, Debug)]
pub struct Bye<'a> {
    sources: &'a [u8],
    /// Why, in the sender's words.
    pub reason: Option<&'a [u8]>,
}

impl<'a> Bye<'a> {
    pub(super) fn parse(sources: u8, body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let sources = reader.take(4 * usize::from(sources))?;
        let reason = match reader.u8() {
            None => None,
            Some(len) => Some(reader.take(usize::from(len))?),
        };
        Some(Self { sources, reason })
    }

    /// The sources that end, 0 to 31.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = Ssrc> + 'a {
        ssrcs(self.sources)
    }
}

/// Appends a goodbye without a reason for each 31 sources.
pub(super) fn write_bye(out: &mut Vec<u8>, sources: &[Ssrc]) {
    for some in sources.chunks(31) {
        write_packet(out, BYE, some.len() as u8, |out| {
            some.iter().for_each(|source| out.extend(source.0.to_be_bytes()));
        });
    }
}
