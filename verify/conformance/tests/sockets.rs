//! Random histories on complete back ends: threads, sockets, rings, and datagrams that arrive
//! together.
//!
//! Real time cannot be repeated, so results that depend on it are not compared here; `random.rs`
//! compares everything, without sockets.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use conformance::coverage::Coverage;
use conformance::device::{BehindKernel, Family, ModelDevice, Rings, SocketDevice};
use conformance::invariants::Invariants;
use conformance::keystream::KeystreamCheck;
use conformance::random::{Network, Options, RelayOptions, Srtp, handed_over, history, relay_history};
use conformance::rtp::{RtpFields, hex};
use conformance::{Device, Observation, Send, Step, Subject};
use dataplane::{Counter, Path, Protection, Update};

#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
fn now() -> Instant {
    Instant::now()
}

type NewDevice<'a> = &'a dyn Fn(Instant) -> Box<dyn Device>;

fn sockets(family: Family, workers: usize) -> impl Fn(Instant) -> Box<dyn Device> {
    move |start| Box::new(SocketDevice::start(family, workers, start).expect("loopback works"))
}

/// Gives legs their keys at once: how much is kept for them until then depends on real time.
fn with_keys_at_once(steps: &mut [Step]) {
    let mut keys = BTreeMap::new();
    for step in steps.iter_mut().rev() {
        match step {
            Step::Write(Update::SetLeg(id, leg)) if leg.protection == Protection::Pending => {
                leg.protection = keys.get(id).cloned().unwrap_or(Protection::Pending);
            }
            Step::Write(Update::SetLeg(id, leg)) => drop(keys.insert(*id, leg.protection.clone())),
            Step::Write(Update::RemoveLeg(id)) => drop(keys.remove(id)),
            _ => {}
        }
    }
}

/// A history with waits short enough to sit through.
fn short_history(seed: u64, srtp: Srtp, steps: usize) -> Vec<Step> {
    let options = Options {
        steps,
        srtp,
        network: Network::Rough,
        shares_paths: srtp == Srtp::Mixed,
    };
    let mut steps = history(seed, options);
    with_keys_at_once(&mut steps);
    for step in &mut steps {
        if let Step::Wait(time) = step {
            *time = (*time).min(Duration::from_millis(2));
        }
    }
    steps
}

/// Datagrams of each peer, without fields that depend on the time: timestamps across switches, and
/// stamps.
fn timeless(observation: &Observation) -> BTreeMap<Path, Vec<String>> {
    let show = |bytes: &[u8]| match RtpFields::of(bytes) {
        Some(fields) => RtpFields {
            timestamp: None,
            extensions: None,
            form: None,
            ..fields
        }
        .to_string(),
        None => hex(bytes),
    };
    let got = observation.got.iter().map(|(path, got)| {
        let shown = got.iter().map(|opened| show(&opened.as_ref().expect("it opens").bytes));
        (*path, shown.collect())
    });
    got.collect()
}

/// The counters without what depends on the time: early packets are forgotten after a while.
fn counted(observation: &Observation) -> BTreeMap<Counter, u64> {
    let counters = observation.counters.iter();
    counters
        .filter(|(counter, _)| *counter != Counter::EarlyForgotten)
        .collect()
}

fn does_what_the_model_does(device: NewDevice<'_>, srtp: Srtp, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let name = format!("seed {seed} with SRTP {srtp:?}");
        follows_the_model(device, &short_history(seed, srtp, 400), &name);
    }
}

fn follows_the_model(device: NewDevice<'_>, steps: &[Step], name: &str) {
    let start = now();
    let mut model = Subject::new(Box::new(ModelDevice::new(start)), start);
    let mut subject = Subject::new(device(start), start);
    let mut coverage = Coverage::new(subject.device.plane());
    for (at, step) in steps.iter().enumerate() {
        let (expected, mut got) = (model.step(step), subject.step(step));
        let same = |got: &Observation| timeless(&expected) == timeless(got) && counted(&expected) == counted(got);
        let deadline = now() + Duration::from_secs(3);
        while !same(&got) && now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
            got = subject.look_again(got);
        }
        let place = format!("{name}, step {}: {step:?}", at + 1);
        assert_eq!(expected.written, got.written, "{place}");
        assert_eq!(counted(&expected), counted(&got), "{place}");
        assert_eq!(timeless(&expected), timeless(&got), "{place}");
        coverage.note(step, &got.written);
    }
    coverage.finish();
}

fn relays_as_the_model_does(device: NewDevice<'_>, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let options = RelayOptions {
            steps: 400,
            is_virtual: false,
        };
        follows_the_model(device, &relay_history(seed, options), &format!("seed {seed} of relays"));
    }
}

#[test]
fn one_relay_worker_relays_as_the_model_does() {
    relays_as_the_model_does(&sockets(Family::V4, 1), 64_001..64_005);
}

#[test]
fn three_relay_workers_relay_as_the_model_does() {
    relays_as_the_model_does(&sockets(Family::V6, 3), 65_001..65_005);
}

#[test]
fn the_kernel_before_a_relay_worker_relays_as_the_model_does() {
    let Some(behind) = BehindKernel::or_skip() else { return };
    relays_as_the_model_does(&|start| behind.device(Family::V4, 1, start), 66_001..66_005);
    relays_as_the_model_does(&|start| behind.device(Family::V6, 2, start), 67_001..67_004);
    let counted = behind.counted();
    println!("{counted:?}");
    assert!(counted[backend_ebpf::Counter::Relayed] >= 3, "{counted:?}");
}

