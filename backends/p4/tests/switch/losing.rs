//! A switch that restarts, or that another controller takes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use backend_p4::Replication;
use dataplane::{ReplicaId, ReplicaOffload};
use p4runtime::v1;
use p4runtime::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::v1::stream_message_request::Update as Request;
use tokio::runtime::Runtime;
use tonic::codegen::tokio_stream;

use crate::bench::{Driver, Switch, rtp, until};
use crate::calls::{is_relayed, offer_call};
use crate::rooms::{copies, offer, offer_room, released, replica, take_over};

/// A call and a replica of sound on the switch.
fn on_switch(driver: &mut Driver) -> (String, String) {
    driver.wait_until_connected();
    let call = offer_call(driver);
    offer_room(driver);
    offer(driver, 2, replica(2, 10, 111));
    assert_eq!(driver.candidate().replica, ReplicaId(2));
    take_over(driver, 2, released(999, 70));
    call
}

#[test]
fn a_switch_that_restarts_gets_all_again() {
    let (switch, at) = Switch::start(None);
    let mut driver = Driver::start(at, Replication::Multicast);
    let (a, b) = on_switch(&mut driver);
    assert_eq!(copies(&switch, &rtp(111, 1_000, 10), 1).len(), 1);
    drop(switch);
    assert_eq!(
        until("the replica returns", || driver.rooms.next_returned()),
        ReplicaId(2)
    );
    let snapshot = driver.rooms.snapshot(ReplicaId(2)).unwrap();
    assert!(snapshot.source.is_none() && snapshot.next > 71, "{snapshot:?}");

    let (switch, _) = Switch::start(Some(at));
    driver.wait_until_connected();
    until("the call is on the switch again", || {
        is_relayed(&switch, &a, &b).then_some(())
    });
    assert_eq!(driver.candidate().replica, ReplicaId(2));
    take_over(&mut driver, 2, released(1_999, 9_000));
    assert_eq!(copies(&switch, &rtp(111, 2_000, 10), 1)[0].2, 9_000);
    assert_eq!(driver.count("installed"), 2);
    assert!(driver.count("lost") >= 1);
}

#[test]
fn a_second_controller_ends_the_lease_and_leaves_the_calls() {
    Switch::each(second_controller);
}

fn second_controller(switch: &Switch, at: SocketAddr) {
    let mut driver = Driver::start(at, Replication::Multicast);
    let (a, b) = on_switch(&mut driver);
    let runtime = Runtime::new().unwrap();
    let arbitration = v1::MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(v1::Uint128 { high: 0, low: 8 }),
        ..Default::default()
    };
    let request = v1::StreamMessageRequest {
        update: Some(Request::Arbitration(arbitration)),
    };
    let (keep, kept) = tokio::sync::mpsc::channel(1);
    runtime.block_on(keep.send(request)).unwrap();
    let stream = runtime.block_on(async {
        let mut client = P4RuntimeClient::connect(format!("http://{at}")).await.unwrap();
        let requests = tokio_stream::wrappers::ReceiverStream::new(kept);
        client.stream_channel(requests).await.unwrap()
    });
    let start = Instant::now();
    assert_eq!(
        until("the replica returns", || driver.rooms.next_returned()),
        ReplicaId(2)
    );
    assert!(
        start.elapsed() > Duration::from_millis(800),
        "not before the lease is over"
    );
    assert!(copies(switch, &rtp(111, 1_001, 10), 0).is_empty());
    assert!(driver.state().contains("another controller"), "{}", driver.state());
    assert!(is_relayed(switch, &a, &b), "relays need no lease");

    drop((keep, stream));
    runtime.shutdown_background();
    driver.wait_until_connected();
    assert_eq!(driver.candidate().replica, ReplicaId(2));
    take_over(&mut driver, 2, released(1_999, 9_000));
    assert_eq!(copies(switch, &rtp(111, 2_000, 10), 1)[0].2, 9_000);
    assert_eq!(driver.count("installed"), 1, "the program was there");
    assert!(driver.count("not_primary") >= 1);
}

#[test]
fn the_next_process_finds_the_program_and_deletes_what_is_not_wanted() {
    Switch::each(next_process);
}

fn next_process(switch: &Switch, at: SocketAddr) {
    let mut driver = Driver::start(at, Replication::Multicast);
    let (a, b) = on_switch(&mut driver);
    drop(driver);
    let mut next = Driver::start(at, Replication::Multicast);
    next.wait_until_connected();
    assert_eq!(next.count("installed"), 0);
    assert!(next.count("foreign_entry") > 5);
    until("the call is the host's", || (!is_relayed(switch, &a, &b)).then_some(()));
    assert!(copies(switch, &rtp(111, 1_001, 10), 0).is_empty());
    on_switch(&mut next);
    assert!(is_relayed(switch, &a, &b));
}
