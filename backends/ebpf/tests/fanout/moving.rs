//! Replicas that go from the kernel to the base and back, at random packets: their receivers see
//! what the model gives to those of replicas that stay.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use conformance::coverage::Coverage;
use conformance::device::ModelDevice;
use conformance::random::{Network, Options, Srtp, history, of_formats, plain};
use conformance::text::print_history;
use conformance::{Injection, Observation, Step, Subject};
use dataplane::{Event, LegId, Path, Replica, ReplicaId, StreamKey, Update};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use wire::extension::PlayoutDelay;
use wire::{Codec, ExtensionKind, ExtensionMap, RtpPacket};

use crate::device::{Cable, NewCable, on_cable};
use crate::layers::leave_out_other_families;

/// As histories have them, but for those of which only one device knows what it decided.
const FORMATS: [(u8, Codec); 3] = [(96, Codec::Vp8), (98, Codec::H264), (100, Codec::Av1)];

const SEEDS: u64 = 64;

/// In so many steps a packet of each stream comes.
const SOON: usize = 40;

/// One in so many of the replicas moves, each time.
const ODDS: u32 = 5;

/// A step of a room in which nothing but a playout delay is ever in the kernel's way.
fn movable(step: Step) -> Step {
    match plain(step) {
        Step::Write(Update::SetLeg(id, mut leg)) => {
            leg.extensions_in = ExtensionMap::default();
            leg.extensions_out = ExtensionMap::default();
            let delay = leg.extensions_out.insert(ExtensionKind::PlayoutDelay, 3);
            delay.expect("it is the first");
            Step::Write(Update::SetLeg(id, leg))
        }
        Step::Write(Update::SetStream(key, stream)) => {
            Step::Write(Update::SetStream(key, of_formats(stream, &FORMATS)))
        }
        other => other,
    }
}

fn steps(seed: u64) -> Vec<Step> {
    let options = Options {
        steps: 500,
        srtp: Srtp::Never,
        network: Network::Clean,
        shares_paths: false,
    };
    let mut steps: Vec<Step> = history(seed, options).into_iter().map(movable).collect();
    steps.retain(|step| matches!(step, Step::Write(_) | Step::Send(_)));
    leave_out_other_families(&mut steps);
    steps
}

/// The packets that receivers got, without header extensions and timestamps, which continue by two
/// clocks where a source begins.
fn media(seen: &Observation) -> Vec<(Path, u32, u8, u16, bool, Vec<u8>)> {
    let got = seen
        .got
        .iter()
        .flat_map(|(path, all)| all.iter().map(|one| (*path, one)));
    let got = got.map(|(path, one)| {
        let bytes = &one.as_ref().expect("it is in clear").bytes;
        let packet = RtpPacket::parse(bytes).expect("it is RTP");
        let payload = packet.payload().to_vec();
        (
            path,
            packet.ssrc().0,
            packet.payload_type().get(),
            packet.sequence().0,
            packet.marker(),
            payload,
        )
    });
    // Of two streams to one receiver either may be first.
    let mut got: Vec<_> = got.collect();
    got.sort_by_key(|(path, ssrc, ..)| (*path, *ssrc));
    got
}

/// Replicas, and whether each is kept out of the kernel.
#[derive(Default)]
struct Replicas {
    entries: BTreeMap<ReplicaId, (Replica, bool)>,
    /// The stream that each replica follows, by the model.
    follow: BTreeMap<ReplicaId, StreamKey>,
}

impl Replicas {
    /// The step as it is with what is kept out.
    fn follow(&mut self, step: &Step) -> Step {
        match step {
            Step::Write(Update::SetReplica(id, replica)) => {
                let known = self.entries.entry(*id).or_insert_with(|| (replica.clone(), false));
                known.0 = replica.clone();
                Step::Write(entry(*id, known))
            }
            Step::Write(Update::RemoveReplica(id)) => {
                self.entries.remove(id);
                step.clone()
            }
            other => other.clone(),
        }
    }

