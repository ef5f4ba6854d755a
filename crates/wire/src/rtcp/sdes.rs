//! Source descriptions.

use super::{SOURCE_DESCRIPTION, read_ssrc, write_packet};
use crate::Ssrc;
use crate::bytes::Reader;

/// The kinds of items a source description may hold; Weir writes only the first.
///
/// Source: RFC 3550 section 6.5.
pub mod sdes_item {
    /// The name that ties the sources of one participant together.
    pub const CNAME: u8 = 1;
    /// End of the list, never seen as an item.
    pub(super) const END: u8 = 0;
}

/// The names of sources.
///
/// Source: RFC 3550 section 6.5.
#[derive(Clone, Copy, Debug)]
pub struct SourceDescription<'a> {
    count: u8,
    body: &'a [u8],
}

/// The description of one source.
#[derive(Clone, Copy, Debug)]
pub struct SdesChunk<'a> {
    /// The source described.
    pub ssrc: Ssrc,
    items: &'a [u8],
}

impl<'a> SourceDescription<'a> {
    pub(super) fn parse(count: u8, body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        for _ in 0..count {
            SdesChunk::read(&mut reader)?;
        }
        Some(Self { count, body })
    }

    /// One source after the other.
    pub fn chunks(&self) -> impl Iterator<Item = SdesChunk<'a>> + 'a {
        let mut reader = Reader::new(self.body);
        // `parse` has read the same chunks, so none is missing.
        (0..self.count).map_while(move |_| SdesChunk::read(&mut reader))
    }
}

impl<'a> SdesChunk<'a> {
    /// The items, as `(kind, text)`; see [`sdes_item`].
    pub fn items(&self) -> impl Iterator<Item = (u8, &'a [u8])> + 'a {
        let mut reader = Reader::new(self.items);
        std::iter::from_fn(move || read_item(&mut reader))
    }

    /// The canonical name. It is text by its standard, but a peer may write any bytes.
    pub fn cname(&self) -> Option<&'a [u8]> {
        self.items()
            .find(|(kind, _)| *kind == sdes_item::CNAME)
            .map(|(_, name)| name)
    }

    /// Takes a chunk: source, items, and at least one zero up to the next word.
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let ssrc = read_ssrc(reader)?;
        let from_items = *reader;
        while read_item(reader).is_some() {}
        let len = from_items.len() - reader.len();
        if reader.u8()? != sdes_item::END {
            return None;
        }
        reader.take((len + 1).next_multiple_of(4) - (len + 1))?;
        Some(Self {
            ssrc,
            items: &from_items.rest()[..len],
        })
    }
}

/// Takes an item; `None`, with nothing taken, at the end of the list or where an item is cut short.
fn read_item<'a>(reader: &mut Reader<'a>) -> Option<(u8, &'a [u8])> {
    let mut ahead = *reader;
    let kind = ahead.u8().filter(|kind| *kind != sdes_item::END)?;
    let len = ahead.u8()?;
    let text = ahead.take(usize::from(len))?;
    *reader = ahead;
    Some((kind, text))
}

/// Appends a description that gives one source its canonical name.
///
/// Panics: when `cname` is longer than 255 bytes; we choose it ourselves (RFC 7022).
pub(super) fn write_cname(out: &mut Vec<u8>, ssrc: Ssrc, cname: &str) {
    let len = u8::try_from(cname.len()).expect("a canonical name has at most 255 bytes");
    write_packet(out, SOURCE_DESCRIPTION, 1, |out| {
        out.extend(ssrc.0.to_be_bytes());
        let start = out.len();
        out.extend([sdes_item::CNAME, len]);
        out.extend(cname.as_bytes());
        let items_len = out.len() - start;
        out.resize(start + (items_len + 1).next_multiple_of(4), sdes_item::END);
    });
}
