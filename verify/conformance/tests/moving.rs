//! Replicas are released and resumed at random. Without a key frame their receivers get the same
//! packets as those of replicas that stay. With one, all devices state the same, and no number is
//! sent twice.

use std::collections::{BTreeMap, BTreeSet};
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
        shares_paths: false,
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
        let seen = subject.step(&Step::Inject(Injection::Release {
            replica: *id,
            at_key_frame: false,
        }));
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

/// Releases some replicas at a key frame on both devices, which state the same, and resumes them;
/// returns their number.
fn at_key_frames(both: &mut [Subject; 2], replicas: &[ReplicaId], dice: &mut StdRng) -> u32 {
    let mut moved = 0;
    for replica in replicas.iter().copied().filter(|_| dice.random_bool(0.02)) {
        let release = Step::Inject(Injection::Release {
            replica,
            at_key_frame: true,
        });
        let [expected, seen] = both.each_mut().map(|subject| subject.step(&release).events);
        assert_eq!(expected, seen);
        let [Event::Released { from: Some(from), .. }] = expected[..] else {
            continue;
        };
        assert_eq!(from.source, None);
        let resume = Step::Inject(Injection::Resume(replica, from));
        both.iter_mut().for_each(|subject| drop(subject.step(&resume)));
        moved += 1;
    }
    moved
}

/// The SSRC and number of a packet.
fn number(bytes: &[u8]) -> Option<(u32, u16)> {
    let packet = wire::RtpPacket::parse(bytes).ok()?;
    Some((packet.ssrc().0, packet.sequence().0))
}

#[test]
fn shards_and_the_model_state_the_same_at_a_key_frame() {
    #[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
    let start = Instant::now();
    let mut moved = 0;
    for seed in SEEDS {
        let mut dice = StdRng::seed_from_u64(seed);
        let mut both = [
            Subject::new(Box::new(ModelDevice::new(start)), start),
            Subject::new(Box::new(InlineDevice::new(2, start)), start),
        ];
        let (mut replicas, mut sent, steps) = (Vec::new(), BTreeSet::new(), steps(seed));
        for (at, step) in steps.iter().enumerate() {
            if let Step::Write(Update::SetReplica(id, _)) = step {
                replicas.push(*id);
            }
            let [expected, seen] = both.each_mut().map(|subject| got(&subject.step(step)));
            assert_eq!(expected, seen, "seed {seed}, step {at}");
            for (path, bytes) in seen
                .iter()
                .flat_map(|(path, all)| all.iter().map(move |one| (path, one)))
            {
                let Some(number) = number(bytes) else { continue };
                assert!(sent.insert((*path, number)), "seed {seed}, step {at}: {number:?} twice");
            }
            moved += at_key_frames(&mut both, &replicas, &mut dice);
        }
    }
    println!("{moved} moves");
    assert!(moved > 1_000, "{moved}");
}
