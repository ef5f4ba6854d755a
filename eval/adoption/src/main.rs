//! Measures how long a controller takes to go on with all rooms of one that died.
//!
//! Controller, cluster and snapshots are those of the program. Media nodes and the store are played
//! here, in the same thread, and answer at once: what is measured is the work of the controller.
//! There are no sockets, and no protobuf.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

mod client;
mod machine;
mod media;
mod store;
mod world;

use world::World;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|argument| match argument.parse::<usize>() {
            Ok(number) if number > 0 => number,
            _ => {
                eprintln!("weir-adoption: {argument} is no number. usage: weir-adoption [ROOMS [PEOPLE]]");
                std::process::exit(2);
            }
        });
    let (rooms, people) = (numbers.next().unwrap_or(10_000), numbers.next().unwrap_or(5));
    let mut world = World::new(rooms, people);
    println!("{}", world.filled());
    println!("{}", world.adopt());
    println!("{}", world.saved());
    println!("{}", world.reconnect());
}
