//! Copies made in the driver, between sockets.

use std::time::Instant;

use backend_ebpf::{Fanout, FanoutConfig, Pass, RoomsPath};
use veth::Pair;

use crate::cable::{Room, with_families};

/// A cable that takes what drivers send, and whose far end finishes checksums, as a network would.
fn drivers(pair: &Pair) -> Pass {
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
fn everybody_gets_each_packet_as_it_is_theirs() {
    with_families(|pair, like| {
        let _pass = drivers(pair);
        let room = Room::with(start(pair, RoomsPath::Xdp), pair, like, 100);
        let before = room.fanout.left_by_driver();
        room.hears(3..13, 102);
        assert_eq!(room.fanout.left_by_driver() - before, 1_000);
    });
}
