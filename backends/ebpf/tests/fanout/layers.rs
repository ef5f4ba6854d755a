//! Layers that the kernel leaves out, by dependency descriptors and by payload descriptors of VP9.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use conformance::coverage::Coverage;
use conformance::device::ModelDevice;
use conformance::differential::Difference;
use conformance::invariants::Invariants;
use conformance::random::{Network, Options, Srtp, disturbed, history, numbered, of_formats, plain};
use conformance::shrink::shrink;
use conformance::text::print_history;
use conformance::vector::run;
use conformance::{Observation, Step, Subject};
use dataplane::{Event, LegId, Path, Rewriting, Update};
use wire::{Codec, ExtensionKind, ExtensionMap, RtpPacket};

use crate::device::{Cable, on_cable};
use crate::vectors::vectors_as;

/// The id of dependency descriptors that receivers get.
const DESCRIPTOR: u8 = 7;

/// As histories have them.
const FORMATS: [(u8, Codec); 4] = [
    (96, Codec::Vp8),
    (98, Codec::H264),
    (100, Codec::Av1),
    (102, Codec::Vp9),
];

const SEEDS: std::ops::Range<u64> = 1..13;

/// Without retransmissions, and where nothing shows which ids a descriptor has on either side, the
/// kernel can do what they say.
fn as_the_kernel_can(text: String) -> String {
    text.replace("/103 rtx 0x23/500", "")
}

/// Vectors of what the kernel does otherwise, and what that is.
const OTHERWISE: [(&str, &str); 6] = [
    (
        "layers-descriptor-first.vector",
        "packets that arrived while a stream had no replica here are unknown later",
    ),
    (
        "layers-descriptor-fallback.vector",
        "no smaller size is kept beside a larger one",
    ),
    ("layers-descriptor-fallback-between.vector", "likewise"),
    ("layers-descriptor-fallback-left-out.vector", "likewise"),
    ("layers-descriptor-fallback-unfinished.vector", "likewise"),
    ("layers-vp8-late-resend.vector", "nothing is kept to be sent again"),
];

#[test]
fn the_kernel_leaves_layers_out_as_the_model_does() {
    on_cable(Cable::new, |cable| {
        let (mut failures, mut packets) = (Vec::new(), Vec::new());
        let all = vectors_as(as_the_kernel_can);
        let about_layers = all.iter().filter(|(vector, _)| vector.file.starts_with("layers-"));
        for (vector, names) in about_layers.filter(|(vector, _)| !vector.needs_virtual_time) {
            let start = Instant::now();
            let before = cable.taken.get();
            let result = run(vector, names, &mut *cable.device(false, start), start);
            packets.push((vector.file.clone(), cable.taken.get() - before));
            match OTHERWISE.iter().find(|(file, _)| *file == vector.file) {
                Some((file, why)) => assert!(result.is_err(), "{file} is kept, in spite of this: {why}"),
                None => failures.extend(result.err()),
            }
        }
        println!("packets in the kernel: {packets:?}");
        let report: String = failures.iter().map(|failure| format!("{failure}\n")).collect();
        assert!(failures.is_empty(), "{} vectors failed\n\n{report}", failures.len());
        let none: Vec<_> = packets.iter().filter(|(_, taken)| *taken == 0).collect();
        // Of what nobody gets there is nothing to be taken.
        assert!(
            none.iter().all(|(file, _)| file.starts_with("layers-arrivals")),
            "{none:?}"
        );
    });
}

/// A step of a room as the kernel can have it, whose legs carry dependency descriptors.
fn in_layers(step: Step) -> Step {
    let only = |id: Option<u8>| {
        let mut map = ExtensionMap::default();
        if let Some(id) = id {
            map.insert(ExtensionKind::DependencyDescriptor, id)
                .expect("it is the first");
        }
        map
    };
    match step {
        Step::Write(Update::SetLeg(id, mut leg)) => {
            leg.extensions_in = only(leg.extensions_in.id(ExtensionKind::DependencyDescriptor));
            leg.extensions_out = only(Some(DESCRIPTOR));
            Step::Write(Update::SetLeg(id, leg))
        }
        Step::Write(Update::SetStream(key, stream)) => {
            // A replica whose source changes to one of other formats would go to the base.
            Step::Write(Update::SetStream(key, of_formats(stream, &FORMATS)))
        }
        other => plain(other),
    }
}

fn layered_history(seed: u64) -> Vec<Step> {
    let options = Options {
        steps: 500,
        srtp: Srtp::Never,
        network: Network::Clean,
        shares_paths: false,
    };
    let mut steps: Vec<Step> = history(seed, options).into_iter().map(in_layers).collect();
    leave_out_other_families(&mut steps);
    steps
}

