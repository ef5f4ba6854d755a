//! A P4 switch in front of a base: every vector, and random histories.
//!
//! A replica of a described stream that moves to the switch begins there with a key frame of its
//! own, for which most vectors do not provide. Such a vector is run once more beside the model,
//! which is told of the moves, and both send the same bytes.
//!
//! The switch is the interpreter, or BMv2 where it is on the path, in each of the three ways to
//! replicate. The driver, the compiled program and the base are those of the program.

use std::time::{Duration, Instant};

use backend_p4::Replication;
use conformance::Step;
use conformance::copies::follow;
use conformance::device::{Interpreter, Ports, SwitchDevice};
use conformance::text::{Statement, Vector};
use conformance::vector::run;
use dataplane::Update;
use skip::skipped;
use wire::ExtensionKind;

mod histories;
mod otherwise;
mod real;
mod relays;
#[path = "../support/mod.rs"]
mod support;

use histories::spread;
use otherwise::{judged, with_words};
use real::Real;

/// Time enough between two packets for a replica to move to the switch.
const PATIENCE: Duration = Duration::from_millis(1_100);

const MODES: [Replication; 3] = [Replication::Multicast, Replication::Recirculation, Replication::Tree];

/// Vectors that are about copies of the switch, and the least number of copies that it makes in
/// each.
const COPIED: [(&str, u64); 7] = [
    ("two-rooms.vector", 15),
    ("layers-of-a-slower-receiver.vector", 50),
    ("layers-descriptor-own-chains.vector", 1),
    ("layers-descriptor-own-distances.vector", 3),
    ("layers-descriptor-own-indications.vector", 4),
    ("layers-descriptor-own-references.vector", 4),
    ("layers-descriptor-own-size.vector", 2),
];

#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
fn now() -> Instant {
    Instant::now()
}

fn device(mode: Replication, start: Instant) -> SwitchDevice<Interpreter> {
    SwitchDevice::new(Interpreter::new(start), mode, start)
}

/// The text of a vector as the switch keeps it. Refusals of forwarded RTCP are the model's: a layer
/// tells only that no device took the entry.
fn for_the_switch(file: &str, text: String) -> String {
    let is_kept = |line: &&str| !(line.starts_with("refuse") && line.contains(" feedback "));
    let text = text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    with_words(file, text)
}

/// Whether all of the tests on BMv2 are to run.
fn is_p4_check() -> bool {
    std::env::var_os("P4_CHECK").is_some()
}

/// The steps of a vector, without its expectations.
fn steps(vector: &Vector) -> Vec<Step> {
    let step = |statement: &Statement| match statement {
        Statement::Do(step) => Some(step.clone()),
        Statement::Refuse(_, update) => Some(Step::Write(update.clone())),
        _ => None,
    };
    vector.lines.iter().filter_map(|line| step(&line.statement)).collect()
}

/// Whether streams of a vector have dependency descriptors.
fn is_described(vector: &Vector) -> bool {
    let has_descriptors = |step: &Step| match step {
        Step::Write(Update::SetLeg(_, leg)) => leg.extensions_in.id(ExtensionKind::DependencyDescriptor).is_some(),
        _ => false,
    };
    steps(vector).iter().any(has_descriptors)
}

/// Runs every vector through a switch in one mode.
fn keep_every_vector<S: Ports>(mode: Replication, new_switch: impl Fn(Instant) -> S) {
    let mut failures = Vec::new();
    let (mut copied, mut taken, mut told) = (0, 0, 0);
    for (vector, names) in &support::vectors(for_the_switch) {
        let start = now();
        let fresh = SwitchDevice::new(new_switch(start), mode, start);
        if vector.needs_virtual_time && !fresh.stamps_virtual_time() {
            continue;
        }
        let mut device = if vector.needs_virtual_time {
            fresh
        } else {
            fresh.patient()
        };
        let mut result = run(vector, names, &mut device, start).map_err(|failure| failure.to_string());
        let (copies, packets) = device.copies();
        copied += copies;
        taken += packets;
        let mut own = copies;
        if let Err(failure) = &result
            && is_described(vector)
        {
            told += 1;
            let mut device = SwitchDevice::new(new_switch(start), mode, start);
            let followed = follow(&spread(steps(vector), PATIENCE), &mut device, start);
            own = device.copies().0;
            result = followed
                .map(drop)
                .map_err(|difference| format!("{failure}with the moves told: {difference}\n"));
        }
        if let Some((file, least)) = COPIED.iter().find(|(file, _)| *file == vector.file && result.is_ok()) {
            assert!(own >= *least, "{mode:?}: {own} copies of {file}");
        }
        failures.extend(judged(&vector.file, result).err());
    }
    println!("{mode:?}: {copied} copies of {taken} packets by the switch; {told} vectors with the moves told");
    let report: String = failures.iter().map(|failure| format!("{failure}\n")).collect();
    assert!(
        failures.is_empty(),
        "{mode:?}: {} vectors failed\n\n{report}",
        failures.len()
    );
    assert!(copied > 40, "{mode:?}: {copied} copies");
}

#[test]
fn the_switch_and_its_base_keep_every_vector() {
    for mode in MODES {
        keep_every_vector(mode, Interpreter::new);
    }
}

/// In `make p4-check` only: it takes a minute and more.
#[test]
fn bmv2_and_its_base_keep_every_vector() {
    if !is_p4_check() {
        return skipped("no vectors were tested on BMv2", "P4_CHECK is not set");
    }
    let real = Real::or_skip().expect("make p4-check needs simple_switch_grpc and root");
    for mode in MODES {
        keep_every_vector(mode, |start| real.at(start));
    }
}
