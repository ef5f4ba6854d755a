//! A record in a store that does what stores do.

use std::sync::Arc;
use std::time::Duration;

use ::cluster::{MediaRecord, media_key};
use southbound::NodeId;
use stores::{Entry, Faults, Memory, Store};
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::cluster::counted_store::CountedStore;

const NODE: NodeId = NodeId(7);
const SECOND: Duration = Duration::from_secs(1);

/// How long after the return of the store the record has to be there again.
const BACK_MAX: Duration = Duration::from_secs(5);

struct World {
    memory: Arc<Memory>,
    metrics: Metrics,
    began: Instant,
}

impl World {
    fn new() -> Self {
        Self {
            memory: Arc::new(Memory::timed()),
            metrics: Metrics::default(),
            began: Instant::now(),
        }
    }

    fn enter(&self, node: NodeId, record: MediaRecord) -> Membership {
        let store = CountedStore::new(self.memory.clone(), self.metrics.clone());
        Membership::begin(Arc::new(store), node, record, self.metrics.clone())
    }

    /// The record of a node, whatever faults the store has for others.
    async fn entry(&self, node: NodeId) -> Option<Entry> {
        self.memory.get(&media_key(node)).await.unwrap()
    }

    async fn load(&self) -> Option<u32> {
        let entry = self.entry(NODE).await?;
        Some(serde_json::from_slice::<MediaRecord>(&entry.value).unwrap().load)
    }

