//! Plans meetings: how many a switch or a server carries, and which resource binds.
//!
//! A [`DeviceFile`] is a switch with a packet-replication engine ([`Device`]), a switch with a P4
//! program ([`Program`]) or a software SFU ([`Server`]). [`Plan`] puts a [`Mix`] of meetings on it.
//! Start with [`capacity`] for the model of a switch: the number of meetings of one shape, and the
//! [`Resource`] that binds. [`Allocator`] places meetings of any shapes into multicast trees
//! through [`ReplicationEngine`], the trait of a switch's driver. [`sweep`] compares a device with
//! a [`Server`].
//!
//! No code here reads a clock, draws a random number, opens a file or a socket. The same history of
//! calls gives the same trees.
//!
//! Source: Michel et al., "Scalable Video Conferencing Using SDN Principles" (Scallop), SIGCOMM
//! 2025, sections 6.2 and 8.4 and appendix F.

#![forbid(unsafe_code)]

pub mod cluster;
pub mod limits;
pub mod report;

mod allocator;
mod capacity;
mod contention;
mod design;
mod device;
mod engine;
mod file;
mod kind;
mod latency;
mod meeting;
mod mix;
mod plan;
mod program;
mod quality;
mod server;
mod supply;
mod sweep;
mod written;

pub use allocator::{Allocator, Refusal};
pub use capacity::{Capacity, Headroom, capacity, capacity_as, capacity_for};
pub use contention::contention_permille;
pub use design::{Demand, Design};
pub use device::{Device, Resource, Rewriter};
pub use engine::{ExclusionId, MeetingId, Node, NodeId, ReplicaId, ReplicationEngine, Route, Source, TreeId};
pub use file::{DeviceFile, DeviceFileError, Machine, SHIPPED};
pub use kind::{Adaptation, Kind};
pub use latency::Latency;
pub use meeting::{Meeting, Place};
pub use mix::{Answer, MIXES, Mix, MixError, QUALITIES, Row};
pub use plan::{Plan, Used};
pub use program::Program;
pub use quality::{LAYERS, Quality, Rates};
pub use server::{Cost, Memory, Server};
pub use supply::Supply;
pub use sweep::{Alone, Envelope, PARTICIPANTS_SWEPT, Point, alone, envelope, ratios, sweep};
pub use written::server_file;
