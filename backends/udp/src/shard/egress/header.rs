//! A cache of headers: those of one packet for different receivers differ in a few bytes.

use wire::extension::ExtensionMap;
use wire::{ExtensionForm, ExtensionKind, ExtensionWriter, Mid};

use crate::channel::Generation;
use crate::shard::leg::LegState;
use crate::shard::packet::Packet;
use crate::shard::rewrite::{BatchTime, Rewrite};

/// Room for every kind of header extension.
pub(crate) const EXTENSIONS_MAX: usize = ExtensionKind::ALL.len();

/// How many packets' headers are kept: at least as many as are offered together, a power of two.
const PACKETS: usize = 32;
/// How many different ones of each: receivers of two makes do not crowd each other out.
const WAYS: usize = 2;
/// How many different ones that are no single packet's: by makes of receivers, and by how long the
/// names of their media sections are.
const COMMON_WAYS: usize = 8;
/// Longer headers are rare, and cost an allocation.
const LEN: usize = 384;
/// The fixed fields, without CSRCs, and the start of an extension before its elements.
const BEFORE_ELEMENTS: usize = 12 + 4;

/// The headers of the newest packets.
pub(crate) struct Layouts {
    by_packet: Vec<LayoutCache>,
    /// Of packets that bring nothing along which a receiver gets: most of them, but for codecs with
    /// a descriptor in the header.
    common: LayoutCache,
}

/// Headers of one packet, or of all that have the same.
struct LayoutCache {
    ways: Vec<Layout>,
    /// The one to be overwritten next.
    oldest: usize,
}

/// A header whose bytes are right for another receiver, except for the fixed fields and the values
/// whose positions are stored here.
pub(crate) struct Layout {
    /// The key of the header; `None` when it is for one receiver alone.
    of: Option<Of>,
    bytes: Vec<u8>,
    mid: Option<usize>,
    send_time: Option<usize>,
    transport_sequence: Option<usize>,
}

/// The key of a header: it is the same for two receivers with equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Of {
    /// `None` where nothing in it is the packet's own.
    packet: Option<(Generation, u64)>,
    extensions: ExtensionMap,
    mid_len: Option<usize>,
    playout_delay: Option<[u8; 3]>,
}

impl Layouts {
    pub(crate) fn new() -> Self {
        Layouts {
            by_packet: (0..PACKETS).map(|_| LayoutCache::with_ways(WAYS)).collect(),
            common: LayoutCache::with_ways(COMMON_WAYS),
        }
    }

    /// The header of a packet for the receiver at a leg, to be [written](Layout::write).
    pub(crate) fn of(&mut self, leg: &LegState, packet: &Packet, rewrite: &Rewrite) -> &Layout {
        let info = packet.info();
        let is_own = info.extensions.forwards_any();
        let of = Of {
            packet: is_own.then_some((info.generation, info.number)),
            extensions: leg.entry.extensions_out,
            mid_len: rewrite.mid.as_ref().map(|mid| mid.as_bytes().len()),
            playout_delay: rewrite.playout_delay,
        };
        // Rarely needed, so that it is not even cleared.
        let mut room = None;
        let descriptor = rewrite.descriptor.apply(packet, &mut room);
        let kept = match is_own {
            true => &mut self.by_packet[info.number as usize % PACKETS],
            false => &mut self.common,
        };
        let known = kept.ways.iter().position(|layout| layout.of == Some(of));
        let way = match known.filter(|_| descriptor.is_none()) {
            Some(known) => known,
            None => {
                let way = kept.oldest;
                kept.oldest = (way + 1) % kept.ways.len();
                kept.ways[way].fill(leg, packet, rewrite, descriptor);
                kept.ways[way].of = descriptor.is_none().then_some(of);
                way
            }
        };
        &kept.ways[way]
    }
}

impl LayoutCache {
    fn with_ways(count: usize) -> Self {
        LayoutCache {
            ways: (0..count).map(|_| Layout::default()).collect(),
            oldest: 0,
        }
    }
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            of: None,
            bytes: Vec::with_capacity(LEN),
            mid: None,
            send_time: None,
            transport_sequence: None,
        }
    }
}

impl Layout {
    fn fill(&mut self, leg: &LegState, packet: &Packet, rewrite: &Rewrite, descriptor: Option<&[u8]>) {
        let own = Own {
            mid: rewrite.mid.as_ref(),
            playout_delay: rewrite.playout_delay.as_ref(),
            // Written for each receiver.
            send_time: &[0; 3],
            transport_sequence: &[0; 2],
            descriptor,
        };
        let mut elements: [(u8, &[u8]); EXTENSIONS_MAX] = [(0, &[]); EXTENSIONS_MAX];
        let count = list_all_extensions(&mut elements, leg, packet, &own);
        let extensions = ExtensionWriter::new(&elements[..count]).expect("ids and lengths are those of valid packets");
        let header = rewrite.header();
        self.bytes.clear();
        self.bytes.resize(header.encoded_len(&extensions), 0);
        header
            .write(&extensions, &mut self.bytes)
            .expect("the room was measured");
        self.find_slots(&elements[..count], extensions.form(), &leg.entry.extensions_out);
    }

