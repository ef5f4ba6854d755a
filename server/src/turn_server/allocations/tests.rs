//! Users that want the same places.

use super::*;
use crate::os::clock;

const SMALL: Limits = Limits {
    all: 6,
    per_address: 4,
    per_user: 3,
};
const HERE: &str = "192.0.2.1";

struct World {
    allocations: Allocations,
    now: Instant,
}

impl World {
    fn new() -> Self {
        let now = clock::now();
        let allocations = Allocations::new(SMALL, now);
        World { allocations, now }
    }

    /// One more of a user, with what tells whether it has to end.
    fn enter(&self, user: &str, address: &str) -> Result<(Share, Arc<Notify>), Refusal> {
        let evicted = Arc::new(Notify::new());
        let name = format!("1700000000:{user}");
        let share = self
            .allocations
            .enter(&name, address.parse().unwrap(), self.now, &evicted)?;
        Ok((share, evicted))
    }
}

fn is_held((share, _): &(Share, Arc<Notify>)) -> bool {
    share.allocations.locked().all.contains_key(&share.number)
}

#[test]
fn a_user_has_so_many_allocations_however_its_credentials_are_renewed() {
    let world = World::new();
    let held: Vec<_> = (0..3).map(|_| world.enter("ada", HERE).unwrap()).collect();
    let evicted = Arc::new(Notify::new());
    let renewed = world
        .allocations
        .enter("1700009999:ada", HERE.parse().unwrap(), world.now, &evicted);
    assert_eq!(renewed.err(), Some(Refusal::Quota));
    let other = world.enter("bob", HERE).unwrap();
    drop((held, other));
    let state = world.allocations.locked();
    assert!(state.all.is_empty() && state.users.is_empty() && state.addresses.is_empty());
}

#[tokio::test]
async fn a_silent_allocation_gives_way_to_any_other() {
    let mut world = World::new();
    let held: Vec<_> = (0..3).map(|_| world.enter("ada", HERE).unwrap()).collect();
    world.now += SILENCE;
    held[0].0.hear(world.now);
    let _next = world.enter("ada", HERE).unwrap();
    assert_eq!(held.iter().filter(|held| is_held(held)).count(), 2);
    assert!(is_held(&held[0]), "it is in use");
    let (_, evicted) = held.iter().find(|held| !is_held(held)).unwrap();
    evicted.notified().await;
}

#[test]
fn the_user_with_the_most_gives_way_to_one_with_fewer() {
    let world = World::new();
    let ada: Vec<_> = (0..3).map(|_| world.enter("ada", HERE).unwrap()).collect();
    let _bob = world.enter("bob", HERE).unwrap();
    let _cat = world.enter("cat", HERE).unwrap();
    assert!(!is_held(&ada[0]), "the oldest");
    let _dan = world.enter("dan", HERE);
    assert!(!is_held(&ada[1]));
    assert!(is_held(&ada[2]));
    // All have one.
    assert_eq!(world.enter("eve", HERE).err(), Some(Refusal::NoPort));
    assert!(world.enter("eve", "192.0.2.2").is_ok());
}

#[test]
fn the_fullest_address_gives_way_on_a_full_server() {
    let world = World::new();
    let ada: Vec<_> = (0..3).map(|_| world.enter("ada", HERE).unwrap()).collect();
    let others: Vec<_> = (2..5)
        .map(|host| world.enter("bob", &format!("192.0.2.{host}")).unwrap())
        .collect();
    let _cat = world.enter("cat", "192.0.2.9").unwrap();
    assert_eq!(ada.iter().filter(|ada| is_held(ada)).count(), 2);
    assert!(others.iter().all(is_held));
}
