//! Packets of data tracks that go over links.

use southbound::{DataTrackRoute, DistantTrack, LinkedMessage};

use super::*;

const HANDLE: u16 = 9;

fn route(elsewhere: bool, nodes: &[NodeId]) -> Command {
    Command::SetDataTrack(Box::new(DataTrackRoute {
        endpoint: TransportId(1),
        handle: 7,
        sent_as: HANDLE,
        receivers: Vec::new(),
        elsewhere,
        nodes: nodes.to_vec(),
    }))
}

fn track(sender: &str, receivers: &[u64]) -> Command {
    Command::SetDistantTrack(Box::new(DistantTrack {
        sender: sender.into(),
        handle: HANDLE,
        receivers: receivers.iter().copied().map(TransportId).collect(),
    }))
}

/// Ben receives a data track of Ada.
fn with_track() -> Pair {
    let mut pair = Pair::linked();
    pair.command(1, track("PA_ada", &[2]));
    pair.command(0, route(false, &[B]));
    pair
}

fn packet(sender: &str, track: u16, reach: u64) -> Arc<LinkedMessage> {
    Arc::new(LinkedMessage {
        number: 0,
        room: "lobby".into(),
        reach,
        sender: sender.into(),
        message: None,
        label: "_data_track".into(),
        payload: b"9"[..].into(),
        identities: Vec::new(),
        sids: Vec::new(),
        only: None,
        track: Some(track),
    })
}

/// The endpoints that the owner was told that others have served.
fn linked(told: &[Notice]) -> Vec<Vec<(NodeId, u64)>> {
    let linked = told.iter().filter_map(|notice| match notice {
        Notice::MessageReceived { linked, .. } => Some(linked.nodes.clone()),
        _ => None,
    });
    linked.collect()
}

#[test]
fn packets_of_a_data_track_go_over_a_link_without_an_owner() {
    let mut pair = with_track();
    for node in 0..2 {
        let mut out = Output::default();
        pair.nodes[node].disconnect(OLD, &mut out);
    }
    let message = pair.arrives("_data_track", "7");
    assert_eq!(pair.commands[0], [Command::MessageHandled { message }]);
    assert_eq!(pair.held[0], [], "nobody waits for them");
    pair.carry();
    assert_eq!(pair.heard(), ["9"]);
    assert_eq!(
        (pair.count(0, Counter::PassedOn), pair.count(1, Counter::LinkTaken)),
        (1, 1)
    );
}

#[test]
fn packets_of_a_data_track_do_not_wait_for_what_went_by_the_owner() {
    let mut pair = Pair::of_version(Versions::OURS.newest);
    pair.command(1, track("PA_ada", &[2]));
    pair.command(0, route(false, &[B]));
    pair.arrives("_data_track", "7");
    assert_eq!(linked(&pair.told[0]), [[]], "there is no link yet");
    pair.link(0);
    pair.carry();
    pair.clear();
    pair.arrives("_data_track", "7");
    pair.carry();
    assert_eq!(
        (pair.heard(), linked(&pair.told[0])),
        (vec!["9".to_owned()], Vec::new())
    );
}

#[test]
fn packets_of_a_data_track_go_to_the_owner_while_a_link_is_away() {
    let mut pair = with_track();
    pair.lose_link();
    pair.nodes[1].origin_disconnected(A);
    pair.arrives("_data_track", "7");
    assert_eq!(linked(&pair.told[0]), [[]]);
    pair.link(0);
    pair.carry();
    pair.clear();
    pair.arrives("_data_track", "7");
    pair.carry();
    assert_eq!(
        (pair.heard(), linked(&pair.told[0])),
        (vec!["9".to_owned()], Vec::new())
    );
    pair.fail();
    pair.clear();
    pair.arrives("_data_track", "7");
    assert_eq!(linked(&pair.told[0]), [[]]);
}

#[test]
fn packets_of_a_data_track_go_to_a_node_of_the_version_before_by_the_owner() {
    let mut pair = Pair::linked();
    pair.command(0, route(true, &[]));
    pair.arrives("_data_track", "7");
    assert_eq!((linked(&pair.told[0]), pair.on_link[0].len()), (vec![Vec::new()], 0));
    // Another node is linked, and the owner hears of it.
    pair.command(0, route(true, &[B]));
    pair.clear();
    pair.arrives("_data_track", "7");
    assert_eq!((linked(&pair.told[0]), pair.on_link[0].len()), (vec![vec![(B, 2)]], 1));
}

#[test]
fn packets_of_a_data_track_are_taken_only_from_the_node_of_its_publisher() {
    let mut pair = Pair::linked();
    let from_a = |pair: &mut Pair, packet: &Arc<LinkedMessage>| {
        let mut out = Output::default();
        pair.nodes[1].take_linked(A, packet, &mut out);
        pair.note(1, out);
        pair.heard()
    };
    pair.command(1, track("PA_ada", &[2, 55]));
    assert_eq!(from_a(&mut pair, &packet("PA_ada", HANDLE, 2)), ["9"]);
    assert_eq!(
        from_a(&mut pair, &packet("PA_ada", HANDLE, 1)),
        [""; 0],
        "the owner serves newcomers"
    );
    assert_eq!(from_a(&mut pair, &packet("PA_ben", HANDLE, 2)), [""; 0]);
    assert_eq!(from_a(&mut pair, &packet("PA_nobody", HANDLE, 2)), [""; 0]);
    assert_eq!(pair.count(1, Counter::LinkStranger), 2);
    assert_eq!(from_a(&mut pair, &packet("PA_ada", 10, 2)), [""; 0]);
    pair.command(1, track("PA_ben", &[2]));
    assert_eq!(
        from_a(&mut pair, &packet("PA_ada", HANDLE, 2)),
        [""; 0],
        "it is another's track"
    );
    pair.command(1, Command::RemoveDistantTrack { handle: HANDLE });
    assert_eq!(from_a(&mut pair, &packet("PA_ada", HANDLE, 2)), [""; 0]);
    assert_eq!(pair.count(1, Counter::LinkTrackless), 3);
    // One with a number breaks the protocol.
    let numbered = LinkedMessage {
        number: 1,
        ..(*packet("PA_ada", HANDLE, 2)).clone()
    };
    let mut out = Output::default();
    pair.nodes[1].take_linked(A, &numbered.into(), &mut out);
    assert_eq!(out.links, [LinkOutput::Cut(A)]);
}

#[test]
fn data_tracks_that_an_owner_does_not_say_again_end() {
    let mut pair = with_track();
    pair.say(1, RoomContent::Claim);
    for transport in [2, 102] {
        pair.command(1, open(transport));
    }
    pair.command(1, Command::SetEndpoint(Box::new(endpoint(2, "ben", 2))));
    pair.command(1, distant(1, 1));
    pair.arrives("_data_track", "7");
    pair.carry();
    assert_eq!(pair.heard(), ["9"], "it goes on until then");
    pair.say(1, RoomContent::Complete);
    pair.arrives("_data_track", "7");
    pair.carry();
    assert_eq!((pair.heard(), pair.count(1, Counter::LinkTrackless)), (Vec::new(), 1));
}

#[test]
fn data_tracks_of_other_nodes_are_as_many_as_may_be() {
    let mut pair = Pair::linked();
    for handle in 1..=crate::limits::DISTANT_TRACKS_MAX as u16 + 10 {
        pair.command(
            1,
            Command::SetDistantTrack(Box::new(DistantTrack {
                sender: "PA_ada".into(),
                handle,
                receivers: vec![TransportId(2)],
            })),
        );
    }
    assert_eq!(pair.count(1, Counter::DistantFull), 10);
}