    /// Waits until the store has this load, and returns how long that took.
    async fn until(&self, load: Option<u32>) -> Duration {
        let began = Instant::now();
        let wait = async {
            while self.load().await != load {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(60 * SECOND, wait).await.expect("it is there in the end");
        began.elapsed()
    }

    fn fault(&self, faults: Faults) {
        self.memory.set_faults(faults);
    }

    /// A value of the metrics.
    fn value(&self, name: &str) -> u64 {
        let text = self.metrics.encode().finish();
        let value = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        value.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }
}

fn record() -> MediaRecord {
    MediaRecord {
        name: "one".into(),
        address: "192.0.2.7:7890".into(),
        capacity: 600,
        ..MediaRecord::default()
    }
}

fn set_load(membership: &Membership, load: u32) {
    membership.record().send_modify(|record| record.load = load);
}

const AWAY: Faults = Faults {
    unavailable: true,
    delay: Duration::ZERO,
    stale_reads: false,
};

#[tokio::test(start_paused = true)]
async fn a_record_is_there_as_long_as_its_node() {
    let world = World::new();
    let membership = world.enter(NODE, record());
    world.until(Some(0)).await;
    let first = world.entry(NODE).await.unwrap();
    sleep(60 * SECOND).await;
    assert_eq!(world.entry(NODE).await, Some(first), "it is not written for nothing");
    assert_eq!(*membership.standing().borrow(), Standing::Confirmed);
    membership.leave().await;
    assert_eq!(world.entry(NODE).await, None, "at once");
    assert_eq!(world.value("weir_store_leases_lost_total"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_ends_without_a_word_is_gone_with_its_lease() {
    let world = World::new();
    let membership = world.enter(NODE, record());
    world.until(Some(0)).await;
    membership.keeping.abort();
    let took = world.until(None).await;
    assert!(took <= TTL + SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn changes_are_written_at_once() {
    let world = World::new();
    let membership = world.enter(NODE, record());
    world.until(Some(0)).await;
    set_load(&membership, 9);
    let took = world.until(Some(9)).await;
    assert!(took < SECOND / 10, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_comes_back_with_a_store_that_was_away_for_minutes() {
    let world = World::new();
    world.fault(AWAY);
    let membership = world.enter(NODE, record());
    sleep(7 * 60 * SECOND).await;
    assert_eq!(*membership.standing().borrow(), Standing::Unreached);
    for round in 0..3 {
        world.fault(Faults::default());
        let took = world.until(Some(round)).await;
        assert!(took <= BACK_MAX, "{took:?}");
        assert_eq!(world.value("weir_registered"), 1);
        sleep(Duration::from_millis(700) * round).await;
        world.fault(AWAY);
        sleep(7 * 60 * SECOND).await;
        assert_eq!(*membership.standing().borrow(), Standing::Unconfirmed);
        assert_eq!(world.value("weir_registered"), 0);
        set_load(&membership, round + 1);
    }
    assert_eq!(world.value("weir_registrations_total"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_the_store_takes_back_is_replaced() {
    let world = World::new();
    let membership = world.enter(NODE, record());
    world.until(Some(0)).await;
    for round in 1..=3 {
        // The store counts its leases from 1, and each loss takes one more.
        let lease = Lease {
            id: i64::from(round),
            ttl: TTL,
        };
        world.memory.lose(lease);
        set_load(&membership, round as u32);
        let took = world.until(Some(round as u32)).await;
        assert!(took <= TTL / 3 + SECOND, "{took:?}");
    }
    assert_eq!(world.value("weir_store_leases_lost_total"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_forgets_is_told_again() {
    let world = World::new();
    let membership = world.enter(NODE, record());
    world.until(Some(0)).await;
    sleep(20 * SECOND).await;
    set_load(&membership, 9);
    world.until(Some(9)).await;
    world.memory.forget_since(world.began.elapsed() - SECOND);
    assert_eq!(world.load().await, Some(0), "it has forgotten the last second");
    let took = world.until(Some(9)).await;
    assert!(took <= AUDIT_EVERY + SECOND, "{took:?}");
    world.memory.forget_since(Duration::ZERO);
    assert_eq!(world.load().await, None, "it has forgotten everything");
    let took = world.until(Some(9)).await;
    assert!(took <= AUDIT_EVERY + SECOND, "{took:?}");
    let entry = world.entry(NODE).await.unwrap();
    let deleted = world.memory.delete(&media_key(NODE), entry.revision).await.unwrap();
    assert!(matches!(deleted, Swap::Won { .. }));
    let took = world.until(Some(9)).await;
    assert!(took <= AUDIT_EVERY + SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn stale_answers_cause_no_writes() {
    let world = World::new();
    world.fault(Faults {
        stale_reads: true,
        ..Faults::default()
    });
    let _membership = world.enter(NODE, record());
    sleep(20 * SECOND).await;
    assert_eq!(
        world.value("weir_store_calls_total{operation=\"swap\",outcome=\"ok\"}"),
        0
    );
    world.fault(Faults::default());
    let entry = world.entry(NODE).await.unwrap();
    sleep(20 * SECOND).await;
    assert_eq!(world.entry(NODE).await, Some(entry), "the first one");
    assert_eq!(world.value("weir_registered"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_store_keeps_the_record() {
    let world = World::new();
    world.fault(Faults {
        delay: Duration::from_millis(1_900),
        ..Faults::default()
    });
    let membership = world.enter(NODE, record());
    sleep(15 * SECOND).await;
    assert_eq!(*membership.standing().borrow(), Standing::Confirmed);
    for load in 1..=20 {
        set_load(&membership, load);
        sleep(6 * SECOND).await;
        assert_eq!(*membership.standing().borrow(), Standing::Confirmed);
    }
    assert_eq!(world.value("weir_store_leases_lost_total"), 0);
}

#[tokio::test(start_paused = true)]
async fn writes_without_an_answer_are_found_again() {
    let world = World::new();
    let membership = world.enter(NODE, record());
    world.until(Some(0)).await;
    // Calls have their effect and are not answered.
    world.fault(Faults {
        delay: stores::DEADLINE,
        ..Faults::default()
    });
    for load in 1..=5 {
        set_load(&membership, load);
        sleep(7 * SECOND).await;
    }
    assert_eq!(*membership.standing().borrow(), Standing::Unconfirmed);
    world.fault(Faults::default());
    let took = world.until(Some(5)).await;
    assert!(took <= BACK_MAX, "{took:?}");
    let mut standing = membership.standing();
    let confirmed = standing.wait_for(|standing| *standing == Standing::Confirmed);
    assert!(timeout(BACK_MAX, confirmed).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_does_not_wait_for_a_store_that_is_away() {
    let world = World::new();
    let membership = world.enter(NODE, record());
    world.until(Some(0)).await;
    world.fault(AWAY);
    timeout(SECOND, membership.leave())
        .await
        .expect("it is refused at once");
    world.fault(Faults::default());
    let membership = world.enter(NODE, record());
    world.until(Some(0)).await;
    world.fault(Faults {
        delay: 60 * SECOND,
        ..Faults::default()
    });
    timeout(CALL_MAX + SECOND, membership.leave())
        .await
        .expect("it is given up");
    let unreached = world.enter(NodeId(8), record());
    timeout(SECOND, unreached.leave())
        .await
        .expect("there is nothing to take back");
}

#[tokio::test(start_paused = true)]
async fn twins_are_noticed_by_both_and_a_predecessor_is_none() {
    let world = World::new();
    let before = world.enter(NodeId(1), record());
    sleep(SECOND).await;
    before.keeping.abort();
    let ours = world.enter(NODE, record());
    sleep(LOOKED).await;
    assert_eq!(world.value("weir_registered_twins"), 0, "its lease was over");

    let other_metrics = Metrics::default();
    let same_name = MediaRecord {
        address: "192.0.2.8:7890".into(),
        ..record()
    };
    let twin = Membership::begin(world.memory.clone(), NodeId(8), same_name, other_metrics.clone());
    sleep(LOOKED).await;
    assert_eq!(world.value("weir_registered_twins"), 1);
    assert!(other_metrics.encode().finish().contains("weir_registered_twins 1\n"));
    twin.record().send_modify(|record| record.draining = true);
    sleep(LOOKED).await;
    assert_eq!(world.value("weir_registered_twins"), 0, "it is about to end");
    twin.record().send_modify(|record| {
        *record = MediaRecord {
            name: "two".into(),
            ..self::record()
        }
    });
    sleep(LOOKED).await;
    assert_eq!(world.value("weir_registered_twins"), 1, "it has the same address");
    world
        .memory
        .claim("members/media/evil", vec![0xff].into(), None)
        .await
        .unwrap();
    sleep(LOOKED).await;
    assert_eq!(world.value("weir_registered_twins"), 1);
    drop((ours, twin));
}

/// By then each node has looked for others.
const LOOKED: Duration = Duration::from_secs(45);
