//! Trunks that fail, and controllers and nodes that die.

use super::*;

impl Cluster {
    /// The second node closes its trunk to the first one, and with it all that came over it.
    fn lose_trunk(&mut self) {
        let transport = self.trunk(NODES[1], NODES[0]).unwrap().transport;
        let tables = self.tables.get_mut(&NODES[1]).unwrap();
        tables.command(&Command::Close { transport });
        let reason = CloseReason::ConsentExpired;
        self.notice(NODES[1], Notice::Closed { transport, reason });
    }
}

#[test]
fn a_silent_trunk_is_replaced_under_its_tracks() {
    let (mut cluster, ..) = Cluster::of_two();
    let of_ada = cluster.published(NODES[0]);
    let old = cluster.trunk(NODES[1], NODES[0]).unwrap().clone();
    let received = cluster.received(NODES[1], of_ada);
    let seen = cluster.commanded.len();
    cluster.notice(
        NODES[1],
        Notice::Disconnected {
            transport: old.transport,
        },
    );
    let new = cluster.trunk(NODES[1], NODES[0]).unwrap();
    assert_ne!((new.transport, &new.keys), (old.transport, &old.keys));
    assert_eq!(cluster.trunks(), 2);
    assert_eq!(cluster.received(NODES[1], of_ada), received);
    cluster.check();
    let of_people = |command: &Command| match command {
        Command::Unsubscribe { subscription } => received.contains(subscription),
        Command::Subscribe(subscription) => received.contains(&subscription.subscription),
        _ => false,
    };
    let told = cluster.commanded[seen..]
        .iter()
        .filter(|(_, command)| of_people(command));
    assert_eq!(told.count(), 0, "receivers go on as they were");
    // Nothing but the new trunk is told of from now on.
    cluster.notice(
        NODES[0],
        Notice::Disconnected {
            transport: old.transport,
        },
    );
    assert_eq!(cluster.trunks(), 2);
}

#[test]
fn a_trunk_that_closed_begins_anew_with_its_receivers() {
    let (mut cluster, ada, bob) = Cluster::of_two();
    let of_ada = cluster.published(NODES[0]);
    let received = cluster.received(NODES[1], of_ada);
    cluster.lose_trunk();
    cluster.answer([ada, bob]);
    cluster.check();
    assert_eq!(cluster.trunks(), 2);
    let again = cluster.received(NODES[1], of_ada);
    assert_eq!(again.len(), 1);
    assert_ne!(again, received, "numbers on an SSRC do not begin anew");
}

#[test]
fn the_settings_of_a_receiver_outlive_a_trunk() {
    let mut cluster = Cluster::new();
    let (ada, microphone) = cluster.join(NODES[0], "ada");
    let (bob, _) = cluster.join(NODES[1], "bob");
    cluster.answer([ada, bob]);
    let settings = TrackSettings {
        track_sids: vec![microphone.sid],
        disabled: true,
        ..TrackSettings::default()
    };
    cluster.input(Input::Request {
        connection: bob,
        request: Box::new(Request::UpdateTrackSettings(settings)),
    });
    cluster.lose_trunk();
    cluster.answer([ada, bob]);
    let received = cluster.received(NODES[1], cluster.published(NODES[0]));
    let again = &cluster.tables[&NODES[1]].subscriptions[&received[0]];
    assert!(!again.settings.enabled, "it does not want it now");
}

#[test]
fn a_trunk_that_was_refused_is_tried_again() {
    let (mut cluster, ada, bob) = Cluster::of_two();
    let of_ada = cluster.published(NODES[0]);
    let transport = cluster.trunk(NODES[1], NODES[0]).unwrap().transport;
    let why = "the node has all the direct transports it can have".to_owned();
    cluster.notice(NODES[1], Notice::Refused { transport, why });
    cluster.answer([ada, bob]);
    assert_eq!(cluster.trunks(), 0);
    cluster.world.advance(Duration::from_secs(4));
    cluster.note();
    assert_eq!(cluster.trunks(), 0);
    cluster.world.advance(Duration::from_secs(2));
    cluster.note();
    assert_eq!(cluster.trunks(), 2);
    cluster.check();
    assert_eq!(cluster.received(NODES[1], of_ada).len(), 1);
}

#[test]
fn a_track_that_a_trunk_has_no_room_for_ends_nothing() {
    let (mut cluster, ..) = Cluster::of_two();
    let transport = cluster.trunk(NODES[1], NODES[0]).unwrap().transport;
    cluster.notice(NODES[1], Notice::Connected { transport, srtp: None });
    let seen = cluster.commanded.len();
    let why = "a transport publishes too many tracks".to_owned();
    cluster.notice(NODES[1], Notice::Refused { transport, why });
    assert_eq!(cluster.commanded.len(), seen);
}

#[test]
fn a_lost_node_takes_its_people_and_trunks_with_it() {
    let (mut cluster, ada, bob) = Cluster::of_two();
    let (cyd, _) = cluster.join(NODES[2], "cyd");
    cluster.answer([ada, bob, cyd]);
    cluster.input(Input::NodeLost { node: NODES[0] });
    cluster.tables.insert(NODES[0], Tables::default());
    cluster.check();
    assert_eq!(cluster.trunks(), 2);
    assert_eq!(cluster.world.controller.population().participants, 2);
    assert_eq!(cluster.received(NODES[2], cluster.published(NODES[1])).len(), 1);
}

#[test]
fn another_controller_goes_on_with_trunks() {
    let (mut cluster, ada, bob) = Cluster::of_two();
    let (cyd, _) = cluster.join(NODES[2], "cyd");
    cluster.answer([ada, bob, cyd]);
    let takeover = cluster.world.controller.takeover();
    let saved = serde_json::to_string(&(takeover.room("lobby").unwrap(), takeover.participants("lobby"))).unwrap();
    let (room, participants) = serde_json::from_str(&saved).unwrap();
    let mut world = World::with(Config {
        controller: ControllerId::new(2),
        ..Config::new(keys())
    });
    for id in &NODES[1..] {
        world.notice(*id, Notice::Node(node(*id)));
    }
    world.out.clear();
    let restored = world
        .controller
        .takeover()
        .restore(world.now, "lobby", room, participants, &mut world.out);
    assert_eq!(restored, Ok(()));
    let is_about_media = |output: &&Output| match output {
        Output::Command { command, .. } => !matches!(command, Command::SetForwarding { .. }),
        _ => false,
    };
    assert_eq!(
        world.out.iter().filter(is_about_media).count(),
        0,
        "the nodes keep their tables"
    );

    for id in NODES {
        let mut out = Vec::new();
        world.controller.takeover().repeat(world.now, "lobby", id, &mut out);
        let mut again = Tables::default();
        for output in &out {
            if let Output::Command { node, command, .. } = output {
                let is_about_voices = matches!(command, Command::SetForwarding { .. });
                assert!(*node == id || is_about_voices, "{command:?} at {node:?}");
                again.command(command);
            }
        }
        assert_eq!(again, cluster.tables[&id], "{id:?}");
    }

    // It knows the trunks, and gives numbers that were not given before.
    world.out.clear();
    cluster.world = world;
    let transport = cluster.trunk(NODES[1], NODES[0]).unwrap().transport;
    cluster.notice(NODES[1], Notice::Disconnected { transport });
    cluster.check();
    assert_ne!(cluster.trunk(NODES[1], NODES[0]).unwrap().transport, transport);
}
