//! The packets that have arrived, and the copies of each.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::{LegId, Path};
use wire::{ExtensionKind, PacketKind, RtpPacket, Unwrapper};

use super::sent_copy::SentCopy;
use crate::Send;
use crate::leg_table::LegTable;

/// The place of a packet among those of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Newest,
    Late,
    Again,
}

/// A packet that arrives.
pub(super) struct Arrival {
    pub(super) order: Order,
    /// Its stream and number.
    name: Option<((LegId, u32), u64)>,
    pub(super) timestamp: u32,
    pub(super) descriptor: Option<Vec<u8>>,
    /// Its copies by the model or the device.
    pub(super) sent: Vec<(Path, SentCopy)>,
    /// Those that the device has sent.
    pub(super) sent_by_device: BTreeSet<usize>,
}

impl Arrival {
    pub(super) fn new() -> Self {
        Arrival {
            order: Order::Newest,
            name: None,
            timestamp: 0,
            descriptor: None,
            sent: Vec::new(),
            sent_by_device: BTreeSet::new(),
        }
    }
}

/// All that has arrived, by stream and number.
#[derive(Default)]
pub(super) struct Arrivals {
    pub(super) legs: LegTable,
    streams: BTreeMap<(LegId, u32), Stream>,
}

/// The copies of a packet, and which of them the device has sent.
type Sent = (Vec<(Path, SentCopy)>, BTreeSet<usize>);

#[derive(Default)]
struct Stream {
    unwrapper: Unwrapper,
    sent: BTreeMap<u64, Sent>,
}

impl Arrivals {
    pub(super) fn arrived(&mut self, send: &Send) -> Arrival {
        let mut arrival = Arrival::new();
        let packet = RtpPacket::parse(&send.bytes).ok();
        let packet = packet.filter(|_| wire::classify(&send.bytes) == PacketKind::Rtp);
        let (Some(leg), Some(packet)) = (self.legs.of_arrival(send.path, &send.bytes), packet) else {
            return arrival;
        };
        let map = self.legs.entry(leg).map(|leg| leg.extensions_in);
        let id = map.and_then(|map| map.id(ExtensionKind::DependencyDescriptor));
        arrival.descriptor = id.and_then(|id| packet.extension(id)).map(<[u8]>::to_vec);
        arrival.timestamp = packet.timestamp().0;
        let key = (leg, packet.ssrc().0);
        let stream = self.streams.entry(key).or_default();
        let highest = stream.unwrapper.highest();
        let number = stream.unwrapper.extend(packet.sequence().0);
        arrival.name = Some((key, number));
        if let Some((sent, by_device)) = stream.sent.get(&number) {
            arrival.order = Order::Again;
            (arrival.sent, arrival.sent_by_device) = (sent.clone(), by_device.clone());
        } else if highest.is_some_and(|highest| number < highest) {
            arrival.order = Order::Late;
        }
        arrival
    }

    pub(super) fn keep(&mut self, arrival: Arrival) {
        if let Some((key, number)) = arrival.name {
            let stream = self.streams.entry(key).or_default();
            stream.sent.insert(number, (arrival.sent, arrival.sent_by_device));
        }
    }
}
