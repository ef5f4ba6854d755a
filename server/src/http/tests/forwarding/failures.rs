//! Controllers that are gone, hang, are others, or do not serve the room.

use tokio::net::TcpListener;

use super::super::*;
use super::world::{Client, Controller, Machines, elsewhere, two};
use crate::cli::Role;
use crate::cluster::location::Location;

#[tokio::test]
async fn a_controller_that_does_not_answer_costs_a_client_little() {
    let [_one, two] = two().await;
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = hanging.local_addr().unwrap();
    two.directory.set("lobby", vec![elsewhere(address), Location::Here]);
    let begun = clock::now();
    let ada = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(ada.status(), "101");
    assert!(clock::now() < begun + Duration::from_secs(4), "it was asked once");
    assert_eq!(two.directory.suspects(), [address.to_string()]);
    assert_eq!(two.failures("unreachable").await, "1");
}

#[tokio::test]
async fn a_room_whose_controllers_are_all_gone_is_unavailable() {
    let [_one, two] = two().await;
    let gone = ([127, 0, 0, 1], ports::free_port()).into();
    two.directory.set("lobby", vec![elsewhere(gone)]);
    let refused = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(refused.status(), "503");
    assert!(refused.head.to_ascii_lowercase().contains("retry-after"));
    assert_eq!(two.failures("unreachable").await, "2");
    let why = "the store is gone".to_owned();
    two.directory.set("lobby", vec![Location::Unavailable(why)]);
    let refused = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(refused.status(), "503");
    assert_eq!(two.failures("unavailable").await, "1");
}

#[tokio::test]
async fn a_room_that_has_moved_is_asked_for_once_more() {
    let [one, two] = two().await;
    // The first controller has given the room up since it was named.
    one.directory.set("lobby", vec![elsewhere(two.forward)]);
    two.directory.set("lobby", vec![elsewhere(one.forward), Location::Here]);
    let ada = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(ada.status(), "101");
    assert_eq!(two.server.controller.population().await, (1, 1));
    assert_eq!(two.directory.denials(), 1, "the cluster was told who denied it");
    assert_eq!(two.failures("elsewhere").await, "1");
    assert_eq!(one.directory.questions(), 1);
    let sent = one.metric("weir_forwarded_requests_total{kind=\"signalling\"}");
    assert_eq!(sent, "0", "a request that was passed on is not passed on again");
    // Two controllers that name each other do not pass a request back and forth.
    two.directory.set("lobby", vec![elsewhere(one.forward)]);
    let ben = Client::open(two.public, &access_token(&[]), "").await;
    assert_eq!(ben.status(), "503");
    assert_eq!(two.failures("elsewhere").await, "3");
}

#[tokio::test]
async fn a_media_node_passes_no_requests_on_and_gets_none() {
    let machines = Machines::new();
    let one = Controller::start(machines.tls("one", Role::Controller)).await;
    let node = Controller::start(machines.tls("node", Role::Media)).await;
    for (from, to) in [(&node, &one), (&one, &node)] {
        to.directory.set("lobby", vec![Location::Here]);
        from.directory.set("lobby", vec![elsewhere(to.forward)]);
        let refused = Client::open(from.public, &access_token(&[]), "").await;
        assert_eq!(refused.status(), "503", "{}", refused.head);
        assert_eq!(to.server.controller.population().await, (0, 0));
    }
    assert_eq!(one.failures("handshake").await, "4", "twice as either end");
}

#[tokio::test]
async fn a_stranger_is_no_controller() {
    let ours = Machines::new();
    let one = Controller::start(ours.tls("one", Role::Controller)).await;
    let theirs = Controller::start(Machines::new().tls("one", Role::Controller)).await;
    theirs.directory.set("lobby", vec![elsewhere(one.forward)]);
    let refused = Client::open(theirs.public, &access_token(&[]), "").await;
    assert_eq!(refused.status(), "503");
    // Plain HTTP at the port of controllers.
    let plain = tokio::net::TcpStream::connect(one.forward).await.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: a\r\nweir-client: https 127.0.0.1 127.0.0.1\r\n\r\n";
    plain.try_write(request).unwrap();
    let mut plain = Client {
        stream: plain,
        head: String::new(),
    };
    assert!(plain.is_ended_within(Duration::from_secs(5)).await);
    assert_eq!(one.server.controller.population().await, (0, 0));
}

#[tokio::test]
async fn a_client_cannot_say_that_it_is_another() {
    let [_one, two] = two().await;
    let forged = [
        (HeaderName::from_static("weir-client"), "https 127.0.0.1 127.0.0.1"),
        (HeaderName::from_static("weir-elsewhere"), "1"),
    ];
    let answer = two.server.get(STRANGER, "/metrics", map(&forged)).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    // It does not make a request one of another controller either, which would not be passed on.
    let headers = "weir-client: https 127.0.0.1 127.0.0.1\r\nweir-elsewhere: 1\r\n";
    let ada = Client::open(two.public, &access_token(&[]), headers).await;
    assert_eq!(ada.status(), "101");
    assert_eq!(two.metric("weir_forwarded_requests_total{kind=\"signalling\"}"), "1");
}
