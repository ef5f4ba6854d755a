use super::*;

const MIN: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(2);

fn pool(all: usize) -> (SlotPool<&'static str>, Instant) {
    (SlotPool::new(Limits::shared(all, MIN)), Instant::now())
}

/// Takes slots until there is no more; settled ones if so.
fn fill(pool: &mut SlotPool<&'static str>, now: Instant, holder: &'static str, settled: bool) -> Vec<SlotId> {
    let mut held = Vec::new();
    while let Ok(entry) = pool.enter(now, vec![holder]) {
        assert_eq!(entry.evicted, []);
        assert!(!settled || pool.settle(entry.slot));
        held.push(entry.slot);
    }
    held
}

#[test]
fn one_holder_leaves_slots_for_others_and_many_holders_take_all() {
    let (mut pool, now) = pool(90);
    let held = fill(&mut pool, now, "flood", true).len();
    assert_eq!(held, 80, "8 for each of the 10 that are free");
    let others: Vec<_> = (0..10).map(|_| fill_one(&mut pool, now)).collect();
    assert!(others.iter().all(Result::is_ok), "{others:?}");
    assert_eq!(fill_one(&mut pool, now), Err(Full::All), "none is left");
    assert_eq!(pool.len(), 90);
}

/// A slot of a holder that has no other.
fn fill_one(pool: &mut SlotPool<&'static str>, now: Instant) -> Result<(), Full> {
    const NAMES: [&str; 12] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b"];
    let name = NAMES.into_iter().find(|name| !pool.holders.contains_key(name));
    let entry = pool.enter(now, vec![name.expect("a name")])?;
    pool.settle(entry.slot);
    Ok(())
}

#[test]
fn a_share_binds_under_pressure_only() {
    let (mut pool, now) = pool(900);
    for _ in 0..700 {
        let entry = pool.enter(now, vec!["carrier"]).expect("there is room");
        pool.settle(entry.slot);
    }
}

#[test]
fn the_oldest_pending_slot_of_the_largest_holder_gives_way() {
    let (mut pool, now) = pool(10);
    let honest = pool.enter(now, vec!["honest"]).unwrap().slot;
    let mut flood = fill(&mut pool, now, "flood", false);
    flood.extend(fill(&mut pool, now, "second", false).first());
    while pool.len() < 10 {
        fill_one(&mut pool, now).unwrap();
    }
    assert_eq!(pool.enter(now, vec!["late"]), Err(Full::All), "all are new");
    let entry = pool.enter(now + LATER, vec!["late"]).unwrap();
    assert_eq!(entry.evicted, [(flood[0], Full::All)]);
    assert!(!pool.settle(flood[0]), "it was evicted");
    assert!(pool.settle(honest) && pool.settle(entry.slot));
    pool.leave(flood[0]);
    assert_eq!(pool.len(), 10, "an evicted slot is not given back twice");
}

#[test]
fn a_holder_with_its_share_evicts_its_own_and_no_smaller_ones() {
    let (mut pool, now) = pool(18);
    let small = pool.enter(now, vec!["small"]).unwrap().slot;
    let flood = fill(&mut pool, now, "flood", true);
    assert_eq!(pool.enter(now + LATER, vec!["flood"]), Err(Full::Holder));
    assert!(pool.contains(small));
    pool.leave(flood[0]);
    let own = pool.enter(now + LATER, vec!["flood"]).unwrap().slot;
    let entry = pool.enter(now + 2 * LATER, vec!["flood"]).unwrap();
    assert_eq!(entry.evicted, [(own, Full::Holder)]);
    assert!(pool.contains(small));
}

#[test]
fn a_larger_holder_gives_way_to_one_that_has_some() {
    let (mut pool, now) = pool(20);
    for _ in 0..3 {
        let entry = pool.enter(now, vec!["office"]).unwrap();
        pool.settle(entry.slot);
    }
    let flood = fill(&mut pool, now, "flood", false);
    while pool.len() < 20 {
        fill_one(&mut pool, now).unwrap();
    }
    let entry = pool.enter(now + LATER, vec!["office"]).unwrap();
    assert_eq!(entry.evicted, [(flood[0], Full::Holder)]);
}

#[test]
fn numbers_for_one_holder_are_kept() {
    let limits = Limits {
        per_holder: 3,
        pending_per_holder: 2,
        ..Limits::shared(100, MIN)
    };
    let (mut pool, now) = (SlotPool::new(limits), Instant::now());
    let first = pool.enter(now, vec!["a"]).unwrap().slot;
    pool.enter(now, vec!["a"]).unwrap();
    assert_eq!(pool.enter(now, vec!["a"]), Err(Full::Holder));
    let entry = pool.enter(now + LATER, vec!["a"]).unwrap();
    assert_eq!(entry.evicted, [(first, Full::Holder)]);
    assert!(pool.settle(entry.slot));
    let last = pool.enter(now + LATER, vec!["a"]).unwrap().slot;
    assert!(pool.settle(last));
    assert!(pool.enter(now, vec!["a"]).is_err(), "three, and the pending one is new");
}

#[test]
fn each_of_several_holders_has_its_share() {
    let (mut pool, now) = pool(20);
    let mut settled = 0;
    while let Ok(entry) = pool.enter(now, vec!["token", ["0", "1", "2"][settled % 3]]) {
        pool.settle(entry.slot);
        settled += 1;
    }
    assert_eq!(settled, 18, "the token has its share, and no address");
    assert!(pool.enter(now, vec!["other token", "0"]).is_ok());
}

#[test]
fn slots_without_a_holder_are_bounded_together_and_give_way() {
    let (mut pool, now) = pool(3);
    let held: Vec<_> = (0..3).map(|_| pool.enter(now, Vec::new()).unwrap().slot).collect();
    assert_eq!(pool.enter(now, Vec::new()), Err(Full::All));
    let entry = pool.enter(now + LATER, vec!["a"]).unwrap();
    assert_eq!(entry.evicted, [(held[0], Full::All)]);
    assert_eq!(pool.evict(now + LATER), Some(held[1]));
    assert_eq!(pool.evict(now), None, "it is too new");
}

#[test]
fn holders_without_slots_take_no_memory() {
    let (mut pool, now) = pool(50);
    for slot in fill(&mut pool, now, "a", false) {
        pool.leave(slot);
    }
    assert!(pool.is_empty() && pool.holders.is_empty() && pool.by_pending.is_empty() && pool.unheld.is_empty());
}
