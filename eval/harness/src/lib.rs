//! Shared parts of measurements: a network namespace for each server, a server that ends with its
//! measurement, the load of the machine, and drawings of the results.
//!
//! Nothing here depends on the subject of the measurement. [`Place`] and [`RunningServer`] put a
//! server within reach of a generator. [`Machine`], [`process`] and [`Processes`] read its cost,
//! [`Datagrams`] counts those of a namespace, and [`Instructions`] counts in a way that noise does
//! not affect. A [`Stamp`] in each payload and a [`Tally`] track packets. [`Histogram`] and
//! [`Spread`] summarise; [`bars`] and [`curves`] draw.

#![forbid(unsafe_code)]

pub mod bars;
pub mod clock;
pub mod csv;
mod datagrams;
mod histogram;
mod instructions;
mod machine;
pub mod net;
pub mod page;
mod place;
mod processes;
mod server;
pub mod software;
mod spread;
mod stamp;
mod tally;

pub use datagrams::Datagrams;
pub use drawing::curves;
pub use histogram::Histogram;
pub use instructions::Instructions;
pub use machine::{Machine, MachineSample, ProcessSample, SocketDrops, interrupt_threads, kernel_threads, process};
pub use place::{Place, SERVER_INTERFACE, shell};
pub use processes::{Busiest, Processes};
pub use server::RunningServer;
pub use spread::Spread;
pub use stamp::Stamp;
pub use tally::{Arrival, Tally, Window};
