//! Requests between two controllers, over real connections.

mod failures;
mod regions;
mod requests;
mod workers;
mod world;

use super::*;
use crate::cluster::location::Location;
use world::{Cable, Client, PATIENCE, two};

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

#[tokio::test]
async fn a_client_joins_a_room_of_another_controller() {
    let [one, two] = two().await;
    let mut ada = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(ada.status(), "101", "{}", ada.head);
    assert!(
        ada.head
            .to_ascii_lowercase()
            .contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=")
    );
    let (opcode, joined) = ada.next().await;
    assert_eq!(opcode, BINARY, "the answer to joining");
    assert!(joined.len() > 100);
    ada.frame(PING, b"there?").await;
    let pong = loop {
        let (opcode, payload) = ada.next().await;
        if opcode != BINARY {
            break (opcode, payload);
        }
    };
    assert_eq!(pong, (PONG, b"there?".to_vec()));
    assert_eq!(one.server.controller.population().await, (1, 1));
    assert_eq!(two.server.controller.population().await, (0, 0));
    assert_eq!(two.metric("weir_forwarded_requests_total{kind=\"signalling\"}"), "1");
    two.wait_for_websockets("1").await;

    ada.frame(CLOSE, &1000u16.to_be_bytes()).await;
    assert!(ada.is_ended_within(PATIENCE).await);
    two.wait_for_websockets("0").await;
}

#[tokio::test]
async fn a_client_whose_controller_dies_learns_of_it_at_once() {
    let [one, two] = two().await;
    let mut cable = Cable::to(one.forward).await;
    two.directory.set("lobby", vec![world::elsewhere(cable.address)]);
    let mut ada = Client::open(two.public, &access_token(&[]), "").await;
    ada.next().await;
    two.wait_for_websockets("1").await;
    cable.cut().await;
    assert!(ada.is_ended_within(Duration::from_secs(1)).await);
    two.wait_for_websockets("0").await;
    // The next client finds the controller dead, and the cluster gives the room to this one.
    two.directory
        .set("lobby", vec![world::elsewhere(cable.address), Location::Here]);
    let again = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(again.status(), "101", "{}", again.head);
    assert_eq!(two.server.controller.population().await, (1, 1));
    assert_eq!(two.directory.suspects(), [cable.address.to_string()]);
}

#[tokio::test]
async fn a_controller_learns_of_a_lost_client_at_once() {
    let [_one, two] = two().await;
    let ada = Client::open(two.public, &access_token(&[]), "").await;
    two.wait_for_websockets("1").await;
    drop(ada);
    let gone = two.wait_for_websockets("0");
    assert!(tokio::time::timeout(Duration::from_secs(2), gone).await.is_ok());
}

#[tokio::test]
async fn a_refused_upgrade_is_the_answer_of_the_rooms_controller() {
    let [one, two] = two().await;
    one.server.controller.drain().await;
    let mut ada = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(ada.status(), "503");
    assert!(ada.head.to_ascii_lowercase().contains("retry-after"), "{}", ada.head);
    let mut text = vec![0; 4];
    tokio::io::AsyncReadExt::read_exact(&mut ada.stream, &mut text)
        .await
        .unwrap();
    assert_eq!(two.metric("weir_forwarded_websockets"), "0");
    assert_eq!(two.directory.suspects(), [""; 0], "it has answered");
}

#[tokio::test]
async fn long_headers_pass_and_too_long_ones_do_not() {
    let [_one, two] = two().await;
    let long = format!("X-Long: {}\r\n", "x".repeat(10_000));
    let ada = Client::open(two.public, &access_token(&[]), &long).await;
    assert_eq!(ada.status(), "101");
    let questions = two.directory.questions();
    // The limit is that of a buffer, which may have taken as much again with its last read.
    let longer = format!("X-Long: {}\r\n", "x".repeat(400_000));
    let refused = Client::open(two.public, &access_token(&[]), &longer).await;
    assert_eq!(refused.status(), "431");
    assert_eq!(two.directory.questions(), questions);
}

#[tokio::test]
async fn a_refusal_of_this_controller_costs_no_other_anything() {
    let [_one, two] = two().await;
    let refused = Client::open(two.public, "a.b.c", "").await;
    assert_eq!(refused.status(), "401");
    assert_eq!(two.directory.questions(), 0);
}

#[tokio::test]
async fn a_room_that_nobody_has_is_claimed_once_its_client_may_create_it() {
    let [_one, two] = two().await;
    two.directory.set("lobby", Vec::new());
    let path = format!("/rtc/validate?access_token={}", access_token(&[]));
    let answer = two.server.get(STRANGER, &path, HeaderMap::new()).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(
        two.directory.questions(),
        1,
        "asking whether one could join claims nothing"
    );
    let ada = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(ada.status(), "101");
    assert_eq!(
        two.directory.questions(),
        3,
        "one that it is nowhere, one that claims it"
    );
    two.server.controller.drain().await;
    two.directory.set("attic", Vec::new());
    let mut claims = dev::claims("devkey", "attic", "ben", Duration::from_secs(60));
    claims.video.room_join = true;
    let ben = Client::open(two.public, &sign(&claims, &keys()).unwrap(), "").await;
    assert_eq!(ben.status(), "503");
    assert_eq!(two.directory.questions(), 4, "a controller that drains claims nothing");
}
