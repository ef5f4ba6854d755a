//! The protocols by which clients reach media.

use std::time::Duration;

use access::TurnSecret;
use controller::PeerMode::{Dual, Single};
use controller::{Config, TurnServer};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::simulate_scenario::Scenario;
use livekit_protocol::{CandidateProtocol, ClientConfigSetting, JoinResponse, SimulateScenario};
use southbound::Notice;
use wire::sdp::{CandidateTransport, SessionDescription};

use crate::browser::parse;
use crate::node::node_at;
use crate::world::{Client, World, claims, keys};

fn transports(description: &SessionDescription) -> Vec<CandidateTransport> {
    let candidates = description.sections[0].candidates.iter();
    candidates.map(|candidate| candidate.transport).collect()
}

fn ask_for(world: &mut World, client: &Client, protocol: i32) {
    let scenario = Some(Scenario::SwitchCandidateProtocol(protocol));
    world.say(client.connection, Said::Simulate(SimulateScenario { scenario }));
}

#[test]
fn descriptions_have_udp_candidates_before_tcp_ones() {
    let mut world = World::new();
    let mut ada = world.join_unconnected(&claims("ada"), Single);
    let (answer, _) = world.offer(&mut ada);
    use CandidateTransport::{TcpPassive, Udp};
    assert_eq!(transports(&answer), [Udp, Udp, TcpPassive]);
    let priorities: Vec<u32> = answer.sections[0].candidates.iter().map(|it| it.priority).collect();
    assert!(priorities.is_sorted_by(|a, b| a > b), "{priorities:?}");
    assert_eq!(answer.sections[0].candidates[2].address.to_string(), "192.0.2.1:7881");
}

#[test]
fn a_client_that_asks_for_tcp_finds_only_tcp_when_it_starts_over() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    for (protocol, found) in [
        (CandidateProtocol::Tcp, 1),
        (CandidateProtocol::Tls, 1),
        (CandidateProtocol::Udp, 3),
    ] {
        ask_for(&mut world, &ada, protocol as i32);
        ada = world.join_unconnected(&claims("ada"), Single);
        let (answer, _) = world.offer(&mut ada);
        let transports = transports(&answer);
        assert_eq!(transports.len(), found, "{protocol:?}: {transports:?}");
        assert_eq!(transports.last(), Some(&CandidateTransport::TcpPassive));
    }
    ask_for(&mut world, &ada, CandidateProtocol::Tcp as i32);
    ask_for(&mut world, &ada, 77);
    let mut bob = world.join_unconnected(&claims("bob"), Single);
    assert_eq!(transports(&world.offer(&mut bob).0).len(), 3, "another one's choice");
}

#[test]
fn both_connections_are_found_by_the_protocol_that_was_asked_for() {
    let mut world = World::new();
    let ada = world.join("ada", Dual);
    ask_for(&mut world, &ada, CandidateProtocol::Tcp as i32);
    world.clear();
    let mut again = world.join_unconnected(&claims("ada"), Dual);
    let offer = world.expect(again.connection, "offer", |message| match message {
        Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    assert_eq!(transports(&parse(&offer.sdp)), [CandidateTransport::TcpPassive]);
    let (answer, _) = world.offer(&mut again);
    assert_eq!(transports(&answer), [CandidateTransport::TcpPassive]);
}

/// The ports of the UDP candidates of a description.
fn udp_ports(description: &SessionDescription) -> Vec<u16> {
    let candidates = description.sections[0].candidates.iter();
    let udp = candidates.filter(|candidate| candidate.transport == CandidateTransport::Udp);
    udp.map(|candidate| candidate.address.port()).collect()
}

#[test]
fn participants_take_the_ports_of_the_node_in_turn() {
    let mut world = World::with_node(node_at(&[7882, 7883, 7884]));
    for (identity, port) in [("ada", 7882), ("bob", 7883), ("eve", 7884), ("fay", 7882)] {
        let mut client = world.join_unconnected(&claims(identity), Single);
        let (answer, _) = world.offer(&mut client);
        assert_eq!(udp_ports(&answer), [port, port], "{identity}, for both families");
    }
    let mut gil = world.join_unconnected(&claims("gil"), Dual);
    let offer = world.expect(gil.connection, "offer", |message| match message {
        Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    let (answer, _) = world.offer(&mut gil);
    for description in [parse(&offer.sdp), answer] {
        assert_eq!(udp_ports(&description), [7883, 7883], "for both connections");
    }
    world.notice(Notice::Node(node_at(&[9000])));
    let (answer, _) = world.offer(&mut gil);
    assert_eq!(udp_ports(&answer), [9000, 9000], "where it is now");
}

/// Comes in, as the client is told of it.
fn greeted(world: &mut World, identity: &str) -> (Client, JoinResponse) {
    let admission = world.admission(&claims(identity), Single, "");
    let connection = world.open(admission);
    let joined = world.expect(connection, "join", |message| match message {
        Message::Join(join) => Some(join.clone()),
        _ => None,
    });
    (Client::at(connection, identity, Single), joined)
}

#[test]
fn each_participant_gets_credentials_of_its_own() {
    let urls = ["turn:turn.example.net:3478", "turns:turn.example.net:443?transport=tcp"];
    let secret = TurnSecret::new("north");
    let turn = TurnServer {
        urls: urls.map(str::to_owned).into(),
        secret: secret.clone(),
        valid_for: Duration::from_secs(3_600),
    };
    let mut world = World::with(Config {
        turn: Some(turn),
        ..Config::new(keys())
    });
    let (ada, joined) = greeted(&mut world, "ada");
    let [server] = &joined.ice_servers[..] else {
        panic!("{:?}", joined.ice_servers)
    };
    assert_eq!(server.urls, urls);
    let (until, whose) = server.username.split_once(':').unwrap();
    assert_eq!(whose, joined.participant.as_ref().unwrap().sid);
    let expected = secret.credentials(whose, Duration::from_secs(until.parse().unwrap()));
    assert_eq!(server.credential, expected.password);
    let (_, other) = greeted(&mut world, "bob");
    assert_ne!(other.ice_servers[0].username, server.username);

    ask_for(&mut world, &ada, CandidateProtocol::Tls as i32);
    let (mut again, joined) = greeted(&mut world, "ada");
    assert_eq!(joined.ice_servers[0].urls, urls[1..]);
    let setting = joined.client_configuration.unwrap().force_relay();
    assert_eq!(setting, ClientConfigSetting::Enabled);
    let (answer, _) = world.offer(&mut again);
    assert_eq!(transports(&answer).len(), 3, "the TURN server reaches media by UDP");
}
