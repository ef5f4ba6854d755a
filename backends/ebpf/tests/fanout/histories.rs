//! Random histories: whatever happens, what receivers get keeps the promises that hold on every
//! device.

use std::time::Instant;

use conformance::differential::check;
use conformance::random::{Network, Options, Srtp, history};
use conformance::shrink::shrink;
use conformance::text::print_history;
use conformance::{Injection, Step};
use dataplane::{Replica, Stream, StreamFormat, Update};
use wire::{Codec, ExtensionKind, ExtensionMap, PayloadType};

use crate::device::{Cable, NewCable, on_cable};

const SEEDS: std::ops::Range<u64> = 1..25;

#[test]
fn no_packet_is_made_up_leaked_or_sent_twice_and_no_loss_hidden() {
    keep_promises(Cable::new);
}

#[test]
fn the_driver_makes_up_leaks_repeats_and_hides_nothing_either() {
    keep_promises(Cable::of_drivers);
}

fn keep_promises(cable: NewCable) {
    on_cable(cable, |cable| {
        let start = Instant::now();
        let new_device = |start| cable.device(false, start);
        for seed in SEEDS {
            let options = Options {
                steps: 500,
                srtp: Srtp::Never,
                network: Network::Rough,
            };
            let steps: Vec<Step> = history(seed, options).into_iter().map(plain).collect();
            let run = |steps: &[Step]| check(steps, &new_device, start);
            if let Err(difference) = run(&steps) {
                let whole = difference.to_string();
                let (steps, _) = shrink(steps, difference, |steps| run(steps).err());
                panic!(
                    "seed {seed} fails {whole}\n\n{}",
                    print_history("What is left of it.", &steps)
                );
            }
        }
        println!(
            "{} packets in the kernel, {} copies, {} of them the packet itself, {} in the driver",
            cable.taken.get(),
            cable.copied.get(),
            cable.as_itself.get(),
            cable.by_driver.get()
        );
        assert!(cable.copied.get() > 0);
        // Packets that the driver passes to the stack are really forwarded.
        assert_eq!(cable.as_itself.get() > 0, !cable.is_of_drivers());
        assert_eq!(cable.by_driver.get() > 0, cable.is_of_drivers());
    });
}

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

/// A step of a room without what the kernel leaves to the base.
pub(crate) fn plain(step: Step) -> Step {
    match step {
        Step::Write(update) => Step::Write(plain_entry(update)),
        // A probe sends packets twice here, and on purpose.
        Step::Inject(Injection::Probe { leg, .. }) => Step::Inject(Injection::Report(leg)),
        other => other,
    }
}

/// A stream of these formats, without retransmissions.
pub(crate) fn of_formats(stream: Stream, formats: &[(u8, Codec)]) -> Stream {
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
