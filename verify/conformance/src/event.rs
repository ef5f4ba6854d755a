//! Events from a device to the agent.

use dataplane::{Event, OffloadedTraffic, RelayTraffic};

use crate::text::EventPattern;

/// Devices report packets in batches of their own size; only the order is the contract's. So: one
/// packet an event.
pub fn flatten(event: Event) -> Vec<Event> {
    match event {
        Event::Arrivals { leg, arrivals } => arrivals
            .into_iter()
            .map(|arrival| Event::Arrivals {
                leg,
                arrivals: vec![arrival],
            })
            .collect(),
        Event::Departures { leg, departures } => departures
            .into_iter()
            .map(|departure| Event::Departures {
                leg,
                departures: vec![departure],
            })
            .collect(),
        Event::RelayTraffic { at, traffic, last } => {
            // Each device has its own division between base and offloads.
            let traffic = RelayTraffic {
                offloaded: OffloadedTraffic::default(),
                ..traffic
            };
            vec![Event::RelayTraffic { at, traffic, last }]
        }
        other => vec![other],
    }
}

/// Whether an event, which reports one packet if any, has the fields of a pattern.
pub fn matches(pattern: &EventPattern, event: &Event) -> bool {
    match (pattern, event) {
        (EventPattern::Punt { kind, path, leg, bytes }, Event::Punt { .. }) => {
            let Event::Punt {
                kind: k,
                path: p,
                leg: l,
                bytes: b,
                ..
            } = event
            else {
                return false;
            };
            kind == k && path == p && leg == l && is(bytes, b)
        }
        (
            EventPattern::Selected { replica, source, layer },
            Event::Selected {
                replica: r,
                source: s,
                layer: l,
                awaits_key_frame,
            },
        ) => replica == r && source == s && is(layer, &(*l, *awaits_key_frame)),
        (
            EventPattern::Departure {
                leg,
                transport_sequence,
                size,
                probe,
            },
            Event::Departures { leg: l, departures },
        ) => {
            leg == l
                && departures
                    .iter()
                    .any(|d| d.transport_sequence == *transport_sequence && is(size, &d.size) && d.probe == *probe)
        }
        (EventPattern::Unknown { .. }, _) => matches_unknown(pattern, event),
        (EventPattern::Arrival { .. }, _) => matches_arrival(pattern, event),
        (EventPattern::Stream { .. } | EventPattern::Replica { .. }, _) => matches_statistics(pattern, event),
        (
            EventPattern::Nack { stream, sequences },
            Event::NackUpstream {
                stream: s,
                sequences: q,
            },
        ) => stream == s && sequences == q,
        (
            EventPattern::Released { replica, from },
            Event::Released {
                replica: r, from: f, ..
            },
        ) => replica == r && from == f,
        (EventPattern::RelaySource { at, from }, Event::RelaySource { at: a, from: f }) => at == a && from == f,
        (
            EventPattern::RelayTraffic {
                at,
                packets,
                bytes,
                dropped,
                ssrc,
            },
            Event::RelayTraffic { at: a, traffic, .. },
        ) => {
            let counts = is(packets, &traffic.packets) && is(bytes, &traffic.bytes) && is(dropped, &traffic.dropped);
            at == a && counts && is(ssrc, &traffic.ssrc)
        }
        _ => false,
    }
}

/// Whether a value is the expected one, if one is expected.
fn is<T: PartialEq>(expected: &Option<T>, got: &T) -> bool {
    expected.as_ref().is_none_or(|expected| expected == got)
}

fn matches_unknown(pattern: &EventPattern, event: &Event) -> bool {
    let EventPattern::Unknown {
        leg,
        ssrc,
        payload_type,
        mid,
        rid,
        repaired_rid,
    } = pattern
    else {
        return false;
    };
    let Event::UnknownStream {
        leg: l,
        ssrc: s,
        payload_type: p,
        mid: m,
        rid: r,
        repaired_rid: rr,
    } = event
    else {
        return false;
    };
    leg == l && *ssrc == s.0 && is(payload_type, &p.get()) && mid == m && rid == r && repaired_rid == rr
}

fn matches_arrival(pattern: &EventPattern, event: &Event) -> bool {
    let EventPattern::Arrival {
        leg,
        ssrc,
        sequence,
        recovered,
        transport_sequence,
        size,
        audio_level,
        layer,
        ends_frame,
        needed_above,
    } = pattern
    else {
        return false;
    };
    let Event::Arrivals { leg: l, arrivals } = event else {
        return false;
    };
    leg == l
        && arrivals.iter().any(|arrival| {
            is(ssrc, &arrival.ssrc.0)
                && is(sequence, &arrival.sequence)
                && *recovered == arrival.recovered
                && *transport_sequence == arrival.transport_sequence
                && is(size, &arrival.size)
                && *audio_level == arrival.audio_level
                && is(layer, &arrival.layer)
                && is(ends_frame, &arrival.ends_frame)
                && is(needed_above, &arrival.needed_above)
        })
}

fn matches_statistics(pattern: &EventPattern, event: &Event) -> bool {
    match (pattern, event) {
        (
            EventPattern::Stream {
                key,
                packets,
                octets,
                first,
                highest,
                jitter,
            },
            Event::Stream(k, got),
        ) => {
            key == k
                && is(packets, &got.packets)
                && is(octets, &got.octets)
                && is(first, &got.first)
                && is(highest, &got.highest)
                && is(jitter, &got.jitter)
        }
        (
            EventPattern::Replica {
                replica,
                packets,
                octets,
                resent,
                source,
                timestamp_offset,
            },
            Event::Replica(r, got),
        ) => {
            replica == r
                && is(packets, &got.packets)
                && is(octets, &got.octets)
                && is(resent, &got.resent)
                && is(source, &got.source)
                && is(timestamp_offset, &got.timestamp_offset)
        }
        _ => false,
    }
}

/// Sorts events by kind and by subject; the order within is the device's, and part of the contract.
pub fn order(event: &Event) -> (u8, u32, u32) {
    match event {
        Event::Punt { path, .. } => (0, crate::step::peer_at(*path).unwrap_or(u32::MAX), 0),
        Event::UnknownStream { leg, .. } => (1, leg.0, 0),
        Event::Arrivals { leg, .. } => (2, leg.0, 0),
        Event::Departures { leg, .. } => (3, leg.0, 0),
        Event::Selected { replica, .. } => (4, replica.0, 0),
        Event::Stream(key, _) => (5, key.leg.0, key.ssrc.0),
        Event::Replica(replica, _) => (6, replica.0, 0),
        Event::RelaySource { at, .. } => (7, at.port().into(), 0),
        Event::RelayTraffic { at, .. } => (8, at.port().into(), 0),
        Event::Released { replica, .. } => (10, replica.0, 0),
        Event::NackUpstream { stream, .. } => (9, stream.leg.0, stream.ssrc.0),
    }
}