    /// Finds the places of the values that each receiver has of its own.
    fn find_slots(&mut self, elements: &[(u8, &[u8])], form: ExtensionForm, map: &ExtensionMap) {
        (self.mid, self.send_time, self.transport_sequence) = (None, None, None);
        let before_value = match form {
            ExtensionForm::OneByte => 1,
            ExtensionForm::TwoByte => 2,
        };
        let mut at = BEFORE_ELEMENTS;
        for (id, value) in elements {
            at += before_value;
            match map.kind(*id) {
                Some(ExtensionKind::Mid) => self.mid = Some(at),
                Some(ExtensionKind::AbsSendTime) => self.send_time = Some(at),
                Some(ExtensionKind::TransportSequence) => self.transport_sequence = Some(at),
                _ => {}
            }
            at += value.len();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends it as one receiver gets it.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        rewrite: &Rewrite,
        has_padding: bool,
        transport_sequence: u16,
        time: &BatchTime,
    ) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let bytes = &mut out[start..];
        let mut header = rewrite.header();
        header.has_padding = has_padding;
        header.overwrite(bytes);
        let mut put = |at: Option<usize>, value: &[u8]| {
            if let Some(at) = at {
                bytes[at..at + value.len()].copy_from_slice(value);
            }
        };
        put(self.mid, rewrite.mid.as_ref().map_or(&[], |mid| mid.as_bytes()));
        put(self.send_time, &time.send_time);
        put(self.transport_sequence, &transport_sequence.to_be_bytes());
    }
}

/// Values of header extensions that are not simply forwarded.
struct Own<'a> {
    mid: Option<&'a Mid>,
    /// In place of the packet's own.
    playout_delay: Option<&'a [u8; 3]>,
    send_time: &'a [u8],
    transport_sequence: &'a [u8],
    /// The dependency descriptor, where it changes.
    descriptor: Option<&'a [u8]>,
}

/// Lists the extensions for a leg: those of the packet in the order of the kinds, then the leg's
/// own. Returns how many.
fn list_all_extensions<'a>(
    elements: &mut [(u8, &'a [u8]); EXTENSIONS_MAX],
    leg: &LegState,
    packet: &'a Packet,
    own: &Own<'a>,
) -> usize {
    let forwarded = packet.info().extensions.forwarded(packet.bytes());
    let forwarded = forwarded.filter(|(kind, _)| own.playout_delay.is_none() || *kind != ExtensionKind::PlayoutDelay);
    let changed = forwarded.map(|(kind, value)| match kind {
        ExtensionKind::DependencyDescriptor => (kind, own.descriptor.unwrap_or(value)),
        _ => (kind, value),
    });
    let mid = own.mid.map(|mid| mid.as_bytes());
    let delay = own.playout_delay.map(|delay| &delay[..]);
    let ours = own_extensions(mid, delay, own.send_time, own.transport_sequence);
    list_extensions(elements, leg, changed.chain(ours))
}

/// The extensions of the leg's own.
pub(crate) fn own_extensions<'a>(
    mid: Option<&'a [u8]>,
    playout_delay: Option<&'a [u8]>,
    send_time: &'a [u8],
    transport_sequence: &'a [u8],
) -> impl Iterator<Item = (ExtensionKind, &'a [u8])> {
    let mid = mid.map(|mid| (ExtensionKind::Mid, mid));
    let stamps = [
        (ExtensionKind::AbsSendTime, send_time),
        (ExtensionKind::TransportSequence, transport_sequence),
    ];
    let delay = playout_delay.map(|delay| (ExtensionKind::PlayoutDelay, delay));
    mid.into_iter().chain(delay).chain(stamps)
}

/// Lists those values for which the leg has an id; returns how many.
pub(crate) fn list_extensions<'a>(
    elements: &mut [(u8, &'a [u8]); EXTENSIONS_MAX],
    leg: &LegState,
    values: impl Iterator<Item = (ExtensionKind, &'a [u8])>,
) -> usize {
    let map = &leg.entry.extensions_out;
    let with_ids = values.filter_map(|(kind, value)| Some((map.id(kind)?, value)));
    let mut count = 0;
    for (slot, element) in elements.iter_mut().zip(with_ids) {
        *slot = element;
        count += 1;
    }
    count
}
