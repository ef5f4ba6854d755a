//! Copies made in the driver, between sockets.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use backend_ebpf::{Copies, EbpfError, Fanout, FanoutConfig, Pass, RelayConfig, RelayOffload, RoomsPath};
use dataplane::{LegId, Protection, ReplicaId, ReplicaOffload, Update};
use veth::Pair;

use crate::cable::{Room, leg, replica, with_families};

/// A cable that takes what drivers send, and whose far end finishes checksums, as a network would.
pub(crate) fn drivers(pair: &Pair) -> Pass {
    pair.far
        .command("ethtool", "-K far0 tx off")
        .unwrap_or_else(|error| panic!("{error}"));
    pair.far
        .run(|| Pass::start(pair.far.interface))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn config(pair: &Pair, path: RoomsPath) -> FanoutConfig {
    FanoutConfig {
        interfaces: vec![pair.near.interface.to_owned()],
        path,
        ..FanoutConfig::default()
    }
}

fn start(pair: &Pair, path: RoomsPath) -> Fanout {
    let started = pair.near.run(|| Fanout::start(&config(pair, path), Instant::now()));
    started.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn each_receiver_gets_each_packet_in_its_own_form() {
    with_families(|pair, like| {
        let _pass = drivers(pair);
        let room = Room::with(start(pair, RoomsPath::Xdp), pair, like, 100);
        let before = room.fanout.left_by_driver();
        room.hears(3..13, 102);
        assert_eq!(room.fanout.left_by_driver() - before, 1_000);
    });
}

/// A driver runs one program, so the relays' leads on to this one.
#[test]
fn relays_on_the_same_interface_lead_on() {
    with_families(|pair, like| {
        let _pass = drivers(pair);
        let mut relays = relays(pair);
        let started = pair.near.run(|| {
            merge_nothing(pair);
            Fanout::start_behind(&mut relays, &config(pair, RoomsPath::Xdp), Instant::now())
        });
        let room = Room::with(started.unwrap_or_else(|error| panic!("{error}")), pair, like, 5);
        let before = room.fanout.left_by_driver();
        room.hears(3..13, 102);
        assert_eq!(room.fanout.left_by_driver() - before, 50);
    });
}

fn relays(pair: &Pair) -> RelayOffload {
    let config = RelayConfig {
        interfaces: vec![pair.near.interface.to_owned()],
        ..RelayConfig::default()
    };
    let started = pair.near.run(|| RelayOffload::start(&config, Instant::now()));
    started.unwrap_or_else(|error| panic!("{error}"))
}

/// A veth that has a program is taken to want GRO.
fn merge_nothing(pair: &Pair) {
    pair.near
        .command("ethtool", "-K near0 gro off")
        .unwrap_or_else(|error| panic!("{error}"));
}

/// A checksum that a device is to complete cannot be updated in the driver, so the stack copies the
/// packet. Numbering continues from one to the other.
#[test]
fn a_packet_without_a_finished_checksum_is_copied_in_the_stack() {
    with_families(|pair, like| {
        let _pass = drivers(pair);
        let room = Room::with(start(pair, RoomsPath::Xdp), pair, like, 3);
        for (at, offers, expected) in [(0, "on", 0), (1, "off", 6), (2, "on", 0)] {
            pair.far
                .command("ethtool", &format!("-K far0 tx {offers}"))
                .unwrap_or_else(|error| panic!("{error}"));
            let before = room.fanout.left_by_driver();
            room.hears(3 + 2 * at..5 + 2 * at, 102 + 2 * at);
            assert_eq!(room.fanout.left_by_driver() - before, expected, "tx {offers}");
        }
    });
}

/// An interface that sends nothing for XDP programs is found out before anything is copied, and
/// where it comes to be one, after a while.
#[test]
fn the_stack_copies_for_a_driver_that_accepts_no_frames() {
    with_families(|pair, like| {
        let refused = pair
            .near
            .run(|| Fanout::start(&config(pair, RoomsPath::Xdp), Instant::now()));
        assert!(matches!(refused.err(), Some(EbpfError::SendsNone(name)) if name == "near0"));
        let auto = start(pair, RoomsPath::Auto);
        assert!(matches!(auto.copies(), Copies::InStack(Some(EbpfError::SendsNone(_)))));
        drop(auto);

        let pass = drivers(pair);
        let mut room = Room::with(start(pair, RoomsPath::Auto), pair, like, 3);
        assert!(matches!(room.fanout.copies(), Copies::InDriver));
        drop(pass);
        for sequence in 3..30 {
            room.speak(sequence, 100);
            room.fanout.poll();
            std::thread::sleep(Duration::from_millis(150));
        }
        assert!(matches!(
            room.fanout.copies(),
            Copies::InStack(Some(EbpfError::SendsNone(_)))
        ));
        room.drain();
        room.hears(30..33, 129);
    });
}

/// Participants that leave or are paused get no copies, and the others still do.
#[test]
fn a_room_that_changes_is_copied_to_its_present_members() {
    with_families(|pair, like| {
        let _pass = drivers(pair);
        let mut room = Room::with(start(pair, RoomsPath::Xdp), pair, like, 4);
        room.hears(3..5, 102);
        let paused = dataplane::Replica {
            paused: true,
            ..replica(4)
        };
        room.offer(Update::SetReplica(ReplicaId(4), paused));
        room.listeners.pop();
        let before = room.fanout.left_by_driver();
        room.hears(5..7, 104);
        room.offer(Update::RemoveReplica(ReplicaId(3)));
        room.listeners.pop();
        room.hears(7..9, 106);
        assert_eq!(room.fanout.left_by_driver() - before, 6 + 4);
    });
}

/// One of whom the way leads through an interface that copies cannot be broadcast to takes the
/// stream to the stack.
#[test]
fn a_receiver_elsewhere_has_the_stack_copy_for_all() {
    with_families(|pair, like| {
        let _pass = drivers(pair);
        let (elsewhere, prefix) = match like {
            IpAddr::V4(_) => ("10.78.0.2", "-4"),
            IpAddr::V6(_) => ("fd78::2", "-6"),
        };
        for words in [
            "link add other0 type veth peer name other1".to_owned(),
            "link set other0 up".to_owned(),
            "link set other1 up".to_owned(),
            format!("{prefix} route add {elsewhere} dev other0"),
            format!("neighbour add {elsewhere} lladdr 02:00:00:00:00:07 dev other0 nud permanent"),
        ] {
            pair.near.ip(&words).unwrap_or_else(|error| panic!("{error}"));
        }
        let mut room = Room::with(start(pair, RoomsPath::Xdp), pair, like, 2);
        let before = room.fanout.left_by_driver();
        room.hears(3..5, 102);
        let remote = SocketAddr::new(elsewhere.parse().unwrap(), 9);
        let leg = leg(room.near, remote, Protection::Clear);
        room.offer(Update::SetLeg(LegId(3), leg));
        room.offer(Update::SetReplica(ReplicaId(3), replica(3)));
        room.hears(5..6, 104);
        while room.fanout.poll().is_some() {}
        room.hears(6..9, 105);
        assert_eq!(room.fanout.left_by_driver() - before, 6);
        assert_eq!(room.fanout.replica_statistics(ReplicaId(3)).unwrap().packets, 4);
        pair.near
            .ip("link delete other0")
            .unwrap_or_else(|error| panic!("{error}"));
    });
}
