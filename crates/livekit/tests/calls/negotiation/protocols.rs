//! The protocols by which clients reach media.

use controller::PeerMode::{Dual, Single};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::simulate_scenario::Scenario;
use livekit_protocol::{CandidateProtocol, SimulateScenario};
use wire::sdp::{CandidateTransport, SessionDescription};

use crate::browser::parse;
use crate::world::{Client, World, claims};

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