    fn heed(&mut self, seen: &Observation) {
        for event in &seen.events {
            if let Event::Selected { replica, source, .. } = event {
                self.follow.insert(*replica, *source);
            }
        }
    }

    /// The packets and octets of each replica, wherever they were sent.
    fn statistics(&self, subject: &mut Subject) -> BTreeMap<ReplicaId, (u64, u64)> {
        let legs: BTreeSet<LegId> = self.entries.values().map(|(replica, _)| replica.leg).collect();
        let reports = legs.into_iter().flat_map(|leg| {
            let seen = subject.step(&Step::Inject(Injection::Report(leg)));
            seen.events
        });
        let of_replica = |event| match event {
            Event::Replica(id, statistics) => Some((id, (statistics.packets, statistics.octets))),
            _ => None,
        };
        reports.filter_map(of_replica).collect()
    }

    /// Moves some that follow what they should, and are not changed soon: where a source changes
    /// before a packet of the old one comes, nobody remembers that it was followed.
    fn move_some(&mut self, behind: &[Step], dice: &mut impl FnMut() -> u32) -> Vec<Step> {
        let soon = &behind[..behind.len().min(SOON)];
        let is_changed = |id: ReplicaId| {
            soon.iter()
                .any(|step| matches!(step, Step::Write(Update::SetReplica(other, _)) if *other == id))
        };
        let mut steps = Vec::new();
        for (id, known) in &mut self.entries {
            let follows_it = self.follow.get(id).copied() == known.0.source;
            if dice().is_multiple_of(ODDS) && follows_it && !is_changed(*id) {
                known.1 = !known.1;
                steps.push(Step::Write(entry(*id, known)));
            }
        }
        steps
    }
}

fn entry(id: ReplicaId, (replica, is_out): &(Replica, bool)) -> Update {
    let delay = PlayoutDelay::at_least(Duration::from_millis(100));
    let playout_delay = is_out.then_some(delay);
    Update::SetReplica(
        id,
        Replica {
            playout_delay,
            ..replica.clone()
        },
    )
}

fn move_at_random(cable: NewCable) {
    on_cable(cable, |cable| {
        for seed in 1..=SEEDS {
            let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed as u8; 32]);
            let mut dice = || rng.next_u32();
            let start = Instant::now();
            let mut model = Subject::new(Box::new(ModelDevice::new(start)), start);
            let mut kernel = Subject::new(cable.device(false, start), start);
            let mut coverage = Coverage::new(kernel.device.plane());
            let (steps, mut replicas, mut done) = (steps(seed), Replicas::default(), Vec::new());
            for (at, step) in steps.iter().enumerate() {
                let mut now = vec![replicas.follow(step)];
                now.extend(replicas.move_some(&steps[at + 1..], &mut dice));
                for step in now {
                    let (expected, seen) = (model.step(&step), kernel.step(&step));
                    coverage.note(&step, &seen.written);
                    done.push(step);
                    replicas.heed(&expected);
                    if media(&expected) != media(&seen) {
                        let history = print_history("What came before.", &done);
                        panic!(
                            "seed {seed}: {:?}\nand not {:?}\n\n{history}",
                            media(&seen),
                            media(&expected)
                        );
                    }
                }
            }
            let expected = replicas.statistics(&mut model);
            assert_eq!(replicas.statistics(&mut kernel), expected, "seed {seed}");
            coverage.finish();
        }
        println!(
            "{} replicas came from the base, {} packets in the kernel, {} copies",
            cable.came.get(),
            cable.taken.get(),
            cable.copied.get()
        );
        assert!(cable.came.get() > 300 && cable.copied.get() > 0);
    });
}

#[test]
fn a_replica_that_moves_is_one_stream_to_its_receiver() {
    move_at_random(Cable::new);
}

#[test]
fn a_replica_that_moves_to_the_driver_is_one_stream_to_its_receiver() {
    move_at_random(Cable::of_drivers);
}
