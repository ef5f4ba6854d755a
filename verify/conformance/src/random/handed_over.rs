//! Histories of a device that gives replicas to another one and gets them back, and whose entries
//! of little consequence change as well.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use dataplane::{Event, LegId, ReplicaId, ReplicaSnapshot, StreamKey, Update};
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use rand::{Rng, SeedableRng};

use crate::device::ModelDevice;
use crate::{Injection, Step, Subject};

/// A rate at which no packet waits.
const PACE: u64 = 1 << 40;

/// The entries that a history has written.
#[derive(Default)]
struct Written {
    legs: Vec<LegId>,
    streams: Vec<StreamKey>,
    replicas: Vec<ReplicaId>,
    /// Legs that have had a pace.
    paced: BTreeSet<LegId>,
}

/// A history with replicas that are released, and most of them continued later with the state that
/// the model gave, or once in a while with an older one. Streams are copied by an offload for some
/// time, and legs are paced at a rate that holds nothing back.
///
/// The history is a function of its steps and the seed.
pub fn handed_over(steps: Vec<Step>, seed: u64, start: Instant) -> Vec<Step> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut model = Subject::new(Box::new(ModelDevice::new(start)), start);
    let mut written = Written::default();
    let mut released: BTreeMap<ReplicaId, ReplicaSnapshot> = BTreeMap::new();
    let mut history = Vec::with_capacity(steps.len() * 5 / 4);
    for step in steps {
        let step = match step {
            // A paced probe takes its time.
            Step::Inject(Injection::Probe { leg, .. }) if written.paced.contains(&leg) => {
                Step::Inject(Injection::Report(leg))
            }
            other => other,
        };
        if let Step::Write(update) = &step {
            written.note(update);
        }
        let more = written.draw(&mut rng, &mut released);
        for step in std::iter::once(step).chain(more) {
            for event in model.step(&step).events {
                if let Event::Released {
                    replica,
                    from: Some(from),
                    ..
                } = event
                {
                    released.insert(replica, from);
                }
            }
            history.push(step);
        }
    }
    history
}

impl Written {
    fn note(&mut self, update: &Update) {
        match update {
            Update::SetLeg(id, _) => add(&mut self.legs, *id),
            Update::SetStream(key, _) => add(&mut self.streams, *key),
            Update::SetReplica(id, _) => add(&mut self.replicas, *id),
            _ => {}
        }
    }

    /// One more step, or none. It may name what is not there any more.
    fn draw(&mut self, rng: &mut StdRng, released: &mut BTreeMap<ReplicaId, ReplicaSnapshot>) -> Option<Step> {
        match rng.random_range(0..100) {
            0..5 => Some(Step::Inject(Injection::Release {
                replica: self.replicas.iter().copied().choose(rng)?,
                at_key_frame: rng.random_bool(0.4),
            })),
            5..30 => {
                let replica = released.keys().copied().choose(rng)?;
                let mut from = match rng.random_bool(0.9) {
                    true => released.remove(&replica)?,
                    false => released[&replica],
                };
                // The kernel gives such states of streams with descriptors.
                from.awaits_key_frame = from.source.is_some() && rng.random_bool(0.3);
                Some(Step::Inject(Injection::Resume(replica, from)))
            }
            30..32 => {
                let stream = self.streams.iter().copied().choose(rng)?;
                Some(Step::Write(Update::SetCopied(stream, rng.random())))
            }
            32..34 => {
                let leg = self.legs.iter().copied().choose(rng)?;
                let pace = rng.random_bool(0.7).then_some(PACE);
                self.paced.insert(leg);
                Some(Step::Write(Update::SetPace(leg, pace)))
            }
            _ => None,
        }
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
