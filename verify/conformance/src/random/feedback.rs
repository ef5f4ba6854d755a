//! Histories in which the estimates of receivers go on to publishers.

use std::time::Instant;

use dataplane::{Leg, LegId, Protection, Update};
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, IteratorRandom};
use rand::{Rng, SeedableRng};

use crate::device::ModelDevice;
use crate::leg_table::LegTable;
use crate::{Send, Step, Subject};

/// A receiver report without blocks, and a REMB, each without the first SSRC.
const REPORT: [u8; 4] = [0x80, 201, 0, 1];
const REMB: [u8; 4] = [0x8f, 206, 0, 5];
/// A PLI and a NACK, which no entry of these histories is about.
const PLI: [u8; 4] = [0x81, 206, 0, 2];
const NACK: [u8; 4] = [0x81, 205, 0, 3];

/// The SSRC that receivers send RTCP with.
const OWN: u32 = 7;

/// A history with entries of feedback between legs in clear of one family, and with RTCP of all
/// kinds from any leg. The history is a function of its steps and the seed.
pub fn with_feedback(steps: Vec<Step>, seed: u64, start: Instant) -> Vec<Step> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut model = Subject::new(Box::new(ModelDevice::new(start)), start);
    let mut legs = LegTable::default();
    let mut history = Vec::with_capacity(steps.len() * 5 / 4);
    for step in steps {
        let written = model.step(&step).written;
        if let Step::Write(update) = &step
            && written.is_ok()
        {
            legs.apply(update);
        }
        history.push(step);
        match rng.random_range(0..100) {
            0..4 => history.extend(entry(&mut rng, &legs)),
            4..14 => history.extend(rtcp(&mut rng, &legs)),
            _ => {}
        }
    }
    history
}

/// The legs between which RTCP may go on: in clear, and each alone at its path.
fn clear(legs: &LegTable) -> impl Iterator<Item = (LegId, &Leg)> {
    let is_clear = |(_, leg): &(LegId, &Leg)| leg.protection == Protection::Clear && leg.shared.is_none();
    legs.iter().filter(is_clear)
}

/// An entry that is taken, or that ends one.
fn entry(rng: &mut StdRng, legs: &LegTable) -> Option<Step> {
    let (from, leg) = clear(legs).choose(rng)?;
    let is_v4 = |leg: &Leg| leg.paths.iter().map(|path| path.remote.is_ipv4()).collect::<Vec<_>>();
    let same = |other: &Leg| {
        let both = [is_v4(leg), is_v4(other)];
        both.iter().all(|family| !family.is_empty())
            && (both.concat().iter().all(|v4| *v4) || !both.concat().contains(&true))
    };
    let others = clear(legs).filter(|(id, other)| *id != from && same(other));
    let to = match rng.random_bool(0.2) {
        true => None,
        false => Some(others.map(|(id, _)| id).choose(rng)?),
    };
    Some(Step::Write(Update::SetFeedback(from, to)))
}

/// RTCP of a receiver.
fn rtcp(rng: &mut StdRng, legs: &LegTable) -> Option<Step> {
    let (_, leg) = clear(legs).choose(rng)?;
    let path = *leg.paths.choose(rng)?;
    let packet = |head: [u8; 4], rest: &[u32]| {
        let words = [&[OWN], rest].concat();
        [head.to_vec(), words.into_iter().flat_map(u32::to_be_bytes).collect()].concat()
    };
    let estimate = [0, u32::from_be_bytes(*b"REMB"), 0x0104_1234, rng.random()];
    let report = || packet(REPORT, &[]);
    let bytes = match rng.random_range(0..6) {
        0 | 1 => report(),
        2 => packet(REMB, &estimate),
        3 => [report(), packet(REMB, &estimate)].concat(),
        4 => [report(), packet(PLI, &[rng.random()])].concat(),
        _ => packet(NACK, &[rng.random(), rng.random()]),
    };
    let tampered = false;
    Some(Step::Send(Send { path, bytes, tampered }))
}
