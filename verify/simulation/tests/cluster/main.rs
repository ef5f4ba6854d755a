//! Controllers, media nodes and a store under random faults: one owner acts for each room and
//! epoch, and after the faults every room that is wanted has one owner again.
//!
//! `SEEDS` is the number of histories, and `SEED` the first of them.

#![allow(clippy::disallowed_methods, reason = "a test starts its clock somewhere")]

mod node;
mod process;
mod store;
mod world;

use world::{Fault, World};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn run(seed: u64, fault: Option<Fault>) -> Result<(), String> {
    let mut world = World::new(seed, fault);
    world.run()
}

#[test]
fn one_owner_acts_for_each_room_and_epoch() {
    let first = number("SEED", 0);
    for seed in first..first + number("SEEDS", 1_000) {
        if let Err(why) = run(seed, None) {
            panic!("seed {seed}: {why}");
        }
    }
}

/// Two nodes name different owners, and the store none.
#[test]
fn a_room_that_two_controllers_say_is_the_others_is_claimed() {
    assert_eq!(run(102_476, None), Ok(()));
}

/// The number of histories that a fault may survive.
const TRIES: u64 = 400;

fn is_noticed(fault: Fault) -> bool {
    (0..TRIES).any(|seed| run(seed, Some(fault)).is_err())
}

#[test]
fn a_node_that_obeys_an_earlier_epoch_is_noticed() {
    assert!(is_noticed(Fault::NodeIgnoresEpochs));
}

#[test]
fn a_node_that_obeys_two_owners_of_an_epoch_is_noticed() {
    assert!(is_noticed(Fault::NodeIgnoresOwners));
}

#[test]
fn a_controller_that_asks_no_node_for_epochs_is_noticed() {
    assert!(is_noticed(Fault::EpochsOfTheStoreOnly));
}

#[test]
fn a_controller_that_ignores_its_successors_is_noticed() {
    assert!(is_noticed(Fault::SuccessorsIgnored));
}

#[test]
fn a_node_that_announces_no_claims_is_noticed() {
    assert!(is_noticed(Fault::ClaimsUnannounced));
}
