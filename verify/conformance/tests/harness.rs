//! The harness itself: devices that are wrong on purpose are found out, and their histories made
//! small.

use std::time::Instant;

use conformance::coverage::Plane;
use conformance::device::ModelDevice;
use conformance::differential::{Difference, check, compare};
use conformance::random::{Network, Options, Srtp, history};
use conformance::rtp::RtpFields;
use conformance::shrink::shrink;
use conformance::{Datagram, Device, Step};
use dataplane::{Counter, Counters, Event, Inject, Path, Update, WriteError};

/// The model, made wrong in one way.
struct Mutant {
    model: ModelDevice,
    mutation: Mutation,
    /// How many packets went out.
    sent: u64,
}

#[derive(Clone, Copy, Debug)]
enum Mutation {
    /// Every fiftieth packet is not sent.
    LosesPackets,
    /// Numbers continue without the gaps of real losses.
    HidesLosses,
    /// Every hundredth packet is sent twice.
    Repeats,
    /// The first payload byte is changed in every fiftieth packet.
    DamagesPayloads,
    /// Everything is sent to the receiver that got a packet first.
    Leaks,
    /// The marker is forgotten.
    ForgetsMarkers,
    /// Departures are not reported.
    HidesDepartures,
    /// Switches are not reported.
    HidesSwitches,
    /// Duplicates are counted as too late.
    Miscounts,
    /// Paused replicas are resumed by the next entry.
    TakesEverything,
}

fn rewrite(bytes: &mut Vec<u8>, change: impl Fn(&mut RtpFields)) {
    if let Some(mut fields) = RtpFields::of(bytes) {
        change(&mut fields);
        *bytes = fields.encode();
    }
}

impl Device for Mutant {
    fn name(&self) -> String {
        format!("model that is wrong: {:?}", self.mutation)
    }

    fn plane(&self) -> Plane {
        Plane::Model
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        match (self.mutation, self.model.write(now, update)) {
            (Mutation::TakesEverything, Err(WriteError::SsrcUsed)) => Ok(()),
            (_, answer) => answer,
        }
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.model.inject(now, what);
    }

    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        self.model.packet(now, path, bytes);
    }

    fn sent(&mut self) -> Vec<Datagram> {
        let mut sent = self.model.sent();
        let first = sent.first().map(|datagram| datagram.path);
        let mut out = Vec::new();
        for mut datagram in sent.drain(..) {
            self.sent += 1;
            let (every_50, every_100) = (self.sent.is_multiple_of(50), self.sent.is_multiple_of(100));
            match self.mutation {
                Mutation::LosesPackets if every_50 => continue,
                Mutation::Repeats if every_100 => out.push(datagram.clone()),
                Mutation::HidesLosses => {
                    let number = self.sent as u16;
                    rewrite(&mut datagram.bytes, |fields| fields.sequence = Some(number));
                }
                Mutation::DamagesPayloads if every_50 => rewrite(&mut datagram.bytes, |fields| {
                    if let Some(first) = fields.payload.as_mut().and_then(|payload| payload.first_mut()) {
                        *first ^= 0x80;
                    }
                }),
                Mutation::ForgetsMarkers => rewrite(&mut datagram.bytes, |fields| fields.marker = None),
                Mutation::Leaks => datagram.path = first.unwrap_or(datagram.path),
                _ => {}
            }
            out.push(datagram);
        }
        out
    }

    fn poll(&mut self) -> Option<Event> {
        loop {
            let event = self.model.poll()?;
            match (self.mutation, &event) {
                (Mutation::HidesDepartures, Event::Departures { .. })
                | (Mutation::HidesSwitches, Event::Selected { .. }) => {}
                _ => return Some(event),
            }
        }
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.model.counters();
        if let Mutation::Miscounts = self.mutation {
            counters[Counter::TooLate] += std::mem::take(&mut counters[Counter::Duplicate]);
        }
        counters
    }

    fn egress_protection(&self) -> bool {
        false
    }
}

type Judge = fn(&[Step], &dyn Fn(Instant) -> Box<dyn Device>, Instant) -> Result<(), Difference>;

/// Finds a history in which the mutant is seen, and how few steps are left of it.
fn steps_to_find(mutation: Mutation, judge: Judge) -> Option<usize> {
    #[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
    let start = Instant::now();
    let new_device = |start: Instant| -> Box<dyn Device> {
        Box::new(Mutant {
            model: ModelDevice::new(start),
            mutation,
            sent: 0,
        })
    };
    let judge = |steps: &[Step]| judge(steps, &new_device, start).err();
    (0..20).find_map(|seed| {
        let srtp = Srtp::Never;
        let steps = history(
            seed,
            Options {
                steps: 300,
                srtp,
                network: Network::Rough,
                shares_paths: false,
            },
        );
        let difference = judge(&steps)?;
        let (left, difference) = shrink(steps, difference, judge);
        let again = judge(&left).expect("the remaining steps still fail");
        assert_eq!(again.step, difference.step);
        Some(left.len())
    })
}

#[test]
fn every_mutant_differs_from_the_model_and_is_made_small() {
    use Mutation::*;
    let counted = [LosesPackets, Repeats, DamagesPayloads];
    let others = [
        HidesLosses,
        Leaks,
        ForgetsMarkers,
        HidesDepartures,
        HidesSwitches,
        Miscounts,
        TakesEverything,
    ];
    for mutation in counted.into_iter().chain(others) {
        let steps = steps_to_find(mutation, compare).unwrap_or_else(|| panic!("{mutation:?} was not found"));
        println!("{mutation:?}: {steps} steps");
        // Faults at every fiftieth packet need fifty packets.
        let most = if counted.iter().any(|one| *one as u8 == mutation as u8) {
            130
        } else {
            12
        };
        assert!(steps <= most, "{mutation:?} needed {steps} steps");
    }
}

#[test]
fn mutants_that_break_a_promise_are_found_without_the_model() {
    use Mutation::*;
    for mutation in [HidesLosses, Repeats, Leaks] {
        let steps = steps_to_find(mutation, check).unwrap_or_else(|| panic!("{mutation:?} was not found"));
        println!("{mutation:?}: {steps} steps");
    }
}
