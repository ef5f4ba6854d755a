//! A P4 switch as an offload: relays and rooms without encryption are forwarded by a switch between
//! the clients and this host, which is written over P4Runtime.
//!
//! The program of the switch is in `program/`; read `program/weir.p4` first. This crate is its
//! controller. Read `entry` for the tables it writes, then `writer` for the order of writes,
//! `relays` and `rooms` for the entries, `link` for the lease under which the switch numbers
//! packets, and `core`, which puts them together. All of these are without clock and socket.
//! `connection` is the thread that speaks with the switch.

#![forbid(unsafe_code)]
// Tests may read a clock.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

mod address;
mod cells;
mod clock;
mod config;
mod connection;
mod context;
mod core;
mod counter;
mod direct;
mod entry;
#[cfg(test)]
mod fake;
mod frame;
mod link;
mod neighbour;
mod offload;
mod program;
mod relays;
mod report;
mod rooms;
mod schema;
mod services;
mod shared;
mod slots;
mod table_writer;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::time::Instant;

use crate::core::Core;
use program::Program;
use schema::Schema;
use shared::{Holder, Shared};

pub use address::{Mac, NotMac};
pub use config::{NotPrefix, P4Config, P4ConfigError, Port, Prefix, Replication, Route};
pub use direct::{Direct, Switch};
pub use offload::{P4Relays, P4Rooms};
pub use schema::ProgramError;
pub use shared::Wake;

/// The reason why there is no driver of a switch.
#[derive(Debug)]
pub enum P4Error {
    /// The configuration describes no switch.
    Config(P4ConfigError),
    /// The program is not one for this driver.
    Program(ProgramError),
    /// The system gives no thread.
    Thread(io::Error),
}

impl fmt::Display for P4Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Program(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "no thread for the switch: {error}"),
        }
    }
}

impl std::error::Error for P4Error {}

/// Starts the driver of a switch: its relays, and its rooms if they are wanted. `wake` is called
/// when there is something to poll. The switch need not be there: it is connected to whenever it
/// is, and until then the base does everything. The driver ends when both are dropped.
///
/// Errors: [`P4Error`].
pub fn start(config: P4Config, now: Instant, wake: Wake) -> Result<(P4Relays, Option<P4Rooms>), P4Error> {
    let has_rooms = config.rooms;
    let (shared, program) = prepare(config, now, wake)?;
    connection::start(shared.clone(), program).map_err(P4Error::Thread)?;
    let holder = Arc::new(Holder(shared));
    let rooms = has_rooms.then(|| P4Rooms(holder.clone()));
    Ok((P4Relays(holder), rooms))
}

/// The state of a driver that has not reached its switch, and the program for it.
fn prepare(config: P4Config, now: Instant, wake: Wake) -> Result<(Arc<Shared>, Program), P4Error> {
    config.check().map_err(P4Error::Config)?;
    let program = Program::of(config.replication).map_err(P4Error::Program)?;
    let schema = Schema::new(&program.info).map_err(P4Error::Program)?;
    // Registers may be left from an earlier process.
    let first_epoch = RandomState::new().hash_one(program.cookie) as u8;
    let core = Core::new(config, schema.sizes(), first_epoch, now);
    Ok((Arc::new(Shared::new(core, schema, wake)), program))
}
