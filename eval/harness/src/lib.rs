//! What measurements share: a network namespace for each server, a server that ends with its
//! measurement, what the machine did meanwhile, and drawings of what was found.
//!
//! Nothing here knows what is measured. [`Place`] and [`RunningServer`] put a server where a
//! generator can reach it; [`Machine`], [`process`] and [`Processes`] read what it cost,
//! [`Instructions`] counts what noise does not touch; a [`Stamp`] in each payload and a [`Tally`]
//! tell what became of packets; [`Histogram`] and [`Spread`] sum up; [`bars`] and [`curves`] draw.

#![forbid(unsafe_code)]

pub mod bars;
pub mod clock;
pub mod csv;
pub mod curves;
mod histogram;
mod instructions;
mod machine;
pub mod page;
mod place;
mod processes;
mod server;
pub mod software;
mod spread;
mod stamp;
mod tally;

pub use histogram::Histogram;
pub use instructions::Instructions;
pub use machine::{Machine, MachineSample, ProcessSample, SocketDrops, interrupt_threads, kernel_threads, process};
pub use place::{Place, SERVER_INTERFACE, shell};
pub use processes::{Busiest, Processes};
pub use server::RunningServer;
pub use spread::Spread;
pub use stamp::Stamp;
pub use tally::{Arrival, Tally, Window};