/// Takes replicas' sources away that are of another family, which the kernel leaves to the base.
pub(crate) fn leave_out_other_families(steps: &mut [Step]) {
    let mut families = BTreeMap::new();
    for step in steps {
        match step {
            Step::Write(Update::SetLeg(id, leg)) => {
                let of_paths: BTreeSet<bool> = leg.paths.iter().map(|path| path.remote.is_ipv4()).collect();
                families.insert(*id, of_paths);
            }
            Step::Write(Update::SetReplica(_, replica)) => {
                let of = |leg: &LegId| families.get(leg).filter(|families| families.len() == 1);
                let here = of(&replica.leg);
                replica.source = replica
                    .source
                    .filter(|source| here.is_some() && of(&source.leg) == here);
            }
            _ => {}
        }
    }
}

/// The packets that receivers got, in words, without the parts that the kernel may write
/// differently: the form of header extensions, the padding in them, and timestamps, which continue
/// by two clocks where a source begins.
fn media(observation: &Observation) -> Vec<(Path, String)> {
    let got = observation
        .got
        .iter()
        .flat_map(|(path, all)| all.iter().map(move |one| (*path, one)));
    got.map(|(path, one)| {
        let bytes = &one.as_ref().expect("it is in clear").bytes;
        let packet = RtpPacket::parse(bytes).expect("it is RTP");
        let words = format!(
            "{} {} {} {} descriptor {:02x?} payload {:02x?}",
            packet.ssrc().0,
            packet.payload_type().get(),
            packet.sequence().0,
            packet.marker(),
            packet.extension(DESCRIPTOR),
            packet.payload()
        );
        (path, words)
    })
    .collect()
}

/// Gives both the same history: the first difference in what receivers get, or in what the agent is
/// told of layers, or a promise that was broken.
fn compare(steps: &[Step], cable: &Cable, promises: Option<Invariants>) -> Result<(), Difference> {
    let start = Instant::now();
    let mut model = Subject::new(Box::new(ModelDevice::new(start)), start);
    let mut kernel = Subject::new(cable.device(false, start), start);
    let mut promises = promises;
    let mut coverage = Coverage::new(kernel.device.plane());
    let is_selected = |event: &&Event| matches!(event, Event::Selected { .. });
    let selected = |seen: &Observation| seen.events.iter().filter(is_selected).cloned().collect::<Vec<_>>();
    for (at, step) in steps.iter().enumerate() {
        let (expected, got) = (model.step(step), kernel.step(step));
        coverage.note(step, &got.written);
        let what = if media(&expected) != media(&got) {
            Err(format!(
                "receivers got {:#?}\nand not {:#?}",
                media(&got),
                media(&expected)
            ))
        } else if selected(&expected) != selected(&got) {
            Err(format!(
                "it said {:#?}\nand not {:#?}",
                selected(&got),
                selected(&expected)
            ))
        } else {
            promises
                .as_mut()
                .map_or(Ok(()), |promises| promises.observe(step, &got))
        };
        what.map_err(|what| Difference { step: at, what })?;
    }
    coverage.finish();
    Ok(())
}

/// Holds the kernel to the model in histories, each with a name and what is promised of it whatever
/// the model says.
fn hold_to_the_model(histories: impl Iterator<Item = (String, Vec<Step>, Option<Invariants>)> + Send) {
    on_cable(Cable::new, |cable| {
        for (name, steps, promises) in histories {
            if let Err(difference) = compare(&steps, cable, promises) {
                // A network that leaves out what is not needed is not clean any more.
                let whole = difference.to_string();
                let (steps, left) = shrink(steps, difference, |steps| compare(steps, cable, None).err());
                panic!(
                    "{name} fails {whole}\n\n{}",
                    print_history(
                        &format!("What is left of it fails {left}").replace('\n', "\n# "),
                        &steps
                    )
                );
            }
        }
        println!(
            "{} packets in the kernel, {} copies",
            cable.taken.get(),
            cable.copied.get()
        );
        assert!(cable.copied.get() > 0);
    });
}

/// Over a clean network nothing is late, so nothing depends on how much is remembered.
#[test]
fn histories_in_layers_are_those_of_the_model() {
    let promises = || Some(Invariants::of_clean_network());
    hold_to_the_model(SEEDS.map(|seed| (format!("seed {seed}"), layered_history(seed), promises())));
}

/// Histories in which a packet is late by a structure whose template ids mean other layers. The
/// kernel reads its layer by the newer structure.
const LATE_BY_A_STRUCTURE: [(u64, Rewriting); 1] = [(4, Rewriting::LowRetransmission)];

/// A few packets late is what the kernel remembers, too.
#[test]
fn histories_numbered_by_frames_are_those_of_the_model() {
    let by_frames = [Rewriting::LowMemory, Rewriting::LowRetransmission];
    let all = SEEDS.flat_map(|seed| by_frames.map(|rewriting| (seed, rewriting)));
    let all = all.filter(|case| !LATE_BY_A_STRUCTURE.contains(case));
    hold_to_the_model(all.map(|(seed, rewriting)| {
        let steps = numbered(disturbed(layered_history(seed), seed), rewriting);
        (format!("seed {seed} by {rewriting:?}"), steps, None)
    }));
}
