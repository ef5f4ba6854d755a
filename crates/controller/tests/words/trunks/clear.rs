//! Trunks without keys.

use super::*;

/// Ada at the first node and Bob at the second hear each other. These nodes take trunks without
/// keys.
fn of_two(clear: &[NodeId]) -> Cluster {
    let mut cluster = Cluster::with_clear(clear);
    let (ada, _) = cluster.join(NODES[0], "ada");
    let (bob, _) = cluster.join(NODES[1], "bob");
    cluster.answer([ada, bob]);
    cluster.check();
    cluster
}

/// Whether the streams of the trunk at the first node have retransmissions.
fn has_retransmissions(cluster: &Cluster) -> bool {
    let trunk = cluster.trunk(NODES[0], NODES[1]).unwrap().transport;
    let tables = &cluster.tables[&NODES[0]];
    let sent = tables.subscriptions.values().filter(|it| it.transport == trunk);
    let sent: Vec<_> = sent
        .map(|it| it.rtx.is_some() || it.formats.iter().any(|(_, format)| format.rtx.is_some()))
        .collect();
    let arriving = tables.publications.values().filter(|it| it.transport == trunk);
    let arriving: Vec<_> = arriving
        .map(|it| {
            let encodings = it.encodings.iter().any(|encoding| encoding.rtx.is_some());
            encodings || it.formats.iter().any(|format| format.rtx.is_some())
        })
        .collect();
    assert_eq!((sent.len(), arriving.len()), (1, 1));
    assert_eq!(sent, arriving);
    sent[0]
}

#[test]
fn a_trunk_is_in_clear_where_both_nodes_take_that() {
    let cluster = of_two(&NODES);
    let trunk = cluster.trunk(NODES[0], NODES[1]).unwrap();
    assert_eq!(trunk.keys, None);
    assert!(
        !has_retransmissions(&cluster),
        "a device that keeps no packets may copy it"
    );
    assert_eq!((cluster.reasons.len(), cluster.mixed), (0, 0));
}

#[test]
fn a_trunk_is_sealed_unless_both_nodes_take_it_in_clear() {
    for (clear, mixed) in [(&[][..], 0), (&NODES[..1], 1), (&NODES[1..], 1)] {
        let cluster = of_two(clear);
        let trunk = cluster.trunk(NODES[0], NODES[1]).unwrap();
        assert!(trunk.keys.is_some() && has_retransmissions(&cluster));
        assert_eq!(
            (cluster.reasons.len(), cluster.mixed),
            (mixed, mixed),
            "{:?}",
            cluster.reasons
        );
        assert!(
            cluster
                .reasons
                .iter()
                .all(|why| why.contains("takes sealed trunks only"))
        );
    }
}

#[test]
fn a_trunk_in_clear_stays_in_clear_with_another_controller_and_in_its_replacement() {
    let mut cluster = of_two(&NODES);
    let takeover = cluster.world.controller.takeover();
    let (saved, people) = (takeover.room("lobby").unwrap(), takeover.participants("lobby"));
    let mut after = World::new();
    let now = after.now;
    let restored = after
        .controller
        .takeover()
        .restore(now, "lobby", saved, people, &mut after.out);
    assert_eq!(restored, Ok(()));
    after.out.clear();
    after
        .controller
        .takeover()
        .repeat(now, "lobby", NODES[0], &mut after.out);
    let repeated = after.out.iter().find_map(|output| match output {
        Output::Command {
            command: Command::OpenDirect(open),
            ..
        } => Some((**open).clone()),
        _ => None,
    });
    assert_eq!(repeated.as_ref(), cluster.trunk(NODES[0], NODES[1]));

    let old = cluster.trunk(NODES[1], NODES[0]).unwrap().clone();
    let transport = old.transport;
    cluster.notice(NODES[1], Notice::Disconnected { transport });
    cluster.check();
    let new = cluster.trunk(NODES[1], NODES[0]).unwrap();
    assert!(new.transport != old.transport && new.keys.is_none());
}