#[test]
fn a_relay_worker_on_rings_relays_as_the_model_does() {
    let Some(rings) = Rings::or_skip(1) else { return };
    relays_as_the_model_does(&|start| rings.device(Family::V4, start), 68_001..68_003);
    relays_as_the_model_does(&|start| rings.device(Family::V6, start), 69_001..69_003);
    let counted = rings.counted();
    println!("{counted:?}");
    assert!(counted[backend_afxdp::Counter::Sent] > 0, "{counted:?}");
}

/// Replicas are released and resumed, legs are paced and streams are copied by an offload.
fn hands_over_as_the_model_does(device: NewDevice<'_>, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let steps = handed_over(short_history(seed, Srtp::Never, 400), seed, now());
        follows_the_model(device, &steps, &format!("seed {seed}, handed over"));
    }
}

#[test]
fn a_worker_hands_replicas_over_as_the_model_does() {
    hands_over_as_the_model_does(&sockets(Family::V4, 1), 76_001..76_004);
}

#[test]
fn a_worker_on_rings_hands_replicas_over_as_the_model_does() {
    let Some(rings) = Rings::or_skip(1) else { return };
    hands_over_as_the_model_does(&|start| rings.device(Family::V4, start), 77_001..77_003);
}

#[test]
fn one_worker_does_what_the_model_does() {
    does_what_the_model_does(&sockets(Family::V4, 1), Srtp::Mixed, 60_001..60_004);
}

#[test]
fn three_workers_do_what_the_model_does() {
    does_what_the_model_does(&sockets(Family::Both, 3), Srtp::Mixed, 61_001..61_004);
}

/// Splits a history where something else than a datagram happens, and now and then in between.
fn bursts(steps: &[Step]) -> Vec<&[Step]> {
    let is_send = |step: &Step| matches!(step, Step::Send(_));
    let stretches = steps.chunk_by(move |step, next| is_send(step) && is_send(next));
    stretches.flat_map(|stretch| stretch.chunks(24)).collect()
}

fn sends(steps: &[Step]) -> impl Iterator<Item = &Send> {
    steps.iter().filter_map(|step| match step {
        Step::Send(send) => Some(send),
        _ => None,
    })
}

/// Invariants that no race between workers may break.
fn bursts_keep_the_invariants(device: NewDevice<'_>, srtp: Srtp, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let name = format!("seed {seed} with SRTP {srtp:?}");
        keeps_the_invariants(device, &short_history(seed, srtp, 1_000), &name);
    }
}

fn keeps_the_invariants(device: NewDevice<'_>, steps: &[Step], name: &str) {
    let start = now();
    let mut subject = Subject::new(device(start), start);
    let mut invariants = Invariants::default();
    let mut keystream = KeystreamCheck::default();
    let mut coverage = Coverage::new(subject.device.plane());
    for steps in bursts(steps) {
        let (observation, kept) = match steps {
            [step] => {
                let observation = subject.step(step);
                let kept = invariants.observe(step, &observation);
                (observation, kept)
            }
            steps => {
                let observation = subject.burst(sends(steps));
                let kept = invariants.observe_burst(sends(steps), &observation);
                (observation, kept)
            }
        };
        let kept = kept.and_then(|()| keystream.observe(&observation));
        kept.unwrap_or_else(|broken| panic!("{name}: {broken}\n{steps:?}"));
        steps.iter().for_each(|step| coverage.note(step, &observation.written));
    }
    coverage.finish();
}

/// Relays of several workers that share keys.
#[test]
fn bursts_to_relays_keep_the_invariants() {
    for seed in 75_001..75_005 {
        let options = RelayOptions {
            steps: 1_500,
            is_virtual: false,
        };
        let steps = relay_history(seed, options);
        keeps_the_invariants(&sockets(Family::V4, 4), &steps, &format!("seed {seed} of relays"));
    }
}

#[test]
fn bursts_to_one_worker_keep_the_invariants() {
    bursts_keep_the_invariants(&sockets(Family::Both, 1), Srtp::Mixed, 70_001..70_003);
}

#[test]
fn bursts_to_four_workers_keep_the_invariants() {
    bursts_keep_the_invariants(&sockets(Family::Both, 4), Srtp::Mixed, 71_001..71_004);
    bursts_keep_the_invariants(&sockets(Family::V4, 4), Srtp::Never, 72_001..72_003);
}

#[test]
fn a_worker_on_rings_does_what_the_model_does() {
    let Some(rings) = Rings::or_skip(1) else { return };
    does_what_the_model_does(&|start| rings.device(Family::V4, start), Srtp::Mixed, 62_001..62_004);
    println!("{:?}", rings.counted());
}

#[test]
fn three_workers_on_rings_do_what_the_model_does() {
    let Some(rings) = Rings::or_skip(3) else { return };
    does_what_the_model_does(&|start| rings.device(Family::Both, start), Srtp::Mixed, 63_001..63_004);
    println!("{:?}", rings.counted());
}

#[test]
fn bursts_to_rings_keep_the_invariants() {
    let Some(rings) = Rings::or_skip(2) else { return };
    bursts_keep_the_invariants(&|start| rings.device(Family::Both, start), Srtp::Mixed, 73_001..73_004);
    bursts_keep_the_invariants(&|start| rings.device(Family::V6, start), Srtp::Never, 74_001..74_003);
    println!("{:?}", rings.counted());
}

/// Programs started by other tests have a copy of a device's open files until they run, which keeps
/// the device's program on the interface.
#[test]
fn a_device_has_the_interface_once_the_last_one_is_gone() {
    let Some(rings) = Rings::or_skip(1) else { return };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    std::process::Command::new("true").status().expect("it is everywhere");
                }
            });
        }
        for _ in 0..150 {
            drop(rings.device(Family::V4, now()));
        }
    });
}
