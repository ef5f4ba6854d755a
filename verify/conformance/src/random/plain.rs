//! Histories for devices that only copy packets, and leave all else to a base.

use dataplane::{Replica, Stream, StreamFormat, Update};
use wire::{Codec, ExtensionKind, ExtensionMap, PayloadType};

use crate::{Injection, Step};

/// Header extensions that are each leg's own business, under its own numbers; of the others those
/// that all legs have in common.
fn like_others(map: &ExtensionMap) -> ExtensionMap {
    let mut common = ExtensionMap::default();
    for kind in [
        ExtensionKind::Mid,
        ExtensionKind::AbsSendTime,
        ExtensionKind::TransportSequence,
    ] {
        if let Some(id) = map.id(kind) {
            common.insert(kind, id).expect("as it was");
        }
    }
    for kind in [ExtensionKind::AbsCaptureTime, ExtensionKind::ColorSpace] {
        let free = (1..=16).find(|id| common.kind(*id).is_none()).expect("few are taken");
        common.insert(kind, free).expect("nobody has it");
    }
    common
}

/// A step of a room without what a device that only copies packets leaves to the base.
pub fn plain(step: Step) -> Step {
    match step {
        Step::Write(update) => Step::Write(plain_entry(update)),
        // Such a device may probe by packets that it sends twice.
        Step::Inject(Injection::Probe { leg, .. }) => Step::Inject(Injection::Report(leg)),
        other => other,
    }
}

/// A stream of these formats, without retransmissions.
pub fn of_formats(stream: Stream, formats: &[(u8, Codec)]) -> Stream {
    let format = |(payload_type, codec): &(u8, Codec)| StreamFormat {
        payload_type: PayloadType::new(*payload_type).expect("below 128"),
        codec: *codec,
        rtx: None,
    };
    Stream {
        formats: formats.iter().map(format).collect(),
        rtx: None,
        ..stream
    }
}

fn plain_entry(update: Update) -> Update {
    match update {
        Update::SetLeg(id, mut leg) => {
            leg.extensions_in = like_others(&leg.extensions_in);
            leg.extensions_out = like_others(&leg.extensions_out);
            Update::SetLeg(id, leg)
        }
        Update::SetStream(key, stream) => {
            let mut stream = Stream { rtx: None, ..stream };
            stream.formats.iter_mut().for_each(|format| format.rtx = None);
            Update::SetStream(key, stream)
        }
        Update::SetReplica(id, replica) => {
            let mut replica = Replica {
                rtx: None,
                fallback_spatial: None,
                ..replica
            };
            for format in &mut replica.formats {
                (format.rtx, format.primary_only) = (None, false);
            }
            Update::SetReplica(id, replica)
        }
        other => other,
    }
}
