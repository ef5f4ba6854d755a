//! Tracks on their way over trunks.

use super::*;

#[test]
fn people_at_two_nodes_hear_each_other_over_one_trunk() {
    let (cluster, ..) = Cluster::of_two();
    assert_eq!(cluster.trunks(), 2, "one trunk has two ends");
    let (of_ada, of_bob) = (cluster.published(NODES[0]), cluster.published(NODES[1]));
    assert_eq!(cluster.received(NODES[1], of_ada).len(), 1);
    assert_eq!(cluster.received(NODES[0], of_bob).len(), 1);
    // The node of a receiver has the track before its subscription.
    let position = |is: fn(&Command) -> bool, at: NodeId| {
        cluster
            .commanded
            .iter()
            .rposition(|(node, command)| *node == at && is(command))
    };
    let published = position(|it| matches!(it, Command::Publish(it) if it.mid.is_none()), NODES[1]);
    let subscribed = position(|it| matches!(it, Command::Subscribe(_)), NODES[1]);
    assert!(published < subscribed);
}

#[test]
fn a_room_on_one_node_has_no_trunk() {
    let mut cluster = Cluster::new();
    let (ada, _) = cluster.join(NODES[0], "ada");
    let (bob, _) = cluster.join(NODES[0], "bob");
    cluster.answer([ada, bob]);
    cluster.check();
    assert_eq!(cluster.trunks(), 0);
}

#[test]
fn a_track_crosses_once_however_many_receive_it() {
    let (mut cluster, ..) = Cluster::of_two();
    let of_ada = cluster.published(NODES[0]);
    for identity in ["cyd", "dan"] {
        for id in NODES {
            let standing = room_for(id == NODES[1]);
            cluster
                .world
                .controller
                .placement()
                .set_standing(cluster.world.now, id, standing);
        }
        let connection = cluster.world.join(identity, PeerMode::Dual);
        cluster.note();
        cluster.answer([connection]);
    }
    cluster.check();
    assert_eq!(cluster.received(NODES[1], of_ada).len(), 3);
    let trunk = cluster.trunk(NODES[0], NODES[1]).unwrap().transport;
    let crossing = cluster.tables[&NODES[0]].subscriptions.values();
    assert_eq!(crossing.filter(|it| it.transport == trunk).count(), 1);
}

#[test]
fn the_trunk_closes_when_the_room_has_left_a_node() {
    let (mut cluster, _, bob) = Cluster::of_two();
    cluster.input(Input::Request {
        connection: bob,
        request: Box::new(Request::Leave),
    });
    cluster.check();
    assert_eq!(cluster.trunks(), 0);
    assert_eq!(cluster.tables[&NODES[1]], Tables::default());
}

#[test]
fn nothing_is_left_when_everybody_has_left() {
    let (mut cluster, ada, bob) = Cluster::of_two();
    let (cyd, _) = cluster.join(NODES[2], "cyd");
    cluster.answer([ada, bob, cyd]);
    cluster.check();
    assert_eq!(cluster.trunks(), 6);
    for connection in [bob, ada, cyd] {
        cluster.input(Input::Request {
            connection,
            request: Box::new(Request::Leave),
        });
        cluster.check();
    }
    assert!(cluster.tables.values().all(|tables| *tables == Tables::default()));
}

#[test]
fn a_mute_reaches_each_node() {
    let mut cluster = Cluster::new();
    let (ada, microphone) = cluster.join(NODES[0], "ada");
    let (bob, _) = cluster.join(NODES[1], "bob");
    cluster.answer([ada, bob]);
    let mute = MuteTrack {
        sid: microphone.sid,
        muted: true,
    };
    cluster.input(Input::Request {
        connection: ada,
        request: Box::new(Request::MuteTrack(mute)),
    });
    let of_ada = cluster.published(NODES[0]);
    assert!(cluster.tables[&NODES[1]].publications[&of_ada].muted);
    cluster.check();
}

#[test]
fn notices_of_trunks_are_not_stale() {
    let (mut cluster, ..) = Cluster::of_two();
    let of_ada = cluster.published(NODES[0]);
    let trunk = cluster.trunk(NODES[0], NODES[1]).unwrap().transport;
    let crossing = cluster.tables[&NODES[0]].subscriptions.values();
    let crossing = crossing.clone().find(|it| it.transport == trunk).unwrap().subscription;
    for (node, notice) in [
        (
            NODES[0],
            Notice::Connected {
                transport: trunk,
                srtp: None,
            },
        ),
        (NODES[0], Notice::SubscriptionStarted { subscription: crossing }),
        (
            NODES[0],
            Notice::Paused {
                subscription: crossing,
                paused: true,
            },
        ),
        (NODES[1], Notice::TrackStarted { track: of_ada }),
        (
            NODES[1],
            Notice::Encodings {
                track: of_ada,
                active: 1,
            },
        ),
    ] {
        cluster.notice(node, notice.clone());
        let said = cluster.world.out.iter().filter(|output| {
            !matches!(
                output,
                Output::Notify {
                    notification: Notification::StreamStates(_),
                    ..
                }
            )
        });
        assert_eq!(said.count(), 0, "{notice:?}");
    }
}
