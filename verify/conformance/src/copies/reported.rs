//! Events and statistics of a switch with its base, beside those of the model.
//!
//! The base gets each packet that the switch has copied, so it reports arrivals, unknown streams
//! and other datagrams as the model does. Statistics of streams are the model's as well, but for
//! the jitter. Those of replicas are compared with the datagrams that were sent: where packets are
//! late the device may send more or fewer than the model. The octets that the switch counts
//! include header extensions, as they arrived, and padding. Selections and departures are not
//! compared, since the switch does not report them.

use std::collections::BTreeMap;
use std::time::Instant;

use dataplane::{Event, LegId, ReplicaId, StreamStatistics};
use wire::{PacketKind, RtpPacket};

use crate::Datagram;
use crate::event::{flatten, order};

/// The packets of each replica that were sent, by its leg and SSRC.
#[derive(Debug, Default)]
pub(super) struct Sent(BTreeMap<(LegId, u32), Counted>);

/// Packets, and the octets of their payloads.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    packets: u64,
    octets: u64,
}

impl Sent {
    /// A datagram was sent to a leg.
    pub(super) fn add(&mut self, leg: LegId, datagram: &Datagram) {
        let bytes = &datagram.bytes;
        if wire::classify(bytes) != PacketKind::Rtp {
            return;
        }
        let Ok(packet) = RtpPacket::parse(bytes) else { return };
        let counted = self.0.entry((leg, packet.ssrc().0)).or_default();
        counted.packets += 1;
        counted.octets += packet.payload().len() as u64;
    }

    /// A replica begins with no packets.
    pub(super) fn begin(&mut self, leg: LegId, ssrc: u32) {
        self.0.remove(&(leg, ssrc));
    }
}

/// The first difference of the events of one step.
pub(super) fn difference(model: Vec<Event>, device: Vec<Event>, at: Instant) -> Option<String> {
    let (expected, got) = (comparable(model, at), comparable(device, at));
    if expected == got {
        return None;
    }
    let missing = expected.iter().find(|event| !got.contains(event));
    let extra = got.iter().find(|event| !expected.contains(event));
    Some(format!("the device reports {extra:?}\nand not {missing:?}"))
}

/// The events that are compared, without their times.
fn comparable(events: Vec<Event>, time: Instant) -> Vec<Event> {
    let without_time = |event| match event {
        Event::Punt {
            kind, path, leg, bytes, ..
        } => Some(Event::Punt {
            kind,
            path,
            leg,
            bytes,
            at: time,
        }),
        Event::Arrivals { leg, mut arrivals } => {
            arrivals.iter_mut().for_each(|arrival| arrival.at = time);
            Some(Event::Arrivals { leg, arrivals })
        }
        Event::Stream(key, statistics) => {
            let statistics = StreamStatistics {
                jitter: 0,
                ..statistics
            };
            Some(Event::Stream(key, statistics))
        }
        Event::UnknownStream { .. } => Some(event),
        _ => None,
    };
    let mut events: Vec<Event> = events.into_iter().flat_map(flatten).filter_map(without_time).collect();
    events.sort_by_key(order);
    events
}

/// Whether the statistics of replicas are those of the datagrams that were sent.
pub(super) fn check(
    events: &[Event],
    sent: &Sent,
    replicas: &BTreeMap<ReplicaId, (LegId, u32)>,
) -> Result<u64, String> {
    let mut checked = 0;
    for event in events {
        let Event::Replica(id, statistics) = event else {
            continue;
        };
        let Some(name) = replicas.get(id) else { continue };
        let counted = sent.0.get(name).copied().unwrap_or_default();
        if statistics.packets != counted.packets || statistics.octets < counted.octets {
            return Err(format!("{id:?} reports {statistics:?}, and {counted:?} were sent"));
        }
        checked += 1;
    }
    Ok(checked)
}
