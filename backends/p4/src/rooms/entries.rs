//! The values of a room's entries.

use std::collections::BTreeSet;

use dataplane::{Leg, Replica, ReplicaSnapshot, Rewriting, Stream};
use wire::ExtensionKind;

use super::fit;
use super::groups::{Fanout, StreamFanout};
use super::templates::Templates;
use super::{Began, Entries};
use crate::address::{pair, way};
use crate::config::Hop;
use crate::entry::{Key, Table, Value};

/// The highest layer in an entry, which stands for everything.
const SPATIAL_MAX: u8 = 3;
const TEMPORAL_MAX: u8 = 7;

/// The entry of a leg that receives.
pub(super) fn receiver(rid: u16, hop: Hop, leg: &Leg) -> Entries {
    let Some((local, remote)) = fit::nominated(leg) else {
        return Entries::new();
    };
    let macs = [hop.src_mac.bits(), hop.dst_mac.bits()];
    let data = [macs, pair(local), pair(remote)].concat();
    let key = Key::Entry(Table::Receiver, vec![rid.into(), hop.port.into()]);
    Entries::from([(key, Value::Data(data))])
}

/// The entries of a stream with this number, which is copied in these ways.
pub(super) fn stream(
    number: u32,
    fanouts: StreamFanout,
    ssrc: u32,
    stream: &Stream,
    from: &Leg,
    templates: &Templates,
) -> Entries {
    let number = u128::from(number);
    let described = fit::described(stream, from);
    let data = vec![
        number,
        fanouts.all.group.into(),
        fanouts.all.branches.into(),
        fanouts.all.exclude.into(),
        described.is_some().into(),
        described.unwrap_or(0).into(),
    ];
    let senders = from.paths.iter().map(|path| {
        let key = [way(path.remote, path.local), vec![ssrc.into()]].concat();
        (Key::Entry(Table::Sender, key), Value::Data(data.clone()))
    });
    let formats = stream.formats.iter().map(|format| {
        let key = vec![number, format.payload_type.get().into()];
        (Key::Entry(Table::Format, key), Value::Data(Vec::new()))
    });
    let layers = templates.entries().into_iter().map(|(id, data)| {
        let key = Key::Entry(Table::TemplateLayer, vec![number, id.into()]);
        (key, Value::Data(data))
    });
    senders.chain(formats).chain(layers).collect()
}

/// The entries of a stream's upper temporal layers, as far as its templates have them.
pub(super) fn layer_groups(number: u32, fanouts: StreamFanout, templates: &Templates) -> Entries {
    let temporal = templates
        .entries()
        .into_values()
        .filter_map(|data| data.get(1).copied());
    let upper: BTreeSet<u128> = temporal.filter(|temporal| *temporal > 0).collect();
    let rows = upper.into_iter().map(|temporal| {
        let fanout = fanouts.upper[usize::from(temporal > 1)];
        let key = Key::Entry(Table::LayerGroup, vec![number.into(), temporal]);
        (key, group(fanout))
    });
    rows.collect()
}

fn group(fanout: Fanout) -> Value {
    Value::Data(vec![fanout.group.into(), fanout.branches.into(), fanout.exclude.into()])
}

/// The payload types of a replica with this index.
pub(super) fn payload_types(index: u32, replica: &Replica) -> Entries {
    let types = replica.formats.iter().map(|format| {
        let key = vec![index.into(), format.source.get().into()];
        let data = vec![format.payload_type.get().into()];
        (Key::Entry(Table::PayloadType, key), Value::Data(data))
    });
    types.collect()
}

/// The entry of a replica of this stream, behind a port.
pub(super) fn replica_key(rid: u16, stream: u32, port: u16) -> Key {
    Key::Entry(Table::Replica, vec![rid.into(), stream.into(), port.into()])
}

/// Its value, which begins from a state and has the newest target.
pub(super) fn replica(index: u32, began: &Began, replica: &Replica, to: &Leg, stream: &Stream, from: &Leg) -> Value {
    let described = fit::described(stream, from).is_some();
    let method = match replica.rewriting {
        Rewriting::LowMemory if described => 1,
        Rewriting::LowRetransmission if described => 2,
        _ => 0,
    };
    let ReplicaSnapshot {
        newest,
        next,
        timestamp_offset,
        frame_offset,
        ..
    } = began.from;
    let out = |kind| to.extensions_out.id(kind).map_or(0, u128::from);
    let mid_id = out(ExtensionKind::Mid);
    let mid = replica
        .mid
        .as_ref()
        .filter(|_| mid_id != 0)
        .map_or(&[][..], |mid| mid.as_bytes());
    Value::Data(vec![
        index.into(),
        began.epoch.into(),
        replica.ssrc.0.into(),
        described.into(),
        newest.into(),
        next.into(),
        timestamp_offset.into(),
        frame_offset.into(),
        method,
        replica.target.spatial.min(SPATIAL_MAX).into(),
        replica.target.temporal.min(TEMPORAL_MAX).into(),
        if mid.is_empty() { 0 } else { mid_id },
        mid.len() as u128,
        mid.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte)),
        out(ExtensionKind::AbsSendTime),
        fit::kept(to, from).fold(0, |bits, (id, new)| bits | u128::from(new) << (4 * id)),
    ])
}
