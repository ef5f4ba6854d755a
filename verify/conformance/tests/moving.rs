//! Replicas are released and resumed at random: their receivers get the same packets as those of
//! replicas that stay.

use std::collections::BTreeMap;
use std::time::Instant;

use conformance::device::{InlineDevice, ModelDevice};
use conformance::random::{Network, Options, Srtp, history};
use conformance::text::print_history;
use conformance::{Device, Injection, Observation, Step, Subject};
use dataplane::{Event, Path, ReplicaId, Update};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const SEEDS: std::ops::Range<u64> = 1..101;

/// Within this many steps, each stream has a packet.
const SOON: usize = 40;

/// A history without late or repeated packets: packets from before the point of resumption are not
/// sent any more.
fn steps(seed: u64) -> Vec<Step> {
    let options = Options {
        steps: 500,
        srtp: Srtp::Never,
        network: Network::Clean,
    };
    let is_asked_again = |step: &Step| matches!(step, Step::Inject(Injection::Resend(..) | Injection::Probe { .. }));
    let mut steps = history(seed, options);
    steps.retain(|step| !is_asked_again(step));
    steps
}

fn got(seen: &Observation) -> BTreeMap<Path, Vec<Vec<u8>>> {
    let bytes = |all: &Vec<_>| {
        all.iter()
            .map(|one: &Result<conformance::peers::Opened, _>| one.as_ref().expect("in clear").bytes.clone())
            .collect()
    };
    seen.got.iter().map(|(path, all)| (*path, bytes(all))).collect()
}

/// Whether a replica's source is changed within the next steps. If the change precedes the next
/// packet of the old source, the replica waits for the new one's key frame, as no record is left
/// that it was following.
fn changes_soon(steps: &[Step], id: ReplicaId) -> bool {
    let soon = &steps[..steps.len().min(SOON)];
    soon.iter()
        .any(|step| matches!(step, Step::Write(Update::SetReplica(other, _)) if *other == id))
}

/// Releases some replicas and resumes them at once; returns their number.
fn to_and_fro(subject: &mut Subject, replicas: &[ReplicaId], dice: &mut StdRng) -> u32 {
    let mut moved = 0;
    for id in replicas.iter().filter(|_| dice.random_bool(0.1)) {
        let seen = subject.step(&Step::Inject(Injection::Release(*id)));
        for event in seen.events {
            if let Event::Released {
                replica,
                from: Some(from),
                ..
            } = event
            {
                subject.step(&Step::Inject(Injection::Resume(replica, from)));
                moved += 1;
            }
        }
    }
    moved
}

fn move_at_random(device: fn(Instant) -> Box<dyn Device>) {
    #[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
    let start = Instant::now();
    let mut moved = 0;
    for seed in SEEDS {
        let mut dice = StdRng::seed_from_u64(seed);
        let mut stays = Subject::new(Box::new(ModelDevice::new(start)), start);
        let mut moves = Subject::new(device(start), start);
        let (mut replicas, steps) = (Vec::new(), steps(seed));
        for (at, step) in steps.iter().enumerate() {
            if let Step::Write(Update::SetReplica(id, _)) = step {
                replicas.push(*id);
            }
            let (expected, seen) = (stays.step(step), moves.step(step));
            if got(&expected) != got(&seen) {
                let history = print_history("Steps up to the failure.", &steps[..=at]);
                panic!(
                    "seed {seed}, step {at}: {:#?}\nand not {:#?}\n\n{history}",
                    seen.got, expected.got
                );
            }
            let stay: Vec<ReplicaId> = replicas
                .iter()
                .copied()
                .filter(|id| !changes_soon(&steps[at + 1..], *id))
                .collect();
            moved += to_and_fro(&mut moves, &stay, &mut dice);
        }
    }
    println!("{moved} moves");
    assert!(moved > 1_000, "{moved}");
}

#[test]
fn the_model_resumes_from_its_snapshot() {
    move_at_random(|start| Box::new(ModelDevice::new(start)));
}

#[test]
fn shards_resume_from_their_snapshots() {
    move_at_random(|start| Box::new(InlineDevice::new(2, start)));
}
