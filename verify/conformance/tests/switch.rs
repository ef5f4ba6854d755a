//! A P4 switch in front of a base: every vector, and random histories.
//!
//! The switch is the interpreter, in each of the three ways to replicate. The driver, the compiled
//! program and the base are those of the program.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;
use std::time::Instant;

use backend_p4::Replication;
use conformance::device::{Interpreter, SwitchDevice};
use conformance::differential::{Difference, check};
use conformance::random::{Network, Options, Srtp, history, plain};
use conformance::shrink::shrink;
use conformance::text::print_history;
use conformance::vector::run;
use conformance::{Device, Step};
use dataplane::{ReplicaId, StreamKey, Update};
use wire::codec::Layer;
use wire::{ExtensionKind, ExtensionMap};

mod support;

const MODES: [Replication; 3] = [Replication::Multicast, Replication::Recirculation, Replication::Tree];

/// All layers.
const HIGHEST: Layer = Layer {
    spatial: 3,
    temporal: 7,
};

/// Vectors that say what the switch does otherwise, and what that is.
const OTHERWISE: [(&str, &str); 12] = [
    ("feedback-forwarded.vector", "RTCP does not go from IPv6 to IPv4"),
    (
        "sender-reports-replicated.vector",
        "a replica from IPv4 to IPv6 stays in the base, which replicates no report",
    ),
    (
        "duplicate.vector",
        "the switch counts a packet from before its start, and the base a duplicate",
    ),
    (
        "too-late.vector",
        "the switch counts a packet from before its start, and the base one that is too late",
    ),
    (
        "reorder-on-the-edge.vector",
        "the switch has no record of numbers, and sends a packet far behind under its number",
    ),
    (
        "late-behind-padding.vector",
        "the switch does not know the number of a packet from before padding that it closed up",
    ),
    (
        "switch-behind-late-packet.vector",
        "the switch does not know the number of a packet from before padding that it closed up",
    ),
    ("padding-stripped.vector", "padding behind a payload stays"),
    ("oversized.vector", "the switch sends what its ports carry"),
    (
        "switch-behind-loss.vector",
        "a replica that leaves the switch goes on 512 numbers later",
    ),
    (
        "vp8-picture-ids-15.vector",
        "a replica that leaves the switch goes on 512 numbers and pictures later",
    ),
    (
        "vp8-picture-ids-7.vector",
        "a replica that leaves the switch goes on 512 numbers and pictures later",
    ),
];

#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
fn now() -> Instant {
    Instant::now()
}

fn device(mode: Replication, start: Instant) -> SwitchDevice<Interpreter> {
    SwitchDevice::new(Interpreter::new(start), mode, start)
}

/// Refusals of forwarded RTCP are the model's: a layer tells only that no device took the entry.
fn without_refusals_of_rtcp(text: String) -> String {
    let is_kept =
        |line: &&str| !(line.starts_with("refuse") && (line.contains(" feedback ") || line.contains(" reports ")));
    text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_switch_and_its_base_keep_every_vector() {
    for mode in MODES {
        let mut failures = Vec::new();
        let mut kept_otherwise = BTreeSet::new();
        let (mut copied, mut taken) = (0, 0);
        for (vector, names) in &support::vectors(without_refusals_of_rtcp) {
            let start = now();
            let fresh = device(mode, start);
            let mut device = if vector.needs_virtual_time {
                fresh
            } else {
                fresh.patient()
            };
            let result = run(vector, names, &mut device, start);
            let (copies, packets) = device.copies();
            copied += copies;
            taken += packets;
            match OTHERWISE.iter().find(|(file, _)| *file == vector.file) {
                Some((file, _)) if result.is_ok() => drop(kept_otherwise.insert(*file)),
                Some(_) => {}
                None => failures.extend(result.err()),
            }
        }
        println!("{mode:?}: {copied} copies of {taken} packets by the switch");
        let report: String = failures.iter().map(|failure| format!("{failure}\n")).collect();
        assert!(
            failures.is_empty(),
            "{mode:?}: {} vectors failed\n\n{report}",
            failures.len()
        );
        assert_eq!(kept_otherwise, BTreeSet::new(), "{mode:?}: these are kept all the same");
        assert!(copied > 40, "{mode:?}: {copied} copies");
    }
}

/// A step of a room that the switch can send: no numbers are written that span a leg's streams. A
/// replica that leaves the switch skips numbers, so each gets all of its first source all the time.
fn for_the_switch(step: Step, sources: &mut BTreeMap<ReplicaId, StreamKey>) -> Step {
    let unnumbered = |map: &ExtensionMap| {
        let mut kept = ExtensionMap::default();
        for (kind, id) in map.iter().filter(|(kind, _)| *kind != ExtensionKind::TransportSequence) {
            kept.insert(kind, id).expect("as it was");
        }
        kept
    };
    match plain(step) {
        Step::Write(Update::SetLeg(id, mut leg)) => {
            leg.extensions_in = unnumbered(&leg.extensions_in);
            leg.extensions_out = unnumbered(&leg.extensions_out);
            Step::Write(Update::SetLeg(id, leg))
        }
        Step::Write(Update::SetReplica(id, mut replica)) => {
            if let Some(source) = replica.source {
                sources.entry(id).or_insert(source);
            }
            replica.source = sources.get(&id).copied();
            replica.paused = false;
            replica.target = HIGHEST;
            Step::Write(Update::SetReplica(id, replica))
        }
        other => other,
    }
}

/// The switch keeps no record of numbers, so a repeated packet is repeated.
fn once(steps: Vec<Step>) -> Vec<Step> {
    let mut sent = HashSet::new();
    let mut is_new = |step: &Step| match step {
        Step::Send(send) => sent.insert(send.bytes.clone()),
        _ => true,
    };
    steps.into_iter().filter(|step| is_new(step)).collect()
}

#[test]
fn the_switch_makes_up_leaks_and_repeats_nothing_and_hides_no_loss() {
    for mode in MODES {
        let copied = Rc::new(Cell::new(0));
        for seed in 1..25 {
            let start = now();
            let options = Options {
                steps: 500,
                srtp: Srtp::Never,
                network: Network::Rough,
            };
            let mut sources = BTreeMap::new();
            let steps = history(seed, options).into_iter();
            let steps = once(steps.map(|step| for_the_switch(step, &mut sources)).collect());
            let new_device =
                |start| -> Box<dyn Device> { Box::new(device(mode, start).patient().counted(copied.clone())) };
            let run = |steps: &[Step]| -> Result<(), Difference> { check(steps, &new_device, start) };
            if let Err(difference) = run(&steps) {
                let whole = difference.to_string();
                let (steps, _) = shrink(steps, difference, |steps| run(steps).err());
                panic!(
                    "{mode:?}, seed {seed} fails {whole}\n\n{}",
                    print_history("What is left of it.", &steps)
                );
            }
        }
        println!("{mode:?}: {} copies by the switch", copied.get());
        assert!(copied.get() > 0);
    }
}
