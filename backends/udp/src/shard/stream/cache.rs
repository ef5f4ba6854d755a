//! The newest packets of one stream, kept once for all its receivers.

use std::sync::Arc;

use dataplane::limits::{CACHE_AUDIO, CACHE_VIDEO};
use wire::MediaKind;

use crate::prefetch;
use crate::shard::packet::Packet;
use crate::shard::packet::pool::Pool;

/// A ring of packets by extended number. It grows as packets arrive, so that an idle stream costs
/// nothing.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Packet `n` is at `n % kept`, once the ring has grown that far.
    slots: Vec<Option<Arc<Packet>>>,
    kept: u64,
    /// Packets before this one are no longer kept.
    floor: u64,
}

impl Cache {
    pub(crate) fn new(kind: MediaKind) -> Self {
        Cache {
            slots: Vec::new(),
            kept: kept(kind),
            floor: 0,
        }
    }

    /// Keeps as many as befits `kind` from now on.
    pub(crate) fn reshape(&mut self, kind: MediaKind) {
        if self.kept == kept(kind) {
            return;
        }
        self.kept = kept(kind);
        let mut packets: Vec<Arc<Packet>> = self.slots.drain(..).flatten().collect();
        packets.sort_by_key(|packet| packet.info().number);
        packets.into_iter().for_each(|packet| drop(self.put(packet)));
    }

    /// Stores a packet of a stream whose newest is `highest`. The packet it replaces is returned to
    /// the pool.
    pub(crate) fn keep(&mut self, packet: Arc<Packet>, highest: u64, pool: &mut Pool) {
        self.floor = self.floor.max((highest + 1).saturating_sub(self.kept));
        if packet.info().number < self.floor {
            return;
        }
        if let Some(replaced) = self.put(packet) {
            pool.give(replaced);
        }
        self.prefetch_oldest(highest);
    }

    /// Prefetches the packet that the next one replaces, which has not been used for as long as
    /// packets are kept.
    fn prefetch_oldest(&self, highest: u64) {
        let slot = self.slots.get(((highest + 1) % self.kept) as usize);
        slot.into_iter().flatten().for_each(|oldest| prefetch::value(&**oldest));
    }

    fn put(&mut self, packet: Arc<Packet>) -> Option<Arc<Packet>> {
        let slot = (packet.info().number % self.kept) as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, None);
        }
        self.slots[slot].replace(packet)
    }

    /// The packet with this number, if it arrived and is still kept.
    pub(crate) fn find(&self, number: u64) -> Option<&Arc<Packet>> {
        let packet = self.slots.get((number % self.kept) as usize)?.as_ref()?;
        (number >= self.floor && packet.info().number == number).then_some(packet)
    }
}

fn kept(kind: MediaKind) -> u64 {
    match kind {
        MediaKind::Audio => CACHE_AUDIO,
        MediaKind::Video => CACHE_VIDEO,
    }
}
